/* Random rounding: its mean, its independence, and the bounds that QSGD's paper proves (Alistarh
 * and others, 2017, section 3). All draws come from fixed contexts, so a test that passes once
 * passes always. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/data.h"
#include "tests/lib/rig.h"
#include "tests/lib/settings.h"
#include "tests/lib/tier.h"

enum { VALUES = 1000 };

/* The two values that x[i] can become. */
struct pair {
    double low, high;
};

static double norm_of(const float *x, size_t n, bool l2)
{
    double most = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs((double)x[i]));
        squares += (double)x[i] * (double)x[i];
    }
    return (double)(float)(l2 ? sqrt(squares) : most);
}

static struct pair signed_pair(float x, double low, double high)
{
    return x < 0 ? (struct pair){-high, -low} : (struct pair){low, high};
}

static struct pair ternary_pair(const struct cc_spec *s, const float *x, size_t n, size_t i)
{
    (void)s;
    return signed_pair(x[i], 0, norm_of(x, n, false));
}

static struct pair natural_pair(const struct cc_spec *s, const float *x, size_t n, size_t i)
{
    (void)s;
    (void)n;
    if (x[i] == 0)
        return (struct pair){0, 1};
    const double low = exp2(floor(log2(fabs((double)x[i]))));
    return signed_pair(x[i], low, 2 * low);
}

static struct pair qsgd_pair(const struct cc_spec *s, const float *x, size_t n, size_t i)
{
    size_t bucket = (size_t)setting_int(s, "bucket");
    if (bucket == 0 || bucket > n)
        bucket = n;
    const size_t at = i / bucket * bucket;
    const double norm =
        norm_of(x + at, n - at < bucket ? n - at : bucket, setting_is(s, "norm", "l2"));
    int64_t levels = setting_int(s, "levels");
    if (levels == 0)
        levels = ((int64_t)1 << (setting_int(s, "bits") - 1)) - 1;
    if (norm == 0)
        return (struct pair){0, 1};
    const double step = norm / (double)levels, low = floor(fabs((double)x[i]) / step);
    return signed_pair(x[i], low * step, (low + 1) * step);
}

static struct pair randk_pair(const struct cc_spec *s, const float *x, size_t n, size_t i)
{
    if (x[i] == 0)
        return (struct pair){0, 1};
    const double k = fmax(1, ceil(setting_real(s, "density") * (double)n));
    return signed_pair(x[i], 0, fabs((double)x[i]) * (double)n / k);
}

/* The largest magnitude of the block of 32 values that i is in. */
static double largest_of_block(const float *x, size_t n, size_t i)
{
    const size_t at = i / 32 * 32;
    return norm_of(x + at, n - at < 32 ? n - at : 32, false);
}

static struct pair mxfp4_pair(const struct cc_spec *s, const float *x, size_t n, size_t i)
{
    static const double numbers[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, 12};
    const double largest = largest_of_block(x, n, i);
    double unit = 0x1p-60;
    size_t k = 0;
    (void)s;
    while (6 * unit < largest)
        unit *= 2;
    while (numbers[k + 1] * unit <= fabs((double)x[i]))
        k++;
    return signed_pair(x[i], numbers[k] * unit, numbers[k + 1] * unit);
}

/* Zero and powers of two. */
static struct pair e3m0_pair(const struct cc_spec *s, const float *x, size_t n, size_t i)
{
    const double largest = largest_of_block(x, n, i), v = fabs((double)x[i]);
    double unit = 0x1p-60;
    (void)s;
    while (16 * unit < largest)
        unit *= 2;
    const double low = v < unit / 4 ? 0 : exp2(floor(log2(v)));
    return signed_pair(x[i], low, low == 0 ? unit / 4 : 2 * low);
}

static struct pair int4_pair(const struct cc_spec *s, const float *x, size_t n, size_t i)
{
    const float quotient = (float)largest_of_block(x, n, i) / 7.0f;
    int exponent;
    (void)s;
    if (quotient == 0)
        return (struct pair){0, 1};
    const double fraction = frexp((double)quotient, &exponent); /* 8 bits, rounded up */
    const double step = ldexp(ceil(fraction * 256), exponent - 8);
    const double low = floor((double)(float)((double)x[i] / step)) * step;
    return (struct pair){low, low + step};
}

