/* Payload costs: the bytes and the codec times of a net's tensors under a scheme. models/ knows no
 * scheme: a codec model describes one. */
#ifndef CC_MODELS_PAYLOAD_COST_H
#define CC_MODELS_PAYLOAD_COST_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "core/exchange.h"
#include "core/unions.h"
#include "models/net.h"
#include "models/profile.h"

/* Payload sizes of the sums of 1, 2, 4, ... workers' gradients: of those that servers send back,
 * and of the partial sums that are encoded on their way from worker to worker. */
enum { CC_SUM_POINTS = 5, CC_SUM_WORKERS = 1 << (CC_SUM_POINTS - 1) };
struct cc_sum_sizes {
    double pull[CC_SUM_POINTS], hop[CC_SUM_POINTS];
};

/* A scheme, as the models see it. */
struct cc_codec_model {
    const char *scheme; /* canonical name, for messages; owned by the caller */
    enum cc_reduction reduction;
    /* Sizes and times of pushes and pulls: from a profile, or the same figures at every size where
     * the profile is NULL (point.values is then ignored). Means over whole periods. */
    const struct cc_profile_codec *push, *pull;
    struct cc_profile_point push_point, pull_point;
    /* The times of encoding sums, which are float32 whatever gradients are; NULL: as gradients. */
    const struct cc_profile_codec *sum;
    /* The costs of gradients inside a host, if they have a scheme of their own; or NULL. */
    const struct cc_profile_codec *inner;
    /* The payload's bytes if they depend on the tensor's shape (low-rank factors), and the
     * function's argument. NULL: the profile of flat tensors holds for every shape. */
    double (*shape_bytes)(const void *arg, const struct cc_shape *shape);
    const void *shape_arg;
    /* Bits per value of each tensor of the net, means over whole periods; for pulls only where
     * these have no profile of their own. NULL: those of the profile. */
    const double *tensor_bits;
    /* Bits per value of sums, of each tensor of the net; those of pulls only where these have no
     * profile of their own. NULL: sums are as large as what they add up. */
    const struct cc_sum_sizes *tensor_sums;
    size_t period; /* sends in one step of `period` (local steps); 0 counts as 1 */
    /* CC_REDUCE_SUM: the number of sums that a payload needs one after the other (2 for low-rank
     * factors, as the second factor follows from the first's sum); 0 counts as 1. */
    size_t sum_rounds;
    /* The payload is the gradient itself: NCCL sums it, whatever its type. CC_REDUCE_SUM (fp32): an
     * exchange that sums floats reads it where it is and leaves the mean to the update, so that no
     * codec works. */
    bool verbatim;
    /* CC_REDUCE_PAIRS: a payload of n values and k pairs has value_bits n + pair_bits k bits. */
    double value_bits, pair_bits;
};

/* Makes a codec model with the same figures at every size and in both directions. */
struct cc_codec_model cc_codec_model_given(const char *scheme, enum cc_reduction reduction,
                                           double bits_per_value, double encode_ns,
                                           double decode_ns, double decode_add_ns);
/* Makes a codec model from a profile, for both directions. It points into the profile and to
 * `scheme`. If the profile lacks the scheme, CC_FAIL names both. *out is set on success only. */
int cc_codec_model_profiled(const struct cc_profile *p, const char *scheme,
                            enum cc_reduction reduction, struct cc_codec_model *out,
                            struct cc_error *e);

/* The cost of one or more tensors in a step: bytes of payload and seconds of codec work. Costs can
 * be added. */
struct cc_payload_cost {
    double values;
    double push_bytes, pull_bytes;
    struct cc_sum_sizes more; /* bytes by which sums differ: from pull_bytes, and from push_bytes */
    double pairs;             /* in the push; 0 unless CC_REDUCE_PAIRS */
    double verbatim;          /* values of verbatim payloads */
    double push_encode_s, push_decode_s, push_add_s; /* add: decoding onto a sum */
    double sum_more_s; /* by which encoding a sum takes longer than encoding a gradient */
    double pull_encode_s, pull_decode_s;
    double inner_bytes, inner_encode_s, inner_add_s; /* inside a host; otherwise the push's */
};

/* Bytes of a pull if `workers` workers push, and of a partial sum over `workers` workers. */
double cc_pull_bytes(const struct cc_payload_cost *p, int workers);
double cc_hop_bytes(const struct cc_payload_cost *p, int workers);

/* The payload costs of all tensors of a net, in its order: in the sending step, and in the period -
 * 1 silent steps, in which tensors are encoded but only raw ones are sent. */
struct cc_step_payloads {
    struct cc_payload_cost *each, total;
    struct cc_payload_cost *silent, silent_total;
    double *cut_bytes; /* pushed bytes of each tensor by which steps are cut into messages */
    size_t count, period, sum_rounds;
    enum cc_reduction reduction;
    const char *scheme;      /* the codec model's */
    struct cc_unions unions; /* unions of the workers' index-value pairs, if they were measured */
    bool measured;           /* codec times are those below, not the payload costs' */
    struct cc_codec_times {
        double encode_s; /* a worker's, before the first byte leaves */
        double hop_s;    /* on the way: decoding, adding, encoding, adding floats */
        double server_s; /* the busiest server's */
        double decode_s; /* a worker's, after the last byte */
    } codec;             /* per step on the critical path, means over whole periods */
};

/* Chooses the tensors that travel as fp32 whatever the scheme: those with fewer than min_size
 * values and, of the others, from the largest to the smallest, each with which the raw tensors
 * still have at most `share` of the values. size[] is in values; *is becomes the raw tensors'
 * share. */
int cc_raw_tensors(const double *size, size_t count, size_t min_size, double share, bool *raw,
                   double *is, struct cc_error *e);

/* Computes the payload costs of a net. Raw tensors get the cost of `floats` (fp32); raw may be
 * NULL: none. *out is set on success only; free it with cc_step_payloads_free. */
int cc_step_payloads_make(const struct cc_net *net, const struct cc_codec_model *codec_model,
                          const struct cc_codec_model *floats, const bool *raw,
                          struct cc_step_payloads *out, struct cc_error *e);
void cc_step_payloads_free(struct cc_step_payloads *p);

/* The measurements of a run: means per step over whole periods. */
struct cc_measured {
    double push_bytes, pull_bytes; /* payload of a worker's push; of all servers' pulls */
    double encoded_bytes; /* the prediction of push_bytes (cc_exchange_encoded_bytes) in the step
                             that sends, to which partial sums are in proportion; 0: not known */
    double push_head_bytes, pull_head_bytes; /* beside it, in steps that send */
    const double *tensor_push, *tensor_pull; /* payload by tensor; NULL: by their sizes */
    struct cc_codec_times codec;
};

/* The same with measured sizes and codec times, cut into the same messages as `profiled`, from
 * which the run was predicted. */
int cc_step_payloads_measured(const struct cc_net *net, const struct cc_step_payloads *profiled,
                              const bool *raw, const struct cc_measured *m,
                              struct cc_step_payloads *out, struct cc_error *e);

/* Multiplies all of a cost, as of a part of the values. */
void cc_payload_cost_scale(struct cc_payload_cost *c, double by);
/* Divides the time of codecs by a factor on their speed. */
void cc_payload_cost_hurry(struct cc_payload_cost *c, double speed);
void cc_payload_cost_add(struct cc_payload_cost *sum, const struct cc_payload_cost *p);

#endif
