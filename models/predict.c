/* The prediction of a step.
 *
 * 1. Tensors are placed on servers (place.h), and the step is cut into messages (--fuse), from the
 *    last tensor to the first. With a period, this is done twice: for the sending step, and for the
 *    silent ones, in which tensors are encoded and only raw ones travel.
 * 2. Each message gets its cost from the exchange's formula (exchange.h), or, where codec times
 *    were measured, its part of those. If servers keep whole tensors, each server's part is
 *    costed, and the busiest server counts.
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
    CC_TRY(CC_NEW(p->scratch, n + m, e));
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

/* --- messages --- */

/* The tensors of a sending or of a silent step. */
struct step_load {
    const struct cc_payload_cost *each, *total;
    const struct cc_step_payloads *payloads;
    bool silent;
};

static struct step_load load_of(const struct cc_step_payloads *p, bool silent)
{
    return (struct step_load){.each = silent ? p->silent : p->each,
                              .total = silent ? &p->silent_total : &p->total,
                              .payloads = p,
                              .silent = silent};
}

/* Whether there are several servers, each of which keeps whole tensors. */
static bool placed_whole(const struct cc_setting *s)
{
    return cc_exchange_has(s->exchange, CC_X_SERVERS) && s->cluster.servers > 1 &&
           s->placement != CC_SPLIT;
}

static double fuse_limit(const struct cc_timing *t, bool first)
{
    if (first && t->first_fuse_bytes >= 0)
        return t->first_fuse_bytes;
    if (t->fuse_bytes >= 0)
        return t->fuse_bytes;
    return t->mode == CC_OVERLAP ? 0 : INFINITY;
}

/* The bytes of a tensor that count against the limit. */
static double fuse_bytes(const struct cc_setting *s, const struct cc_step_payloads *p, size_t i)
{
    return s->timing.fuse_gradients ? 4 * (double)s->net->tensors[i].shape.n : p->cut_bytes[i];
}

/* The next message, of the last of the `left` tensors that remain: up to the limit, at least one
 * tensor. */
static struct cc_message next_message(const struct cc_setting *s, const struct cc_step_payloads *p,
                                      size_t left)
{
    struct cc_message m = {left - 1, left - 1};
    const double limit = fuse_limit(&s->timing, left == p->count);
    double bytes = fuse_bytes(s, p, left - 1);
    if (limit == INFINITY)
        m.first = 0;
    while (m.first > 0 && (bytes += fuse_bytes(s, p, m.first - 1)) <= limit)
        m.first--;
    return m;
}

size_t cc_predict_messages(const struct cc_setting *s, const struct cc_step_payloads *payloads,
                           struct cc_message *message)
{
    size_t count = 0;
    for (size_t left = payloads->count; left > 0; left = message[count++].first)
        message[count] = next_message(s, payloads, left);
    return count;
}

/* Sets the next message's tensors and returns their payload cost. */
static struct cc_payload_cost next_batch(const struct cc_setting *s, const struct step_load *load,
                                         size_t left, struct cc_step_message *message)
{
    struct cc_message m = next_message(s, load->payloads, left);
    struct cc_payload_cost sum = load->each[m.last];
    *message = (struct cc_step_message){.first = m.first, .last = m.last};
    if (m.first == 0 && m.last == load->payloads->count - 1)
        return *load->total;
    for (size_t i = m.last; i-- > m.first;)
        cc_payload_cost_add(&sum, &load->each[i]);
    return sum;
}

/* --- codec times --- */

/* Divides the time of codecs by the factor on their speed. */
static void speed_up(const struct cc_setting *s, struct cc_payload_cost *c)
{
    const double speed = s->codec_speed;
    c->push_encode_s /= speed;
    c->push_decode_s /= speed;
    c->push_add_s /= speed;
    c->pull_encode_s /= speed;
    c->pull_decode_s /= speed;
}

/* Replaces the codec times that the exchange's formula derived from the payload costs by the
 * message's part of the measured ones. */
static void set_measured(const struct step_load *load, const struct cc_payload_cost *batch,
                         struct cc_cost *c)
{
    const struct cc_codec_times *t = &load->payloads->codec;
    double part = batch->values / load->total->values, period = (double)load->payloads->period;
    double sending = load->silent ? 0 : part * period;
    if (!load->payloads->measured)
        return;
    const double encode = c->encode_s > 0 ? c->encode_beside_s / c->encode_s : 0;
    const double decode = c->decode_s > 0 ? c->decode_beside_s / c->decode_s : 0;
    c->encode_s = part * t->encode_s;
    c->hop_codec_s = sending * t->hop_s;
    c->server_codec_s = sending * t->server_s;
    c->decode_s = sending * t->decode_s;
    c->reduce_s = 0; /* it is in hop_s */
    c->encode_beside_s = encode * c->encode_s;
    c->decode_beside_s = decode * c->decode_s;
}

/* The same for a server that keeps whole tensors. The measured time is that of the busiest server.
 */
