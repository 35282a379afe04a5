/* exponent: values of every type against the reference on every instruction set, a payload by hand,
 * sizes, damaged payloads of several blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/isa.h"
#include "core/number.h"
#include "schemes/kernels/half.h"
#include "tests/lib/data.h"
#include "tests/lib/reference.h"
#include "tests/lib/rig.h"
#include "tests/lib/settings.h"
#include "tests/lib/text.h"
#include "tests/lib/tier.h"

#define LENGTH(a) (sizeof(a) / sizeof(a)[0])

static const char *const schemes[] = {
    "exponent",
    "exponent:coder=window",
    "exponent:coder=window,type=bf16",
    "exponent:type=fp32",
    "exponent:type=fp16",
    "exponent:coder=window,type=fp16",
    "exponent:type=e4m3",
    "exponent:coder=window,type=e5m2",
};

enum kind {
    VALUES,
    OF_BF16,
    OF_FP16,
    FEW_ZEROS,
    MANY_ZEROS,
    ONE_IS_LONG,
    ANY_BITS,
    OF_E4M3,
    OF_E5M2,
    KINDS
};

/* Fills x with values that are finite. */
static void fill(enum kind kind, enum data_kind data, uint64_t seed, float *x, size_t n)
{
    uint8_t half[2];
    data_fill(data, seed, x, n);
    for (size_t i = 0; i < n; i++) {
        const uint64_t draw = data_random(&seed);
        if (kind == OF_BF16 || kind == ONE_IS_LONG || kind == MANY_ZEROS) {
            k_half()->bf16.copy[CC_ELEMENT_FP32](x + i, half, 1);
            k_half()->bf16.load(half, x + i, 1);
        } else if (kind == OF_FP16) {
            k_half()->fp16.copy[CC_ELEMENT_FP32](x + i, half, 1);
            k_half()->fp16.load(half, x + i, 1);
        } else if (kind == ANY_BITS) {
            do
                x[i] = cc_bits_f32((uint32_t)(data_random(&seed) >> 13));
            while (!cc_finite(x[i]));
        }
        if ((kind == FEW_ZEROS && draw % 16 == 0) || (kind == MANY_ZEROS && draw % 3 == 0))
            x[i] = 0;
    }
    if (kind == OF_E4M3 || kind == OF_E5M2)
        cc_number_round(kind == OF_E4M3 ? CC_NUMBER_E4M3 : CC_NUMBER_E5M2, x, n);
    if (kind == ONE_IS_LONG && n > 0)
        x[n / 2] = 0x1.000002p-3f;
}

static void same_values(const float *y, const float *x, size_t n, const char *at)
{
    for (size_t i = 0; i < n; i++)
        if (cc_f32_bits(y[i]) != cc_f32_bits(x[i]))
            fail_msg("%s: value %zu is %a, not %a", at, i, (double)y[i], (double)x[i]);
}

/* Encodes on every instruction set, compares with the reference, and decodes. */
static void follow(struct rig *rig, enum kind kind, enum data_kind data, size_t n)
{
    const enum cc_isa best = cc_isa();
    const struct cc_shape shape = cc_shape_flat(n);
    const struct cc_context ctx = rig_context(kind);
    float *x = malloc((n + 1) * sizeof *x), *sum = malloc((n + 1) * sizeof *sum);
    const float scale = 0.5f, *y;
    fill(kind, data, n + kind, x, n);
    for (int isa = 0; isa < CC_ISAS; isa++) {
        if (!cc_isa_has((enum cc_isa)isa))
            continue;
        cc_isa_force((enum cc_isa)isa);
        char at[320];
        (void)snprintf(at, sizeof at, "%s, kind %d, %s, %zu values, %s", rig->spec->name, kind,
                       data_name(data), n, cc_isa_name((enum cc_isa)isa));
        struct ref *ref = ref_new(rig->spec, &shape);
        const uint8_t *payload;
        size_t len;
        rig_shape(rig, &shape);
        assert_true(ref_begin(ref, &ctx, x));
        if (rig_encode(rig, &ctx, x, &payload, &len) != CC_OK)
            fail_msg("%s: %s", at, rig->e.text);
        const char *why = ref_finish(ref, &ctx, payload, len);
        if (why != NULL)
            fail_msg("%s: %s", at, why);
        if (len > 4 * n)
            fail_msg("%s: %zu bytes", at, len);
        rig_dirty(rig, 255);
        if (rig_decode(rig, &ctx, payload, len, &y) != CC_OK)
            fail_msg("%s: %s", at, rig->e.text);
        same_values(y, x, n, at);
        for (size_t i = 0; i < n; i++) {
            const float product = scale * x[i];
            sum[i] = rig_before_add(i) + product;
        }
        assert_int_equal(rig_decode_add(rig, &ctx, payload, len, scale, &y), CC_OK);
        same_values(y, sum, n, at);
        ref_free(ref);
    }
    cc_isa_force(best);
    free(x);
    free(sum);
}

