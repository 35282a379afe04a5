/* Synthetic traces, against GSL's distributions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "core/reduce.h"
#include "core/trace/synth.h"
#include "core/trace/synth_draw.h"
#include "core/trace/trace.h"

static double laplace_cdf(double x)
{
    return gsl_cdf_laplace_P(x, 0.70710678118654752);
}

static double gaussian_cdf(double x)
{
    return gsl_cdf_ugaussian_P(x);
}

static double student_cdf(double x)
{
    return gsl_cdf_tdist_P(x * 1.41421356237309505, 4);
}

static double (*const cdf[])(double) = {laplace_cdf, gaussian_cdf, student_cdf};

static struct cc_trace *make(enum cc_distribution d, size_t rows, size_t ranks, double decay)
{
    const struct cc_tensor_info tensors[] = {
        {"w", {.n = rows * 576, .dim = {rows, 64, 3, 3}, .ndim = 4}},
        {"b", {.n = 10, .dim = {10}, .ndim = 1}}};
    const struct cc_synth config = {
        .distribution = d, .seed = 7, .steps = 40, .ranks = ranks, .pulls = true, .decay = decay};
    struct cc_trace *t;
    assert_int_equal(cc_trace_synth(&config, tensors, 2, "test", &t, NULL), CC_OK);
    return t;
}

static float *load(struct cc_trace *t, size_t stream, size_t step, size_t tensor)
{
    float *x = cc_alloc(cc_trace_tensor(t, tensor)->shape.n * sizeof *x, NULL);
    assert_non_null(x);
    assert_int_equal(cc_trace_load(t, stream, step, tensor, x, NULL), CC_OK);
    return x;
}

/* The inverse of the distribution function, value by value, also far out in the tails. */
static void quantiles(void **state)
{
    (void)state;
    const struct cc_draw d = {.own = {{1, 2}, {1, 2}}};
    static float x[3][65536];
    k_synth()->laplace(&d, 0, 1, x[0], 65536);
    k_synth()->gaussian(&d, 0, 1, x[1], 65536);
    k_synth()->student(&d, 0, 1, x[2], 65536);
    for (unsigned i = 0; i < 65536; i++) {
        uint32_t r = cc_random(d.own[0], i);
        double p = ((double)(r >> 1) + 0.5) * 0x1p-32, sign = r & 1 ? -1 : 1;
        double want[] = {gsl_cdf_laplace_Qinv(p, 0.70710678118654752), gsl_cdf_ugaussian_Qinv(p),
                         gsl_cdf_tdist_Qinv(p, 4) / 1.41421356237309505};
        for (int k = 0; k < 3; k++)
            if (fabs((double)x[k][i] * sign - want[k]) > 2e-6 * (0.1 + want[k]))
                fail_msg("distribution %d, p = %g: %.9g, not %.9g", k, p, (double)x[k][i], want[k]);
    }
}

/* The most extreme of 2^27 values. */
static void tails(void **state)
{
    (void)state;
    const struct cc_draw d = {.own = {{1, 2}, {1, 2}}};
    uint32_t lowest = UINT32_MAX, at = 0;
    for (uint32_t i = 0; i < 1u << 27; i++) {
        uint32_t r = cc_random(d.own[0], i) >> 1;
        at = r < lowest ? i : at;
        lowest = r < lowest ? r : lowest;
    }
    double p = ((double)lowest + 0.5) * 0x1p-32;
    float x[3];
    k_synth()->laplace(&d, at, 1, &x[0], 1);
    k_synth()->gaussian(&d, at, 1, &x[1], 1);
    k_synth()->student(&d, at, 1, &x[2], 1);
    assert_true(p < 1e-7);
    assert_true(fabs(fabs((double)x[0]) / gsl_cdf_laplace_Qinv(p, 0.70710678118654752) - 1) < 1e-5);
    assert_true(fabs(fabs((double)x[1]) / gsl_cdf_ugaussian_Qinv(p) - 1) < 1e-4);
    assert_true(fabs(fabs((double)x[2]) / gsl_cdf_tdist_Qinv(p, 4) * 1.41421356237309505 - 1) <
                1e-4);
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov-Smirnov over a whole tensor; 1.95 is exceeded by one sample in a thousand. */
static void distributions(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        struct cc_trace *t = make((enum cc_distribution)k, 256, 1, 0.5);
        size_t n = cc_trace_tensor(t, 0)->shape.n;
        float *x = load(t, 0, 3, 0);
        double rms = sqrt(k_reduce()->sum_sq(x, n) / (double)n), d = 0;
        /* Student's fourth moment is infinite, so that the sample rms varies too much. The median
         * of |x| gives the scale of every distribution. */
        float *a = cc_alloc(n * sizeof *a, NULL);
        assert_non_null(a);
        for (size_t i = 0; i < n; i++)
            a[i] = fabsf(x[i]);
        qsort(a, n, sizeof *a, ascending);
        qsort(x, n, sizeof *x, ascending);
        const double median[] = {log(2) / sqrt(2), 0.67448975, 0.74069708 / sqrt(2)};
        double scale = (double)a[n / 2] / median[k];
        assert_true(fabs(rms / scale - 1) < (k == 2 ? 0.1 : 0.02));
        for (size_t i = 0; i < n; i++)
            d = fmax(d, fabs(cdf[k]((double)x[i] / scale) - ((double)i + 0.5) / (double)n));
        assert_true(d * sqrt((double)n) < 1.95);
        free(a);
        free(x);
        cc_trace_close(t);
    }
}

