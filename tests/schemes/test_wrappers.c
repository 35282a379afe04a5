/* local, zstd, lz4 and zfp. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zfp/bitstream.h>

#include "core/bytes.h"
#include "tests/lib/kit.h"
#include "tests/lib/text.h"

static const float a[] = {1, 2, 3}, b[] = {10, -20, 0.5f}, zero[3];

static void local_sends_the_sum(void **state)
{
    (void)state;
    struct kit k = kit_open("local", cc_shape_flat(3));
    assert_int_equal(cc_period(k.spec->scheme, k.spec->params), 2);
    for (int round = 0; round < 2; round++, k.ctx.step++) {
        assert_int_equal(kit_encode(&k, a), CC_OK);
        kit_expect(&k, NULL, 0);
        assert_int_equal(kit_decode(&k, NULL, 0), CC_OK);
        kit_expect_values(&k, zero);
        k.ctx.step++;
        assert_int_equal(kit_encode(&k, b), CC_OK);
        kit_expect(&k, (const float[]){11, -18, 3.5f}, 12);
        assert_int_equal(kit_decode(&k, k.payload, k.len), CC_OK);
        kit_expect_values(&k, (const float[]){11, -18, 3.5f});
        assert_int_equal(kit_decode_add(&k, k.payload, k.len, 2.0f), CC_OK);
        kit_expect_values(&k, (const float[]){33, -54, 10.5f});
        kit_expect_refusal(&k, k.payload, 11, "byte 11");
        kit_expect_refusal(&k, NULL, 0, "byte 0");
    }
    /* Step 4 is silent. */
    kit_expect_refusal(&k, a, 12, "nothing is sent in step 4");
    k.y[0] = 7;
    assert_int_equal(kit_decode_add(&k, NULL, 0, 2.0f), CC_OK);
    assert_true(k.y[0] == 7);
    kit_close(&k);
}

/* The inner efsign keeps a residual: the sum of step 0 and 1 is 2 -2 6, m = 10/3, its residual
 * 2 - m, -2 + m, 6 - m; in step 3 that plus the sum of steps 2 and 3. */
static void local_keeps_inner_state(void **state)
{
    (void)state;
    const float x[] = {1, -1, 3};
    struct kit k = kit_open("local:inner=efsign", cc_shape_flat(3));
    struct kit alone = kit_open("efsign", cc_shape_flat(3));
    for (; k.ctx.step < 6; k.ctx.step++) {
        assert_int_equal(kit_encode(&k, x), CC_OK);
        if (k.ctx.step % 2 == 0) {
            kit_expect(&k, NULL, 0);
            continue;
        }
        assert_int_equal(kit_encode(&alone, (const float[]){2, -2, 6}), CC_OK);
        kit_expect(&k, alone.payload, alone.len);
    }
    cc_codec_reset(&k.codec);
    cc_codec_reset(&alone.codec);
    assert_int_equal(kit_encode(&k, x), CC_OK); /* step 6 */
    k.ctx.step++;
    assert_int_equal(kit_encode(&k, x), CC_OK);
    assert_int_equal(kit_encode(&alone, (const float[]){2, -2, 6}), CC_OK);
    kit_expect(&k, alone.payload, alone.len);
    kit_close(&alone);
    kit_close(&k);
}

/* The outer scheme sends in steps 1 3 5 ..., the inner one in 2 5 8 ...: together in 5 11 ... */
static void local_in_local(void **state)
{
    (void)state;
    struct kit k = kit_open("local:inner=(local:every=3)", cc_shape_flat(3));
    assert_int_equal(cc_period(k.spec->scheme, k.spec->params), 6);
    for (; k.ctx.step < 12; k.ctx.step++) {
        assert_int_equal(kit_encode(&k, a), CC_OK);
        if (k.ctx.step % 6 != 5) {
            kit_expect(&k, NULL, 0);
            assert_int_equal(kit_decode(&k, NULL, 0), CC_OK);
            kit_expect_values(&k, zero);
            kit_expect_refusal(&k, a, 12, "nothing is sent in step");
        } else {
            kit_expect(&k, (const float[]){6, 12, 18}, 12);
        }
    }
    kit_close(&k);
    struct cc_spec *s;
    struct cc_error e;
    assert_int_equal(cc_spec_parse("local:every=999983,inner=(local:every=1M)", &s, &e), CC_USAGE);
    assert_contains(e.text, "choose multiples");
}

