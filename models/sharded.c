/* A step is followed by its plan. A message of a collective takes
 *
 *   latency + transfer + work of codecs - work that its own transfers hide,
 *
 * by the formula of its exchange on the workers that it is among: those of a host are a cluster of
 * one host; those of equal local number are hosts of one worker each, and as many such groups as a
 * host has workers share its ports.
 *
 * A message begins when the worker has begun it, those before it in its queue have ended, and, of a
 * collective that follows another, that one has. The worker computes unit by unit and waits where
 * the plan has it wait. */
#include "models/sharded.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "models/system.h"

/* --- units --- */

/* The length of a name up to its first part that is a number; 0: it has none. */
static size_t layer_length(const char *name)
{
    const char *at = name;
    for (;;) {
        const size_t n = strcspn(at, "./");
        if (n > 0 && strspn(at, "0123456789") == n)
            return (size_t)(at - name) + n;
        if (at[n] == '\0')
            return 0;
        at += n + 1;
    }
}

static bool same_layer(const char *a, const char *b)
{
    const size_t n = layer_length(a);
    return n == layer_length(b) && strncmp(a, b, n) == 0;
}

static size_t cut_by_bytes(const struct cc_setting *s, struct cc_message *unit)
{
    const struct cc_tensor_info *t = s->net->tensors;
    size_t count = 0;
    for (size_t left = s->net->count; left > 0; left = unit[count++].first) {
        struct cc_message m = {left - 1, left - 1};
        double bytes = sizeof(float) * (double)t[left - 1].shape.n;
        while (m.first > 0 &&
               (bytes += sizeof(float) * (double)t[m.first - 1].shape.n) <= s->timing.fuse_bytes)
            m.first--;
        unit[count] = m;
    }
    for (size_t i = 0; i < count / 2; i++) {
        const struct cc_message other = unit[i];
        unit[i] = unit[count - 1 - i];
        unit[count - 1 - i] = other;
    }
    return count;
}

size_t cc_sharded_units(const struct cc_setting *s, struct cc_message *unit)
{
    const struct cc_tensor_info *t = s->net->tensors;
    size_t count = 0;
    if (s->timing.fuse_bytes >= 0)
        return cut_by_bytes(s, unit);
    for (size_t i = 0; i < s->net->count; i++) {
        if (count > 0 && same_layer(t[i].name, t[unit[count - 1].last].name))
            unit[count - 1].last = i;
        else
            unit[count++] = (struct cc_message){i, i};
    }
    return count;
}

size_t cc_sharded_messages(const struct cc_setting *s, struct cc_message *message)
{
    const size_t n = cc_sharded_units(s, message);
    for (size_t i = 0; i < n / 2; i++) {
        const struct cc_message other = message[i];
        message[i] = message[n - 1 - i];
        message[n - 1 - i] = other;
    }
    return n;
}

/* --- checks --- */

int cc_sharded_check(const struct cc_setting *s, struct cc_error *e)
{
    const char *system = s->system != NULL ? s->system->name : "sharded";
    const struct cc_timing *t = &s->timing;
    char with[96];
    if (cc_sharded_micro_steps(s) > 1 &&
        (t->mode == CC_PIPE || t->consistency != CC_BULK || t->straggler != CC_STEADY))
        return cc_usage(e, "--accumulate is of bulk synchronous steps that do not overlap each "
                           "other, without stragglers");
    if (s->sharded.collectives.count == 0)
        return CC_OK;
    cc_exchange_list(CC_X_HALVES, with, sizeof with);
    if (!cc_exchange_has(s->exchange, CC_X_HALVES) && s->exchange != CC_NCCL)
        return cc_usage(e,
                        "--system %s reduces and gathers parts: of the exchanges, %s and nccl have "
                        "that, and %s has not",
                        system, with, cc_exchange_names[s->exchange]);
    if (s->cluster.op != CC_ALLREDUCE)
        return cc_usage(e,
                        "--op is of a single exchange, and --system %s has its own list: leave "
                        "out either",
                        system);
    if (s->cluster.via == CC_VIA_ALLGATHER || s->cluster.gather != NULL || s->cluster.chunks > 1)
        return cc_usage(e,
                        "--%s: the collectives of --system %s have no such stage: leave out "
                        "either",
                        s->cluster.gather != NULL ? "gather-scheme"
                        : s->cluster.chunks > 1   ? "chunks"
                                                  : "via allgather",
                        system);
    if (t->mode == CC_PIPE)
        return cc_usage(e, "--mode pipe: the steps of --system %s do not overlap each other",
                        system);
    if (t->consistency != CC_BULK || t->straggler != CC_STEADY || t->hidden_share > 0)
        return cc_usage(e, "--%s is not known of --system %s: leave out either",
                        t->consistency != CC_BULK ? "consistency"
                        : t->hidden_share > 0     ? "hidden"
                                                  : "stragglers",
                        system);
    if (s->cluster.sites > 1)
        return cc_usage(e,
                        "--sites: the collectives of --system %s are modelled on hosts: leave "
                        "out either",
                        system);
    return CC_OK;
}

