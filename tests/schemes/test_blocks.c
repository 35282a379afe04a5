/* int8, fp8, mxfp4, int4: bytes worked out by hand from docs/payloads.md, and numbers that the
 * OCP specifications print; residuals of 16 bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/bytes.h"
#include "schemes/kernels/blocks.h"
#include "schemes/kernels/hadamard.h"
#include "tests/lib/settings.h"
#include "tests/lib/text.h"
#include "tests/lib/vector.h"

#define LENGTH(a) (sizeof(a) / sizeof(a)[0])

/* --- fp8 --- */

/* The numbers of OFP8's Table 2 (and 1, 1.5), with a scale of 1. */
static void fp8_numbers(void **state)
{
    (void)state;
    const uint8_t e4m3[] = {0, 0, 0x80, 0x3f, 0x00, 0x80, 0x7e, 0xfe, 0x08, 0x07, 0x01, 0x38, 0x3c};
    const float e4m3_is[] = {0, -0.0f, 448, -448, 0x1p-6f, 0.875f * 0x1p-6f, 0x1p-9f, 1, 1.5f};
    const uint8_t e5m2[] = {0, 0, 0x80, 0x3f, 0x00, 0x80, 0x7b, 0xfb, 0x04, 0x03, 0x01, 0x3c, 0x3e};
    const float e5m2_is[] = {0,        -0.0f, 57344, -57344, 0x1p-14f, 0.75f * 0x1p-14f,
                             0x1p-16f, 1,     1.5f};
    struct vector v;
    vector_open(&v, "fp8", LENGTH(e4m3_is));
    vector_decodes(&v, e4m3, sizeof e4m3, e4m3_is);
    vector_close(&v);
    vector_open(&v, "fp8:format=e5m2", LENGTH(e5m2_is));
    vector_decodes(&v, e5m2, sizeof e5m2, e5m2_is);
    vector_close(&v);
}

/* All codes ascend by steps of one unit of the last place: the sum of all magnitudes of e4m3, by
 * binades, is 2^-9 (0 + 1 + .. + 7), then 2^(E - 7) (8 + 28 / 8) for E = 1 .. 14, and 2^8 (7 + 21 /
 * 8). */
static void fp8_all_codes(void **state)
{
    (void)state;
    uint8_t bytes[4 + 127] = {0, 0, 0x80, 0x3f};
    float y[127];
    double sum = 0, want = 28 * 0x1p-9;
    struct cc_error e;
    struct vector v;
    for (unsigned c = 0; c < 127; c++)
        bytes[4 + c] = (uint8_t)c;
    vector_open(&v, "fp8", 127);
    assert_int_equal(cc_decode(&v.codec, &v.ctx, bytes, sizeof bytes, y, &e), CC_OK);
    for (unsigned c = 0; c < 127; c++) {
        assert_true(c == 0 || y[c] > y[c - 1]);
        sum += (double)y[c];
    }
    for (int E = 1; E <= 14; E++)
        want += ldexp(11.5, E - 7);
    assert_true(sum == want + 256 * (7 + 21.0 / 8));
    vector_close(&v);
}

static void fp8_rounds_to_nearest(void **state)
{
    (void)state;
    /* Scale 1. Between 16 and 18 the tie 17 goes to 16 (even fraction 0), 19 to 20 (fraction 2);
     * 2^-10 is a tie of 0 and 2^-9, 3 2^-10 of 1 and 2 quanta; just below 2^-6 becomes the least
     * normal. */
    const float x[] = {448,      17,          19,           -19.01f, 0x1p-10f, 3 * 0x1p-10f,
                       -0x1p-9f, 0x1.fffp-7f, 0x1.001p-10f, -0.0f,   447};
    const uint8_t bytes[] = {0,    0,    0x80, 0x3f, 0x7e, 0x58, 0x5a, 0xda,
                             0x00, 0x02, 0x81, 0x08, 0x01, 0x80, 0x7e};
    const float y[] = {448, 16, 20, -20, 0, 0x1p-8f, -0x1p-9f, 0x1p-6f, 0x1p-9f, -0.0f, 448};
    struct vector v;
    vector_open(&v, "fp8", LENGTH(x));
    vector_is(&v, x, bytes, sizeof bytes, y);
    vector_close(&v);
}

