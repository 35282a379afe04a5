/* Wait-free backpropagation with parameter servers (step.h): a simulation of the messages' flows.
 *
 * A message leaves as soon as its tensors are computed and encoded. All messages under way share
 * the ports that they cross: a worker's part for one server is a flow, which begins a
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
#include <string.h>

#include "core/exchange.h"
#include "core/memory.h"
#include "models/step.h"

/* --- flows that share ports --- */

/* A fluid model of a network: every port carries at most one second of
 * sending in a second, and flows share the ports that they cross max-min fairly, as long TCP
 * connections, and the flows of SimGrid, do (Bertsekas and Gallager, Data Networks, 1992, section
 * 6.5.2). A switch has no limit of its own.
 *
 * Hosts that do the same at the same time are followed as one. So a path stands for several flows
 * that are alike, and says how many of them cross each of its ports. Lengths are in seconds that a
 * flow takes when it is alone.
 *
 * The flows of a path begin in the order in which they were added: only the first CC_QUEUE_MESSAGES
 * are under way, or more while they take window_s together at most; the others wait, as in the
 * ranks' program (netsim/exchange/ps_lanes.h).
 *
 * Each port has a token bucket: up to burst_s seconds of sending pass at once when a flow begins,
 * and it fills while the port is not fully used.
 *
 * Rates are max-min fair by filling: the port whose flows get the least is full first, its flows
 * keep that rate, and the others share what is left. Time moves from the end of one flow to the end
 * of the next; a token bucket lets the first bytes of a flow pass at once. */

/* The flows on a path share it evenly: since one began, every other was sent for as long. So a path
 * counts the seconds that it has sent for a flow, and a flow ends at a certain count: flows of a
 * path form a list in the order in which they end. */
struct fluid_flow {
    double length_s;
    double ends; /* at this count of its path */
    size_t next; /* in its path's list of those under way, or of those that wait */
};

struct fluid_path {
    int port[2];         /* its flows leave by the first and arrive at the second */
    double crosses[2];   /* how many of the flows that are alike cross that port */
    double sent;         /* seconds sent for each flow */
    double rate;         /* seconds sent in a second */
    size_t first, flows; /* under way */
    double lengths;      /* these together */
    size_t waiting, last_waiting;
};

struct fluid_port {
    double holds;       /* content of the token bucket, in seconds */
    double left, wants; /* while rates are assigned: capacity, and flows without a rate */
    double used;        /* in a second */
};

struct fluid {
    struct fluid_path *path;
    size_t paths, ports, path_capacity, port_capacity, flow_capacity;
    struct fluid_port *port;
    struct fluid_flow *flow; /* those under way, by number */
    double now, burst_s, window_s;
    bool changed; /* flows have begun or ended since rates were assigned */
};

#define NO_FLOW SIZE_MAX

/* Rounding of times and counts. */
#define RELATIVE 1e-12

/* Makes room for paths, ports and flows; keeps what there is. */
static int fluid_reserve(struct fluid *f, size_t paths, size_t ports, size_t flows,
                         struct cc_error *e)
{
    CC_TRY(CC_GROW(f->path, &f->path_capacity, paths, e));
    CC_TRY(CC_GROW(f->port, &f->port_capacity, ports, e));
    return CC_GROW(f->flow, &f->flow_capacity, flows, e);
}

static void fluid_free(struct fluid *f)
{
    free(f->path);
    free(f->port);
    free(f->flow);
    *f = (struct fluid){0};
}

/* Begins at time 0, without flows, with full buckets. The caller has set the ports of path[0,
 * paths) and how often they are crossed; the rest of them is 0. */
static void fluid_begin(struct fluid *f, size_t paths, size_t ports, double burst_s,
                        double window_s)
{
    f->paths = paths;
    f->ports = ports;
    f->now = 0;
    f->burst_s = burst_s;
    f->window_s = window_s;
    f->changed = false;
    for (size_t i = 0; i < paths; i++)
        f->path[i].first = f->path[i].waiting = NO_FLOW;
    for (size_t i = 0; i < ports; i++)
        f->port[i] = (struct fluid_port){.holds = burst_s};
}

/* --- rates --- */

/* The flows of path i that cross its end k. */
static double crossing(const struct fluid *f, size_t i, int k)
{
    return (double)f->path[i].flows * f->path[i].crosses[k];
}

