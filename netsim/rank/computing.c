/* Emulated computing passes in slices between which messages have a turn; real computing is charged
 * after each call to the source. */
#include "netsim/rank/computing.h"

#include <math.h>

#include "netsim/rank/accounting.h"
#include "netsim/rank/messages.h"
#include "netsim/rank/sources.h"

/* --- emulated --- */

/* Lets `seconds` of computing pass, from l->clock on, while messages make progress: beside their
 * codecs, or, `in_turn`, with a pause while a codec works. With nothing under way it sleeps. */
static int pass(struct cc_rank_loop *l, double seconds, bool in_turn, struct cc_error *e)
{
    const double codec = cc_exchange_work_s(l);
    l->clock += seconds;
    for (;;) {
        double until = l->clock + (in_turn ? cc_exchange_work_s(l) - codec : 0);
        const double now = cc_runtime_now();
        if (until - now < CC_INSTANT_S) {
            l->clock = until;
            return CC_OK;
        }
        if (l->pending == 0) {
            cc_runtime_sleep(until - now);
            continue;
        }
        const size_t begun = l->exchanged;
        CC_TRY(cc_messages_progress(l, e));
        if (l->exchanged > begun)
            continue;
        until = l->clock + (in_turn ? cc_exchange_work_s(l) - codec : 0);
        CC_TRY(cc_runtime_wait(&l->mpi, l->s.job->yield_when_idle, now, until, e));
    }
}

static int spend(struct cc_rank_loop *l, double seconds, enum cc_phase phase, struct cc_error *e)
{
    const double since = l->clock;
    CC_TRY(pass(l, seconds, false, e));
    l->s.counters.phase_s[phase] += seconds;
    cc_event_log_span(l->s.events, phase, since, l->clock);
    return CC_OK;
}

static int spend_in_turn(struct cc_rank_loop *l, double update, double compute, struct cc_error *e)
{
    const double since = l->clock = cc_runtime_now();
    CC_TRY(pass(l, update + compute, true, e));
    const double now = cc_runtime_now();
    l->s.counters.phase_s[CC_PHASE_UPDATE] += update;
    l->s.counters.phase_s[CC_PHASE_COMPUTE] += compute + (now - l->clock);
    l->clock = now;
    cc_event_log_before(l->s.events, CC_PHASE_UPDATE, update);
    cc_event_log_gaps(l->s.events, CC_PHASE_COMPUTE, since, now);
    cc_event_log_before(l->s.events, CC_PHASE_UPDATE, 0);
    return CC_OK;
}

/* --- real --- */

/* One call of real work is over: charges the time that it took, and gives messages a turn. */
static int end_call(struct cc_rank_loop *l, struct cc_work_timer since, enum cc_phase phase,
                    struct cc_error *e)
{
    l->clock = cc_runtime_work_end(since, (double)NAN);
    l->s.counters.phase_s[phase] += l->clock - since.began;
    cc_event_log_span(l->s.events, phase, since.began, l->clock);
    return cc_messages_progress(l, e);
}

/* --- both --- */

/* Asks the source for a part of a step, or, in CC_PHASE_UPDATE, to apply its result, until that is
 * done. *seconds, if not NULL, takes in those that are emulated, and none of them pass. */
static int work(struct cc_rank_loop *l, enum cc_phase phase, int64_t step,
                enum cc_compute_part part, const struct cc_message *m, double *seconds,
                struct cc_error *e)
{
    struct cc_source_progress p = {.done = false};
    while (!p.done) {
        const struct cc_work_timer since = l->source->emulated ? (struct cc_work_timer){.began = 0}
                                                               : cc_work_begin(l->s.transport);
        CC_TRY(phase == CC_PHASE_UPDATE
                   ? cc_source_apply(l->source, step, m, &p, e)
                   : cc_source_compute(l->source, (uint64_t)step, part, m, &p, e));
        if (!l->source->emulated)
            CC_TRY(end_call(l, since, phase, e));
        else if (seconds == NULL)
            CC_TRY(spend(l, p.seconds, phase, e));
        else
            *seconds += p.seconds;
    }
    return CC_OK;
}

int cc_compute(struct cc_rank_loop *l, size_t step, enum cc_compute_part part,
               const struct cc_message *m, struct cc_error *e)
{
    return work(l, CC_PHASE_COMPUTE, (int64_t)step, part, m, NULL, e);
}

int cc_compute_micro_steps(struct cc_rank_loop *l, size_t step, struct cc_error *e)
{
    const struct cc_emulated x = cc_emulated_make(l->s.job, l->s.row, l->s.rank);
    const int before = l->s.job->micro_steps - 1;
    return before > 0 ? spend(l, before * cc_emulated_compute_s(&x, step, CC_COMPUTE_STEP, NULL),
                              CC_PHASE_COMPUTE, e)
                      : CC_OK;
}

int cc_apply(struct cc_rank_loop *l, int64_t step, const struct cc_message *m, struct cc_error *e)
{
    return work(l, CC_PHASE_UPDATE, step, CC_COMPUTE_STEP, m, NULL, e);
}

int cc_compute_visible(struct cc_rank_loop *l, size_t step, double *hidden, struct cc_error *e)
{
    struct cc_source_progress p = {.done = false};
    *hidden = 0;
    if (!l->source->emulated)
        return cc_compute(l, step, CC_COMPUTE_STEP, NULL, e);
    while (!p.done) {
        CC_TRY(cc_source_compute(l->source, step, CC_COMPUTE_STEP, NULL, &p, e));
        const double part = l->s.job->hidden_share * p.seconds;
        CC_TRY(spend(l, p.seconds - part, CC_PHASE_COMPUTE, e));
        *hidden += part;
    }
    return CC_OK;
}

int cc_compute_hidden(struct cc_rank_loop *l, double hidden, double waited, double since,
                      struct cc_error *e)
{
    double *phase_s = l->s.counters.phase_s;
    /* Seconds of hidden computing that the log has not placed yet. */
    const double left = l->s.events != NULL ? l->s.events->before_s : 0;
    cc_event_log_before(l->s.events, CC_PHASE_COMPUTE, 0);
    phase_s[CC_PHASE_WAIT] -= fmin(hidden, waited);
    phase_s[CC_PHASE_COMPUTE] += hidden;
    CC_TRY(pass(l, hidden, false, e));
    cc_event_log_span(l->s.events, CC_PHASE_COMPUTE, fmax(since, l->clock - left), l->clock);
    return CC_OK;
}

int cc_apply_and_compute(struct cc_rank_loop *l, int64_t applied, size_t computed,
                         struct cc_error *e)
{
    double update_s = 0, compute_s = 0;
    CC_TRY(work(l, CC_PHASE_UPDATE, applied, CC_COMPUTE_STEP, NULL, &update_s, e));
    if (applied >= 0)
        CC_TRY(cc_source_end_step(l->source, (uint64_t)applied, e));
    CC_TRY(work(l, CC_PHASE_COMPUTE, (int64_t)computed, CC_COMPUTE_STEP, NULL, &compute_s, e));
    return l->source->emulated ? spend_in_turn(l, update_s, compute_s, e) : CC_OK;
}
