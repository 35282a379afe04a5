/* Tensors so large that threads share them and output goes past the cache: the same bytes, values,
 * states and messages from every number of threads and every instruction set as from one thread of
 * scalar code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cache.h"
#include "core/isa.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "schemes/kernels/qsgd.h"
#include "tests/lib/data.h"
#include "tests/lib/side.h"
#include "tests/lib/text.h"

#define LENGTH(a) (sizeof(a) / sizeof(a)[0])

/* Opens the codec of rank 2 of a tensor, for a part of it that crosses its 2^32nd value. */
static void open_far(struct side *s, const char *scheme, struct cc_shape shape, size_t shift)
{
    side_open(s, scheme, shape, shift);
    s->ctx.rank = 2;
    s->ctx.offset = (UINT64_C(1) << 32) - 70001;
}

/* One step: encodes, decodes, adds. */
static void step(struct side *s, const float *x, uint64_t number)
{
    s->ctx.step = number;
    if (s->codec.scratch != NULL)
        memset(s->codec.scratch, (int)number + 1, cc_scratch_bytes(&s->codec));
    assert_int_equal(
        cc_encode(&s->codec, &s->ctx, x, s->payload, cc_bound(&s->codec), &s->len, &s->e), CC_OK);
    assert_int_equal(cc_decode(&s->codec, &s->ctx, s->payload, s->len, s->y, &s->e), CC_OK);
    assert_int_equal(cc_decode_add(&s->codec, &s->ctx, s->payload, s->len, -1.5f, s->sum, &s->e),
                     CC_OK);
}

/* Copies the state and sums of `from`, so that the next step begins alike. */
static void begin_as(struct side *s, const struct side *from)
{
    if (s->codec.state != NULL)
        memcpy(s->codec.state, from->codec.state, cc_state_bytes(&s->codec));
    memcpy(s->sum, from->sum, s->codec.shape.n * sizeof(float));
}

static void compare(const char *scheme, struct cc_shape shape, const int *threads, size_t count,
                    size_t shift)
{
    const enum cc_isa best = cc_isa();
    struct side before, plain, other;
    float *x = malloc(shape.n * sizeof *x);
    assert_non_null(x);
    data_fill(DATA_LAPLACE, shape.n, x, shape.n);
    open_far(&before, scheme, shape, 0);
    open_far(&plain, scheme, shape, 0);
    open_far(&other, scheme, shape, shift);
    for (uint64_t number = 0; number < 2; number++) {
        begin_as(&before, &plain);
        cc_isa_force(CC_SCALAR);
        step(&plain, x, number);
        for (size_t i = 0; i < count * CC_ISAS; i++) {
            if (!cc_isa_has((enum cc_isa)(i % CC_ISAS)))
                continue;
            cc_isa_force((enum cc_isa)(i % CC_ISAS));
            other.codec.threads = threads[i / CC_ISAS];
            begin_as(&other, &before);
            step(&other, x, number);
            side_expect_same(&plain, &other, "laplace");
        }
    }
    side_close(&before);
    side_close(&plain);
    side_close(&other);
    cc_isa_force(best);
    free(x);
}

/* Few, odd and long buckets; every width of a code. */
static const char *const schemes[] = {
    "qsgd",
    "qsgd:bits=2,bucket=64",
    "qsgd:bits=3,bucket=1000,norm=l2",
    "qsgd:bits=5,bucket=77",
    "qsgd:bits=6,bucket=0",
    "qsgd:bits=7,bucket=20000",
    "qsgd:bits=8",
    "qsgd:bits=9,bucket=0,norm=l2",
    "qsgd:bits=11,bucket=100000",
    "qsgd:bits=13,bucket=511",
    "qsgd:bits=16,bucket=0",
    "qsgd:levels=4,bucket=200000,norm=l2",
    "qsgd:code=elias",
    "qsgd:bits=8,code=elias,bucket=70000",
    "qsgd:bits=3,code=elias,bucket=0,norm=l2",
    "ternary:clip=2.5",
    "ternary:clip=2.5,ef=1",
    "natural",
    "exponent",
    "exponent:coder=window,type=bf16",
    "local",
    "local:every=1,inner=qsgd",
};

static void threads_share_tensors(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 5, 64};
    for (size_t i = 0; i < LENGTH(schemes); i++) {
        compare(schemes[i], cc_shape_flat(5 * CC_PART_VALUES + 4321), threads, LENGTH(threads), 1);
        compare(schemes[i], cc_shape_flat(2 * CC_PART_VALUES), threads, 2, 16);
    }
}

static void threads_share_matrices(void **state)
{
    (void)state;
    static const int threads[] = {2, 7};
    static const size_t dims[][2] = {{300, 1500}, {5, 60000}, {60000, 5}, {1000, 333}};
    for (size_t i = 0; i < LENGTH(dims); i++) {
        struct cc_shape shape = {
            .n = dims[i][0] * dims[i][1], .dim = {dims[i][0], dims[i][1]}, .ndim = 2};
        compare("powersgd", shape, threads, LENGTH(threads), 0);
        compare("powersgd:rank=3,ef=0", shape, threads, LENGTH(threads), 0);
    }
}

