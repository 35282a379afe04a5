/* mqe1bit, signsgd and efsign against bytes worked out by hand from docs/payloads.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "tests/lib/kit.h"

/* Below zero: -2 -4 -6, mean -4 (c0800000). The others, -0 among them: 1 3 -0 0 5 15, mean 4
 * (40800000). Bits, lowest first: 1 0 1 1 0 1 1 0 = 6d, 1. */
static const float mixed[] = {1, -2, 3, -0.0f, -4, 0, 5, -6, 15};
static const uint8_t mixed_payload[] = {0, 0, 0x80, 0xc0, 0, 0, 0x80, 0x40, 0x6d, 1};

static void mqe1bit_by_hand(void **state)
{
    (void)state;
    struct kit k = kit_open("mqe1bit", cc_shape_flat(9));
    assert_int_equal(kit_encode(&k, mixed), CC_OK);
    kit_expect(&k, mixed_payload, sizeof mixed_payload);
    assert_int_equal(kit_decode(&k, k.payload, k.len), CC_OK);
    kit_expect_values(&k, (const float[]){4, -4, 4, 4, -4, 4, 4, -4, 4});
    /* 4 + 0.5 * 4 and -4 + 0.5 * -4 */
    assert_int_equal(kit_decode_add(&k, k.payload, k.len, 0.5f), CC_OK);
    kit_expect_values(&k, (const float[]){6, -6, 6, 6, -6, 6, 6, -6, 6});
    kit_close(&k);
}

/* The residual after `mixed` is -3 2 -1 -4 0 -4 1 -2 11. Encoded with a zero gradient: below zero
 * -3 -1 -4 -4 -2, mean -14/5; the others 2 0 1 11, mean 3.5. Bits 0 1 0 0 1 0 1 0 = 52, 1. */
static void mqe1bit_residual(void **state)
{
    (void)state;
    const float zero[9] = {0};
    uint8_t want[10] = {[8] = 0x52, [9] = 1};
    cc_put_f32(want, -2.8f);
    cc_put_f32(want + 4, 3.5f);
    struct kit k = kit_open("mqe1bit", cc_shape_flat(9));
    assert_int_equal(kit_encode(&k, mixed), CC_OK);
    assert_memory_equal(k.codec.state, ((const float[]){-3, 2, -1, -4, 0, -4, 1, -2, 11}), 36);
    assert_int_equal(kit_encode(&k, zero), CC_OK);
    kit_expect(&k, want, sizeof want);
    kit_close(&k);

    k = kit_open("mqe1bit:ef=0", cc_shape_flat(9));
    assert_int_equal(cc_state_bytes(&k.codec), 0);
    for (int step = 0; step < 2; step++) {
        assert_int_equal(kit_encode(&k, mixed), CC_OK);
        kit_expect(&k, mixed_payload, sizeof mixed_payload);
    }
    kit_close(&k);
}

/* Blocks of 3, 3 and 1 value, each with two means and a byte of bits. An empty class has mean +0:
 * (1 2 3) 0 and 2, bits 111; (-1 -2 -3) -2 and 0, bits 000; (-8) -8 and 0, bit 0. */
static void mqe1bit_blocks(void **state)
{
    (void)state;
    const uint8_t want[] = {
        0, 0, 0, 0,    0, 0, 0, 0x40, 7, /* 0, 2 */
        0, 0, 0, 0xc0, 0, 0, 0, 0,    0, /* -2, 0 */
        0, 0, 0, 0xc1, 0, 0, 0, 0,    0, /* -8, 0 */
    };
    const float x[] = {1, 2, 3, -1, -2, -3, -8};
    struct kit k = kit_open("mqe1bit:block=3", cc_shape_flat(7));
    assert_int_equal(kit_encode(&k, x), CC_OK);
    kit_expect(&k, want, sizeof want);
    assert_int_equal(kit_decode(&k, k.payload, k.len), CC_OK);
    kit_expect_values(&k, (const float[]){2, 2, 2, -2, -2, -2, -8});
    kit_close(&k);

    /* A block larger than the tensor means one block. */
    k = kit_open("mqe1bit:block=1000", cc_shape_flat(9));
    assert_int_equal(kit_encode(&k, mixed), CC_OK);
    kit_expect(&k, mixed_payload, sizeof mixed_payload);
    kit_close(&k);
}

static void extremes(void **state)
{
    (void)state;
    const float tiny = 0x1p-149f;
    struct kit k = kit_open("mqe1bit:block=2", cc_shape_flat(6));
    const float x[] = {FLT_MAX, FLT_MAX, -FLT_MAX, -FLT_MAX, tiny, -tiny};
    assert_int_equal(kit_encode(&k, x), CC_OK);
    assert_int_equal(kit_decode(&k, k.payload, k.len), CC_OK);
    kit_expect_values(&k, x);
    kit_close(&k);

    /* Zeros of either sign: m = 0, every bit 1, decoded as +0. */
    k = kit_open("efsign", cc_shape_flat(3));
    assert_int_equal(kit_encode(&k, (const float[]){0, -0.0f, 0}), CC_OK);
    kit_expect(&k, (const uint8_t[]){7, 0, 0, 0, 0}, 5);
    assert_int_equal(kit_decode(&k, k.payload, k.len), CC_OK);
    kit_expect_values(&k, (const float[]){0, 0, 0});
    kit_close(&k);
}

