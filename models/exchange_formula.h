/* The common parts of the exchanges' formulas: their input, the entry each provides, and the sums
 * of rounds that they are built from. For models/exchange*.c only. */
#ifndef CC_MODELS_EXCHANGE_FORMULA_H
#define CC_MODELS_EXCHANGE_FORMULA_H

#include <stdbool.h>

#include "core/schedule.h"
#include "models/exchange.h"

/* The input of a formula: one message on one cluster. Without servers there are at least two
 * workers. */
struct cc_exchange_case {
    const struct cc_payload_cost *message;
    enum cc_reduction reduction;
    const struct cc_cluster *cluster;
    const struct cc_link *link;
    double share, messages; /* those of the servers; see cc_exchange_cost */
};

/* One exchange's formulas: `cc_exchange_model_SYMBOL` for each line of CC_EXCHANGES. */
struct cc_exchange_model {
    /* Fills the fields of *c that it has; the others are 0. With CC_X_RECODES, payloads that are
     * sent by allgather instead do not come here. */
    void (*cost)(const struct cc_exchange_case *k, struct cc_cost *c);
    /* The ranks' schedule, by which a message is followed on clusters that are small enough
     * (exchange_follow.h), instead of adding up the formula's parts; NULL: the formula holds. With
     * in_chunks_only, messages in one piece are by the formula. */
    cc_schedule_builder *schedule;
    bool in_chunks_only;
    /* By which share what follows of several chunks may be off, as simulated: ranks take messages
     * that come at the same time in another order than those of the simulation. */
    double followed_off;
    bool all_differ; /* ranks have places of their own, whatever their host */
    bool own_chunks; /* the formula has chunks in it; otherwise those of a message follow one
                        another a round behind */
    /* As cc_exchange_off, on a cluster with the number of chunks; NULL: CC_EXCHANGE_OFF, or that of
     * chunks. */
    double (*off)(const struct cc_cluster *c);
    /* Payload bytes that a worker encodes with CC_X_RECODES, each value once; NULL: of its push. */
    double (*encoded_bytes)(const struct cc_payload_cost *m, const struct cc_cluster *c);
    /* Squared error of the workers' sum, in units of that of encoding every gradient once, for
     * payloads that are encoded again on their way (docs/advise.md); NULL: 1. */
    double (*encodings)(const struct cc_cluster *c);
};

#define CC_EXCHANGE_MODEL(id, symbol, ...)                                                         \
    extern const struct cc_exchange_model cc_exchange_model_##symbol;
CC_EXCHANGES(CC_EXCHANGE_MODEL)
#undef CC_EXCHANGE_MODEL

/* The largest power of two up to p >= 1, its logarithm, and the smallest logarithm that reaches p.
 */
int cc_power_below(int p);
int cc_log2(int p);
int cc_log2_up(int p);

/* The most gradients that a sum has when ranks of a power of two have added up `held` each, and
 * `extra` of them those of a rank beyond the power. */
int cc_most_summed(int held, int extra);

/* Whether the operation has the half that reduces, and the half that gathers. */
static inline bool cc_reduces(const struct cc_cluster *c)
{
    return c->op != CC_ALL_GATHER;
}
static inline bool cc_gathers(const struct cc_cluster *c)
{
    return c->op != CC_REDUCE_SCATTER;
}

/* Payload and framing of a message on the wire, without headers. */
double cc_framed(const struct cc_link *l, double bytes);

/* Adds `count` messages of `bytes` that follow one another on the critical path; `sent`: the
 * busiest host sends them too. */
void cc_add_rounds(const struct cc_exchange_case *k, double count, double bytes, bool sent,
                   struct cc_cost *c);

/* --- clusters with several classes of links (exchange_classes.c) --- */

/* The pairs of sender and receiver in a round. */
enum cc_pairs {
    CC_PAIR_BELOW,   /* each worker to the one `distance` below it, modulo their number */
    CC_PAIR_MEMBERS, /* member m of a power of two to member m ^ distance (pow2_group.h) */
    CC_PAIR_EXTRAS   /* ranks beyond the power of two to their members, or back */
};