static struct pair bf16_pair(const struct cc_spec *s, const float *x, size_t n, size_t i)
{
    (void)s;
    (void)n;
    if (x[i] == 0)
        return (struct pair){0, 1};
    const double unit = exp2(floor(log2(fabs((double)x[i]))) - 7);
    const double low = floor(fabs((double)x[i]) / unit) * unit;
    return signed_pair(x[i], low, low + unit);
}

struct unbiased {
    const char *setting;
    struct pair (*pair)(const struct cc_spec *s, const float *x, size_t n, size_t i);
};

static const struct unbiased table[] = {
    {"ternary", ternary_pair},
    {"ternary:zre=1", ternary_pair},
    {"natural", natural_pair},
    {"qsgd", qsgd_pair},
    {"qsgd:bits=2,bucket=0", qsgd_pair},
    {"qsgd:levels=1,bucket=64,norm=l2", qsgd_pair},
    {"qsgd:levels=16,bucket=0,norm=l2", qsgd_pair},
    {"qsgd:levels=5,norm=l2,code=elias", qsgd_pair},
    {"qsgd:bits=8,code=elias", qsgd_pair},
    {"mxfp4", mxfp4_pair},
    {"fp4", mxfp4_pair},
    {"fp4:format=e3m0", e3m0_pair},
    {"int4", int4_pair},
    {"bf16:rounding=random", bf16_pair},
    {"randk:density=0.01,ef=0", randk_pair},
    {"randk:density=0.3,ef=0", randk_pair},
    {"randk:density=0.9,ef=0", randk_pair},
    {"randk:density=0.03,ef=0,draw=strata", randk_pair},
    {"randk:density=0.4,ef=0,draw=strata", randk_pair},
};
enum { ROWS = sizeof table / sizeof table[0] };

static bool of_scheme(const struct unbiased *row, const char *id)
{
    return strcspn(row->setting, ":") == strlen(id) && strncmp(row->setting, id, strlen(id)) == 0;
}

/* The flag and the table agree. */
static void every_scheme(void **state)
{
    (void)state;
    for (size_t i = 0; cc_schemes[i] != NULL; i++) {
        const struct cc_scheme *s = cc_schemes[i];
        bool listed = false;
        for (size_t r = 0; r < ROWS; r++)
            listed = listed || of_scheme(&table[r], s->id);
        if (listed != ((s->flags & CC_UNBIASED) != 0))
            fail_msg("scheme %s: %s", s->id,
                     listed ? "should be flagged CC_UNBIASED" : "is not in this test's table");
        if ((s->flags & CC_UNBIASED) != 0 && (s->flags & CC_STOCHASTIC) == 0)
            fail_msg("scheme %s: unbiased without drawing random numbers", s->id);
    }
}

/* --- the mean --- */

/* The allowed distance of a sum of `count` draws of 0 or 1 from count * p: six standard errors, and
 * for rare draws, whose sum is not normal, Bernstein's bound of the same probability (2
 * exp(-18)). */
static double allowed(double count, double p)
{
    return 6 + sqrt(36 + 36 * count * p * (1 - p));
}

static void check_mean(const struct unbiased *row, const struct rig *rig, const float *x, size_t n,
                       const double *sum, double count)
{
    for (size_t i = 0; i < n; i++) {
        const struct pair two = row->pair(rig->spec, x, n, i);
        const double value = (double)x[i], width = two.high - two.low;
        /* The probability is a float: it has an error of its own. */
        const double rounding = count * 0x1p-22 * (1 + fabs(value) / width);
        const double off = fabs(sum[i] - count * value) / width;
        const double p = fmin(1, fmax(0, (value - two.low) / width));
        const bool certain = value == two.low || value == two.high;
        if (!(off <= rounding + (certain ? 0 : allowed(count, p))))
            fail_msg("%s, n %zu: value %zu is %g, the mean of %g draws is %g; probability of %g "
                     "rather than %g is %g, off by %g draws",
                     rig->spec->name, n, i, value, count, sum[i] / count, two.high, two.low, p,
                     off);
    }
}

