/* The indices that randk draws, against the definition in docs/payloads.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>

#include "core/bytes.h"
#include "schemes/kernels/draw.h"
#include "tests/lib/kit.h"

/* The image of v under the permutation of [0, n), as docs/payloads.md defines it. */
static uint64_t permuted(const struct cc_drawing *d, uint64_t v)
{
    const uint64_t half = UINT64_C(1) << d->b;
    do {
        uint64_t l = v / half, r = v % half;
        for (unsigned t = 0; t < CC_DRAW_ROUNDS; t++) {
            const uint64_t mixed = l ^ cc_random(d->key[t], (uint32_t)r) % half;
            l = r;
            r = mixed;
        }
        v = l * half + r;
    } while (v >= d->n);
    return v;
}

/* Every number is listed once, with its index: in 32 bits and more, with few and many images beyond
 * n, from fewer numbers than a vector has to several batches. */
static void randk_draws(void **state)
{
    (void)state;
    static const uint64_t tensor[] = {257,        260000,     (1 << 18) + 1,   UINT32_MAX,
                                      1ULL << 32, 5ULL << 32, (1ULL << 34) - 1};
    static const uint32_t counts[] = {0, 1, 17, CC_DRAW_POOL + 1, 1000};
    enum { MOST = 1000 };
    const enum cc_isa best = cc_isa();
    const float values[1] = {0}; /* where a prefetch goes does not matter */
    for (int isa = 0; isa < CC_ISAS; isa++) {
        if (!cc_isa_has((enum cc_isa)isa))
            continue;
        cc_isa_force((enum cc_isa)isa);
        for (size_t c = 0; c < 7 * 5 * 2; c++) {
            const uint64_t n = tensor[c / 10], first = n / 3;
            const uint64_t count = counts[c / 2 % 5] < n - first ? counts[c / 2 % 5] : n - first;
            struct cc_drawing d = {.b = 4, .n = n, .next = first, .end = first + count};
            d.values = c % 2 == 1 ? values : NULL;
            while (UINT64_C(1) << (2 * d.b) < n)
                d.b++;
            for (uint32_t t = 0; t < CC_DRAW_ROUNDS; t++)
                d.key[t] = (struct cc_key){77 * t + (uint32_t)n, 0x9e3779b9u * (t + 1)};
            uint64_t index[CC_DRAW_POOL], number[CC_DRAW_POOL], listed = 0;
            bool seen[MOST] = {false};
            for (size_t m; (m = k_draw()->draw(&d, index, number)) > 0; listed += m)
                for (size_t i = 0; i < m; i++) {
                    assert_in_range(number[i], first, first + count - 1);
                    assert_false(seen[number[i] - first]);
                    seen[number[i] - first] = true;
                    assert_true(index[i] == permuted(&d, number[i]));
                }
            assert_true(listed == count);
        }
    }
    cc_isa_force(best);
}

/* 7 values in 3 strata of 3, 2 and 2: in order but for the shift, one of each, and in many steps
 * each value as often as any other, in spite of the lengths. */
static void randk_strata(void **state)
{
    (void)state;
    enum { N = 7, K = 3, STEPS = 7000 };
    struct kit k = kit_open("randk:density=0.4,ef=0,draw=strata", cc_shape_flat(N));
    const float x[N] = {1, 2, 3, 4, 5, 6, 7};
    size_t times[N] = {0};
    for (uint64_t step = 0; step < STEPS; step++) {
        k.ctx.step = step;
        assert_int_equal(kit_encode(&k, x), CC_OK);
        assert_int_equal(k.len, K * sizeof(float));
        assert_int_equal(kit_decode(&k, k.payload, k.len), CC_OK);
        size_t sent = 0, first = 0, turns = 0, before = N;
        for (size_t i = 0; i < N; i++) {
            sent += k.y[i] != 0;
            times[i] += k.y[i] != 0;
        }
        assert_int_equal(sent, K);
        for (size_t j = 0; j < K; j++) { /* values tell the indices */
            const size_t at = (size_t)lroundf(cc_get_f32(k.payload + 4 * j) * K / N) - 1;
            first = j == 0 ? at : first;
            turns += j > 0 && at < before;
            before = at;
        }
        assert_true(turns <= 1 && (turns == 0 || before < first));
    }
    for (size_t i = 0; i < N; i++) /* 3000 expected, of a standard deviation of 41 */
        assert_in_range(times[i], 2800, 3200);
    kit_close(&k);
    struct cc_spec *s;
    struct cc_error e;
    assert_int_equal(cc_spec_parse("randk:density=1e-7,draw=strata", &s, &e), CC_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(randk_draws),
        cmocka_unit_test(randk_strata),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