static double correlation(struct cc_trace *t, size_t s, size_t k, size_t s2, size_t k2)
{
    size_t n = cc_trace_tensor(t, 0)->shape.n;
    float *x = load(t, s, k, 0), *y = load(t, s2, k2, 0);
    double dot = 0;
    for (size_t i = 0; i < n; i++)
        dot += (double)x[i] * (double)y[i];
    double c = dot / sqrt(k_reduce()->sum_sq(x, n) * k_reduce()->sum_sq(y, n));
    free(x);
    free(y);
    return c;
}

static void correlations(void **state)
{
    (void)state;
    struct cc_trace *t = make(CC_GAUSSIAN, 256, 2, 0.75);
    assert_int_equal(cc_trace_streams(t), 3);
    assert_true(fabs(correlation(t, 0, 4, 0, 5) - 0.75) < 0.02);
    assert_true(fabs(correlation(t, 0, 5, 0, 7) - 0.5) < 0.02);
    assert_true(fabs(correlation(t, 0, 5, 0, 10)) < 0.02);
    assert_true(fabs(correlation(t, 0, 5, 1, 5) - 0.09) < 0.02);
    assert_true(fabs(correlation(t, 2, 5, 2, 6) - 0.9) < 0.02);
    assert_true(fabs(correlation(t, 0, 5, 2, 5)) < 0.02);
    cc_trace_close(t);
    t = make(CC_LAPLACE, 256, 1, 0);
    assert_true(fabs(correlation(t, 0, 0, 0, 1)) < 0.02);
    cc_trace_close(t);
}

/* Rows and columns of a mixture differ in scale; divided by their scales it is Gaussian. */
static void mixture(void **state)
{
    (void)state;
    struct cc_trace *t = make(CC_MIXTURE, 64, 1, 0), *g = make(CC_GAUSSIAN, 64, 1, 0);
    float *x = load(t, 0, 0, 0), *z = load(g, 0, 0, 0);
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < 64 * 64; i++) {
        double f = (double)x[9 * i] / (double)z[9 * i];
        low = fmin(low, f);
        high = fmax(high, f);
        for (size_t k = 0; k < 9; k++)
            assert_true(fabs((double)x[9 * i + k] / (double)z[9 * i + k] / f - 1) < 1e-5);
    }
    assert_true(high / low > 4);
    free(x);
    free(z);
    cc_trace_close(t);
    cc_trace_close(g);
}

/* A digest of an array's bits */
static uint32_t digest(const float *x, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ cc_f32_bits(x[i])) * 16777619u;
    return h;
}

/* The same bits on every instruction set and, by the digests, from every compiler. */
static void same_everywhere(void **state)
{
    (void)state;
    static const uint32_t known[] = {0x560fa735, 0xd3ca1a5e, 0xed6740ab, 0x2d12ad4a};
    enum cc_isa best = cc_isa();
    for (int k = 0; k <= CC_MIXTURE; k++) {
        cc_isa_force(CC_SCALAR);
        struct cc_trace *t = make((enum cc_distribution)k, 16, 2, 0.3);
        float *x = load(t, 1, 3, 0);
        assert_int_equal(digest(x, 16 * 576), known[k]);
        for (int isa = 0; isa < CC_ISAS; isa++) {
            cc_isa_force((enum cc_isa)isa);
            struct cc_trace *u = make((enum cc_distribution)k, 16, 2, 0.3);
            float *y = load(u, 1, 3, 0);
            assert_memory_equal(x, y, 16 * 576 * sizeof *x);
            free(y);
            cc_trace_close(u);
        }
        free(x);
        cc_trace_close(t);
    }
    cc_isa_force(best);
}

/* Factors of far rows and columns are not kept, and have the values of a program that kept them
 * all; a tensor of any size takes no memory, and its first values are those of any other end. */
