#include "core/reduce.h"

#include "core/parallel.h"

struct values {
    struct cc_elements x;
    const float *r;
};

/* The order of numbers of 16 bits is that of the float32 that they widen to. */
static uint32_t absmax_half(struct cc_elements x, size_t n)
{
    const uint16_t most = k_reduce()->absmax_half(x.at, n);
    return cc_f32_bits(x.type == CC_ELEMENT_BF16 ? cc_from_bf16(most) : cc_from_fp16(most));
}

static size_t absmax_range(void *arg, size_t begin, size_t end)
{
    const struct values *v = arg;
    const struct cc_elements x = cc_elements_from(v->x, begin);
    const size_t n = end - begin;
    if (v->r != NULL)
        return k_reduce()->absmax_add[x.type](x.at, v->r + begin, n);
    return x.type == CC_ELEMENT_FP32 ? k_reduce()->absmax(x.at, n) : absmax_half(x, n);
}

uint32_t cc_absmax_from(struct cc_elements x, const float *r, size_t n, int threads)
{
    struct values v = {x, r};
    return (uint32_t)cc_parallel_values(threads, n, CC_SUM_BLOCK, absmax_range, &v);
}

uint32_t cc_absmax(const float *x, const float *r, size_t n, int threads)
{
    return cc_absmax_from(cc_elements_f32(x), r, n, threads);
}
