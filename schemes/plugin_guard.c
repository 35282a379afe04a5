/* Each guarded function gives the plugin a codec with its own descriptor: a plugin may compare it.
 * A promise that does not hold is told with the plugin, the function, the tensor and the step. */
#include "schemes/plugin_guard.h"

#include <math.h>
#include <stdatomic.h>

static atomic_bool timed;

void cc_plugin_timed(bool on)
{
    atomic_store_explicit(&timed, on, memory_order_relaxed);
}

static const struct cc_plugin *plugin_of(const struct cc_codec *c)
{
    const char *guarded = (const void *)c->scheme;
    return (const void *)(guarded - offsetof(struct cc_plugin, guarded));
}

static struct cc_codec own_codec(const struct cc_codec *c)
{
    struct cc_codec own = *c;
    own.scheme = plugin_of(c)->own;
    return own;
}

static int enter(const struct cc_codec *c, const char *what)
{
    return cc_scheme_enter(c->scheme, what, c->shape.n);
}

int cc_plugin_check_length(const struct cc_codec *c, size_t len, size_t most, struct cc_error *e)
{
    const struct cc_scheme *s = c->scheme;
    if (len > most)
        return cc_fail(e, "a payload of %zu bytes, of which %zu are the most that it promises", len,
                       most);
    /* In steps that send nothing a payload of floats is empty. */
    const bool empty = len == 0 && cc_period(s, c->params) > 1;
    if (s->kind == CC_SUM_F32 && len != most && !empty)
        return cc_fail(e, "a payload of %zu bytes: one that can be summed (CC_SUM_F32) has %zu",
                       len, most);
    return CC_OK;
}

/* The first value that is not finite; n if all are. Sums of products with 0 are vectorized, and
 * NaN if there is one. */
static size_t not_finite(const float *y, size_t n)
{
    enum { LANES = 16 };
    float sum[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            sum[k] += y[i + k] * 0.0F;
    for (; i < n; i++)
        sum[0] += y[i] * 0.0F;
    for (size_t k = 1; k < LANES; k++)
        sum[0] += sum[k];
    if (sum[0] == 0)
        return n;
    for (i = 0; i < n && isfinite(y[i]); i++)
        continue;
    return i;
}

int cc_plugin_check_values(const float *y, size_t n, struct cc_error *e)
{
    const size_t at = not_finite(y, n);
    return at == n ? CC_OK
                   : cc_fail(e, "%s at index %zu", isnan(y[at]) ? "a NaN" : "an infinity", at);
}

/* The end of a call: the plugin's own failure passes, one of a promise is told with its place. */
static int judge(const struct cc_codec *c, const struct cc_context *ctx, const char *what, int own,
                 int promise, struct cc_error *e)
{
    if (own != CC_OK || promise == CC_OK)
        return own;
    cc_error_in(e, "%s: its %s breaks a promise: tensor '%s', step %llu", plugin_of(c)->path, what,
                ctx->name != NULL ? ctx->name : "?", (unsigned long long)ctx->step);
    return CC_FAIL;
}

/* --- the functions --- */

static int encode_from(const struct cc_codec *c, const struct cc_context *ctx, struct cc_elements x,
                       uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    const struct cc_codec own = own_codec(c);
    const int call = enter(c, "encode");
    *len = 0;
    const int status = cc_scheme_encode(&own, ctx, x, out, cap, len, e);
    cc_plugin_leave(call);
    return judge(c, ctx, "encode", status,
                 status == CC_OK ? cc_plugin_check_length(c, *len, cc_bound(c), e) : CC_OK, e);
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    return encode_from(c, ctx, cc_elements_f32(x), out, cap, len, e);
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    const struct cc_codec own = own_codec(c);
    const int call = enter(c, "decode");
    const int status = own.scheme->decode(&own, ctx, in, len, scale, y, e);
    cc_plugin_leave(call);
    const bool look = status == CC_OK && !atomic_load_explicit(&timed, memory_order_relaxed);
    return judge(c, ctx, "decode", status, look ? cc_plugin_check_values(y, c->shape.n, e) : CC_OK,
                 e);
}

static int to_pairs(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                    size_t len, uint32_t base, struct cc_index_value *out, size_t cap,
                    size_t *count, struct cc_error *e)
{
    const struct cc_codec own = own_codec(c);
    const int call = enter(c, "to_pairs");
    const int status = own.scheme->to_pairs(&own, ctx, in, len, base, out, cap, count, e);
    cc_plugin_leave(call);
    int promise = CC_OK;
    if (status == CC_OK && *count > cap)
        promise = cc_fail(e, "%zu pairs where there is room for %zu", *count, cap);
    for (size_t i = 0; status == CC_OK && promise == CC_OK && i < *count; i++)
        if (out[i].index < base || out[i].index - base >= c->shape.n ||
            (i > 0 && out[i].index <= out[i - 1].index) || !isfinite(out[i].value))
            promise =
                cc_fail(e,
                        "pair %zu, index %lu: indices ascend from %lu and are below %zu more, "
                        "and values are finite",
                        i, (unsigned long)out[i].index, (unsigned long)base, c->shape.n);
    return judge(c, ctx, "to_pairs", status, promise, e);
}

static int encode_round(const struct cc_codec *c, const struct cc_context *ctx, size_t round,
                        const float *x, uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    const struct cc_codec own = own_codec(c);
    const size_t want = cc_round_bytes(c, round);
    const int call = enter(c, "encode_round");
    *len = 0;
    const int status = own.scheme->encode_round(&own, ctx, round, x, out, cap, len, e);
    cc_plugin_leave(call);
    const bool empty = *len == 0 && cc_period(c->scheme, c->params) > 1;
    return judge(c, ctx, "encode_round", status,
                 status == CC_OK && *len != want && !empty
                     ? cc_fail(e, "%zu bytes for round %zu, which has %zu", *len, round, want)
                     : CC_OK,
                 e);
}

static int absorb(const struct cc_codec *c, const struct cc_context *ctx, size_t round,
                  const uint8_t *in, size_t len, float scale, float *y, struct cc_error *e)
{
    const struct cc_codec own = own_codec(c);
    const int call = enter(c, "absorb");
    const int status = own.scheme->absorb(&own, ctx, round, in, len, scale, y, e);
    cc_plugin_leave(call);
    const bool look = status == CC_OK && !atomic_load_explicit(&timed, memory_order_relaxed);
    return judge(c, ctx, "absorb", status, look ? cc_plugin_check_values(y, c->shape.n, e) : CC_OK,
                 e);
}

static void init(const struct cc_codec *c)
{
    const struct cc_codec own = own_codec(c);
    const int call = enter(c, "init");
    own.scheme->init(&own);
    cc_plugin_leave(call);
}

void cc_plugin_guard(struct cc_plugin *p)
{
    struct cc_scheme *g = &p->guarded;
    *g = *p->own;
    g->encode = g->encode != NULL ? encode : NULL;
    g->encode_from = g->encode_from != NULL ? encode_from : NULL;
    g->decode = g->decode != NULL ? decode : NULL;
    g->to_pairs = g->to_pairs != NULL ? to_pairs : NULL;
    g->encode_round = g->encode_round != NULL ? encode_round : NULL;
    g->absorb = g->absorb != NULL ? absorb : NULL;
    g->init = g->init != NULL ? init : NULL;
}