static void mean_of(const struct unbiased *row, size_t n, enum data_kind kind)
{
    struct rig rig;
    float x[VALUES];
    double sum[VALUES] = {0};
    const size_t count = tier_pick(1000, 1000, 10000);
    if (!rig_open(&rig, row->setting))
        return;
    const struct cc_shape shape = cc_shape_flat(n);
    data_fill(kind, n, x, n);
    rig_shape(&rig, &shape);
    for (size_t d = 0; d < count; d++) {
        const struct cc_context ctx = rig_context(d);
        const uint8_t *payload;
        const float *y;
        size_t len;
        assert_int_equal(rig_encode(&rig, &ctx, x, &payload, &len), CC_OK);
        assert_int_equal(rig_decode(&rig, &ctx, payload, len, &y), CC_OK);
        for (size_t i = 0; i < n; i++)
            sum[i] += (double)y[i];
    }
    check_mean(row, &rig, x, n, sum, (double)count);
    rig_close(&rig);
}

static void mean(void **state)
{
    static const size_t sizes[] = {1, 2, 3, 7, 17, 60, VALUES};
    (void)state;
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            mean_of(&table[r], sizes[i], DATA_GAUSSIAN);
        mean_of(&table[r], VALUES, DATA_LAPLACE);
        mean_of(&table[r], 100, DATA_TIES);
        mean_of(&table[r], 100, DATA_ONE_HOT);
    }
}

/* --- independence --- */

/* The sum of the products of the errors of two draws of the same values, one at each of two
 * contexts, over many steps, in units of its standard deviation if they are independent. `shift`
 * compares each value with the one after it instead. */
static double correlation(const struct unbiased *row, struct rig *rig, const struct cc_context *a,
                          const struct cc_context *b, size_t shift)
{
    enum { STEPS = 400 };
    float x[VALUES], first[VALUES];
    double variance[VALUES], sum = 0, expected = 0;
    const struct cc_shape shape = cc_shape_flat(VALUES);
    data_fill(DATA_GAUSSIAN, 77, x, VALUES);
    rig_shape(rig, &shape);
    for (size_t i = 0; i < VALUES; i++) {
        const struct pair two = row->pair(rig->spec, x, VALUES, i);
        variance[i] = ((double)x[i] - two.low) * (two.high - (double)x[i]);
    }
    for (uint64_t step = 0; step < STEPS; step++) {
        const struct cc_context *const both[] = {a, b};
        for (int side = 0; side < 2; side++) {
            struct cc_context ctx = *both[side];
            const uint8_t *payload;
            const float *y;
            size_t len;
            ctx.step += 2 * step;
            assert_int_equal(rig_encode(rig, &ctx, x, &payload, &len), CC_OK);
            assert_int_equal(rig_decode(rig, &ctx, payload, len, &y), CC_OK);
            for (size_t i = 0; i + shift < VALUES && side == 1; i++) {
                sum += ((double)first[i] - (double)x[i]) *
                       ((double)y[i + shift] - (double)x[i + shift]);
                expected += variance[i] * variance[i + shift];
            }
            memcpy(first, y, sizeof first);
        }
    }
    return sum / sqrt(expected);
}

