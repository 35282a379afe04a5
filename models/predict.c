#include "models/predict.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/memory.h"

const char *const cc_bottleneck_names[] = {"compute",   "codec",       "latency",
                                           "bandwidth", "server port", NULL};

/* --- memory and placement --- */

void cc_predictor_free(struct cc_predictor *p)
{
    free(p->server);
    free(p->load);
    free(p->tally);
    free(p->scratch);
    free(p->order);
    free(p->ship);
    *p = (struct cc_predictor){0};
}

static int make_room(struct cc_predictor *p, const struct cc_net *net, int servers,
                     struct cc_error *e)
{
    if (p->net == net && servers <= p->room)
        return CC_OK;
    size_t n = net->count, m = (size_t)servers;
    cc_predictor_free(p);
    p->server = cc_alloc(n * sizeof *p->server, e);
    p->load = cc_alloc(m * sizeof *p->load, e);
    p->tally = cc_alloc(m * sizeof *p->tally, e);
    p->scratch = cc_alloc((n + 3 * m) * sizeof *p->scratch, e);
    p->order = cc_alloc(2 * n * sizeof *p->order, e);
    p->ship = cc_alloc(n * sizeof *p->ship, e);
    if (p->server == NULL || p->load == NULL || p->tally == NULL || p->scratch == NULL ||
        p->order == NULL || p->ship == NULL)
        return CC_FAIL;
    p->net = net;
    p->room = servers;
    return CC_OK;
}

/* Tensors are placed by their number of values, once for all schemes. */
static void place(struct cc_predictor *p, const struct cc_setting *s)
{
    int servers = s->cluster.servers;
    if (p->servers == servers && p->placement == s->placement)
        return;
    for (size_t i = 0; i < s->net->count; i++)
        p->scratch[i] = (double)s->net->tensors[i].shape.n;
    cc_place(s->placement, p->scratch, s->net->count, servers, p->server, p->load, p->order);
    p->servers = servers;
    p->placement = s->placement;
}

/* --- messages --- */

/* A message being put together from tensors, the last of the net first. */
struct batch {
    struct cc_parcel sum;
    size_t first, last; /* its tensors */
    double share;       /* of the busiest server */
    int pieces;         /* servers that get some of it */
    int server;
};

/* Which part of tensors [first, last] the busiest server has. */
static void share_of_servers(struct cc_predictor *p, const struct cc_setting *s,
                             const struct cc_parcels *parcels, struct batch *b)
{
    int servers = s->cluster.servers;
    double most = 0;
    b->share = 1.0 / servers;
    b->pieces = servers;
    b->server = CC_EVERY_SERVER;
    if (s->exchange != CC_PS || servers == 1 || s->placement == CC_SPLIT)
        return;
    for (int i = 0; i < servers; i++)
        p->load[i] = -1; /* gets nothing */
    b->pieces = 0;
    for (size_t i = b->first; i <= b->last; i++) {
        double *load = &p->load[p->server[i]];
        b->pieces += *load < 0;
        *load = fmax(*load, 0) + parcels->each[i].push_bytes;
        most = fmax(most, *load);
    }
    if (b->sum.push_bytes > 0)
        b->share = most / b->sum.push_bytes;
    if (b->pieces == 1)
        b->server = p->server[b->first];
}

static double fuse_limit(const struct cc_timing *t)
{
    if (t->fuse_bytes >= 0)
        return t->fuse_bytes;
    return t->mode == CC_OVERLAP ? 0 : INFINITY;
}

/* From the end of the net: a message of up to `limit` bytes, at least one tensor. */
static struct batch next_batch(const struct cc_parcels *parcels, size_t left, double limit)
{
    struct batch b = {.sum = parcels->each[left - 1], .first = left - 1, .last = left - 1};
    if (limit == INFINITY) {
        b.sum = parcels->total;
        b.first = 0;
    }
    while (b.first > 0 && b.sum.push_bytes + parcels->each[b.first - 1].push_bytes <= limit)
        cc_parcel_add(&b.sum, &parcels->each[--b.first]);
    return b;
}

