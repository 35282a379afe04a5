/* Wait-free backpropagation: the thesis, section 2.3.2, after Poseidon; 3LC, section 2.1. */
#include <math.h>
#include <stdbool.h>

#include "models/step.h"

/* A port to the network: when it is free again, and what its token bucket holds then, in seconds of
 * sending. */
struct port {
    double free_at, holds;
};

/* When each stage is free again, in seconds since the backward pass began. At that moment all are
 * idle: the forward pass before it has waited for every tensor. */
struct stages {
    double encoder, decoder, burst;
    struct port up, down; /* without servers, up is the network */
    double *codec;        /* of each server */
    struct port *in, *out;
};

/* A stage takes something up when it is there and the stage is free. */
static double serve(double *free_at, double there, double takes)
{
    *free_at = fmax(*free_at, there) + takes;
    return *free_at;
}

/* In `goes` goes, each after an equal part of the pauses. The bucket fills while the port is idle
 * and in the pauses. */
static double send(struct port *p, double burst, double there, double goes, double pauses,
                   double takes)
{
    double begins = fmax(p->free_at, there), each = pauses / goes;
    double holds = fmin(burst, p->holds + begins - p->free_at + each);
    holds += (goes - 1) * fmin(burst, each);
    p->free_at = begins + pauses + fmax(0, takes - holds);
    p->holds = fmin(burst, fmax(0, holds - takes));
    return p->free_at;
}

/* The servers that take a message: how many, which is the i-th, and what it costs there. */
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

/* Encodes and pushes; the result is there, encoded for the pull, when this says. Both ends of a
 * link begin together, when both are free. */
static double push(const struct cc_step_message *ship, struct stages *g, int servers, double ready)
{
    const struct cc_cost *c = &ship->cost;
    double leaves = fmax(g->up.free_at, serve(&g->encoder, ready, c->encode_s)), added = 0;
    double left = send(&g->up, g->burst, leaves, 1, c->push_latency_s, c->push_worker_s);
    for (int i = 0; i < takers(ship, servers); i++) {
        const struct cc_cost *there = at_taker(ship, i);
        int s = taker(ship, i);
        double in = send(&g->in[s], g->burst, leaves, 1, c->push_latency_s, there->push_server_s);
        added = fmax(added, serve(&g->codec[s], fmax(in, left), there->server_codec_s));
    }
    return added;
}

/* Pulls and decodes. */
static double pull(const struct cc_step_message *ship, struct stages *g, int servers, double added)
{
    const struct cc_cost *c = &ship->cost;
    double begins = 0, sent = 0;
    for (int i = 0; i < takers(ship, servers); i++) {
        struct port *out = &g->out[taker(ship, i)];
        begins = fmax(begins, fmax(out->free_at, added));
        sent = fmax(sent, send(out, g->burst, added, 1, c->pull_latency_s,
                               at_taker(ship, i)->pull_server_s));
    }
    double back = send(&g->down, g->burst, begins, 1, c->pull_latency_s, c->pull_worker_s);
    return serve(&g->decoder, fmax(sent, back), c->decode_s);
}

/* Without servers: one stage is the network. */
static double reduce(const struct cc_step_message *ship, struct stages *g, double ready)
{
    const struct cc_cost *c = &ship->cost;
    double there = serve(&g->encoder, ready, c->encode_s);
    double pauses = cc_cost_comm(c) - c->push_transfer_s + c->hop_codec_s;
    double back = send(&g->up, g->burst, there, fmax(1, c->rounds), pauses, c->push_transfer_s);
    return serve(&g->decoder, back, c->decode_s);
}

static void arrive(const struct cc_step_message *ship, double *available, double at)
{
    for (size_t k = ship->first; k <= ship->last; k++)
        available[k] = at;
}

double cc_step_overlap(const struct cc_timing *t, const struct cc_step_message *ship, size_t count,
                       const double *share, size_t tensors, int servers, double burst_s,
                       double *scratch)
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
        while (tensor > ship[i].first)
            now += backward * share[--tensor];
        double at = servers > 0 ? push(&ship[i], &g, servers, now) : reduce(&ship[i], &g, now);
        if (servers > 0 && t->pulls == CC_PULL_READY)
            at = pull(&ship[i], &g, servers, at);
        arrive(&ship[i], available, at);
    }
    /* What is there at the servers so far is pulled from the first layer on. */
    for (size_t i = count; i-- > 0 && servers > 0 && t->pulls == CC_PULL_FORWARD;)
        arrive(&ship[i], available, pull(&ship[i], &g, servers, available[ship[i].first]));
    for (size_t k = 0; k < tensors; k++)
        now = fmax(now, available[k]) + (forward + t->update_s) * share[k];
    return now;
}
