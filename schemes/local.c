/* local: a wrapper that sends the sum of the gradients of `every` steps through another scheme, and
 * nothing in the steps between (silent steps).
 *
 * The state is the running sum, n floats, then the inner scheme's state. Every step adds its
 * gradient to the sum; in steps with (step + 1) mod every = 0 the inner scheme encodes the sum,
 * keeping its own residual, and the sum becomes 0. Payloads of silent steps are empty and decode to
 * zeros.
 *
 * local can do with its payload whatever the inner scheme can: pairs, rounds, sizes by shape
 * are all passed on. Inner schemes may be silent themselves (another local); the pattern then
 * repeats after the least common multiple of both periods.
 *
 * Source: 3LC, section 4.2 ("2 local steps"); McMahan et al., AISTATS 2017. The sum of gradients is
 * sent here, not a model that was trained in between. */
#include <string.h>

#include "core/memory.h"
#include "core/parallel.h"
#include "schemes/accumulate.h"
#include "schemes/residual.h"
#include "schemes/scheme.h"
#include "schemes/spec.h"

/* A longer period of nested local schemes is taken for a mistake. */
#define MAX_PERIOD 1000000000

struct params {
    int64_t every;
    struct cc_spec *inner;
};

static const struct cc_param table[] = {
    CC_PARAM_INT(struct params, every, 2, 1, 1e6, "steps", "send once in this many steps"),
    {.name = "inner",
     .help = "the scheme for what is sent, as in inner=(3lc:s=1.75)",
     .unit = "",
     .nested_default = "fp32",
     .offset = offsetof(struct params, inner),
     .type = CC_NESTED},
    {.name = NULL},
};

static size_t gcd(size_t a, size_t b)
{
    while (b != 0) {
        size_t remainder = a % b;
        a = b;
        b = remainder;
    }
    return a;
}

static size_t period(const void *params)
{
    const struct params *p = params;
    size_t every = (size_t)p->every, inner = cc_period(p->inner->scheme, p->inner->params);
    return every / gcd(every, inner) * inner;
}

/* The inner scheme passed its own check, so that neither factor exceeds MAX_PERIOD. */
static int check(const void *params, struct cc_error *e)
{
    const struct params *p = params;
    if (period(params) > MAX_PERIOD)
        return cc_usage(e,
                        "every=%lld with inner=%s: what is sent would repeat only after more than "
                        "%d steps; choose multiples of one another",
                        (long long)p->every, p->inner->name, MAX_PERIOD);
    return CC_OK;
}

/* The sum comes first in the state, the inner scheme's state after it. */
static size_t sum_bytes(const struct cc_shape *shape)
{
    return cc_align_up(shape->n * sizeof(float));
}

static struct cc_codec inner_codec(const struct cc_codec *c)
{
    const struct params *p = c->params;
    struct cc_codec inner = {.scheme = p->inner->scheme,
                             .params = p->inner->params,
                             .shape = c->shape,
                             .scratch = c->scratch,
                             .threads = c->threads};
    if (c->state != NULL && cc_state_bytes(&inner) > 0)
        inner.state = (char *)c->state + sum_bytes(&c->shape);
    return inner;
}

static size_t bound(const void *params, const struct cc_shape *shape)
{
    const struct cc_spec *inner = ((const struct params *)params)->inner;
    return inner->scheme->bound(inner->params, shape);
}

static size_t state_bytes(const void *params, const struct cc_shape *shape)
{
    struct cc_codec c = {.params = params, .shape = *shape};
    struct cc_codec inner = inner_codec(&c);
    return sum_bytes(shape) + cc_state_bytes(&inner);
}

static size_t scratch_bytes(const void *params, const struct cc_shape *shape)
{
    struct cc_codec c = {.params = params, .shape = *shape};
    struct cc_codec inner = inner_codec(&c);
    return cc_scratch_bytes(&inner);
}

static void init(const struct cc_codec *c)
{
    memset(c->state, 0, sum_bytes(&c->shape));
    struct cc_codec inner = inner_codec(c);
    cc_codec_reset(&inner);
}

static bool is_silent(const struct cc_codec *c, const struct cc_context *ctx)
{
    const struct params *p = c->params;
    return (ctx->step + 1) % (uint64_t)p->every != 0;
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    float *sum = c->state;
    CC_TRY(cc_accumulate_all(ctx, x, sum, c->shape.n, c->threads, e));
    *len = 0;
    if (is_silent(c, ctx))
        return CC_OK;
    struct cc_codec inner = inner_codec(c);
    CC_TRY(cc_encode(&inner, ctx, sum, out, cap, len, e));
    cc_zero(sum, 1, c->shape.n * sizeof *sum, c->threads);
    return CC_OK;
}

