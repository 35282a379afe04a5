/* sparse, topk, randk, threshold, dgc and pairs against bytes worked out by hand from
 * docs/payloads.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/random.h"
#include "tests/lib/kit.h"
#include "tests/lib/text.h"

/* 1, -2.5 and so on as their four bytes: 1 = 3f800000, 2 = 40000000, 3 = 40400000. */
#define F_1  0x00, 0x00, 0x80, 0x3f
#define F_M2 0x00, 0x00, 0x00, 0xc0
#define F_2  0x00, 0x00, 0x00, 0x40
#define F_M3 0x00, 0x00, 0x40, 0xc0

static struct kit open_flat(const char *scheme, size_t n)
{
    return kit_open(scheme, cc_shape_flat(n));
}

/* Expects that x encodes to the bytes, and that they decode to y, which is also the value that
 * decode_add adds. */
static void round_trip(struct kit *k, const float *x, const void *bytes, size_t len, const float *y)
{
    size_t n = k->codec.shape.n;
    assert_int_equal(kit_encode(k, x), CC_OK);
    kit_expect(k, bytes, len);
    assert_int_equal(kit_decode(k, bytes, len), CC_OK);
    kit_expect_values(k, y);
    for (size_t i = 0; i < n; i++)
        k->y[i] = 1;
    assert_int_equal(kit_decode_add(k, bytes, len, 0.5f), CC_OK);
    for (size_t i = 0; i < n; i++) {
        float half = 0.5f * y[i];
        assert_true(k->y[i] == 1 + half);
    }
}

/* k = ceil(0.2 * 10) = 2. |x| = 1 3 2 0 2 ...: -3 is sent, then the first of the two 2s. The
 * residual is 1 . . 0 -2, of which -2 and 1 are sent. The third step has nothing left. */
static void sparse_bitmap(void **state)
{
    (void)state;
    const float x[10] = {1, -3, 2, 0, -2, -0.0f}, zeros[10] = {0};
    const uint8_t first[] = {0x06, 0x00, F_M3, F_2}, second[] = {0x11, 0x00, F_1, F_M2};
    struct kit k = open_flat("sparse:density=0.2", 10);
    round_trip(&k, x, first, sizeof first, (float[10]){0, -3, 2});
    round_trip(&k, zeros, second, sizeof second, (float[10]){1, 0, 0, 0, -2});
    round_trip(&k, zeros, (uint8_t[]){0, 0}, 2, zeros);
    kit_close(&k);

    k = open_flat("sparse:density=0.2,ef=0", 10);
    assert_int_equal(cc_state_bytes(&k.codec), 0);
    round_trip(&k, x, first, sizeof first, (float[10]){0, -3, 2});
    round_trip(&k, zeros, (uint8_t[]){0, 0}, 2, zeros);
    kit_close(&k);
}

static void sparse_u32(void **state)
{
    (void)state;
    const float x[10] = {1, -3, 2, 0, -2, -0.0f}, zeros[10] = {0};
    const uint8_t pairs[] = {1, 0, 0, 0, F_M3, 2, 0, 0, 0, F_2};
    struct kit k = open_flat("sparse:density=0.2,index=u32", 10);
    round_trip(&k, x, pairs, sizeof pairs, (float[10]){0, -3, 2});
    kit_close(&k);
    k = open_flat("sparse:density=0.2,index=u32", 10);
    round_trip(&k, zeros, NULL, 0, zeros);
    kit_close(&k);
}

/* Sends all values except zeros, from the smallest subnormal (00000001) to the largest float
 * (7f7fffff). */
static void sparse_extremes(void **state)
{
    (void)state;
    const float x[5] = {-0.0f, -0x1p-149f, 0, FLT_MAX, 1};
    const uint8_t bytes[] = {0x1a, 1, 0, 0, 0x80, 0xff, 0xff, 0x7f, 0x7f, F_1};
    struct kit k = open_flat("sparse:density=1", 5);
    round_trip(&k, x, bytes, sizeof bytes, (float[5]){0, -0x1p-149f, 0, FLT_MAX, 1});
    kit_close(&k);
}

