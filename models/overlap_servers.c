/* Wait-free backpropagation with parameter servers (step.h): a simulation of the messages' flows.
 *
 * A message leaves as soon as its tensors are computed and encoded. All messages under way share
 * the ports that they cross (fluid.h): a worker's part for one server is a flow, which begins a
 * latency after it was sent. A server adds what has arrived from all workers and encodes it, one
 * message after the other; the pulls are flows again. Workers and servers are busy with each
 * message that they send; for the first of several, that time is a part of the latency. A worker
 * decodes messages in the order in which they are complete, and its next forward pass waits for
 * each tensor.
 *
 * Workers that are alike are followed as one, and so are servers: all of them, where every server
 * has the same part of each tensor. Servers on workers' hosts (colocated) use their ports, and what
 * a worker sends to the server on its own host needs no network; workers then are of two kinds,
 * with and without a server, or, if servers keep different tensors, of one kind for each server. */
#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "models/overlap.h"

enum direction { PUSH, PULL };

/* When each part reaches its server, and each message its workers. */
struct overlap {
    const struct cc_timing *t;
    const struct cc_step_message *message;
    size_t count, parts; /* messages; their parts for servers */
    const struct cc_step_cluster *cluster;
    size_t kinds, servers; /* kinds of workers, and of servers */
    struct cc_fluid *net;
    struct cc_overlap_part *part;
    struct cc_overlap_pull *pull; /* by kind, then message */
    double *codec, *decoder;      /* free at, by kind of server and of worker */
    size_t *to_come;              /* by kind of server: parts that it has not encoded */
};

/* --- hosts and paths --- */

/* Workers of a kind. Colocated servers are on the hosts of the first kinds. */
static double workers_of(const struct overlap *x, size_t kind)
{
    const struct cc_step_cluster *c = x->cluster;
    const double hosting = c->placed_whole ? 1 : c->servers;
    if (!c->colocated)
        return c->workers;
    return kind < x->servers ? hosting : c->workers - c->servers;
}

static double servers_of(const struct overlap *x)
{
    return x->cluster->placed_whole ? 1 : x->cluster->servers;
}

static bool on_same_host(const struct overlap *x, size_t kind, size_t server)
{
    return x->cluster->colocated && kind == server;
}

/* A host's port to the network is an even number, and that from it the next. */
static int port_of(const struct overlap *x, bool is_server, size_t i, bool in)
{
    const size_t host = is_server && !x->cluster->colocated ? x->kinds + i : i;
    return (int)(2 * host + (in ? 1 : 0));
}

static size_t path_of(const struct overlap *x, enum direction d, size_t kind, size_t server)
{
    return ((size_t)d * x->kinds + kind) * x->servers + server;
}

/* Flows between a worker of this kind and other hosts' servers of that kind. */
static double remote_servers(const struct overlap *x, size_t kind, size_t server)
{
    return servers_of(x) - on_same_host(x, kind, server);
}

static void set_paths(struct overlap *x)
{
    for (size_t k = 0; k < x->kinds; k++)
        for (size_t s = 0; s < x->servers; s++) {
            const double of_worker = remote_servers(x, k, s);
            const double of_server = workers_of(x, k) - on_same_host(x, k, s);
            x->net->path[path_of(x, PUSH, k, s)] = (struct cc_fluid_path){
                {port_of(x, false, k, false), port_of(x, true, s, true)}, {of_worker, of_server}};
            x->net->path[path_of(x, PULL, k, s)] = (struct cc_fluid_path){
                {port_of(x, true, s, false), port_of(x, false, k, true)}, {of_server, of_worker}};
        }
}

/* --- messages --- */

static size_t flow_of(const struct overlap *x, enum direction d, size_t part, size_t kind)
{
    return ((size_t)d * x->parts + part) * x->kinds + kind;
}

/* A worker has all of a message: decodes it. */
static void receive(struct overlap *x, size_t part, size_t kind, double now)
{
    const size_t message = x->part[part].message;
    struct cc_overlap_pull *p = &x->pull[kind * x->count + message];
    if (--p->missing == 0)
        p->available = cc_serve(&x->decoder[kind], now, x->message[message].cost.decode_s);
}

