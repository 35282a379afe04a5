/* The cost of exchanges (core/exchange.h) in the alpha-beta model: a message of n bytes takes
 * alpha + n beta; ports are full duplex; ranks act in step. The formulas are in exchange_*.c;
 * docs/model.md has each with its source. */
#ifndef CC_MODELS_EXCHANGE_H
#define CC_MODELS_EXCHANGE_H

#include "core/element.h"
#include "core/error.h"
#include "core/exchange.h"
#include "core/unions.h"
#include "models/link.h"
#include "models/payload_cost.h"

enum { CC_CLUSTER_NICS = 64 }; /* of a host, at most; and sites */

/* How the index sets of different workers overlap. */
enum cc_union {
    CC_UNION_EXPECTED, /* for uniform indices: m sets of k in N have N (1 - (1 - k/N)^m) */
    CC_UNION_SAME,     /* all the same: SparCML's lower bounds */
    CC_UNION_DISJOINT, /* no index twice: its upper bounds */
    CC_UNION_MEASURED  /* as measured of the scheme; as expected where nothing was */
};
extern const char *const cc_union_names[];

struct cc_cluster {
    int workers, servers; /* at least 1 each; servers for CC_PS only */
    bool colocated;       /* CC_PS: server i is on the host of worker i, whose port both use */
    /* Workers of a host, each on an accelerator of its own: worker i is on host i / per_host, and
     * they share its port to the network. They are a multiple of it. 0: 1. Servers are on hosts of
     * their own. */
    int per_host;
    /* Interfaces of a host to the network, each a port of the link's rate: worker i uses interface
     * (i modulo per_host) modulo nics. At most per_host; 0: 1. */
    int nics;
    struct cc_link intra; /* per_host > 1: of each accelerator to the others of its host */
    bool accelerated;     /* workers are accelerators, whose library for sums is NCCL */
    /* Sites: host h is at site floor(h sites / hosts), server j at floor(j sites / servers).
     * Messages between two sites in one direction share their link, which adds its latency. 0: 1.
     */
    int sites;
    double wan_bps, wan_latency_s; /* sites > 1 */
    enum cc_operation op;          /* other than CC_ALLREDUCE of CC_X_HALVES only */
    enum cc_via via;
    enum cc_union overlap;
    const struct cc_unions *unions; /* CC_UNION_MEASURED: of the scheme; or NULL */
    double reduce_byte_s;           /* gamma: seconds to add a byte of float32 to a sum */
    double merge_byte_s;            /* seconds to merge a byte of index-value pairs in memory */
    enum cc_wire wire;
    bool as_printed; /* sparse exchanges by SparCML's formulas, not as the ranks run them */
    double keep; /* sparse exchanges: the share of a message's values that its sum keeps; 0: all */
    double dense_bits; /* per value in the second stage of dsar-split; 32, or 4 with QSGD */
    /* CC_X_STAGES: the scheme that encodes sums, whose payload costs are those of pulls; NULL: that
     * of the gradients. */
    const char *gather;
    enum cc_stage_exchange inner_exchange, outer_exchange; /* CC_X_INSIDE */
    int chunks; /* CC_X_RECODES: in which a message is exchanged, one stage behind the other; 0: 1;
                   CC_CHUNKS_AUTO: cc_predict chooses them */
    bool by_formula; /* messages are not followed from rank to rank, which takes longer */
    /* CC_X_INSIDE: the scheme of what is sent inside hosts to be added, whose payload costs are
     * those that are called inner; NULL: that of the gradients. */
    const char *intra_scheme;
};

/* Whether messages go over links of several classes: inside and between hosts, or sites. */
static inline bool cc_cluster_two_classes(const struct cc_cluster *c)
{
    return c->per_host > 1 || c->sites > 1;
}
static inline int cc_cluster_per_host(const struct cc_cluster *c)
{
    return c->per_host > 1 ? c->per_host : 1;
}
/* The interfaces of a host. */
static inline int cc_cluster_nics(const struct cc_cluster *c)
{
    return c->nics > 1 ? c->nics : 1;
}
/* The workers that share one interface of a host, at most. */
static inline int cc_cluster_per_nic(const struct cc_cluster *c)
{
    const int nics = cc_cluster_nics(c);
    return (cc_cluster_per_host(c) + nics - 1) / nics;
}
/* The host of a worker, counted from 0. */
static inline int cc_host_of(const struct cc_cluster *c, int worker)
{
    return worker / cc_cluster_per_host(c);
}
/* The hosts of the workers. */
static inline int cc_cluster_hosts(const struct cc_cluster *c)
{
    return c->workers / cc_cluster_per_host(c);
}