static void as_the_reference(void **state)
{
    static const size_t sizes[] = {1,   15,  60,   64,   65,   127,  128,  129,
                                   191, 200, 1000, 8191, 8192, 8193, 20011};
    static const enum data_kind data[] = {DATA_LAPLACE, DATA_MIXED, DATA_DENORMAL, DATA_TIES};
    (void)state;
    for (size_t s = 0; s < LENGTH(schemes); s++) {
        struct rig rig;
        assert_true(rig_open(&rig, schemes[s]));
        for (size_t i = 0; i < LENGTH(sizes); i += tier_pick(2, 1, 1))
            for (int kind = 0; kind < KINDS; kind++)
                for (size_t d = 0; d < LENGTH(data); d += tier_pick(2, 1, 1)) {
                    if (s >= 6 && kind < OF_E4M3 && kind != MANY_ZEROS)
                        continue; /* types of 8 bits take these as auto does */
                    rig.front = (i + d) % 2 != 0;
                    follow(&rig, (enum kind)kind, data[d], sizes[i]);
                }
        rig_close(&rig);
    }
}

/* 64 values: 1 but for 2, 2^-8 and a subnormal. Their exponents are 127, 128, 119 and 0, of which
 * the mean without the last is 127.4, so the ranks are 1, 0, 12 and 13. */
static void by_hand(void **state)
{
    (void)state;
    struct rig rig;
    const struct cc_shape shape = cc_shape_flat(64);
    const struct cc_context ctx = rig_context(0);
    float x[64];
    const uint8_t *payload;
    size_t len;
    uint8_t want[300] = {1 << 2};
    for (size_t i = 0; i < 64; i++)
        x[i] = 1;
    x[1] = 2;
    x[17] = 0x1p-8f;
    x[35] = 0x1.8p-127f; /* 0x00600000 */
    for (size_t i = 0; i < 4; i++)
        want[1 + 2 * i] = 2; /* ranks of stages 2 to 5 */
    want[9] = 1;             /* escapes */
    want[11 + 3 * 35 + 2] = 0xc0;
    uint8_t *at = want + 11 + 192;
    *at++ = 127;
    memset(at, 0x55, 16);
    at[1] = 0x5c; /* values 1, 17, 33, 49: codes 0, 3, 1, 1 */
    at[3] = 0x75; /* values 3, 19, 35, 51: codes 1, 1, 3, 1 */
    at += 16;
    for (size_t stage = 2; stage <= 4; stage++, at += 2)
        at[0] = at[1] = 3;
    *at++ = 2;
    *at++ = 0;
    assert_true(rig_open(&rig, "exponent:type=fp32"));
    rig_shape(&rig, &shape);
    assert_int_equal(rig_encode(&rig, &ctx, x, &payload, &len), CC_OK);
    assert_int_equal(len, at - want);
    assert_memory_equal(payload, want, len);
    const float *y;
    at[-2] = 3; /* both escape, but there is one */
    assert_int_equal(rig_decode(&rig, &ctx, want, len, &y), CC_FAIL);
    assert_contains(rig.e.text, "payload, byte 0: 2 exponents escape, not 1");
    at[-2] = 2;
    want[7] = 1; /* a code of the last stage less */
    assert_int_equal(rig_decode(&rig, &ctx, want, len, &y), CC_FAIL);
    assert_contains(rig.e.text, "payload, byte 0: 0 exponents escape, not 1");
    rig_close(&rig);
}