static void fp8_scales_blocks(void **state)
{
    (void)state;
    /* Blocks of 16 with maxima 448 and 2 * 57344 / 128 = 896: scales 1 and 2. */
    float x[18] = {448, 1}, y[18] = {448, 1};
    uint8_t bytes[8 + 18] = {0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0x7e, 0x38};
    x[16] = y[16] = -896;
    x[17] = y[17] = 3;
    bytes[8 + 16] = 0xfe;
    bytes[8 + 17] = 0x3c;
    struct vector v;
    vector_open(&v, "fp8:block=16", 18);
    vector_is(&v, x, bytes, sizeof bytes, y);
    vector_close(&v);
}

static void fp8_at_the_ends_of_the_range(void **state)
{
    (void)state;
    /* FLT_MAX / 448 would make 448 scale infinite; 2^-149 / 448 is 0, and codes are then of x. */
    const float most[] = {FLT_MAX}, least[] = {-0x1p-149f};
    const uint8_t most_is[] = {0x24, 0x49, 0x12, 0x7b, 0x7e}, least_is[] = {0, 0, 0, 0, 0x80};
    const float most_y[] = {448 * 0x1.249248p+119f}, least_y[] = {-0.0f};
    struct vector v;
    vector_open(&v, "fp8", 1);
    vector_is(&v, most, most_is, sizeof most_is, most_y);
    vector_is(&v, least, least_is, sizeof least_is, least_y);
    vector_close(&v);
}

static void fp8_refuses(void **state)
{
    (void)state;
    float x[20] = {0};
    uint8_t bytes[4 + 20] = {0, 0, 0x80, 0x3f};
    struct vector v;
    vector_open(&v, "fp8", 20);
    v.ctx.offset = 100;
    x[19] = NAN;
    vector_refuses(&v, x, "index 119 is NaN");
    vector_rejects(&v, bytes, 23, "23 bytes, not 24");
    bytes[4 + 18] = 0xff;
    vector_rejects(&v, bytes, 24, "byte 22: the code 0xff is not used");
    bytes[4 + 7] = 0x7f;
    vector_rejects(&v, bytes, 24, "byte 11: the code 0x7f is not used");
    bytes[3] = 0xbf;
    vector_rejects(&v, bytes, 24, "byte 0: the scale is -1");
    vector_close(&v);
    memset(bytes, 0, sizeof bytes);
    vector_open(&v, "fp8:format=e5m2", 20);
    bytes[4 + 2] = 0x7c; /* infinity */
    vector_rejects(&v, bytes, 24, "byte 6: the code 0x7c is not used");
    vector_close(&v);
    x[19] = 0;
    x[3] = INFINITY;
    vector_open(&v, "fp8:block=16", 20);
    vector_refuses(&v, x, "index 3 is infinite");
    vector_close(&v);
    struct cc_spec *spec;
    struct cc_error e;
    assert_int_equal(cc_spec_parse("fp8:block=48", &spec, &e), CC_USAGE);
    assert_contains(e.text, "a power of two from 16 to 512, or 0");
}

/* --- mxfp4 --- */

static void mxfp4_rounds_to_nearest(void **state)
{
    (void)state;
    /* All numbers (the specification's Table 5), with max 6: floor(log2 6) - 2 = 0, the scale is 1,
     * byte 127. Ties: 0.25 to 0, 0.75 to 1, 1.25 to 1, 1.75 to 2, 2.5 to 2, 3.5 to 4, 5 to 4. */
    const float x[] = {0,     0.5f,  1,     -1.5f, 2,    3, 4,     -6,   0.25f,
                       0.75f, 1.25f, 1.75f, 2.5f,  3.5f, 5, 5.01f, -0.0f};
    const float y[] = {0, 0.5f, 1, -1.5f, 2, 3, 4, -6, 0, 1, 1, 2, 2, 4, 4, 6, -0.0f};
    const uint8_t bytes[] = {127, 0x10, 0xb2, 0x54, 0xf6, 0x20, 0x42, 0x64, 0x76, 0x08};
    struct vector v;
    vector_open(&v, "mxfp4:rounding=nearest", LENGTH(x));
    vector_is(&v, x, bytes, sizeof bytes, y);
    vector_close(&v);
}

