/* The collectives of a step with sharded states, as their exchanges see them: each has its own
 * rank state, among its workers, with its own operation, exchange and scheme. */
#ifndef CC_NETSIM_EXCHANGE_COLLECTIVES_H
#define CC_NETSIM_EXCHANGE_COLLECTIVES_H

#include "netsim/exchange/rank_state.h"

struct cc_rank_collective {
    struct cc_job job;
    struct cc_job_row row;
    struct cc_rank_state s;
    struct cc_spec *spec, *raw; /* for parameters; NULL: the row's */
    char scheme[32];            /* the name of values as they are */
};

/* The indexes of sizes without data, of parameters, and of values as they are; else NULL. */
struct cc_collective_sizes {
    const struct cc_size_index *weights, *plain;
};

/* Opens collective `i` of the list for the rank whose row has the state `s`; no_cost: [tensors], of
 * parameters as they are. *c stays in place until it is closed. Close it also after an error. */
int cc_rank_collective_open(struct cc_rank_collective *c, const struct cc_collective *of, int i,
                            const struct cc_rank_state *s, const struct cc_collective_sizes *sizes,
                            struct cc_job_cost *no_cost, struct cc_error *e);
void cc_rank_collective_close(struct cc_rank_collective *c);

/* Whether `list` has another collective that follows number `i`: it begins with the result of
 * that. */
bool cc_collective_leads(const struct cc_collectives *list, int i);

/* Moves to *total what the collective's exchanges have counted; of payloads those of gradients, as
 * their first collective encodes them, and in a training those of parameters as gathered, once for
 * all hosts that gather the same. */
void cc_rank_collective_collect(struct cc_rank_collective *of, struct cc_counters *total);

#endif
