/* Sparse schemes on tensors that threads share: the same payload, state, values and messages from
 * every number of threads and every instruction set as from one thread of scalar code, also where
 * the parts of a tensor differ as much as possible. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/cache.h"
#include "core/isa.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "tests/lib/data.h"
#include "tests/lib/side.h"
#include "tests/lib/tier.h"

#define LENGTH(a) (sizeof(a) / sizeof(a)[0])

static int encode(struct side *s, const float *x)
{
    if (s->codec.scratch != NULL)
        memset(s->codec.scratch, 0xa5, cc_scratch_bytes(&s->codec));
    return cc_encode(&s->codec, &s->ctx, x, s->payload, cc_bound(&s->codec), &s->len, &s->e);
}

static void step(struct side *s, const float *x, uint64_t number)
{
    size_t n = s->codec.shape.n;
    s->ctx.step = number;
    if (encode(s, x) != CC_OK)
        fail_msg("%s: %s", s->spec->name, s->e.text);
    for (size_t i = 0; i < n; i++)
        s->sum[i] = 1 + (float)(i % 7);
    memset(s->y, 0x7b, n * sizeof(float));
    assert_int_equal(cc_decode(&s->codec, &s->ctx, s->payload, s->len, s->y, &s->e), CC_OK);
    assert_int_equal(cc_decode_add(&s->codec, &s->ctx, s->payload, s->len, -1.5f, s->sum, &s->e),
                     CC_OK);
}

/* The kept and the sent values make up the gradient (ef=1, first step). */
static void expect_nothing_lost(const struct side *s, const float *x)
{
    const char *id = s->spec->scheme->id;
    const float *rest = s->codec.state;
    size_t n = s->codec.shape.n;
    bool plain = strcmp(id, "sparse") == 0 || strcmp(id, "topk") == 0 || strcmp(id, "randk") == 0;
    for (size_t i = 0; plain && rest != NULL && cc_state_bytes(&s->codec) > 0 && i < n; i++)
        if (s->y[i] + rest[i] != x[i] || (s->y[i] != 0 && rest[i] != 0))
            fail_msg("%s: value %zu of %g became %g and %g", s->spec->name, i, (double)x[i],
                     (double)s->y[i], (double)rest[i]);
}

static const char *const schemes[] = {
    "sparse",
    "sparse:density=0.3,ef=0",
    "sparse:density=0.6",
    "sparse:density=0.001",
    "sparse:select=exact",
    "sparse:select=exact,density=0.9,index=u32",
    "sparse:index=u32",
    "dgc:density=0.01",
    "dgc",
    "threshold:tau=0.005",
    "threshold:tau=1e-3",
    "threshold:tau=0.01,ef=0",
    "topk",
    "topk:k=3,bucket=100,ef=0",
    "topk:k=300,bucket=5000",
    "topk:k=60,bucket=65",
    "randk",
    "randk:density=0.5,ef=0",
};

enum kind { EVEN, TIES, LATE, EARLY, RARE, SAME, ZEROS, MISLEADING, KINDS };
static const char *const kind_names[KINDS] = {
    "Laplace",      "ties",         "large ones late", "large ones early",
    "mostly zeros", "all the same", "zeros",           "large ones in the sample"};

/* Makes those values large that the sample of step `number` contains, which has one of `each`
 * values (`sparse` in docs/payloads.md). The threshold is then far too high. */
static void mislead(uint64_t number, size_t each, float *x, size_t n)
{
    const struct cc_context ctx = {.step = number};
    const struct cc_key key = cc_context_key(&ctx, 0, 1);
    const size_t count = n / each;
    for (size_t i = 0; i < count; i++) {
        size_t begin = i * n / count, end = (i + 1) * n / count;
        size_t at = begin + (size_t)((end - begin) * (uint64_t)cc_random(key, (uint32_t)i) >> 32);
        x[at] = 1 + (float)i / (float)count;
    }
}

static void fill(enum kind kind, uint64_t seed, float *x, size_t n)
{
    data_fill(kind == TIES ? DATA_TIES : DATA_LAPLACE, seed, x, n);
    for (size_t i = 0; i < n; i++) {
        float part = (float)i / (float)n;
        x[i] *= kind == LATE ? part * part * part : kind == EARLY ? (i < n / 50 ? 100.0f : 1) : 1;
        if (kind == RARE && i % 997 != 3)
            x[i] = 0;
        if (kind == SAME || kind == ZEROS)
            x[i] = kind == ZEROS ? 0.0f : i % 2 != 0 ? 0.75f : -0.75f;
    }
    if (kind == MISLEADING) {
        mislead(seed, 32, x, n);
        mislead(seed, 64, x, n);
    }
}