static void mxfp4_scales(void **state)
{
    (void)state;
    /* 7.9 has the scale 1 to the nearest, and becomes 6; at random the scale is 2, as 7.9 > 6. A
     * block of 32, then one whose maximum 2^-130 is below what 2^-127 times 0.5 can tell from 0,
     * and one of the largest float, whose scale is 2^125. */
    float x[65] = {7.9f}, y[65] = {6};
    uint8_t bytes[3 + 33] = {127, 0, 252, 7};
    x[32] = 0x1p-130f;
    x[64] = -FLT_MAX;
    y[64] = -6 * 0x1p125f;
    bytes[3 + 32] = 0xf;
    struct vector v;
    vector_open(&v, "mxfp4:rounding=nearest", 65);
    vector_is(&v, x, bytes, sizeof bytes, y);
    vector_close(&v);
    const float six[] = {6}, more[] = {12.5f};
    const uint8_t six_is[] = {127, 7};
    uint8_t more_is[2];
    size_t len;
    struct cc_error e;
    vector_open(&v, "mxfp4", 1);
    vector_encodes(&v, 1, six, six_is, 2);
    assert_int_equal(cc_encode(&v.codec, &v.ctx, more, more_is, 2, &len, &e), CC_OK);
    assert_int_equal(more_is[0], 129); /* 12 = 6 * 2 is less than 12.5 */
    vector_close(&v);
}

static void mxfp4_refuses(void **state)
{
    (void)state;
    uint8_t bytes[2 + 17] = {0};
    struct vector v;
    vector_open(&v, "mxfp4", 33);
    bytes[1] = 255;
    vector_rejects(&v, bytes, sizeof bytes, "byte 1: the scale's exponent 255");
    vector_rejects(&v, bytes, 18, "18 bytes, not 19");
    vector_close(&v);
}

/* --- int4 --- */

static void int4_by_hand(void **state)
{
    (void)state;
    /* Scale 14 / 7 = 2: 40 00. x / 2 = 7, -7, 0.5, 1.5, -2.5, 0.9: ties to even. */
    const float x[] = {14, -14, 1, 3, -5, 1.8f}, y[] = {14, -14, 0, 4, -4, 2};
    const uint8_t bytes[] = {0x00, 0x40, 0x97, 0x20, 0x1e};
    /* 1 / 7 = 3e124925 is rounded up to 3e13: 1 / scale is less than 7, but rounds to it. */
    const float one[] = {1}, one_y[] = {7 * 0x1.26p-3f};
    const uint8_t one_is[] = {0x13, 0x3e, 0x07};
    struct vector v;
    vector_open(&v, "int4:rounding=nearest", LENGTH(x));
    vector_is(&v, x, bytes, sizeof bytes, y);
    vector_close(&v);
    vector_open(&v, "int4:rounding=nearest", 1);
    vector_is(&v, one, one_is, sizeof one_is, one_y);
    vector_close(&v);
}

static void int4_refuses(void **state)
{
    (void)state;
    uint8_t bytes[4 + 17] = {0};
    struct vector v;
    vector_open(&v, "int4", 33);
    bytes[4 + 16] = 8;
    vector_rejects(&v, bytes, sizeof bytes, "byte 20: the code 0x8 is not used");
    bytes[4 + 2] = 0x80;
    vector_rejects(&v, bytes, sizeof bytes, "byte 6: the code 0x8 is not used");
    bytes[3] = 0x80;
    bytes[2] = 0x01;
    vector_rejects(&v, bytes, sizeof bytes, "byte 2: the scale is -");
    vector_close(&v);
}