/* Servers work side by side: of all that goes to one server each, what the busiest has counts. */
static void count_busiest(struct cc_predictor *p, size_t count, const struct cc_setting *s,
                          struct cc_cost *sum)
{
    struct cc_cost *each = p->tally, busiest = {0};
    int servers = s->cluster.servers;
    for (int i = 0; i < servers; i++)
        each[i] = (struct cc_cost){0};
    for (size_t i = 0; i < count; i++) {
        const struct cc_shipment *ship = &p->ship[i];
        if (ship->server == CC_EVERY_SERVER)
            cc_cost_add(&busiest, &ship->cost);
        else
            cc_cost_add(&each[ship->server], &ship->cost);
    }
    struct cc_cost most = {0};
    for (int i = 0; i < servers; i++) {
        most.push_server_s = fmax(most.push_server_s, each[i].push_server_s);
        most.pull_server_s = fmax(most.pull_server_s, each[i].pull_server_s);
        most.server_encode_s = fmax(most.server_encode_s, each[i].server_encode_s);
        most.server_codec_s = fmax(most.server_codec_s, each[i].server_codec_s);
        most.messages = fmax(most.messages, each[i].messages);
    }
    sum->push_server_s = busiest.push_server_s + most.push_server_s;
    sum->pull_server_s = busiest.pull_server_s + most.pull_server_s;
    sum->server_encode_s = busiest.server_encode_s + most.server_encode_s;
    sum->server_codec_s = busiest.server_codec_s + most.server_codec_s;
    sum->push_transfer_s = fmax(sum->push_worker_s, sum->push_server_s);
    sum->pull_transfer_s = fmax(sum->pull_worker_s, sum->pull_server_s);
    sum->messages = fmax((double)count, busiest.messages + most.messages);
    sum->wire_bytes = fmax(sum->push_worker_s, sum->pull_server_s) * s->link.bw_bps / 8;
}

/* Cuts the step into messages. A quiet step (of local steps) encodes and sends nothing. Returns how
 * many; *sum is what they cost together. */
static size_t make_shipments(struct cc_predictor *p, const struct cc_setting *s,
                             const struct cc_parcels *parcels, bool quiet, struct cc_cost *sum)
{
    size_t count = 0, left = parcels->count;
    double limit = fuse_limit(&s->timing);
    *sum = (struct cc_cost){0};
    while (left > 0) {
        struct batch b = next_batch(parcels, left, limit);
        struct cc_shipment *ship = &p->ship[count++];
        share_of_servers(p, s, parcels, &b);
        *ship = (struct cc_shipment){.first = b.first, .last = b.last, .server = b.server};
        if (quiet) {
            ship->cost.encode_s = b.sum.push_encode_s;
        } else {
            cc_exchange_cost(s->exchange, &b.sum, parcels->reduction, &s->cluster, &s->link,
                             b.share, b.pieces, &ship->cost);
            ship->cost.push_latency_s += s->timing.sync_s;
        }
        cc_cost_add(sum, &ship->cost);
        left = b.first;
    }
    if (!quiet && s->exchange == CC_PS && count > 1)
        count_busiest(p, count, s, sum);
    return count;
}

/* --- steps --- */

struct step_case {
    const struct cc_predictor *predictor;
    const struct cc_setting *setting;
    size_t count;
    struct cc_cost sum;
};

static double step_time(void *arg, double compute_s)
{
    const struct step_case *k = arg;
    const struct cc_setting *s = k->setting;
    struct cc_timing t = s->timing;
    t.compute_s = compute_s;
    if (t.mode == CC_SEQUENTIAL)
        return cc_step_sequential(&t, &k->sum);
    if (t.mode == CC_PIPE)
        return cc_step_pipe(&t, &k->sum);
    return cc_step_overlap(&t, k->predictor->ship, k->count, s->net->share, s->net->count,
                           s->exchange == CC_PS ? s->cluster.servers : 0, k->predictor->scratch);
}

/* The messages' costs, and the time of a step with them. */
static int one_kind_of_step(struct cc_predictor *p, const struct cc_setting *s,
                            const struct cc_parcels *parcels, bool quiet, struct cc_cost *sum,
                            struct cc_spread *out, struct cc_error *e)
{
    struct step_case k = {.predictor = p, .setting = s};
    k.count = make_shipments(p, s, parcels, quiet, &k.sum);
    *sum = k.sum;
    if (s->timing.consistency != CC_BULK && !quiet)
        return cc_step_stale(&s->timing, &k.sum, s->cluster.workers, out, e);
    if (s->timing.straggler != CC_STEADY)
        return cc_step_bulk(&s->timing, s->cluster.workers, step_time, &k, out, e);
    *out = (struct cc_spread){.step_s = step_time(&k, s->timing.compute_s)};
    return CC_OK;
}

