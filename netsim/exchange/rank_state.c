/* Times and transfers of a rank, charged to its counters and its event log. */
#include "netsim/exchange/rank_state.h"

#include <math.h>

double cc_row_cost(const struct cc_rank_state *s, double seconds)
{
    return s->row->cost != NULL ? seconds : (double)NAN;
}

void cc_charge(struct cc_rank_state *s, enum cc_phase phase, struct cc_work_timer since,
               double cost_s)
{
    const double now = s->transport->ops->work_end(since, cost_s);
    if (s->transport->latest != NULL)
        *s->transport->latest = now;
    s->counters.phase_s[phase] += now - since.began;
    s->counters.work_s[phase] += s->transport->ops->work_took(since, now);
    cc_event_log_codec(s->events, phase, s->step, since.began, now);
}

void cc_charge_update(struct cc_rank_state *s, struct cc_work_timer since, double cost_s)
{
    const double before = s->counters.phase_s[CC_PHASE_UPDATE];
    cc_charge(s, CC_PHASE_UPDATE, since, cost_s);
    s->counters.exchange_update_s += s->counters.phase_s[CC_PHASE_UPDATE] - before;
}

void cc_note_transfer(struct cc_rank_state *s, bool received, size_t index, int peer, size_t bytes)
{
    if (s->events == NULL)
        return;
    const struct cc_flow_event p = {.at = cc_transport_now(s->transport),
                                    .received = received,
                                    .peer = (uint32_t)peer,
                                    .message = (uint32_t)index,
                                    .step = (uint32_t)s->step,
                                    .bytes = bytes};
    cc_event_log_flow(s->events, &p);
}

bool cc_silent(const struct cc_rank_state *s, const struct cc_message *m)
{
    return cc_job_row_silent(s->job, s->row, m, s->step);
}
