/* 3lc and ternary against bytes worked out by hand from docs/payloads.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/isa.h"
#include "tests/lib/kit.h"
#include "tests/lib/text.h"

#define MAX_N 65536u

static struct kit open_kit(const char *scheme, size_t n)
{
    struct kit k = kit_open(scheme, cc_shape_flat(n));
    k.ctx = (struct cc_context){.seed = 7, .name = "conv1"};
    return k;
}

static void encode(struct kit *k, const float *x)
{
    assert_int_equal(kit_encode(k, x), CC_OK);
}

/* The payload is m, then these bytes; it decodes to m * trit. */
static void expect(struct kit *k, float m, const uint8_t *bytes, size_t count, const int *trits)
{
    assert_int_equal(k->len, 4 + count);
    assert_true(cc_get_f32(k->payload) == m);
    assert_memory_equal(k->payload + 4, bytes, count);
    assert_int_equal(cc_decode(&k->codec, &k->ctx, k->payload, k->len, k->y, &k->e), CC_OK);
    for (size_t i = 0; i < k->codec.shape.n; i++)
        assert_true(k->y[i] == m * (float)trits[i]);
}

#define N(array) (sizeof(array) / sizeof(array)[0])

/* Encodes and checks on every instruction set. */
static void check(const char *scheme, const float *x, size_t n, float m, const uint8_t *bytes,
                  size_t count, const int *trits, const float *residual)
{
    enum cc_isa before = cc_isa();
    for (int isa = 0; isa < CC_ISAS; isa++) {
        cc_isa_force((enum cc_isa)isa);
        struct kit k = open_kit(scheme, n);
        encode(&k, x);
        expect(&k, m, bytes, count, trits);
        for (size_t i = 0; residual != NULL && i < n; i++)
            assert_true(((float *)k.codec.state)[i] == residual[i]);
        kit_close(&k);
    }
    cc_isa_force(before);
}

/* DESIGN's example: half = 0.5, trits 0 -1 0 1 0, digits 1 0 1 2 1: 81 + 0 + 9 + 6 + 1 = 97. */
static void one_byte(void **state)
{
    (void)state;
    const float x[] = {0.3f, -1.0f, 0.2f, 0.6f, 0.0f};
    const float rest[] = {0.3f, 0.0f, 0.2f, 0.6f - 1.0f, 0.0f};
    const int trits[] = {0, -1, 0, 1, 0};
    check("3lc", x, N(x), 1.0f, (const uint8_t[]){97}, 1, trits, rest);
    check("3lc:zre=0", x, N(x), 1.0f, (const uint8_t[]){97}, 1, trits, rest);
    check("3lc:ef=0", x, N(x), 1.0f, (const uint8_t[]){97}, 1, trits, NULL);
}

/* s = 1.5: m = 1.5, half = 0.75, so 0.6 becomes 0: digits 1 0 1 1 1: 81 + 0 + 9 + 3 + 1 = 94. */
static void sparsity(void **state)
{
    (void)state;
    const float x[] = {0.3f, -1.0f, 0.2f, 0.6f, 0.0f};
    const float rest[] = {0.3f, 0.5f, 0.2f, 0.6f, 0.0f};
    const int trits[] = {0, -1, 0, 0, 0};
    check("3lc:s=1.5", x, N(x), 1.5f, (const uint8_t[]){94}, 1, trits, rest);
}

/* Half of m rounds away from zero, the float below it to zero: digits 2 0 2 1 1: 162 + 0 + 18 + 3 +
 * 1 = 184. */
static void ties(void **state)
{
    (void)state;
    const float x[] = {1.0f, -0.5f, 0.5f, 0x1.fffffep-2f, -0x1.fffffep-2f};
    const float rest[] = {0.0f, 0.5f, -0.5f, 0x1.fffffep-2f, -0x1.fffffep-2f};
    const int trits[] = {1, -1, 1, 0, 0};
    check("3lc", x, N(x), 1.0f, (const uint8_t[]){184}, 1, trits, rest);
}

