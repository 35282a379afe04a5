/* Elias omega codes, and qsgd: bytes worked out by hand from docs/payloads.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/isa.h"
#include "schemes/kernels/elias_code.h"
#include "tests/lib/vector.h"

#define LENGTH(a) (sizeof(a) / sizeof(a)[0])

/* --- Elias omega --- */

static void print_omega(uint64_t v, char *out)
{
    struct cc_omega c = cc_omega(v);
    for (unsigned i = 0; i < c.len; i++)
        out[i] = c.bits >> (c.len - 1 - i) & 1 ? '1' : '0';
    out[c.len] = '\0';
}

static void omega_codes(void **state)
{
    (void)state;
    static const struct {
        uint64_t v;
        const char *code; /* group, group, ..., value, 0 */
    } cases[] = {
        {1, "0"},
        {2, "100"},
        {3, "110"},
        {4, "101000"},
        {7, "101110"},
        {8, "1110000"},
        {15, "1111110"},
        {16, "10100100000"},                     /* 10 100 10000 0 */
        {31, "10100111110"},                     /* 10 100 11111 0 */
        {32, "101011000000"},                    /* 10 101 100000 0 */
        {100, "1011011001000"},                  /* 10 110 1100100 0 */
        {255, "10111111111110"},                 /* 10 111 11111111 0 */
        {256, "1110001000000000"},               /* 11 1000 100000000 0 */
        {1000, "11100111111010000"},             /* 11 1001 1111101000 0 */
        {65536, "1010010000100000000000000000"}, /* 10 100 10000 10000000000000000 0 */
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char code[64];
        print_omega(cases[i].v, code);
        assert_string_equal(code, cases[i].code);
    }
    assert_int_equal(cc_omega(CC_OMEGA_MAX).len, 2 + 3 + 6 + 44 + 1);
}

/* The i-th value of a sequence with small ones and large ones up to the largest. */
static uint64_t sequence(size_t i)
{
    uint64_t v = (i * UINT64_C(0x9e3779b97f4a7c15) >> (20 + i % 44)) & CC_OMEGA_MAX;
    return i % 97 == 0 ? CC_OMEGA_MAX : v > 0 ? v : 1;
}

static void omega_round_trip(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    uint8_t bytes[COUNT * 7 + 8];
    struct cc_bit_writer w = {.p = bytes};
    for (size_t i = 0; i < COUNT; i++) {
        struct cc_omega c = cc_omega(sequence(i));
        cc_bits_put(&w, c.bits, c.len);
    }
    struct cc_bit_reader r = {.p = bytes, .end = cc_bits_end(&w)};
    uint64_t v;
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(cc_omega_get(&r, &v));
        assert_true(v == sequence(i));
    }
    assert_true(r.p == r.end && r.have < 8 && r.buffer == 0);
}

static void omega_refuses(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[12];
        size_t len;
    } cases[] = {
        {{0}, 0},
        {{0xff}, 1}, /* 11 1111, then a group of 16 bits */
        {{0xe2}, 1}, /* 11 1000, then a group of 9 bits */
        {{0xad, 0x9f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 12}, /* 10 101 101100: 45 bits */
        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 12}, /* 65,536 bits */
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct cc_bit_reader r = {.p = cases[i].bytes, .end = cases[i].bytes + cases[i].len};
        uint64_t v;
        assert_false(cc_omega_get(&r, &v));
    }
}

/* --- qsgd, fixed codes ---
 *
 * With seed 1, u(0) ... = .0129, .7955, .2947, .6023, .2248, .0235, .6181, .1938. Norms and levels
 * are chosen so that the quotients are exact. */

static void fixed_levels(void **state)
{
    (void)state;
    /* s = 4: codes of 4 bits. a = 4, 2, 1, 0, no chance: codes 4, -2 = e, 1, 0 */
    const float x[] = {1, -0.5f, 0.25f, -0.0f};
    const uint8_t bytes[] = {0, 0, 0x80, 0x3f, 0xe4, 0x01};
    struct vector v;
    vector_open(&v, "qsgd:levels=4", 4);
    vector_is(&v, x, bytes, sizeof bytes, (float[]){1, -0.5f, 0.25f, 0});
    vector_close(&v);
}