/* --- the result --- */

static void parts(const struct cc_setting *s, const struct cc_cost *c, double steps,
                  struct cc_prediction *out)
{
    out->hop_codec_s = c->hop_codec_s / steps;
    out->server_codec_s = c->server_codec_s / steps;
    out->decode_s = c->decode_s / steps;
    out->latency_s = (c->push_latency_s + c->pull_latency_s) / steps;
    out->transfer_s = (c->push_transfer_s + c->pull_transfer_s) / steps;
    out->reduce_s = c->reduce_s / steps;
    out->push_s = (c->push_latency_s + c->push_transfer_s + c->reduce_s) / steps;
    out->pull_s = (c->pull_latency_s + c->pull_transfer_s) / steps;
    out->comm_s = cc_cost_comm(c) / steps;
    out->codec_s = out->encode_s + out->hop_codec_s + out->server_codec_s + out->decode_s;
    out->messages = c->messages / steps;
    out->rounds = c->rounds / steps;
    out->wire_bytes = c->wire_bytes / steps;
    out->compute_s = s->timing.compute_s + s->timing.update_s;
}

static void bottleneck(const struct cc_cost *c, struct cc_prediction *out)
{
    bool server = c->push_server_s + c->pull_server_s > c->push_worker_s + c->pull_worker_s;
    double most = out->compute_s;
    out->bottleneck = CC_BY_COMPUTE;
    if (out->codec_s > most) {
        most = out->codec_s;
        out->bottleneck = CC_BY_CODEC;
    }
    if (out->latency_s > most) {
        most = out->latency_s;
        out->bottleneck = CC_BY_LATENCY;
    }
    if (out->transfer_s + out->reduce_s > most)
        out->bottleneck = server ? CC_BY_SERVER_PORT : CC_BY_BANDWIDTH;
}

/* The busiest server's bytes over the mean. */
static double imbalance(struct cc_predictor *p, const struct cc_setting *s,
                        const struct cc_parcels *parcels)
{
    struct batch all = {.sum = parcels->total, .first = 0, .last = parcels->count - 1};
    share_of_servers(p, s, parcels, &all);
    return all.share * s->cluster.servers;
}

/* Means over the period: one step that sends, the others quiet. */
static int over_period(struct cc_predictor *p, const struct cc_setting *s,
                       const struct cc_parcels *parcels, struct cc_prediction *out,
                       struct cc_error *e)
{
    struct cc_cost cost, none = {0};
    struct cc_spread loud, quiet = {0};
    double period = (double)parcels->period, rest = period - 1;
    int status = one_kind_of_step(p, s, parcels, false, &cost, &loud, e);
    if (status == CC_OK && rest > 0)
        status = one_kind_of_step(p, s, parcels, true, &none, &quiet, e);
    if (status != CC_OK)
        return status;
    out->encode_s = cost.encode_s / period + (rest > 0 ? rest / period * none.encode_s : 0);
    parts(s, &cost, period, out);
    out->step_s = (loud.step_s + rest * quiet.step_s) / period;
    out->step_sd =
        sqrt((loud.step_sd * loud.step_sd + rest * quiet.step_sd * quiet.step_sd) / period);
    out->wait_s = (loud.wait_s + rest * quiet.wait_s) / period;
    bottleneck(&cost, out);
    return CC_OK;
}

int cc_predict(struct cc_predictor *p, const struct cc_setting *s, const struct cc_parcels *parcels,
               struct cc_prediction *out, struct cc_error *e)
{
    struct cc_prediction r = {.values = parcels->total.values};
    int status = cc_setting_check(s, e);
    if (status == CC_OK)
        status = cc_exchange_check(s->exchange, parcels->reduction, parcels->scheme, e);
    if (status == CC_OK)
        status = make_room(p, s->net, s->cluster.servers, e);
    if (status != CC_OK)
        return status;
    place(p, s);
    status = over_period(p, s, parcels, &r, e);
    if (status != CC_OK)
        return status;
    double period = (double)parcels->period;
    r.payload_bytes = parcels->total.push_bytes / period;
    r.bits_push = 8 * r.payload_bytes / r.values;
    r.bits_pull = 8 * parcels->total.pull_bytes / period / r.values;
    r.imbalance = imbalance(p, s, parcels);
    r.efficiency = cc_pipe_efficiency(s->timing.update_s, s->timing.compute_s, r.step_s);
    *out = r;
    return CC_OK;
}