/* n = 7, L = 2. Digits 2 1 1 0 2 1 0 and three of padding.
 * Byte 0 has d0 d2 d4 d6 d8: 162 + 27 + 18 + 0 + 1 = 208.
 * Byte 1 has d1 d3 d5 d7 d9:  81 +  0 +  9 + 3 + 1 = 94.
 * n = 1: digit 2 and padding, 162 + 27 + 9 + 3 + 1 = 202.
 * n = 6, L = 2: planes 3 and 4 are all padding. Digits 0 1 1 1 2 1:
 * byte 0 d0 d2 d4: 0 + 27 + 18 + 3 + 1 = 49; byte 1 is 121. */
static void planes(void **state)
{
    (void)state;
    const float x[] = {1.0f, 0.0f, 0.0f, -1.0f, 1.0f, 0.0f, -1.0f};
    const int trits[] = {1, 0, 0, -1, 1, 0, -1};
    check("3lc", x, N(x), 1.0f, (const uint8_t[]){208, 94}, 2, trits, NULL);
    check("3lc", (const float[]){2.0f}, 1, 2.0f, (const uint8_t[]){202}, 1, (const int[]){1}, NULL);
    const float six[] = {-3.0f, 0.0f, 1.0f, 0.0f, 2.0f, 0.0f};
    const int six_trits[] = {-1, 0, 0, 0, 1, 0};
    check("3lc", six, N(six), 3.0f, (const uint8_t[]){49, 121}, 2, six_trits, NULL);
}

/* Zero tensors of L bytes: m = 0, and L = 14 a + b becomes a bytes of 255, then 243 + b - 2, or 121
 * for b = 1, or nothing. Without zero-run encoding, L bytes of 121. */
static void zeros(void **state)
{
    (void)state;
    static const float x[MAX_N];
    static const int trits[MAX_N];
    static const size_t ls[] = {1,  2,  3,  13, 14,   15,   16,   28,
                                29, 63, 64, 65, 4095, 4096, 4097, 8202};
    static uint8_t bytes[MAX_N];
    for (size_t k = 0; k < N(ls); k++) {
        size_t a = ls[k] / 14, b = ls[k] % 14;
        memset(bytes, 255, a);
        bytes[a] = (uint8_t)(b == 1 ? 121 : 241 + b);
        check("3lc", x, 5 * ls[k], 0.0f, bytes, a + (b > 0), trits, NULL);
        check("3lc", x, 5 * ls[k] - 4, 0.0f, bytes, a + (b > 0), trits, NULL);
        memset(bytes, 121, ls[k]);
        check("3lc:zre=0", x, 5 * ls[k], 0.0f, bytes, ls[k], trits, NULL);
    }
}

/* One value at place j of L = 4200 bytes, in plane 0: the byte 202 between runs of j and L - 1 -
 * j. */
static void runs(void **state)
{
    (void)state;
    enum { L = 4200 };
    static float x[5 * L];
    static int trits[5 * L];
    static const size_t js[] = {0,  1,   2,    13,   14,   15,   63,   64,
                                65, 127, 4094, 4095, 4096, 4097, L - 1};
    for (size_t k = 0; k < N(js); k++) {
        uint8_t bytes[L];
        size_t w = 0, parts[] = {js[k], L - 1 - js[k]};
        for (size_t part = 0; part < 2; part++) {
            for (; parts[part] >= 14; parts[part] -= 14)
                bytes[w++] = 255;
            if (parts[part] > 0)
                bytes[w++] = (uint8_t)(parts[part] == 1 ? 121 : 241 + parts[part]);
            if (part == 0)
                bytes[w++] = 202;
        }
        x[js[k]] = 0.25f;
        trits[js[k]] = 1;
        check("3lc", x, N(x), 0.25f, bytes, w, trits, NULL);
        x[js[k]] = 0;
        trits[js[k]] = 0;
    }
}

/* m is the smallest float and half of it rounds to 0, yet zeros stay zeros: digits 1 2 0 1 1:
 * 81 + 54 + 0 + 3 + 1 = 139. */
