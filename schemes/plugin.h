/* For plugins: shared objects with a scheme of their own, which `commcomp --plugin FILE.so` loads.
 * A plugin defines a `struct cc_scheme` (schemes/scheme.h says what each member promises), ends
 * with CC_PLUGIN(it), and links nothing of commcomp: the functions of error.h and scheme.h that a
 * scheme calls are below, in the plugin itself. docs/plugins.md has an example. */
#ifndef CC_SCHEMES_PLUGIN_H
#define CC_SCHEMES_PLUGIN_H

#include <stdarg.h>
#include <stdio.h>

#include "schemes/scheme.h"

/* Defines the two functions that a plugin exports: commcomp_abi, the number of the interface that
 * it is built with, and commcomp_scheme, its scheme. */
#define CC_PLUGIN(scheme)                                                                          \
    CC_PLUGIN_EXPORTED int commcomp_abi(void);                                                     \
    CC_PLUGIN_EXPORTED const struct cc_scheme *commcomp_scheme(void);                              \
    int commcomp_abi(void)                                                                         \
    {                                                                                              \
        return CC_SCHEME_ABI;                                                                      \
    }                                                                                              \
    const struct cc_scheme *commcomp_scheme(void)                                                  \
    {                                                                                              \
        return &(scheme);                                                                          \
    }

#ifdef __cplusplus
#define CC_PLUGIN_EXPORTED extern "C" __attribute__((visibility("default")))
#else
#define CC_PLUGIN_EXPORTED __attribute__((visibility("default")))
#endif
/* A plugin has one of each, whatever the number of its files, and nobody else sees it. */
#define CC_PLUGIN_OWN __attribute__((weak, visibility("hidden")))

CC_PLUGIN_OWN void cc_error_set(struct cc_error *e, const char *fmt, ...)
{
    va_list args;
    if (e == NULL)
        return;
    va_start(args, fmt);
    (void)vsnprintf(e->text, sizeof e->text, fmt, args);
    va_end(args);
}

CC_PLUGIN_OWN void cc_payload_error(size_t offset, struct cc_error *e, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    cc_error_set(e, "payload, byte %zu: %s", offset, text);
}

CC_PLUGIN_OWN int cc_bad_length(size_t len, size_t want, struct cc_error *e)
{
    return cc_bad_payload(len < want ? len : want, e, "the payload has %zu bytes, not %zu", len,
                          want);
}

CC_PLUGIN_OWN int cc_refuse(const struct cc_context *ctx, const float *x, const float *r, size_t n,
                            struct cc_error *e)
{
    const char *name = ctx->name != NULL ? ctx->name : "?";
    for (size_t i = 0; i < n; i++) {
        const float v = r != NULL ? x[i] + r[i] : x[i];
        if (!(v - v == 0))
            return cc_fail(e, "tensor '%s': the value at index %zu is not finite%s", name,
                           (size_t)ctx->offset + i, r != NULL ? ", with its residual" : "");
    }
    return cc_fail(e, "tensor '%s': a value overflows, or changes, while it is encoded", name);
}

CC_PLUGIN_OWN struct cc_key cc_context_key(const struct cc_context *ctx, uint64_t index,
                                           uint64_t stream)
{
    struct cc_random_id id;
    id.seed = ctx->seed;
    id.rank = ctx->rank;
    id.direction = (uint64_t)ctx->direction;
    id.step = ctx->step;
    id.tensor = ctx->tensor;
    id.stream = stream;
    return cc_key(&id, index);
}

#endif