static bool is_coded(const struct cc_step_payloads *p)
{
    return p->total.verbatim != p->total.values;
}

int cc_sharded_check_payloads(const struct cc_setting *s, const struct cc_step_payloads *payloads,
                              struct cc_error *e)
{
    if (payloads->period > 1)
        return cc_usage(e, "%s sends in some steps only, and --system %s in every one",
                        payloads->scheme, s->system->name);
    if (payloads->reduction == CC_REDUCE_SUM && is_coded(payloads))
        return cc_usage(e,
                        "--system %s cuts the values into parts, and those of %s are not found in "
                        "a part of its payload",
                        s->system->name, payloads->scheme);
    return CC_OK;
}

/* --- the cost of a message --- */

/* The payload of values as they are. */
static struct cc_payload_cost plain_cost(double values, enum cc_element type)
{
    const double bytes = values * (double)cc_element_bytes[type];
    return (struct cc_payload_cost){.values = values,
                                    .push_bytes = bytes,
                                    .pull_bytes = bytes,
                                    .inner_bytes = bytes,
                                    .verbatim = values};
}

/* The payloads that a collective has; NULL: values as they are. */
static const struct cc_step_payloads *payloads_of(const struct cc_setting *s,
                                                  const struct cc_step_payloads *gradients,
                                                  const struct cc_collective *c)
{
    return c->role == CC_ROLE_GRADIENT ? gradients
           : c->role == CC_ROLE_WEIGHT ? s->sharded.weights
                                       : NULL;
}

/* The cluster that the workers of a collective are, and their link. Returns the number of such
 * groups on a host, each of which has its part of the values and of the ports. */
static double place(const struct cc_setting *s, const struct cc_collective *c,
                    struct cc_cluster *cluster, struct cc_link *link)
{
    const int per_host = cc_cluster_per_host(&s->cluster);
    *cluster = s->cluster;
    *link = s->link;
    cluster->op = c->op;
    if (c->among == CC_AMONG_HOST)
        cluster->workers = per_host;
    if (c->among != CC_AMONG_HOSTS)
        return 1;
    cluster->workers = cc_cluster_hosts(&s->cluster);
    cluster->per_host = 1;
    cluster->nics = 1;
    link->achieved = (link->achieved > 0 ? link->achieved : 1) / cc_cluster_per_nic(&s->cluster);
    return per_host;
}

