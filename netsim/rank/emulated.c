#include "netsim/rank/sources.h"

#include "netsim/transport/runtime.h"

struct cc_emulated cc_emulated_make(const struct cc_job *job, const struct cc_job_row *row,
                                    int worker)
{
    return (struct cc_emulated){.job = job,
                                .row = row,
                                .worker = worker < 0 ? 0 : (size_t)worker,
                                .speed = cc_runtime_speed()};
}

/* Among the warm-up steps, only the last period computes: the earlier ones are there
 * to fill the codecs' residuals, and need no more time than that takes. */
static double step_s(const struct cc_emulated *x, uint64_t step)
{
    const struct cc_job *job = x->job;
    if (step + x->row->period < x->row->warmup)
        return 0;
    const double whole = job->compute_s / x->speed;
    return job->slow == NULL
               ? whole
               : whole * job->slow[x->worker * job->slow_steps + step % job->slow_steps];
}

static double share_of(const struct cc_emulated *x, const struct cc_message *m)
{
    double share = 0;
    for (size_t i = m->first; i <= m->last; i++)
        share += x->job->tensor[i].share;
    return share;
}

double cc_emulated_compute_s(const struct cc_emulated *x, uint64_t step, enum cc_compute_part part,
                             const struct cc_message *m)
{
    const double forward = x->job->forward_share;
    switch (part) {
    case CC_COMPUTE_FORWARD:
        return forward * step_s(x, step) * share_of(x, m);
    case CC_COMPUTE_BACKWARD:
        return (1 - forward) * step_s(x, step) * share_of(x, m);
    case CC_COMPUTE_STEP:
    case CC_COMPUTE_AHEAD:
        break;
    }
    return step_s(x, step);
}

double cc_emulated_update_s(const struct cc_emulated *x, const struct cc_message *m)
{
    const double whole = x->job->update_s / x->speed;
    return m == NULL ? whole : whole * share_of(x, m);
}
