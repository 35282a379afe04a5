/* Wait-free backpropagation: the time of a step whose communication overlaps its computation.
 * Sources: the thesis, section 2.3.2, after Poseidon; 3LC, section 2.1 (pulls in forward order).
 *
 * The backward pass runs from the last tensor to the first. A message leaves as soon as its tensors
 * are computed, and passes stages that each serve one message at a time, in order: the worker's
 * encoder, its port out, at every server the port in, the codec and the port out, then the worker's
 * port in and its decoder. Without servers, one stage stands for the network. The next forward pass
 * waits at each tensor until its result is decoded; the step is the time from one backward pass to
 * the next.
 *
 * Each port has a token bucket: up to burst_s seconds of sending pass at once when it is full, and
 * it fills while the port is idle. All workers act alike, so that one of them is followed. */
#include <math.h>
#include <stdbool.h>

#include "models/step.h"

/* A port to the network: the time when it is free again, and the content of its token bucket at
 * that time, in seconds of sending. */
struct port {
    double free_at, holds;
};

/* The time when each stage is free again, in seconds since the backward pass began. All stages are
 * idle at its beginning: the forward pass before it has waited for every tensor. */
struct stages {
    double encoder, decoder, burst;
    struct port up, down; /* without servers, up is the network */
    double *codec;        /* of each server */
    struct port *in, *out;
};

/* Serves something that arrives at `there` and takes `takes` seconds; returns when it is done. */
static double serve(double *free_at, double there, double takes)
{
    *free_at = fmax(*free_at, there) + takes;
    return *free_at;
}

/* Sends for `takes` seconds in `rounds` bursts, each after an equal part of `pauses`; returns when
 * the last is out. The bucket fills while the port is idle and in the pauses. */
static double send(struct port *p, double burst, double there, double rounds, double pauses,
                   double takes)
{
    double begins = fmax(p->free_at, there), each = pauses / rounds;
    double holds = fmin(burst, p->holds + begins - p->free_at + each);
    holds += (rounds - 1) * fmin(burst, each);
    p->free_at = begins + pauses + fmax(0, takes - holds);
    p->holds = fmin(burst, fmax(0, holds - takes));
    return p->free_at;
}

/* The servers that get a part of a message: their number, the i-th, and its cost there. */
static int takers(const struct cc_step_message *s, int servers)
{
    return s->parts > 0 ? s->parts : servers;
}

static int taker(const struct cc_step_message *s, int i)
{
    return s->parts > 0 ? s->part[i].server : i;
}

static const struct cc_cost *at_taker(const struct cc_step_message *s, int i)
{
    return s->parts > 0 ? &s->part[i].cost : &s->cost;
}

/* Encodes and pushes a message; returns the time when all servers have encoded its sum for the
 * pull. Both ends of a link begin together, when both are free. */
static double push(const struct cc_step_message *message, struct stages *g, int servers,
                   double ready)
{
    const struct cc_cost *c = &message->cost;
    double leaves = fmax(g->up.free_at, serve(&g->encoder, ready, c->encode_s)), added = 0;
    double left = send(&g->up, g->burst, leaves, 1, c->push_latency_s, c->push_worker_s);
    for (int i = 0; i < takers(message, servers); i++) {
        const struct cc_cost *there = at_taker(message, i);
        int s = taker(message, i);
        double in = send(&g->in[s], g->burst, leaves, 1, c->push_latency_s, there->push_server_s);
        added = fmax(added, serve(&g->codec[s], fmax(in, left), there->server_codec_s));
    }
    return added;
}

/* Pulls and decodes a message; returns when its values can be used. */
static double pull(const struct cc_step_message *message, struct stages *g, int servers,
                   double added)
{
    const struct cc_cost *c = &message->cost;
    double begins = 0, sent = 0;
    for (int i = 0; i < takers(message, servers); i++) {
        struct port *out = &g->out[taker(message, i)];
        begins = fmax(begins, fmax(out->free_at, added));
        sent = fmax(sent, send(out, g->burst, added, 1, c->pull_latency_s,
                               at_taker(message, i)->pull_server_s));
    }
    double back = send(&g->down, g->burst, begins, 1, c->pull_latency_s, c->pull_worker_s);
    return serve(&g->decoder, fmax(sent, back), c->decode_s);
}

/* Sends a message through an exchange without servers; returns when its values can be used. */
static double exchange_message(const struct cc_step_message *message, struct stages *g,
                               double ready)
{
    const struct cc_cost *c = &message->cost;
    double there = serve(&g->encoder, ready, c->encode_s);
    double pauses = cc_cost_comm(c) - c->push_transfer_s + c->hop_codec_s;
    double back = send(&g->up, g->burst, there, fmax(1, c->rounds), pauses, c->push_transfer_s);
    return serve(&g->decoder, back, c->decode_s);
}

/* Notes that the values of a message's tensors can be used from `at` on. */
static void set_available(const struct cc_step_message *message, double *available, double at)
{
    for (size_t k = message->first; k <= message->last; k++)
        available[k] = at;
}

double cc_step_overlap(const struct cc_timing *t, const struct cc_step_message *message,
                       size_t count, const double *share, size_t tensors, int servers,
                       double burst_s, double *scratch)
{
    double *available = scratch, *codec = scratch + tensors;
    struct port *in = (struct port *)(codec + servers), full = {.holds = burst_s};
    struct stages g = {
        .burst = burst_s, .up = full, .down = full, .codec = codec, .in = in, .out = in + servers};
    double forward = t->forward_share * t->compute_s, backward = t->compute_s - forward;
    double now = 0;
    for (int s = 0; s < servers; s++) {
        g.in[s] = g.out[s] = full;
        g.codec[s] = 0;
    }
    size_t tensor = tensors;
    for (size_t i = 0; i < count; i++) {
        while (tensor > message[i].first)
            now += backward * share[--tensor];
        double at = servers > 0 ? push(&message[i], &g, servers, now)
                                : exchange_message(&message[i], &g, now);
        if (servers > 0 && t->pulls == CC_PULL_READY)
            at = pull(&message[i], &g, servers, at);
        set_available(&message[i], available, at);
    }
    /* The sums wait at the servers; they are pulled from the first layer on. */
    for (size_t i = count; i-- > 0 && servers > 0 && t->pulls == CC_PULL_FORWARD;)
        set_available(&message[i], available,
                      pull(&message[i], &g, servers, available[message[i].first]));
    for (size_t k = 0; k < tensors; k++)
        now = fmax(now, available[k]) + (forward + t->update_s) * share[k];
    return now;
}
