#include "schemes/accumulate.h"

#include "core/parallel.h"
#include "core/reduce.h"
#include "schemes/kernels/stream.h"

/* Values checked, then added while they are in the first-level cache. */
#define BLOCK 1024

size_t cc_accumulate(const float *x, float *sum, size_t n)
{
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t m = n - i < BLOCK ? n - i : BLOCK;
        if (!cc_finite_bits(k_reduce()->absmax_add[CC_ELEMENT_FP32](x + i, sum + i, m)))
            return i;
        k_stream()->add((const uint8_t *)(x + i), 1.0f, sum + i, m);
    }
    return n;
}

int cc_accumulate_refuse(const struct cc_context *ctx, const float *x, const float *sum, size_t i,
                         size_t n, struct cc_error *e)
{
    struct cc_context at = *ctx;
    at.offset += i;
    return cc_refuse(&at, x + i, sum != NULL ? sum + i : NULL, n - i, e);
}

struct work {
    const float *x;
    float *sum;
    size_t n;
};

/* Returns the number of values from the block on that stopped it. */
static size_t accumulate_range(void *arg, size_t begin, size_t end)
{
    const struct work *w = arg;
    const size_t good = begin + cc_accumulate(w->x + begin, w->sum + begin, end - begin);
    return good < end ? w->n - good : 0;
}

int cc_accumulate_all(const struct cc_context *ctx, const float *x, float *sum, size_t n,
                      int threads, struct cc_error *e)
{
    struct work w = {x, sum, n};
    const size_t left = cc_parallel_values(threads, n, BLOCK, accumulate_range, &w);
    return left == 0 ? CC_OK : cc_accumulate_refuse(ctx, x, sum, n - left, n, e);
}