/* Some steps on one thread of scalar code; from each step's state the same step otherwise. */
static void compare(const char *scheme, enum kind kind, size_t n, const int *threads, size_t count)
{
    const enum cc_isa best = cc_isa();
    struct side plain, other;
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    side_open(&plain, scheme, cc_shape_flat(n), 0);
    side_open(&other, scheme, cc_shape_flat(n), 0);
    size_t state = cc_state_bytes(&plain.codec);
    void *before = malloc(state + 1);
    assert_non_null(before);
    for (uint64_t number = 0; number < 2; number++) {
        fill(kind, number, x, n);
        if (state > 0)
            memcpy(before, plain.codec.state, state);
        cc_isa_force(CC_SCALAR);
        step(&plain, x, number);
        if (number == 0)
            expect_nothing_lost(&plain, x);
        for (size_t i = 0; i < count * CC_ISAS; i++) {
            if (!cc_isa_has((enum cc_isa)(i % CC_ISAS)))
                continue;
            cc_isa_force((enum cc_isa)(i % CC_ISAS));
            other.codec.threads = threads[i / CC_ISAS];
            if (state > 0)
                memcpy(other.codec.state, before, state);
            step(&other, x, number);
            side_expect_same(&plain, &other, kind_names[kind]);
        }
    }
    side_close(&plain);
    side_close(&other);
    cc_isa_force(best);
    free(before);
    free(x);
}

static void threads_share_tensors(void **state)
{
    (void)state;
    static const int threads[] = {5, 2, 1};
    const size_t stride = tier_pick(KINDS - 1, 2, 1), counts = tier_pick(1, 1, LENGTH(threads));
    for (size_t i = 0; i < LENGTH(schemes); i++)
        for (size_t kind = 0; kind < KINDS; kind += stride)
            compare(schemes[i], (enum kind)kind, 3 * CC_PART_VALUES + 4321, threads, counts);
}

static void output_goes_past_the_cache(void **state)
{
    (void)state;
    static const char *const some[] = {
        "sparse", "dgc", "threshold:tau=0.003", "topk", "topk:k=7,bucket=99", "randk"};
    const size_t n = cc_cache_bytes() / sizeof(float) + 4099;
    static const int threads[] = {3};
    assert_true(cc_use_nontemporal(n * sizeof(float)));
    for (size_t i = 0; i < LENGTH(some); i += tier_pick(LENGTH(some), 3, 1))
        compare(some[i], EVEN, n, threads, 1);
}

/* Every number of values up to 300, and numbers near the borders of blocks. Tiers below the full
 * one give each scheme a part of the lengths, and the next scheme another part. */
static void all_lengths(void **state)
{
    (void)state;
    static const int threads[] = {1};
    static const size_t more[] = {511,  512,  513,  2047,  2048,  2049,
                                  4095, 4097, 6143, 65535, 65536, 65537};
    for (size_t i = 0; i < LENGTH(schemes); i++)
        for (size_t n = 1 + i % tier_pick(31, 7, 1); n <= 300 + LENGTH(more);
             n += tier_pick(31, 7, 1))
            compare(schemes[i], n % 3 == 0 ? TIES : EVEN, n <= 300 ? n : more[n - 301], threads, 1);
}

/* --- refusals --- */

static void first_fault_is_named(void **state)
{
    (void)state;
    const size_t n = 6 * CC_PART_VALUES, faults[] = {n - 1, n / 2 + 3, n / 2 - 1, 17};
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < LENGTH(schemes); i++) {
        struct side s;
        fill(EVEN, 5, x, n);
        side_open(&s, schemes[i], cc_shape_flat(n), 0);
        for (size_t k = 0; k < LENGTH(faults); k++) {
            char want[40];
            x[faults[k]] = k % 2 != 0 ? NAN : INFINITY;
            (void)snprintf(want, sizeof want, "the value at index %zu is", faults[k]);
            for (s.codec.threads = 1; s.codec.threads < 8; s.codec.threads += 3) {
                cc_codec_reset(&s.codec);
                assert_int_equal(encode(&s, x), CC_FAIL);
                if (strstr(s.e.text, want) == NULL)
                    fail_msg("%s: '%s' is not in '%s'", s.spec->name, want, s.e.text);
            }
        }
        side_close(&s);
    }
    free(x);
}

