#include "schemes/accumulate.h"

#include "core/parallel.h"
#include "core/reduce.h"
#include "schemes/kernels/stream.h"

/* In the first-level cache between the check and the addition. */
#define PIECE 1024

struct work {
    const float *x;
    float *sum;
    size_t n;
    int parts;
    size_t good[CC_PARTS_MAX]; /* values before the first piece with a sum that is not finite */
};

static void accumulate_part(void *arg, int part)
{
    struct work *w = arg;
    size_t i = cc_part_begin(w->n, w->parts, part, PIECE);
    size_t end = cc_part_begin(w->n, w->parts, part + 1, PIECE);
    for (; i < end; i += PIECE) {
        size_t m = end - i < PIECE ? end - i : PIECE;
        if (!cc_finite_bits(k_reduce()->absmax_add(w->x + i, w->sum + i, m)))
            break;
        k_stream()->add((const uint8_t *)(w->x + i), 1.0f, w->sum + i, m);
    }
    w->good[part] = i;
}

int cc_accumulate(const struct cc_context *ctx, size_t start, const float *x, float *sum, size_t n,
                  int threads, struct cc_error *e)
{
    struct work w = {.x = x, .sum = sum, .n = n};
    w.parts = cc_parts(threads, n, CC_PART_VALUES);
    cc_parallel(w.parts, accumulate_part, &w);
    for (int p = 0; p < w.parts; p++) {
        size_t i = w.good[p], end = cc_part_begin(n, w.parts, p + 1, PIECE);
        if (i < end) {
            struct cc_context at = *ctx;
            at.offset += start + i;
            return cc_refuse(&at, x + i, sum + i, end - i, e);
        }
    }
    return CC_OK;
}
