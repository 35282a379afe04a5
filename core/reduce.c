#include "core/reduce.h"

#include "core/parallel.h"

struct values {
    const float *x, *r;
};

static size_t absmax_range(void *arg, size_t begin, size_t end)
{
    const struct values *v = arg;
    return v->r == NULL ? k_reduce()->absmax(v->x + begin, end - begin)
                        : k_reduce()->absmax_add(v->x + begin, v->r + begin, end - begin);
}

uint32_t cc_absmax(const float *x, const float *r, size_t n, int threads)
{
    struct values v = {x, r};
    return (uint32_t)cc_parallel_values(threads, n, CC_SUM_BLOCK, absmax_range, &v);
}