/* More than one block of the sums, and a tail of every length: x = 2, -1, 2, -1, ... */
static void long_tensors(void **state)
{
    (void)state;
    for (size_t n = 8180; n < 8230; n++) {
        struct kit k = kit_open("mqe1bit", cc_shape_flat(n));
        float *x = malloc(n * sizeof *x);
        assert_non_null(x);
        for (size_t i = 0; i < n; i++)
            x[i] = i % 2 == 0 ? 2 : -1;
        assert_int_equal(kit_encode(&k, x), CC_OK);
        assert_int_equal(k.len, 8 + (n + 7) / 8);
        assert_true(k.payload[8] == 0x55);
        assert_int_equal(kit_decode(&k, k.payload, k.len), CC_OK);
        kit_expect_values(&k, x);
        kit_close(&k);
        free(x);
    }
}

/* sum|x| = 10, m = 2 (40000000); bits 1 0 1 1 0 = 0d. efsign's residual is then -1 0 1 -2 -2; with
 * a zero gradient m = (float)(6/5.0), bits 0 1 1 0 0 = 06. */
static void signs_by_hand(void **state)
{
    (void)state;
    const float x[] = {1, -2, 3, -0.0f, -4}, zero[5] = {0};
    const uint8_t first[] = {0x0d, 0, 0, 0, 0x40};
    uint8_t second[5] = {6};
    cc_put_f32(second + 1, 1.2f);

    struct kit k = kit_open("efsign", cc_shape_flat(5));
    assert_int_equal(kit_encode(&k, x), CC_OK);
    kit_expect(&k, first, sizeof first);
    assert_int_equal(kit_decode(&k, k.payload, k.len), CC_OK);
    kit_expect_values(&k, (const float[]){2, -2, 2, 2, -2});
    assert_int_equal(kit_decode_add(&k, k.payload, k.len, -1.0f), CC_OK);
    kit_expect_values(&k, (const float[]){0, 0, 0, 0, 0});
    assert_int_equal(kit_encode(&k, zero), CC_OK);
    kit_expect(&k, second, sizeof second);
    kit_close(&k);

    k = kit_open("signsgd", cc_shape_flat(5));
    for (int step = 0; step < 2; step++) {
        assert_int_equal(kit_encode(&k, x), CC_OK);
        kit_expect(&k, first, sizeof first);
    }
    kit_close(&k);
}

static void refuses_non_finite(void **state)
{
    (void)state;
    const char *const schemes[] = {"mqe1bit", "mqe1bit:ef=0", "mqe1bit:block=3", "signsgd",
                                   "efsign"};
    const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    for (size_t s = 0; s < sizeof schemes / sizeof schemes[0]; s++) {
        for (size_t b = 0; b < 4; b++) {
            float x[40] = {0};
            x[25] = bad[b];
            struct kit k = kit_open(schemes[s], cc_shape_flat(40));
            k.ctx.offset = 100;
            kit_expect_encode_refusal(&k, x, "'w'");
            kit_expect_encode_refusal(&k, x, b < 2 ? "index 125 is NaN" : "index 125 is inf");
            kit_close(&k);
        }
    }
    struct kit k = kit_open("mqe1bit:block=2", cc_shape_flat(4));
    ((float *)k.codec.state)[3] = FLT_MAX;
    kit_expect_encode_refusal(&k, (const float[]){0, 0, 0, FLT_MAX},
                              "gradient plus residual at index 3 overflows");
    kit_close(&k);
}

static void refuses_corrupt(void **state)
{
    (void)state;
    struct kit k = kit_open("mqe1bit:block=8", cc_shape_flat(9)); /* 9 + 9 bytes */
    uint8_t p[18] = {0};
    assert_int_equal(kit_decode(&k, p, 18), CC_OK);
    p[17] = 0xfe; /* bits that stand for no value are ignored */
    assert_int_equal(kit_decode(&k, p, 18), CC_OK);
    kit_expect_refusal(&k, p, 17, "byte 17");
    kit_expect_refusal(&k, p, 0, "byte 0");
    const struct {
        size_t at;
        float mean;
    } bad[] = {{0, 1}, {0, -INFINITY}, {0, NAN}, {4, -1}, {4, INFINITY}, {9, 1}, {13, NAN}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char words[16] = "byte 0:";
        words[5] = (char)('0' + bad[i].at % 10);
        memset(p, 0, sizeof p);
        cc_put_f32(p + bad[i].at, bad[i].mean);
        kit_expect_refusal(&k, p, 18, bad[i].at < 10 ? words : "byte 13:");
    }
    kit_close(&k);

    k = kit_open("signsgd", cc_shape_flat(9));
    uint8_t q[7] = {0xff, 0xff, 0, 0, 0x80, 0xbf}; /* m = -1 */
    kit_expect_refusal(&k, q, 6, "byte 2:");
    cc_put_f32(q + 2, NAN);
    kit_expect_refusal(&k, q, 6, "byte 2:");
    kit_expect_refusal(&k, q, 5, "byte 5:");
    kit_expect_refusal(&k, q, 7, "byte 6:");
    cc_put_f32(q + 2, -0.0f);
    assert_int_equal(kit_decode(&k, q, 6), CC_OK);
    kit_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mqe1bit_by_hand),    cmocka_unit_test(mqe1bit_residual),
        cmocka_unit_test(mqe1bit_blocks),     cmocka_unit_test(extremes),
        cmocka_unit_test(long_tensors),       cmocka_unit_test(signs_by_hand),
        cmocka_unit_test(refuses_non_finite), cmocka_unit_test(refuses_corrupt),
    };
    return kit_run(tests);
}