/* Returns the bytes of a worker's part, which transfers have. */
static double cost_of(const struct cc_setting *s, const struct cc_step_payloads *gradients,
                      const struct cc_collective *c, const struct cc_message *unit,
                      struct cc_cost *out)
{
    const struct cc_step_payloads *p = payloads_of(s, gradients, c);
    struct cc_payload_cost m = {0};
    struct cc_cluster cluster;
    struct cc_link link;
    const double groups = place(s, c, &cluster, &link);
    for (size_t i = unit->first; i <= unit->last; i++) {
        const struct cc_payload_cost plain =
            plain_cost((double)s->net->tensors[i].shape.n, s->dtype);
        cc_payload_cost_add(&m, p != NULL ? &p->each[i] : &plain);
    }
    cc_payload_cost_scale(&m, 1 / groups);
    cc_payload_cost_hurry(&m, s->codec_speed);
    const bool coded = p != NULL && is_coded(p);
    const enum cc_reduction reduction = p != NULL ? p->reduction : CC_REDUCE_SUM;
    cc_exchange_cost(
        cc_collective_exchange(c, s->exchange, cc_cluster_per_host(&cluster) > 1, coded), &m,
        reduction, &cluster, &link, 1, 1, out);
    out->wire_bytes *= groups;
    out->messages *= groups;
    return m.push_bytes / cluster.workers;
}

/* The exchange of a collective whose payloads are those of gradients, on its cluster. */
static enum cc_exchange exchange_of(const struct cc_setting *s, const struct cc_collective *c,
                                    bool coded, struct cc_cluster *cluster)
{
    struct cc_link link;
    (void)place(s, c, cluster, &link);
    return cc_collective_exchange(c, s->exchange, cc_cluster_per_host(cluster) > 1, coded);
}

double cc_sharded_encoded_share(const struct cc_setting *s, const struct cc_step_payloads *payloads)
{
    double bytes = 0;
    for (int i = 0; i < s->sharded.collectives.count; i++) {
        const struct cc_collective *c = &s->sharded.collectives.item[i];
        struct cc_cluster cluster;
        if (c->what != CC_MOVES_GRADIENTS || c->follows)
            continue;
        const enum cc_exchange x = exchange_of(s, c, is_coded(payloads), &cluster);
        bytes += cc_collective_times(c, cc_sharded_micro_steps(s)) *
                 cc_exchange_encoded_bytes(x, &payloads->total, payloads->reduction, &cluster);
    }
    return bytes > 0 ? bytes / payloads->total.push_bytes : 1;
}

double cc_sharded_encodings(const struct cc_setting *s, const struct cc_step_payloads *payloads)
{
    double encodings = 0;
    for (int i = 0; i < s->sharded.collectives.count; i++) {
        const struct cc_collective *c = &s->sharded.collectives.item[i];
        struct cc_cluster cluster;
        if (c->what != CC_MOVES_GRADIENTS)
            continue;
        const enum cc_exchange x = exchange_of(s, c, is_coded(payloads), &cluster);
        encodings += cc_exchange_encodings(x, payloads->reduction, &cluster);
    }
    return encodings;
}

/* --- a step --- */

/* The bytes of a transfer that are on their way without the processor: blocks that a rank has
 * posted (netsim/exchange/block_stream.h). Above, transfers pause less while codecs work. */
#define WINDOW_BYTES (4 * 48.0 * 1024)

/* A message's part of codec work that was measured, of all messages of a step together: in
 * proportion to what is expected or, where nothing is, to `share`, its share of the bytes. */
static double part_of(double measured, double expected, double all, double share)
{
    return all > 0 ? measured * expected / all : measured * share;
}

static void take_measured(const struct cc_codec_times *t, const struct cc_cost *sum, double share,
                          struct cc_cost *c)
{
    const double before[] = {c->encode_s, c->hop_codec_s + c->reduce_s, c->decode_s};
    c->encode_s = part_of(t->encode_s, before[0], sum->encode_s, share);
    c->hop_codec_s = part_of(t->hop_s, before[1], sum->hop_codec_s + sum->reduce_s, share);
    c->decode_s = part_of(t->decode_s, before[2], sum->decode_s, share);
    c->reduce_s = 0;
    c->encode_beside_s *= before[0] > 0 ? c->encode_s / before[0] : 0;
    c->hop_beside_s *= before[1] > 0 ? c->hop_codec_s / before[1] : 0;
    c->decode_beside_s *= before[2] > 0 ? c->decode_s / before[2] : 0;
}

static double seconds_of(const struct cc_cost *c)
{
    return fmax(0, cc_cost_comm(c) + cc_cost_codec(c) - cc_cost_beside(c));
}

