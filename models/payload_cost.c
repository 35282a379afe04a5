/* Payload costs, from codec models or from measurements. In a scheme with a period, a codec model
 * has means over the period: the sending step has `period` times the mean's bytes, while the
 * encoder works equally in every step. */
#include "models/payload_cost.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "models/place.h"

struct cc_codec_model cc_codec_model_given(const char *scheme, enum cc_reduction reduction,
                                           double bits_per_value, double encode_ns,
                                           double decode_ns, double decode_add_ns)
{
    struct cc_profile_point p = {.bits_per_value = bits_per_value,
                                 .encode_ns = encode_ns,
                                 .decode_ns = decode_ns,
                                 .decode_add_ns = decode_add_ns};
    return (struct cc_codec_model){.scheme = scheme,
                                   .reduction = reduction,
                                   .push_point = p,
                                   .pull_point = p,
                                   .pair_bits = 64};
}

/* Writes "fp32, int8, 3lc", cut off if it is too long. */
static void list_schemes(const struct cc_profile *p, char *out, size_t cap)
{
    out[0] = '\0';
    for (size_t i = 0; i < p->codecs; i++) {
        const char *name = p->codec[i].scheme;
        if (strlen(out) + strlen(name) + 6 > cap) {
            cc_append(out, cap, " ...");
            return;
        }
        cc_list_add(out, cap, ", ", "%s", name);
    }
}

int cc_codec_model_profiled(const struct cc_profile *p, const char *scheme,
                            enum cc_reduction reduction, struct cc_codec_model *out,
                            struct cc_error *e)
{
    const struct cc_profile_codec *codec = cc_profile_find(p, scheme);
    char list[256];
    if (codec == NULL) {
        list_schemes(p, list, sizeof list);
        return cc_fail(e,
                       "the profile has no %.100s: it has %s; measure it with `commcomp bench "
                       "--scheme %.100s --profile-out FILE`",
                       scheme, list, scheme);
    }
    *out = (struct cc_codec_model){
        .scheme = scheme, .reduction = reduction, .push = codec, .pull = codec, .pair_bits = 64};
    return CC_OK;
}

/* The size for a number of workers, at least 1: between two points it is linear in the logarithm of
 * the number, and more workers than CC_SUM_WORKERS have the size of these. */
static double sum_size(const double size[CC_SUM_POINTS], int workers)
{
    int point = 0, power = 1;
    if (workers >= CC_SUM_WORKERS)
        return size[CC_SUM_POINTS - 1];
    while (2 * power <= workers) {
        power *= 2;
        point++;
    }
    return size[point] + (size[point + 1] - size[point]) * log2((double)workers / power);
}

double cc_pull_bytes(const struct cc_payload_cost *p, int workers)
{
    return p->pull_bytes + sum_size(p->more.pull, workers);
}

double cc_hop_bytes(const struct cc_payload_cost *p, int workers)
{
    return p->push_bytes + sum_size(p->more.hop, workers);
}

static struct cc_profile_point at(const struct cc_profile_codec *codec,
                                  const struct cc_profile_point *given, double values)
{
    return codec != NULL ? cc_profile_at(codec, values) : *given;
}

/* The cost of the net's tensor number `tensor` in the sending step. */
static struct cc_payload_cost sending_step(const struct cc_codec_model *c, size_t tensor,
                                           const struct cc_shape *shape)
{
    double values = (double)shape->n;
    double period = c->period > 1 ? (double)c->period : 1;
    struct cc_profile_point push = at(c->push, &c->push_point, values);
    struct cc_profile_point pull = at(c->pull, &c->pull_point, values);
    if (c->tensor_bits != NULL) {
        push.bits_per_value = c->tensor_bits[tensor];
        pull.bits_per_value = c->pull == c->push ? push.bits_per_value : pull.bits_per_value;
    }
    const double sum_ns = c->sum != NULL ? cc_profile_at(c->sum, values).encode_ns : push.encode_ns;
    if (c->sum != NULL && c->pull == c->push)
        pull.encode_ns = sum_ns;
    struct cc_profile_point inner = push;
    struct cc_payload_cost p = {
        .values = values,
        .push_bytes = period * values * push.bits_per_value / 8,
        .pull_bytes = period * values * pull.bits_per_value / 8,
        .push_encode_s = 1e-9 * values * push.encode_ns,
        .sum_more_s = 1e-9 * values * (sum_ns - push.encode_ns),
        .push_decode_s = 1e-9 * period * values * push.decode_ns,
        .push_add_s = 1e-9 * period * values * push.decode_add_ns,
        .pull_encode_s = 1e-9 * period * values * pull.encode_ns,
        .pull_decode_s = 1e-9 * period * values * pull.decode_ns,
    };
    if (c->inner != NULL)
        inner = cc_profile_at(c->inner, values);
    p.inner_bytes = period * values * inner.bits_per_value / 8;
    p.inner_encode_s = 1e-9 * values * inner.encode_ns;
    p.inner_add_s = 1e-9 * period * values * inner.decode_add_ns;
    if (c->verbatim)
        p.verbatim = values;
    for (int i = 0; i < CC_SUM_POINTS && c->tensor_sums != NULL; i++) {
        const struct cc_sum_sizes *bits = &c->tensor_sums[tensor];
        const double bytes = period * values / 8;
        p.more.hop[i] = bytes * (bits->hop[i] - push.bits_per_value);
        p.more.pull[i] = c->pull == c->push ? bytes * (bits->pull[i] - pull.bits_per_value) : 0;
    }
    if (c->shape_bytes != NULL)
        p.push_bytes = p.pull_bytes = c->shape_bytes(c->shape_arg, shape);
    if (c->inner == NULL)
        p.inner_bytes = p.push_bytes;
    if (c->reduction == CC_REDUCE_PAIRS)
        p.pairs = fmax(0, fmin(values, (8 * p.push_bytes - c->value_bits * values) / c->pair_bits));
    return p;
}

