/* The common part of sources that emulate computing: the gradients of a number of different steps,
 * loaded into memory before any clock runs and used in turn, and one buffer that all results add up
 * in. That buffer is the model that was moved by every result since the row began. */
#ifndef CC_NETSIM_RANK_PRELOADED_H
#define CC_NETSIM_RANK_PRELOADED_H

#include "netsim/exchange/pack/gradients.h"
#include "netsim/rank/source.h"

struct cc_source_config {
    const struct cc_job *job; /* must outlive the source */
    int worker;               /* whose gradients; -1 - i: server i */
    size_t steps;             /* different ones, at most */
    size_t in_flight;         /* steps, as in struct cc_source */
};

/* Loads min(config->steps, those that *g has for the worker) steps, and the source is called
 * `name`. *g may be NULL: then only the time that computing takes is emulated, without data. */
int cc_preloaded_open(const struct cc_source_config *config, const char *name,
                      struct cc_gradients *g, struct cc_source **out, struct cc_error *e);

/* The number of different steps that fit into `bytes` bytes: at least one, at most the job's
 * trace_steps. */
size_t cc_preloaded_fit(const struct cc_job *job, size_t bytes);

#endif