static void set_measured_part(const struct cc_predictor *p, const struct cc_setting *s,
                              const struct step_load *load, struct cc_part *part)
{
    double most = 0, period = (double)load->payloads->period;
    if (!load->payloads->measured)
        return;
    for (int i = 0; i < s->cluster.servers; i++)
        most = fmax(most, p->load[i]);
    part->cost.server_codec_s =
        load->silent ? 0 : period * load->payloads->codec.server_s * part->payload.values / most;
}

static void cost_parts(struct cc_predictor *p, const struct cc_setting *s,
                       const struct step_load *load, struct cc_part *part,
                       struct cc_step_message *message)
{
    for (int i = 0; i < s->cluster.servers; i++)
        p->part_of[i] = -1;
    message->part = part;
    for (size_t i = message->first; i <= message->last; i++) {
        int *at = &p->part_of[p->server[i]];
        if (load->silent && load->each[i].push_bytes == 0)
            continue;
        if (*at < 0) {
            *at = message->parts++;
            part[*at] = (struct cc_part){.server = p->server[i]};
        }
        cc_payload_cost_add(&part[*at].payload, &load->each[i]);
    }
    for (int i = 0; i < message->parts; i++) {
        speed_up(s, &part[i].payload);
        cc_exchange_cost(s->exchange, &part[i].payload, CC_REDUCE_DECODED, &s->cluster, &s->link, 1,
                         1, &part[i].cost);
        set_measured_part(p, s, load, &part[i]);
    }
}

/* Servers work in parallel: the sum over all messages at the busiest one counts. */
static void count_busiest(struct cc_predictor *p, const struct cc_step_message *messages,
                          size_t count, const struct cc_setting *s, struct cc_cost *sum)
{
    struct cc_cost *each = p->server_cost, most = {0};
    const int servers = s->cluster.servers;
    double sent = 0; /* messages, by a worker */
    memset(each, 0, (size_t)servers * sizeof *each);
    for (size_t i = 0; i < count; i++) {
        const struct cc_step_message *message = &messages[i];
        sent += message->parts;
        for (int k = 0; k < message->parts; k++)
            cc_cost_add(&each[message->part[k].server], &message->part[k].cost, 1);
    }
    for (int i = 0; i < servers; i++)
        cc_cost_most(&most, &each[i]);
    sum->push_server_s = most.push_server_s;
    sum->pull_server_s = most.pull_server_s;
    sum->pull_send_s = most.pull_send_s;
    sum->server_encode_s = most.server_encode_s;
    sum->server_codec_s = most.server_codec_s;
    sum->messages = fmax(sent, most.messages);
}

/* Counts the latencies of payloads that need several sums, each of which depends on the one before.
 * Exchanges that do not add floats send all parts at once. */
static void sum_in_rounds(enum cc_exchange x, size_t rounds, struct cc_cost *c)
{
    if (!cc_exchange_has(x, CC_X_SUMS))
        return;
    c->push_latency_s *= (double)rounds;
    c->rounds *= (double)rounds;
    c->messages *= (double)rounds;
}

/* Cuts the step into messages and returns their number; *sum is their cost together. Messages
 * without bytes, in silent steps, are encoded and not sent. */
static size_t cut_step(struct cc_predictor *p, const struct cc_setting *s,
                       const struct cc_step_payloads *payloads, bool silent, struct cc_cost *sum)
{
    const struct step_load all = load_of(payloads, silent), *load = &all;
    size_t count = 0, left = payloads->count;
    struct cc_step_message *messages = p->message + (silent ? left : 0);
    struct cc_part *part = p->part + (silent ? left : 0);
    bool alone = !cc_exchange_has(s->exchange, CC_X_SERVERS) && s->cluster.workers == 1,
         whole = placed_whole(s);
    double servers = s->cluster.servers;
    struct cc_cluster cluster = s->cluster;
    cluster.unions = &payloads->unions;
    *sum = (struct cc_cost){0};
    while (left > 0) {
        struct cc_step_message *message = &messages[count++];
        struct cc_payload_cost batch = next_batch(s, load, left, message);
        if (whole)
            cost_parts(p, s, load, part, message);
        speed_up(s, &batch);
        if (load->silent && batch.push_bytes == 0) {
            message->cost.encode_s = alone ? 0 : batch.push_encode_s;
        } else {
            cc_exchange_cost(s->exchange, &batch, payloads->reduction, &cluster, &s->link,
                             1 / servers, whole ? message->parts : servers, &message->cost);
            sum_in_rounds(s->exchange, payloads->sum_rounds, &message->cost);
            message->cost.push_latency_s += s->timing.sync_s;
        }
        set_measured(load, &batch, &message->cost);
        cc_cost_add(sum, &message->cost, 1);
        part += message->parts;
        left = message->first;
    }
    if (whole)
        count_busiest(p, messages, count, s, sum);
    if (cc_exchange_has(s->exchange, CC_X_SERVERS)) {
        cc_cost_bound_transfers(sum);
        sum->wire_bytes = cc_cost_sent_s(&s->cluster, &s->link, sum) * cc_link_up_bps(&s->link) / 8;
    }
    return count;
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
};

