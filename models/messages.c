/* The messages of a step: which tensors each has, and its cost by the exchange's formula or, where
 * codec times were measured, by its part of those. If servers keep whole tensors, each server's
 * part is costed, and the busiest server counts. */
#include "models/messages.h"

#include <math.h>
#include <string.h>

/* Messages of less than one part in so many of a step's values go by the formula: following more
 * from rank to rank would keep the user waiting. */
enum { MOST_FOLLOWED = 8 };

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

bool cc_messages_placed_whole(const struct cc_setting *s)
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
    if (cc_local_cuts(s))
        return (struct cc_message){cc_local_part(s->net, s->timing.local.parts, left), left - 1};
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

size_t cc_messages_count(const struct cc_setting *s, const struct cc_step_payloads *payloads)
{
    size_t count = 0;
    for (size_t left = payloads->count; left > 0; count++)
        left = next_message(s, payloads, left).first;
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
    const double hops = c->hop_codec_s + c->reduce_s;
    const double hop = hops > 0 ? c->hop_beside_s / hops : 0;
    const double decode = c->decode_s > 0 ? c->decode_beside_s / c->decode_s : 0;
    const double comm = cc_cost_comm(c), codec = cc_cost_codec(c);
    const double together = comm + codec > 0 ? c->chunks_beside_s / (comm + codec) : 0;
    c->encode_s = part * t->encode_s;
    c->hop_codec_s = sending * t->hop_s;
    c->server_codec_s = sending * t->server_s;
    c->decode_s = sending * t->decode_s;
    c->reduce_s = 0; /* it is in hop_s */
    c->encode_beside_s = encode * c->encode_s;
    c->hop_beside_s = hop * c->hop_codec_s;
    c->decode_beside_s = decode * c->decode_s;
    c->chunks_beside_s += together * (cc_cost_comm(c) + cc_cost_codec(c) - comm - codec);
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
        cc_payload_cost_hurry(&part[i].payload, s->codec_speed);
        cc_exchange_cost(s->exchange, &part[i].payload, CC_REDUCE_DECODED, &s->cluster, &s->link, 1,
                         1, &part[i].cost);
        set_measured_part(p, s, load, &part[i]);
    }
}

void cc_messages_busiest(struct cc_predictor *p, const struct cc_step_message *messages,
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

size_t cc_messages_cut(struct cc_predictor *p, const struct cc_setting *s,
                       const struct cc_step_payloads *payloads, bool silent, struct cc_cost *sum)
{
    const struct step_load all = load_of(payloads, silent), *load = &all;
    size_t count = 0, left = payloads->count;
    struct cc_step_message *messages = p->message + (silent ? left : 0);
    struct cc_part *part = p->part + (silent ? left : 0);
    bool alone = !cc_exchange_has(s->exchange, CC_X_SERVERS) && s->cluster.workers == 1,
         whole = cc_messages_placed_whole(s);
    double servers = s->cluster.servers;
    struct cc_cluster cluster = s->cluster;
    cluster.unions = &payloads->unions;
    *sum = (struct cc_cost){0};
    while (left > 0) {
        struct cc_step_message *message = &messages[count++];
        struct cc_payload_cost batch = next_batch(s, load, left, message);
        if (whole)
            cost_parts(p, s, load, part, message);
        cc_payload_cost_hurry(&batch, s->codec_speed);
        cluster.by_formula = batch.values * MOST_FOLLOWED < load->total->values;
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
        cc_messages_busiest(p, messages, count, s, sum);
    if (cc_exchange_has(s->exchange, CC_X_SERVERS)) {
        cc_cost_bound_transfers(sum);
        sum->wire_bytes = cc_cost_sent_s(&s->cluster, &s->link, sum) * cc_link_up_bps(&s->link) / 8;
    }
    return count;
}