static void fixed_draws(void **state)
{
    (void)state;
    /* s = 7, N = 7: a = 7, 7, 3.5, 3.5; .2947 < .5: 4, .6023: 3. Codes 7, 9, 4, 3. */
    const float x[] = {7, -7, 3.5f, 3.5f};
    const uint8_t bytes[] = {0, 0, 0xe0, 0x40, 0x97, 0x34};
    struct vector v;
    vector_open(&v, "qsgd", 4);
    vector_is(&v, x, bytes, sizeof bytes, (float[]){7, -7, 7 * (4.0f / 7.0f), 7 * (3.0f / 7.0f)});
    vector_close(&v);
}

static void fixed_widths(void **state)
{
    (void)state;
    struct vector v;
    /* 2 bits, s = 1, N = 2: a = 1, 1, 0, .5, .5: u(3) no, u(4) yes: 1, -1 = 3, 0, 0 | 1 */
    vector_open(&v, "qsgd:bits=2", 5);
    vector_is(&v, (float[]){2, -2, 0, 1, 1}, (const uint8_t[]){0, 0, 0, 0x40, 0x0d, 0x01}, 6,
              (float[]){2, -2, 0, 0, 2});
    vector_close(&v);
    /* 3 bits, s = 3, N = 2: a = 3, 3, 1.5, 1.5, 0: 3, -3 = 5, 2, -1 = 7, 0:
     * 3 + 5 * 8 + 2 * 64 + 7 * 512 = 3755 = 0eab */
    vector_open(&v, "qsgd:bits=3", 5);
    vector_is(&v, (float[]){2, -2, 1, -1, 0}, (const uint8_t[]){0, 0, 0, 0x40, 0xab, 0x0e}, 6,
              (float[]){2, -2, 2 * (2.0f / 3.0f), -2 * (1.0f / 3.0f), 0});
    vector_close(&v);
    /* 8 bits, s = 127, N = 127: a = 127, 127, 63.5, 63.5: 127, -127, 64, -63 = c1 */
    vector_open(&v, "qsgd:bits=8", 4);
    vector_is(&v, (float[]){127, -127, 63.5f, -63.5f},
              (const uint8_t[]){0, 0, 0xfe, 0x42, 0x7f, 0x81, 0x40, 0xc1}, 8,
              (float[]){127, -127, 127 * (64.0f / 127.0f), -127 * (63.0f / 127.0f)});
    vector_close(&v);
    /* 16 bits, s = 32767 */
    vector_open(&v, "qsgd:bits=16", 2);
    vector_is(&v, (float[]){1, -1}, (const uint8_t[]){0, 0, 0x80, 0x3f, 0xff, 0x7f, 0x01, 0x80}, 8,
              (float[]){1, -1});
    vector_close(&v);
    /* s = 8 has 17 levels, so codes of 5 bits: 8, -8 = 18, -4 = 1c: 8 + 18 * 32 + 1c * 1024 */
    vector_open(&v, "qsgd:levels=8", 3);
    vector_is(&v, (float[]){1, -1, -0.5f}, (const uint8_t[]){0, 0, 0x80, 0x3f, 0x08, 0x73}, 6,
              (float[]){1, -1, -0.5f});
    vector_close(&v);
}

static void fixed_buckets(void **state)
{
    (void)state;
    /* Buckets of 3: N = 1: 4, -4 = c, 2 | 4 bits of padding; N = 0: zeros; N = 2 alone: 4 */
    const float x[] = {1, -1, 0.5f, 0, -0.0f, 0, 2};
    const uint8_t bytes[] = {0, 0, 0x80, 0x3f, 0xc4, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x04};
    struct vector v;
    vector_open(&v, "qsgd:levels=4,bucket=3", LENGTH(x));
    vector_is(&v, x, bytes, sizeof bytes, (float[]){1, -1, 0.5f, 0, 0, 0, 2});
    vector_close(&v);
}

/* Long buckets, and one of a few values at the end, each have their own norm: the largest values
 * are decoded as they are. */
