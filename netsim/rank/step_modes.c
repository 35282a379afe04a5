/* The modes of a worker's step, and a server's step.
 *
 * Sequential: compute, exchange the messages one by one, update. Only the job's hidden share of
 * computing happens beside the exchange. All ranks begin each step together.
 *
 * Overlap: wait-free backpropagation. Each message leaves once its part of the backward pass is
 * done; the forward pass of the next step waits for each tensor's update. A step lasts from the end
 * of one forward pass to the end of the next.
 *
 * In both, the micro-steps of a step before the last one come first (ddp's no_sync).
 *
 * Pipe: Pipe-SGD (pipe.c).
 *
 * Overlap with local steps: a worker makes `local_delay` of a step's local steps while the exchange
 * of the step before is under way, waits for it, takes its results, makes the others, and begins an
 * exchange of its own. All workers take results after the same local step, so weights do not depend
 * on the network (Streaming DiLoCo, 2025, section 3.2). Before an evaluation or a checkpoint a
 * worker waits for its exchange, so that the shared parameters are whole; it takes them when it
 * would have.
 *
 * Sharded states: the actions of the step's plan (core/collective.h), one after the other. A
 * message begins when those before it in its queue are over, also while the worker computes.
 *
 * A server takes part in the exchanges and computes nothing. Where steps are not bulk synchronous,
 * it does so once for all steps until the ranks meet, in the last of them. */
#include "netsim/rank/step_modes.h"

#include <math.h>
#include <string.h>

#include "netsim/rank/accounting.h"
#include "netsim/rank/computing.h"
#include "netsim/rank/messages.h"

static int step_sequential(struct cc_rank_loop *l, size_t step, struct cc_error *e)
{
    double *phase_s = l->s.counters.phase_s, hidden;
    l->clock = l->began + l->start[step];
    CC_TRY(cc_compute_micro_steps(l, step, e));
    CC_TRY(cc_compute_visible(l, step, &hidden, e));
    cc_charge_clock(l, CC_PHASE_COMPUTE);
    l->ready[step] = l->encoded[step] = cc_runtime_now();
    cc_messages_take_step(l, step);

    const double waited = phase_s[CC_PHASE_WAIT];
    struct cc_wait_timer w = cc_wait_begin(l);
    for (size_t i = 0; i < l->messages; i++) {
        if (cc_job_row_skips(l->s.job, i, step))
            continue;
        const double encoded = phase_s[CC_PHASE_ENCODE];
        CC_TRY(cc_message_start(l, i, e));
        /* Hidden computing begins when the first message is encoded, and pauses while the others
         * are. */
        if (i == 0) {
            l->clock = l->encoded[step] = cc_runtime_now();
            cc_event_log_before(l->s.events, CC_PHASE_COMPUTE, hidden);
        } else {
            l->clock += phase_s[CC_PHASE_ENCODE] - encoded;
        }
        CC_TRY(cc_messages_finish(l, i, e));
        w = cc_wait_end(l, w);
    }
    CC_TRY(cc_compute_hidden(l, hidden, phase_s[CC_PHASE_WAIT] - waited, w.since, e));

    l->clock = cc_runtime_now();
    CC_TRY(cc_apply(l, (int64_t)step, NULL, e));
    cc_charge_clock(l, CC_PHASE_UPDATE);
    return cc_source_end_step(l->source, step, e);
}

static int step_overlap(struct cc_rank_loop *l, size_t step, struct cc_error *e)
{
    const struct cc_message *m = l->s.row->message;
    CC_TRY(cc_compute_micro_steps(l, step, e));
    for (size_t i = 0; i < l->messages; i++) {
        CC_TRY(cc_compute(l, step, CC_COMPUTE_BACKWARD, &m[i], e));
        if (i == 0)
            cc_messages_take_step(l, step);
        CC_TRY(cc_message_start(l, i, e));
    }
    for (size_t i = l->messages; i-- > 0;) {
        if (l->under_way[i]) {
            CC_TRY(cc_messages_await(l, i, e));
            l->clock = fmax(l->clock, cc_runtime_now());
        }
        CC_TRY(cc_apply(l, (int64_t)step, &m[i], e));
        CC_TRY(cc_compute(l, step + 1, CC_COMPUTE_FORWARD, &m[i], e));
    }
    return cc_source_end_step(l->source, step, e);
}