/* The port with the least capacity for each flow that has no rate yet; NULL if all have one. */
static struct fluid_port *tightest(const struct fluid *f)
{
    struct fluid_port *least = NULL;
    for (size_t i = 0; i < f->ports; i++) {
        struct fluid_port *p = &f->port[i];
        if (p->wants > 0 && (least == NULL || p->left * least->wants < least->left * p->wants))
            least = p;
    }
    return least;
}

/* Assigns max-min fair rates: the tightest port fixes the rates of the flows that cross it, and so
 * on with what is left of the others. */
static void assign_rates(struct fluid *f)
{
    struct fluid_port *least;
    for (size_t i = 0; i < f->ports; i++)
        f->port[i] = (struct fluid_port){.holds = f->port[i].holds, .left = 1};
    for (size_t i = 0; i < f->paths; i++) {
        f->path[i].rate = -1;
        for (int k = 0; k < 2 && f->path[i].flows > 0; k++)
            f->port[f->path[i].port[k]].wants += crossing(f, i, k);
    }
    while ((least = tightest(f)) != NULL) {
        const double rate = fmax(0, least->left) / least->wants;
        const int at = (int)(least - f->port);
        for (size_t i = 0; i < f->paths; i++) {
            struct fluid_path *s = &f->path[i];
            if (s->flows == 0 || s->rate >= 0 ||
                (f->path[i].port[0] != at && f->path[i].port[1] != at))
                continue;
            s->rate = rate;
            for (int k = 0; k < 2; k++) {
                struct fluid_port *p = &f->port[f->path[i].port[k]];
                p->left -= crossing(f, i, k) * rate;
                p->used += crossing(f, i, k) * rate;
                p->wants -= crossing(f, i, k);
            }
        }
        least->wants = 0;
    }
}

/* --- flows --- */

/* Seconds of a flow that the buckets of its ports let pass at once. */
static double pass_at_once(struct fluid *f, const struct fluid_path *p, double length_s)
{
    double passes = length_s;
    for (int k = 0; k < 2; k++)
        passes = fmin(passes, f->port[p->port[k]].holds / p->crosses[k]);
    for (int k = 0; k < 2; k++)
        f->port[p->port[k]].holds -= passes * p->crosses[k];
    return passes;
}

static bool may_begin(const struct fluid *f, const struct fluid_path *s, size_t number)
{
    return s->flows < CC_QUEUE_MESSAGES ||
           s->lengths + f->flow[number].length_s <= f->window_s * (1 + RELATIVE);
}

static void begin(struct fluid *f, size_t number, size_t path)
{
    struct fluid_path *s = &f->path[path];
    struct fluid_flow *flow = &f->flow[number];
    size_t *at = &s->first;
    flow->ends = s->sent + flow->length_s - pass_at_once(f, s, flow->length_s);
    while (*at != NO_FLOW && f->flow[*at].ends <= flow->ends)
        at = &f->flow[*at].next;
    flow->next = *at;
    *at = number;
    s->flows++;
    s->lengths += flow->length_s;
    f->changed = true;
}

/* A flow, by a number below the reserved ones that no other flow has, begins now, or waits. */
static void fluid_add(struct fluid *f, size_t number, size_t path, double length_s)
{
    struct fluid_path *s = &f->path[path];
    f->flow[number] = (struct fluid_flow){.length_s = length_s, .next = NO_FLOW};
    if (s->waiting == NO_FLOW && may_begin(f, s, number)) {
        begin(f, number, path);
        return;
    }
    if (s->waiting == NO_FLOW)
        s->waiting = number;
    else
        f->flow[s->last_waiting].next = number;
    s->last_waiting = number;
}

/* When the next flow ends if none begins before; INFINITY if there is none. */
static double fluid_next(struct fluid *f)
{
    double next = (double)INFINITY;
    if (f->changed)
        assign_rates(f);
    f->changed = false;
    for (size_t i = 0; i < f->paths; i++) {
        const struct fluid_path *s = &f->path[i];
        if (s->flows > 0)
            next = fmin(next, f->now + fmax(0, f->flow[s->first].ends - s->sent) / s->rate);
    }
    return next;
}