/* --- blocks of any size, rotations --- */

/* A payload of one block has the bytes of int8 without blocks, which has loops of its own. */
static void int8_of_one_block(void **state)
{
    (void)state;
    enum { N = 512 };
    float x[N];
    uint8_t plain[N + 4], block[N + 4];
    size_t len;
    struct cc_error e;
    struct vector v;
    for (int i = 0; i < N; i++)
        x[i] = ldexpf((float)((uint32_t)i * 2654435761u % 2001) - 1000, i % 7);
    vector_open(&v, "int8", N);
    assert_int_equal(cc_encode(&v.codec, &v.ctx, x, plain, sizeof plain, &len, &e), CC_OK);
    vector_close(&v);
    vector_open(&v, "int8:block=512", N);
    assert_int_equal(cc_encode(&v.codec, &v.ctx, x, block, sizeof block, &len, &e), CC_OK);
    assert_int_equal(len, N + 4);
    assert_memory_equal(plain, block, N + 4);
    vector_close(&v);
}

/* One value of 16 and 15 zeros: 127 sqrt(16) / 4 becomes 127 times the first row of H, all ones;
 * three values behind the group stay, in a block of their own. */
static void rotation_by_hand(void **state)
{
    (void)state;
    float x[19] = {508}, y[19] = {508};
    uint8_t bytes[8 + 19] = {0, 0, 0x80, 0x3f, 0, 0, 0, 0x40};
    memset(bytes + 8, 127, 16);
    x[16] = y[16] = -254;
    x[17] = y[17] = 4;
    bytes[8 + 16] = 0x81;
    bytes[8 + 17] = 2;
    struct vector v;
    vector_open(&v, "int8:block=16,hadamard=16", 19);
    vector_is(&v, x, bytes, sizeof bytes, y);
    vector_close(&v);
}

/* By the definition of the matrix: row i, column j is -1 to the number of bits that i and j have in
 * common; and every instruction set has the bits of scalar code. */
static void rotations_by_definition(void **state)
{
    (void)state;
    enum { N = 1030 };
    static float x[N], y[N], want[N];
    const enum cc_isa before = cc_isa();
    for (int i = 0; i < N; i++)
        x[i] = (float)((uint32_t)i * 2654435761u >> 8) * (i % 3 == 0 ? 1e-6f : -1e-9f);
    for (size_t h = K_HADAMARD_LEAST; h <= K_HADAMARD_MOST; h *= 2) {
        cc_isa_force(CC_SCALAR);
        k_hadamard()->rotate(x, want, N, h);
        for (size_t i = 0; i < N; i++) {
            double sum = 0;
            for (size_t j = 0; j < h; j++)
                sum += (__builtin_popcountll(i % h & j) % 2 != 0 ? -1 : 1) *
                       (i / h * h + j < N ? (double)x[i / h * h + j] : 0);
            const bool whole = i / h * h + h <= N;
            assert_true(fabs((double)want[i] - (whole ? sum / sqrt((double)h) : (double)x[i])) <
                        (whole ? 1e-4 : 0x1p-149));
        }
        for (int isa = 0; isa < CC_ISAS; isa++) {
            if (!cc_isa_has((enum cc_isa)isa))
                continue;
            cc_isa_force((enum cc_isa)isa);
            memcpy(y, x, sizeof x);
            k_hadamard()->rotate(y, y, N, h);
            assert_memory_equal(y, want, sizeof y);
        }
    }
    cc_isa_force(before);
}