static void local_refuses_non_finite(void **state)
{
    (void)state;
    struct kit k = kit_open("local:every=3", cc_shape_flat(2));
    assert_int_equal(kit_encode(&k, (const float[]){0, NAN}), CC_FAIL); /* a silent step */
    assert_contains(k.e.text, "tensor 'w': the value at index 1 is NaN");
    cc_codec_reset(&k.codec);
    assert_int_equal(kit_encode(&k, (const float[]){FLT_MAX, 0}), CC_OK);
    k.ctx.step++;
    assert_int_equal(kit_encode(&k, (const float[]){FLT_MAX, 0}), CC_FAIL);
    assert_contains(k.e.text, "index 0 overflows");
    kit_close(&k);
}

/* --- zstd, lz4 and zfp --- */

static void fill(float *x, size_t n)
{
    uint32_t random = 1;
    for (size_t i = 0; i < n; i++) {
        random = random * 1664525u + 1013904223u;
        x[i] = i % 5 == 0 ? -0.0f : (float)(int32_t)(random & 0xffff0000u) * 0x1p-31f;
    }
}

/* At a block's end, behind it, and within. */
static void lossless(void **state)
{
    (void)state;
    const char *const schemes[] = {"zstd", "zstd:level=-5", "zstd:level=19", "lz4", "lz4:level=50"};
    const size_t sizes[] = {1, 2, 1000, (1 << 20), (1 << 20) + 3};
    float *x = malloc(sizes[4] * sizeof *x);
    assert_non_null(x);
    fill(x, sizes[4]);
    for (size_t s = 0; s < 5; s++) {
        for (size_t i = 0; i < (s == 2 ? 3 : 5); i++) {
            struct kit k = kit_open(schemes[s], cc_shape_flat(sizes[i]));
            assert_int_equal(kit_encode(&k, x), CC_OK);
            assert_int_equal(kit_decode(&k, k.payload, k.len), CC_OK);
            kit_expect_values(&k, x);
            assert_int_equal(kit_decode_add(&k, k.payload, k.len, -1.0f), CC_OK);
            for (size_t j = 0; j < sizes[i]; j++)
                assert_true(k.y[j] == 0);
            kit_close(&k);
        }
    }
    free(x);
}

/* A frame by RFC 8878: the magic number, a header that says "one segment, content size in one
 * byte", 4, and a last, raw block of 4 bytes: (4 << 3 | 0 << 1 | 1) = 21 hexadecimal in 3 bytes. */
static void zstd_by_hand(void **state)
{
    (void)state;
    const uint8_t frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 4, 0x21, 0, 0, 0, 0, 0x80, 0x3f};
    const size_t len = sizeof frame;
    struct kit k = kit_open("zstd", cc_shape_flat(1));
    assert_int_equal(kit_decode(&k, frame, len), CC_OK);
    kit_expect_values(&k, (const float[]){1});

    uint8_t bad[14] = {0};
    memcpy(bad, frame, len);
    kit_expect_refusal(&k, bad, len + 1, "byte 13");
    kit_expect_refusal(&k, bad, len - 1, "byte 12");
    kit_expect_refusal(&k, bad, 3, "no zstd frame");
    kit_expect_refusal(&k, bad, 0, "no zstd frame");
    bad[5] = 8;
    kit_expect_refusal(&k, bad, len, "holds 8 bytes, not 4");
    bad[0] = 0;
    kit_expect_refusal(&k, bad, len, "no zstd frame");
    kit_close(&k);

    k = kit_open("zstd", cc_shape_flat(1));
    const uint8_t bf16[] = {1, 0x28, 0xb5, 0x2f, 0xfd, 0x20, 2, 0x11, 0, 0, 0x81, 0x3f};
    assert_int_equal(kit_encode(&k, (const float[]){0x1.02p0f}), CC_OK);
    kit_expect(&k, bf16, sizeof bf16);
    assert_int_equal(kit_decode(&k, bf16, sizeof bf16), CC_OK);
    kit_expect_values(&k, (const float[]){0x1.02p0f});
    memcpy(bad, bf16, sizeof bf16);
    bad[0] = 3; /* a byte a value */
    kit_expect_refusal(&k, bad, sizeof bf16, "byte 1: the zstd frame holds 2 bytes, not 1");
    kit_expect_refusal(&k, bad, 1, "byte 1: no zstd frame");
    kit_close(&k);

    k = kit_open("zstd", cc_shape_flat(2));
    memcpy(bad, frame, len);
    bad[5] = 8; /* claims 8, holds 4 */
    kit_expect_refusal(&k, bad, len, "byte 0");
    kit_close(&k);
}

