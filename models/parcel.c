#include "models/parcel.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

struct cc_coder cc_coder_given(const char *scheme, enum cc_reduction reduction,
                               double bits_per_value, double encode_ns, double decode_ns,
                               double decode_add_ns)
{
    struct cc_profile_point p = {.bits_per_value = bits_per_value,
                                 .encode_ns = encode_ns,
                                 .decode_ns = decode_ns,
                                 .decode_add_ns = decode_add_ns};
    return (struct cc_coder){.scheme = scheme,
                             .reduction = reduction,
                             .push_point = p,
                             .pull_point = p,
                             .pair_bits = 64};
}

/* "fp32, int8, 3lc" as far as it fits. */
static void list_schemes(const struct cc_profile *p, char *out, size_t cap)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < p->codecs && used < cap; i++) {
        const char *name = p->codec[i].scheme;
        if (used + strlen(name) + 6 > cap) {
            (void)snprintf(out + used, cap - used, " ...");
            return;
        }
        used += (size_t)snprintf(out + used, cap - used, "%s%s", i == 0 ? "" : ", ", name);
    }
}

int cc_coder_profiled(const struct cc_profile *p, const char *scheme, enum cc_reduction reduction,
                      struct cc_coder *out, struct cc_error *e)
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
    *out = (struct cc_coder){
        .scheme = scheme, .reduction = reduction, .push = codec, .pull = codec, .pair_bits = 64};
    return CC_OK;
}

static struct cc_profile_point at(const struct cc_profile_codec *codec,
                                  const struct cc_profile_point *given, double values)
{
    return codec != NULL ? cc_profile_at(codec, values) : *given;
}

/* Of the step that sends: what is sent in one step of `period` is that many times the mean; the
 * encoder works in every step. */
static struct cc_parcel parcel(const struct cc_coder *c, const struct cc_shape *shape)
{
    double values = (double)shape->n;
    double period = c->period > 1 ? (double)c->period : 1;
    struct cc_profile_point push = at(c->push, &c->push_point, values);
    struct cc_profile_point pull = at(c->pull, &c->pull_point, values);
    struct cc_parcel p = {
        .values = values,
        .push_bytes = period * values * push.bits_per_value / 8,
        .pull_bytes = period * values * pull.bits_per_value / 8,
        .push_encode_s = 1e-9 * values * push.encode_ns,
        .push_decode_s = 1e-9 * period * values * push.decode_ns,
        .push_add_s = 1e-9 * period * values * push.decode_add_ns,
        .pull_encode_s = 1e-9 * period * values * pull.encode_ns,
        .pull_decode_s = 1e-9 * period * values * pull.decode_ns,
    };
    if (c->shape_bytes != NULL)
        p.push_bytes = p.pull_bytes = c->shape_bytes(c->shape_arg, shape);
    if (c->reduction == CC_REDUCE_PAIRS)
        p.pairs = fmax(0, fmin(values, (8 * p.push_bytes - c->value_bits * values) / c->pair_bits));
    return p;
}

/* Of a step that only encodes. */
static struct cc_parcel silent(const struct cc_parcel *p)
{
    return (struct cc_parcel){.values = p->values, .push_encode_s = p->push_encode_s};
}

void cc_parcel_add(struct cc_parcel *sum, const struct cc_parcel *p)
{
    sum->values += p->values;
    sum->push_bytes += p->push_bytes;
    sum->pull_bytes += p->pull_bytes;
    sum->pairs += p->pairs;
    sum->push_encode_s += p->push_encode_s;
    sum->push_decode_s += p->push_decode_s;
    sum->push_add_s += p->push_add_s;
    sum->pull_encode_s += p->pull_encode_s;
    sum->pull_decode_s += p->pull_decode_s;
}

int cc_parcels_make(const struct cc_net *net, const struct cc_coder *coder,
                    const struct cc_coder *raw, size_t min_size, struct cc_parcels *out,
                    struct cc_error *e)
{
    struct cc_parcels p = {.count = net->count,
                           .period = coder->period > 1 ? coder->period : 1,
                           .sum_rounds = coder->sum_rounds > 1 ? coder->sum_rounds : 1,
                           .reduction = coder->reduction,
                           .scheme = coder->scheme};
    p.each = cc_alloc0(2 * net->count * sizeof *p.each, e);
    if (p.each == NULL)
        return CC_FAIL;
    p.quiet = p.each + net->count;
    for (size_t i = 0; i < net->count; i++) {
        const struct cc_shape *shape = &net->tensors[i].shape;
        bool small = shape->n < min_size;
        p.each[i] = parcel(small ? raw : coder, shape);
        /* Floats among pairs: a pair each. */
        if (small && coder->reduction == CC_REDUCE_PAIRS)
            p.each[i].pairs = (double)shape->n;
        p.quiet[i] = small ? p.each[i] : silent(&p.each[i]);
        cc_parcel_add(&p.total, &p.each[i]);
        cc_parcel_add(&p.quiet_total, &p.quiet[i]);
    }
    *out = p;
    return CC_OK;
}

void cc_parcels_free(struct cc_parcels *p)
{
    free(p->each);
    *p = (struct cc_parcels){0};
}