/* With signs: the rotation of values that have them, and its inverse, in every instruction set. */
static void signs_go_before_the_rotation(void **state)
{
    (void)state;
    enum { N = 1030 };
    static float x[N], y[N], sign[N], with[N], want[N];
    const enum cc_isa before = cc_isa();
    for (uint32_t i = 0; i < N; i++) {
        x[i] = (float)(int32_t)cc_random((struct cc_key){3, 4}, i);
        sign[i] = cc_random((struct cc_key){5, 6}, i) % 2 != 0 ? -1.0f : 1.0f;
    }
    for (size_t h = K_HADAMARD_LEAST; h <= K_HADAMARD_MOST; h *= 2)
        for (int isa = 0; isa < CC_ISAS; isa++) {
            if (!cc_isa_has((enum cc_isa)isa))
                continue;
            cc_isa_force((enum cc_isa)isa);
            for (size_t i = 0; i < N; i++)
                with[i] = i < N / h * h ? x[i] * sign[i] : x[i];
            k_hadamard()->rotate(with, want, N, h);
            k_hadamard()->rotate_signed(x, y, N, h, sign);
            assert_memory_equal(y, want, sizeof y);
            k_hadamard()->rotate(want, with, N, h);
            k_hadamard()->rotate_back(y, y, N, h, sign);
            for (size_t i = 0; i < N; i++)
                assert_true(y[i] == (i < N / h * h ? with[i] * sign[i] : with[i]));
        }
    cc_isa_force(before);
}

/* The mean square of what a scheme leaves of N values, over that of the values. */
enum { HEAVY = 1 << 16 };
static double left_over(const char *scheme, const float *x)
{
    static float y[HEAVY];
    static uint8_t out[5 * HEAVY];
    struct cc_error e;
    struct vector v;
    size_t len;
    double left = 0, all = 0;
    vector_open(&v, scheme, HEAVY);
    assert_int_equal(cc_encode(&v.codec, &v.ctx, x, out, sizeof out, &len, &e), CC_OK);
    assert_int_equal(cc_decode(&v.codec, &v.ctx, out, len, y, &e), CC_OK);
    for (size_t i = 0; i < HEAVY; i++) {
        left += pow((double)x[i] - (double)y[i], 2);
        all += pow((double)x[i], 2);
    }
    vector_close(&v);
    return left / all;
}

/* One value of 64 is 40 times the others: without a rotation it decides the scale of its block, and
 * the others vanish. */
static void rotations_help_against_outliers(void **state)
{
    (void)state;
    static float x[HEAVY];
    for (uint32_t i = 0; i < HEAVY; i++) {
        const float u = (float)(cc_random((struct cc_key){1, 2}, i) >> 8) * 0x1p-23f - 1;
        x[i] = i % 64 == 5 ? 40 * u : u;
    }
    const char *const pair[][2] = {{"int4:block=128", "int4:block=128,hadamard=32"},
                                   {"int8:block=512", "int8:block=512,hadamard=32"}};
    for (size_t i = 0; i < LENGTH(pair); i++)
        assert_true(left_over(pair[i][1], x) < 0.5 * left_over(pair[i][0], x));
}

/* One group of four is alike to a row of the matrix, and rotates to one large value, which decides
 * the scale of the others; signs spread it. */
static void signs_help_against_rows(void **state)
{
    (void)state;
    static float x[HEAVY];
    for (uint32_t i = 0; i < HEAVY; i++) {
        const float u = (float)(cc_random((struct cc_key){1, 2}, i) >> 8) * 0x1p-23f - 1;
        x[i] = i / 32 % 4 != 0 ? 20 * u : __builtin_popcount(i & 21) % 2 != 0 ? -40 : 40;
    }
    assert_true(left_over("int4:block=128,hadamard=32,rounding=nearest,flip=1", x) <
                0.5 * left_over("int4:block=128,hadamard=32,rounding=nearest", x));
}