/* Merging a byte of pairs in memory: 0.2 to 0.4 ns on the machine of docs/results.md. */
#define CC_MERGE_BYTE_S 0.3e-9

/* The cost of one message, by stages. A worker encodes; the push occupies its port out and the
 * server's port in; the server works; the pull occupies the ports the other way; the worker
 * decodes. An exchange without servers has everything on the network in the push. */
struct cc_cost {
    double encode_s;                        /* worker, before the first byte leaves */
    double push_latency_s, push_transfer_s; /* the alpha and beta terms */
    double reduce_s;                        /* adding floats or merging pairs between rounds */
    double hop_codec_s;                     /* decode, add, encode between rounds */
    double server_codec_s;                  /* busiest server: P decode-adds, one encode */
    double server_encode_s;                 /* the encode's part of it */
    double pull_latency_s, pull_transfer_s;
    double decode_s; /* worker, after the last byte */
    /* Parts of encode_s, of hop_codec_s and reduce_s, and of decode_s that are done while other
     * messages of the same exchange are under way: they do not make it longer. The second is below
     * 0 where ranks wait for one that has more to do. */
    double encode_beside_s, hop_beside_s, decode_beside_s;
    double chunks_beside_s; /* of all of it: what chunks of a message do at the same time */
    double push_inner_s;    /* the part of push_transfer_s that is inside hosts */
    double rounds;          /* message times on the critical path */
    double messages;        /* sent by the busiest host */
    double wire_bytes;      /* sent by the busiest host to others, headers included */
    double intra_bytes;     /* sent inside a host by all of its workers, headers included */
    /* CC_PS: how long the worker's port and the busiest server's are taken; the transfer is the
     * longest of them. */
    double push_worker_s, push_server_s, pull_worker_s, pull_server_s;
    double push_wan_s, pull_wan_s; /* CC_PS: the same of the busiest link between sites */
    /* CC_PS: the transfer of one worker's part for the busiest server, alone on their link. */
    double push_flow_s, pull_flow_s;
    /* CC_PS: for which a worker and the busiest server send messages, but for the first, whose time
     * is in the latency; no transfer is shorter. */
    double push_send_s, pull_send_s;
    double formula_s; /* the network's time of messages of by_formula clusters */
    /* After the parts, which are all doubles: CC_X_CHOOSES: the exchange that one message takes. */
    enum cc_exchange chosen;
};

/* Time of the network stages: latency, transfer, adding. */
static inline double cc_cost_comm(const struct cc_cost *c)
{
    return c->push_latency_s + c->push_transfer_s + c->reduce_s + c->pull_latency_s +
           c->pull_transfer_s;
}

/* All codec time of the busiest worker and server. */
static inline double cc_cost_codec(const struct cc_cost *c)
{
    return c->encode_s + c->hop_codec_s + c->server_codec_s + c->decode_s;
}

/* The codec time that the exchange's own transfers hide. */
static inline double cc_cost_beside(const struct cc_cost *c)
{
    return c->encode_beside_s + c->hop_beside_s + c->decode_beside_s + c->chunks_beside_s;
}

/* Checks that an exchange can carry payloads of this kind; CC_USAGE, with a remedy, if it cannot.
 * Sums travel through the sparse exchanges as dense streams. */
int cc_exchange_check(enum cc_exchange x, enum cc_reduction r, const char *scheme,
                      struct cc_error *e);

/* The type in which an exchange carries uncompressed gradients of a type: its own, but float32
 * where only that is summed, by an MPI library or among index-value pairs. */
enum cc_element cc_exchange_plain(enum cc_exchange x, enum cc_element dtype);

