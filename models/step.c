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
    double exchange = cc_cost_comm(sum) + cc_cost_codec(sum) - sum->encode_s - cc_cost_beside(sum);
    return t->update_s + sum->encode_s + cc_step_beside(t->compute_s, t->hidden_share, exchange);
}

/* Algorithm 1: a worker compresses and decompresses on the thread that computes. */
double cc_step_pipe(const struct cc_timing *t, const struct cc_cost *sum)
{
    double compute = t->compute_s + sum->encode_s + sum->decode_s;
    double comm = cc_cost_comm(sum) + sum->hop_codec_s + sum->server_codec_s;
    return (t->unlimited ? cc_pipe_ideal : cc_pipe_limited)(t->update_s, compute, comm, t->depth);
}

/* --- overlapped steps --- */

/* Wait-free backpropagation over an exchange without servers. Sources: the thesis, section 2.3.2,
 * after Poseidon; 3LC, section 2.1.
 *
 * The backward pass runs from the last tensor to the first. A message leaves as soon as its tensors
 * are computed, and passes the worker's encoder, the network and the worker's decoder; encoder and
 * decoder serve one message at a time, in order. The next forward pass waits at each tensor until
 * its result is decoded.
 *
 * The network exchanges one message after the other (in_turn), or all that are there: then one
 * message is sent while others wait for latencies or for work between rounds, so that the port is
 * busy with nothing but transfers, and the processor does the work of one message after the other.
 * No message takes less time than alone.
 *
 * Each port has a token bucket: up to burst_s seconds of sending pass at once when it is full, and
 * it fills while the port is idle. All workers act alike, so that one of them is followed. */

/* The network of a worker: the time when it is free again, and the content of its token bucket at
 * that time, in seconds of sending. */
struct port {
    double free_at, holds;
};

/* Sends for `takes` seconds in `rounds` bursts, each after an equal part of `pauses`; returns when
 * the last is out. The bucket fills while the port is idle and in the pauses. `beside`: transfers
 * of other messages fill the pauses, but for those of an idle port, which nobody else uses. */
static double send(struct port *p, bool beside, double burst, double there, double rounds,
                   double pauses, double takes)
{
    const double begins = fmax(p->free_at, there);
    const double each = !beside || p->free_at <= there ? pauses / rounds : 0;
    const double holds =
        fmin(burst, p->holds + begins - p->free_at + each) + (rounds - 1) * fmin(burst, each);
    const double sends = fmax(0, takes - holds);
    p->free_at = begins + (beside ? 0 : pauses) + sends;
    p->holds = fmin(burst, fmax(0, holds - takes));
    return beside ? fmax(p->free_at, there + pauses + sends) : p->free_at;
}

double cc_step_overlap(const struct cc_timing *t, const struct cc_step_message *message,
                       size_t count, const double *share, size_t tensors, double burst_s,
                       double *available)
{
    struct port network = {.holds = burst_s};
    double forward = t->forward_share * t->compute_s, backward = t->compute_s - forward;
    double now = 0, encoder = 0, processor = 0, decoder = 0;
    size_t tensor = tensors;
    for (size_t i = 0; i < count; i++) {
        const struct cc_cost *c = &message[i].cost;
        while (tensor > message[i].first)
            now += backward * share[--tensor];
        const double encoded = cc_serve(&encoder, now, c->encode_s) - c->encode_beside_s;
        const double pauses = cc_cost_comm(c) - c->push_transfer_s + c->hop_codec_s;
        const double worked = cc_serve(&processor, encoded, c->reduce_s + c->hop_codec_s);
        const double sent = send(&network, !t->in_turn, burst_s, encoded, fmax(1, c->rounds),
                                 pauses, c->push_transfer_s);
        const double back = t->in_turn ? sent : fmax(sent, worked);
        const double decoded = cc_serve(&decoder, back - c->decode_beside_s, c->decode_s);
        for (size_t k = message[i].first; k <= message[i].last; k++)
            available[k] = decoded;
    }
    for (size_t k = 0; k < tensors; k++)
        now = fmax(now, available[k]) + (forward + t->update_s) * share[k];
    return now;
}