static void settings_are_refused(void **state)
{
    (void)state;
    struct cc_spec *spec;
    struct cc_error e;
    assert_int_equal(cc_spec_parse("int4:block=48", &spec, &e), CC_USAGE);
    assert_contains(e.text, "block=48: a power of two from 16 to 4096");
    assert_int_equal(cc_spec_parse("mxfp4:hadamard=24", &spec, &e), CC_USAGE);
    assert_contains(e.text, "hadamard=24: a power of two from 16 to 512, or 0");
    assert_int_equal(cc_spec_parse("int8:hadamard=8", &spec, &e), CC_USAGE);
    assert_contains(e.text, "hadamard=8");
    assert_int_equal(cc_spec_parse("int4:flip=1", &spec, &e), CC_USAGE);
    assert_contains(e.text,
                    "flip=1: signs are drawn for values that are rotated: give hadamard=32, too");
}

/* --- ef=bf16 --- */

/* 1,000 steps of 1/1024 of the only other value: rounded to the nearest, the residual would stay at
 * what it is once a step is below half a unit of its last place; on average none is lost. */
static void narrow_residuals_lose_nothing(void **state)
{
    (void)state;
    enum { VALUES = 2000, STEPS = 1000 };
    static float x[VALUES], y[VALUES];
    static uint8_t out[VALUES + 4];
    struct cc_error e;
    struct vector v;
    double sum = 0;
    size_t len;
    for (size_t i = 0; i < VALUES; i++)
        x[i] = i == 0 ? 254 : 1.0f / 1024; /* a unit of int8's codes is 2 */
    vector_open(&v, "int8:ef=bf16", VALUES);
    assert_int_equal(cc_state_bytes(&v.codec), 2 * VALUES);
    assert_true(cc_scratch_bytes(&v.codec) >= 4 * VALUES);
    for (uint64_t s = 0; s < STEPS; s++) {
        v.ctx.step = s;
        assert_int_equal(cc_encode(&v.codec, &v.ctx, x, out, sizeof out, &len, &e), CC_OK);
        assert_int_equal(cc_decode(&v.codec, &v.ctx, out, len, y, &e), CC_OK);
        for (size_t i = 1; i < VALUES; i++)
            sum += (double)y[i];
    }
    /* A residual of 1 is about to be sent after 1,024 steps: what was sent, and what was not. */
    const uint16_t *residual = v.codec.state;
    for (size_t i = 1; i < VALUES; i++)
        sum += (double)cc_bits_f32((uint32_t)residual[i] << 16);
    const double want = (VALUES - 1) * (double)STEPS / 1024;
    /* Each rounding has a deviation of at most half of 2^-8; there are two million independent
     * ones. */
    assert_true(fabs(sum - want) < 6 * 0x1p-9 * sqrt((double)VALUES * STEPS));
    vector_close(&v);
}

/* With a scale of 1, 0.4 is not sent, and e is 0.2 of it; nor is 0.4 + e then, and e is 0.8 e + 0.2
 * (0.4 + e). In step 1,024 it begins again. 300 values have two scales. */
static void averages_by_hand(void **state)
{
    (void)state;
    enum { N = 300 };
    static float x[N];
    static uint8_t out[N + 4];
    struct cc_error e;
    struct vector v;
    size_t len;
    x[0] = 127;
    x[1] = 0.4f;
    vector_open(&v, "int8:ef=loco", N);
    assert_int_equal(cc_state_bytes(&v.codec), 2 * 4 + 300);
    assert_false(cc_takes_back(v.spec->scheme, v.spec->params));
    const float *scale = v.codec.state;
    const int8_t *code = (const int8_t *)(scale + 2);
    const double want[] = {0.08, 0.8 * 0.08 + 0.2 * 0.48};
    for (uint64_t s = 0; s < 3; s++) {
        v.ctx.step = s;
        assert_int_equal(cc_encode(&v.codec, &v.ctx, x, out, sizeof out, &len, &e), CC_OK);
        if (s < 2)
            assert_int_equal(out[4 + 1], 0);
        if (s < 2)
            assert_true(fabs((double)(scale[0] * (float)code[1]) - want[s]) < 1e-6);
        assert_true(scale[1] == 0);
    }
    /* 0.4 + 0.16 is sent as 1: what is left is negative, and lessens the average. */
    assert_int_equal(out[4 + 1], 1);
    assert_true(fabs((double)(scale[0] * (float)code[1]) - (0.8 * 0.16 - 0.2 * 0.44)) < 1e-6);
    v.ctx.step = 1024;
    assert_int_equal(cc_encode(&v.codec, &v.ctx, x, out, sizeof out, &len, &e), CC_OK);
    assert_int_equal(out[4 + 1], 0);
    assert_true(fabs((double)(scale[0] * (float)code[1]) - want[0]) < 1e-6);
    vector_close(&v);
}