static void long_buckets_have_norms(void **state)
{
    (void)state;
    enum { BUCKET = 1 << 17, N = 2 * BUCKET + 40 };
    struct vector v;
    struct cc_error e;
    size_t len;
    vector_open(&v, "qsgd:bucket=131072", N);
    v.codec.threads = 4;
    float *x = calloc(2 * N, sizeof *x), *y = x + N;
    uint8_t *out = malloc(cc_bound(&v.codec));
    assert_non_null(x);
    assert_non_null(out);
    x[5] = 1;
    x[BUCKET + 6] = -8;
    x[N - 1] = 0.25f;
    assert_int_equal(cc_encode(&v.codec, &v.ctx, x, out, cc_bound(&v.codec), &len, &e), CC_OK);
    assert_int_equal(cc_decode(&v.codec, &v.ctx, out, len, y, &e), CC_OK);
    for (size_t i = 0; i < N; i++)
        assert_true(y[i] == x[i]);
    free(x);
    free(out);
    vector_close(&v);
}

static void two_norm(void **state)
{
    (void)state;
    /* N = sqrt(4) = 2, a = (1 / 2) 4 = 2 */
    const float x[] = {1, -1, 1, 1};
    const uint8_t bytes[] = {0, 0, 0, 0x40, 0xe2, 0x22};
    /* Four times FLT_MAX have a norm above it: N = FLT_MAX, and a = 4 */
    const float large[] = {FLT_MAX, -FLT_MAX, FLT_MAX, FLT_MAX};
    const uint8_t large_bytes[] = {0xff, 0xff, 0x7f, 0x7f, 0xc4, 0x44};
    struct vector v;
    vector_open(&v, "qsgd:levels=4,norm=l2,bucket=0", 4);
    vector_is(&v, x, bytes, sizeof bytes, x);
    vector_is(&v, large, large_bytes, sizeof large_bytes, large);
    vector_close(&v);
}

static void keys_change(void **state)
{
    (void)state;
    /* Indices 2^32 - 2 to 2^32 + 1 draw .5230, .2127 and, with the next key, .9045, .7458. N = 1,
     * s = 4, a = 4, .4, .8, .76: 4, 1, 0, 1 with the signs - + - +. */
    const float x[] = {-1, 0.1f, -0.2f, 0.19f};
    const uint8_t fixed[] = {0, 0, 0x80, 0x3f, 0x1c, 0x10};
    struct vector v;
    vector_open(&v, "qsgd:levels=4", 4);
    v.ctx.offset = (UINT64_C(1) << 32) - 2;
    vector_encodes(&v, 1, x, fixed, sizeof fixed);
    vector_close(&v);
}

static void draws_wrap(void **state)
{
    (void)state;
    /* The number of an index is a function of index + key.a. In the middle of these values its
     * lower 16 bits pass 0, then all 32: the vectors' shared parts give what one value alone has.
     */
    enum { N = 1500 };
    static const char *const specs[] = {"qsgd", "qsgd:bits=8", "qsgd:bits=3,bucket=0"};
    float x[N];
    for (size_t i = 0; i < N; i++)
        x[i] = (float)((i * i * 7 + i) % 2003) / 2003 - 0.5f;
    for (size_t run = 0; run < 2 * LENGTH(specs); run++) {
        struct vector v;
        uint8_t want[2 * N];
        size_t len;
        vector_open(&v, specs[run / 2], N);
        v.ctx.offset = 0 - cc_context_key(&v.ctx, 0, 0).a - N / 2;
        v.ctx.offset &= run % 2 == 0 ? 0xffff : 0xffffffff;
        cc_isa_force(CC_SCALAR);
        assert_int_equal(cc_encode(&v.codec, &v.ctx, x, want, sizeof want, &len, NULL), CC_OK);
        vector_encodes(&v, 1, x, want, len);
        vector_close(&v);
    }
}

static void fixed_rejects(void **state)
{
    (void)state;
    uint8_t bytes[] = {0, 0, 0x80, 0x3f, 0, 0, 0, 0, 0x80, 0x3f, 0x06, 0};
    struct vector v;
    vector_open(&v, "qsgd:levels=5,bucket=4", 8);
    vector_rejects(&v, bytes, sizeof bytes, "byte 10: a code of 6, with levels from -5 to 5");
    bytes[10] = 0x05;
    bytes[11] = 0xa0; /* -6 */
    vector_rejects(&v, bytes, sizeof bytes, "byte 11: a code of -6");
    vector_rejects(&v, bytes, 11, "byte 11: the payload has 11 bytes, not 12");
    vector_rejects(&v, bytes, 0, "byte 0: the payload has 0 bytes, not 12");
    bytes[11] = 0xb0;
    vector_decodes(&v, bytes, sizeof bytes, (float[]){0, 0, 0, 0, 1, 0, 0, -1});
    bytes[9] = 0xbf;
    vector_rejects(&v, bytes, sizeof bytes, "byte 6: the norm of a bucket is -1");
    bytes[2] = 0xff;
    bytes[3] = 0x7f;
    vector_rejects(&v, bytes, sizeof bytes, "byte 0: the norm of a bucket is nan");
    vector_close(&v);
}

