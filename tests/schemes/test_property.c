/* Properties that every scheme has, independent of its payload. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/isa.h"
#include "tests/lib/data.h"
#include "tests/lib/rig.h"
#include "tests/lib/settings.h"
#include "tests/lib/tier.h"

/* --- transcripts: all output bytes of a sequence of steps --- */

struct transcript {
    uint8_t *at;
    size_t len, capacity;
};

static void record(struct transcript *t, const void *bytes, size_t count)
{
    if (t->len + count > t->capacity) {
        t->capacity = 2 * (t->len + count);
        t->at = realloc(t->at, t->capacity);
        assert_non_null(t->at);
    }
    if (count > 0)
        memcpy(t->at + t->len, bytes, count);
    t->len += count;
}

/* The gradients of a sequence of steps, step by step: the same for all manners. */
static float *new_gradients(enum data_kind kind, uint64_t steps, size_t n)
{
    float *x = malloc((steps * n + 1) * sizeof *x);
    for (uint64_t step = 0; step < steps; step++)
        data_fill(kind, step, x + step * n, n);
    return x;
}

/* Differences between runs; none of them may change a byte. */
struct manner {
    bool front; /* buffers at the other end of their pages */
    bool dirty; /* other contents of the scratch memory for each call */
    bool move;  /* the state moves between the steps */
    enum cc_isa isa;
};

static void write_transcript(struct rig *rig, const struct cc_shape *shape, const float *gradients,
                             uint64_t steps, const struct manner *config, struct transcript *t)
{
    const size_t n = shape->n;
    cc_isa_force(config->isa);
    t->len = 0;
    rig->front = config->front;
    rig_shape(rig, shape);
    for (uint64_t step = 0; step < steps; step++) {
        const struct cc_context ctx = rig_context(step);
        const uint8_t *payload;
        const float *y;
        size_t len;
        if (config->dirty)
            rig_dirty(rig, (int)(0x11 * (step + 1)));
        const int status = rig_encode(rig, &ctx, gradients + step * n, &payload, &len);
        record(t, &status, sizeof status);
        if (status != CC_OK) {
            record(t, rig->e.text, strlen(rig->e.text));
            break;
        }
        record(t, &len, sizeof len);
        record(t, payload, len);
        record(t, rig->codec.state, cc_state_bytes(&rig->codec));
        if (config->dirty)
            rig_dirty(rig, (int)(0x11 * (step + 2)));
        assert_int_equal(rig_decode(rig, &ctx, payload, len, &y), CC_OK);
        record(t, y, n * sizeof *y);
        assert_int_equal(rig_decode_add(rig, &ctx, payload, len, -1.5f, &y), CC_OK);
        record(t, y, n * sizeof *y);
        if (config->move)
            rig_move_state(rig);
    }
}

static void compare_manner(struct rig *rig, const struct cc_shape *shape, enum data_kind kind,
                           const float *gradients, uint64_t steps, const struct manner *config,
                           const struct transcript *plain)
{
    struct transcript other = {0};
    write_transcript(rig, shape, gradients, steps, config, &other);
    size_t same = 0;
    if (other.len == plain->len && memcmp(other.at, plain->at, plain->len) == 0)
        same = plain->len;
    while (same < other.len && same < plain->len && other.at[same] == plain->at[same])
        same++;
    if (same != plain->len || same != other.len)
        fail_msg("%s, n %zu, %s, %s%s%s%s: byte %zu of the transcript (of %zu, %zu) differs",
                 rig->spec->name, shape->n, data_name(kind), cc_isa_name(config->isa),
                 config->front ? ", other end of the pages" : "",
                 config->dirty ? ", other rubbish in the scratch memory" : "",
                 config->move ? ", state moved" : "", same, plain->len, other.len);
    free(other.at);
}

