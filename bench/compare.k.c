#include "bench/compare.h"

#include <math.h>

#include "core/reduce.h"

enum { LANES = CC_SUM_LANES };

struct lanes {
    double error_sq[LANES], raw_sq[LANES], output_sq[LANES], dot[LANES];
    float max_error[LANES];
};

static inline void one(struct lanes *s, size_t l, float y, float g, float *cumulative)
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

static double total(const double *lane)
{
    double sum = 0;
    for (size_t l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

static void block(const float *restrict y, const float *restrict g, float *restrict cumulative,
                  size_t n, struct cc_compared *c)
{
    struct lanes s = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            one(&s, l, y[i + l], g[i + l], &cumulative[i + l]);
    for (size_t l = 0; i + l < n; l++)
        one(&s, l, y[i + l], g[i + l], &cumulative[i + l]);
    c->error_sq += total(s.error_sq);
    c->raw_sq += total(s.raw_sq);
    c->output_sq += total(s.output_sq);
    c->dot += total(s.dot);
    for (size_t l = 0; l < LANES; l++)
        c->max_error =
            (double)s.max_error[l] > c->max_error ? (double)s.max_error[l] : c->max_error;
}

static void compare(const float *y, const float *g, float *cumulative, size_t n,
                    struct cc_compared *c)
{
    for (size_t i = 0; i < n; i += CC_SUM_BLOCK)
        block(y + i, g + i, cumulative + i, n - i < CC_SUM_BLOCK ? n - i : CC_SUM_BLOCK, c);
}

const struct k_compare CC_K(k_compare) = {.compare = compare};
