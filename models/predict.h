/* The prediction: from net, cluster, link, exchange, step mode and codec model to the time of a
 * step. `model`, `advise` and `paper` all come through here. */
#ifndef CC_MODELS_PREDICT_H
#define CC_MODELS_PREDICT_H

#include "core/collective.h"
#include "core/element.h"
#include "models/exchange.h"
#include "models/link.h"
#include "models/net.h"

#include "models/payload_cost.h"
#include "models/place.h"
#include "models/step.h"

/* Steps with sharded states (sharded.h). */
struct cc_sharded {
    struct cc_collectives collectives;      /* count 0: none; the system's, as options change it */
    int micro_steps;                        /* of which a step accumulates gradients; 0: 1 */
    const struct cc_step_payloads *weights; /* of parameters; NULL: of the setting's type */
};

/* Everything but the scheme. */
struct cc_setting {
    const struct cc_system *system; /* whose defaults it began with (system.h), or NULL */
    /* Verdicts compare with plain gradients as this deployment sums them (plan.h), in messages of
     * any size; NULL: with every exchange and step mode. */
    const struct cc_deployment *deployed;
    const struct cc_net *net;
    enum cc_element dtype; /* what gradients are: the plain scheme has its name, and its bytes */
    struct cc_link link;
    enum cc_exchange exchange;
    struct cc_cluster cluster;
    enum cc_placement placement; /* CC_PS with several servers */
    struct cc_timing timing;
    struct cc_sharded sharded;
    /* Factor on the codecs' speed in the payloads; measured codec times are not changed. */
    double codec_speed;
};

/* The share of the compute time that is the forward pass, where nothing else is said. */
#define CC_FORWARD_SHARE      (1.0 / 3)
#define CC_FORWARD_SHARE_TEXT "0.333" /* the same */

/* The defaults where no system is chosen: ps, 10 workers, 1 server, 50 us, tc's overhead, the net's
 * own type and compute time or 0, sequential; the caller sets link.bw_bps (it is 0). */
void cc_setting_defaults(const struct cc_net *net, struct cc_setting *out);

/* Checks workers, servers, bandwidth, times and their combinations (staleness needs an exchange
 * with servers, ...). CC_USAGE, naming the option, if one is out of range or does not fit the
 * others. */
int cc_setting_check(const struct cc_setting *s, struct cc_error *e);
/* The same where no formula covers a setting that is in order. */
int cc_setting_check_formula(const struct cc_setting *s, struct cc_error *e);

enum cc_bottleneck {
    CC_BY_COMPUTE,
    CC_BY_CODEC,
    CC_BY_LATENCY,
    CC_BY_BANDWIDTH,  /* a worker's own port */
    CC_BY_SERVER_PORT /* the busiest server's port: more servers would help */
};
extern const char *const cc_bottleneck_names[]; /* ends with NULL */

/* Means over a whole period of the scheme. In overlapped and pipelined steps compute_s, codec_s and
 * comm_s hide behind each other: step_s is less than their sum. */
struct cc_prediction {
    double values, payload_bytes; /* one worker's push, per step */
    double bits_push, bits_pull;  /* per value */
    double compute_s;             /* with the update */
    double codec_s, comm_s;
    double busy_s; /* comm_s without the time for which codecs work beside it: a worker has messages
                      under way, and no codec at work */
    double step_s, step_sd;
    /* parts of codec_s: worker, between hops, server, worker again */
    double encode_s, hop_codec_s, server_codec_s, decode_s;
    /* parts of comm_s */
    double latency_s, transfer_s, reduce_s;
    double push_s, pull_s; /* network time each way (latency and transfer) */
    double wait_s;         /* for stragglers */
    double exposed_s;      /* a worker neither computes nor encodes or decodes: it waits */
    double messages, rounds, wire_bytes;
    double intra_bytes; /* sent inside the busiest host; 0: one worker a host */
    int chunks;         /* of a message: given, or the best ones (CC_CHUNKS_AUTO) */
    double imbalance;   /* the servers' loads: busiest / mean */
    double efficiency;  /* compute_s / step_s: Pipe-SGD's equation 7 */
    enum cc_bottleneck bottleneck;
    /* Sharded states: seconds of each collective, all its messages of a step together. */
    double collective_s[CC_MOST_COLLECTIVES];
    /* By which share the step may be off: as its exchange (cc_exchange_off), where messages that
     * are followed and messages by the formula count by their time, or more where messages wait for
     * each other over links of several classes. */
    double off;
    uint64_t chosen[CC_EXCHANGE_COUNT]; /* CC_X_CHOOSES: a sending step's messages by the exchange
                                           that each takes; otherwise 0 */
};

/* The time of the part of a step that a bottleneck is. */
double cc_prediction_part(const struct cc_prediction *p, enum cc_bottleneck of);

/* Memory for predictions over one net, reused between calls: zero it, pass it to every call, free
 * it before the net. One thread at a time. */
struct cc_predictor {
    const struct cc_net *net; /* the net that the memory is for */
    int capacity;             /* servers that it has memory for */
    int servers;              /* the current placement of the tensors */
    enum cc_placement placement;
    int *server;
    double *load, *scratch;
    int *part_of; /* by server: its part of the current message, or -1 */
    struct cc_part *part;
    struct cc_cost *server_cost;
    size_t *order;
    struct cc_step_message *message;
    struct cc_overlap *overlap;
};
void cc_predictor_free(struct cc_predictor *p);

/* Predicts a step. The payloads must have been made for setting->net. Checks the setting
 * (cc_setting_check) and the exchange (cc_exchange_check); CC_FAIL if the result is not a number
 * that means anything. *out is set on success only. */
int cc_predict(struct cc_predictor *p, const struct cc_setting *s,
               const struct cc_step_payloads *payloads, struct cc_prediction *out,
               struct cc_error *e);

/* Cuts a sending step into messages, in the order in which they leave. message[] has room for one
 * message per tensor; returns their number. */
size_t cc_predict_messages(const struct cc_setting *s, const struct cc_step_payloads *payloads,
                           struct cc_message *message);

/* Finds the server of each tensor: 0 .. servers-1, or CC_EVERY_SERVER; 0 if the exchange has no
 * servers. server[] has one element per tensor. */
int cc_predict_servers(struct cc_predictor *p, const struct cc_setting *s, int *server,
                       struct cc_error *e);

#endif