static void narrow_state_sizes(void **state)
{
    (void)state;
    struct vector v;
    vector_open(&v, "topk:k=1,bucket=8,ef=bf16", 5);
    assert_int_equal(cc_state_bytes(&v.codec), 12); /* a multiple of 4 */
    vector_close(&v);
    vector_open(&v, "local:inner=(3lc:ef=bf16)", 6);
    assert_int_equal(cc_state_bytes(&v.codec), 64 + 12); /* the sum, up to a whole line */
    assert_false(cc_takes_back(v.spec->scheme, v.spec->params));
    vector_close(&v);
}

/* Values that are given back are sent again. */
static void narrow_give_back(void **state)
{
    (void)state;
    float x[8] = {4, 0, 0, 0, 0, 0, 0, -3}, y[8];
    uint8_t out[64];
    size_t len, count;
    struct cc_index_value pair[8];
    struct cc_error e;
    struct vector v;
    vector_open(&v, "topk:k=1,bucket=8,ef=bf16", 8);
    assert_true(cc_takes_back(v.spec->scheme, v.spec->params));
    assert_int_equal(cc_encode(&v.codec, &v.ctx, x, out, sizeof out, &len, &e), CC_OK);
    assert_int_equal(cc_to_pairs(&v.codec, &v.ctx, out, len, 10, pair, 8, &count, &e), CC_OK);
    assert_int_equal(count, 1);
    assert_int_equal(pair[0].index, 10);
    cc_give_back(&v.codec, 10, pair, 1);
    memset(x, 0, sizeof x);
    assert_int_equal(cc_encode(&v.codec, &v.ctx, x, out, sizeof out, &len, &e), CC_OK);
    assert_int_equal(cc_decode(&v.codec, &v.ctx, out, len, y, &e), CC_OK);
    assert_true(y[0] == 4 && y[7] == 0);
    assert_int_equal(cc_encode(&v.codec, &v.ctx, x, out, sizeof out, &len, &e), CC_OK);
    assert_int_equal(cc_decode(&v.codec, &v.ctx, out, len, y, &e), CC_OK);
    assert_true(y[0] == 0 && y[7] == -3);
    /* Values given back are added to those not sent: 2 and 4 are 6. */
    x[0] = 3;
    x[1] = 2;
    assert_int_equal(cc_encode(&v.codec, &v.ctx, x, out, sizeof out, &len, &e), CC_OK);
    pair[0] = (struct cc_index_value){.index = 11, .value = 4};
    cc_give_back(&v.codec, 10, pair, 1);
    memset(x, 0, sizeof x);
    assert_int_equal(cc_encode(&v.codec, &v.ctx, x, out, sizeof out, &len, &e), CC_OK);
    assert_int_equal(cc_decode(&v.codec, &v.ctx, out, len, y, &e), CC_OK);
    assert_true(y[1] == 6 && y[0] == 0);
    vector_close(&v);
}

/* --- kernels --- */

/* Numbers whose fraction, in units of `step`, is the random number that it is compared with, and
 * their neighbours: where a code changes. Every instruction set rounds them as scalar code does. */
