/* int8, fp16, bf16, trunc16, natural: bytes worked out by hand from docs/payloads.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/bytes.h"
#include "tests/lib/text.h"
#include "tests/lib/vector.h"

#define LENGTH(a) (sizeof(a) / sizeof(a)[0])

/* --- int8 --- */

static void int8_rounds_ties_to_even(void **state)
{
    (void)state;
    /* max 127, so scale = 1: 63.5, 0.5, 1.5, 2.5 are ties */
    const float x[] = {127, -63.5f, 0.5f, 1.5f, -2.5f, 0, -0.0f, 64.4f, -127};
    const uint8_t bytes[] = {0, 0, 0x80, 0x3f, 127, 0xc0, 0, 2, 0xfe, 0, 0, 64, 0x81};
    const float decoded[] = {127, -64, 0, 2, -2, 0, 0, 64, -127};
    struct vector v;
    vector_open(&v, "int8", LENGTH(x));
    vector_is(&v, x, bytes, sizeof bytes, decoded);
    vector_close(&v);
}

static void int8_keeps_the_error(void **state)
{
    (void)state;
    /* Scale 2 (max 254). Step 0: 1 / 2 and -3 / 2 tie to 0 and -2; the residual is 0, 1, 1. Step 1
     * has 254, 2, -2 with it: 127, 1, -1, nothing left. Step 2 is as step 0. */
    const float x[] = {254, 1, -3, 254, 1, -3, 254, 1, -3};
    const uint8_t bytes[] = {0,   0, 0,    0x40, 127, 0, 0xfe, 0,   0, 0,   0x40,
                             127, 1, 0xff, 0,    0,   0, 0x40, 127, 0, 0xfe};
    struct vector v;
    vector_open(&v, "int8:ef=1", 3);
    vector_encodes(&v, 3, x, bytes, 7);
    vector_close(&v);
}

static void int8_without_a_scale(void **state)
{
    (void)state;
    /* 60 * 2^-149 / 127 is less than half of 2^-149 */
    const float zeros[] = {0, -0.0f, 0}, tiny[] = {60 * 0x1p-149f, -0x1p-149f, 0};
    const uint8_t bytes[7] = {0};
    const float decoded[3] = {0};
    struct vector v;
    vector_open(&v, "int8", 3);
    vector_is(&v, zeros, bytes, sizeof bytes, decoded);
    vector_is(&v, tiny, bytes, sizeof bytes, decoded);
    vector_close(&v);
}

static void int8_at_the_ends_of_the_range(void **state)
{
    (void)state;
    /* the scale, 190 / 127 units of 2^-149, rounds to one unit, so 190 is clamped */
    const float small[] = {190 * 0x1p-149f, -64 * 0x1p-149f};
    const uint8_t small_bytes[] = {1, 0, 0, 0, 127, 0xc0};
    const float small_decoded[] = {127 * 0x1p-149f, -64 * 0x1p-149f};
    /* FLT_MAX / 127 = 0x1.020408p+121, lowered to 0x1.020406p+121, which is 7c010203; 127 times
     * it is 0x1.fffffbe8p+127, to 24 bits 0x1.fffffcp+127 */
    const float large[] = {FLT_MAX, -FLT_MAX};
    const uint8_t large_bytes[] = {3, 2, 1, 0x7c, 127, 0x81};
    const float large_decoded[] = {0x1.fffffcp+127f, -0x1.fffffcp+127f};
    struct vector v;
    vector_open(&v, "int8", 2);
    vector_is(&v, small, small_bytes, sizeof small_bytes, small_decoded);
    vector_is(&v, large, large_bytes, sizeof large_bytes, large_decoded);
    vector_close(&v);
}