static void sparse_counts(void **state)
{
    (void)state;
    float x[40];
    for (int i = 0; i < 40; i++)
        x[i] = (float)(i + 1);
    /* ceil(0.05 n); at least 1. */
    const size_t n[] = {1, 20, 21, 40}, count[] = {1, 1, 2, 2};
    for (int i = 0; i < 4; i++) {
        struct kit k = open_flat("sparse", n[i]);
        assert_int_equal(kit_encode(&k, x), CC_OK);
        assert_int_equal(k.len, (n[i] + 7) / 8 + 4 * count[i]);
        kit_close(&k);
    }
}

static void sparse_refuses(void **state)
{
    (void)state;
    float x[5000] = {0};
    x[4999] = NAN;
    for (int ef = 0; ef < 2; ef++) {
        struct kit k = open_flat(ef ? "sparse" : "sparse:ef=0,index=u32", 5000);
        k.ctx.offset = 100;
        kit_expect_encode_refusal(&k, x, "tensor 'w': the value at index 5099 is NaN");
        kit_close(&k);
    }
    /* The first step leaves 3e38 in the residual. */
    struct kit k = open_flat("sparse:density=0.5", 2);
    assert_int_equal(kit_encode(&k, (float[]){FLT_MAX, 3e38f}), CC_OK);
    kit_expect_encode_refusal(&k, (float[]){0, 3e38f}, "overflows at index 1");
    kit_close(&k);

    k = open_flat("sparse:index=u32", 1);
    k.codec.shape = cc_shape_flat(((size_t)1 << 32) + 1);
    assert_int_equal(cc_encode(&k.codec, &k.ctx, x, k.payload, cc_bound(&k.codec), &k.len, &k.e),
                     CC_FAIL);
    assert_contains(k.e.text, "use index=bitmap");
    kit_close(&k);
}

static void sparse_corrupt(void **state)
{
    (void)state;
    struct kit k = open_flat("sparse", 10);
    kit_expect_refusal(&k, (uint8_t[]){1}, 1, "byte 1: the payload ends in its bitmap of 2 bytes");
    kit_expect_refusal(&k, (uint8_t[]){1, 0x04, F_1, F_1}, 10, "byte 1: the bitmap has bits set");
    kit_expect_refusal(&k, (uint8_t[]){1, 1, F_1}, 6, "has 6 bytes, not 10");
    kit_expect_refusal(&k, (uint8_t[]){1, 0, F_1, 0}, 7, "has 7 bytes, not 6");
    kit_close(&k);
    k = open_flat("sparse:index=u32", 10);
    kit_expect_refusal(&k, (uint8_t[]){1, 0, 0, 0, F_1, 1}, 9, "byte 8: the payload has 9 bytes");
    kit_expect_refusal(&k, (uint8_t[]){10, 0, 0, 0, F_1}, 8, "byte 0: index 10 is beyond");
    kit_expect_refusal(&k, (uint8_t[]){3, 0, 0, 0, F_1, 3, 0, 0, 0, F_1}, 16,
                       "byte 8: index 3 does not ascend: the one before is 3");
    kit_expect_refusal(&k, (uint8_t[]){3, 0, 0, 0, F_1, 0xff, 0xff, 0xff, 0xff, F_1}, 16,
                       "byte 8: index 4294967295 is beyond");
    kit_close(&k);
}

/* --- large tensors: sampling and its fallbacks --- */

#define CANDIDATES 100000  /* selection by way of candidates */
#define DIRECT     2400000 /* n / 32 * 0.05 = 3750 >= 3600: selection by the threshold itself */

/* Both signs, magnitudes of a Laplace distribution: |x| = -log(1 - u). */
static float *laplace(size_t n, uint32_t seed)
{
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    struct cc_key key = {seed, 12345};
    for (size_t i = 0; i < n; i++) {
        uint32_t r = cc_random(key, (uint32_t)i);
        x[i] = -logf(1 - cc_unit(r)) * (r & 1 ? -1.0f : 1.0f);
    }
    return x;
}