static void compare_all(struct rig *rig, const struct cc_shape *shape, enum data_kind kind,
                        uint64_t steps, bool isas_only)
{
    const enum cc_isa best = cc_isa();
    struct transcript plain = {0};
    float *x = new_gradients(kind, steps, shape->n);
    write_transcript(rig, shape, x, steps, &(struct manner){.isa = CC_SCALAR}, &plain);
    for (int isa = 1; isa < CC_ISAS; isa++) {
        struct manner config = {.front = isa == CC_AVX2, .isa = (enum cc_isa)isa};
        if (cc_isa_has(config.isa))
            compare_manner(rig, shape, kind, x, steps, &config, &plain);
    }
    struct manner config = {.isa = best, .dirty = true, .move = true};
    if (!isas_only)
        compare_manner(rig, shape, kind, x, steps, &config, &plain);
    cc_isa_force(best);
    free(plain.at);
    free(x);
}

/* Every length, as each has its own tails and padding. */
static void every_length(void **state)
{
    struct rig rig;
    assert_true(rig_open(&rig, *state));
    for (size_t n = 0; n <= 300; n += tier_pick(23, 5, 1)) {
        const struct cc_shape shape = cc_shape_flat(n);
        compare_all(&rig, &shape, n % 2 == 0 ? DATA_LAPLACE : DATA_TIES, 2, true);
    }
    rig_close(&rig);
}

static void every_manner(void **state)
{
    struct rig rig;
    uint64_t seed = 3;
    assert_true(rig_open(&rig, *state));
    for (int kind = 0; kind < DATA_KINDS; kind++) {
        for (int i = (int)tier_pick(9, 8, 0); i < 10; i++) {
            const size_t most = i == 9 && kind % 4 == 0 ? 200000 : 5000;
            const struct cc_shape shape = cc_shape_flat(1 + (size_t)(data_random(&seed) % most));
            compare_all(&rig, &shape, (enum data_kind)kind, 4, false);
        }
        struct cc_shape matrix;
        assert_int_equal(cc_shape_parse("37x2x29", &matrix, NULL), CC_OK);
        compare_all(&rig, &matrix, (enum data_kind)kind, 3, false);
    }
    /* Large enough to be sampled. */
    const struct cc_shape shape = cc_shape_flat(400001);
    if (strcmp(rig.spec->scheme->id, "sparse") == 0)
        compare_all(&rig, &shape, DATA_GAUSSIAN, 2, false);
    rig_close(&rig);
}

/* --- decoded values --- */

/* The decoded value and the new residual make up the encoded value, exactly as floats subtract. */
static void residual_identity(void **state)
{
    struct rig rig;
    assert_true(rig_open(&rig, *state));
    const struct cc_shape shape = {.n = 1200, .dim = {30, 40}, .ndim = 2};
    float *x = malloc(shape.n * sizeof *x);
    const bool decays = setting_has(rig.spec, "decay");
    const float decay = decays ? (float)setting_real(rig.spec, "decay") : 1;
    rig_shape(&rig, &shape);
    for (uint64_t step = 0; step < 8 && rig_residual(&rig) != NULL; step++) {
        const struct cc_context ctx = rig_context(step);
        const uint8_t *payload;
        const float *y, *residual = rig_residual(&rig);
        size_t len;
        data_fill(step % 2 == 0 ? DATA_LAPLACE : DATA_GAUSSIAN, step, x, shape.n);
        float *sum = malloc(shape.n * sizeof *sum);
        for (size_t i = 0; i < shape.n; i++) {
            const float product = decay * residual[i];
            sum[i] = x[i] + product;
        }
        assert_int_equal(rig_encode(&rig, &ctx, x, &payload, &len), CC_OK);
        assert_int_equal(rig_decode(&rig, &ctx, payload, len, &y), CC_OK);
        for (size_t i = 0; i < shape.n; i++)
            if (!rig_same(sum[i] - y[i], residual[i]))
                fail_msg("%s, step %d: value %zu: %a was encoded, %a decoded, residual %a",
                         rig.spec->name, (int)step, i, (double)sum[i], (double)y[i],
                         (double)residual[i]);
        free(sum);
    }
    free(x);
    rig_close(&rig);
}

