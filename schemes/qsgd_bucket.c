/* Buckets of qsgd, for both of its codes: sizes, quantization, checks. */
#include "schemes/qsgd.h"

size_t cc_qsgd_total_bytes(const struct cc_qsgd_form *f, size_t n,
                           size_t (*bytes)(const struct cc_qsgd_form *, size_t))
{
    size_t tail = n % f->bucket;
    return n / f->bucket * bytes(f, f->bucket) + (tail > 0 ? bytes(f, tail) : 0);
}

size_t cc_qsgd_quantize(const struct cc_qsgd_form *f, const struct cc_context *ctx, const float *x,
                        size_t first, size_t n, float norm, int16_t *levels)
{
    size_t count = 0;
    for (size_t i = 0; i < n;) {
        /* The key changes where the index passes a multiple of 2^32. */
        uint64_t index = ctx->offset + first + i, left = cc_same_key(index);
        size_t m = n - i < left ? n - i : (size_t)left;
        count += k_qsgd_put()->quantize(x + i, norm, f->s, cc_context_key(ctx, index, 0),
                                        (uint32_t)index, levels + i, m);
        i += m;
    }
    return count;
}

int cc_qsgd_bad_norm(float norm, size_t offset, struct cc_error *e)
{
    return cc_bad_payload(offset, e, "the norm of a bucket is %g", (double)norm);
}
