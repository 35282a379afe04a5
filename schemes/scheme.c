/* Using codecs: defaults where a scheme leaves a function out, the checks that are common to all of
 * them, and residuals of 16 bits around a scheme's own encode. */
#include "schemes/scheme.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/parallel.h"
#include "schemes/plugin_call.h"
#include "schemes/residual.h"

/* The answer of a function of the scheme; a plugin's is watched (plugin_call.h). */
#define ASK(scheme, what, n, type, call)                                                           \
    __extension__({                                                                                \
        const int under_way = cc_scheme_enter(scheme, what, n);                                    \
        const type answer = (call);                                                                \
        cc_plugin_leave(under_way);                                                                \
        answer;                                                                                    \
    })

/* The size that a function of the scheme says. */
static size_t size_of(const struct cc_codec *c, const char *what,
                      size_t (*function)(const void *params, const struct cc_shape *shape))
{
    return ASK(c->scheme, what, c->shape.n, size_t, function(c->params, &c->shape));
}

size_t cc_state_bytes(const struct cc_codec *c)
{
    bool none = c->scheme->state_bytes == NULL || c->shape.n == 0;
    if (!none && cc_residual_is_narrow(c->scheme, c->params))
        return cc_residual_state_bytes(c->scheme, c->params, c->shape.n);
    return none ? 0 : size_of(c, "state_bytes", c->scheme->state_bytes);
}

double cc_entropy_bits(const struct cc_codec *c, const float *x)
{
    return c->scheme->entropy == NULL ? (double)NAN
                                      : ASK(c->scheme, "entropy", c->shape.n, double,
                                            c->scheme->entropy(c->params, x, c->shape.n));
}

/* Scratch memory of the scheme, and of a residual that is not of floats. */
static size_t own_scratch(const struct cc_codec *c)
{
    const bool none = c->scheme->scratch_bytes == NULL;
    const size_t own = none ? 0 : size_of(c, "scratch_bytes", c->scheme->scratch_bytes);
    return cc_residual_is_narrow(c->scheme, c->params) ? cc_residual_scratch_bytes(own, c->shape.n)
                                                       : own;
}

/* Whether the scheme reads gradients of 16 bits itself. */
static bool reads_halves(const struct cc_codec *c)
{
    const struct cc_scheme *s = c->scheme;
    return s->encode_from != NULL &&
           !(s->widens != NULL && ASK(s, "widens", 0, bool, s->widens(c->params)));
}

size_t cc_scratch_bytes(const struct cc_codec *c)
{
    if (c->shape.n == 0)
        return 0;
    const size_t own = own_scratch(c);
    return c->input == CC_ELEMENT_FP32 || reads_halves(c)
               ? own
               : cc_bytes_sum(cc_align_up(own), cc_float_bytes(c->shape.n));
}

size_t cc_bound(const struct cc_codec *c)
{
    return c->shape.n == 0 ? 0 : size_of(c, "bound", c->scheme->bound);
}

size_t cc_period(const struct cc_scheme *s, const void *params)
{
    return s->period == NULL ? 1 : ASK(s, "period", 0, size_t, s->period(params));
}

double cc_own_momentum(const struct cc_scheme *s, const void *params)
{
    return s->momentum == NULL ? 0 : ASK(s, "momentum", 0, double, s->momentum(params));
}

struct cc_pair_cost cc_pair_cost(const struct cc_scheme *s, const void *params)
{
    return s->pair_cost == NULL ? (struct cc_pair_cost){0}
                                : ASK(s, "pair_cost", 0, struct cc_pair_cost, s->pair_cost(params));
}

size_t cc_pairs_bound(const struct cc_codec *c)
{
    const size_t n = c->shape.n, bytes = cc_bound(c);
    const struct cc_pair_cost cost = cc_pair_cost(c->scheme, c->params);
    size_t bits, fixed;
    if (cost.pair_bits == 0)
        return 0;
    if (__builtin_mul_overflow(bytes, 8, &bits) ||
        __builtin_mul_overflow(n, cost.value_bits, &fixed) || bits < fixed)
        return n;
    const size_t most = (bits - fixed) / cost.pair_bits;
    return most < n ? most : n;
}

