/* A server's clocks: one for each worker, which counts the steps that have come from it, and what
 * follows from them (Ho et al., More Effective Distributed ML via a Stale Synchronous Parallel
 * Parameter Server, NeurIPS 2013, section 3).
 *
 * A worker at clock c, which has made steps 0 to c - 1, reads the parameters for step c. With a
 * bound s, it may when the slowest worker's clock is at least c - s: then the parameters have all
 * updates of steps 0 to c - s - 1 of all workers. Without a bound it always may.
 *
 * Staleness is counted in updates: those of other workers between a worker's read and the update
 * that it has computed with what it read. */
#ifndef CC_NETSIM_EXCHANGE_PACK_CLOCKS_H
#define CC_NETSIM_EXCHANGE_PACK_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "netsim/job/job.h"

enum { CC_CLOCKS_AGES = 4096 };

struct cc_clocks {
    uint64_t bound;             /* steps that the fastest may lead; UINT64_MAX: none */
    size_t workers, at_slowest; /* at_slowest: how many workers are as slow as the slowest */
    uint64_t slowest;           /* clock */
    uint64_t updates;
    uint64_t *clock, *read; /* [workers]; read: the updates when it has read */
};

/* Close it also after an error; all zeros are nothing to close. */
int cc_clocks_open(struct cc_clocks *c, const struct cc_job_consistency *config, size_t workers,
                   struct cc_error *e);
void cc_clocks_close(struct cc_clocks *c);

/* A worker has made its next step, `step`, without an update: its clock advances. Fails if that is
 * not its next step. */
int cc_clocks_advance(struct cc_clocks *c, size_t worker, uint64_t step, struct cc_error *e);
/* An update by a worker is applied; returns its staleness. */
uint64_t cc_clocks_update(struct cc_clocks *c, size_t worker);
/* Whether a worker may read; and that it does. */
bool cc_clocks_may_read(const struct cc_clocks *c, size_t worker);
void cc_clocks_read(struct cc_clocks *c, size_t worker);

/* --- workers that do not push in every step (enum cc_communicate) --- */

/* The gradients of a message since the worker's last push. */
struct cc_withheld {
    float *sum;   /* [n] */
    double norms; /* the sum of these gradients' norms */
    size_t gradients;
};
void cc_withheld_add(struct cc_withheld *h, const float *gradient, size_t n);
/* After a push. */
void cc_withheld_forget(struct cc_withheld *h, size_t n);
/* Whether a worker pushes the sum, which makes its step at `clock`: as the sum has grown, or as it
 * may not make its next step with the parameters that it pulled when the slowest worker's clock was
 * `slowest`. */
bool cc_withheld_has_grown(const struct cc_withheld *h, const struct cc_job_consistency *config,
                           size_t n);
bool cc_withheld_at_bound(const struct cc_job_consistency *config, uint64_t clock,
                          uint64_t slowest);

/* --- ages --- */

/* Counts an update in a list age[CC_CLOCKS_AGES]: updates by their staleness, the last also of
 * more. */
void cc_ages_add(uint64_t *age, uint64_t staleness);
/* The mean of such a list, and the least staleness that a share q of its updates do not exceed. 0
 * without updates. */
double cc_ages_mean(const uint64_t *age);
double cc_ages_quantile(const uint64_t *age, double q);

#endif