static void draws_beside_fractions(const struct k_block_codes *one,
                                   const struct k_block_codes *scalar, float divisor, float step,
                                   int most)
{
    enum { N = 512 };
    const struct cc_key key = {12345, 67890};
    float x[N], divisors[N / 32];
    uint8_t codes[N], want[N];
    for (size_t b = 0; b < N / 32; b++)
        divisors[b] = divisor;
    for (int beside = -4; beside <= 4; beside++)
        for (size_t n = N - 40; n <= N; n += 5) {
            for (uint32_t i = 0; i < n; i++) {
                const int whole = (int)(i % (uint32_t)(2 * most)) - most;
                const float v = ((float)whole + cc_unit(cc_random(key, 7 + i))) * step;
                x[i] = cc_bits_f32((uint32_t)((int)cc_f32_bits(v * divisor) + beside));
            }
            memset(codes, 0xee, sizeof codes);
            memset(want, 0xee, sizeof want);
            one->random(x, n, 32, divisors, key, 7, codes);
            scalar->random(x, n, 32, divisors, key, 7, want);
            assert_memory_equal(codes, want, N);
        }
}

static void kernels_draw_alike(void **state)
{
    (void)state;
    const float divisors[] = {1, 0.37f, 3.1e-5f, 0x1.24p125f, 0x1p-120f};
    enum cc_isa before = cc_isa();
    cc_isa_force(CC_SCALAR);
    const struct k_blocks *scalar = k_blocks();
    for (int isa = 0; isa < CC_ISAS; isa++) {
        cc_isa_force((enum cc_isa)isa);
        const struct k_blocks *k = k_blocks();
        for (size_t d = 0; d < LENGTH(divisors); d++) {
            draws_beside_fractions(&k->int4, &scalar->int4, divisors[d], 1, 7);
            if (divisors[d] > 100)
                continue; /* times 448 it is infinite */
            draws_beside_fractions(&k->e4m3, &scalar->e4m3, divisors[d], 0x1p-9f, 8);
            draws_beside_fractions(&k->e5m2, &scalar->e5m2, divisors[d], 0x1p-16f, 4);
            draws_beside_fractions(&k->e4m3, &scalar->e4m3, divisors[d], 1, 448);
            draws_beside_fractions(&k->e5m2, &scalar->e5m2, divisors[d], 100, 500);
        }
        const float powers[] = {0x1p-127f, 0x1p-20f, 1, 0x1p100f};
        for (size_t d = 0; d < LENGTH(powers); d++) {
            draws_beside_fractions(&k->e2m1, &scalar->e2m1, powers[d], 0.5f, 4);
            draws_beside_fractions(&k->e2m1, &scalar->e2m1, powers[d], 1, 8);
            draws_beside_fractions(&k->e3m0, &scalar->e3m0, powers[d], 0.25f, 4);
            draws_beside_fractions(&k->e3m0, &scalar->e3m0, powers[d], 1, 20);
        }
    }
    cc_isa_force(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp8_numbers),
        cmocka_unit_test(fp8_all_codes),
        cmocka_unit_test(fp8_rounds_to_nearest),
        cmocka_unit_test(fp8_scales_blocks),
        cmocka_unit_test(fp8_at_the_ends_of_the_range),
        cmocka_unit_test(fp8_refuses),
        cmocka_unit_test(mxfp4_rounds_to_nearest),
        cmocka_unit_test(mxfp4_scales),
        cmocka_unit_test(mxfp4_refuses),
        cmocka_unit_test(int4_by_hand),
        cmocka_unit_test(int4_refuses),
        cmocka_unit_test(int8_of_one_block),
        cmocka_unit_test(rotation_by_hand),
        cmocka_unit_test(rotations_by_definition),
        cmocka_unit_test(rotations_help_against_outliers),
        cmocka_unit_test(signs_go_before_the_rotation),
        cmocka_unit_test(signs_help_against_rows),
        cmocka_unit_test(settings_are_refused),
        cmocka_unit_test(narrow_residuals_lose_nothing),
        cmocka_unit_test(averages_by_hand),
        cmocka_unit_test(narrow_state_sizes),
        cmocka_unit_test(narrow_give_back),
        cmocka_unit_test(kernels_draw_alike),
    };
    return cmocka_run_group_tests_name("blocks", tests, NULL, NULL);
}