bool cc_sized_by_shape(const struct cc_scheme *s, const void *params)
{
    return s->sized_by_shape != NULL &&
           ASK(s, "sized_by_shape", 0, bool, s->sized_by_shape(params));
}

static size_t residual_at(const struct cc_scheme *s, const void *params,
                          const struct cc_shape *shape)
{
    return s->residual_at == NULL
               ? SIZE_MAX
               : ASK(s, "residual_at", shape->n, size_t, s->residual_at(params, shape));
}

bool cc_takes_back(const struct cc_scheme *s, const void *params)
{
    const struct cc_shape one = cc_shape_flat(1);
    return residual_at(s, params, &one) != SIZE_MAX;
}

size_t cc_sum_rounds(const struct cc_scheme *s, const void *params)
{
    if (s->rounds != NULL)
        return ASK(s, "rounds", 0, size_t, s->rounds(params));
    return s->kind == CC_SUM_F32 ? 1 : 0;
}

enum cc_reduction cc_reduction(const struct cc_scheme *s, const void *params)
{
    if (cc_sum_rounds(s, params) > 0)
        return CC_REDUCE_SUM;
    return cc_pair_cost(s, params).pair_bits > 0 ? CC_REDUCE_PAIRS : CC_REDUCE_DECODED;
}

size_t cc_round_bytes(const struct cc_codec *c, size_t round)
{
    if (c->shape.n == 0 || round >= cc_sum_rounds(c->scheme, c->params))
        return 0;
    return c->scheme->rounds == NULL ? cc_bound(c)
                                     : ASK(c->scheme, "round_bytes", c->shape.n, size_t,
                                           c->scheme->round_bytes(c->params, &c->shape, round));
}

void cc_codec_reset(const struct cc_codec *c)
{
    const size_t bytes = cc_state_bytes(c), each = c->shape.n * sizeof(float);
    const size_t streams = each > 0 && bytes % each == 0 ? bytes / each : 1;
    if (bytes > 0)
        cc_zero(c->state, streams, bytes / streams, c->threads);
    if (c->scheme->init != NULL && c->shape.n > 0)
        c->scheme->init(c);
}

static int check_room(const struct cc_codec *c, size_t cap, size_t bound, struct cc_error *e)
{
    if (cap < bound)
        return cc_fail(e, "%s: the output has room for %zu bytes; up to %zu may be needed",
                       c->scheme->id, cap, bound);
    return CC_OK;
}

static int check_runs(const struct cc_codec *c, struct cc_error *e)
{
    return cc_scheme_runs(c->scheme)
               ? CC_OK
               : cc_fail(e, "%s is known from a profile alone, and has no code", c->scheme->id);
}

struct widening {
    struct cc_elements x;
    float *out;
};

static size_t widen_range(void *arg, size_t begin, size_t end)
{
    const struct widening *w = arg;
    cc_widen(cc_elements_from(w->x, begin), end - begin, w->out + begin);
    return 0;
}

/* The values as float32, in the scratch memory behind the scheme's own. */
static struct cc_elements widened(const struct cc_codec *c, struct cc_elements x)
{
    struct widening w = {x, (void *)((char *)c->scratch + cc_align_up(own_scratch(c)))};
    (void)cc_parallel_values(c->threads, c->shape.n, CC_ALIGN, widen_range, &w);
    return cc_elements_f32(w.out);
}

int cc_encode_from(const struct cc_codec *c, const struct cc_context *ctx, struct cc_elements x,
                   uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    if (c->shape.n == 0) {
        *len = 0;
        return CC_OK;
    }
    CC_TRY(check_runs(c, e));
    CC_TRY(check_room(c, cap, cc_bound(c), e));
    if (x.type != CC_ELEMENT_FP32 && x.type != c->input)
        return cc_fail(e, "%s: a gradient of %s, and the codec is for %s", c->scheme->id,
                       cc_element_names[x.type], cc_element_names[c->input]);
    if (x.type != CC_ELEMENT_FP32 && !reads_halves(c))
        x = widened(c, x);
    if (cc_residual_is_narrow(c->scheme, c->params))
        return cc_residual_encode(c, ctx, x, out, cap, len, e);
    return cc_scheme_encode(c, ctx, x, out, cap, len, e);
}