static void int8_refuses(void **state)
{
    (void)state;
    const float nan_at_2[] = {0, 1, NAN, 2}, inf_at_1[] = {0, -INFINITY, 0, 2};
    const uint8_t code[] = {0, 0, 0x80, 0x3f, 1, 2, 0x80, 3};
    const uint8_t scale_nan[] = {0, 0, 0xc0, 0x7f, 0, 0, 0, 0},
                  scale_minus[] = {0, 0, 0x80, 0xbf, 0, 0, 0, 0};
    struct vector v;
    vector_open(&v, "int8", 4);
    vector_refuses(&v, nan_at_2, "tensor 't': the value at index 2 is NaN");
    vector_refuses(&v, inf_at_1, "index 1 is infinite");
    vector_rejects(&v, code, 8, "byte 6: the code -128");
    vector_rejects(&v, scale_nan, 8, "byte 0: the scale is nan");
    vector_rejects(&v, scale_minus, 8, "byte 0: the scale is -1");
    vector_rejects(&v, code, 7, "byte 7: the payload has 7 bytes, not 8");
    vector_rejects(&v, code, 0, "byte 0");
    vector_close(&v);
}

static void int8_refuses_an_overflowing_residual(void **state)
{
    (void)state;
    /* Step 0 keeps FLT_MAX - 0x1.fffffcp+127 > 0, which step 1 adds to FLT_MAX: the sum rounds
     * to infinity. */
    const float x[] = {FLT_MAX};
    struct cc_error e = {.text = ""};
    uint8_t out[5];
    size_t len;
    struct vector v;
    vector_open(&v, "int8:ef=1", 1);
    assert_int_equal(cc_encode(&v.codec, &v.ctx, x, out, sizeof out, &len, &e), CC_OK);
    assert_int_equal(cc_encode(&v.codec, &v.ctx, x, out, sizeof out, &len, &e), CC_FAIL);
    assert_contains(e.text, "gradient plus residual at index 0 overflows");
    vector_close(&v);
}

/* --- fp16, bf16, trunc16 --- */

struct half_case {
    uint32_t x;    /* bits of the input float */
    uint16_t half; /* bits of the payload */
};

/* Tries every case in the lanes of a vector and in the values left over after them. */
static void halves(const char *spec, const struct half_case *c, size_t count,
                   float (*decoded)(uint16_t))
{
    for (size_t i = 0; i < count; i++) {
        float x[37], y[37];
        uint8_t bytes[2 * 37];
        for (size_t j = 0; j < 37; j++) {
            x[j] = cc_bits_f32(c[(i + j) % count].x);
            y[j] = decoded(c[(i + j) % count].half);
            cc_put_u16(bytes + 2 * j, c[(i + j) % count].half);
        }
        struct vector v;
        vector_open(&v, spec, 37);
        vector_is(&v, x, bytes, sizeof bytes, y);
        vector_close(&v);
    }
}

static float value_fp16(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 0x3ff;
    float mag = exponent == 31  ? (fraction ? NAN : INFINITY)
                : exponent == 0 ? ldexpf((float)fraction, -24)
                                : ldexpf((float)(1024 + fraction), exponent - 25);
    return half & 0x8000 ? -mag : mag;
}

static void fp16_vectors(void **state)
{
    (void)state;
    static const struct half_case cases[] = {
        {0x3f800000, 0x3c00},                       /* 1 */
        {0xc0000000, 0xc000},                       /* -2 */
        {0x00000000, 0x0000}, {0x80000000, 0x8000}, /* -0 */
        {0x3eaaaaab, 0x3555},                       /* 1/3 */
        {0x3f801000, 0x3c00},                       /* 1 + 2^-11, a tie: to even */
        {0x3f803000, 0x3c02},                       /* 1 + 3 2^-11, a tie: to even */
        {0x3f801001, 0x3c01},                       /* just above a tie */
        {0x477fe000, 0x7bff},                       /* 65504 */
        {0x477fefff, 0x7bff},                       /* just below 65520 */
        {0x477ff000, 0x7bff},                       /* 65520 would round to infinity */
        {0xff7fffff, 0xfbff},                       /* -FLT_MAX */
        {0x38800000, 0x0400},                       /* 2^-14, the least normal one */
        {0x387fffff, 0x0400},                       /* just below: rounds up to it */
        {0x387fe000, 0x0400},                       /* 1023.5 2^-24, a tie: to even */
        {0x387fc000, 0x03ff},                       /* 1023 2^-24 */
        {0x33800000, 0x0001},                       /* 2^-24 */
        {0x33000000, 0x0000},                       /* 2^-25, a tie: to 0 */
        {0x33000001, 0x0001},                       /* just above it */
        {0xb3c00000, 0x8002},                       /* -1.5 2^-24, a tie: to even */
        {0x00000001, 0x0000},                       /* 2^-149 */
        {0x807fffff, 0x8000},                       /* a negative subnormal */
    };
    halves("fp16", cases, LENGTH(cases), value_fp16);
}