/* The parts of a message's time. Encoding is not interrupted, and is sent before it ends; sums are
 * worked on behind each round, and what is gathered is decoded beside the next round, and at the
 * end. */
static struct cc_message_time time_of(const struct cc_cost *c, const struct cc_collective *of,
                                      double windows)
{
    const double codec = cc_cost_codec(c), all = seconds_of(c);
    const bool gathers = of->op == CC_ALL_GATHER;
    const double before = fmin(all, gathers ? c->encode_s + c->hop_codec_s : c->encode_s);
    const double sent = gathers ? 0 : fmin(c->encode_beside_s, before);
    const double behind = fmax(0, codec - before - (cc_cost_beside(c) - sent));
    const double network = fmax(0, all - before - behind);
    return (struct cc_message_time){.before_s = before,
                                    .network_s = network,
                                    .beside_s = fmin(network, fmax(0, codec - before - behind)),
                                    .behind_s = fmin(behind, all - before),
                                    .rounds = (int)fmin(fmax(1, c->rounds), CC_SHARDED_ROUNDS),
                                    .windows = fmin(windows, CC_SHARDED_WINDOWS),
                                    .gathers = gathers};
}

/* The cost of a step's messages, and their units. */
struct messages {
    struct cc_message *unit;
    size_t units;
    double *share;                /* by unit */
    struct cc_message_time *time; /* by message */
    struct cc_cost *cost;         /* likewise */
};

/* Adds up what all messages of a step cost by the formulas. */
static struct cc_cost cost_expected(const struct cc_setting *s,
                                    const struct cc_step_payloads *payloads,
                                    const struct messages *m)
{
    const struct cc_collectives *c = &s->sharded.collectives;
    struct cc_cost sum = {0}, *cost = m->cost;
    for (int i = 0; i < c->count; i++)
        for (size_t u = 0; u < m->units; u++, cost++) {
            m->time[cost - m->cost].windows =
                cost_of(s, payloads, &c->item[i], &m->unit[u], cost) / WINDOW_BYTES;
            cc_cost_add(&sum, cost, cc_collective_times(&c->item[i], cc_sharded_micro_steps(s)));
        }
    return sum;
}

static int cost_all(const struct cc_setting *s, const struct cc_step_payloads *payloads,
                    struct messages *m, struct cc_sharded_step *out, struct cc_error *e)
{
    const struct cc_collectives *c = &s->sharded.collectives;
    const size_t all = (size_t)c->count * m->units;
    CC_TRY(CC_NEW(m->cost, all, e));
    CC_TRY(CC_NEW(m->time, all, e));
    const struct cc_cost expected = cost_expected(s, payloads, m);
    const double bytes = expected.wire_bytes + expected.intra_bytes;
    for (int i = 0; i < c->count; i++) {
        const double times = cc_collective_times(&c->item[i], cc_sharded_micro_steps(s));
        for (size_t k = (size_t)i * m->units; k < (size_t)(i + 1) * m->units; k++) {
            struct cc_cost *cost = &m->cost[k];
            if (payloads->measured && bytes > 0)
                take_measured(&payloads->codec, &expected,
                              (cost->wire_bytes + cost->intra_bytes) / bytes, cost);
            m->time[k] = time_of(cost, &c->item[i], m->time[k].windows);
            out->collective_s[i] += times * seconds_of(cost);
            cc_cost_add(&out->sum, cost, times);
        }
    }
    return CC_OK;
}

static int follow(const struct cc_setting *s, const struct messages *m, struct cc_sharded_step *out,
                  struct cc_error *e)
{
    struct cc_step_plan plan;
    int status = cc_step_plan_make(&s->sharded.collectives, m->units, cc_sharded_micro_steps(s),
                                   s->timing.mode == CC_OVERLAP, &plan, e);
    if (status == CC_OK)
        status = cc_sharded_time(&s->sharded.collectives, &plan, m->units, m->time, m->share,
                                 &s->timing, &out->exposed_s, &out->step_s, e);
    cc_step_plan_free(&plan);
    return status;
}