/* Lossless schemes return the bits; all schemes return finite values. */
static void round_trip(void **state)
{
    struct rig rig;
    assert_true(rig_open(&rig, *state));
    const struct cc_shape shape = cc_shape_flat(1003);
    float x[1003];
    for (int kind = 0; kind < DATA_KINDS; kind++) {
        const struct cc_context ctx = rig_context(5);
        const uint8_t *payload;
        const float *y;
        size_t len;
        data_fill((enum data_kind)kind, 1, x, shape.n);
        rig_shape(&rig, &shape);
        if (rig_encode(&rig, &ctx, x, &payload, &len) != CC_OK)
            continue; /* test_reference.c checks which must be refused */
        assert_int_equal(rig_decode(&rig, &ctx, payload, len, &y), CC_OK);
        const bool exact =
            (rig.spec->scheme->flags & CC_LOSSY) == 0 && rig.spec->scheme->period == NULL;
        for (size_t i = 0; i < shape.n; i++)
            if (!isfinite(y[i]) || (exact && !rig_same(x[i], y[i])))
                fail_msg("%s, %s: value %zu: %a comes back as %a", rig.spec->name,
                         data_name((enum data_kind)kind), i, (double)x[i], (double)y[i]);
    }
    rig_close(&rig);
}

static void empty(void **state)
{
    struct rig rig;
    assert_true(rig_open(&rig, *state));
    const struct cc_shape shape = cc_shape_flat(0);
    rig_shape(&rig, &shape);
    for (uint64_t step = 0; step < 6; step++) {
        const struct cc_context ctx = rig_context(step);
        const uint8_t *payload, one[1] = {0};
        const float *y;
        size_t len;
        assert_int_equal(rig_encode(&rig, &ctx, NULL, &payload, &len), CC_OK);
        assert_int_equal(len, 0);
        assert_int_equal(rig_decode(&rig, &ctx, payload, 0, &y), CC_OK);
        assert_int_equal(rig_decode_add(&rig, &ctx, payload, 0, 2, &y), CC_OK);
        assert_int_equal(rig_decode(&rig, &ctx, one, 1, &y), CC_FAIL);
        assert_int_equal(rig_decode_add(&rig, &ctx, one, 1, 2, &y), CC_FAIL);
    }
    rig_close(&rig);
}

/* Less room than the bound is refused, and nothing is written. */
static void short_output(void **state)
{
    struct rig rig;
    assert_true(rig_open(&rig, *state));
    const struct cc_shape shape = cc_shape_flat(77);
    const struct cc_context ctx = rig_context(5);
    float x[77];
    uint8_t out[1] = {0x3c};
    size_t len = 12345;
    data_fill(DATA_LAPLACE, 1, x, shape.n);
    rig_shape(&rig, &shape);
    for (size_t short_by = 1; short_by < cc_bound(&rig.codec); short_by += 40)
        assert_int_equal(
            cc_encode(&rig.codec, &ctx, x, out, cc_bound(&rig.codec) - short_by, &len, &rig.e),
            CC_FAIL);
    assert_int_equal(out[0], 0x3c);
    assert_int_equal(len, 12345);
    rig_close(&rig);
}

/* --- scale --- */

/* Scaling x by a power of two scales the decoded values alike, except where a parameter is a
 * magnitude. */
