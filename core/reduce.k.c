/* The kernels of core/reduce.h, compiled once per instruction set. Plain loops over 16 lanes: the
 * compiler vectorizes them, and the source fixes the order of additions. Two streams with much to
 * compute are read a page at a time with a prefetch of the next page (cc_next_page); loops that
 * only read are faster without: on a Zen 4 the largest magnitude is found at 28 GB/s, and at 18
 * with it. */
#include "core/reduce.h"

#include "core/tile.h"

static uint32_t absmax(const float *x, size_t n)
{
    uint32_t m = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = cc_f32_bits(x[i]) & 0x7fffffffu;
        m = bits > m ? bits : m;
    }
    return m;
}

static uint16_t absmax_half(const uint16_t *x, size_t n)
{
    uint16_t m = 0;
    for (size_t i = 0; i < n; i++) {
        const uint16_t bits = x[i] & 0x7fff;
        m = bits > m ? bits : m;
    }
    return m;
}

CC_EACH_ELEMENT uint32_t absmax_add(const void *x, enum cc_element type, const float *r, size_t n)
{
    uint32_t m = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = cc_f32_bits(cc_element_at(x, i, type) + r[i]) & 0x7fffffffu;
        m = bits > m ? bits : m;
    }
    return m;
}

#define ADD(name)                                                                                  \
    static uint32_t absmax_add_##name(const void *x, const float *r, size_t n)                     \
    {                                                                                              \
        return absmax_add(x, CC_ELEMENT_##name, r, n);                                             \
    }
ADD(FP32)
ADD(BF16)
ADD(FP16)

/* Defines the sum over an array of `term`, an expression in the value a. */
#define SUM_OVER(name, term)                                                                       \
    static double name##_block(const float *x, size_t n)                                           \
    {                                                                                              \
        double lane[CC_SUM_LANES] = {0};                                                           \
        size_t i = 0;                                                                              \
        for (; i + CC_SUM_LANES <= n; i += CC_SUM_LANES) {                                         \
            for (size_t l = 0; l < CC_SUM_LANES; l++) {                                            \
                double a = (double)x[i + l];                                                       \
                lane[l] += (term);                                                                 \
            }                                                                                      \
        }                                                                                          \
        for (size_t l = 0; i + l < n; l++) {                                                       \
            double a = (double)x[i + l];                                                           \
            lane[l] += (term);                                                                     \
        }                                                                                          \
        double total = 0;                                                                          \
        for (size_t l = 0; l < CC_SUM_LANES; l++)                                                  \
            total += lane[l];                                                                      \
        return total;                                                                              \
    }                                                                                              \
    static double name(const float *x, size_t n)                                                   \
    {                                                                                              \
        double total = 0;                                                                          \
        for (size_t i = 0; i < n; i += CC_SUM_BLOCK)                                               \
            total += name##_block(x + i, n - i < CC_SUM_BLOCK ? n - i : CC_SUM_BLOCK);             \
        return total;                                                                              \
    }

SUM_OVER(sum, a)
SUM_OVER(sum_sq, a *a)

static inline void add_moments(const float *x, size_t n, double *restrict sum,
                               double *restrict squares)
{
    double s[CC_SUM_LANES], q[CC_SUM_LANES]; /* in registers */
    for (size_t l = 0; l < CC_SUM_LANES; l++) {
        s[l] = sum[l];
        q[l] = squares[l];
    }
    size_t i = 0;
    for (; i + CC_SUM_LANES <= n; i += CC_SUM_LANES) {
        for (size_t l = 0; l < CC_SUM_LANES; l++) {
            double a = (double)x[i + l];
            s[l] += a;
            q[l] += a * a;
        }
    }
    for (size_t l = 0; l < CC_SUM_LANES; l++) {
        double a = i + l < n ? (double)x[i + l] : 0;
        sum[l] = i + l < n ? s[l] + a : s[l];
        squares[l] = i + l < n ? q[l] + a * a : q[l];
    }
}

static void moments(const float *x, const float *r, size_t n, struct cc_moments *out)
{
    float both[CC_PAGE_VALUES];
    double sum[CC_SUM_LANES] = {0}, squares[CC_SUM_LANES] = {0};
    struct cc_moments all = {0};
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < CC_PAGE_VALUES ? n - i : CC_PAGE_VALUES;
        const float *v = x + i;
        cc_next_page(v);
        if (r != NULL) {
            cc_next_page(r + i);
            for (size_t k = 0; k < m; k++)
                both[k] = x[i + k] + r[i + k];
            v = both;
        }
        uint32_t bits = absmax(v, m);
        all.absmax = bits > all.absmax ? bits : all.absmax;
        add_moments(v, m, sum, squares);
    }
    for (size_t l = 0; l < CC_SUM_LANES; l++) {
        all.sum += sum[l];
        all.sum_sq += squares[l];
    }
    *out = all;
}

const struct k_reduce CC_K(k_reduce) = {
    .absmax = absmax,
    .absmax_half = absmax_half,
    .absmax_add = {absmax_add_FP32, absmax_add_BF16, absmax_add_FP16},
    .sum = sum,
    .sum_sq = sum_sq,
    .moments = moments,
};