int cc_sharded_step(const struct cc_setting *s, const struct cc_step_payloads *payloads,
                    struct cc_sharded_step *out, struct cc_error *e)
{
    struct messages m = {.units = 0};
    int status = CC_OK;
    *out = (struct cc_sharded_step){.step_s = 0};
    CC_TRY_OUT(CC_NEW(m.unit, s->net->count, e));
    CC_TRY_OUT(CC_NEW(m.share, s->net->count, e));
    m.units = cc_sharded_units(s, m.unit);
    CC_TRY_OUT(m.units > 0 ? CC_OK : cc_fail(e, "%s has no tensors", s->net->name));
    for (size_t u = 0; u < m.units; u++)
        for (size_t i = m.unit[u].first; i <= m.unit[u].last; i++)
            m.share[u] += s->net->share[i];
    CC_TRY_OUT(cost_all(s, payloads, &m, out, e));
    status = follow(s, &m, out, e);
out:
    free(m.unit);
    free(m.share);
    free(m.cost);
    free(m.time);
    return status;
}

double cc_sharded_off(const struct cc_setting *s, double step_s, double codec_s)
{
    static const struct {
        double codecs, off; /* from this share of the step on */
    } overlapped[] = {{0.55, 0.22}, {0.45, 0.12}};
    const double flat = 0.17, sequential = 0.06;
    bool used[CC_COLLECTIVE_QUEUES] = {false}, by_layer = false;
    for (int i = 0; i < s->sharded.collectives.count; i++) {
        used[cc_collective_queue(&s->sharded.collectives.item[i])] = true;
        by_layer |= s->sharded.collectives.item[i].when == CC_WHEN_FORWARD;
    }
    if (!(used[0] && used[1]) && !cc_sharded_has_levels(s)) {
        const bool several =
            cc_cluster_hosts(&s->cluster) > 2 && cc_cluster_per_host(&s->cluster) > 1;
        return by_layer && several && codec_s > 0.02 * step_s ? flat : 0;
    }
    if (s->timing.mode != CC_OVERLAP)
        return codec_s > 0.5 * step_s ? sequential : 0;
    for (size_t i = 0; i < sizeof overlapped / sizeof overlapped[0]; i++)
        if (codec_s > overlapped[i].codecs * step_s)
            return overlapped[i].off;
    return 0;
}

/* --- memory --- */

/* Whether gradients add up over micro-steps before they are reduced. */
static bool adds_up(const struct cc_setting *s)
{
    bool adds = false;
    for (int i = 0; i < s->sharded.collectives.count; i++)
        adds |= s->sharded.collectives.item[i].last;
    return adds && cc_sharded_micro_steps(s) > 1;
}

/* Whether parameters that are gathered for the forward pass stay for the backward pass. */
static bool keeps_gathered(const struct cc_setting *s)
{
    bool forward = false, backward = false;
    for (int i = 0; i < s->sharded.collectives.count; i++) {
        forward |= s->sharded.collectives.item[i].when == CC_WHEN_FORWARD;
        backward |= s->sharded.collectives.item[i].when == CC_WHEN_BACKWARD;
    }
    return forward && !backward;
}

struct cc_memory cc_sharded_states(const struct cc_setting *s, enum cc_optimizer_moments moments,
                                   double residuals)
{
    const struct cc_system *of = s->system;
    const int per_host = cc_cluster_per_host(&s->cluster);
    const struct cc_memory_plan plan = {.type_bytes = (double)cc_element_bytes[s->dtype],
                                        .moments = moments,
                                        .sharding = of->sharding,
                                        .group = of->in_host ? per_host : s->cluster.workers,
                                        .residuals = residuals};
    struct cc_memory m = cc_memory_states((double)s->net->values, &plan);
    const double whole = (double)s->net->values * plan.type_bytes;
    if (adds_up(s))
        m.gradients = whole;
    if (of->secondary)
        m.parameters += whole / per_host;
    if (keeps_gathered(s))
        m.parameters += whole;
    m.total = m.parameters + m.gradients + m.optimizer + m.residuals;
    return m;
}