/* Size 5; a token with 4 literals and no match, then the literals. */
static void lz4_by_hand(void **state)
{
    (void)state;
    const uint8_t block[] = {5, 0, 0, 0, 0x40, 0, 0, 0x80, 0x3f};
    struct kit k = kit_open("lz4:type=fp32", cc_shape_flat(1));
    assert_int_equal(kit_encode(&k, (const float[]){1}), CC_OK);
    kit_expect(&k, block, sizeof block);
    kit_close(&k);
    k = kit_open("lz4", cc_shape_flat(1));
    assert_int_equal(kit_decode(&k, block, sizeof block), CC_OK);
    kit_expect_values(&k, (const float[]){1});

    uint8_t bad[64] = {0};
    memcpy(bad, block, sizeof block);
    kit_expect_refusal(&k, bad, 10, "byte 9: 1 bytes follow");
    kit_expect_refusal(&k, bad, 8, "byte 0");
    kit_expect_refusal(&k, bad, 3, "byte 3");
    kit_expect_refusal(&k, bad, 0, "byte 0");
    bad[0] = 4;
    kit_expect_refusal(&k, bad, 8, "byte 4");
    memset(bad, 0xff, 3);
    kit_expect_refusal(&k, bad, 9, "byte 0");
    memset(bad, 0, 4);
    bad[0] = 60;
    kit_expect_refusal(&k, bad, 64, "too large");
    bad[3] = 5;
    kit_expect_refusal(&k, bad, 64, "byte 3: 5 is not a format");
    const uint8_t bf16[] = {3, 0, 0, 1, 0x20, 0x81, 0x3f}, e4m3[] = {2, 0, 0, 3, 0x10, 0x38};
    assert_int_equal(kit_encode(&k, (const float[]){0x1.02p0f}), CC_OK);
    kit_expect(&k, bf16, sizeof bf16);
    assert_int_equal(kit_encode(&k, (const float[]){1}), CC_OK);
    kit_expect(&k, e4m3, sizeof e4m3);
    assert_int_equal(kit_decode_add(&k, bf16, sizeof bf16, -2), CC_OK);
    kit_expect_refusal(&k, e4m3, 5, "byte 0");
    kit_close(&k);
}

/* t = 0.01 * 0 = 0, and nothing else. Then a stream of two blocks of zeros, one bit 0 each. */
static void zfp_zeros(void **state)
{
    (void)state;
    const float zeros[5] = {0, -0.0f};
    struct kit k = kit_open("zfp", cc_shape_flat(5));
    assert_int_equal(kit_encode(&k, zeros), CC_OK);
    kit_expect(&k, (const uint8_t[4]){0}, 4);
    assert_int_equal(kit_decode(&k, k.payload, k.len), CC_OK);
    kit_expect_values(&k, (const float[5]){0});
    const uint8_t stream[12] = {0, 0, 0x80, 0x3f};
    assert_int_equal(kit_decode(&k, stream, 4 + stream_word_bits / 8), CC_OK);
    kit_expect_values(&k, (const float[5]){0});
    kit_expect_refusal(&k, (const uint8_t[5]){0}, 5, "byte 4");
    kit_close(&k);
}

