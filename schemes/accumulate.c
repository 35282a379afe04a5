#include "schemes/accumulate.h"

#include "core/parallel.h"
#include "schemes/kernels/accumulate.h"

struct work {
    const float *x;
    float *sum;
    size_t n;
    int parts;
    size_t good[CC_PARTS_MAX]; /* up to where the part's sums are finite */
};

static void accumulate_part(void *arg, int part)
{
    struct work *w = arg;
    size_t begin = cc_part_begin(w->n, w->parts, part, 16);
    size_t end = cc_part_begin(w->n, w->parts, part + 1, 16);
    w->good[part] = begin + k_accumulate()->add(w->x + begin, w->sum + begin, end - begin);
}

int cc_accumulate(const struct cc_context *ctx, size_t start, const float *x, float *sum, size_t n,
                  int threads, struct cc_error *e)
{
    struct work w = {.x = x, .sum = sum, .n = n};
    w.parts = cc_parts(threads, n, CC_PART_VALUES);
    cc_parallel(w.parts, accumulate_part, &w);
    for (int p = 0; p < w.parts; p++) {
        size_t i = w.good[p], end = cc_part_begin(n, w.parts, p + 1, 16);
        if (i < end) {
            struct cc_context at = *ctx;
            at.offset += start + i;
            return cc_refuse(&at, x + i, sum + i, end - i, e);
        }
    }
    return CC_OK;
}