static void scale(void **state)
{
    struct rig rig;
    float x[1200], y[4][1200];
    assert_true(rig_open(&rig, *state));
    const struct cc_shape shape = {.n = 1200, .dim = {30, 40}, .ndim = 2};
    const float factors[] = {1, 8, 0.0625f};
    for (int f = 0; f < 3 && rig.spec->scheme->absolute_param == NULL; f++) {
        rig_shape(&rig, &shape);
        for (uint64_t step = 0; step < 4; step++) {
            const struct cc_context ctx = rig_context(step);
            const uint8_t *payload;
            const float *decoded;
            size_t len;
            data_fill(DATA_MODERATE, step, x, shape.n);
            for (size_t i = 0; i < shape.n; i++)
                x[i] *= factors[f];
            assert_int_equal(rig_encode(&rig, &ctx, x, &payload, &len), CC_OK);
            assert_int_equal(rig_decode(&rig, &ctx, payload, len, &decoded), CC_OK);
            for (size_t i = 0; i < shape.n; i++) {
                if (f == 0)
                    y[step][i] = decoded[i];
                else if (decoded[i] != y[step][i] * factors[f])
                    fail_msg("%s, step %d, times %g: value %zu decodes to %a, not %a times that",
                             rig.spec->name, (int)step, (double)factors[f], i, (double)decoded[i],
                             (double)y[step][i]);
            }
        }
    }
    rig_close(&rig);
}

/* --- refusals --- */

static void refuses(struct rig *rig, uint64_t step, size_t n, size_t at, float bad)
{
    const struct cc_shape shape = cc_shape_flat(n);
    float *x = malloc(n * sizeof *x);
    rig_shape(rig, &shape);
    for (uint64_t s = 0; s <= step; s++) {
        const struct cc_context ctx = rig_context(s);
        const uint8_t *payload;
        char index[32];
        size_t len;
        data_fill(DATA_LAPLACE, s, x, n);
        if (s == step)
            x[at] = bad;
        const int status = rig_encode(rig, &ctx, x, &payload, &len);
        assert_int_equal(status, s == step ? CC_FAIL : CC_OK);
        (void)snprintf(index, sizeof index, "index %llu", (unsigned long long)ctx.offset + at);
        if (s == step &&
            (strstr(rig->e.text, "'layer1.weight'") == NULL || strstr(rig->e.text, index) == NULL))
            fail_msg("%s, n %zu: the message '%s' does not name the tensor and %s", rig->spec->name,
                     n, rig->e.text, index);
    }
    free(x);
}

static void not_finite(void **state)
{
    static const size_t sizes[] = {1, 3, 17, 70, 600, 5000};
    const float bad[] = {NAN, INFINITY, -INFINITY};
    const enum cc_isa best = cc_isa();
    struct rig rig;
    assert_true(rig_open(&rig, *state));
    for (int isa = 0; isa < CC_ISAS; isa++) {
        if (!cc_isa_has((enum cc_isa)isa))
            continue;
        cc_isa_force((enum cc_isa)isa);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            const size_t n = sizes[i], places[] = {0, n / 3, n / 2, n - 1};
            for (size_t p = 0; p < 4; p++)
                for (size_t b = 0; b < 3; b++)
                    refuses(&rig, (p + b + i) % 4, n, places[p], bad[b]);
        }
    }
    cc_isa_force(best);
    rig_close(&rig);
}

/* --- payloads that may be summed --- */

/* The sum of two ranks' payloads, taken as floats, decodes to the sum of their decoded values. */
static void summable(void **state)
{
    struct rig rig;
    assert_true(rig_open(&rig, *state));
    const struct cc_shape shape = cc_shape_flat(777);
    float x[777], sum[777], y[2][777];
    size_t length[2] = {0, 0};
    for (int rank = 0; rank < 2 && rig.spec->scheme->kind == CC_SUM_F32; rank++) {
        struct cc_context ctx = rig_context(1);
        const uint8_t *payload;
        const float *decoded;
        ctx.rank = rank;
        data_fill(DATA_LAPLACE, (uint64_t)rank, x, shape.n);
        rig_shape(&rig, &shape);
        assert_int_equal(rig_encode(&rig, &ctx, x, &payload, &length[rank]), CC_OK);
        assert_int_equal(rig_decode(&rig, &ctx, payload, length[rank], &decoded), CC_OK);
        memcpy(y[rank], decoded, sizeof y[rank]);
        for (size_t i = 0; i < length[rank] / sizeof(float); i++) {
            float value;
            memcpy(&value, payload + i * sizeof value, sizeof value);
            sum[i] = rank == 0 ? value : sum[i] + value;
        }
        if (rank == 0)
            continue;
        assert_int_equal(length[0], length[1]);
        assert_int_equal(rig_decode(&rig, &ctx, (const uint8_t *)sum, length[0], &decoded), CC_OK);
        for (size_t i = 0; i < shape.n; i++)
            if (decoded[i] != y[0][i] + y[1][i])
                fail_msg("%s: value %zu: %a and %a, but their sum decodes to %a", rig.spec->name, i,
                         (double)y[0][i], (double)y[1][i], (double)decoded[i]);
    }
    rig_close(&rig);
}

