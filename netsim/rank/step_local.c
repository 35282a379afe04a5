/* Local steps beside an exchange: a worker makes `local_delay` of a step's local steps while the
 * exchange of the step before is under way, waits for it, takes its results, makes the others, and
 * begins an exchange of its own. All workers take results after the same local step, so weights do
 * not depend on the network (Streaming DiLoCo, 2025, section 3.2).
 *
 * Before an evaluation or a checkpoint a worker waits for its exchange, so that the shared
 * parameters are whole; it takes them when it would have. */
#include "netsim/rank/step_local.h"

#include <math.h>

#include "netsim/rank/accounting.h"
#include "netsim/rank/computing.h"
#include "netsim/rank/messages.h"

/* Waits for the exchange of a step, and updates the shared parameters. */
static int end_exchange(struct cc_rank_loop *l, size_t step, struct cc_error *e)
{
    const struct cc_wait_timer w = cc_wait_begin(l);
    CC_TRY(cc_messages_finish(l, l->messages, e));
    (void)cc_wait_end(l, w);
    l->clock = fmax(l->clock, cc_runtime_now());
    CC_TRY(cc_apply(l, (int64_t)step, NULL, e));
    return cc_source_end_step(l->source, step, e);
}

int cc_step_local(struct cc_rank_loop *l, size_t step, struct cc_error *e)
{
    CC_TRY(cc_compute(l, step, CC_COMPUTE_AHEAD, NULL, e));
    if (l->source->ended < step)
        CC_TRY(end_exchange(l, step - 1, e));
    CC_TRY(cc_compute(l, step, CC_COMPUTE_STEP, NULL, e));
    cc_messages_take_step(l, step);
    for (size_t i = 0; i < l->messages; i++)
        if (!cc_job_row_skips(l->s.job, i, step))
            CC_TRY(cc_message_start(l, i, e));
    return cc_rank_loop_interval_ends(l, step + 1) ? end_exchange(l, step, e) : CC_OK;
}