static void send_pulls(struct overlap *x, size_t part, double now)
{
    const struct cc_overlap_part *p = &x->part[part];
    for (size_t k = 0; k < x->kinds; k++) {
        if (remote_servers(x, k, p->server) > 0)
            cc_fluid_add(x->net, flow_of(x, PULL, part, k), path_of(x, PULL, k, p->server),
                         p->cost->pull_flow_s);
        else
            receive(x, part, k, now);
    }
}

/* When the last of a host's messages begins to flow, which it has sent by `sent`. */
static double leaves(const struct overlap *x, double sent, double latency_s)
{
    return sent + fmax(0, latency_s - x->cluster->message_s);
}

/* A server has a part from all workers: encodes the sum. */
static void add_push(struct overlap *x, size_t part, double now)
{
    struct cc_overlap_part *p = &x->part[part];
    if (--p->missing > 0)
        return;
    const double work = p->cost->server_codec_s + p->cost->pull_send_s + x->cluster->message_s;
    const double encoded = cc_serve(&x->codec[p->server], now, work);
    p->begins = leaves(x, encoded, p->cost->pull_latency_s);
    if (x->t->pulls == CC_PULL_READY)
        return;
    p->begins = (double)INFINITY;
    if (--x->to_come[p->server] > 0)
        return;
    for (size_t i = 0; i < x->parts; i++)
        if (x->part[i].server == p->server)
            x->part[i].begins = leaves(x, encoded, x->part[i].cost->pull_latency_s);
}

static void send_push(struct overlap *x, size_t part, double now)
{
    const struct cc_overlap_part *p = &x->part[part];
    x->part[part].begins = (double)INFINITY;
    for (size_t k = 0; k < x->kinds; k++) {
        if (remote_servers(x, k, p->server) > 0)
            cc_fluid_add(x->net, flow_of(x, PUSH, part, k), path_of(x, PUSH, k, p->server),
                         p->cost->push_flow_s);
        else
            add_push(x, part, now);
    }
}

/* --- the simulation --- */

/* The part that is sent next, to its server or back. */
static size_t next_part(const struct overlap *x)
{
    size_t next = 0;
    /* Where forward pulls begin together, the first layers' go first; they are last in the list. */
    for (size_t i = 1; i < x->parts; i++)
        if (x->part[i].begins < x->part[next].begins ||
            (x->part[i].begins == x->part[next].begins && x->part[i].pulls &&
             x->t->pulls == CC_PULL_FORWARD))
            next = i;
    return next;
}

static void end_flows(struct overlap *x, double now)
{
    for (size_t flow; (flow = cc_fluid_take(x->net)) != CC_NO_FLOW;) {
        const size_t part = flow / x->kinds % x->parts, kind = flow % x->kinds;
        if (flow < x->parts * x->kinds)
            add_push(x, part, now);
        else
            receive(x, part, kind, now);
    }
}

static void simulate(struct overlap *x)
{
    for (;;) {
        const size_t part = next_part(x);
        const double begins = x->part[part].begins, ends = cc_fluid_next(x->net);
        const double now = fmin(begins, ends);
        if (now == (double)INFINITY)
            return;
        cc_fluid_advance(x->net, fmax(now, x->net->now));
        if (ends <= begins) {
            end_flows(x, now);
        } else if (x->part[part].pulls) {
            x->part[part].begins = (double)INFINITY;
            send_pulls(x, part, now);
        } else {
            x->part[part].pulls = true;
            send_push(x, part, now);
        }
    }
}

/* Cuts the messages into their servers' parts, with the times when their pushes begin. Returns the
 * end of the backward pass. */