/* Bits of every kind come back: what an escape and raw words give is not looked at. */
static void not_a_number_is_decoded(void **state)
{
    (void)state;
    struct rig rig;
    const struct cc_shape shape = cc_shape_flat(64);
    const struct cc_context ctx = rig_context(0);
    float x[64];
    const float *y;
    const uint8_t *payload;
    uint8_t copy[256];
    size_t len;
    for (size_t i = 0; i < 64; i++)
        x[i] = i == 9 ? -0x1.8p100f : -1.0f;
    assert_true(rig_open(&rig, "exponent:coder=window,type=fp32"));
    rig_shape(&rig, &shape);
    assert_int_equal(rig_encode(&rig, &ctx, x, &payload, &len), CC_OK);
    memcpy(copy, payload, len);
    assert_int_equal(copy[len - 1], 227);
    copy[len - 1] = 255;
    assert_int_equal(rig_decode(&rig, &ctx, copy, len, &y), CC_OK);
    assert_int_equal(cc_f32_bits(y[9]), 0xffc00000);
    x[9] = y[9];
    assert_int_equal(rig_encode(&rig, &ctx, x, &payload, &len), CC_FAIL);
    assert_contains(rig.e.text, "is NaN");
    rig_close(&rig);
}

/* Every word of each format, repeated and among numbers, in both coders: where the sender asks for
 * it, infinity and every NaN come back, in hardly more than the words' bytes; else they are
 * refused.
 */
static void any_word(void **state)
{
    enum { N = 3 * 8192 + 100 };
    static const char *const coders[] = {"exponent", "exponent:coder=window", "zstd", "lz4"};
    static float x[N];
    const struct cc_shape shape = cc_shape_flat(N);
    (void)state;
    for (size_t s = 0; s < LENGTH(coders); s++) {
        struct rig rig;
        assert_true(rig_open(&rig, coders[s]));
        for (enum cc_number f = CC_NUMBER_FP32; f < CC_NUMBERS; f++)
            for (size_t often = 1; often <= 64; often *= 64) {
                struct cc_context ctx = rig_context(0);
                const uint8_t *payload;
                const float *y;
                size_t len;
                data_fill(DATA_LAPLACE, f, x, N);
                cc_number_round(f, x, N);
                for (size_t i = 0; i < N; i += often)
                    x[i] = cc_number_value(f, (uint32_t)(i / often) * 2654435761u &
                                                  UINT32_MAX >> (32 - 8 * cc_number_bytes[f]));
                x[N / 2] = cc_number_value(f, f == CC_NUMBER_BF16 ? 0x7f81 : 0x7fffffff);
                rig_shape(&rig, &shape);
                assert_int_equal(rig_encode(&rig, &ctx, x, &payload, &len), CC_FAIL);
                assert_contains(rig.e.text, "is ");
                ctx.any = true;
                assert_int_equal(rig_encode(&rig, &ctx, x, &payload, &len), CC_OK);
                assert_in_range(len, 1, N * cc_number_bytes[f] * 101 / 100);
                assert_int_equal(rig_decode(&rig, &ctx, payload, len, &y), CC_OK);
                same_values(y, x, N, coders[s]);
            }
        rig_close(&rig);
    }
    struct rig rig;
    struct cc_context ctx = rig_context(0);
    const uint8_t *payload;
    size_t len;
    assert_true(rig_open(&rig, "bf16"));
    ctx.any = true;
    rig_shape(&rig, &shape);
    assert_int_equal(rig_encode(&rig, &ctx, x, &payload, &len), CC_FAIL);
    rig_close(&rig);
}

/* Words without any order are sent as they are; a block of them does not spoil the others. */
static void noise_is_sent_as_it_is(void **state)
{
    (void)state;
    const size_t n = 3 * 8192;
    float *x = malloc(n * sizeof *x);
    for (size_t s = 0; s < LENGTH(schemes); s++) {
        struct rig rig;
        const struct cc_shape shape = cc_shape_flat(n);
        const struct cc_context ctx = rig_context(0);
        const uint8_t *payload;
        size_t len;
        assert_true(rig_open(&rig, schemes[s]));
        rig_shape(&rig, &shape);
        fill(ANY_BITS, DATA_LAPLACE, 3, x, n);
        assert_int_equal(rig_encode(&rig, &ctx, x, &payload, &len), CC_OK);
        assert_int_equal(len, 4 * n);
        fill(VALUES, DATA_LAPLACE, 3, x, n - 8192);
        assert_int_equal(rig_encode(&rig, &ctx, x, &payload, &len), CC_OK);
        assert_in_range(len, 3 * n, n * 37 / 10);
        rig_close(&rig);
    }
    free(x);
}