static void far_rows_and_columns(void **state)
{
    (void)state;
    enum { FAR = 1100000 };
    const struct cc_tensor_info tensors[] = {
        {"rows", {.n = 2 * (size_t)FAR, .dim = {FAR, 2}, .ndim = 2}},
        {"columns", {.n = 2 * (size_t)FAR, .dim = {2, FAR}, .ndim = 2}},
        {"huge", cc_shape_flat((size_t)70 << 30)}};
    const struct cc_synth config = {
        .distribution = CC_MIXTURE, .seed = 7, .steps = 2, .ranks = 1, .decay = 0.1};
    struct cc_trace *t;
    float first[1000], again[2000];
    assert_int_equal(cc_trace_synth(&config, tensors, 3, "test", &t, NULL), CC_OK);
    for (size_t i = 0; i < 2; i++) {
        static const uint32_t known[] = {0x018c396c, 0x20d2c855};
        float *x = load(t, 0, 1, i);
        assert_int_equal(digest(x, tensors[i].shape.n), known[i]);
        free(x);
    }
    assert_int_equal(cc_trace_load_first(t, 0, 1, 2, 1000, first, NULL), CC_OK);
    assert_int_equal(cc_trace_load_first(t, 0, 1, 2, 2000, again, NULL), CC_OK);
    assert_memory_equal(first, again, sizeof first);
    cc_trace_close(t);
}

static struct cc_trace *make_sparse(double zeros, enum cc_indices indices, size_t n)
{
    const struct cc_tensor_info tensor = {"w", {.n = n, .dim = {n}, .ndim = 1}};
    const struct cc_synth config = {.distribution = CC_GAUSSIAN,
                                    .seed = 7,
                                    .steps = 2,
                                    .ranks = 2,
                                    .zeros = zeros,
                                    .indices = indices};
    struct cc_trace *t;
    assert_int_equal(cc_trace_synth(&config, &tensor, 1, "test", &t, NULL), CC_OK);
    return t;
}

static size_t count_nonzeros(const float *x, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += x[i] != 0;
    return found;
}

/* How many values are zero, how long the runs of the others are, and that other ranks and steps
 * have other places, of which as many coincide as for independent draws. */
static void zeros(void **state)
{
    (void)state;
    enum { N = 640000 };
    const double shares[] = {0, 0.9, 0.99, 1};
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 4; i++) {
            const double d = 1 - shares[i];
            /* Standard deviation of a binomial number of runs, five times. */
            const double run = k == 0 ? 1 : CC_SYNTH_RUN, slack = 5 * run * sqrt(N / run * d) + 2;
            struct cc_trace *t = make_sparse(shares[i], (enum cc_indices)k, N);
            struct cc_trace *all = make_sparse(0, CC_INDICES_UNIFORM, N);
            float *x = load(t, 0, 0, 0), *y = load(t, 1, 0, 0), *z = load(t, 0, 1, 0);
            float *dense = load(all, 0, 0, 0);
            size_t both = 0, later = 0;
            assert_true(fabs((double)count_nonzeros(x, N) - N * d) <= slack);
            for (size_t v = 0; v < N; v++) {
                assert_true(x[v] == 0 || x[v] == dense[v]);
                assert_true(k == 0 || (x[v] == 0) == (x[v / CC_SYNTH_RUN * CC_SYNTH_RUN] == 0));
                both += x[v] != 0 && y[v] != 0;
                later += x[v] != 0 && z[v] != 0;
            }
            assert_true(fabs((double)both - N * d * d) <= slack);
            assert_true(fabs((double)later - N * d * d) <= slack);
            free(x);
            free(y);
            free(z);
            free(dense);
            cc_trace_close(t);
            cc_trace_close(all);
        }
    }
}

static void refused(void **state)
{
    (void)state;
    const struct cc_tensor_info tensor = {"w", {.n = 4, .dim = {4}, .ndim = 1}};
    struct cc_synth config = {.steps = 1, .ranks = 1};
    struct cc_trace *t;
    struct cc_error e;
    assert_int_equal(cc_trace_synth(&config, &tensor, 1, "l", &t, &e), CC_OK);
    assert_string_equal(cc_trace_name(t), "synthetic:laplace:l");
    assert_true(cc_trace_drawn(t));
    cc_trace_close(t);
    assert_int_equal(cc_trace_synth(&config, &tensor, 0, "l", &t, &e), CC_FAIL);
    config.decay = 1;
    assert_int_equal(cc_trace_synth(&config, &tensor, 1, "l", &t, &e), CC_FAIL);
    config.decay = 0;
    config.zeros = 1.5;
    assert_int_equal(cc_trace_synth(&config, &tensor, 1, "l", &t, &e), CC_FAIL);
    config.zeros = 0;
    config.steps = 0;
    assert_int_equal(cc_trace_synth(&config, &tensor, 1, "l", &t, &e), CC_FAIL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles),
        cmocka_unit_test(tails),
        cmocka_unit_test(distributions),
        cmocka_unit_test(correlations),
        cmocka_unit_test(mixture),
        cmocka_unit_test(same_everywhere),
        cmocka_unit_test(far_rows_and_columns),
        cmocka_unit_test(zeros),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