static void independence(void **state)
{
    (void)state;
    for (size_t r = 0; r < ROWS; r++) {
        struct rig rig;
        if (!rig_open(&rig, table[r].setting))
            continue;
        const struct cc_context base = {.seed = 9, .rank = 2, .tensor = 4, .name = "w"};
        const bool shared = of_scheme(&table[r], "randk");
        struct cc_context other[6];
        for (size_t i = 0; i < 6; i++)
            other[i] = base;
        other[0].rank = 3;
        other[1].tensor = 5;
        other[2].direction = CC_PULL;
        other[3].seed = 10;
        other[4].step = 1;
        other[5].offset = UINT64_C(1) << 32;
        /* Both sides know randk's indices, so neither rank nor position are part of them; and
         * drawing without replacement makes neighbours slightly dependent. */
        for (size_t i = shared ? 1 : 0; i < (shared ? 5 : 6); i++) {
            const double z = correlation(&table[r], &rig, &base, &other[i], 0);
            if (!(fabs(z) < 6))
                fail_msg("%s: errors of two contexts (%zu) correlate: %g sigma", rig.spec->name, i,
                         z);
        }
        const double same = correlation(&table[r], &rig, &base, &base, 0);
        if (!(same > 6))
            fail_msg("%s: errors of the same context do not correlate", rig.spec->name);
        const double next = shared ? 0 : correlation(&table[r], &rig, &base, &base, 1);
        if (!(fabs(next) < 6))
            fail_msg("%s: errors of neighbours correlate: %g sigma", rig.spec->name, next);
        rig_close(&rig);
    }
}

/* One context, one payload; another rank, another payload. */
static void contexts(void **state)
{
    (void)state;
    for (size_t r = 0; r < ROWS; r++) {
        struct rig rig;
        if (!rig_open(&rig, table[r].setting))
            continue;
        const struct cc_shape shape = cc_shape_flat(VALUES);
        float x[VALUES];
        uint8_t *kept = NULL;
        size_t kept_len = 0;
        data_fill(DATA_GAUSSIAN, 5, x, VALUES);
        for (int i = 0; i < 3; i++) {
            struct cc_context ctx = rig_context(0);
            const uint8_t *payload;
            size_t len;
            ctx.rank = i < 2 ? 0 : 1;
            ctx.name = i == 1 ? "another name" : NULL;
            rig_shape(&rig, &shape);
            assert_int_equal(rig_encode(&rig, &ctx, x, &payload, &len), CC_OK);
            if (i == 0) {
                kept = malloc(len);
                kept_len = len;
                memcpy(kept, payload, len);
            }
            const bool same = len == kept_len && memcmp(kept, payload, len) == 0;
            assert_int_equal(same, i < 2 || of_scheme(&table[r], "randk"));
        }
        free(kept);
        rig_close(&rig);
    }
}

/* Each pair of indices is drawn as often as any other. */
static void randk_pairs(void **state)
{
    static const size_t sizes[] = {64, 81, 100};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const size_t n = sizes[s], count = tier_pick(1000, 1000, 10000);
        struct rig rig;
        float x[100];
        static double together[100][100];
        if (!rig_open(&rig, "randk:density=0.4,ef=0"))
            return;
        const struct cc_shape shape = cc_shape_flat(n);
        memset(together, 0, sizeof together);
        for (size_t i = 0; i < n; i++)
            x[i] = 1;
        rig_shape(&rig, &shape);
        for (size_t d = 0; d < count; d++) {
            const struct cc_context ctx = rig_context(d);
            const uint8_t *payload;
            const float *y;
            size_t len;
            assert_int_equal(rig_encode(&rig, &ctx, x, &payload, &len), CC_OK);
            assert_int_equal(rig_decode(&rig, &ctx, payload, len, &y), CC_OK);
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < i; j++)
                    together[i][j] += y[i] != 0 && y[j] != 0;
        }
        const double k = ceil(0.4 * (double)n), size = (double)n;
        const double p = k * (k - 1) / (size * (size - 1));
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++)
                if (!(fabs(together[i][j] - (double)count * p) <= allowed((double)count, p)))
                    fail_msg("n %zu: indices %zu and %zu were drawn together %g times of %zu, not "
                             "about %g",
                             n, i, j, together[i][j], count, (double)count * p);
        rig_close(&rig);
    }
}