static void denormals(void **state)
{
    (void)state;
    const float x[] = {-0.0f, FLT_TRUE_MIN, -FLT_TRUE_MIN, 0.0f, -0.0f};
    const int trits[] = {0, 1, -1, 0, 0};
    check("3lc", x, N(x), FLT_TRUE_MIN, (const uint8_t[]){139}, 1, trits, NULL);
    /* u m < m always; u m < 0 never. */
    check("ternary", x, N(x), FLT_TRUE_MIN, (const uint8_t[]){139}, 1, trits, NULL);
}

/* s * max overflows: m is the largest float. Digits 2 0 1 1 1: 162 + 0 + 9 + 3 + 1 = 175. */
static void huge_values(void **state)
{
    (void)state;
    const float x[] = {FLT_MAX, -FLT_MAX, 0.25f * FLT_MAX, 1.0f, 0.0f};
    const float rest[] = {0.0f, 0.0f, 0.25f * FLT_MAX, 1.0f, 0.0f};
    const int trits[] = {1, -1, 0, 0, 0};
    check("3lc:s=1.9", x, N(x), FLT_MAX, (const uint8_t[]){175}, 1, trits, rest);
}

/* Step 0 leaves (0.4, -0.1, 0.1, 0, 0): residual (0.4, -0.1, 0.1, ...) after m = 1 for the last.
 * Step 1 adds (0.4, 0, 0, 0, 0): x = 0.8, -0.1, 0.1, 0, 0; m = 0.8; digits 2 1 1 1 1 = 202. */
static void feedback(void **state)
{
    (void)state;
    const float x[2][5] = {{0.4f, -0.1f, 0.1f, 0.0f, 1.0f}, {0.4f, 0.0f, 0.0f, 0.0f, 0.0f}};
    struct kit k = open_kit("3lc", 5);
    encode(&k, x[0]);
    /* digits 1 1 1 1 2: 121 + 1 */
    expect(&k, 1.0f, (const uint8_t[]){122}, 1, (const int[]){0, 0, 0, 0, 1});
    encode(&k, x[1]);
    expect(&k, 0.8f, (const uint8_t[]){202}, 1, (const int[]){1, 0, 0, 0, 0});
    const float *r = k.codec.state;
    assert_true(r[0] == 0.0f && r[1] == -0.1f && r[2] == 0.1f && r[4] == 0.0f);
    kit_close(&k);
}

static void refuses(const char *scheme, const float *x, size_t n, const char *index)
{
    struct kit k = open_kit(scheme, n);
    int status = kit_encode(&k, x);
    assert_int_equal(status, CC_FAIL);
    assert_contains(k.e.text, "conv1");
    assert_contains(k.e.text, index);
    kit_close(&k);
}

static void not_finite(void **state)
{
    (void)state;
    static const char *const schemes[] = {
        "3lc", "3lc:ef=0", "ternary", "ternary:ef=1", "ternary:clip=2.5", "ternary:clip=2.5,ef=1"};
    const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    for (size_t s = 0; s < N(schemes); s++) {
        for (size_t k = 0; k < N(bad); k++) {
            float x[40] = {1.0f};
            x[37] = bad[k];
            refuses(schemes[s], x, N(x), "index 37");
        }
    }
    /* 0.4 of the largest float stays in the residual; adding the largest overflows. */
    struct kit k = open_kit("3lc", 2);
    encode(&k, (const float[]){FLT_MAX, 0.4f * FLT_MAX});
    const float x[] = {0.0f, FLT_MAX};
    int status = kit_encode(&k, x);
    assert_int_equal(status, CC_FAIL);
    assert_contains(k.e.text, "gradient plus residual at index 1 overflows");
    kit_close(&k);
}

static void decode_fails(const char *scheme, size_t n, const uint8_t *in, size_t len,
                         const char *text)
{
    enum cc_isa before = cc_isa();
    for (int isa = 0; isa < CC_ISAS; isa++) {
        cc_isa_force((enum cc_isa)isa);
        struct kit k = open_kit(scheme, n);
        uint8_t *copy = malloc(len + (len == 0)); /* its size is exact, for the sanitizer */
        assert_non_null(copy);
        memcpy(copy, in, len);
        assert_int_equal(cc_decode(&k.codec, &k.ctx, copy, len, k.y, &k.e), CC_FAIL);
        assert_contains(k.e.text, text);
        memset(k.y, 0, n * sizeof(float));
        assert_int_equal(cc_decode_add(&k.codec, &k.ctx, copy, len, 1.0f, k.y, &k.e), CC_FAIL);
        free(copy);
        kit_close(&k);
    }
    cc_isa_force(before);
}

