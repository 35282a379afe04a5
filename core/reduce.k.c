/* The template of core/reduce.h, compiled once per instruction set. Plain loops over 16 lanes: the
 * compiler turns them into vectors, and the order of additions is fixed by the source. */
#include "core/reduce.h"

#include "core/tile.h"

static inline uint32_t absmax_page(const float *x, size_t n)
{
    uint32_t m = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = cc_f32_bits(x[i]) & 0x7fffffffu;
        m = bits > m ? bits : m;
    }
    return m;
}

static inline uint32_t absmax_add_page(const float *x, const float *r, size_t n)
{
    uint32_t m = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = cc_f32_bits(x[i] + r[i]) & 0x7fffffffu;
        m = bits > m ? bits : m;
    }
    return m;
}

static uint32_t absmax(const float *x, size_t n)
{
    uint32_t most = 0;
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < CC_PAGE_VALUES ? n - i : CC_PAGE_VALUES;
        cc_next_page(x + i);
        uint32_t bits = absmax_page(x + i, m);
        most = bits > most ? bits : most;
    }
    return most;
}

static uint32_t absmax_add(const float *x, const float *r, size_t n)
{
    uint32_t most = 0;
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < CC_PAGE_VALUES ? n - i : CC_PAGE_VALUES;
        cc_next_page(x + i);
        cc_next_page(r + i);
        uint32_t bits = absmax_add_page(x + i, r + i, m);
        most = bits > most ? bits : most;
    }
    return most;
}

/* TERM is an expression in a, the value at one index. */
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

const struct k_reduce CC_K(k_reduce) = {
    .absmax = absmax,
    .absmax_add = absmax_add,
    .sum = sum,
    .sum_sq = sum_sq,
};
