/* A schedule played by one process: the rounds of all ranks, each as soon as what it receives has
 * been sent. Which of them comes first does not matter to the result. */
#ifndef CC_NETSIM_INPROCESS_ROUNDS_H
#define CC_NETSIM_INPROCESS_ROUNDS_H

#include "core/exchange.h"
#include "netsim/exchange/schedule/schedule.h"

struct cc_rounds {
    int workers;
    struct cc_schedule *rank;
    /* [rank][round]: the round in which the sender sends what this one receives. */
    size_t **sent_in;
    size_t *current; /* of each rank: the round that has begun and not ended */
};

/* Builds the schedules of all ranks. Close it also after an error; all zeros are nothing to close.
 */
int cc_rounds_open(struct cc_rounds *r, enum cc_exchange x, int workers, struct cc_error *e);
void cc_rounds_close(struct cc_rounds *r);

/* The ranks' work. Round r->rank[rank].rounds, which only begins, is what follows the last one. */
struct cc_rounds_work {
    int (*begin)(void *arg, int rank, size_t round, struct cc_error *e); /* sends */
    /* Takes what round `from_round` of rank `from` has sent. */
    int (*receive)(void *arg, int rank, size_t round, int from, size_t from_round,
                   struct cc_error *e);
};

/* Plays all rounds of all ranks. */
int cc_rounds_play(struct cc_rounds *r, const struct cc_rounds_work *work, void *arg,
                   struct cc_error *e);

#endif
