/* What the exchanges without servers share: the three ways in which payloads are reduced, and what
 * each rank does in which round.
 *
 *   sums:   payloads are floats that are added as they are (sums.c)
 *   hops:   payloads are decoded, added to, and encoded again on their way (hops.c)
 *   gather: everyone gets all payloads (gather.c) */
#ifndef CC_NETSIM_MPI_EXCHANGE_REDUCTION_H
#define CC_NETSIM_MPI_EXCHANGE_REDUCTION_H

#include "netsim/message/pack.h"
#include "netsim/mpi/exchange/exchange.h"

/* Every exchange in progress begins with a pointer to what it can do. */
struct cc_reduction_ops {
    int (*start)(void *x, struct cc_error *e);
    int (*test)(void *x, bool *done, struct cc_error *e);
    void (*close)(void *x);
};

/* For struct cc_exchange_ops: pass on to the way. */
int cc_reduction_start(void *x, struct cc_error *e);
int cc_reduction_test(void *x, bool *done, struct cc_error *e);
void cc_reduction_close(void *x);

/* What one rank does in one round: chunks go to one rank and come from another (-1: none). */
struct cc_round {
    int to, from;
    size_t send, sends, recv, recvs; /* chunks: the first, and how many */
    int64_t who;                     /* hops: whose random numbers what goes is encoded with */
    uint64_t salt;                   /* and what is added to the seed */
    int sent_of, come_of;            /* hops, in rounds that reduce: of how many workers' gradients
                                        what goes, and what comes, is the sum */
    bool needs_clear; /* hops, as in a transfer: with another peer than in the round before */
    bool upper;       /* hops, what goes and what comes is of the same chunks: mine comes second */
};

/* What one rank does: the values are cut into chunks; in the first `reduces` rounds it adds what
 * comes to what it has, in the others it keeps it. */
struct cc_schedule {
    size_t chunks;
    struct cc_round *round;
    size_t rounds, reduces, capacity;
    bool owns; /* one chunk is its own: it has the whole sum after `reduces` rounds, and it is its
                  encoding of that which all decode */
    size_t own;
    int64_t who; /* as in a round, for that */
    uint64_t salt;
};

/* NULL if there is no memory. */
struct cc_round *cc_schedule_add(struct cc_schedule *p, struct cc_error *e);

/* For a number of ranks that is not a power of two: the even ones of the first 2r ranks hand what
 * they have to the next one and get the sum from it in the end. */
struct cc_pow2_group {
    int power, rest; /* the largest power of two up to P; r */
    int member;      /* this rank's number among the power of two that go on; -1 */
};
struct cc_pow2_group cc_pow2_group_make(int workers, int rank);
int cc_pow2_group_rank(const struct cc_pow2_group *f, int member);
/* The lowest rank whose gradient is in what members from `member` on have. */
int cc_pow2_group_lowest(const struct cc_pow2_group *f, int member);
/* Of how many workers the gradients are that `count` members have: `member`, and others every
 * `stride` from it. */
int cc_pow2_group_workers(const struct cc_pow2_group *f, int member, int stride, int count);
/* The first round, and the last, of plans that are folded. */
int cc_pow2_group_fold_in(const struct cc_pow2_group *f, const struct cc_rank_state *s,
                          struct cc_schedule *p, struct cc_error *e);
int cc_pow2_group_fold_out(const struct cc_pow2_group *f, const struct cc_rank_state *s,
                           struct cc_schedule *p, struct cc_error *e);

typedef int cc_schedule_builder(const struct cc_rank_state *s, struct cc_schedule *p,
                                struct cc_error *e);

/* Opens what row and job ask for: sums or hops after a plan, or gather. */
int cc_reduction_open(struct cc_rank_state *s, const struct cc_job_message *m, size_t index,
                      cc_schedule_builder *plan, void **out, struct cc_error *e);
/* Takes the plan over, also when it fails. */
int cc_reduce_sum_open(struct cc_rank_state *s, const struct cc_job_message *m, size_t index,
                       struct cc_schedule *plan, void **out, struct cc_error *e);
int cc_reduce_recode_open(struct cc_rank_state *s, const struct cc_job_message *m, size_t index,
                          struct cc_schedule *plan, void **out, struct cc_error *e);
int cc_allgather_bruck_open(struct cc_rank_state *s, const struct cc_job_message *m, size_t index,
                            void **out, struct cc_error *e);

/* The values of a message in the flat step. */
struct cc_range {
    size_t from, to;
};
struct cc_range cc_message_range(const struct cc_rank_state *s, const struct cc_job_message *m);

/* A crate for the values of `part`, whose x and y begin at value `origin`. `how` gives the rest: of
 * it only seed, rank, workers and decodes_only need be set. */
int cc_reduction_pack(const struct cc_rank_state *s, struct cc_range part, size_t origin,
                      struct cc_pack_config config, struct cc_pack **out, struct cc_error *e);

/* Encodes, charges and counts: `first` says that these are values that this rank has not encoded in
 * this step. */
int cc_reduction_encode(struct cc_rank_state *s, struct cc_pack *c, const float *x,
                        enum cc_phase phase, bool first, uint8_t *out, size_t *len,
                        struct cc_error *e);
/* Onto the model, the mean over the workers, and charges what `op` costs. */
int cc_reduction_apply(struct cc_rank_state *s, const struct cc_pack *c, enum cc_pack_op op,
                       const uint8_t *in, size_t len, float *model, struct cc_error *e);

/* Floats to be summed over the workers: one sum for each round of the scheme that has bytes
 * (cc_pack_encode_round), one after the other. All ranks have the same rounds of the same size. */
struct cc_floats {
    struct cc_rank_state *rank_state;
    struct cc_pack *pack;
    size_t from;  /* the message's first value */
    size_t round; /* of the scheme */
    uint8_t *at;  /* what this rank adds to the sum, then the sum; NULL without data */
    size_t bytes; /* 0: nothing more to sum in this step */
};

int cc_floats_open(struct cc_floats *f, struct cc_rank_state *s, const struct cc_job_message *m,
                   struct cc_error *e);
/* Encodes the step's gradient, up to the first round that has bytes. */
int cc_floats_start(struct cc_floats *f, struct cc_error *e);
/* The sum is there: onto the model, the mean over the workers, and on to the next round that has
 * bytes. */
int cc_floats_next(struct cc_floats *f, struct cc_error *e);
void cc_floats_close(struct cc_floats *f);

#endif