static void zfp_keeps_the_tolerance(void **state)
{
    (void)state;
    enum { N = 4097 };
    const double tolerances[] = {0.5, 0.01, 1e-4, 1e-8};
    const char *const schemes[] = {"zfp:tolerance=0.5", "zfp", "zfp:tolerance=1e-4",
                                   "zfp:tolerance=1e-8"};
    const float scales[] = {1e-38f, 1e-29f, 1e-15f, 1, FLT_MAX};
    float *x = malloc(N * sizeof *x);
    assert_non_null(x);
    for (size_t s = 0; s < 20; s++) {
        fill(x, N);
        x[7] = 1;
        for (size_t i = 0; i < N; i++)
            x[i] *= scales[s % 5];
        struct kit k = kit_open(schemes[s / 5], cc_shape_flat(N));
        assert_int_equal(kit_encode(&k, x), CC_OK);
        assert_true(cc_get_f32(k.payload) == (float)tolerances[s / 5] * scales[s % 5]);
        assert_int_equal(kit_decode(&k, k.payload, k.len), CC_OK);
        double t = (double)cc_get_f32(k.payload);
        for (size_t i = 0; i < N; i++)
            assert_true(t > 0 ? fabs((double)k.y[i] - (double)x[i]) <= t : k.y[i] == 0);
        kit_close(&k);
    }
    free(x);
}

/* For any bytes, the library stays within the scratch memory; sanitizers watch it. */
static void zfp_refuses_corrupt(void **state)
{
    (void)state;
    float x[100];
    fill(x, 100);
    struct kit k = kit_open("zfp:tolerance=1e-8", cc_shape_flat(100));
    assert_int_equal(kit_encode(&k, x), CC_OK);
    size_t len = k.len, bound = cc_bound(&k.codec);
    uint8_t *p = malloc(bound + 8);
    assert_non_null(p);
    memcpy(p, k.payload, len);
    memset(p + len, 0, bound + 8 - len);
    kit_expect_refusal(&k, p, 0, "byte 0");
    kit_expect_refusal(&k, p, 4, "byte 4");
    kit_expect_refusal(&k, p, len - 8, "the zfp stream has");
    kit_expect_refusal(&k, p, len + 8, "the zfp stream has");
    kit_expect_refusal(&k, p, bound + 8, "not");
    const float tolerances[] = {NAN, INFINITY, -1};
    for (size_t i = 0; i < 3; i++) {
        cc_put_f32(p, tolerances[i]);
        kit_expect_refusal(&k, p, len, "byte 0: the tolerance");
    }
    memset(p, 0xff, bound);
    cc_put_f32(p, 0x1p-149f);
    for (size_t cut = 4; cut <= bound; cut++)
        (void)kit_decode(&k, p, cut);
    free(p);
    kit_close(&k);
}

static void refuse_non_finite(void **state)
{
    (void)state;
    const char *const schemes[] = {"zstd", "lz4", "zfp"};
    for (size_t s = 0; s < 3; s++) {
        struct kit k = kit_open(schemes[s], cc_shape_flat(4));
        assert_int_equal(kit_encode(&k, (const float[]){0, 1, NAN, 0}), CC_FAIL);
        assert_contains(k.e.text, "tensor 'w': the value at index 2 is NaN");
        assert_int_equal(kit_encode(&k, (const float[]){0, 1, 0, -INFINITY}), CC_FAIL);
        assert_contains(k.e.text, "index 3 is infinite");
        kit_close(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_sends_the_sum),
        cmocka_unit_test(local_keeps_inner_state),
        cmocka_unit_test(local_in_local),
        cmocka_unit_test(local_refuses_non_finite),
        cmocka_unit_test(lossless),
        cmocka_unit_test(zstd_by_hand),
        cmocka_unit_test(lz4_by_hand),
        cmocka_unit_test(zfp_zeros),
        cmocka_unit_test(zfp_keeps_the_tolerance),
        cmocka_unit_test(zfp_refuses_corrupt),
        cmocka_unit_test(refuse_non_finite),
    };
    return kit_run(tests);
}
