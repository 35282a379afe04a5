/* Wait-free backpropagation: the thesis, section 2.3.2, after Poseidon; 3LC, section 2.1. */
#include <math.h>

#include "models/place.h"
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

/* From the worker's encoder to its decoder by way of servers [from, to). Both ends of a link begin
 * together, when both are free. */
static double by_servers(const struct cc_cost *c, struct stages *g, int from, int to, double there)
{
    double leaves = fmax(g->up, there), begins = 0, sent = 0;
    double left = serve(&g->up, leaves, c->push_latency_s + c->push_worker_s);
    for (int s = from; s < to; s++) {
        double in = serve(&g->in[s], leaves, c->push_latency_s + c->push_server_s);
        double added = serve(&g->codec[s], fmax(in, left), c->server_codec_s);
        begins = fmax(begins, fmax(g->out[s], added));
        sent = fmax(sent, serve(&g->out[s], added, c->pull_latency_s + c->pull_server_s));
    }
    return fmax(sent, serve(&g->down, begins, c->pull_latency_s + c->pull_worker_s));
}

static double exchange(const struct cc_shipment *s, struct stages *g, int servers, double ready)
{
    const struct cc_cost *c = &s->cost;
    double there = serve(&g->encoder, ready, c->encode_s), back;
    if (servers == 0)
        back = serve(&g->up, there, cc_cost_comm(c) + c->hop_codec_s);
    else if (s->server == CC_EVERY_SERVER)
        back = by_servers(c, g, 0, servers, there);
    else
        back = by_servers(c, g, s->server, s->server + 1, there);
    return serve(&g->decoder, back, c->decode_s);
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
        double back = exchange(&ship[i], &g, servers, now);
        for (size_t k = ship[i].first; k <= ship[i].last; k++)
            available[k] = back;
    }
    for (size_t k = 0; k < tensors; k++)
        now = fmax(now, available[k]) + (forward + t->update_s) * share[k];
    return now;
}