static struct cc_step_cluster step_cluster(const struct cc_setting *s)
{
    return (struct cc_step_cluster){.workers = s->cluster.workers,
                                    .servers = s->cluster.servers,
                                    .placed_whole = placed_whole(s),
                                    .colocated = s->cluster.colocated,
                                    .per_host = cc_cluster_per_host(&s->cluster),
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

static double step_time(void *arg, bool sends, double compute_s)
{
    const struct step_case *k = arg;
    const struct cc_setting *s = k->setting;
    const struct step_kind *kind = sends ? &k->sending : &k->silent;
    struct cc_timing t = s->timing;
    t.compute_s = compute_s;
    if (t.mode == CC_SEQUENTIAL)
        return cc_step_sequential(&t, &kind->sum);
    if (t.mode == CC_PIPE)
        return cc_step_pipe(&t, &kind->sum);
    if (!cc_exchange_has(s->exchange, CC_X_SERVERS))
        return cc_step_overlap(&t, kind->message, kind->count, s->net->share, s->net->count,
                               cc_link_burst_s(&s->link), k->predictor->scratch);
    const struct cc_step_cluster cluster = step_cluster(s);
    const double step =
        cc_step_overlap_servers(&t, kind->message, kind->count, s->net->share, s->net->count,
                                &cluster, cc_link_burst_s(&s->link), k->predictor->overlap);
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
    if (!placed_whole(s))
        return 1;
    for (int i = 0; i < s->cluster.servers; i++)
        load[i] = 0;
    for (size_t i = 0; i < payloads->count; i++)
        load[p->server[i]] += payloads->each[i].push_bytes;
    return cc_imbalance(load, s->cluster.servers);
}

/* The mean time that the busiest port needs for a step's bytes beyond the pause between steps: in
 * the long run, token buckets save nothing else. */
static double port_time(const struct cc_setting *s, const struct step_case *k, double period)
{
    double sending = cc_cost_port(s->exchange, &k->sending.unshaped);
    double silent = cc_cost_port(s->exchange, &k->silent.unshaped);
    const double port = (sending + (period - 1) * silent) / period;
    return s->link.burst_bytes > 0 ? fmax(0, port - s->timing.pause_s) : 0;
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
    double period = (double)payloads->period;
    k.sending.count = cut_step(p, s, payloads, false, &k.sending.unshaped);
    count_choices(s, &k.sending, out);
    if (period > 1)
        k.silent.count = cut_step(p, s, payloads, true, &k.silent.unshaped);
    cc_cost_shaped(s->exchange, &k.sending.unshaped, &s->link, &k.sending.sum);
    cc_cost_shaped(s->exchange, &k.silent.unshaped, &s->link, &k.silent.sum);
    bool silent = payloads->silent_total.push_bytes == 0 || period == 1;
    CC_TRY((silent ? period_time : mixed_time)(&k, period, &spread, e));
    cc_cost_add(&mean, &k.sending.sum, 1 / period);
    cc_cost_add(&mean, &k.silent.sum, (period - 1) / period);
    set_parts(s, &mean, out);
    out->step_s = fmax(spread.step_s, port_time(s, &k, period));
    out->step_sd = spread.step_sd;
    out->wait_s = spread.wait_s;
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

int cc_predict(struct cc_predictor *p, const struct cc_setting *s,
               const struct cc_step_payloads *payloads, struct cc_prediction *out,
               struct cc_error *e)
{
    struct cc_prediction r = {.values = payloads->total.values};
    CC_TRY(cc_setting_check(s, e));
    CC_TRY(cc_setting_check_formula(s, e));
    CC_TRY(cc_exchange_check(s->exchange, payloads->reduction, payloads->scheme, e));
    CC_TRY(reserve(p, s->net, s->cluster.servers, e));
    if (s->timing.mode == CC_OVERLAP && cc_exchange_has(s->exchange, CC_X_SERVERS)) {
        const struct cc_step_cluster cluster = step_cluster(s);
        CC_TRY(cc_overlap_reserve(&p->overlap, &cluster, s->net->count, e));
    }
    place(p, s);
    CC_TRY(predict_period(p, s, payloads, &r, e));
    double period = (double)payloads->period, rest = period - 1;
    const struct cc_payload_cost *sending = &payloads->total, *silent = &payloads->silent_total;
    const enum cc_reduction reduction = payloads->reduction;
    const int workers = s->cluster.workers;
    r.payload_bytes =
        (cc_exchange_encoded_bytes(s->exchange, sending, reduction, &s->cluster) +
         rest * cc_exchange_encoded_bytes(s->exchange, silent, reduction, &s->cluster)) /
        period;
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
