/* The sums of bench/compare.h over the fixed tree of core/reduce.h: blocks of CC_SUM_BLOCK values,
 * in each block CC_SUM_LANES sums side by side. The compiler turns the lanes into vectors, and
 * every instruction set gives the same bits. */
#include "bench/compare.h"

#include <math.h>

#include "core/reduce.h"

enum { LANES = CC_SUM_LANES };

struct lanes {
    double error_sq[LANES], raw_sq[LANES], output_sq[LANES], dot[LANES];
    float max_error[LANES];
};

static inline void add_value(struct lanes *s, size_t l, float y, float g, float *cumulative)
{
    float d = y - g;
    double dd = (double)y - (double)g, dy = (double)y, dg = (double)g;
    float magnitude = fabsf(d);
    *cumulative += d;
    s->error_sq[l] += dd * dd;
    s->raw_sq[l] += dg * dg;
    s->output_sq[l] += dy * dy;
    s->dot[l] += dy * dg;
    s->max_error[l] = magnitude > s->max_error[l] ? magnitude : s->max_error[l];
}

static double sum_lanes(const double *lane)
{
    double sum = 0;
    for (size_t l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

static void compare_block(const float *restrict y, const float *restrict g,
                          float *restrict cumulative, size_t n, struct cc_compared *c)
{
    struct lanes s = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            add_value(&s, l, y[i + l], g[i + l], &cumulative[i + l]);
    for (size_t l = 0; i + l < n; l++)
        add_value(&s, l, y[i + l], g[i + l], &cumulative[i + l]);
    c->error_sq += sum_lanes(s.error_sq);
    c->raw_sq += sum_lanes(s.raw_sq);
    c->output_sq += sum_lanes(s.output_sq);
    c->dot += sum_lanes(s.dot);
    for (size_t l = 0; l < LANES; l++)
        c->max_error =
            (double)s.max_error[l] > c->max_error ? (double)s.max_error[l] : c->max_error;
}

static void compare(const float *y, const float *g, float *cumulative, size_t n,
                    struct cc_compared *c)
{
    for (size_t i = 0; i < n; i += CC_SUM_BLOCK)
        compare_block(y + i, g + i, cumulative + i, n - i < CC_SUM_BLOCK ? n - i : CC_SUM_BLOCK, c);
}

const struct k_compare CC_K(k_compare) = {.compare = compare};