/* Lets time pass until `to`, which is at most that time. */
static void fluid_advance(struct fluid *f, double to)
{
    const double seconds = to - f->now;
    for (size_t i = 0; i < f->paths; i++)
        if (f->path[i].flows > 0)
            f->path[i].sent += seconds * f->path[i].rate;
    for (size_t i = 0; i < f->ports; i++) {
        struct fluid_port *p = &f->port[i];
        p->holds = fmin(f->burst_s, p->holds + seconds * fmax(0, 1 - p->used));
    }
    f->now = to;
}

/* Takes a flow that has ended by now, and returns its number; NO_FLOW if there is none. */
static size_t fluid_take(struct fluid *f)
{
    for (size_t i = 0; i < f->paths; i++) {
        struct fluid_path *s = &f->path[i];
        if (s->flows == 0)
            continue;
        const size_t number = s->first;
        const double left = f->flow[number].ends - s->sent;
        if (left > RELATIVE * fmax(f->flow[number].ends, f->now))
            continue;
        s->first = f->flow[number].next;
        s->lengths -= f->flow[number].length_s;
        if (--s->flows == 0)
            s->sent = s->lengths = 0; /* small counts are exact */
        f->changed = true;
        while (s->waiting != NO_FLOW && may_begin(f, s, s->waiting)) {
            const size_t next = s->waiting;
            s->waiting = f->flow[next].next;
            begin(f, next, i);
        }
        return number;
    }
    return NO_FLOW;
}

/* --- messages and their parts --- */

enum direction { PUSH, PULL };

/* A message's part for one server, or for all of them alike. */
struct part {
    const struct cc_cost *cost;
    size_t message, server; /* server: its kind */
    double begins;          /* when the push, or then the pull, begins; INFINITY while it waits */
    size_t missing;         /* pushes, by kind of worker */
    bool pulls;
};

/* A message on its way back to one kind of workers. */
struct pull {
    size_t missing;   /* parts */
    double available; /* when it is decoded */
};

/* When each part reaches its server, and each message its workers. */
struct cc_overlap {
    const struct cc_timing *t;
    const struct cc_step_message *message;
    size_t count, parts; /* messages; their parts for servers */
    const struct cc_step_cluster *cluster;
    size_t kinds, servers; /* kinds of workers, and of servers */
    struct fluid net;
    struct part *part;
    struct pull *pull;       /* by kind, then message */
    double *codec, *decoder; /* free at, by kind of server and, in the same list, of worker */
    double encoded;          /* when a worker has encoded its last message */
    size_t *to_come;         /* by kind of server: parts that it has not encoded */
    size_t part_capacity, pull_capacity, codec_capacity, to_come_capacity;
};

/* --- hosts and paths --- */

/* Workers of a kind. Colocated servers are on the hosts of the first kinds. */
static double workers_of(const struct cc_overlap *x, size_t kind)
{
    const struct cc_step_cluster *c = x->cluster;
    const double hosting = c->placed_whole ? 1 : c->servers;
    if (!c->colocated)
        return c->workers;
    return kind < x->servers ? hosting : c->workers - c->servers;
}

static double servers_of(const struct cc_overlap *x)
{
    return x->cluster->placed_whole ? 1 : x->cluster->servers;
}

static bool on_same_host(const struct cc_overlap *x, size_t kind, size_t server)
{
    return x->cluster->colocated && kind == server;
}

/* A host's port to the network is an even number, and that from it the next. */
static int port_of(const struct cc_overlap *x, bool is_server, size_t i, bool in)
{
    const size_t host = is_server && !x->cluster->colocated ? x->kinds + i : i;
    return (int)(2 * host + (in ? 1 : 0));
}

static size_t path_of(const struct cc_overlap *x, enum direction d, size_t kind, size_t server)
{
    return ((size_t)d * x->kinds + kind) * x->servers + server;
}

/* Flows between a worker of this kind and other hosts' servers of that kind. */
static double remote_servers(const struct cc_overlap *x, size_t kind, size_t server)
{
    return servers_of(x) - on_same_host(x, kind, server);
}