/* Damaged payloads of several blocks: as the reference decodes them, or refused with the offset. */
static void damaged(void **state)
{
    (void)state;
    const size_t n = 17001;
    const struct cc_shape shape = cc_shape_flat(n);
    const struct cc_context ctx = rig_context(0);
    float *x = malloc(n * sizeof *x), *want = malloc(n * sizeof *want);
    uint64_t seed = 11;
    for (size_t s = 0; s < LENGTH(schemes); s++) {
        struct rig rig;
        const uint8_t *payload;
        size_t len, refused = 0;
        assert_true(rig_open(&rig, schemes[s]));
        rig_shape(&rig, &shape);
        struct ref *ref = ref_new(rig.spec, &shape);
        const enum kind kinds[] = {MANY_ZEROS, OF_BF16, OF_FP16, OF_E4M3};
        fill(s == 7 ? OF_E5M2 : kinds[s / 2], DATA_LAPLACE, s, x, n);
        assert_int_equal(rig_encode(&rig, &ctx, x, &payload, &len), CC_OK);
        uint8_t *copy = malloc(len);
        for (size_t draw = 0; draw < tier_pick(20, 60, 200); draw++) {
            /* a byte anywhere, one of the sizes, one of the first block's kind and counts, or of
             * what follows its lower parts */
            const size_t places[] = {len, 8, 20, len / 3};
            const size_t at = (size_t)(data_random(&seed) % places[draw % 4]);
            const float *y;
            memcpy(copy, payload, len);
            copy[at] = (uint8_t)(data_random(&seed) >> 5);
            const bool accept = ref_decode(ref, &ctx, copy, len, want);
            const int status = rig_decode(&rig, &ctx, copy, len, &y);
            if ((status == CC_OK) != accept)
                fail_msg("%s: byte %zu: %s", schemes[s], at,
                         accept ? rig.e.text : "should have been refused");
            unsigned long long offset;
            if (!accept &&
                (sscanf(rig.e.text, "payload, byte %llu:", &offset) != 1 || offset > len))
                fail_msg("%s: '%s' does not name the offset", schemes[s], rig.e.text);
            for (size_t i = 0; i < n && accept; i++)
                if (!rig_same(y[i], want[i]))
                    fail_msg("%s: byte %zu changes value %zu", schemes[s], at, i);
            refused += !accept;
        }
        assert_in_range(refused, 1, tier_pick(20, 60, 200) - 1);
        free(copy);
        ref_free(ref);
        rig_close(&rig);
    }
    free(x);
    free(want);
}

/* By hand: 1, 1, 2, +0 have symbols of probabilities 1/2, 1/4 and 1/4, so 1.5 bits each; three have
 * sign and mantissa. 0x1.000002p0 is no bf16, so that its block is one of fp32. */
static void entropy_by_hand(void **state)
{
    static const struct {
        const char *scheme;
        double rest;
    } all[] = {{"exponent:type=fp32", 24},
               {"exponent", 4},
               {"exponent:type=e5m2", 3},
               {"exponent:type=bf16", 8},
               {"exponent:coder=window,type=fp16", 11}};
    float x[] = {1, 1, 2, 0};
    (void)state;
    for (size_t i = 0; i < LENGTH(all); i++) {
        struct cc_spec *s = setting_open(all[i].scheme);
        const struct cc_codec c = {
            .scheme = s->scheme, .params = s->params, .shape = cc_shape_flat(4)};
        x[0] = 1;
        assert_true(cc_entropy_bits(&c, x) == 6 + 3 * all[i].rest);
        x[0] = 0x1.000002p0f;
        assert_true(cc_entropy_bits(&c, x) == 6 + 3 * 24);
        cc_spec_free(s);
    }
    struct cc_spec *s = setting_open("fp32");
    const struct cc_codec c = {.scheme = s->scheme, .params = s->params, .shape = cc_shape_flat(4)};
    assert_true(isnan(cc_entropy_bits(&c, x)));
    cc_spec_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_reference),        cmocka_unit_test(by_hand),
        cmocka_unit_test(not_a_number_is_decoded), cmocka_unit_test(any_word),
        cmocka_unit_test(noise_is_sent_as_it_is),  cmocka_unit_test(damaged),
        cmocka_unit_test(entropy_by_hand),
    };
    return cmocka_run_group_tests_name("exponent", tests, NULL, NULL);
}
