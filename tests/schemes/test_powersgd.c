/* powersgd against factors worked out by hand from docs/payloads.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "tests/lib/kit.h"
#include "tests/lib/text.h"

/* M = u v with u = (1 2 2 0), |u| = 3, and v = (3 6 0 -3). The first Q is
 * (-0.90012205 -0.97599196 -0.35298181 -0.51925504), and its product with v is -6.998...: below
 * zero. So P = M Q points against u: P = -u / 3, and Q = transpose(M) P = -3 v. The rounding of
 * 1/3 and 2/3 to binary32 is too small to show in Q. */
static const float rank_one[] = {3, 6, 0, -3, 6, 12, 0, -6, 6, 12, 0, -6, 0, 0, 0, 0};
static const float rank_one_factors[] = {-1 / 3.0f, -2 / 3.0f, -2 / 3.0f, 0, -9, -18, 0, 9};

static void rank_one_by_hand(void **state)
{
    (void)state;
    struct kit k = kit_open("powersgd:rank=1", kit_matrix(4, 4));
    assert_int_equal(kit_encode(&k, rank_one), CC_OK);
    kit_expect(&k, rank_one_factors, sizeof rank_one_factors);
    assert_int_equal(kit_decode(&k, k.payload, k.len), CC_OK);
    for (size_t i = 0; i < 16; i++)
        assert_true(fabsf(k.y[i] - rank_one[i]) < 1e-6f);
    kit_close(&k);

    /* The second column has nothing to add: it is zero in both factors. */
    float wide[6 * 6];
    for (size_t i = 0; i < 36; i++)
        wide[i] = (float)(i / 6 + 1) * (float)(i % 6);
    k = kit_open("powersgd:rank=2", kit_matrix(6, 6));
    assert_int_equal(kit_encode(&k, wide), CC_OK);
    assert_int_equal(k.len, 2 * (6 + 6) * 4);
    for (size_t i = 0; i < 12; i++)
        assert_true(cc_get_f32(k.payload + 4 * (2 * i + 1)) == 0);
    kit_close(&k);
}

/* Rows of Q follow those of P; y = P[i][0] * Q[j][0] + P[i][1] * Q[j][1]. */
static void decodes_by_hand(void **state)
{
    (void)state;
    const float factors[] = {1, 0, 0, 1, 1, 1, 2, -1, 0.5f, 0, /* P, 5 x 2 */
                             1, 2, 3, 4, 5, 6, 7, 8,  9,    10 /* Q, 5 x 2 */};
    const float want[] = {1,  3,  5, 7, 9, 2, 4, 6,    8,    10,   3,    7,   11,
                          15, 19, 0, 2, 4, 6, 8, 0.5f, 1.5f, 2.5f, 3.5f, 4.5f};
    struct kit k = kit_open("powersgd:rank=2", kit_matrix(5, 5));
    assert_int_equal(kit_decode(&k, factors, sizeof factors), CC_OK);
    kit_expect_values(&k, want);
    assert_int_equal(kit_decode_add(&k, factors, sizeof factors, -1.0f), CC_OK);
    for (size_t i = 0; i < 25; i++)
        assert_true(k.y[i] == 0);
    kit_expect_refusal(&k, factors, sizeof factors - 1, "byte 79");
    kit_expect_refusal(&k, factors, 0, "byte 0");
    kit_close(&k);
}

/* Tensors without two dimensions, and matrices that would not become smaller, are sent as they
 * are. */
static void falls_back(void **state)
{
    (void)state;
    const struct {
        struct cc_shape shape;
        size_t values; /* in the payload */
    } cases[] = {
        {cc_shape_flat(100), 100},
        {{.n = 1, .ndim = 0}, 1},
        {kit_matrix(3, 3), 9},     /* r = 3: 18 values */
        {kit_matrix(2, 100), 200}, /* r = 2: 204 */
        {kit_matrix(8, 8), 64},    /* r = 4: 64, no gain */
        {kit_matrix(8, 9), 68},
        {{.n = 400, .dim = {20, 4, 5}, .ndim = 3}, 160}, /* 20 x 20 */
        {{.n = 400, .dim = {1, 400}, .ndim = 2}, 400},   /* r = 1: 401 */
    };
    float x[400];
    for (size_t i = 0; i < 400; i++)
        x[i] = (float)i;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct kit k = kit_open("powersgd", cases[i].shape);
        assert_int_equal(kit_encode(&k, x), CC_OK);
        assert_int_equal(k.len, 4 * cases[i].values);
        if (cases[i].values == cases[i].shape.n) {
            assert_int_equal(cc_state_bytes(&k.codec), 0);
            kit_expect(&k, x, 4 * cases[i].values);
            assert_int_equal(kit_decode(&k, k.payload, k.len), CC_OK);
            kit_expect_values(&k, x);
        }
        kit_close(&k);
    }
}

