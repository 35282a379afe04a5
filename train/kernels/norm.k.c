/* Kernels of batch normalization: moments of a channel, applying them, and the sums and products of
 * the backward pass. */
#include "train/kernels/norm.h"

#include "train/kernels/simd.h"

/* Chains that are summed side by side: the fewest that hide an addition's latency. */
#define CHAINS 4

static inline cc_vec combined(const cc_vec *chain)
{
    return cc_vec_add(cc_vec_add(chain[0], chain[1]), cc_vec_add(chain[2], chain[3]));
}

static inline __attribute__((always_inline)) void
moments_at(const struct cc_norm_area *a, const float *x, float *sum, float *squares)
{
    cc_vec chain[CHAINS], mean;
    for (size_t k = 0; k < CHAINS; k++)
        chain[k] = cc_vec_set(0.0f);
    for (size_t r = 0; r < a->height; r++) {
        const float *p = x + r * a->row;
        size_t c = 0;
        for (; c + CHAINS <= a->width; c += CHAINS)
            for (size_t k = 0; k < CHAINS; k++)
                chain[k] = cc_vec_add(chain[k], cc_vec_load(p + (c + k) * CC_GROUP));
        for (; c < a->width; c++)
            chain[0] = cc_vec_add(chain[0], cc_vec_load(p + c * CC_GROUP));
    }
    cc_vec total = combined(chain);
    cc_vec_store(sum, total);
    mean = cc_vec_mul(total, cc_vec_set(1.0f / (float)(a->height * a->width)));
    for (size_t k = 0; k < CHAINS; k++)
        chain[k] = cc_vec_set(0.0f);
    for (size_t r = 0; r < a->height; r++) {
        const float *p = x + r * a->row;
        size_t c = 0;
        for (; c + CHAINS <= a->width; c += CHAINS)
            for (size_t k = 0; k < CHAINS; k++) {
                cc_vec d = cc_vec_sub(cc_vec_load(p + (c + k) * CC_GROUP), mean);
                chain[k] = cc_vec_fma(d, d, chain[k]);
            }
        for (; c < a->width; c++) {
            cc_vec d = cc_vec_sub(cc_vec_load(p + c * CC_GROUP), mean);
            chain[0] = cc_vec_fma(d, d, chain[0]);
        }
    }
    cc_vec_store(squares, combined(chain));
}

static void moments(const struct cc_norm_area *a, const float *x, float *sum, float *squares)
{
    for (size_t v = 0; v < CC_GROUP; v += CC_WIDTH)
        moments_at(a, x + v, sum + v, squares + v);
}

static void apply(const struct cc_norm_area *a, const float *x, const float *scale,
                  const float *shift, const struct cc_norm_side *side, bool relu, float *y)
{
    for (size_t v = 0; v < CC_GROUP; v += CC_WIDTH) {
        const cc_vec by = cc_vec_load(scale + v), plus = cc_vec_load(shift + v);
        const cc_vec zero = cc_vec_set(0.0f);
        for (size_t r = 0; r < a->height; r++) {
            const float *from = x + r * a->row + v;
            const float *more = side->x != NULL ? side->x + r * side->row + v : NULL;
            float *to = y + r * a->row + v;
            for (size_t c = 0; c < a->width; c++, from += CC_GROUP, to += CC_GROUP) {
                cc_vec value = cc_vec_fma(cc_vec_load(from), by, plus);
                if (more != NULL)
                    value = cc_vec_add(value, cc_vec_load(more + c * side->col));
                cc_vec_store(to, relu ? cc_vec_max(zero, value) : value);
            }
        }
    }
}

static inline __attribute__((always_inline)) void back_sums_at(const struct cc_norm_area *a,
                                                               const float *x, cc_vec mean,
                                                               const float *y, bool relu, float *dy,
                                                               float *sum, float *product)
{
    cc_vec plain[CHAINS], times[CHAINS];
    for (size_t k = 0; k < CHAINS; k++)
        plain[k] = times[k] = cc_vec_set(0.0f);
    for (size_t r = 0; r < a->height; r++)
        for (size_t c = 0; c < a->width; c += CHAINS) {
            size_t at = r * a->row + c * CC_GROUP;
            for (size_t k = 0; k < CHAINS && c + k < a->width; k++, at += CC_GROUP) {
                cc_vec d = cc_vec_load(dy + at);
                if (relu) {
                    d = cc_vec_where(cc_vec_load(y + at), d);
                    cc_vec_store(dy + at, d);
                }
                plain[k] = cc_vec_add(plain[k], d);
                times[k] = cc_vec_fma(d, cc_vec_sub(cc_vec_load(x + at), mean), times[k]);
            }
        }
    cc_vec_store(sum, combined(plain));
    cc_vec_store(product, combined(times));
}

static void back_sums(const struct cc_norm_area *a, const float *x, const float *mean,
                      const float *y, bool relu, float *dy, float *sum, float *product)
{
    for (size_t v = 0; v < CC_GROUP; v += CC_WIDTH) {
        cc_vec middle = cc_vec_load(mean + v);
        if (relu)
            back_sums_at(a, x + v, middle, y + v, true, dy + v, sum + v, product + v);
        else
            back_sums_at(a, x + v, middle, y + v, false, dy + v, sum + v, product + v);
    }
}

static void back(const struct cc_norm_area *a, const float *x, const float *mean, const float *dy,
                 const float *by_dy, const float *by_x, const float *shift, float *dx)
{
    for (size_t v = 0; v < CC_GROUP; v += CC_WIDTH) {
        const cc_vec middle = cc_vec_load(mean + v), plus = cc_vec_load(shift + v);
        const cc_vec first = cc_vec_load(by_dy + v), second = cc_vec_load(by_x + v);
        for (size_t r = 0; r < a->height; r++)
            for (size_t c = 0; c < a->width; c++) {
                size_t at = r * a->row + c * CC_GROUP + v;
                cc_vec d = cc_vec_sub(cc_vec_load(x + at), middle);
                cc_vec_store(dx + at,
                             cc_vec_fma(first, cc_vec_load(dy + at), cc_vec_fma(second, d, plus)));
            }
    }
}

const struct k_norm CC_K(k_norm) = {
    .moments = moments,
    .apply = apply,
    .back_sums = back_sums,
    .back = back,
};