static int refuse_unexpected(const struct cc_context *ctx, size_t len, struct cc_error *e)
{
    return cc_bad_payload(0, e, "%zu bytes, but nothing is sent in step %llu", len,
                          (unsigned long long)ctx->step);
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    if (is_silent(c, ctx)) {
        if (len > 0)
            return refuse_unexpected(ctx, len, e);
        if (scale == NULL)
            cc_zero(y, 1, c->shape.n * sizeof *y, c->threads);
        return CC_OK;
    }
    struct cc_codec inner = inner_codec(c);
    return scale == NULL ? cc_decode(&inner, ctx, in, len, y, e)
                         : cc_decode_add(&inner, ctx, in, len, *scale, y, e);
}

static struct cc_pair_cost pair_cost(const void *params)
{
    const struct params *p = params;
    return cc_pair_cost(p->inner->scheme, p->inner->params);
}

static int to_pairs(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                    size_t len, uint32_t base, struct cc_index_value *out, size_t cap,
                    size_t *count, struct cc_error *e)
{
    if (is_silent(c, ctx))
        return len > 0 ? refuse_unexpected(ctx, len, e) : CC_OK;
    struct cc_codec inner = inner_codec(c);
    return cc_to_pairs(&inner, ctx, in, len, base, out, cap, count, e);
}

/* The inner scheme's, if that is one of floats: what it has sent in vain was a part of a sum that
 * has left. */
static size_t residual_at(const void *params, const struct cc_shape *shape)
{
    const struct cc_spec *inner = ((const struct params *)params)->inner;
    if (!cc_takes_back(inner->scheme, inner->params) ||
        cc_residual_is_narrow(inner->scheme, inner->params))
        return SIZE_MAX;
    return sum_bytes(shape) + inner->scheme->residual_at(inner->params, shape);
}

static bool sized_by_shape(const void *params)
{
    const struct params *p = params;
    return cc_sized_by_shape(p->inner->scheme, p->inner->params);
}

/* --- rounds: those of the inner scheme; the sum stays until the last of them --- */

static size_t rounds(const void *params)
{
    const struct params *p = params;
    return cc_sum_rounds(p->inner->scheme, p->inner->params);
}

static size_t round_bytes(const void *params, const struct cc_shape *shape, size_t round)
{
    struct cc_codec c = {.params = params, .shape = *shape};
    struct cc_codec inner = inner_codec(&c);
    return cc_round_bytes(&inner, round);
}

static int encode_round(const struct cc_codec *c, const struct cc_context *ctx, size_t round,
                        const float *x, uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    float *sum = c->state;
    if (round == 0)
        CC_TRY(cc_accumulate_all(ctx, x, sum, c->shape.n, c->threads, e));
    *len = 0;
    if (is_silent(c, ctx))
        return CC_OK;
    struct cc_codec inner = inner_codec(c);
    CC_TRY(cc_encode_round(&inner, ctx, round, sum, out, cap, len, e));
    if (round + 1 == rounds(c->params))
        cc_zero(sum, 1, c->shape.n * sizeof *sum, c->threads);
    return CC_OK;
}

static int absorb(const struct cc_codec *c, const struct cc_context *ctx, size_t round,
                  const uint8_t *in, size_t len, float scale, float *y, struct cc_error *e)
{
    if (is_silent(c, ctx))
        return len > 0 ? refuse_unexpected(ctx, len, e) : CC_OK;
    struct cc_codec inner = inner_codec(c);
    return cc_absorb(&inner, ctx, round, in, len, scale, y, e);
}

const struct cc_scheme cc_scheme_local = {
    .id = "local",
    .title = "several local steps, then another scheme",
    .reference = "3LC, section 4.2 (2 local steps); McMahan et al., AISTATS 2017",
    .layout = "empty, or the inner scheme's when (step + 1) mod every = 0",
    .flags = CC_LOSSY | CC_FEEDBACK,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .check = check,
    .period = period,
    .bound = bound,
    .sized_by_shape = sized_by_shape,
    .state_bytes = state_bytes,
    .scratch_bytes = scratch_bytes,
    .init = init,
    .encode = encode,
    .decode = decode,
    .pair_cost = pair_cost,
    .to_pairs = to_pairs,
    .residual_at = residual_at,
    .rounds = rounds,
    .round_bytes = round_bytes,
    .encode_round = encode_round,
    .absorb = absorb,
};
