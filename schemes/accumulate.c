#include "schemes/accumulate.h"

#include "core/reduce.h"
#include "schemes/kernels/stream.h"

/* In the first-level cache between the check and the addition. */
#define PIECE 1024

int cc_accumulate(const struct cc_context *ctx, size_t start, const float *x, float *sum, size_t n,
                  struct cc_error *e)
{
    for (size_t i = 0; i < n; i += PIECE) {
        size_t m = n - i < PIECE ? n - i : PIECE;
        if (!cc_finite_bits(k_reduce()->absmax_add(x + i, sum + i, m))) {
            struct cc_context at = *ctx;
            at.offset += start + i;
            return cc_refuse(&at, x + i, sum + i, m, e);
        }
        k_stream()->add((const uint8_t *)(x + i), 1.0f, sum + i, m);
    }
    return CC_OK;
}