static int falling(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* Decodes the payload: its values are those of x, no other value is larger, and the residual is the
 * rest. Returns the number of its values. */
static size_t check_selection(struct kit *k, const float *x)
{
    size_t n = k->codec.shape.n, count = 0;
    const float *residual = k->codec.state;
    float least = INFINITY, most = 0;
    assert_int_equal(kit_decode(k, k->payload, k->len), CC_OK);
    for (size_t i = 0; i < n; i++) {
        if (k->y[i] != 0) {
            assert_true(k->y[i] == x[i] && residual[i] == 0);
            least = fminf(least, fabsf(x[i]));
            count++;
        } else {
            assert_true(residual[i] == x[i]);
            most = fmaxf(most, fabsf(x[i]));
        }
    }
    assert_true(least >= most);
    return count;
}

static void sampled_within_a_tenth(void **state)
{
    (void)state;
    const size_t sizes[] = {CANDIDATES, DIRECT};
    for (int i = 0; i < 2; i++) {
        size_t n = sizes[i];
        float *x = laplace(n, 1);
        struct kit k = open_flat("sparse", n);
        assert_int_equal(kit_encode(&k, x), CC_OK);
        double count = (double)check_selection(&k, x), want = 0.05 * (double)n;
        assert_true(fabs(count - want) <= 0.1 * want);
        kit_close(&k);
        free(x);
    }
}

/* The threshold is that of a sorted copy. */
static void exact_is_exact(void **state)
{
    (void)state;
    float *x = laplace(CANDIDATES, 2), *sorted = laplace(CANDIDATES, 2);
    for (size_t i = 0; i < CANDIDATES; i++)
        sorted[i] = fabsf(sorted[i]);
    qsort(sorted, CANDIDATES, sizeof *sorted, falling);
    struct kit k = open_flat("sparse:density=0.01,select=exact,index=u32", CANDIDATES);
    assert_int_equal(kit_encode(&k, x), CC_OK);
    assert_int_equal(k.len, 8 * 1000);
    assert_int_equal(check_selection(&k, x), 1000);
    float least = INFINITY;
    for (size_t i = 0; i < 1000; i++)
        least = fminf(least, fabsf(cc_get_f32(k.payload + 8 * i + 4)));
    assert_true(least == sorted[999]);
    kit_close(&k);
    free(x);
    free(sorted);
}

/* No threshold separates equal values: the first k are sent, at any size, and the residual is right
 * although the attempt has changed it. The second step, with no gradient, sends the next k. */
static void all_equal(void **state)
{
    (void)state;
    const size_t sizes[] = {1000, CANDIDATES, DIRECT};
    for (int i = 0; i < 3; i++) {
        size_t n = sizes[i], k_of_n = n / 20;
        float *x = malloc(n * sizeof *x), *zeros = calloc(n, sizeof *zeros);
        assert_true(x != NULL && zeros != NULL);
        for (size_t j = 0; j < n; j++)
            x[j] = -0.5f;
        struct kit k = open_flat("sparse:index=u32", n);
        for (size_t step = 0; step < 2; step++) {
            assert_int_equal(kit_encode(&k, step == 0 ? x : zeros), CC_OK);
            assert_int_equal(k.len, 8 * k_of_n);
            for (size_t j = 0; j < k_of_n; j++)
                assert_int_equal(cc_get_u32(k.payload + 8 * j), step * k_of_n + j);
            const float *residual = k.codec.state;
            for (size_t j = 0; j < n; j++)
                assert_true(residual[j] == (j < (step + 1) * k_of_n ? 0 : -0.5f));
        }
        kit_close(&k);
        free(x);
        free(zeros);
    }
}

/* Fewer than k values are not zero: these are sent, and no others. */
static void mostly_zeros(void **state)
{
    (void)state;
    const size_t sizes[] = {1000, CANDIDATES, DIRECT};
    for (int i = 0; i < 3; i++) {
        size_t n = sizes[i];
        float *x = calloc(n, sizeof *x);
        assert_non_null(x);
        for (size_t j = 0; j < n; j += 100)
            x[j] = j % 200 == 0 ? 0x1p-149f : -FLT_MAX;
        struct kit k = open_flat("sparse", n);
        assert_int_equal(kit_encode(&k, x), CC_OK);
        assert_int_equal(check_selection(&k, x), n / 100);
        kit_close(&k);
        free(x);
    }
}

/* --- topk --- */

/* Buckets of 4 and of 2 values, two sent from each. |x| = 1 2 1 1 | 0 0: 2 and the first 1; two
 * zeros. Then 1 1, the residual of the first bucket. */
static void topk_bytes(void **state)
{
    (void)state;
    const float x[6] = {1, -2, 1, 1, 0, 0}, zeros[6] = {0};
    const uint8_t first[] = {0, 0, 1, 0, F_1, F_M2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    const uint8_t second[] = {2, 0, 3, 0, F_1, F_1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    struct kit k = open_flat("topk:k=2,bucket=4", 6);
    round_trip(&k, x, first, sizeof first, (float[6]){1, -2});
    round_trip(&k, zeros, second, sizeof second, (float[6]){0, 0, 1, 1});
    kit_close(&k);

    /* The last bucket is shorter than k. */
    k = open_flat("topk:k=3,bucket=4,ef=0", 5);
    const uint8_t short_last[] = {0, 0, 1, 0, 2, 0, F_1, F_M2, F_1, 0, 0, F_2};
    round_trip(&k, (float[]){1, -2, 1, 1, 2}, short_last, sizeof short_last,
               (float[]){1, -2, 1, 0, 2});
    kit_close(&k);
}

/* 65536 in a bucket: value i is i + 1 but for ties at the border; the last index is ffff. */
static void topk_large_bucket(void **state)
{
    (void)state;
    const size_t n = 65536;
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = i < 60000 ? 1 : i < 65000 ? 7 : (float)i;
    struct kit k = open_flat("topk:bucket=65536,k=3000", n);
    assert_int_equal(kit_encode(&k, x), CC_OK);
    assert_int_equal(k.len, 6 * 3000);
    /* 536 values from 65000 on, and the first 2464 of the 7s. */
    for (size_t j = 0; j < 3000; j++) {
        size_t index = j < 2464 ? 60000 + j : 65000 + j - 2464;
        assert_int_equal(cc_get_u16(k.payload + 2 * j), index);
        assert_true(cc_get_f32(k.payload + 6000 + 4 * j) == x[index]);
    }
    kit_close(&k);
    free(x);
}

static void topk_refuses(void **state)
{
    (void)state;
    struct cc_spec *s;
    assert_int_equal(cc_spec_parse("topk:k=5,bucket=4", &s, NULL), CC_USAGE);
    struct kit k = open_flat("topk:k=1,bucket=4", 6);
    kit_expect_encode_refusal(&k, (float[]){1, 1, 1, 1, 1, -INFINITY}, "index 5 is infinite");
    kit_expect_refusal(&k, (uint8_t[]){0, 0, F_1}, 6, "has 6 bytes, not 12");
    kit_expect_refusal(&k, (uint8_t[]){3, 0, F_1, 2, 0, F_1}, 12,
                       "byte 6: index 2 is beyond the bucket's 2 values");
    kit_close(&k);
    k = open_flat("topk:k=2,bucket=4", 4);
    kit_expect_refusal(&k, (uint8_t[]){1, 0, 1, 0, F_1, F_1}, 12, "byte 2: index 1 does not");
    kit_close(&k);
}

/* --- randk --- */

/* n = 180: b = 4, as 4^4 = 256. The numbers r_t(R) mod 16 that are needed, from core/random.h with
 * seed, direction, step and tensor 0 and rank -1, stand after the ^:
 *   j = 0: (0, 0) -> (0, 0^2 = 2) -> (2, 0^7 = 7) -> (7, 2^12 = 14) -> (14, 7^9 = 14)
 *          -> (14, 14^10 = 4) -> (4, 14^6 = 8) -> (8, 4^14 = 10) -> (10, 8^10 = 2): 162.
 *   j = 1: (0, 1) -> (1, 0^10 = 10) -> (10, 1^15 = 14) -> (14, 10^5 = 15) -> (15, 14^2 = 12)
 *          -> (12, 15^13 = 2) -> (2, 12^11 = 7) -> (7, 2^4 = 6) -> (6, 7^5 = 2): 98.
 * j = 2 gives 184, 233, 182, all beyond 180, and 166; j = 3 gives 170. */
static void randk_bytes(void **state)
{
    (void)state;
    const float x[180] = {[162] = 1, [98] = -2, [166] = 2, [170] = -3, [179] = 9};
    const float sent[180] = {[162] = 1, [98] = -2, [166] = 2, [170] = -3};
    const float rest[180] = {[179] = 9};
    const uint8_t bytes[] = {F_1, F_M2, F_2, F_M3};
    struct kit k = open_flat("randk:density=0.02", 180);
    k.ctx.rank = 5; /* does not matter */
    round_trip(&k, x, bytes, sizeof bytes, sent);
    assert_memory_equal(k.codec.state, rest, sizeof rest);
    kit_close(&k);

    /* Index 184 is below 200. Scaled by 200 / 4: 0.02f x 50 = 1 and so on. */
    const float small[200] = {[162] = 0.02f, [98] = -0.04f, [184] = 0.04f, [170] = -0.06f, [0] = 9};
    const float other[200] = {[162] = 1, [98] = -2, [184] = 2, [170] = -3};
    k = open_flat("randk:density=0.02,ef=0", 200);
    round_trip(&k, small, bytes, sizeof bytes, other);
    kit_close(&k);
}

/* With k = n every value is sent once. */
static void randk_permutes(void **state)
{
    (void)state;
    for (size_t n = 1; n < 5000; n = 3 * n + 1) {
        float *x = laplace(n, 3);
        struct kit k = open_flat("randk:density=1", n);
        k.ctx.step = n;
        assert_int_equal(kit_encode(&k, x), CC_OK);
        assert_int_equal(kit_decode(&k, k.payload, k.len), CC_OK);
        kit_expect_values(&k, x);
        kit_close(&k);
        free(x);
    }
}

static void randk_refuses(void **state)
{
    (void)state;
    struct kit k = open_flat("randk:density=0.4", 10);
    kit_expect_encode_refusal(&k, (float[10]){0, 0, 0, 0, NAN}, "index 4 is NaN");
    kit_expect_refusal(&k, (uint8_t[15]){0}, 15, "byte 15: the payload has 15 bytes, not 16");
    kit_expect_refusal(&k, (uint8_t[17]){0}, 17, "byte 16: the payload has 17 bytes, not 16");
    kit_close(&k);
    k = open_flat("randk:density=0.02,ef=0", 200);
    kit_expect_encode_refusal(&k, (float[200]){[98] = 2e38f},
                              "index 98 (2e+38) overflows when scaled");
    kit_close(&k);
}

/* --- threshold --- */

/* tau = 0.5 = 3f000000. -1.25 -> -0.5, 0.5 -> 0.5, 0.49 is not sent: codes 2 x 1 + 1, 2 x 3. The
 * residual is -0.75 and 0.49: then -0.5 and, with 0.25 more, 0.5. */
static void threshold_bytes(void **state)
{
    (void)state;
    const uint8_t first[] = {0, 0, 0, 0x3f, 3, 0, 0, 0, 6, 0, 0, 0};
    const uint8_t second[] = {0, 0, 0, 0x3f, 0, 0, 0, 0, 3, 0, 0, 0};
    struct kit k = open_flat("threshold:tau=0.5", 5);
    round_trip(&k, (float[]){0.375f, -1.25f, -0.0f, 0.5f, -0x1p-149f}, first, sizeof first,
               (float[]){0, -0.5f, 0, 0.5f, 0});
    round_trip(&k, (float[]){0.25f, 0, 0, 0, 0}, second, sizeof second,
               (float[]){0.5f, -0.5f, 0, 0, 0});
    const float rest[] = {0.125f, -0.25f, 0, 0, -0x1p-149f};
    for (size_t i = 0; i < 5; i++)
        assert_true(((const float *)k.codec.state)[i] == rest[i]);
    kit_close(&k);

    k = open_flat("threshold:tau=0.5,ef=0", 1);
    round_trip(&k, (float[]){FLT_MAX}, (uint8_t[]){0, 0, 0, 0x3f, 0, 0, 0, 0}, 8, (float[]){0.5f});
    kit_close(&k);
}

static void threshold_refuses(void **state)
{
    (void)state;
    struct kit k = open_flat("threshold", 3);
    kit_expect_encode_refusal(&k, (float[]){0, 0, INFINITY}, "index 2 is infinite");
    kit_expect_refusal(&k, (uint8_t[]){0, 0, 0}, 3, "byte 3: the payload ends in its threshold");
    kit_expect_refusal(&k, (uint8_t[]){0, 0, 0xc0, 0x7f}, 4, "byte 0: the threshold is");
    kit_expect_refusal(&k, (uint8_t[]){F_M2}, 4, "byte 0: the threshold is -2");
    kit_expect_refusal(&k, (uint8_t[]){F_1, 0}, 5, "byte 4: the payload has 5 bytes");
    kit_expect_refusal(&k, (uint8_t[]){F_1, 6, 0, 0, 0}, 8, "byte 4: index 3 is beyond");
    kit_expect_refusal(&k, (uint8_t[]){F_1, 2, 0, 0, 0, 3, 0, 0, 0}, 12, "byte 8: index 1 does");
    k.codec.shape = cc_shape_flat(((size_t)1 << 31) + 1);
    assert_int_equal(cc_encode(&k.codec, &k.ctx, k.y, k.payload, SIZE_MAX, &k.len, &k.e), CC_FAIL);
    assert_contains(k.e.text, "2^31");
    kit_close(&k);
}

/* --- dgc --- */

/* Momentum 0.5, one value of four. Step 0: u = v = g = 4 2 -2 0; 4 is sent. Step 1: u = 0 1 -1 0 (+
 * g 0 0 0 1 = 0 1 -1 1), v = 0 3 -3 1: the first of the two 3s is sent. Step 2: u = 0 0 -0.5 0.5, v
 * = 0 0 -3.5 1.5. */
static void dgc_bytes(void **state)
{
    (void)state;
    struct kit k = open_flat("dgc:density=0.25,momentum=0.5", 4);
    round_trip(&k, (float[]){4, 2, -2, 0}, (uint8_t[]){0, 0, 0, 0, 0, 0, 0x80, 0x40}, 8,
               (float[]){4, 0, 0, 0});
    round_trip(&k, (float[]){0, 0, 0, 1}, (uint8_t[]){1, 0, 0, 0, 0, 0, 0x40, 0x40}, 8,
               (float[]){0, 3, 0, 0});
    round_trip(&k, (float[]){0, 0, 0, 0}, (uint8_t[]){2, 0, 0, 0, 0, 0, 0x60, 0xc0}, 8,
               (float[]){0, 0, -3.5f, 0});
    const float left[8] = {0, 0, 0, 0.5f, 0, 0, 0, 1.5f}; /* u, then v */
    for (size_t i = 0; i < 8; i++)
        assert_true(((const float *)k.codec.state)[i] == left[i]);
    kit_close(&k);
    k = open_flat("dgc", 4);
    round_trip(&k, (float[4]){0}, NULL, 0, (float[4]){0});
    kit_close(&k);
}

/* 1024 values: a quarter, a sixteenth, ... of them are sent; from the fifth step on ceil(0.001 x
 * 1024), as 0.25^5 is less than 0.001. */
static void dgc_warmup(void **state)
{
    (void)state;
    const size_t count[] = {256, 64, 16, 4, 2, 2};
    float *x = laplace(1024, 4);
    struct kit k = open_flat("dgc:warmup=5", 1024);
    for (size_t step = 0; step < 6; step++) {
        k.ctx.step = step;
        assert_int_equal(kit_encode(&k, x), CC_OK);
        assert_int_equal(k.len, 8 * count[step]);
    }
    kit_close(&k);
    free(x);
}

/* The 100 largest of 100,000 v are sent; u and v become 0 there and nowhere else. */
static void dgc_large(void **state)
{
    (void)state;
    const size_t n = CANDIDATES;
    float *x = laplace(n, 5);
    struct kit k = open_flat("dgc", n);
    assert_int_equal(kit_encode(&k, x), CC_OK);
    assert_int_equal(k.len, 8 * 100);
    const float *u = k.codec.state, *v = u + n;
    assert_int_equal(kit_decode(&k, k.payload, k.len), CC_OK);
    for (size_t i = 0; i < n; i++) {
        float kept = k.y[i] != 0 ? 0 : x[i];
        assert_true(u[i] == kept && v[i] == kept);
    }
    kit_close(&k);
    free(x);
}

static void dgc_refuses(void **state)
{
    (void)state;
    struct kit k = open_flat("dgc:density=0.5", 2);
    kit_expect_encode_refusal(&k, (float[]){1, NAN}, "index 1 is NaN");
    kit_close(&k);
    k = open_flat("dgc:density=0.5", 2);
    assert_int_equal(kit_encode(&k, (float[]){FLT_MAX, 3e38f}), CC_OK);
    kit_expect_encode_refusal(&k, (float[]){0, 0}, "overflows at index 1");
    kit_expect_refusal(&k, (uint8_t[]){2, 0, 0, 0, F_1}, 8, "byte 0: index 2 is beyond");
    kit_close(&k);
}

/* --- pairs --- */

/* Zeros stay behind, but not -0; a block whose values are all zero has no pairs. */
static void pairs_bytes(void **state)
{
    (void)state;
    struct kit k = open_flat("pairs", 4);
    round_trip(&k, (float[]){0, 2, 0, 1}, (uint8_t[]){1, 0, 0, 0, 0, 0, 0, 0x40, 3, 0, 0, 0, F_1},
               16, (float[]){0, 2, 0, 1});
    round_trip(&k, (float[4]){0}, NULL, 0, (float[4]){0});
    assert_int_equal(kit_encode(&k, (float[]){0, -0.0f, 0, 0}), CC_OK);
    assert_int_equal(k.len, 8);
    assert_int_equal(kit_decode(&k, k.payload, k.len), CC_OK);
    assert_true(signbit(k.y[1]) && !signbit(k.y[0]));
    kit_expect_encode_refusal(&k, (float[]){0, 0, NAN, 1}, "index 2 is NaN");
    kit_expect_refusal(&k, (uint8_t[]){4, 0, 0, 0, F_1}, 8, "byte 0: index 4 is beyond");
    kit_expect_refusal(&k, (uint8_t[]){1, 0, 0, 0, F_1, 1, 0, 0, 0, F_1}, 16,
                       "byte 8: index 1 does");
    k.codec.shape = cc_shape_flat(((size_t)1 << 32) + 1);
    assert_int_equal(cc_encode(&k.codec, &k.ctx, k.y, k.payload, SIZE_MAX, &k.len, &k.e), CC_FAIL);
    assert_contains(k.e.text, "2^32");
    kit_close(&k);
}

/* The first value that is not finite is named, wherever the blocks and the parts of the tensor end.
 */
static void pairs_large(void **state)
{
    (void)state;
    const size_t n = CANDIDATES;
    float *x = laplace(n, 6);
    struct kit k = open_flat("pairs", n);
    for (size_t i = 0; i < n; i += 3)
        x[i] = 0;
    assert_int_equal(kit_encode(&k, x), CC_OK);
    assert_int_equal(kit_decode(&k, k.payload, k.len), CC_OK);
    assert_memory_equal(k.y, x, n * sizeof *x);
    x[n - 2] = x[n - 1] = INFINITY;
    kit_expect_encode_refusal(&k, x, "index 99998 is infinite");
    kit_close(&k);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparse_bitmap),
        cmocka_unit_test(sparse_u32),
        cmocka_unit_test(sparse_extremes),
        cmocka_unit_test(sparse_counts),
        cmocka_unit_test(sparse_refuses),
        cmocka_unit_test(sparse_corrupt),
        cmocka_unit_test(sampled_within_a_tenth),
        cmocka_unit_test(exact_is_exact),
        cmocka_unit_test(all_equal),
        cmocka_unit_test(mostly_zeros),
        cmocka_unit_test(topk_bytes),
        cmocka_unit_test(topk_large_bucket),
        cmocka_unit_test(topk_refuses),
        cmocka_unit_test(randk_bytes),
        cmocka_unit_test(randk_permutes),
        cmocka_unit_test(randk_refuses),
        cmocka_unit_test(threshold_bytes),
        cmocka_unit_test(threshold_refuses),
        cmocka_unit_test(dgc_bytes),
        cmocka_unit_test(dgc_warmup),
        cmocka_unit_test(dgc_large),
        cmocka_unit_test(dgc_refuses),
        cmocka_unit_test(pairs_bytes),
        cmocka_unit_test(pairs_large),
    };
    return kit_run(tests);
}
