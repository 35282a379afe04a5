/* Wait-free backpropagation: the thesis, section 2.3.2, after Poseidon; 3LC, section 2.1. */
#include <math.h>
#include <stdbool.h>

#include "models/step.h"

/* When each stage is free again, in seconds since the backward pass began. At that moment all are
 * idle: the forward pass before it has waited for every tensor. */
struct stages {
    double encoder, up, down, decoder;
    double *in, *codec, *out; /* of each server */
};

/* A stage takes something up when it is there and the stage is free. */
static double serve(double *free_at, double there, double takes)
{
    *free_at = fmax(*free_at, there) + takes;
    return *free_at;
}

/* The servers that take a message: how many, which is the i-th, and what it costs there. */
static int takers(const struct cc_shipment *s, int servers)
{
    return s->parts > 0 ? s->parts : servers;
}

static int taker(const struct cc_shipment *s, int i)
{
    return s->parts > 0 ? s->part[i].server : i;
}

static const struct cc_cost *at_taker(const struct cc_shipment *s, int i)
{
    return s->parts > 0 ? &s->part[i].cost : &s->cost;
}

/* Encodes and pushes; the result is there, encoded for the pull, when this says. Both ends of a
 * link begin together, when both are free. */
static double push(const struct cc_shipment *ship, struct stages *g, int servers, double ready)
{
    const struct cc_cost *c = &ship->cost;
    double leaves = fmax(g->up, serve(&g->encoder, ready, c->encode_s)), added = 0;
    double left = serve(&g->up, leaves, c->push_latency_s + c->push_worker_s);
    for (int i = 0; i < takers(ship, servers); i++) {
        const struct cc_cost *there = at_taker(ship, i);
        int s = taker(ship, i);
        double in = serve(&g->in[s], leaves, c->push_latency_s + there->push_server_s);
        added = fmax(added, serve(&g->codec[s], fmax(in, left), there->server_codec_s));
    }
    return added;
}

/* Pulls and decodes. */
static double pull(const struct cc_shipment *ship, struct stages *g, int servers, double added)
{
    const struct cc_cost *c = &ship->cost;
    double begins = 0, sent = 0;
    for (int i = 0; i < takers(ship, servers); i++) {
        double *out = &g->out[taker(ship, i)];
        begins = fmax(begins, fmax(*out, added));
        sent = fmax(sent, serve(out, added, c->pull_latency_s + at_taker(ship, i)->pull_server_s));
    }
    double back = serve(&g->down, begins, c->pull_latency_s + c->pull_worker_s);
    return serve(&g->decoder, fmax(sent, back), c->decode_s);
}

/* Without servers: one stage is the network. */
static double reduce(const struct cc_shipment *ship, struct stages *g, double ready)
{
    const struct cc_cost *c = &ship->cost;
    double there = serve(&g->encoder, ready, c->encode_s);
    double back = serve(&g->up, there, cc_cost_comm(c) + c->hop_codec_s);
    return serve(&g->decoder, back, c->decode_s);
}

static void arrive(const struct cc_shipment *ship, double *available, double at)
{
    for (size_t k = ship->first; k <= ship->last; k++)
        available[k] = at;
}

double cc_step_overlap(const struct cc_timing *t, const struct cc_shipment *ship, size_t count,
                       const double *share, size_t tensors, int servers, double *scratch)
{
    double *available = scratch, *server = scratch + tensors;
    struct stages g = {.in = server, .codec = server + servers, .out = server + 2 * servers};
    double forward = t->forward_share * t->compute_s, backward = t->compute_s - forward;
    double now = 0;
    for (int s = 0; s < 3 * servers; s++)
        server[s] = 0;
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