int cc_encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x, uint8_t *out,
              size_t cap, size_t *len, struct cc_error *e)
{
    return cc_encode_from(c, ctx, cc_elements_f32(x), out, cap, len, e);
}

int cc_decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in, size_t len,
              float *y, struct cc_error *e)
{
    if (c->shape.n == 0)
        return len == 0 ? CC_OK : cc_bad_length(len, 0, e);
    CC_TRY(check_runs(c, e));
    return c->scheme->decode(c, ctx, in, len, NULL, y, e);
}

int cc_decode_add(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, float scale, float *y, struct cc_error *e)
{
    if (c->shape.n == 0)
        return len == 0 ? CC_OK : cc_bad_length(len, 0, e);
    CC_TRY(check_runs(c, e));
    return c->scheme->decode(c, ctx, in, len, &scale, y, e);
}

int cc_to_pairs(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                size_t len, uint32_t base, struct cc_index_value *out, size_t cap, size_t *count,
                struct cc_error *e)
{
    *count = 0;
    if (cc_pair_cost(c->scheme, c->params).pair_bits == 0)
        return cc_fail(e, "%s: its payloads are not index-value pairs, but must be decoded",
                       c->scheme->id);
    if (c->shape.n > (UINT64_C(1) << 32) - base)
        return cc_fail(e, "%s: %zu values from index %lu on; pairs have indices below 2^32 only",
                       c->scheme->id, c->shape.n, (unsigned long)base);
    if (c->shape.n == 0)
        return len == 0 ? CC_OK : cc_bad_length(len, 0, e);
    return c->scheme->to_pairs(c, ctx, in, len, base, out, cap, count, e);
}

/* Sets *any to whether the round has work to do; CC_FAIL for schemes without rounds. */
static int check_round(const struct cc_codec *c, size_t round, bool *any, struct cc_error *e)
{
    size_t rounds = cc_sum_rounds(c->scheme, c->params);
    *any = round < rounds && c->shape.n > 0;
    return rounds > 0 ? CC_OK
                      : cc_fail(e, "%s: its payloads cannot be summed, but must be decoded",
                                c->scheme->id);
}

int cc_encode_round(const struct cc_codec *c, const struct cc_context *ctx, size_t round,
                    const float *x, uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    bool any;
    CC_TRY(check_round(c, round, &any, e));
    if (c->scheme->rounds == NULL && any)
        return cc_encode(c, ctx, x, out, cap, len, e);
    *len = 0;
    if (!any)
        return CC_OK;
    CC_TRY(check_room(c, cap, cc_round_bytes(c, round), e));
    return c->scheme->encode_round(c, ctx, round, x, out, cap, len, e);
}

int cc_absorb(const struct cc_codec *c, const struct cc_context *ctx, size_t round,
              const uint8_t *in, size_t len, float scale, float *y, struct cc_error *e)
{
    bool any;
    CC_TRY(check_round(c, round, &any, e));
    if (!any)
        return len == 0 ? CC_OK : cc_bad_length(len, 0, e);
    if (c->scheme->rounds == NULL)
        return cc_decode_add(c, ctx, in, len, scale, y, e);
    return c->scheme->absorb(c, ctx, round, in, len, scale, y, e);
}

void cc_give_back(const struct cc_codec *c, uint32_t base, const struct cc_index_value *pair,
                  size_t count)
{
    if (cc_residual_is_narrow(c->scheme, c->params)) {
        cc_residual_give_back(c, base, pair, count);
        return;
    }
    float *residual = (void *)((char *)c->state + residual_at(c->scheme, c->params, &c->shape));
    for (size_t i = 0; i < count; i++)
        residual[pair[i].index - base] += pair[i].value;
}
