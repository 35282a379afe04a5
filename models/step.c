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
    double comm = cc_cost_comm(sum) + sum->hop_codec_s - sum->hop_beside_s - sum->chunks_beside_s +
                  sum->server_codec_s;
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
 * message is sent while others wait for latencies or for work between rounds, and those that are
 * sent share the port evenly, as long TCP connections do: small messages, such as the first
 * layers', overtake large ones. The processor does the work of one message after the other. No
 * message takes less time than alone. With token buckets, messages leave the port in order, so that
 * a bucket is spent in order, too.
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

/* Messages that share the port evenly. A message that pauses between its bursts needs the port for
 * a part of the time only, and takes no more. */
struct flows {
    double *left, *most, *begins, *ends; /* by message: seconds of sending; of them in a second */
    size_t count, first, next;           /* those under way are among [first, next) */
};

/* The share of the port that a message gets which could use more: what is left by those that take
 * less, evenly (max-min fairness). */
static double fair_share(const struct flows *f)
{
    double share = 0;
    for (;;) {
        double capacity = 1, wanting = 0;
        for (size_t i = f->first; i < f->next; i++) {
            const bool modest = f->most[i] <= share;
            capacity -= f->left[i] > 0 && modest ? f->most[i] : 0;
            wanting += f->left[i] > 0 && !modest;
        }
        const double each = wanting > 0 ? capacity / wanting : 1;
        if (each <= share * (1 + 1e-12) || wanting == 0)
            return fmax(share, each);
        share = each;
    }
}

static void share_port(struct flows *f)
{
    double now = 0;
    while (f->first < f->count) {
        const double share = f->first < f->next ? fair_share(f) : 1;
        double until = f->next < f->count ? f->begins[f->next] : (double)INFINITY;
        size_t ending = f->count;
        for (size_t i = f->first; i < f->next; i++) {
            const double there = now + f->left[i] / fmin(share, f->most[i]);
            if (f->left[i] > 0 && there <= until) {
                until = there;
                ending = i;
            }
        }
        for (size_t i = f->first; i < f->next; i++)
            f->left[i] = fmax(0, f->left[i] - (until - now) * fmin(share, f->most[i]));
        now = until;
        if (ending < f->count) {
            f->left[ending] = 0;
            f->ends[ending] = now;
        } else {
            f->next++;
        }
        while (f->first < f->next && f->left[f->first] == 0)
            f->first++;
    }
}

/* A worker decodes in the order in which messages come. available: [messages]. */
static void decode(const struct cc_step_message *message, const struct flows *f, double *available)
{
    double decoder = 0;
    for (size_t i = 0; i < f->count; i++)
        available[i] = -1;
    for (size_t n = 0; n < f->count; n++) {
        size_t first = f->count;
        for (size_t i = 0; i < f->count; i++)
            if (available[i] < 0 && (first == f->count || f->ends[i] < f->ends[first]))
                first = i;
        available[first] = cc_serve(&decoder, f->ends[first], message[first].cost.decode_s);
    }
}

/* after: seconds of other codec work since the backward pass. Returns when the pass ends. */
static double forward_pass(const struct cc_timing *t, const struct cc_step_message *message,
                           const struct flows *f, const double *share, const double *available,
                           double after, double *exposed_s)
{
    const double forward = t->forward_share * t->compute_s;
    double now = t->compute_s - forward, waits = 0;
    for (size_t i = f->count; i-- > 0;) {
        if (available[i] > now) {
            waits += available[i] - now;
            for (size_t k = 0; k < f->count; k++)
                after += cc_served_after(available[k], message[k].cost.decode_s, now) -
                         cc_served_after(available[k], message[k].cost.decode_s, available[i]);
            now = available[i];
        }
        for (size_t k = message[i].first; k <= message[i].last; k++)
            now += (forward + t->update_s) * share[k];
    }
    if (exposed_s != NULL)
        *exposed_s = fmax(0, waits - after);
    return now;
}

/* The processor's time for a message's codecs between rounds; *sends: and for sending in each
 * round, where that does not wait in turn, as a part of the latencies. */
static double work_of(const struct cc_timing *t, const struct cc_cost *c, double *sends)
{
    *sends = t->in_turn ? 0 : c->messages * t->message_s;
    return c->reduce_s + c->hop_codec_s;
}