/* Rounds in which each worker sends to a partner, at first none. */
enum { CC_MOST_ROUNDS = 64 };
struct cc_rounds {
    struct cc_partners {
        enum cc_pairs pairs;
        int distance;
        double bytes;
        bool sent; /* by the busiest host, too */
        bool back; /* CC_PAIR_EXTRAS: from members to the extras */
        /* Codec work of a rank, seconds: before it sends, and then, while that is under way; of one
         * that receives: before its next round begins, and then. Of extras that get something back,
         * all members do what a sender does. */
        double encode_s, own_s, add_s, after_s;
    } item[CC_MOST_ROUNDS];
    int count;
};
/* Adds a round, without codec work; the pointer stays valid. */
struct cc_partners *cc_round(struct cc_rounds *r, enum cc_pairs pairs, int distance, double bytes,
                             bool sent);

/* Adds the rounds, each of which takes a worker as long as the slower class of links, where all
 * messages that share a link share its bandwidth. */
void cc_add_partners(const struct cc_exchange_case *k, const struct cc_rounds *r,
                     struct cc_cost *c);

/* Where payloads are encoded again on their way: follows the rounds, which cc_add_partners has
 * added, with their codec work, which is in *c, from rank to rank, and sets the parts of it that
 * others' transfers hide, less the wait for ranks that have more to do. Clusters of more ranks
 * than CC_MOST_FOLLOWED keep the sum of all parts. */
enum { CC_MOST_FOLLOWED = 512 };
void cc_hide_work(const struct cc_exchange_case *k, const struct cc_rounds *r, struct cc_cost *c);

/* When the workers' sums of a stage whose messages are all under way (cc_add_stage) are there: each
 * of `count` messages is encoded in encode_s and takes transfer_s alone on the port, which those
 * under way share; what has come is added in add_s, one after the other. */
double cc_stage_sums_s(double count, double encode_s, double latency_s, double transfer_s,
                       double add_s);

/* Adds one or two tours round a ring, of workers - 1 messages each from every worker to the next,
 * of that many bytes each. work_s: what a chunk's work takes in the first tour, in all hops
 * together, which is not added. Returns the share of it that nothing hides: 1, or less where chunks
 * queue for a slow link. */
double cc_add_ring(const struct cc_exchange_case *k, int tours, double first_bytes,
                   double second_bytes, double work_s, struct cc_cost *c);

/* Adds a message of `bytes` from each worker to every other, all at once: they share the ports,
 * take one latency, and no less time than sending them takes the processor. */
void cc_add_stage(const struct cc_exchange_case *k, double bytes, struct cc_cost *c);

/* Adds a message of `bytes` from each worker to every other of its host (inner), or to every one of
 * its local number, all at once, or as many round a ring, on clusters of several workers a host. */
void cc_add_group_stage(const struct cc_exchange_case *k, bool inner, double bytes,
                        struct cc_cost *c);
/* How those messages move: the cluster's choice. */
static inline bool cc_stage_is_ring(const struct cc_cluster *c, bool inner)
{
    return (inner ? c->inner_exchange : c->outer_exchange) == CC_STAGE_RING;
}

/* With servers: the most messages of one direction that share a link between sites, when every
 * worker sends one to each of `servers` servers; 0 if none crosses. */
double cc_wan_flows(const struct cc_cluster *c, int servers);

/* Sets the codec work of exchanges that change nothing in payloads: the worker encodes before and
 * decodes after. Floats that are the gradient itself are neither encoded nor decoded. */
void cc_encode_once(const struct cc_exchange_case *k, struct cc_cost *c);

/* Finds the formula of the least network time among some; *c, all 0 before, becomes its cost. */
struct cc_exchange_candidate {
    enum cc_exchange exchange;
    void (*cost)(const struct cc_exchange_case *k, struct cc_cost *c);
};
enum cc_exchange cc_cost_fastest(const struct cc_exchange_case *k,
                                 const struct cc_exchange_candidate *candidate, size_t count,
                                 struct cc_cost *c);

/* Bruck's allgather of every worker's payload, each of which every worker adds up. */
void cc_cost_allgather(const struct cc_exchange_case *k, struct cc_cost *c);

#endif