static float value_bf16(uint16_t half)
{
    return cc_bits_f32((uint32_t)half << 16);
}

static void bf16_vectors(void **state)
{
    (void)state;
    static const struct half_case cases[] = {
        {0x3f800000, 0x3f80},                       /* 1 */
        {0x3f808000, 0x3f80},                       /* a tie: to even */
        {0x3f818000, 0x3f82},                       /* a tie: to even */
        {0x3f808001, 0x3f81},                       /* above a tie */
        {0xbf817fff, 0xbf81},                       /* below a tie */
        {0x3fffffff, 0x4000},                       /* carries into the exponent */
        {0x7f7f7fff, 0x7f7f},                       /* the largest that rounds to the largest */
        {0x7f7f8000, 0x7f7f},                       /* would round to infinity */
        {0xff7fffff, 0xff7f},                       /* -FLT_MAX */
        {0x00008000, 0x0000},                       /* a tie between subnormals */
        {0x00018000, 0x0002},                       /* the other way */
        {0x00000001, 0x0000}, {0x80000000, 0x8000}, /* -0 */
        {0x007fffff, 0x0080}, /* a subnormal that rounds to the least normal one */
    };
    halves("bf16", cases, LENGTH(cases), value_bf16);
}

static void trunc16_vectors(void **state)
{
    (void)state;
    static const struct half_case cases[] = {
        {0x3f800000, 0x3f80}, {0x3f80ffff, 0x3f80}, {0xbf81ffff, 0xbf81}, {0x7f7fffff, 0x7f7f},
        {0x0000ffff, 0x0000}, {0x80018000, 0x8001}, {0x80000000, 0x8000},
    };
    halves("trunc16", cases, LENGTH(cases), value_bf16);
}

static void halves_pass_what_is_not_finite(void **state)
{
    (void)state;
    uint8_t fp16[2 * 19], bf16[2 * 19];
    float y[19];
    static const uint16_t specials[] = {0x7c00, 0xfc00, 0x7e00, 0x7c01, 0xfdff};
    for (size_t i = 0; i < 19; i++) {
        uint16_t half = specials[i % LENGTH(specials)];
        cc_put_u16(fp16 + 2 * i, half);
        y[i] = value_fp16(half);
        cc_put_u16(bf16 + 2 * i, (uint16_t)((half & 0x8000) | (half & 0x3ff ? 0x7fc0 : 0x7f80)));
    }
    struct vector v;
    vector_open(&v, "fp16", 19);
    vector_decodes(&v, fp16, sizeof fp16, y);
    vector_close(&v);
    vector_open(&v, "bf16", 19);
    vector_decodes(&v, bf16, sizeof bf16, y);
    vector_close(&v);
    vector_open(&v, "trunc16", 19);
    vector_decodes(&v, bf16, sizeof bf16, y);
    vector_close(&v);
}

static void halves_refuse(void **state)
{
    (void)state;
    static const char *const specs[] = {"fp16", "bf16", "trunc16"};
    for (size_t s = 0; s < LENGTH(specs); s++) {
        float x[40] = {0};
        uint8_t bytes[81] = {0};
        struct vector v;
        vector_open(&v, specs[s], 40);
        v.ctx.offset = 1000;
        x[3] = -INFINITY;
        vector_refuses(&v, x, "index 1003 is infinite");
        x[3] = 0;
        x[39] = NAN;
        vector_refuses(&v, x, "index 1039 is NaN");
        vector_rejects(&v, bytes, 79, "byte 79: the payload has 79 bytes, not 80");
        vector_rejects(&v, bytes, 81, "byte 80: the payload has 81 bytes, not 80");
        vector_close(&v);
    }
}

/* --- natural --- */