/* Sets *out to the cost of one message that cc_exchange_check allows. With servers, `share` is the
 * busiest server's part of it (1/servers if it is split, 1 if one server gets it all), and
 * `messages` the number of messages that each worker sends (servers if it is split, else 1). One
 * worker without servers needs no network: its cost is 0. */
void cc_exchange_cost(enum cc_exchange x, const struct cc_payload_cost *m, enum cc_reduction r,
                      const struct cc_cluster *c, const struct cc_link *l, double share,
                      double messages, struct cc_cost *out);

/* By which share of a sequential step a formula may be off what ranks do, as simulated with equal
 * hosts (docs/model.md): CC_EXCHANGE_OFF, or more where messages wait for each other, or codecs
 * work beside them, in ways that it leaves out. `c` has the number of chunks. */
#define CC_EXCHANGE_OFF 0.03
double cc_exchange_off(enum cc_exchange x, enum cc_reduction r, const struct cc_cluster *c,
                       const struct cc_link *l);

/* The payload bytes that a worker encodes in a step, each value once, which runs report as its
 * push: of its own gradient, or, where every hop encodes partial sums, of these. */
double cc_exchange_encoded_bytes(enum cc_exchange x, const struct cc_payload_cost *m,
                                 enum cc_reduction r, const struct cc_cluster *c);

/* The part of a step's values that those bytes are of, on the mean over the workers: 1 in an
 * allreduce. In the halves, of which a worker encodes a part only; floats that are sent from the
 * gradient count as a whole there, too. */
double cc_exchange_encoded_share(enum cc_exchange x, enum cc_reduction r,
                                 const struct cc_cluster *c);

/* With servers: sets both transfers to the longest of what the worker's port, the server's port and
 * the sending of messages take. */
void cc_cost_bound_transfers(struct cc_cost *c);

/* Subtracts from the cost of all messages of a step the time that token buckets save: each port's
 * bucket is full when the step begins and is refilled while the port waits for others. `out` may be
 * the cost itself. docs/model.md, "Token buckets". */
void cc_cost_shaped(enum cc_exchange x, const struct cc_cost *sum, const struct cc_link *l,
                    struct cc_cost *out);

/* The time for which the busiest port is occupied. In the long run no step is shorter, as buckets
 * have to be refilled. */
double cc_cost_port(enum cc_exchange x, const struct cc_cost *sum);

/* With servers: the time for which the busiest host sends, push and pull together if both are on
 * it. */
double cc_cost_sent_s(const struct cc_cluster *cluster, const struct cc_link *l,
                      const struct cc_cost *c);

/* The squared error of the sum that the workers end with, in units of the error of encoding every
 * gradient once. Errors and gradients of different workers count as independent, so that their
 * squares add up. 1 where payloads are summed, merged or gathered as they are, 2 with a server that
 * encodes the mean, more where every hop encodes. docs/advise.md. Without a last encoding, as of a
 * reduce-scatter, one less; of an all-gather 1. */
double cc_exchange_encodings(enum cc_exchange x, enum cc_reduction r, const struct cc_cluster *c);

/* The size of the union of m of the workers' index sets, of k in n each. */
double cc_union_size(const struct cc_cluster *c, double n, double k, int m);

/* The exchange that is fastest for messages with at most `pairs` pairs in the gradients of all
 * workers together. */
struct cc_exchange_choice {
    double pairs;
    enum cc_exchange exchange;
};
enum { CC_EXCHANGE_CHOICES = 8 };
/* The sparse exchanges between which ssar-auto chooses for a message of that many values, by the
 * number of its pairs: out[0 .. count - 1] in ascending order, the last one for all above. Payloads
 * that are summed have one choice. Returns the count, at least 1. */
size_t cc_exchange_choices(const struct cc_cluster *c, const struct cc_link *l, enum cc_reduction r,
                           double values, struct cc_exchange_choice *out);

/* Add `times` times a cost, which need not be a whole number, and raise each part to that of
 * another cost where this is more. Neither changes `chosen`. */
void cc_cost_add(struct cc_cost *sum, const struct cc_cost *c, double times);
void cc_cost_most(struct cc_cost *most, const struct cc_cost *c);

#endif