static void fixed_rejects_in_long_buckets(void **state)
{
    (void)state;
    /* -8 is not a level of s = 7. Tries every position of vectors and of the values left over. */
    enum { N = 4999 };
    static uint8_t bytes[4 + (N + 1) / 2];
    struct vector v;
    vector_open(&v, "qsgd:bucket=0", N);
    for (size_t at = 0; at < N; at += at < 100 || at > N - 100 ? 1 : 61) {
        char text[64];
        (void)snprintf(text, sizeof text, "byte %zu: a code of -8", 4 + at / 2);
        bytes[4 + at / 2] = at % 2 ? 0x80 : 0x08;
        vector_rejects(&v, bytes, sizeof bytes, text);
        bytes[4 + at / 2] = 0;
    }
    vector_close(&v);
}

static void encode_refuses(void **state)
{
    (void)state;
    static const char *const specs[] = {"qsgd:bucket=8", "qsgd:bucket=8,norm=l2",
                                        "qsgd:bucket=8,code=elias"};
    for (size_t s = 0; s < LENGTH(specs); s++) {
        float x[20] = {1};
        struct vector v;
        vector_open(&v, specs[s], 20);
        x[19] = NAN;
        vector_refuses(&v, x, "tensor 't': the value at index 19 is NaN");
        x[11] = INFINITY;
        vector_refuses(&v, x, "index 11 is infinite");
        vector_close(&v);
    }
}

/* --- qsgd, Elias codes --- */

static void elias_bucket(void **state)
{
    (void)state;
    /* s = 4, levels 0 0 4 -2 0 0 0 1: omega(3 + 1) = 101000; distance 3 = 110, 0, 4 = 101000;
     * distance 1 = 0, 1, 2 = 100; distance 4 = 101000, 0, 1 = 0:
     * 10100011 00101000 01100101 00000.000 */
    const float x[] = {0, 0, 1, -0.5f, 0, -0.0f, 0, 0.25f};
    const uint8_t bytes[] = {0, 0, 0x80, 0x3f, 0xa3, 0x28, 0x65, 0x00};
    struct vector v;
    vector_open(&v, "qsgd:levels=4,code=elias", 8);
    vector_is(&v, x, bytes, sizeof bytes, (float[]){0, 0, 1, -0.5f, 0, 0, 0, 0.25f});
    vector_close(&v);
}

static void elias_long_codes(void **state)
{
    (void)state;
    /* Only value 299 is not 0, its level is 4: omega(2) = 100, omega(300) = 11 1000 100101100 0,
     * sign 0, omega(4) = 101000: 10011100 01001011 0000 1010 00.000000 */
    float x[512] = {[299] = 3};
    const uint8_t bytes[] = {0, 0, 0x40, 0x40, 0x9c, 0x4b, 0x0a, 0x00};
    struct vector v;
    vector_open(&v, "qsgd:levels=4,code=elias", 512);
    vector_is(&v, x, bytes, sizeof bytes, x);
    vector_close(&v);
    /* A single value of level 300: omega(2) = 100, omega(1) = 0, sign 1, omega(300):
     * 10001111 00010010 11000.000 */
    vector_open(&v, "qsgd:levels=300,code=elias", 1);
    vector_is(&v, (float[]){-3}, (const uint8_t[]){0, 0, 0x40, 0x40, 0x8f, 0x12, 0xc0}, 7,
              (float[]){-3});
    vector_close(&v);
}

static void elias_buckets(void **state)
{
    (void)state;
    /* Buckets of 2: N = 1, levels 0 4: 100 100 0 101000 = 10010001 01000.000; N = 0 is alone;
     * N = 2, one value, level -4: 100 0 1 101000 = 10001101 000.00000 */
    const float x[] = {0, 1, 0, 0, -2};
    const uint8_t bytes[] = {0, 0, 0x80, 0x3f, 0x91, 0x40, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x8d, 0x00};
    struct vector v;
    vector_open(&v, "qsgd:levels=4,code=elias,bucket=2", 5);
    vector_is(&v, x, bytes, sizeof bytes, x);
    vector_close(&v);
}