/* The residual overflows although the gradient itself is finite. */
static void overflow_is_named(void **state)
{
    (void)state;
    static const char *const some[] = {"sparse", "sparse:density=0.001", "threshold:tau=1e30",
                                       "topk", "randk"};
    const size_t n = 4 * CC_PART_VALUES, at = 3 * CC_PART_VALUES + 5;
    float *x = calloc(n, sizeof *x);
    assert_non_null(x);
    x[at] = 3e38f;
    for (size_t i = 0; i < LENGTH(some); i++) {
        struct side s;
        side_open(&s, some[i], cc_shape_flat(n), 0);
        for (s.codec.threads = 1; s.codec.threads < 8; s.codec.threads += 3) {
            char want[60];
            (void)snprintf(want, sizeof want, "overflows at index %zu", at);
            cc_codec_reset(&s.codec);
            ((float *)s.codec.state)[at] = 3e38f;
            assert_int_equal(encode(&s, x), CC_FAIL);
            if (strstr(s.e.text, want) == NULL)
                fail_msg("%s: '%s' is not in '%s'", s.spec->name, want, s.e.text);
        }
        side_close(&s);
    }
    free(x);
}

static void expect_refusals(struct side *s, size_t byte, const char *words)
{
    char want[40];
    (void)snprintf(want, sizeof want, "byte %zu:", byte);
    for (s->codec.threads = 1; s->codec.threads < 8; s->codec.threads += 3) {
        for (int adds = 0; adds < 2; adds++) {
            int status =
                adds != 0 ? cc_decode_add(&s->codec, &s->ctx, s->payload, s->len, 1, s->sum, &s->e)
                          : cc_decode(&s->codec, &s->ctx, s->payload, s->len, s->y, &s->e);
            if (status == CC_OK)
                fail_msg("%s, %d threads: %s should have been refused", s->spec->name,
                         s->codec.threads, want);
            if (strstr(s->e.text, want) == NULL || strstr(s->e.text, words) == NULL)
                fail_msg("%s, %d threads: '%s' and '%s' are not in '%s'", s->spec->name,
                         s->codec.threads, want, words, s->e.text);
        }
    }
}

/* Indices that do not ascend or lie beyond the tensor are refused: the first is named. */
static void first_bad_index_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        size_t head, each;
        unsigned shift; /* the index's bits in its word */
    } rows[] = {{"sparse:index=u32", 0, 8, 0},
                {"dgc:density=0.02", 0, 8, 0},
                {"threshold:tau=1e-3", 4, 4, 1}};
    const size_t n = 6 * CC_PART_VALUES;
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    fill(EVEN, 6, x, n);
    for (size_t r = 0; r < LENGTH(rows); r++) {
        struct side s;
        side_open(&s, rows[r].scheme, cc_shape_flat(n), 0);
        step(&s, x, 0);
        size_t count = (s.len - rows[r].head) / rows[r].each;
        const size_t places[] = {count - 1, count / 2 + 9, count / 2 - 9, 700, 1};
        for (size_t k = 0; k < LENGTH(places); k++) {
            size_t at = rows[r].head + rows[r].each * places[k];
            uint32_t before = cc_get_u32(s.payload + at - rows[r].each);
            cc_put_u32(s.payload + at, k % 2 != 0 ? before : (uint32_t)n << rows[r].shift);
            expect_refusals(&s, at, k % 2 != 0 ? "does not ascend" : "is beyond");
        }
        side_close(&s);
    }
    free(x);
}

static void first_bad_bucket_is_named(void **state)
{
    (void)state;
    const size_t n = 6 * CC_PART_VALUES, each = 6 * 16;
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    fill(EVEN, 6, x, n);
    struct side s;
    side_open(&s, "topk", cc_shape_flat(n), 0);
    step(&s, x, 0);
    const size_t places[] = {n / 512 - 1, n / 1024 + 1, n / 1024 - 1, 0};
    for (size_t k = 0; k < LENGTH(places); k++) {
        size_t at = each * places[k] + 2 * (k + 1);
        memcpy(s.payload + at, s.payload + at - 2, 2);
        if (k % 2 != 0)
            memcpy(s.payload + at, (uint8_t[]){0, 2}, 2); /* 512 */
        expect_refusals(&s, at, k % 2 != 0 ? "is beyond" : "does not ascend");
    }
    side_close(&s);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_tensors),
        cmocka_unit_test(output_goes_past_the_cache),
        cmocka_unit_test(all_lengths),
        cmocka_unit_test(first_fault_is_named),
        cmocka_unit_test(overflow_is_named),
        cmocka_unit_test(first_bad_index_is_named),
        cmocka_unit_test(first_bad_bucket_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
