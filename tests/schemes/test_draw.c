/* The indices that randk draws, against the definition in docs/payloads.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdbool.h>

#include "schemes/kernels/draw.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(randk_draws)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
