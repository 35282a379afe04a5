/* Pipe-SGD with K steps under way (Li et al., NeurIPS 2018, Algorithm 1): a worker computes step t
 * while the steps from t - K + 1 on are exchanged, on the model that step t - K has updated. The
 * exchanges of two steps never share the network: a gradient that is computed waits for its turn.
 * With K = 2 that never happens, as a step ends when its exchange has begun.
 *
 * A replay has K = 2, applies nothing at its end, and its last exchange ends outside all steps. A
 * training may begin with synchronous steps, and applies everything in its last one. */
#include "netsim/rank/step_modes.h"

#include <math.h>

#include "netsim/rank/accounting.h"
#include "netsim/rank/computing.h"
#include "netsim/rank/messages.h"

size_t cc_pipe_depth(const struct cc_job *job)
{
    return job->training.net != NULL ? job->training.depth : 2;
}

/* Applies the results of the steps before `until`, which have arrived. */
static int apply_until(struct cc_rank_loop *l, size_t until, struct cc_error *e)
{
    while (l->applied < until) {
        const size_t step = l->applied++;
        l->clock = cc_runtime_now();
        CC_TRY(cc_apply(l, (int64_t)step, NULL, e));
        cc_charge_clock(l, CC_PHASE_UPDATE);
        CC_TRY(cc_source_end_step(l->source, step, e));
    }
    return CC_OK;
}

/* Waits for everything that is computed, and applies it. */
static int empty(struct cc_rank_loop *l, struct cc_error *e)
{
    CC_TRY(cc_messages_await(l, l->messages, e));
    return apply_until(l, l->computed, e);
}

/* Waits for what was left of the exchange before the clock stood still. */
static void wait_left(struct cc_rank_loop *l, double since)
{
    const double until = since + l->left_s, now = cc_runtime_now();
    const struct cc_wait_timer w = cc_wait_begin(l);
    if (l->left_s > 0 && now < until)
        cc_runtime_sleep(until - now);
    (void)cc_wait_end(l, w);
    l->left_s = 0;
}

int cc_pipe_step(struct cc_rank_loop *l, size_t step, struct cc_error *e)
{
    const struct cc_job_training *t = &l->s.job->training;
    const size_t depth = cc_pipe_depth(l->s.job), done = step + 1;
    const int64_t due = (int64_t)step - (int64_t)depth;
    const bool none = due < (int64_t)l->applied; /* to be applied now */
    const double since = cc_runtime_now();
    CC_TRY(cc_apply_and_compute(l, none ? -1 : due, step, e));
    l->applied += none ? 0 : 1;
    l->computed = done;
    wait_left(l, since);
    const struct cc_wait_timer w = cc_wait_begin(l);
    CC_TRY(cc_messages_start_next(l, e));
    CC_TRY(cc_messages_reach(l, done + 2 > depth ? done + 2 - depth : 0, e));
    (void)cc_wait_end(l, w);
    const bool last = t->net != NULL && done == cc_rank_loop_steps(l);
    return step < t->sync_steps || last ? empty(l, e) : CC_OK;
}

int cc_pipe_pause(struct cc_rank_loop *l, size_t step, struct cc_error *e)
{
    const size_t done = step + 1;
    const double since = cc_runtime_now();
    CC_TRY(cc_messages_finish(l, l->messages, e));
    l->left_s = cc_runtime_now() - since;
    return apply_until(l, done - cc_job_delayed(l->s.job, l->s.row, done), e);
}