static void output_goes_past_the_cache(void **state)
{
    (void)state;
    static const char *const some[] = {"qsgd", "qsgd:bits=8,bucket=100", "natural", "exponent"};
    const size_t n = cc_cache_bytes() / sizeof(float) + 4097;
    static const int threads[] = {2};
    assert_true(cc_use_nontemporal(n * sizeof(float)));
    for (size_t i = 0; i < LENGTH(some); i++)
        for (size_t shift = 0; shift <= 3; shift += 3)
            compare(some[i], cc_shape_flat(n), threads, 1, shift);
}

/* Messages name the first fault, whichever thread finds one. */
static void first_fault_is_named(void **state)
{
    (void)state;
    static const char *const some[] = {
        "qsgd",    "qsgd:bucket=0", "qsgd:bucket=0,norm=l2", "qsgd:code=elias",
        "natural", "exponent",      "local:every=1"};
    const size_t n = 6 * CC_PART_VALUES, faults[] = {n - 1, n / 2 + 3, n / 2 - 1, 17};
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < LENGTH(some); i++) {
        struct side s;
        data_fill(DATA_LAPLACE, 5, x, n);
        open_far(&s, some[i], cc_shape_flat(n), 0);
        s.ctx.offset = 0;
        for (size_t k = 0; k < LENGTH(faults); k++) {
            char want[40];
            x[faults[k]] = k % 2 ? NAN : INFINITY;
            (void)snprintf(want, sizeof want, "the value at index %zu is", faults[k]);
            for (s.codec.threads = 1; s.codec.threads < 8; s.codec.threads += 3) {
                cc_codec_reset(&s.codec);
                assert_int_equal(
                    cc_encode(&s.codec, &s.ctx, x, s.payload, cc_bound(&s.codec), &s.len, &s.e),
                    CC_FAIL);
                assert_contains(s.e.text, want);
            }
        }
        side_close(&s);
    }
    free(x);
}

static void first_bad_byte_is_named(void **state)
{
    (void)state;
    static const char *const some[] = {"qsgd", "qsgd:bucket=0", "natural"};
    const size_t n = 6 * CC_PART_VALUES;
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    data_fill(DATA_LAPLACE, 6, x, n);
    for (size_t i = 0; i < LENGTH(some); i++) {
        struct side s;
        open_far(&s, some[i], cc_shape_flat(n), 0);
        step(&s, x, 0);
        /* 0x88 is a code of -8 twice in qsgd; natural's exponents come after n / 8 bytes */
        const uint8_t bad = i == 2 ? 255 : 0x88;
        size_t places[] = {s.len - 1, s.len / 2 + 999, s.len / 3, i == 2 ? n / 8 : 4};
        for (size_t k = 0; k < LENGTH(places); k++) {
            char want[40];
            places[k] += i == 0 && places[k] % 260 < 4 ? 4 : 0; /* not in a norm */
            s.payload[places[k]] = bad;
            (void)snprintf(want, sizeof want, "byte %zu:", places[k]);
            for (s.codec.threads = 1; s.codec.threads < 8; s.codec.threads += 3) {
                assert_int_equal(cc_decode(&s.codec, &s.ctx, s.payload, s.len, s.y, &s.e), CC_FAIL);
                assert_contains(s.e.text, want);
                assert_int_equal(cc_decode_add(&s.codec, &s.ctx, s.payload, s.len, 1, s.sum, &s.e),
                                 CC_FAIL);
                assert_contains(s.e.text, want);
            }
        }
        side_close(&s);
    }
    free(x);
}

/* Decoded values are norm * (level / s) with a rounded quotient: every s up to 300, and some up to
 * the largest. */
static void quotients_are_rounded(void **state)
{
    (void)state;
    enum { TOP = 32767 };
    static int16_t levels[2 * TOP + 1];
    static float y[2 * TOP + 1];
    const enum cc_isa best = cc_isa();
    const struct cc_qsgd_use use = {.add = false};
    for (int isa = 0; isa < CC_ISAS; isa++) {
        cc_isa_force((enum cc_isa)isa);
        for (int s = 1; s <= TOP; s += s < 300 || s > TOP - 10 ? 1 : 61) {
            const struct cc_qsgd_form form = {.bucket = 1, .s = s, .width = 16};
            const size_t n = 2 * (size_t)s + 1;
            for (size_t i = 0; i < n; i++)
                levels[i] = (int16_t)((int)i - s);
            k_qsgd_get()->levels(&form, levels, 0.1f, &use, y, n);
            for (size_t i = 0; i < n; i++)
                if (y[i] != 0.1f * ((float)levels[i] / (float)s))
                    fail_msg("%s: level %d of %d", cc_isa_name((enum cc_isa)isa), levels[i], s);
        }
    }
    cc_isa_force(best);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_tensors),      cmocka_unit_test(threads_share_matrices),
        cmocka_unit_test(output_goes_past_the_cache), cmocka_unit_test(first_fault_is_named),
        cmocka_unit_test(first_bad_byte_is_named),    cmocka_unit_test(quotients_are_rounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