/* --- period --- */

static void period(void **state)
{
    struct rig rig;
    assert_true(rig_open(&rig, *state));
    const struct cc_shape shape = cc_shape_flat(900);
    const size_t every = cc_period(rig.spec->scheme, rig.spec->params);
    bool sent[64] = {false}, any = false;
    float x[900];
    assert_in_range(every, 1, 12);
    rig_shape(&rig, &shape);
    for (uint64_t step = 0; step < 4 * every; step++) {
        const struct cc_context ctx = rig_context(step);
        const uint8_t *payload;
        size_t len;
        data_fill(DATA_GAUSSIAN, step, x, shape.n);
        assert_int_equal(rig_encode(&rig, &ctx, x, &payload, &len), CC_OK);
        sent[step] = len > 0;
        any = any || len > 0;
        if (cc_sized_by_shape(rig.spec->scheme, rig.spec->params) && len > 0)
            assert_int_equal(len, cc_bound(&rig.codec));
        if (step >= every)
            assert_int_equal(sent[step], sent[step - every]);
        if (every == 1)
            assert_true(sent[step]);
    }
    assert_true(any);
    rig_close(&rig);
}

/* --- 3lc's bound --- */

static void threelc_error(void **state)
{
    struct rig rig;
    assert_true(rig_open(&rig, *state));
    const struct cc_shape shape = cc_shape_flat(5000);
    const size_t block = (size_t)setting_int(rig.spec, "block");
    float x[5000], of_block[5000];
    for (int kind = 0; kind < DATA_KINDS; kind++) {
        const struct cc_context ctx = rig_context(0);
        const uint8_t *payload;
        const float *y;
        size_t len;
        data_fill((enum data_kind)kind, 9, x, shape.n);
        rig_shape(&rig, &shape);
        assert_int_equal(rig_encode(&rig, &ctx, x, &payload, &len), CC_OK);
        memcpy(of_block, payload,
               (block > 0 ? (shape.n + block - 1) / block : 1) * sizeof *of_block);
        assert_int_equal(rig_decode(&rig, &ctx, payload, len, &y), CC_OK);
        for (size_t i = 0; i < shape.n; i++) {
            const float m = of_block[block > 0 ? i / block : 0];
            /* m * 0.5f rounds where it is denormal. */
            if (fabs((double)x[i] - (double)y[i]) > (double)m / 2 + 0x1p-150)
                fail_msg("%s, %s: value %zu: %a decodes to %a, m is %a", rig.spec->name,
                         data_name((enum data_kind)kind), i, (double)x[i], (double)y[i], (double)m);
        }
    }
    rig_close(&rig);
}

/* --- the values that sparse keeps --- */

/* The number of kept values is k if the selection is exact, within a tenth of it if sampled; kept
 * values are at least as large as the others. */