static void corrupt(void **state)
{
    (void)state;
    const uint8_t in[] = {0, 0, 128, 63, 97, 242, 245, 121}; /* m = 1; L = 2, then a run of 4, 1 */
    decode_fails("3lc", 10, in, 0, "byte 0");
    decode_fails("3lc", 10, in, 3, "byte 3");
    decode_fails("3lc", 10, in, 4, "byte 4: the payload ends before");
    decode_fails("3lc", 10, in, 5, "byte 5: the payload ends before");
    decode_fails("3lc", 10, in, 7, "byte 6: the payload continues");
    decode_fails("3lc", 25, in, 7, "byte 6: the run extends beyond");
    decode_fails("3lc", 11, in, 7, "byte 6: the run extends beyond");
    decode_fails("3lc", 30, in, 8, "byte 7: the payload continues");
    decode_fails("3lc:zre=0", 10, in, 5, "byte 5");
    decode_fails("3lc:zre=0", 10, in, 7, "byte 6");
    decode_fails("3lc:zre=0", 11, in, 7, "byte 6: 245 is not");
    decode_fails("ternary", 11, in, 7, "byte 6: 245 is not");
    const float bad[] = {NAN, INFINITY, -INFINITY, -1.0f, -FLT_TRUE_MIN};
    for (size_t k = 0; k < N(bad); k++) {
        uint8_t payload[5] = {[4] = 97};
        cc_put_f32(payload, bad[k]);
        decode_fails("3lc", 5, payload, 5, "byte 0: the scale is");
        decode_fails("ternary", 5, payload, 5, "byte 0: the scale is");
    }
}

/* Runs that a block's border cuts, in the decoder too: 4095 bytes of 122, then 255, then 122. */
static void run_over_border(void **state)
{
    (void)state;
    enum { L = 4095 + 14 + 1 };
    uint8_t in[4 + 4095 + 2];
    cc_put_f32(in, 1.0f);
    memset(in + 4, 122, sizeof in - 4);
    in[4 + 4095] = 255;
    struct kit k = open_kit("3lc", 5 * L);
    assert_int_equal(cc_decode(&k.codec, &k.ctx, in, sizeof in, k.y, &k.e), CC_OK);
    for (size_t i = 0; i < 5 * L; i++)
        assert_true(k.y[i] == (i >= 4 * L && (i < 4 * L + 4095 || i == 5 * L - 1)));
    kit_close(&k);
}

/* y + scale * (m * trit), and -0 + 0 is +0. */
static void adds(void **state)
{
    (void)state;
    const uint8_t in[] = {0, 0, 64, 64, 97}; /* m = 3; trits 0 -1 0 1 0 */
    float y[] = {1.0f, 2.0f, -0.0f, 4.0f, 0.0f};
    struct kit k = open_kit("3lc", 5);
    assert_int_equal(cc_decode_add(&k.codec, &k.ctx, in, sizeof in, 0.5f, y, &k.e), CC_OK);
    assert_true(y[0] == 1.0f && y[1] == 0.5f && y[3] == 5.5f);
    assert_int_equal(cc_f32_bits(y[2]), 0);
    kit_close(&k);
}

/* |x| = m is always sent and 0 never: digits 2 0 2 1 0: 162 + 0 + 18 + 3 + 0 = 183. */
static void ternary_certain(void **state)
{
    (void)state;
    const float x[] = {2.0f, -2.0f, 2.0f, 0.0f, -2.0f};
    const float rest[] = {0, 0, 0, 0, 0};
    const int trits[] = {1, -1, 1, 0, -1};
    check("ternary", x, N(x), 2.0f, (const uint8_t[]){183}, 1, trits, NULL);
    check("ternary:ef=1", x, N(x), 2.0f, (const uint8_t[]){183}, 1, trits, rest);
    const float zero[10] = {0, -0.0f};
    const int none[10] = {0};
    check("ternary", zero, 10, 0.0f, (const uint8_t[]){121, 121}, 2, none, NULL);
    check("ternary:zre=1", zero, 10, 0.0f, (const uint8_t[]){243}, 1, none, NULL);
}