static void set_paths(struct cc_overlap *x)
{
    const struct cc_step_cluster *c = x->cluster;
    const double up = c->up > 0 ? c->up : 1, down = c->down > 0 ? c->down : 1;
    const double sharing = c->per_host > 1 ? c->per_host : 1;
    for (size_t k = 0; k < x->kinds; k++)
        for (size_t s = 0; s < x->servers; s++) {
            const double of_worker = sharing * remote_servers(x, k, s);
            const double of_server = workers_of(x, k) - on_same_host(x, k, s);
            x->net.path[path_of(x, PUSH, k, s)] = (struct fluid_path){
                .port = {port_of(x, false, k, false), port_of(x, true, s, true)},
                .crosses = {up * of_worker, down * of_server}};
            x->net.path[path_of(x, PULL, k, s)] = (struct fluid_path){
                .port = {port_of(x, true, s, false), port_of(x, false, k, true)},
                .crosses = {up * of_server, down * of_worker}};
        }
}

/* --- messages --- */

static size_t flow_of(const struct cc_overlap *x, enum direction d, size_t part, size_t kind)
{
    return ((size_t)d * x->parts + part) * x->kinds + kind;
}

/* A worker has all of a message: decodes it. */
static void receive(struct cc_overlap *x, size_t part, size_t kind, double now)
{
    const size_t message = x->part[part].message;
    struct pull *p = &x->pull[kind * x->count + message];
    if (--p->missing == 0)
        p->available = cc_serve(&x->decoder[kind], now, x->message[message].cost.decode_s);
}

/* When the last of a host's messages begins to flow, which it has sent by `sent`. */
static double leaves(const struct cc_overlap *x, double sent, double latency_s)
{
    return sent + fmax(0, latency_s - x->cluster->message_s);
}

/* A server has a part from all workers: encodes the sum. */
static void add_push(struct cc_overlap *x, size_t part, double now)
{
    struct part *p = &x->part[part];
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

/* A push reaches its server, or a pull its worker. */
static void arrive(struct cc_overlap *x, enum direction d, size_t part, size_t kind, double now)
{
    if (d == PUSH)
        add_push(x, part, now);
    else
        receive(x, part, kind, now);
}

static void send(struct cc_overlap *x, enum direction d, size_t part, double now)
{
    const struct part *p = &x->part[part];
    const double flow_s = d == PUSH ? p->cost->push_flow_s : p->cost->pull_flow_s;
    x->part[part].begins = (double)INFINITY;
    for (size_t k = 0; k < x->kinds; k++) {
        if (remote_servers(x, k, p->server) > 0)
            fluid_add(&x->net, flow_of(x, d, part, k), path_of(x, d, k, p->server), flow_s);
        else
            arrive(x, d, part, k, now);
    }
}

/* --- the simulation --- */

/* The part that is sent next, to its server or back. */
static size_t next_part(const struct cc_overlap *x)
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

static void end_flows(struct cc_overlap *x, double now)
{
    for (size_t flow; (flow = fluid_take(&x->net)) != NO_FLOW;) {
        const size_t part = flow / x->kinds % x->parts, kind = flow % x->kinds;
        arrive(x, flow < x->parts * x->kinds ? PUSH : PULL, part, kind, now);
    }
}

static void simulate(struct cc_overlap *x)
{
    for (;;) {
        const size_t part = next_part(x);
        const double begins = x->part[part].begins, ends = fluid_next(&x->net);
        const double now = fmin(begins, ends);
        if (now == (double)INFINITY)
            return;
        fluid_advance(&x->net, fmax(now, x->net.now));
        if (ends <= begins) {
            end_flows(x, now);
        } else {
            const enum direction d = x->part[part].pulls ? PULL : PUSH;
            x->part[part].pulls = true;
            send(x, d, part, now);
        }
    }
}

/* Cuts the messages into their servers' parts, with the times when their pushes begin. Returns the
 * end of the backward pass. */
static double begin_pushes(struct cc_overlap *x, double backward, const double *share,
                           size_t tensors)
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
                (struct pull){.missing = parts, .available = parts > 0 ? 0 : encoder};
        for (size_t p = 0; p < parts; p++) {
            const bool whole = x->cluster->placed_whole;
            const size_t server = whole ? (size_t)m->part[p].server : 0;
            x->part[x->parts++] = (struct part){.cost = whole ? &m->part[p].cost : &m->cost,
                                                .message = i,
                                                .server = server,
                                                .begins = begins,
                                                .missing = x->kinds};
            x->to_come[server]++;
        }
    }
    x->encoded = encoder;
    return now;
}