/* Zeros must not stop later steps: the columns of Q that they leave behind are drawn again. */
static void recovers_from_zeros(void **state)
{
    (void)state;
    const float zero[16] = {0};
    struct kit k = kit_open("powersgd:rank=1", kit_matrix(4, 4));
    assert_int_equal(kit_encode(&k, zero), CC_OK);
    kit_expect(&k, (const float[8]){0}, 32);
    assert_int_equal(kit_encode(&k, rank_one), CC_OK);
    kit_expect(&k, rank_one_factors, sizeof rank_one_factors);
    kit_close(&k);
}

/* Everything that was not sent is in the residual: the sum over the steps of what was decoded,
 * and the residual, are the sum of the gradients, but for rounding. */
static void keeps_the_rest(void **state)
{
    (void)state;
    enum { N = 30 * 20, STEPS = 20 };
    float x[N], sent[N] = {0};
    uint32_t random = 1;
    for (size_t i = 0; i < N; i++) {
        random = random * 1664525u + 1013904223u;
        x[i] = (float)(int32_t)random * 0x1p-31f;
    }
    struct kit k = kit_open("powersgd", kit_matrix(30, 20));
    for (int step = 0; step < STEPS; step++) {
        assert_int_equal(kit_encode(&k, x), CC_OK);
        assert_int_equal(kit_decode(&k, k.payload, k.len), CC_OK);
        for (size_t i = 0; i < N; i++)
            sent[i] += k.y[i];
    }
    double missing = 0, all = 0;
    for (size_t i = 0; i < N; i++) {
        missing += pow((double)sent[i] - STEPS * (double)x[i], 2);
        all += pow(STEPS * (double)x[i], 2);
    }
    assert_true(missing < 0.2 * all);
    kit_close(&k);
}

static void sizes_that_overflow(void **state)
{
    (void)state;
    float x[16] = {0};
    struct kit k = kit_open("powersgd:rank=1", kit_matrix(4, 4));
    /* P and Q of tiny values are tiny squared, which binary32 could not hold in between. */
    for (size_t i = 0; i < 16; i++)
        x[i] = rank_one[i] * 0x1p-100f;
    assert_int_equal(kit_encode(&k, x), CC_OK);
    assert_int_equal(kit_encode(&k, x), CC_OK);
    assert_true(fabsf(cc_get_f32(k.payload + 16)) > 8 * 0x1p-100f);
    for (size_t i = 0; i < 16; i++)
        x[i] = rank_one[i] * 0x1p100f;
    assert_int_equal(kit_encode(&k, x), CC_OK);
    assert_int_equal(kit_encode(&k, x), CC_OK);
    for (size_t i = 0; i < 16; i++)
        x[i] = FLT_MAX;
    assert_int_equal(kit_encode(&k, x), CC_FAIL);
    assert_contains(k.e.text, "too large for powersgd");
    kit_close(&k);
}

static void refuses_non_finite(void **state)
{
    (void)state;
    const char *const schemes[] = {"powersgd:rank=1", "powersgd:rank=1,ef=0"};
    for (size_t s = 0; s < 2; s++) {
        float x[16] = {[13] = NAN};
        struct kit k = kit_open(schemes[s], kit_matrix(4, 4));
        assert_int_equal(kit_encode(&k, x), CC_FAIL);
        assert_contains(k.e.text, "'w'");
        assert_contains(k.e.text, "index 13 is NaN");
        kit_close(&k);
    }
    struct kit k = kit_open("powersgd", cc_shape_flat(3));
    assert_int_equal(kit_encode(&k, (const float[]){0, 0, INFINITY}), CC_FAIL);
    assert_contains(k.e.text, "index 2 is infinite");
    kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_one_by_hand),   cmocka_unit_test(decodes_by_hand),
        cmocka_unit_test(falls_back),         cmocka_unit_test(recovers_from_zeros),
        cmocka_unit_test(keeps_the_rest),     cmocka_unit_test(sizes_that_overflow),
        cmocka_unit_test(refuses_non_finite),
    };
    return kit_run(tests);
}
