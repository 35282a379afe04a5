/* Differences of words from a base's: by hand, and undone to the last bit for every word of 8 and
 * 16 bits and many of 32 beside bases of all kinds; what comes out is of the format, finite where
 * the word is, and 0 for equal words only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "core/delta.h"
#include "core/element.h"
#include "tests/lib/data.h"

static float delta(enum cc_number format, float base, float x)
{
    cc_delta_make(format, &base, 1, &x);
    return x;
}

static void by_hand(void **state)
{
    (void)state;
    /* 3 = 1.5 * 2 beside 1.25: exponent 128 - 127 + 127, mantissas 1/2 and 1/4 give 3/4. */
    assert_true(delta(CC_NUMBER_FP32, 1.25f, 3) == 3.5f);
    assert_true(delta(CC_NUMBER_BF16, 1.25f, 3) == 3.5f);
    assert_true(delta(CC_NUMBER_FP16, 1.25f, 3) == 3.5f);
    assert_true(delta(CC_NUMBER_FP32, -1.25f, 3) == -3.5f);
    /* Below the base by two powers of two; with the sign alone; equal. */
    assert_true(delta(CC_NUMBER_FP32, 4, 1) == 0.25f);
    assert_true(delta(CC_NUMBER_FP32, 4, -4) == -1);
    assert_true(delta(CC_NUMBER_FP32, 4, 4) == 0 && !signbit(delta(CC_NUMBER_FP32, 4, 4)));
    /* 2^-126 beside 2: (1 - 128 + 127) mod 255 = 0 with no mantissa: it changes places with 1. */
    assert_true(delta(CC_NUMBER_FP32, 2, 0x1p-126f) == 1);
    /* Modulo: 0 beside 2^127 has exponent (0 + 127 - 254) mod 255 = 128, so 2. */
    assert_true(delta(CC_NUMBER_FP32, 0x1p127f, 0) == 2);
    /* Of fp16: 0 beside 2^15 has (0 + 15 - 30) mod 31 = 16. */
    assert_true(delta(CC_NUMBER_FP16, 0x1p15f, 0) == 2);
}

static void check_word(enum cc_number format, float base, float x)
{
    float d = x;
    cc_delta_make(format, &base, 1, &d);
    const float narrow = cc_number_value(format, cc_number_of(format, d));
    float back = d;
    cc_delta_undo(format, &base, 1, &back);
    assert_memory_equal(&narrow, &d, sizeof d);
    assert_memory_equal(&back, &x, sizeof x);
    if (format != CC_NUMBER_E4M3)
        assert_int_equal(cc_finite(d), cc_finite(x));
    if (!cc_finite(d) && format != CC_NUMBER_E4M3)
        assert_memory_equal(&d, &x, sizeof x);
    float own = base;
    cc_number_round(format, &own, 1);
    if (cc_f32_bits(d) == 0 && cc_finite(base) && format != CC_NUMBER_BF16)
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
            check_word(CC_NUMBER_FP32, bases[b], cc_bits_f32((uint32_t)data_random(&seed)));
            for (enum cc_number format = CC_NUMBER_BF16; format < CC_NUMBERS; format++)
                if (w < 1u << 8 * cc_number_bytes[format])
                    check_word(format, bases[b], cc_number_value(format, w));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(undone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