/* The decoder's time between two times, on a worker. */
static double decoded_in(const struct cc_overlap *x, size_t kind, double from, double to)
{
    double sum = 0;
    for (size_t i = 0; i < x->count; i++) {
        const double ends = x->pull[kind * x->count + i].available;
        const double takes = x->message[i].cost.decode_s;
        sum += cc_served_after(ends, takes, from) - cc_served_after(ends, takes, to);
    }
    return sum;
}

/* The encoder's time after the backward pass. */
static double encoded_after(const struct cc_overlap *x, double backward_ends)
{
    double takes = 0;
    for (size_t i = 0; i < x->count; i++)
        takes += x->message[i].cost.encode_s;
    return fmin(takes, fmax(0, x->encoded - backward_ends));
}

/* The end of the next forward pass on the worker that is last. */
static double forward_pass(const struct cc_overlap *x, double backward_ends, const double *share,
                           double *exposed_s)
{
    const struct cc_timing *t = x->t;
    const double all = t->forward_share * t->compute_s + t->update_s;
    double last = 0;
    for (size_t k = 0; k < x->kinds; k++) {
        double now = backward_ends, waits = 0;
        for (size_t i = x->count; i-- > 0;) {
            const double available = x->pull[k * x->count + i].available;
            if (exposed_s != NULL && available > now)
                waits += available - now - decoded_in(x, k, now, available);
            now = fmax(now, available);
            for (size_t n = x->message[i].first; n <= x->message[i].last; n++)
                now += all * share[n];
        }
        if (exposed_s != NULL && now >= last)
            *exposed_s = fmax(0, waits - encoded_after(x, backward_ends));
        last = fmax(last, now);
    }
    return last;
}

static void count_kinds(const struct cc_step_cluster *c, size_t *kinds, size_t *servers)
{
    *servers = c->placed_whole ? (size_t)c->servers : 1;
    *kinds = c->colocated ? *servers + (c->workers > c->servers) : 1;
}

int cc_overlap_reserve(struct cc_overlap **out, const struct cc_step_cluster *c, size_t parts,
                       struct cc_error *e)
{
    size_t kinds, servers;
    count_kinds(c, &kinds, &servers);
    if (*out == NULL)
        CC_TRY(CC_NEW(*out, 1, e));
    struct cc_overlap *x = *out;
    CC_TRY(
        fluid_reserve(&x->net, 2 * kinds * servers, 2 * (kinds + servers), 2 * kinds * parts, e));
    CC_TRY(CC_GROW(x->part, &x->part_capacity, parts, e));
    CC_TRY(CC_GROW(x->pull, &x->pull_capacity, kinds * parts, e));
    CC_TRY(CC_GROW(x->codec, &x->codec_capacity, kinds + servers, e));
    return CC_GROW(x->to_come, &x->to_come_capacity, servers, e);
}

void cc_overlap_free(struct cc_overlap *x)
{
    if (x == NULL)
        return;
    fluid_free(&x->net);
    free(x->part);
    free(x->pull);
    free(x->codec);
    free(x->to_come);
    free(x);
}

double cc_step_overlap_servers(const struct cc_timing *t, const struct cc_step_message *message,
                               size_t count, const double *share, size_t tensors,
                               const struct cc_step_cluster *cluster, double burst_s,
                               struct cc_overlap *x, double *exposed_s)
{
    x->t = t;
    x->message = message;
    x->count = count;
    x->cluster = cluster;
    count_kinds(cluster, &x->kinds, &x->servers);
    x->decoder = x->codec + x->servers;
    memset(x->codec, 0, (x->servers + x->kinds) * sizeof *x->codec);
    memset(x->to_come, 0, x->servers * sizeof *x->to_come);
    set_paths(x);
    fluid_begin(&x->net, 2 * x->kinds * x->servers, 2 * (x->kinds + x->servers), burst_s,
                cluster->window_s);
    const double backward = (1 - t->forward_share) * t->compute_s;
    const double backward_ends = begin_pushes(x, backward, share, tensors);
    if (x->parts > 0)
        simulate(x);
    return forward_pass(x, backward_ends, share, exposed_s);
}