/* A tensor's cost in a step that only encodes. */
static struct cc_payload_cost silent_step(const struct cc_payload_cost *p)
{
    return (struct cc_payload_cost){.values = p->values,
                                    .push_encode_s = p->push_encode_s,
                                    .inner_encode_s = p->inner_encode_s};
}

void cc_payload_cost_hurry(struct cc_payload_cost *c, double speed)
{
    c->push_encode_s /= speed;
    c->push_decode_s /= speed;
    c->push_add_s /= speed;
    c->sum_more_s /= speed;
    c->pull_encode_s /= speed;
    c->pull_decode_s /= speed;
    c->inner_encode_s /= speed;
    c->inner_add_s /= speed;
}

/* All of a cost are doubles. */
void cc_payload_cost_add(struct cc_payload_cost *sum, const struct cc_payload_cost *p)
{
    double *to = (double *)sum;
    const double *part = (const double *)p;
    for (size_t i = 0; i < sizeof *p / sizeof *part; i++)
        to[i] += part[i];
}

void cc_payload_cost_scale(struct cc_payload_cost *c, double by)
{
    double *of = (double *)c;
    for (size_t i = 0; i < sizeof *c / sizeof *of; i++)
        of[i] *= by;
}

int cc_raw_tensors(const double *size, size_t count, size_t min_size, double share, bool *raw,
                   double *is, struct cc_error *e)
{
    double all = 0, taken = 0;
    size_t *order;
    CC_TRY(CC_NEW(order, count, e));
    for (size_t i = 0; i < count; i++) {
        raw[i] = size[i] < (double)min_size;
        taken += raw[i] ? size[i] : 0;
        all += size[i];
    }
    cc_by_size(size, count, order);
    for (size_t k = 0; k < count; k++) {
        size_t i = order[k];
        if (raw[i] || taken + size[i] > share * all)
            continue;
        raw[i] = true;
        taken += size[i];
    }
    *is = all > 0 ? taken / all : 0;
    free(order);
    return CC_OK;
}

static int alloc_payloads(size_t count, struct cc_step_payloads *p, struct cc_error *e)
{
    p->count = count;
    CC_TRY(CC_NEW(p->each, 2 * count, e));
    p->silent = p->each + count;
    if (CC_NEW(p->cut_bytes, count, e) == CC_OK)
        return CC_OK;
    free(p->each);
    return CC_FAIL;
}

static void add_up(struct cc_step_payloads *p)
{
    for (size_t i = 0; i < p->count; i++) {
        cc_payload_cost_add(&p->total, &p->each[i]);
        cc_payload_cost_add(&p->silent_total, &p->silent[i]);
    }
}

int cc_step_payloads_make(const struct cc_net *net, const struct cc_codec_model *codec_model,
                          const struct cc_codec_model *floats, const bool *raw,
                          struct cc_step_payloads *out, struct cc_error *e)
{
    struct cc_step_payloads p = {.period = codec_model->period > 1 ? codec_model->period : 1,
                                 .sum_rounds =
                                     codec_model->sum_rounds > 1 ? codec_model->sum_rounds : 1,
                                 .reduction = codec_model->reduction,
                                 .scheme = codec_model->scheme};
    CC_TRY(alloc_payloads(net->count, &p, e));
    for (size_t i = 0; i < net->count; i++) {
        const struct cc_shape *shape = &net->tensors[i].shape;
        bool is_raw = raw != NULL && raw[i];
        p.each[i] = sending_step(is_raw ? floats : codec_model, i, shape);
        /* Among pairs, each float counts as a pair. */
        if (is_raw && codec_model->reduction == CC_REDUCE_PAIRS)
            p.each[i].pairs = (double)shape->n;
        p.silent[i] = is_raw ? p.each[i] : silent_step(&p.each[i]);
        p.cut_bytes[i] = p.each[i].push_bytes;
    }
    add_up(&p);
    *out = p;
    return CC_OK;
}