static double begin_pushes(struct overlap *x, double backward, const double *share, size_t tensors)
{
    double now = 0, encoder = 0;
    size_t tensor = tensors;
    x->parts = 0;
    for (size_t i = 0; i < x->count; i++) {
        const struct cc_step_message *m = &x->message[i];
        while (tensor > m->first)
            now += backward * share[--tensor];
        const size_t parts = x->cluster->placed_whole ? (size_t)m->parts : 1;
        const double sending = parts > 0 ? m->cost.push_send_s + x->cluster->message_s : 0;
        const double begins =
            leaves(x, cc_serve(&encoder, now, m->cost.encode_s + sending), m->cost.push_latency_s);
        for (size_t k = 0; k < x->kinds; k++)
            x->pull[k * x->count + i] =
                (struct cc_overlap_pull){.missing = parts, .available = parts > 0 ? 0 : encoder};
        for (size_t p = 0; p < parts; p++) {
            const bool whole = x->cluster->placed_whole;
            const size_t server = whole ? (size_t)m->part[p].server : 0;
            x->part[x->parts++] =
                (struct cc_overlap_part){.cost = whole ? &m->part[p].cost : &m->cost,
                                         .message = i,
                                         .server = server,
                                         .begins = begins,
                                         .missing = x->kinds};
            x->to_come[server]++;
        }
    }
    return now;
}

/* The end of the next forward pass on the worker that is last. */
static double forward_pass(const struct overlap *x, double backward_ends, const double *share)
{
    const struct cc_timing *t = x->t;
    const double all = t->forward_share * t->compute_s + t->update_s;
    double last = 0;
    for (size_t k = 0; k < x->kinds; k++) {
        double now = backward_ends;
        for (size_t i = x->count; i-- > 0;) {
            now = fmax(now, x->pull[k * x->count + i].available);
            for (size_t n = x->message[i].first; n <= x->message[i].last; n++)
                now += all * share[n];
        }
        last = fmax(last, now);
    }
    return last;
}

static void count_kinds(const struct cc_step_cluster *c, size_t *kinds, size_t *servers)
{
    *servers = c->placed_whole ? (size_t)c->servers : 1;
    *kinds = c->colocated ? *servers + (c->workers > c->servers) : 1;
}

int cc_overlap_reserve(struct cc_overlap_memory *m, const struct cc_step_cluster *c, size_t parts,
                       struct cc_error *e)
{
    size_t kinds, servers;
    count_kinds(c, &kinds, &servers);
    CC_TRY(cc_fluid_reserve(&m->net, 2 * kinds * servers, 2 * (kinds + servers), 2 * kinds * parts,
                            e));
    CC_TRY(CC_GROW(m->part, &m->part_capacity, parts, e));
    CC_TRY(CC_GROW(m->pull, &m->pull_capacity, kinds * parts, e));
    CC_TRY(CC_GROW(m->free_at, &m->free_capacity, kinds + servers, e));
    return CC_GROW(m->to_come, &m->to_come_capacity, servers, e);
}

void cc_overlap_free(struct cc_overlap_memory *m)
{
    cc_fluid_free(&m->net);
    free(m->part);
    free(m->pull);
    free(m->free_at);
    free(m->to_come);
    *m = (struct cc_overlap_memory){.part = NULL};
}

double cc_step_overlap_servers(const struct cc_timing *t, const struct cc_step_message *message,
                               size_t count, const double *share, size_t tensors,
                               const struct cc_step_cluster *cluster, double burst_s,
                               struct cc_overlap_memory *memory)
{
    struct overlap x = {.t = t,
                        .message = message,
                        .count = count,
                        .cluster = cluster,
                        .net = &memory->net,
                        .part = memory->part,
                        .pull = memory->pull,
                        .to_come = memory->to_come};
    count_kinds(cluster, &x.kinds, &x.servers);
    x.codec = memory->free_at;
    x.decoder = memory->free_at + x.servers;
    for (size_t i = 0; i < x.servers + x.kinds; i++)
        memory->free_at[i] = 0;
    for (size_t i = 0; i < x.servers; i++)
        x.to_come[i] = 0;
    set_paths(&x);
    cc_fluid_begin(x.net, 2 * x.kinds * x.servers, 2 * (x.kinds + x.servers), burst_s,
                   cluster->window_s);
    const double backward = (1 - t->forward_share) * t->compute_s;
    const double backward_ends = begin_pushes(&x, backward, share, tensors);
    if (x.parts > 0)
        simulate(&x);
    return forward_pass(&x, backward_ends, share);
}
