#include "netsim/rank/accounting.h"

#include <stdio.h>
#include <string.h>

#include "core/memory.h"

double cc_exchange_work_s(const struct cc_rank_loop *l)
{
    const double *t = l->s.counters.phase_s;
    return t[CC_PHASE_ENCODE] + t[CC_PHASE_HOP] + t[CC_PHASE_SERVER] + t[CC_PHASE_DECODE] +
           l->s.counters.exchange_update_s;
}

struct cc_wait_timer cc_wait_begin(const struct cc_rank_loop *l)
{
    return (struct cc_wait_timer){.since = cc_runtime_now(), .codec_s = cc_exchange_work_s(l)};
}

struct cc_wait_timer cc_wait_end(struct cc_rank_loop *l, struct cc_wait_timer w)
{
    const struct cc_wait_timer next = cc_wait_begin(l);
    l->s.counters.phase_s[CC_PHASE_WAIT] += next.since - w.since - (next.codec_s - w.codec_s);
    cc_event_log_gaps(l->s.events, CC_PHASE_WAIT, w.since, next.since);
    return next;
}

void cc_charge_clock(struct cc_rank_loop *l, enum cc_phase phase)
{
    const double now = cc_runtime_now();
    l->s.counters.phase_s[phase] += now - l->clock;
    cc_event_log_span(l->s.events, phase, l->clock, now);
    l->clock = now;
}

void cc_count_times(struct cc_rank_loop *l)
{
    memset(l->s.counters.phase_s, 0, sizeof l->s.counters.phase_s);
    memset(l->s.counters.work_s, 0, sizeof l->s.counters.work_s);
    l->s.counters.exchange_update_s = 0;
    l->busy_since = l->counting_at = cc_runtime_now();
    l->busy_s = 0;
    if (l->queues != NULL)
        memset(l->queues->collective_s, 0, sizeof l->queues->collective_s);
    l->counting_core = cc_runtime_core_time();
    l->counting_machine_s = cc_runtime_machine_ran_s();
    l->s.staleness.parts = l->s.staleness.pushes = 0;
    if (!cc_job_bulk(l->s.job))
        memset(l->s.staleness.held_s, 0, l->s.row->messages * sizeof(double));
}

void cc_count_bytes(struct cc_rank_loop *l)
{
    struct cc_counters *t = &l->s.counters;
    l->uncounted_bytes = t->sent_bytes;
    t->payload_bytes = t->gathered_bytes = t->head_bytes = t->sent_bytes = t->intra_bytes =
        t->messages = t->kept = 0;
    memset(t->chosen, 0, sizeof t->chosen);
    t->send_s = 0;
    memset(t->tensor_bytes, 0, l->s.job->tensors * sizeof *t->tensor_bytes);
}

int cc_chosen_text(const struct cc_rank_loop *l, char **out, struct cc_error *e)
{
    char text[256];
    *out = NULL;
    cc_exchange_counts_print(l->s.counters.chosen, text, sizeof text);
    if (text[0] == '\0')
        return CC_OK;
    *out = cc_strdup(text, e);
    return *out != NULL ? CC_OK : CC_FAIL;
}
