/* Spans are joined where clocks cannot tell them apart, so that a log stays short. */
#include "netsim/exchange/event_log.h"

#include <math.h>
#include <stdlib.h>

#include "core/memory.h"

/* Spans whose distance is below what clocks resolve are joined. */
#define INSTANT_S 1e-9

void cc_event_log_free(struct cc_event_log *m)
{
    free(m->codec.at);
    free(m->other.at);
    free(m->flow);
    *m = (struct cc_event_log){.on = false};
}

/* Once an event did not fit, no other is taken, so that the log has no holes. */
static bool has_room(const struct cc_event_log *m)
{
    return m->left_out == 0 && m->codec.count + m->other.count + m->flows < m->most;
}

static void add(struct cc_event_log *m, struct cc_span_list *l, const struct cc_span *p)
{
    struct cc_span *last = l->count > 0 ? &l->at[l->count - 1] : NULL;
    const double begin = last != NULL ? fmax(p->begin, last->end) : p->begin;
    if (p->end <= begin)
        return;
    if (last != NULL && m->left_out == 0 && last->phase == p->phase && last->step == p->step &&
        begin - last->end < INSTANT_S) {
        last->end = p->end;
        return;
    }
    if (!has_room(m) || CC_GROW(l->at, &l->capacity, l->count + 1, NULL) != CC_OK) {
        m->left_out++;
        return;
    }
    l->at[l->count] = *p;
    l->at[l->count++].begin = begin;
}

void cc_event_log_codec(struct cc_event_log *m, enum cc_phase phase, uint64_t step, double begin,
                        double end)
{
    const struct cc_span p = {begin, end, (uint32_t)step, phase};
    if (m != NULL && m->on)
        add(m, &m->codec, &p);
}

void cc_event_log_span(struct cc_event_log *m, enum cc_phase phase, double begin, double end)
{
    if (m == NULL || !m->on)
        return;
    const struct cc_span p = {begin, end, (uint32_t)m->step, phase};
    add(m, &m->other, &p);
}

void cc_event_log_before(struct cc_event_log *m, enum cc_phase phase, double seconds)
{
    if (m == NULL)
        return;
    m->before = phase;
    m->before_s = seconds;
}

/* Logs one gap. */
static void log_gap(struct cc_event_log *m, enum cc_phase phase, double begin, double end)
{
    const double before = fmin(m->before_s, end - begin);
    if (before > 0) {
        m->before_s -= before;
        cc_event_log_span(m, m->before, begin, begin + before);
        begin += before;
    }
    cc_event_log_span(m, phase, begin, end);
}

void cc_event_log_gaps(struct cc_event_log *m, enum cc_phase phase, double begin, double end)
{
    if (m == NULL || !m->on)
        return;
    for (; m->next_codec < m->codec.count; m->next_codec++) {
        const struct cc_span *p = &m->codec.at[m->next_codec];
        if (p->begin >= end)
            break;
        if (p->begin > begin)
            log_gap(m, phase, begin, p->begin);
        begin = fmax(begin, p->end);
    }
    if (begin < end)
        log_gap(m, phase, begin, end);
}

void cc_event_log_flow(struct cc_event_log *m, const struct cc_flow_event *p)
{
    if (m == NULL || p->step < m->first)
        return;
    if (!has_room(m) || CC_GROW(m->flow, &m->capacity, m->flows + 1, NULL) != CC_OK) {
        m->left_out++;
        return;
    }
    m->flow[m->flows++] = *p;
}