/* As cc_step_overlap. */
static double overlap_shared(const struct cc_timing *t, const struct cc_step_message *message,
                             size_t count, const double *share, size_t tensors, double *scratch,
                             double *exposed_s)
{
    struct flows f = {.left = scratch,
                      .most = scratch + tensors,
                      .begins = scratch + 2 * tensors,
                      .ends = scratch + 3 * tensors,
                      .count = count};
    double *const available = scratch + 4 * tensors;
    const double forward = t->forward_share * t->compute_s, backward = t->compute_s - forward;
    double now = 0, encoder = 0, processor = 0, after = 0;
    size_t tensor = tensors;
    for (size_t i = 0; i < count; i++) {
        const struct cc_cost *c = &message[i].cost;
        const double pauses = cc_cost_comm(c) - c->push_transfer_s + c->hop_codec_s -
                              c->hop_beside_s - c->chunks_beside_s;
        while (tensor > message[i].first)
            now += backward * share[--tensor];
        f.begins[i] = cc_serve(&encoder, now, c->encode_s) - c->encode_beside_s;
        f.left[i] = c->push_transfer_s;
        f.most[i] = c->push_transfer_s / fmax(c->push_transfer_s, c->push_transfer_s + pauses);
        f.ends[i] = f.begins[i] + fmax(0, pauses); /* without a transfer */
        after += cc_served_after(encoder, c->encode_s, backward);
    }
    share_port(&f);
    for (size_t i = 0; i < count; i++) {
        const struct cc_cost *c = &message[i].cost;
        double sends;
        const double work = work_of(t, c, &sends);
        const double worked = cc_serve(&processor, f.begins[i], work + sends);
        f.ends[i] = fmax(f.ends[i], worked) - c->decode_beside_s;
        after += cc_served_after(worked, work, backward);
    }
    decode(message, &f, available);
    return forward_pass(t, message, &f, share, available, after, exposed_s);
}

double cc_step_overlap(const struct cc_timing *t, const struct cc_step_message *message,
                       size_t count, const double *share, size_t tensors, double burst_s,
                       double *scratch, double *exposed_s)
{
    if (!t->in_turn && burst_s == 0)
        return overlap_shared(t, message, count, share, tensors, scratch, exposed_s);
    double *const available = scratch;
    struct port network = {.holds = burst_s};
    double forward = t->forward_share * t->compute_s, backward = t->compute_s - forward;
    double now = 0, encoder = 0, processor = 0, decoder = 0, after = 0;
    size_t tensor = tensors;
    for (size_t i = 0; i < count; i++) {
        const struct cc_cost *c = &message[i].cost;
        while (tensor > message[i].first)
            now += backward * share[--tensor];
        const double encoded = cc_serve(&encoder, now, c->encode_s) - c->encode_beside_s;
        double sends;
        const double work = work_of(t, c, &sends);
        const double pauses = cc_cost_comm(c) - c->push_transfer_s + c->hop_codec_s -
                              c->hop_beside_s - c->chunks_beside_s;
        const double worked = cc_serve(&processor, encoded, work + sends);
        const double sent = send(&network, !t->in_turn, burst_s, encoded, fmax(1, c->rounds),
                                 pauses, c->push_transfer_s);
        const double back = t->in_turn ? sent : fmax(sent, worked);
        const double decoded = cc_serve(&decoder, back - c->decode_beside_s, c->decode_s);
        after += cc_served_after(encoder, c->encode_s, backward) +
                 cc_served_after(worked, work, backward) +
                 cc_served_after(decoded, c->decode_s, backward);
        for (size_t k = message[i].first; k <= message[i].last; k++)
            available[k] = decoded;
    }
    /* The first layer's result is the last: only there the forward pass waits. */
    if (exposed_s != NULL)
        *exposed_s = count > 0 ? fmax(0, decoder - backward - after) : 0;
    for (size_t k = 0; k < tensors; k++)
        now = fmax(now, available[k]) + (forward + t->update_s) * share[k];
    return now;
}

double cc_step_utilization(double compute_s, double step_s)
{
    return compute_s > 0 ? compute_s / step_s : NAN;
}