static int act(struct cc_rank_loop *l, size_t step, const struct cc_action *a, struct cc_error *e)
{
    const size_t units = l->queues->units;
    const struct cc_message *unit = &l->s.row->message[units - 1 - a->item % units];
    switch (a->act) {
    case CC_ACT_FORWARD:
        return cc_compute(l, step, CC_COMPUTE_FORWARD, unit, e);
    case CC_ACT_BACKWARD:
        return cc_compute(l, step, CC_COMPUTE_BACKWARD, unit, e);
    case CC_ACT_START:
        return cc_message_ask(l, a->item, e);
    case CC_ACT_WAIT:
        CC_TRY(cc_messages_await(l, a->item, e));
        l->clock = fmax(l->clock, cc_runtime_now());
        cc_source_arrived(l->source, &l->queues->list.item[a->item / units], unit);
        return CC_OK;
    case CC_ACT_UPDATE:
        CC_TRY(cc_rank_clip_shards(l, e));
        break;
    }
    return cc_apply(l, (int64_t)step, NULL, e);
}

static int step_sharded(struct cc_rank_loop *l, size_t step, struct cc_error *e)
{
    const struct cc_step_plan *p = &l->queues->plan;
    if (cc_rank_loop_lockstep(l))
        l->clock = l->began + l->start[step];
    l->ready[step] = l->encoded[step] = cc_runtime_now();
    cc_messages_take_step(l, step);
    for (size_t i = 0; i < p->count; i++)
        CC_TRY(act(l, step, &p->action[i], e));
    return cc_source_end_step(l->source, step, e);
}

/* Waits for the exchange of a step, and updates the shared parameters. */
static int end_exchange(struct cc_rank_loop *l, size_t step, struct cc_error *e)
{
    CC_TRY(cc_messages_await(l, l->messages, e));
    l->clock = fmax(l->clock, cc_runtime_now());
    CC_TRY(cc_apply(l, (int64_t)step, NULL, e));
    return cc_source_end_step(l->source, step, e);
}

static int step_local(struct cc_rank_loop *l, size_t step, struct cc_error *e)
{
    CC_TRY(cc_compute(l, step, CC_COMPUTE_AHEAD, NULL, e));
    if (l->source->ended < step)
        CC_TRY(end_exchange(l, step - 1, e));
    CC_TRY(cc_compute(l, step, CC_COMPUTE_STEP, NULL, e));
    cc_messages_take_step(l, step);
    CC_TRY(cc_messages_start(l, step, e));
    const bool meets = l->s.job->training.net != NULL && cc_rank_loop_interval_ends(l, step + 1);
    return meets ? end_exchange(l, step, e) : CC_OK;
}

static int step_server(struct cc_rank_loop *l, size_t step, struct cc_error *e)
{
    const struct cc_wait_timer w = cc_wait_begin(l);
    cc_messages_take_step(l, step);
    if (!cc_job_bulk(l->s.job) && step + 1 < l->s.until)
        return CC_OK;
    CC_TRY(cc_messages_start(l, step, e));
    CC_TRY(cc_messages_finish(l, l->messages, e));
    (void)cc_wait_end(l, w);
    return CC_OK;
}

int cc_step_run(struct cc_rank_loop *l, size_t step, struct cc_error *e)
{
    if (l->s.server)
        return step_server(l, step, e);
    if (l->queues != NULL)
        return step_sharded(l, step, e);
    switch (l->s.job->mode) {
    case CC_OVERLAP:
        return l->s.job->training.local.steps > 0 ? step_local(l, step, e)
                                                  : step_overlap(l, step, e);
    case CC_PIPE:
        return cc_pipe_step(l, step, e);
    case CC_SEQUENTIAL:
        break;
    }
    return step_sequential(l, step, e);
}

/* A pipe's last exchange ends outside all steps; the results of the last two steps are not applied,
 * as nothing is computed with them. (A training has applied everything.) The codec work is
 * charged only without warm-up steps: otherwise the exchange of the last warm-up step, which ended
 * within the first counted step, has been charged in its place. */
int cc_step_drain(struct cc_rank_loop *l, struct cc_error *e)
{
    double phase_s[CC_PHASES], work_s[CC_PHASES];
    memcpy(phase_s, l->s.counters.phase_s, sizeof phase_s);
    memcpy(work_s, l->s.counters.work_s, sizeof work_s);
    if (l->s.events != NULL && l->s.row->warmup > 0)
        l->s.events->on = false;
    CC_TRY(cc_messages_finish(l, l->messages, e));
    if (l->s.row->warmup > 0) {
        memcpy(l->s.counters.phase_s, phase_s, sizeof phase_s);
        memcpy(l->s.counters.work_s, work_s, sizeof work_s);
    }
    return CC_OK;
}