/* Draws k of n indices `count` times, and counts the draws of each index. */
static void count_drawn(struct rig *rig, size_t n, size_t k, size_t count, double *times)
{
    const struct cc_shape shape = cc_shape_flat(n);
    float x[64];
    for (size_t i = 0; i < n; i++)
        x[i] = (float)i * (float)((double)k / (double)n);
    rig_shape(rig, &shape);
    for (size_t d = 0; d < count; d++) {
        struct cc_context ctx = rig_context(d);
        ctx.seed += 1000 * n; /* different draws for each n */
        const uint8_t *payload;
        size_t len;
        assert_int_equal(rig_encode(rig, &ctx, x, &payload, &len), CC_OK);
        assert_int_equal(len, sizeof(float) * k);
        for (size_t j = 0; j < k; j++) {
            float index;
            memcpy(&index, payload + sizeof index * j, sizeof index);
            times[lrintf(index)]++;
        }
    }
}

/* Each index is drawn as often as any other. For k of n without replacement, (n - 1) / n times the
 * sum of (observed - expected)^2 / (expected (1 - k / n)) is chi-square with n - 1 degrees of
 * freedom. With four rounds instead of eight n = 49 is off by 7 deviations. */
static void randk_even(void **state)
{
    (void)state;
    const size_t count = 4 * tier_pick(1000, 1000, 10000);
    double all = 0, freedom = 0;
    struct rig rig;
    if (!rig_open(&rig, "randk:density=0.4,ef=0"))
        return;
    for (size_t n = 2; n <= 64; n++) {
        const double size = (double)n, k = ceil(0.4 * size), expected = (double)count * k / size;
        double times[64] = {0}, sum = 0;
        count_drawn(&rig, n, (size_t)k, count, times);
        for (size_t i = 0; i < n; i++)
            sum += (times[i] - expected) * (times[i] - expected) / (expected * (1 - k / size));
        sum *= (size - 1) / size;
        all += sum;
        freedom += size - 1;
        if (!(gsl_cdf_chisq_Q(sum, size - 1) > 1e-6))
            fail_msg("n %zu: chi-square with %zu degrees of freedom is %g", n, n - 1, sum);
    }
    if (!(gsl_cdf_chisq_Q(all, freedom) > 1e-4))
        fail_msg("all n: chi-square with %g degrees of freedom is %g", freedom, all);
    rig_close(&rig);
}

/* --- QSGD's bounds --- */

struct statistics {
    double count, sum, squares;
};

static void add(struct statistics *m, double v)
{
    m->count += 1;
    m->sum += v;
    m->squares += v * v;
}

static double mean_value(const struct statistics *m)
{
    return m->sum / m->count;
}

static double standard_error(const struct statistics *m)
{
    const double variance = m->squares / m->count - mean_value(m) * mean_value(m);
    return sqrt(fmax(0, variance) / m->count);
}

/* Statistics of many draws of one vector: ||Q(v) - v||^2 / ||v||^2, nonzero values, payload
 * bits. */
static void qsgd_statistics(struct rig *rig, const float *x, size_t n, size_t count,
                            struct statistics *error, struct statistics *nonzero,
                            struct statistics *bits)
{
    const struct cc_shape shape = cc_shape_flat(n);
    double square = 0;
    for (size_t i = 0; i < n; i++)
        square += (double)x[i] * (double)x[i];
    rig_shape(rig, &shape);
    for (size_t d = 0; d < count; d++) {
        const struct cc_context ctx = rig_context(d);
        const uint8_t *payload;
        const float *y;
        size_t len;
        double off = 0, kept = 0;
        assert_int_equal(rig_encode(rig, &ctx, x, &payload, &len), CC_OK);
        assert_int_equal(rig_decode(rig, &ctx, payload, len, &y), CC_OK);
        for (size_t i = 0; i < n; i++) {
            off += ((double)y[i] - (double)x[i]) * ((double)y[i] - (double)x[i]);
            kept += y[i] != 0;
        }
        add(error, off / square);
        add(nonzero, kept);
        add(bits, 8 * (double)len);
    }
}

/* Lemma 3.1: E||Q(v) - v||^2 <= min(n / s^2, sqrt(n) / s) ||v||^2, E||Q(v)||_0 <= s (s + sqrt(n)).
 */