static void sparse_density(void **state)
{
    enum { N = 150000 };
    struct rig rig;
    assert_true(rig_open(&rig, *state));
    const struct cc_shape shape = cc_shape_flat(N);
    const double k = ceil(setting_real(rig.spec, "density") * N);
    const bool exact = setting_is(rig.spec, "select", "exact");
    float *x = malloc(N * sizeof *x);
    for (uint64_t step = 0; step < 3; step++) {
        const struct cc_context ctx = rig_context(step);
        const uint8_t *payload;
        const float *y;
        size_t len, kept = 0;
        float least = INFINITY, most = 0;
        data_fill(step == 0 ? DATA_GAUSSIAN : DATA_LAPLACE, step, x, N);
        rig_shape(&rig, &shape);
        assert_int_equal(rig_encode(&rig, &ctx, x, &payload, &len), CC_OK);
        assert_int_equal(rig_decode(&rig, &ctx, payload, len, &y), CC_OK);
        for (size_t i = 0; i < N; i++) {
            kept += y[i] != 0;
            if (y[i] != 0)
                least = fminf(least, fabsf(x[i]));
            else
                most = fmaxf(most, fabsf(x[i]));
        }
        if (fabs((double)kept - k) > (exact ? 0 : k / 10) || least < most)
            fail_msg("%s: %zu kept, k is %g, the least kept is %a, the most left is %a",
                     rig.spec->name, kept, k, (double)least, (double)most);
    }
    free(x);
    rig_close(&rig);
}

/* --- powersgd's factors --- */

/* The columns of P are orthonormal, and Q = transpose(M) P. */
static void powersgd_factors(void **state)
{
    enum { ROWS = 60, COLS = 50 };
    struct rig rig;
    assert_true(rig_open(&rig, *state));
    const struct cc_shape shape = {.n = ROWS * COLS, .dim = {ROWS, COLS}, .ndim = 2};
    const size_t rank = (size_t)setting_int(rig.spec, "rank");
    float M[ROWS * COLS], P[ROWS * 8], Q[COLS * 8];
    assert_in_range(rank, 1, 8);
    rig_shape(&rig, &shape);
    for (uint64_t step = 0; step < 3; step++) {
        const struct cc_context ctx = rig_context(step);
        const float *residual = rig_residual(&rig);
        const uint8_t *payload;
        float gradient[ROWS * COLS];
        size_t len;
        data_fill(DATA_GAUSSIAN, step, gradient, shape.n);
        for (size_t i = 0; i < shape.n; i++)
            M[i] = residual == NULL ? gradient[i] : gradient[i] + residual[i];
        assert_int_equal(rig_encode(&rig, &ctx, gradient, &payload, &len), CC_OK);
        memcpy(P, payload, ROWS * rank * sizeof *P);
        memcpy(Q, payload + ROWS * rank * sizeof *P, COLS * rank * sizeof *Q);
        for (size_t a = 0; a < rank; a++) {
            for (size_t b = 0; b < rank; b++) {
                double dot = 0;
                for (size_t i = 0; i < ROWS; i++)
                    dot += (double)P[i * rank + a] * (double)P[i * rank + b];
                assert_true(fabs(dot - (a == b)) < 1e-6);
            }
            for (size_t j = 0; j < COLS; j++) {
                double dot = 0;
                for (size_t i = 0; i < ROWS; i++)
                    dot += (double)M[i * COLS + j] * (double)P[i * rank + a];
                assert_true(fabs(dot - (double)Q[j * rank + a]) < 1e-6 * (1 + fabs(dot)));
            }
        }
    }
    rig_close(&rig);
}

int main(int argc, char **argv)
{
    const struct rig_test tests[] = {
        {"every_length", every_length, ""},
        {"every_manner", every_manner, ""},
        {"residual_identity", residual_identity, ""},
        {"round_trip", round_trip, ""},
        {"empty", empty, ""},
        {"short_output", short_output, ""},
        {"scale", scale, ""},
        {"not_finite", not_finite, ""},
        {"summable", summable, ""},
        {"period", period, ""},
        {"powersgd_factors", powersgd_factors, "powersgd"},
        {"sparse_density", sparse_density, "sparse"},
        {"threelc_error", threelc_error, "3lc"},
    };
    return rig_run("properties", tests, sizeof tests / sizeof tests[0], argc, argv);
}
