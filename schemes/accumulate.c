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
        if (!cc_finite_bits(k_reduce()->absmax_add(x + i, sum + i, m)))
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
    int parts;
    size_t good[CC_PARTS_MAX]; /* index at which each part stopped */
};

static void accumulate_part(void *arg, int part)
{
    struct work *w = arg;
    size_t begin = cc_part_begin(w->n, w->parts, part, BLOCK);
    size_t end = cc_part_begin(w->n, w->parts, part + 1, BLOCK);
    w->good[part] = begin + cc_accumulate(w->x + begin, w->sum + begin, end - begin);
}

int cc_accumulate_all(const struct cc_context *ctx, const float *x, float *sum, size_t n,
                      int threads, struct cc_error *e)
{
    struct work w = {.x = x, .sum = sum, .n = n};
    w.parts = cc_parts(threads, n, CC_PART_VALUES);
    cc_parallel(w.parts, accumulate_part, &w);
    for (int p = 0; p < w.parts; p++)
        if (w.good[p] < cc_part_begin(n, w.parts, p + 1, BLOCK))
            return cc_accumulate_refuse(ctx, x, sum, w.good[p], n, e);
    return CC_OK;
}
