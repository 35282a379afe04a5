/* The prediction of a step.
 *
 * 1. Tensors are placed on servers (place.h), and the step is cut into messages (--fuse), from the
 *    last tensor to the first. With a period, this is done twice: for the sending step, and for the
 *    silent ones, in which tensors are encoded and only raw ones travel.
 * 2. Each message gets its cost (messages.h).
 * 3. Token buckets shorten the sum (cc_cost_shaped).
 * 4. The step mode composes computation and messages into the time of a step (step.h,
 *    straggle.c); means are taken over the period. No step is shorter than the time for which the
 *    busiest port is taken.
 *
 * docs/model.md has the formulas. */
#include "models/predict.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "models/messages.h"
#include "models/sharded.h"

const char *const cc_bottleneck_names[] = {"compute",   "codec",       "latency",
                                           "bandwidth", "server port", NULL};

/* --- memory and placement --- */

void cc_predictor_free(struct cc_predictor *p)
{
    free(p->server);
    free(p->part_of);
    free(p->load);
    free(p->part);
    free(p->server_cost);
    free(p->scratch);
    free(p->order);
    free(p->message);
    cc_overlap_free(p->overlap);
    *p = (struct cc_predictor){0};
}

static int reserve(struct cc_predictor *p, const struct cc_net *net, int servers,
                   struct cc_error *e)
{
    if (p->net == net && servers <= p->capacity)
        return CC_OK;
    size_t n = net->count, m = (size_t)servers;
    cc_predictor_free(p);
    CC_TRY(CC_NEW(p->server, n, e));
    CC_TRY(CC_NEW(p->load, m, e));
    CC_TRY(CC_NEW(p->part_of, m, e));
    CC_TRY(CC_NEW(p->part, 2 * n, e));
    CC_TRY(CC_NEW(p->server_cost, m, e));
    CC_TRY(CC_NEW(p->scratch, CC_STEP_SCRATCH * n + m, e));
    CC_TRY(CC_NEW(p->order, n, e));
    CC_TRY(CC_NEW(p->message, 2 * n, e));
    p->net = net;
    p->capacity = servers;
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

/* --- steps --- */

/* The messages of one kind of step, and their cost together with and without (unshaped) the links'
 * token buckets. */
struct step_kind {
    const struct cc_step_message *message;
    size_t count;
    struct cc_cost sum, unshaped;
};

struct step_case {
    struct cc_predictor *predictor;
    const struct cc_setting *setting;
    struct step_kind sending, silent;
    double exposed_s; /* of the latest step, if its communication overlaps */
};

static struct cc_step_cluster step_cluster(const struct cc_setting *s)
{
    return (struct cc_step_cluster){.workers = s->cluster.workers,
                                    .servers = s->cluster.servers,
                                    .placed_whole = cc_messages_placed_whole(s),
                                    .colocated = s->cluster.colocated,
                                    .per_host = cc_cluster_per_nic(&s->cluster),
                                    .up = s->link.bw_bps / cc_link_up_bps(&s->link),
                                    .down = s->link.bw_bps / cc_link_down_bps(&s->link),
                                    .window_s = CC_QUEUE_BYTES * cc_link_byte_s(&s->link),
                                    .message_s = s->link.message_s};
}

/* The time of an overlapped step by its bytes between sites: pushes follow one another on the link,
 * the last ones, which end together, come back, and the forward pass begins. */
static double between_sites(const struct cc_timing *t, const struct step_kind *kind,
                            const double *share)
{
    const struct cc_step_message *first = kind->message, *last = first + kind->count - 1;
    const double forward = t->forward_share * t->compute_s;
    double s = forward + t->update_s + first->cost.encode_s + kind->unshaped.push_wan_s;
    for (size_t i = first->first; i <= first->last; i++)
        s += (t->compute_s - forward) * share[i];
    for (size_t i = 0; i < CC_QUEUE_MESSAGES && i < kind->count; i++)
        s += last[-(ptrdiff_t)i].cost.pull_wan_s;
    return s + last->cost.push_latency_s + last->cost.pull_latency_s + last->cost.decode_s;
}

/* The cost of a message as the only one of a step. */
static struct cc_cost exchange_alone(const struct step_case *k,
                                     const struct cc_step_message *message)
{
    const struct cc_setting *s = k->setting;
    struct cc_cost sum = {0}, shaped;
    cc_cost_add(&sum, &message->cost, 1);
    if (cc_messages_placed_whole(s))
        cc_messages_busiest(k->predictor, message, 1, s, &sum);
    if (cc_exchange_has(s->exchange, CC_X_SERVERS))
        cc_cost_bound_transfers(&sum);
    cc_cost_shaped(s->exchange, &sum, &s->link, &shaped);
    return shaped;
}

/* A step of a worker on its own parameters; if it `sends`, with the exchange that follows, the mean
 * over the parts. Encoding comes first, and only the rest goes on beside the next steps. */
static double local_step(struct step_case *k, bool sends, double compute_s)
{
    const struct cc_setting *s = k->setting;
    const struct cc_timing *t = &s->timing, nothing = {.mode = CC_SEQUENTIAL};
    const size_t parts = sends ? t->local.parts : 0;
    const double own = compute_s + t->update_s;
    const double hides = t->mode == CC_OVERLAP ? (double)t->local.delay * own : 0;
    double step = own;
    k->exposed_s = 0;
    for (size_t i = 0; i < parts; i++) {
        const struct cc_cost c =
            parts > 1 ? exchange_alone(k, &k->sending.message[i]) : k->sending.sum;
        const double rest = cc_step_sequential(&nothing, &c) - c.encode_s;
        const double codec = cc_cost_codec(&c) - c.server_codec_s - c.encode_s;
        step += (c.encode_s + fmax(0, rest - hides)) / (double)parts;
        k->exposed_s += fmax(0, rest - fmax(hides, codec)) / (double)parts;
    }
    return step;
}

static double step_time(void *arg, bool sends, double compute_s)
{
    struct step_case *k = arg;
    const struct cc_setting *s = k->setting;
    if (s->timing.local.steps > 0)
        return local_step(k, sends, compute_s);
    const struct step_kind *kind = sends ? &k->sending : &k->silent;
    struct cc_timing t = s->timing;
    t.compute_s = compute_s;
    t.message_s = s->link.message_s;
    if (t.mode == CC_SEQUENTIAL)
        return cc_step_sequential(&t, &kind->sum);
    if (t.mode == CC_PIPE)
        return cc_step_pipe(&t, &kind->sum);
    if (!cc_exchange_has(s->exchange, CC_X_SERVERS)) {
        const double hidden =
            cc_step_overlap(&t, kind->message, kind->count, s->net->share, s->net->count,
                            cc_link_burst_s(&s->link), k->predictor->scratch, &k->exposed_s);
        const double whole = t.unhidden > 0 ? cc_step_sequential(&t, &kind->sum) : hidden;
        const double lost = t.unhidden * fmax(0, whole - hidden);
        k->exposed_s += lost;
        return hidden + lost;
    }
    const struct cc_step_cluster cluster = step_cluster(s);
    const double step = cc_step_overlap_servers(&t, kind->message, kind->count, s->net->share,
                                                s->net->count, &cluster, cc_link_burst_s(&s->link),
                                                k->predictor->overlap, &k->exposed_s);
    return s->cluster.sites > 1 && kind->count > 0
               ? fmax(step, between_sites(&t, kind, s->net->share))
               : step;
}

static void count_choices(const struct cc_setting *s, const struct step_kind *sending,
                          struct cc_prediction *out)
{
    if (!cc_exchange_has(s->exchange, CC_X_CHOOSES) || s->cluster.workers == 1)
        return;
    for (size_t i = 0; i < sending->count; i++)
        out->chosen[sending->message[i].cost.chosen]++;
}

static int period_time(struct step_case *k, double period, struct cc_spread *out,
                       struct cc_error *e)
{
    const struct cc_timing *t = &k->setting->timing;
    int workers = k->setting->cluster.workers;
    if (t->consistency != CC_BULK)
        return cc_step_stale(t, &k->sending.unshaped, workers, period,
                             t->update_s + k->silent.sum.encode_s, out, e);
    if (t->straggler != CC_STEADY)
        return cc_step_bulk(t, workers, period, step_time, k, out, e);
    double silent = period > 1 ? step_time(k, false, t->compute_s) : 0;
    *out = (struct cc_spread){.step_s = (step_time(k, true, t->compute_s) + (period - 1) * silent) /
                                        period};
    return CC_OK;
}

/* The time of a period whose silent steps send raw tensors: workers wait in every step. */
static int mixed_time(struct step_case *k, double period, struct cc_spread *out, struct cc_error *e)
{
    struct cc_spread sending, silent;
    struct step_case other = *k;
    other.sending = k->silent;
    CC_TRY(period_time(k, 1, &sending, e));
    CC_TRY(period_time(&other, 1, &silent, e));
    *out = cc_spread_mix(&sending, &silent, period - 1);
    return CC_OK;
}

/* --- the result --- */

static void set_parts(const struct cc_setting *s, const struct cc_cost *c,
                      struct cc_prediction *out)
{
    out->encode_s = c->encode_s;
    out->hop_codec_s = c->hop_codec_s;
    out->server_codec_s = c->server_codec_s;
    out->decode_s = c->decode_s;
    out->latency_s = c->push_latency_s + c->pull_latency_s;
    out->transfer_s = c->push_transfer_s + c->pull_transfer_s;
    out->reduce_s = c->reduce_s;
    out->push_s = c->push_latency_s + c->push_transfer_s + c->reduce_s;
    out->pull_s = c->pull_latency_s + c->pull_transfer_s;
    out->comm_s = cc_cost_comm(c);
    out->busy_s = fmax(0, out->comm_s - cc_cost_beside(c));
    out->codec_s = out->encode_s + out->hop_codec_s + out->server_codec_s + out->decode_s;
    out->messages = c->messages;
    out->rounds = c->rounds;
    out->wire_bytes = c->wire_bytes;
    out->intra_bytes = c->intra_bytes;
    out->compute_s = s->timing.compute_s + s->timing.update_s;
}

double cc_prediction_part(const struct cc_prediction *p, enum cc_bottleneck of)
{
    const double part[] = {[CC_BY_COMPUTE] = p->compute_s,
                           [CC_BY_CODEC] = p->codec_s,
                           [CC_BY_LATENCY] = p->latency_s,
                           [CC_BY_BANDWIDTH] = p->transfer_s + p->reduce_s,
                           [CC_BY_SERVER_PORT] = p->transfer_s + p->reduce_s};
    return part[of];
}

static enum cc_bottleneck bottleneck(const struct cc_cost *c, const struct cc_prediction *p)
{
    const bool server = c->push_server_s + c->pull_server_s > c->push_worker_s + c->pull_worker_s;
    int most = CC_BY_COMPUTE;
    for (int i = most + 1; i <= CC_BY_BANDWIDTH; i++)
        if (cc_prediction_part(p, (enum cc_bottleneck)i) >
            cc_prediction_part(p, (enum cc_bottleneck)most))
            most = i;
    return most == CC_BY_BANDWIDTH && server ? CC_BY_SERVER_PORT : (enum cc_bottleneck)most;
}

/* The busiest server's bytes over the mean. */
static double imbalance(struct cc_predictor *p, const struct cc_setting *s,
                        const struct cc_step_payloads *payloads)
{
    double *load = p->scratch;
    if (!cc_messages_placed_whole(s))
        return 1;
    for (int i = 0; i < s->cluster.servers; i++)
        load[i] = 0;
    for (size_t i = 0; i < payloads->count; i++)
        load[p->server[i]] += payloads->each[i].push_bytes;
    return cc_imbalance(load, s->cluster.servers);
}

/* The exchanges, one after each period, that all tensors take together. */
static double exchanges(const struct cc_setting *s)
{
    return s->timing.local.steps > 0 ? (double)s->timing.local.parts : 1;
}

/* Steps from one exchange to the next. */
static double period_of(const struct cc_setting *s, const struct cc_step_payloads *payloads)
{
    return (double)(s->timing.local.steps > 0 ? s->timing.local.steps : payloads->period);
}

/* The mean time that the busiest port needs for a step's bytes beyond the pause between steps: in
 * the long run, token buckets save nothing else. */
static double port_time(const struct cc_setting *s, const struct step_case *k, double period)
{
    double sending = cc_cost_port(s->exchange, &k->sending.unshaped) / exchanges(s);
    double silent = cc_cost_port(s->exchange, &k->silent.unshaped);
    const double port = (sending + (period - 1) * silent) / period;
    const double pause_s = s->timing.pause_s / (s->timing.local.steps > 0 ? period : 1);
    return s->link.burst_bytes > 0 ? fmax(0, port - pause_s) : 0;
}

/* The time of a step for which a worker waits. Without overlap, nothing but its computing and its
 * codecs are done meanwhile; what stragglers and full ports add to an overlapped step is waiting.
 */
static double exposed(struct step_case *k, double period, const struct cc_prediction *p)
{
    const struct cc_timing *t = &k->setting->timing;
    const double codec = p->encode_s + p->hop_codec_s + p->decode_s;
    if (t->mode != CC_OVERLAP)
        return fmax(0, p->step_s - p->compute_s - codec);
    const double sending = step_time(k, true, t->compute_s);
    double silent = 0, waits = k->exposed_s;
    if (period > 1) {
        silent = step_time(k, false, t->compute_s);
        waits += (period - 1) * k->exposed_s;
    }
    const double steady = (sending + (period - 1) * silent) / period;
    return waits / period + fmax(0, p->step_s - steady);
}

/* By which share a step over links of several classes may be off. Overlapped, messages of several
 * tensors wait for each other at every hop, where formulas have them share links evenly, so that
 * small ones overtake: simulated for ResNet-20 by ring and tree on 2 hosts of 4 and 4 of 2, 100
 * Mbit/s and 1 Gbit/s, up to 12%. Between sites, workers begin a message, and a step, when they are
 * done with the one before, and need not wait for the last: rings and servers on 2 sites of 2 hosts
 * and of 8, up to 17% (docs/model.md). */
static double off_by_classes(const struct cc_setting *s)
{
    static const double IN_QUEUES = 0.12, BETWEEN_SITES = 0.2;
    const bool ring = cc_exchange_has(s->exchange, CC_X_NEIGHBOUR);
    const bool overlapped = s->timing.mode == CC_OVERLAP, in_turn = s->timing.in_turn;
    if (!cc_cluster_two_classes(&s->cluster))
        return 0;
    if (s->cluster.sites > 1 && overlapped && cc_exchange_has(s->exchange, CC_X_SERVERS))
        return BETWEEN_SITES;
    if (s->cluster.sites > 1)
        return ring && (overlapped || in_turn) ? BETWEEN_SITES : 0;
    return overlapped && (ring || (!in_turn && s->exchange == CC_TREE)) ? IN_QUEUES : 0;
}

static double off(const struct cc_setting *s, const struct cc_step_payloads *payloads,
                  const struct cc_cost *c)
{
    const double comm = cc_cost_comm(c), share = comm > 0 ? fmin(1, c->formula_s / comm) : 0;
    struct cc_cluster cluster = s->cluster;
    const double followed = cc_exchange_off(s->exchange, payloads->reduction, &cluster, &s->link);
    cluster.by_formula = true;
    const double exchange =
        (1 - share) * followed +
        share * cc_exchange_off(s->exchange, payloads->reduction, &cluster, &s->link);
    return fmax(exchange, off_by_classes(s));
}

/* Predicts a step with sharded states. */
static int predict_sharded(const struct cc_setting *s, const struct cc_step_payloads *payloads,
                           struct cc_prediction *out, struct cc_error *e)
{
    struct cc_sharded_step step;
    CC_TRY(cc_sharded_check_payloads(s, payloads, e));
    CC_TRY(cc_sharded_step(s, payloads, &step, e));
    set_parts(s, &step.sum, out);
    out->compute_s = cc_sharded_micro_steps(s) * s->timing.compute_s + s->timing.update_s;
    out->step_s = step.step_s;
    out->exposed_s = step.exposed_s;
    memcpy(out->collective_s, step.collective_s, sizeof out->collective_s);
    out->off = off(s, payloads, &step.sum);
    out->bottleneck = bottleneck(&step.sum, out);
    return CC_OK;
}

/* Predicts the means over a period of one sending step and otherwise silent ones. */
static int predict_period(struct cc_predictor *p, const struct cc_setting *s,
                          const struct cc_step_payloads *payloads, struct cc_prediction *out,
                          struct cc_error *e)
{
    struct step_case k = {.predictor = p,
                          .setting = s,
                          .sending.message = p->message,
                          .silent.message = p->message + payloads->count};
    struct cc_cost mean = {0};
    struct cc_spread spread;
    const double period = period_of(s, payloads);
    k.sending.count = cc_messages_cut(p, s, payloads, false, &k.sending.unshaped);
    count_choices(s, &k.sending, out);
    if (payloads->period > 1)
        k.silent.count = cc_messages_cut(p, s, payloads, true, &k.silent.unshaped);
    cc_cost_shaped(s->exchange, &k.sending.unshaped, &s->link, &k.sending.sum);
    cc_cost_shaped(s->exchange, &k.silent.unshaped, &s->link, &k.silent.sum);
    bool silent = payloads->silent_total.push_bytes == 0 || payloads->period == 1;
    CC_TRY((silent ? period_time : mixed_time)(&k, period, &spread, e));
    cc_cost_add(&mean, &k.sending.sum, 1 / (period * exchanges(s)));
    cc_cost_add(&mean, &k.silent.sum, (period - 1) / period);
    set_parts(s, &mean, out);
    out->step_s = fmax(spread.step_s, port_time(s, &k, period));
    out->step_sd = spread.step_sd;
    out->wait_s = spread.wait_s;
    out->exposed_s = exposed(&k, period, out);
    /* The micro-steps before the last one compute, and exchange nothing. */
    const double before = (cc_sharded_micro_steps(s) - 1) * s->timing.compute_s;
    out->compute_s += before;
    out->step_s += before;
    out->off = off(s, payloads, &mean);
    out->bottleneck = bottleneck(&mean, out);
    return CC_OK;
}

int cc_predict_servers(struct cc_predictor *p, const struct cc_setting *s, int *server,
                       struct cc_error *e)
{
    CC_TRY(reserve(p, s->net, s->cluster.servers, e));
    place(p, s);
    for (size_t i = 0; i < s->net->count; i++)
        server[i] =
            cc_exchange_has(s->exchange, CC_X_SERVERS) && s->cluster.servers > 1 ? p->server[i] : 0;
    return CC_OK;
}

static int predict(struct cc_predictor *p, const struct cc_setting *s,
                   const struct cc_step_payloads *payloads, struct cc_prediction *out,
                   struct cc_error *e)
{
    struct cc_prediction r = {.values = payloads->total.values,
                              .chunks = s->cluster.chunks > 1 ? s->cluster.chunks : 1};
    CC_TRY(cc_setting_check(s, e));
    CC_TRY(cc_setting_check_formula(s, e));
    CC_TRY(cc_sharded_check(s, e));
    CC_TRY(cc_exchange_check(s->exchange, payloads->reduction, payloads->scheme, e));
    CC_TRY(reserve(p, s->net, s->cluster.servers, e));
    if (s->timing.mode == CC_OVERLAP && cc_exchange_has(s->exchange, CC_X_SERVERS)) {
        const struct cc_step_cluster cluster = step_cluster(s);
        CC_TRY(cc_overlap_reserve(&p->overlap, &cluster, s->net->count, e));
    }
    place(p, s);
    CC_TRY(s->sharded.collectives.count > 0 ? predict_sharded(s, payloads, &r, e)
                                            : predict_period(p, s, payloads, &r, e));
    const double rest = (double)payloads->period - 1;
    const double period = period_of(s, payloads) * exchanges(s);
    const struct cc_payload_cost *sending = &payloads->total, *silent = &payloads->silent_total;
    const enum cc_reduction reduction = payloads->reduction;
    const int workers = s->cluster.workers;
    r.payload_bytes =
        (cc_exchange_encoded_bytes(s->exchange, sending, reduction, &s->cluster) +
         rest * cc_exchange_encoded_bytes(s->exchange, silent, reduction, &s->cluster)) /
        period;
    r.payload_bytes /= cc_exchange_encoded_share(s->exchange, reduction, &s->cluster);
    if (s->sharded.collectives.count > 0) /* a worker's gradients, each value once */
        r.payload_bytes = sending->push_bytes;
    r.bits_push = 8 * r.payload_bytes / r.values;
    r.bits_pull = 8 * (cc_pull_bytes(sending, workers) + rest * cc_pull_bytes(silent, workers)) /
                  period / r.values;
    if (!isfinite(r.step_s) || !isfinite(r.bits_pull) || !(r.bits_push > 0))
        return cc_fail(e,
                       "%.100s: %g bits per value and a step of %g s are not a prediction: the "
                       "profile or the options are out of range",
                       payloads->scheme, r.bits_push, r.step_s);
    r.imbalance = imbalance(p, s, payloads);
    r.efficiency = cc_pipe_efficiency(s->timing.update_s, s->timing.compute_s, r.step_s);
    *out = r;
    return CC_OK;
}

/* Whether messages can be cut: payloads of the values, and no factors or drawn ones of the whole.
 */
static bool can_cut(const struct cc_setting *s, const struct cc_step_payloads *payloads)
{
    const bool whole =
        payloads->reduction == CC_REDUCE_SUM && payloads->total.verbatim < payloads->total.values;
    return cc_exchange_has(s->exchange, CC_X_RECODES) && !whole && s->cluster.workers > 1 &&
           s->cluster.op == CC_ALLREDUCE && s->cluster.via != CC_VIA_ALLGATHER &&
           s->sharded.collectives.count == 0;
}

/* Messages are cut at multiples of 512 values (netsim/exchange/pack/pack.h), so that pieces of
 * fewer than these differ in size by more than an eighth, and everyone waits for the largest. */
enum { LEAST_PIECE = 4096 };

/* The most chunks whose pieces, one for each worker, or half of a tree's, are that large. */
static double most_chunks(const struct cc_setting *s, const struct cc_step_payloads *payloads)
{
    const double pieces = s->exchange == CC_TREE ? 2 : s->cluster.workers;
    return payloads->total.values / (double)cc_messages_count(s, payloads) / pieces / LEAST_PIECE;
}

int cc_predict(struct cc_predictor *p, const struct cc_setting *s,
               const struct cc_step_payloads *payloads, struct cc_prediction *out,
               struct cc_error *e)
{
    static const int chunks[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, CC_MOST_CHUNKS};
    /* More chunks that save less than 2% cost what the formulas do not know of each message. */
    const double worth = 0.98;
    if (s->cluster.chunks != CC_CHUNKS_AUTO)
        return predict(p, s, payloads, out, e);
    struct cc_setting with = *s;
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        struct cc_prediction r;
        if (i > 0 && chunks[i] > most_chunks(s, payloads))
            break;
        with.cluster.chunks = chunks[i];
        CC_TRY(predict(p, &with, payloads, &r, e));
        if (i == 0 || r.step_s < worth * out->step_s)
            *out = r;
        if (!can_cut(s, payloads))
            break;
    }
    return CC_OK;
}
