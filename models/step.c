#include "models/step.h"

#include <math.h>

const char *const cc_straggler_names[] = {"none", "lognormal", "gamma", "uniform", NULL};

double cc_pipe_sync(double update, double compute, double comm)
{
    return update + compute + comm;
}

double cc_pipe_ideal(double update, double compute, double comm, int k)
{
    return cc_pipe_sync(update, compute, comm) / k;
}

/* Neither resource can do more than one step's work in a step, and no more than k steps are under
 * way: with k = 1 that is equation 2, from k = 2 on it is equation 4, as (a + b) / 2 <= max(a, b).
 */
double cc_pipe_limited(double update, double compute, double comm, int k)
{
    return fmax(cc_pipe_ideal(update, compute, comm, k), fmax(update + compute, comm));
}

double cc_pipe_ring(double alpha, double beta, double gamma, double bytes, int workers,
                    int segments, double sync)
{
    double p = workers, part = (p - 1) / p;
    return 2 * (p - 1) * segments * alpha + 2 * part * bytes * beta + part * bytes * gamma +
           segments * sync;
}

double cc_pipe_efficiency(double update, double compute, double step)
{
    return step > 0 ? (update + compute) / step : 1;
}

double cc_step_beside(double compute, double share, double beside)
{
    return (1 - share) * compute + fmax(share * compute, beside);
}

double cc_step_sequential(const struct cc_timing *t, const struct cc_cost *sum)
{
    double exchange = cc_cost_comm(sum) + cc_cost_codec(sum) - sum->encode_s;
    return t->update_s + sum->encode_s + cc_step_beside(t->compute_s, t->hidden_share, exchange);
}

/* Algorithm 1: a worker compresses and decompresses on the thread that computes. */
double cc_step_pipe(const struct cc_timing *t, const struct cc_cost *sum)
{
    double compute = t->compute_s + sum->encode_s + sum->decode_s;
    double comm = cc_cost_comm(sum) + sum->hop_codec_s + sum->server_codec_s;
    return (t->unlimited ? cc_pipe_ideal : cc_pipe_limited)(t->update_s, compute, comm, t->depth);
}