/* sum x^2 / n = (16 + 16) / 8 = 4 and the mean is 0: sigma = 2. With clip = 1, L = m = 2 and both
 * 4s are sent for certain. n = 8, L = 2: byte 0 has digits 2 1 1 1 1 = 202, byte 1 has 0 1 1 1 1
 * = 40. The residual is what was there before clipping, less what was sent. clip = 3: L = 6 does
 * nothing. A constant tensor has sigma 0 and is not clipped. */
static void ternary_clip(void **state)
{
    (void)state;
    const float x[8] = {4.0f, -4.0f};
    const float rest[8] = {2.0f, -2.0f};
    const int trits[8] = {1, -1};
    const uint8_t bytes[] = {202, 40};
    check("ternary:clip=1", x, 8, 2.0f, bytes, 2, trits, NULL);
    check("ternary:clip=1,ef=1", x, 8, 2.0f, bytes, 2, trits, rest);
    check("ternary:clip=3", x, 8, 4.0f, bytes, 2, trits, NULL);
    const float same[] = {3.0f, 3.0f, 3.0f, 3.0f, 3.0f};
    const int ones[] = {1, 1, 1, 1, 1};
    check("ternary:clip=2.5", same, 5, 3.0f, (const uint8_t[]){242}, 1, ones, NULL);
}

/* The trits are those of u(i) < |x| / m with i counted in the whole tensor, also where the upper
 * half of the index changes and the key with it. */
static void ternary_draws(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    static const uint64_t offsets[] = {0, 12345, (UINT64_C(1) << 32) - 300, UINT64_C(7) << 32};
    float x[COUNT];
    for (size_t o = 0; o < N(offsets); o++) {
        struct kit k = open_kit("ternary:ef=1", COUNT);
        k.ctx.offset = offsets[o];
        k.ctx.rank = 3;
        k.ctx.step = 11;
        for (size_t i = 0; i < COUNT; i++)
            x[i] = (i % 2 ? -0.001f : 0.001f) * (float)(i + 1);
        encode(&k, x);
        assert_int_equal(cc_decode(&k.codec, &k.ctx, k.payload, k.len, k.y, &k.e), CC_OK);
        for (size_t i = 0; i < COUNT; i++) {
            uint64_t index = offsets[o] + i;
            float u = cc_unit(cc_random(cc_context_key(&k.ctx, index, 0), (uint32_t)index));
            float m = 0.001f * COUNT;
            float want = u < fabsf(x[i]) / m ? copysignf(m, x[i]) : 0.0f;
            assert_true(k.y[i] == want);
            assert_true(((float *)k.codec.state)[i] == x[i] - want);
        }
        kit_close(&k);
    }
}

static void parameters(void **state)
{
    (void)state;
    struct cc_spec *s;
    assert_int_equal(cc_spec_parse("3lc:s=2", &s, NULL), CC_USAGE);
    assert_int_equal(cc_spec_parse("3lc:s=0.99", &s, NULL), CC_USAGE);
    assert_int_equal(cc_spec_parse("ternary:clip=-1", &s, NULL), CC_USAGE);
    assert_int_equal(cc_spec_parse("3lc:s=1.75,zre=1", &s, NULL), CC_OK);
    assert_string_equal(s->name, "3lc:s=1.75");
    cc_spec_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_byte),     cmocka_unit_test(sparsity),
        cmocka_unit_test(ties),         cmocka_unit_test(planes),
        cmocka_unit_test(zeros),        cmocka_unit_test(runs),
        cmocka_unit_test(denormals),    cmocka_unit_test(huge_values),
        cmocka_unit_test(feedback),     cmocka_unit_test(not_finite),
        cmocka_unit_test(corrupt),      cmocka_unit_test(run_over_border),
        cmocka_unit_test(adds),         cmocka_unit_test(ternary_certain),
        cmocka_unit_test(ternary_clip), cmocka_unit_test(ternary_draws),
        cmocka_unit_test(parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
