/* Rows whose steps are not bulk synchronous: workers' steps, and the staleness of their updates. */
#ifndef CC_NETSIM_RANK_STALENESS_H
#define CC_NETSIM_RANK_STALENESS_H

#include "netsim/rank/rank.h"

/* Sets on rank 0 the time of a worker's step, as means over the workers, from l->from to l->to; how
 * many updates a second they make together, and for how long a step is held back by the bound.
 * Collective. */
int cc_rank_stale_steps(struct cc_rank *r, const struct cc_rank_loop *l, struct cc_report_row *out,
                        struct cc_error *e);

/* The updates of all counted steps by their staleness: age[CC_CLOCKS_AGES], on rank 0. Collective.
 */
int cc_rank_ages(struct cc_rank *r, const struct cc_rank_loop *l, uint64_t *age,
                 struct cc_error *e);

/* The same as a list that ends with the last one that is not 0, for the report. Collective. */
int cc_rank_stale_ages(struct cc_rank *r, const struct cc_rank_loop *l, struct cc_report_row *out,
                       struct cc_error *e);

#endif
