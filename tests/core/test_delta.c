/* Differences of words from a base's: by hand, and undone to the last bit for every word of 16 bits
 * and many of 32 beside bases of all kinds; what comes out is finite, and 0 for equal words only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "core/delta.h"
#include "tests/lib/data.h"

static float delta(enum cc_element type, float base, float x)
{
    cc_delta_make(type, &base, 1, &x);
    return x;
}

static void by_hand(void **state)
{
    (void)state;
    /* 3 = 1.5 * 2 beside 1.25: exponent 128 - 127 + 127, mantissas 1/2 and 1/4 give 3/4. */
    assert_true(delta(CC_ELEMENT_FP32, 1.25f, 3) == 3.5f);
    assert_true(delta(CC_ELEMENT_BF16, 1.25f, 3) == 3.5f);
    assert_true(delta(CC_ELEMENT_FP16, 1.25f, 3) == 3.5f);
    assert_true(delta(CC_ELEMENT_FP32, -1.25f, 3) == -3.5f);
    /* Below the base by two powers of two; with the sign alone; equal. */
    assert_true(delta(CC_ELEMENT_FP32, 4, 1) == 0.25f);
    assert_true(delta(CC_ELEMENT_FP32, 4, -4) == -1);
    assert_true(delta(CC_ELEMENT_FP32, 4, 4) == 0 && !signbit(delta(CC_ELEMENT_FP32, 4, 4)));
    /* 2^-126 beside 2: (1 - 128 + 127) mod 255 = 0 with no mantissa: it changes places with 1. */
    assert_true(delta(CC_ELEMENT_FP32, 2, 0x1p-126f) == 1);
    /* Modulo: 0 beside 2^127 has exponent (0 + 127 - 254) mod 255 = 128, so 2. */
    assert_true(delta(CC_ELEMENT_FP32, 0x1p127f, 0) == 2);
    /* Of fp16: 0 beside 2^15 has (0 + 15 - 30) mod 31 = 16. */
    assert_true(delta(CC_ELEMENT_FP16, 0x1p15f, 0) == 2);
}

static void check_word(enum cc_element type, float base, float x)
{
    float d = x;
    cc_delta_make(type, &base, 1, &d);
    float narrow = d, back = d;
    cc_element_round(type, &narrow, 1);
    cc_delta_undo(type, &base, 1, &back);
    assert_true(cc_finite(d));
    assert_memory_equal(&narrow, &d, sizeof d);
    assert_memory_equal(&back, &x, sizeof x);
    float own = base;
    cc_element_round(type, &own, 1);
    if (cc_f32_bits(d) == 0 && cc_finite(base) && type != CC_ELEMENT_BF16)
        assert_memory_equal(&own, &x, sizeof x);
}

static void undone(void **state)
{
    static const float bases[] = {0,     -0.0f, 1,    -3.25f,   0x1p-149f, 0x1.8p-24f,
                                  65504, 3e38f, 0.1f, INFINITY, NAN};
    uint64_t seed = 3;
    (void)state;
    for (size_t b = 0; b < sizeof bases / sizeof bases[0]; b++)
        for (uint32_t w = 0; w < 65536; w++) {
            const float bf16 = cc_from_bf16((uint16_t)w), fp16 = cc_from_fp16((uint16_t)w);
            const float fp32 = cc_bits_f32((uint32_t)data_random(&seed));
            if (cc_finite(bf16))
                check_word(CC_ELEMENT_BF16, bases[b], bf16);
            if (cc_finite(fp16))
                check_word(CC_ELEMENT_FP16, bases[b], fp16);
            if (cc_finite(fp32))
                check_word(CC_ELEMENT_FP32, bases[b], fp32);
        }
}

/* Values of another word than a sender's are turned into finite ones. */
static void not_finite(void **state)
{
    const float bad[] = {INFINITY, -INFINITY, NAN};
    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (enum cc_element type = 0; type < CC_ELEMENTS; type++) {
            float x = bad[i], base = 2.5f;
            cc_delta_undo(type, &base, 1, &x);
            assert_true(cc_finite(x));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(undone),
        cmocka_unit_test(not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
