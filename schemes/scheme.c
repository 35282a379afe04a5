#include "schemes/scheme.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/bytes.h"

#define CC_SCHEME(name) extern const struct cc_scheme cc_scheme_##name;
#include "schemes/list.h"
#undef CC_SCHEME

const struct cc_scheme *const cc_schemes[] = {
#define CC_SCHEME(name) &cc_scheme_##name,
#include "schemes/list.h"
#undef CC_SCHEME
    NULL,
};

const struct cc_scheme *cc_scheme_find(const char *id)
{
    for (size_t i = 0; cc_schemes[i] != NULL; i++)
        if (strcmp(cc_schemes[i]->id, id) == 0)
            return cc_schemes[i];
    return NULL;
}

size_t cc_state_bytes(const struct cc_codec *c)
{
    bool none = c->scheme->state_bytes == NULL || c->shape.n == 0;
    return none ? 0 : c->scheme->state_bytes(c->params, &c->shape);
}

size_t cc_scratch_bytes(const struct cc_codec *c)
{
    bool none = c->scheme->scratch_bytes == NULL || c->shape.n == 0;
    return none ? 0 : c->scheme->scratch_bytes(c->params, &c->shape);
}

size_t cc_bound(const struct cc_codec *c)
{
    return c->shape.n == 0 ? 0 : c->scheme->bound(c->params, &c->shape);
}

size_t cc_period(const struct cc_scheme *s, const void *params)
{
    return s->period == NULL ? 1 : s->period(params);
}

void cc_codec_reset(const struct cc_codec *c)
{
    size_t bytes = cc_state_bytes(c);
    if (bytes > 0)
        memset(c->state, 0, bytes);
    if (c->scheme->init != NULL && c->shape.n > 0)
        c->scheme->init(c);
}

int cc_encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x, uint8_t *out,
              size_t cap, size_t *len, struct cc_error *e)
{
    if (c->shape.n == 0) {
        *len = 0;
        return CC_OK;
    }
    size_t bound = cc_bound(c);
    if (cap < bound)
        return cc_fail(e, "%s: the output has room for %zu bytes; up to %zu may be needed",
                       c->scheme->id, cap, bound);
    return c->scheme->encode(c, ctx, x, out, cap, len, e);
}

int cc_decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in, size_t len,
              float *y, struct cc_error *e)
{
    if (c->shape.n == 0)
        return len == 0 ? CC_OK : cc_bad_length(len, 0, e);
    return c->scheme->decode(c, ctx, in, len, y, e);
}

int cc_decode_add(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, float scale, float *y, struct cc_error *e)
{
    if (c->shape.n == 0)
        return len == 0 ? CC_OK : cc_bad_length(len, 0, e);
    return c->scheme->decode_add(c, ctx, in, len, scale, y, e);
}

struct cc_key cc_context_key(const struct cc_context *ctx, uint64_t index, uint64_t stream)
{
    struct cc_random_id id = {.seed = ctx->seed,
                              .rank = ctx->rank,
                              .direction = (uint64_t)ctx->direction,
                              .step = ctx->step,
                              .tensor = ctx->tensor,
                              .stream = stream};
    return cc_key(&id, index);
}

int cc_refuse(const struct cc_context *ctx, const float *x, const float *r, size_t n,
              struct cc_error *e)
{
    const char *name = ctx->name != NULL ? ctx->name : "?";
    for (size_t i = 0; i < n; i++) {
        size_t index = (size_t)ctx->offset + i;
        if (!cc_finite(x[i]))
            return cc_fail(e,
                           "tensor '%s': the value at index %zu is %s; only finite values can be "
                           "encoded",
                           name, index, x[i] != x[i] ? "NaN" : "infinite");
        if (r != NULL && !cc_finite(x[i] + r[i]))
            return cc_fail(e,
                           "tensor '%s': gradient plus residual at index %zu overflows (%g + %g); "
                           "scale the values down or start from a fresh residual",
                           name, index, (double)x[i], (double)r[i]);
    }
    return cc_fail(e, "tensor '%s': a value overflows while it is encoded; scale the values down",
                   name);
}

int cc_bad_length(size_t len, size_t want, struct cc_error *e)
{
    return cc_bad_payload(len < want ? len : want, e, "the payload has %zu bytes, not %zu", len,
                          want);
}

int cc_bad_payload(size_t offset, struct cc_error *e, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return cc_fail(e, "payload, byte %zu: %s", offset, text);
}
