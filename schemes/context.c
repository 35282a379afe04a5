/* Functions for schemes themselves: the key of a tensor's random numbers, and the messages of
 * gradients and payloads that are refused, and members of descriptors that many share. Plugins have
 * copies of their own (schemes/plugin.h). */
#include <stdarg.h>
#include <stdio.h>

#include "core/bytes.h"
#include "schemes/plain.h"

const struct cc_param cc_no_params[] = {{.name = NULL}};

struct cc_traffic cc_reads_once(const void *params)
{
    (void)params;
    return cc_traffic_one(0);
}

struct cc_traffic cc_reads_twice(const void *params)
{
    (void)params;
    return cc_traffic_two(0);
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
    return cc_refuse_from(ctx, cc_elements_f32(x), r, n, e);
}

int cc_refuse_from(const struct cc_context *ctx, struct cc_elements x, const float *r, size_t n,
                   struct cc_error *e)
{
    const char *name = ctx->name != NULL ? ctx->name : "?";
    for (size_t i = 0; i < n; i++) {
        const size_t index = (size_t)ctx->offset + i;
        const float v = cc_element_at(x.at, i, x.type);
        if (!cc_finite(v))
            return cc_fail(e,
                           "tensor '%s': the value at index %zu is %s; only finite values can be "
                           "encoded",
                           name, index, v != v ? "NaN" : "infinite");
        if (r != NULL && !cc_finite(v + r[i]))
            return cc_fail(e,
                           "tensor '%s': gradient plus residual at index %zu overflows (%g + %g); "
                           "scale the values down or start from a fresh residual",
                           name, index, (double)v, (double)r[i]);
    }
    return cc_fail(e,
                   "tensor '%s': a value overflows, or is changed by others, while it is encoded; "
                   "scale the values down, or encode a copy",
                   name);
}

int cc_changed_payload(struct cc_error *e)
{
    return cc_bad_payload(0, e, "it is changed by others while it is decoded; decode a copy");
}

int cc_bad_length(size_t len, size_t want, struct cc_error *e)
{
    return cc_bad_payload(len < want ? len : want, e, "the payload has %zu bytes, not %zu", len,
                          want);
}

int cc_check_pairs_room(size_t count, size_t cap, struct cc_error *e)
{
    return count <= cap ? CC_OK
                        : cc_bad_payload(0, e, "the payload has %zu pairs; there is room for %zu",
                                         count, cap);
}

void cc_payload_error(size_t offset, struct cc_error *e, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    cc_error_set(e, "payload, byte %zu: %s", offset, text);
}