/* --- measured costs --- */

/* The raw tensors together: their bytes are those of the prediction. */
struct raw_sum {
    double values, bytes;
};

/* Mean payload bytes per step of a tensor that is not raw: as counted, or else its part of the
 * total without the raw tensors, by size. */
static double tensor_bytes(const struct cc_net *net, const struct raw_sum *raw,
                           const double *counted, double total, size_t i)
{
    const double values = (double)net->tensors[i].shape.n;
    const double others = (double)net->values - raw->values;
    return counted != NULL ? counted[i] : fmax(0, total - raw->bytes) * values / others;
}

/* Partial sums of a measured payload: in proportion to it as in the prediction. */
static void measured_sums(const struct cc_step_payloads *profiled, const struct cc_measured *m,
                          double bytes, struct cc_payload_cost *out)
{
    const struct cc_payload_cost *total = &profiled->total;
    if (m->encoded_bytes > 0 && m->pull_bytes == 0) /* no servers: of a scheme of sums */
        out->pull_bytes += bytes * total->pull_bytes / m->encoded_bytes;
    if (m->encoded_bytes > 0)
        out->inner_bytes = bytes * total->inner_bytes / m->encoded_bytes;
    for (int i = 0; i < CC_SUM_POINTS && m->encoded_bytes > 0; i++)
        out->more.hop[i] =
            bytes * ((total->push_bytes + total->more.hop[i]) / m->encoded_bytes - 1);
}

int cc_step_payloads_measured(const struct cc_net *net, const struct cc_step_payloads *profiled,
                              const bool *raw, const struct cc_measured *m,
                              struct cc_step_payloads *out, struct cc_error *e)
{
    struct cc_step_payloads p = *profiled;
    const double period = (double)p.period, count = (double)net->count;
    struct raw_sum raw_sum = {0, 0};
    p.total = p.silent_total = (struct cc_payload_cost){0};
    p.measured = true;
    p.codec = m->codec;
    CC_TRY(alloc_payloads(net->count, &p, e));
    for (size_t i = 0; raw != NULL && i < net->count; i++) {
        raw_sum.values += raw[i] ? (double)net->tensors[i].shape.n : 0;
        raw_sum.bytes += raw[i] ? profiled->each[i].push_bytes : 0;
    }
    for (size_t i = 0; i < net->count; i++) {
        bool is_raw = raw != NULL && raw[i];
        double push = is_raw ? profiled->each[i].push_bytes
                             : tensor_bytes(net, &raw_sum, m->tensor_push, m->push_bytes, i);
        double pull = is_raw ? profiled->each[i].push_bytes
                             : tensor_bytes(net, &raw_sum, m->tensor_pull, m->pull_bytes, i);
        /* One step sends all of the period's bytes. */
        double times = is_raw ? 1 : period;
        p.silent[i] = (struct cc_payload_cost){.values = profiled->each[i].values,
                                               .push_bytes = is_raw ? push : 0,
                                               .inner_bytes = is_raw ? push : 0,
                                               .pull_bytes = is_raw ? pull : 0};
        p.each[i] = (struct cc_payload_cost){
            .values = profiled->each[i].values,
            .pairs = profiled->each[i].pairs,
            .verbatim = profiled->each[i].verbatim,
            .push_bytes = times * push + period * m->push_head_bytes / count,
            .inner_bytes = times * push + period * m->push_head_bytes / count,
            .pull_bytes = times * pull + period * m->pull_head_bytes / count,
            /* These tell which share of the measured times other messages hide. */
            .push_encode_s = profiled->each[i].push_encode_s,
            .push_decode_s = profiled->each[i].push_decode_s,
            .push_add_s = profiled->each[i].push_add_s,
            .sum_more_s = profiled->each[i].sum_more_s,
            .pull_encode_s = profiled->each[i].pull_encode_s,
            .pull_decode_s = profiled->each[i].pull_decode_s,
            .inner_encode_s = profiled->each[i].inner_encode_s,
            .inner_add_s = profiled->each[i].inner_add_s};
        if (!is_raw)
            measured_sums(profiled, m, times * push, &p.each[i]);
        p.cut_bytes[i] = profiled->cut_bytes[i];
    }
    add_up(&p);
    *out = p;
    return CC_OK;
}

void cc_step_payloads_free(struct cc_step_payloads *p)
{
    free(p->each);
    free(p->cut_bytes);
    *p = (struct cc_step_payloads){0};
}
