/* Element types: every half against its definition as a number, and rounding against a search of
 * all halves for the nearest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/element.h"

#define HALVES 65536

static const struct type {
    enum cc_element type;
    int fraction, bias;
} types[] = {{CC_ELEMENT_BF16, 7, 127}, {CC_ELEMENT_FP16, 10, 15}};

/* IEEE 754, section 3.4. */
static double by_definition(const struct type *t, unsigned half)
{
    const unsigned one = 1u << t->fraction, fraction = half & (one - 1);
    const int biased = (int)((half & 0x7fffu) >> t->fraction), most = (1 << (15 - t->fraction)) - 1;
    const double sign = half & 0x8000u ? -1 : 1;
    if (biased == most)
        return fraction > 0 ? (double)NAN : sign * (double)INFINITY;
    return biased == 0 ? sign * ldexp(fraction, 1 - t->bias - t->fraction)
                       : sign * ldexp(one + fraction, biased - t->bias - t->fraction);
}

/* The nearest finite half to x, ties to the even one. */
static unsigned nearest(const struct type *t, double x)
{
    const unsigned sign = signbit(x) ? 0x8000u : 0;
    const double magnitude = fabs(x);
    unsigned low = 0, high = ((1u << (15 - t->fraction)) - 1) << t->fraction;
    while (low + 1 < high) { /* low <= magnitude, of those that are finite */
        const unsigned middle = (low + high) / 2;
        if (by_definition(t, middle) <= magnitude)
            low = middle;
        else
            high = middle;
    }
    if (isinf(by_definition(t, low + 1)))
        return sign | low;
    const double down = magnitude - by_definition(t, low);
    const double up = by_definition(t, low + 1) - magnitude;
    return sign | (up < down || (up == down && low % 2 == 1) ? low + 1 : low);
}

static void each_isa(void (*check)(const struct type *t))
{
    for (int isa = 0; isa < CC_ISAS; isa++) {
        if (!cc_isa_has((enum cc_isa)isa))
            continue;
        cc_isa_force((enum cc_isa)isa);
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            check(&types[i]);
    }
}

static uint16_t half[HALVES], back[HALVES];
static float wide[HALVES];

static void check_widening(const struct type *t)
{
    for (unsigned i = 0; i < HALVES; i++)
        half[i] = (uint16_t)i;
    cc_widen((struct cc_elements){half, t->type}, HALVES, wide);
    cc_narrow(t->type, wide, HALVES, back);
    for (unsigned i = 0; i < HALVES; i++) {
        const double want = by_definition(t, i);
        if (!isnan(want)) {
            assert_true((double)wide[i] == want && !signbit(wide[i]) == !signbit(want));
            assert_int_equal(back[i], i);
            continue;
        }
        assert_true(isnan(wide[i]));
        /* The fraction as it is, and back with the quiet bit. */
        assert_int_equal(cc_f32_bits(wide[i]) & 0x7fffffu, (i & ((1u << t->fraction) - 1))
                                                               << (23 - t->fraction));
        assert_true(isnan(by_definition(t, back[i])) && (back[i] & 0x8000u) == (i & 0x8000u));
    }
}

static void widening(void **state)
{
    (void)state;
    each_isa(check_widening);
}

/* Halves, the middles between them and the numbers beside those, and any bits. */
static void check_rounding(const struct type *t)
{
    size_t n = 0;
    srand(1);
    for (unsigned i = 0; n + 4 <= HALVES; i = (i + 37) % 0x8000u) {
        const float low = (float)by_definition(t, i), high = (float)by_definition(t, i + 1);
        const float middle = low / 2 + high / 2;
        const uint32_t any = (uint32_t)rand() << 16 ^ (uint32_t)rand();
        if (isnan(middle) || isinf(middle))
            continue;
        wide[n++] = middle;
        wide[n++] = -nextafterf(middle, low);
        wide[n++] = nextafterf(middle, high);
        wide[n++] = cc_finite(cc_bits_f32(any)) ? cc_bits_f32(any) : 1e9f;
    }
    cc_narrow(t->type, wide, n, back);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(back[i], nearest(t, (double)wide[i]));
}

static void rounding(void **state)
{
    (void)state;
    each_isa(check_rounding);
}

static void types_by_name(void **state)
{
    (void)state;
    assert_string_equal(cc_element_names[CC_ELEMENT_FP32], "fp32");
    assert_string_equal(cc_element_names[CC_ELEMENT_BF16], "bf16");
    assert_string_equal(cc_element_names[CC_ELEMENT_FP16], "fp16");
    assert_null(cc_element_names[CC_ELEMENTS]);
    assert_true(cc_element_bytes[CC_ELEMENT_FP32] == 4 && cc_element_bytes[CC_ELEMENT_BF16] == 2 &&
                cc_element_bytes[CC_ELEMENT_FP16] == 2);
    const float x[] = {1, -2, 3};
    float room[2], same[3];
    uint16_t narrow[3];
    assert_ptr_equal(cc_elements_read(cc_elements_f32(x), 1, 2, room), x + 1);
    cc_narrow(CC_ELEMENT_FP16, x, 3, narrow);
    assert_int_equal(narrow[1], 0xc000);
    const struct cc_elements read = {narrow, CC_ELEMENT_FP16};
    assert_memory_equal(cc_elements_read(read, 1, 2, room), x + 1, sizeof room);
    cc_widen(cc_elements_f32(x), 3, same);
    assert_memory_equal(same, x, sizeof same);
    cc_narrow(CC_ELEMENT_FP32, x, 3, same);
    assert_memory_equal(same, x, sizeof same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widening),
        cmocka_unit_test(rounding),
        cmocka_unit_test(types_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
