#include "netsim/rank/source.h"

int cc_source_begin_row(struct cc_source *s, const struct cc_job_row *row, struct cc_error *e)
{
    s->begun = s->ended = 0;
    return s->ops->begin_row(s, row, e);
}

static int check_in_flight(const struct cc_source *s, uint64_t step, struct cc_error *e)
{
    if (step >= s->ended && step < s->begun)
        return CC_OK;
    return cc_fail(e, "%s: step %llu is not in flight", s->name, (unsigned long long)step);
}

int cc_source_compute(struct cc_source *s, uint64_t step, enum cc_compute_part part,
                      const struct cc_message *m, struct cc_source_progress *out,
                      struct cc_error *e)
{
    if (step == s->begun && s->begun - s->ended < s->in_flight)
        s->begun++;
    else if (step == s->begun)
        return cc_fail(e, "%s: step %llu begins while %zu others are in flight", s->name,
                       (unsigned long long)step, s->in_flight);
    CC_TRY(check_in_flight(s, step, e));
    *out = (struct cc_source_progress){.done = true};
    return s->ops->compute(s, step, part, m, out, e);
}

struct cc_source_buffers cc_source_buffers(struct cc_source *s, uint64_t step)
{
    return s->ops->buffers(s, step);
}

int cc_source_apply(struct cc_source *s, int64_t step, const struct cc_message *m,
                    struct cc_source_progress *out, struct cc_error *e)
{
    if (step >= 0)
        CC_TRY(check_in_flight(s, (uint64_t)step, e));
    *out = (struct cc_source_progress){.done = true};
    return s->ops->apply(s, step, m, out, e);
}

int cc_source_end_step(struct cc_source *s, uint64_t step, struct cc_error *e)
{
    if (step != s->ended || s->ended == s->begun)
        return cc_fail(e, "%s: step %llu ends, but %llu have ended and %llu begun", s->name,
                       (unsigned long long)step, (unsigned long long)s->ended,
                       (unsigned long long)s->begun);
    s->ended++;
    return CC_OK;
}

void cc_source_close(struct cc_source *s)
{
    if (s != NULL)
        s->ops->close(s);
}