static void lemma_3_1(void **state)
{
    static const size_t sizes[] = {1, 10, 100, 1000, 10000};
    static const int levels[] = {1, 2, 4, 10, 32, 100};
    static const enum data_kind kinds[] = {DATA_GAUSSIAN, DATA_LAPLACE, DATA_CONSTANT,
                                           DATA_ONE_HOT};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
            const size_t n = sizes[i], count = n > 1000 ? tier_pick(1000, 1000, 10000) / 50
                                                        : tier_pick(1000, 1000, 10000) / 10;
            const double s = levels[l], root = sqrt((double)n);
            char setting[64];
            struct rig rig;
            float x[10000];
            (void)snprintf(setting, sizeof setting, "qsgd:levels=%d,bucket=0,norm=l2", levels[l]);
            if (!rig_open(&rig, setting))
                return;
            for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
                struct statistics error = {0}, nonzero = {0}, bits = {0};
                data_fill(kinds[k], 3, x, n);
                qsgd_statistics(&rig, x, n, count, &error, &nonzero, &bits);
                if (mean_value(&error) >
                    fmin((double)n / (s * s), root / s) + 6 * standard_error(&error))
                    fail_msg("n %zu, s %g, %s: variance %g ||v||^2", n, s, data_name(kinds[k]),
                             mean_value(&error));
                if (mean_value(&nonzero) > s * (s + root) + 6 * standard_error(&nonzero))
                    fail_msg("n %zu, s %g, %s: %g nonzero values", n, s, data_name(kinds[k]),
                             mean_value(&nonzero));
            }
            rig_close(&rig);
        }
    }
}

/* Bits of v in Elias's omega code. */
static double omega_bits(double v)
{
    double bits = 1;
    while (v >= 2) {
        bits += floor(log2(v)) + 1;
        v = floor(log2(v));
    }
    return bits;
}

/* Corollary 3.3: with s = sqrt(n), 2.8 n + 32 bits on average. The 32 are the norm. The paper's
 * string has no count of its entries and no padding, a payload has: so omega(n + 1) bits, which no
 * count exceeds, and 7 bits of padding are allowed on top. From n = 4096 on they are small against
 * the distance to the bound, and nothing is allowed. (Gaussian values take 2.76 n. Not every vector
 * stays below with a code of distances: values of one magnitude take 3 n.) */
static void corollary_3_3(void **state)
{
    static const int levels[] = {4, 8, 16, 32, 64, 100, 256};
    static const enum data_kind kinds[] = {DATA_GAUSSIAN, DATA_LAPLACE};
    (void)state;
    float *x = malloc(65536 * sizeof *x);
    for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
        const size_t n = (size_t)levels[l] * (size_t)levels[l];
        char setting[64];
        struct rig rig;
        (void)snprintf(setting, sizeof setting, "qsgd:levels=%d,bucket=0,norm=l2,code=elias",
                       levels[l]);
        if (!rig_open(&rig, setting))
            break;
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            struct statistics error = {0}, nonzero = {0}, bits = {0};
            for (uint64_t vector = 0; vector < 20; vector++) {
                data_fill(kinds[k], vector, x, n);
                qsgd_statistics(&rig, x, n, n > 4096 ? 5 : 100, &error, &nonzero, &bits);
            }
            const double extra = n < 4096 ? omega_bits((double)n + 1) + 7 : 0;
            if (!(mean_value(&bits) <= 2.8 * (double)n + 32 + extra))
                fail_msg("n %zu, %s: %g bits on average, %g a value", n, data_name(kinds[k]),
                         mean_value(&bits), mean_value(&bits) / (double)n);
        }
        rig_close(&rig);
    }
    free(x);
}

int main(int argc, char **argv)
{
    const struct rig_test tests[] = {
        {"every_scheme", every_scheme, NULL}, {"mean", mean, NULL},
        {"independence", independence, NULL}, {"contexts", contexts, NULL},
        {"randk_pairs", randk_pairs, NULL},   {"randk_even", randk_even, NULL},
        {"lemma_3_1", lemma_3_1, NULL},       {"corollary_3_3", corollary_3_3, NULL},
    };
    return rig_run("random rounding", tests, sizeof tests / sizeof tests[0], argc, argv);
}