static void elias_without_levels(void **state)
{
    (void)state;
    /* With the 2-norm every level of a bucket can be 0: omega(1) = 0 */
    struct vector v;
    vector_open(&v, "qsgd:levels=4,code=elias", 3);
    vector_decodes(&v, (const uint8_t[]){0, 0, 0x80, 0x3f, 0}, 5, (float[]){0, 0, 0});
    vector_close(&v);
}

static void elias_rejects(void **state)
{
    (void)state;
    static const struct {
        uint8_t codes[8]; /* after the norm, 1 */
        size_t len;
        const char *text;
    } cases[] = {
        {{0xc0}, 1, "byte 4: the payload ends within a bucket"}, /* 110 0 0 0, then 0 0 */
        {{0xe0}, 1, "byte 4: a bucket with more nonzero levels than values"}, /* omega(8) - 1 = 7 */
        {{0x9a, 0x00}, 2, "byte 4: a level beyond the end"},    /* 100, distance 110 = 3 (of 2) */
        {{0x85, 0x40}, 2, "byte 5: a level above the highest"}, /* 100 0 0 omega(5) = 101010 */
        {{0x82}, 1, "byte 4: a padding bit is set"},            /* 100 0 0 0, then 10 */
        {{0x80, 0x00}, 2, "byte 5: 1 bytes after the last bucket"},
        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 8, "impossible code"},
    };
    struct vector v;
    vector_open(&v, "qsgd:levels=4,code=elias", 2);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        uint8_t bytes[12] = {0, 0, 0x80, 0x3f};
        memcpy(bytes + 4, cases[i].codes, 8);
        vector_rejects(&v, bytes, 4 + cases[i].len, cases[i].text);
    }
    vector_rejects(&v, (const uint8_t[]){0, 0, 0x80}, 3, "byte 3: the payload ends before");
    vector_rejects(&v, (const uint8_t[]){0, 0, 0x80, 0xff, 0}, 5, "byte 0: the norm of a bucket");
    vector_close(&v);
}

static void spec_ranges(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "qsgd:bits=1",    "qsgd:bits=17",           "qsgd:levels=32768",
        "qsgd:levels=-1", "qsgd:bucket=1073741825", "qsgd:norm=l1"};
    for (size_t i = 0; i < LENGTH(bad); i++) {
        struct cc_spec *s;
        assert_int_not_equal(cc_spec_parse(bad[i], &s, NULL), CC_OK);
    }
}

static void bounds(void **state)
{
    (void)state;
    struct vector v;
    vector_open(&v, "qsgd", 1000); /* 4 + 256, and 4 + 244 */
    assert_int_equal(cc_bound(&v.codec), 508);
    v.codec.shape = cc_shape_flat(SIZE_MAX);
    assert_true(cc_bound(&v.codec) == SIZE_MAX);
    vector_close(&v);
    /* omega(513) has 17 bits, a distance of 1, a sign and a 7 have 8: 515 bytes, and room for 8 */
    vector_open(&v, "qsgd:code=elias", 512);
    assert_int_equal(cc_bound(&v.codec), 4 + 515 + 8);
    vector_close(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(omega_codes),
        cmocka_unit_test(omega_round_trip),
        cmocka_unit_test(omega_refuses),
        cmocka_unit_test(fixed_levels),
        cmocka_unit_test(fixed_draws),
        cmocka_unit_test(fixed_widths),
        cmocka_unit_test(fixed_buckets),
        cmocka_unit_test(two_norm),
        cmocka_unit_test(long_buckets_have_norms),
        cmocka_unit_test(keys_change),
        cmocka_unit_test(draws_wrap),
        cmocka_unit_test(fixed_rejects),
        cmocka_unit_test(fixed_rejects_in_long_buckets),
        cmocka_unit_test(encode_refuses),
        cmocka_unit_test(elias_bucket),
        cmocka_unit_test(elias_long_codes),
        cmocka_unit_test(elias_buckets),
        cmocka_unit_test(elias_without_levels),
        cmocka_unit_test(elias_rejects),
        cmocka_unit_test(spec_ranges),
        cmocka_unit_test(bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