static void natural_rounds_at_random(void **state)
{
    (void)state;
    /* With seed 1 the upper 23 bits of the random numbers 0, 1, ... are 01a7a1, 65d270, 25b750,
     * 4d1796, 1cc719, 030267, 4f1f36, 18cdf1, 431a24, 194ef5. The fraction of 1.5 is 400000: */
    const float x[] = {
        1.5f,                    /* 01a7a1 < 400000: up, 128 */
        1.5f,                    /* 65d270: down, 127 */
        -3,                      /* 25b750: up, from 128 to 129 */
        2,                       /* fraction 0: never up, 128 */
        FLT_MAX,                 /* up to 255, which becomes 254 */
        -0.0f,                   /* 0, and not negative */
        0x1p-127f,               /* subnormal, fraction 400000; 4f1f36: down to 0 */
        -0x1p-127f,              /* 18cdf1: up to 1 */
        cc_bits_f32(0x3fc31a24), /* its fraction 431a24 is the number: down, 127 */
        cc_bits_f32(0x3f994ef6), /* its fraction is one above the number: up, 128 */
    };
    /* signs of x[2] and x[7]: 2^2 + 2^7 */
    const uint8_t bytes[] = {0x84, 0, 128, 127, 129, 128, 254, 0, 0, 1, 127, 128};
    const float decoded[] = {2, 1, -4, 2, 0x1p+127f, 0, 0, -0x1p-126f, 1, 2};
    struct vector v;
    vector_open(&v, "natural", LENGTH(x));
    vector_is(&v, x, bytes, sizeof bytes, decoded);
    vector_close(&v);
}

static void natural_changes_key(void **state)
{
    (void)state;
    /* Indices 2^32 - 3 to 2^32 + 2 draw 5129f3, 42f1b4, 1b3b01 and, with the next key, 73c65f,
     * 5f75d2, 0845b5. The fraction of 1.5625 is 480000. Signs: of values 1, 3, 4. */
    const float x[] = {1.5625f, -1.5625f, 1.5625f, -1.5625f, -1.5625f, 1.5625f};
    const uint8_t bytes[] = {0x1a, 127, 128, 128, 127, 127, 128};
    struct vector v;
    vector_open(&v, "natural", LENGTH(x));
    v.ctx.offset = (UINT64_C(1) << 32) - 3;
    vector_encodes(&v, 1, x, bytes, sizeof bytes);
    vector_close(&v);
}

static void natural_zero_has_no_sign(void **state)
{
    (void)state;
    /* 43 values: whole vectors and a rest */
    uint8_t bytes[6 + 43];
    float y[43];
    memset(bytes, 0xff, 6);
    for (size_t i = 0; i < 43; i++) {
        bytes[6 + i] = i % 3 == 0 ? 0 : 127;
        y[i] = i % 3 == 0 ? 0 : -1;
    }
    struct vector v;
    vector_open(&v, "natural", 43);
    vector_decodes(&v, bytes, sizeof bytes, y);
    vector_close(&v);
}

static void natural_refuses(void **state)
{
    (void)state;
    float x[40] = {0};
    uint8_t bytes[5 + 40] = {0};
    struct vector v;
    vector_open(&v, "natural", 40);
    x[17] = NAN;
    vector_refuses(&v, x, "index 17 is NaN");
    v.ctx.offset = (UINT64_C(1) << 32) - 30;
    x[17] = 0;
    x[38] = INFINITY;
    vector_refuses(&v, x, "index 4294967304 is infinite");
    bytes[5 + 39] = 255;
    vector_rejects(&v, bytes, 45, "byte 44: the exponent 255");
    bytes[5 + 2] = 255;
    vector_rejects(&v, bytes, 45, "byte 7: the exponent 255");
    vector_rejects(&v, bytes, 44, "44 bytes, not 45");
    vector_close(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(int8_rounds_ties_to_even),
        cmocka_unit_test(int8_keeps_the_error),
        cmocka_unit_test(int8_without_a_scale),
        cmocka_unit_test(int8_at_the_ends_of_the_range),
        cmocka_unit_test(int8_refuses),
        cmocka_unit_test(int8_refuses_an_overflowing_residual),
        cmocka_unit_test(fp16_vectors),
        cmocka_unit_test(bf16_vectors),
        cmocka_unit_test(trunc16_vectors),
        cmocka_unit_test(halves_pass_what_is_not_finite),
        cmocka_unit_test(halves_refuse),
        cmocka_unit_test(natural_rounds_at_random),
        cmocka_unit_test(natural_changes_key),
        cmocka_unit_test(natural_zero_has_no_sign),
        cmocka_unit_test(natural_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
