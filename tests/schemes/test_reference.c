/* Every scheme against the independent reference of tests/lib/reference.h: encoding, decoding, and
 * decoding of damaged payloads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/isa.h"
#include "tests/lib/data.h"
#include "tests/lib/reference.h"
#include "tests/lib/rig.h"
#include "tests/lib/settings.h"
#include "tests/lib/tier.h"

enum { STEPS = 4 };

/* The case, for messages of failures. */
static const char *where(const struct rig *rig, enum data_kind kind, uint64_t step)
{
    static char text[512];
    char shape[96];
    cc_shape_print(&rig->codec.shape, shape, sizeof shape);
    (void)snprintf(text, sizeof text, "%s, %s, %s, step %llu, %s", rig->spec->name, shape,
                   data_name(kind), (unsigned long long)step, cc_isa_name(cc_isa()));
    return text;
}

static void compare_decoded(struct rig *rig, const struct cc_context *ctx, const uint8_t *payload,
                            size_t len, const float *expected, const char *at)
{
    const float scale = 0.37f, *y;
    const size_t n = rig->codec.shape.n;
    if (rig_decode(rig, ctx, payload, len, &y) != CC_OK)
        fail_msg("%s: decode: %s", at, rig->e.text);
    for (size_t i = 0; i < n; i++)
        if (!rig_same(y[i], expected[i]))
            fail_msg("%s: value %zu decodes to %a, not %a", at, i, (double)y[i],
                     (double)expected[i]);
    if (rig_decode_add(rig, ctx, payload, len, scale, &y) != CC_OK)
        fail_msg("%s: decode_add: %s", at, rig->e.text);
    for (size_t i = 0; i < n; i++) {
        const float product = scale * expected[i], sum = rig_before_add(i) + product;
        if (!rig_same(y[i], sum))
            fail_msg("%s: decode_add makes value %zu %a, not %a", at, i, (double)y[i], (double)sum);
    }
}

static void compare_residual(const struct rig *rig, const struct ref *ref, const char *at)
{
    const float *expected = ref_residual(ref), *kept = rig_residual(rig);
    if (kept == NULL)
        return;
    for (size_t i = 0; i < rig->codec.shape.n; i++)
        if (!rig_same(kept[i], expected[i]))
            fail_msg("%s: residual %zu is %a, not %a", at, i, (double)kept[i], (double)expected[i]);
}

/* One tensor over some steps. */
static void follow(struct rig *rig, const struct cc_shape *shape, enum data_kind kind, int steps)
{
    const size_t n = shape->n;
    float *x = malloc((n + 1) * sizeof *x), *y = malloc((n + 1) * sizeof *y);
    struct ref *ref = ref_new(rig->spec, shape);
    rig_shape(rig, shape);
    for (uint64_t step = 0; step < (uint64_t)steps; step++) {
        const struct cc_context ctx = rig_context(step);
        const char *at = where(rig, kind, step);
        const uint8_t *payload;
        size_t len;
        data_fill(kind, step, x, n);
        const bool accept = ref_begin(ref, &ctx, x);
        const int status = rig_encode(rig, &ctx, x, &payload, &len);
        if ((status == CC_OK) != accept)
            fail_msg("%s: %s", at, accept ? rig->e.text : "encoded, but a value is not finite");
        if (!accept)
            break;
        const char *why = ref_finish(ref, &ctx, payload, len);
        if (why != NULL)
            fail_msg("%s: %s", at, why);
        assert_true(ref_decode(ref, &ctx, payload, len, y));
        compare_decoded(rig, &ctx, payload, len, y, at);
        if (n > 0)
            compare_residual(rig, ref, at);
    }
    ref_free(ref);
    free(x);
    free(y);
}

static void small(void **state)
{
    static const size_t sizes[] = {0,  1,  2,  4,  5,   6,   7,   8,    9,
                                   63, 64, 65, 79, 511, 512, 513, 4095, 4097};
    /* Under a sanitizer, which guards both ends by itself, each size has its buffers at one end of
     * the pages only. */
    const size_t ends = tier_pick(1, 1, 2), stride = tier_pick(4, 2, 1);
    struct rig rig;
    assert_true(rig_open(&rig, *state));
    for (size_t end = 0; end < ends; end++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i += stride) {
            const struct cc_shape shape = cc_shape_flat(sizes[i]);
            rig.front = (end + (ends == 1 ? i : 0)) % 2 != 0;
            for (int kind = 0; kind < DATA_KINDS; kind++)
                follow(&rig, &shape, (enum data_kind)kind, STEPS);
        }
    }
    rig_close(&rig);
}

/* Shapes of other than one dimension; only powersgd, chunktopk, demo and wrappers look at them. */
static void matrices(void **state)
{
    static const char *const shapes[] = {"",      "8x8",  "16x16",    "64x32", "3x5x7", "1x10",
                                         "10x1",  "2x2",  "200x3",    "7x300", "0x5",   "5x0x2",
                                         "31x31", "9x64", "64x3x3x3", "131x70"};
    struct rig rig;
    assert_true(rig_open(&rig, *state));
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct cc_shape shape;
        assert_int_equal(cc_shape_parse(shapes[i], &shape, NULL), CC_OK);
        for (int kind = (int)(i % tier_pick(2, 2, 1)); kind < DATA_KINDS;
             kind += (int)tier_pick(2, 2, 1))
            follow(&rig, &shape, (enum data_kind)kind, STEPS);
    }
    rig_close(&rig);
}

/* Schemes that treat tensors of more than 2^21 values differently; sparse with its default density
 * also samples from there on. */
static bool changes_when_large(const struct rig *rig)
{
    static const char *const ids[] = {"sparse", "threshold", "dgc", "pairs"};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        if (strcmp(rig->spec->scheme->id, ids[i]) == 0)
            return true;
    return false;
}

static void large(void **state)
{
    struct rig rig;
    assert_true(rig_open(&rig, *state));
    size_t largest = tier_pick(100001, 131101, 262147);
    if (tier() != TIER_QUICK && strcmp(rig.spec->scheme->id, "lz4") == 0)
        largest = 1048653; /* it begins a new block after 2^20 values */
    if (tier() != TIER_QUICK && changes_when_large(&rig))
        largest = 2400011;
    struct cc_shape shape = cc_shape_flat(100001);
    follow(&rig, &shape, DATA_LAPLACE, 3);
    follow(&rig, &shape, DATA_TIES, 2);
    shape = cc_shape_flat(largest);
    rig.front = true; /* begins on a cache line */
    follow(&rig, &shape, DATA_LAPLACE, 2);
    if (strcmp(rig.spec->scheme->id, "powersgd") == 0) {
        assert_int_equal(cc_shape_parse("310x401", &shape, NULL), CC_OK);
        follow(&rig, &shape, DATA_GAUSSIAN, 3);
    }
    rig_close(&rig);
}

/* --- damaged payloads --- */

/* Damages a payload of len bytes in a buffer of cap, and returns its new length. */
static size_t damage(uint8_t *p, size_t len, size_t cap, uint64_t *seed)
{
    static const uint32_t words[] = {0x7fc00000, 0x7f800000, 0xff800000, 0xbf800000, 0x80000000,
                                     0,          0x7f7fffff, 1,          0x80000001, 0xffffffff};
    const size_t at = len == 0 ? 0 : (size_t)(data_random(seed) % len);
    switch (data_random(seed) % 8) {
    case 0:
        return at;
    case 1:
        for (size_t extra = 1 + data_random(seed) % 9; extra > 0 && len < cap; extra--)
            p[len++] = (uint8_t)(data_random(seed) >> 7);
        return len;
    case 2:
        if (at + 4 <= len)
            memcpy(p + at / 4 * 4, &words[data_random(seed) % 10], 4);
        return len;
    case 3:
        len = (size_t)(data_random(seed) % (cap + 1));
        for (size_t i = 0; i < len; i++)
            p[i] = (uint8_t)(data_random(seed) >> 9);
        return len;
    case 4:
        if (len >= 4)
            memcpy(p, &words[data_random(seed) % 10], 4);
        return len;
    case 5:
        if (at + 1 < len)
            p[at] = p[at + 1];
        return len;
    default:
        if (len > 0)
            p[at] ^= (uint8_t)(1u << data_random(seed) % 8);
        return len;
    }
}

/* Codec and reference decode the payload to the same values, or both refuse it. */
static void agree(struct rig *rig, const struct ref *ref, const struct cc_context *ctx,
                  const uint8_t *payload, size_t len, uint64_t draw)
{
    const size_t n = rig->codec.shape.n;
    const float *y;
    float *expected = malloc((n + 1) * sizeof *expected);
    const bool accept = ref_decode(ref, ctx, payload, len, expected);
    const int status = rig_decode(rig, ctx, payload, len, &y);
    /* The zfp library may decode any part of a damaged stream. */
    const bool open = strcmp(rig->spec->scheme->id, "zfp") == 0;
    const char *at = where(rig, DATA_KINDS - 1, draw);
    if ((status == CC_OK) != accept && !open)
        fail_msg("%s, %zu bytes: %s", at, len, accept ? rig->e.text : "should have been refused");
    unsigned long long offset;
    if (status != CC_OK &&
        (sscanf(rig->e.text, "payload, byte %llu:", &offset) != 1 || offset > len))
        fail_msg("%s, %zu bytes: the message '%s' does not name the offset", at, len, rig->e.text);
    for (size_t i = 0; i < n && status == CC_OK && !open; i++)
        if (!rig_same(y[i], expected[i]))
            fail_msg("%s: value %zu decodes to %a, not %a", at, i, (double)y[i],
                     (double)expected[i]);
    if (rig_decode_add(rig, ctx, payload, len, 0.5f, &y) != status)
        fail_msg("%s: decode and decode_add do not agree", at);
    free(expected);
}

static void damage_some(struct rig *rig, const struct cc_shape *shape, uint64_t draws,
                        uint64_t *seed)
{
    const size_t n = shape->n;
    struct ref *ref = ref_new(rig->spec, shape);
    float *x = malloc(n * sizeof *x);
    for (uint64_t draw = 0; draw < draws; draw++) {
        const struct cc_context ctx = rig_context(draw % 6);
        const uint8_t *payload;
        size_t len;
        rig_shape(rig, shape);
        const size_t cap = cc_bound(&rig->codec) + 16;
        uint8_t *damaged = malloc(cap);
        data_fill(draw % 2 == 0 ? DATA_LAPLACE : DATA_TIES, draw, x, n);
        assert_int_equal(rig_encode(rig, &ctx, x, &payload, &len), CC_OK);
        memcpy(damaged, payload, len);
        len = damage(damaged, len, cap, seed);
        agree(rig, ref, &ctx, damaged, len, draw);
        free(damaged);
    }
    ref_free(ref);
    free(x);
}

static void hostile(void **state)
{
    static const size_t sizes[] = {1, 2, 5, 7, 8, 9, 30, 64, 67, 200, 600, 1300, 5003};
    struct rig rig;
    uint64_t seed = 7;
    assert_true(rig_open(&rig, *state));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct cc_shape shape = cc_shape_flat(sizes[i]);
        if (sizes[i] == 600) /* so that powersgd has factors */
            assert_int_equal(cc_shape_parse("20x30", &shape, NULL), CC_OK);
        damage_some(&rig, &shape, tier_pick(10, 30, 300), &seed);
    }
    const struct cc_shape shape = cc_shape_flat(2097163);
    rig.front = true;
    if (tier() != TIER_QUICK && changes_when_large(&rig))
        damage_some(&rig, &shape, 6, &seed);
    rig_close(&rig);
}

static void every_scheme(void **state)
{
    (void)state;
    for (size_t i = 0; cc_schemes[i] != NULL; i++) {
        if (!ref_knows(cc_schemes[i]->id))
            fail_msg("scheme %s has no reference: write one in tests/lib", cc_schemes[i]->id);
        if (!setting_covers(cc_schemes[i]->id))
            fail_msg("scheme %s is not in tests/lib/settings.c", cc_schemes[i]->id);
    }
}

/* The parameters and defaults in the headings of docs/payloads.md. */
static void defaults(void **state)
{
    static const char *const headings[] = {
        "fp32",
        "fp16",
        "bf16:rounding=nearest",
        "trunc16",
        "fp8:format=e4m3,block=0,rounding=nearest,hadamard=0,flip=0,ef=0",
        "mxfp4:rounding=random,hadamard=0,flip=0,ef=0",
        "fp4:format=e2m1,block=32,rounding=random,hadamard=0,flip=0,ef=0",
        "int4:block=32,rounding=random,hadamard=0,flip=0,ef=0",
        "int8:block=0,hadamard=0,flip=0,ef=0",
        "ternary:ef=0,clip=0,zre=0,block=0",
        "mqe1bit:ef=1,block=0",
        "sparse:density=0.05,ef=1,select=sampled,index=bitmap",
        "topk:k=16,bucket=512,ef=1",
        "chunktopk:k=64,index=u12,decay=1,ef=1",
        "randk:density=0.01,ef=1,draw=any",
        "threshold:tau=0.01,ef=1",
        "dgc:density=0.001,momentum=0.9,warmup=0",
        "natural",
        "signsgd:block=0",
        "efsign:block=0",
        "3lc:s=1.0,zre=1,ef=1,block=0",
        "qsgd:bits=4,levels=0,bucket=512,norm=max,code=fixed",
        "powersgd:rank=4,ef=1",
        "demo:k=32,side=64,decay=0.999,signs=0,index=u12",
        "local:every=2,inner=fp32",
        "exponent:coder=cascade,type=auto",
        "zstd:level=3,type=auto",
        "lz4:level=1,type=auto",
        "zfp:tolerance=0.01",
    };
    (void)state;
    for (size_t i = 0; i < sizeof headings / sizeof headings[0]; i++) {
        struct cc_spec *s = setting_open(headings[i]);
        size_t equals = 0, rows = 0;
        if (s == NULL)
            continue;
        for (const char *p = headings[i]; *p != '\0'; p++)
            equals += *p == '=';
        while (s->scheme->params[rows].name != NULL)
            rows++;
        if (strcmp(s->name, s->scheme->id) != 0 || rows != equals)
            fail_msg("the page says %s; by the table that is %s, with %zu parameters", headings[i],
                     s->name, rows);
        cc_spec_free(s);
    }
}

static void random_numbers(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 10000; i++) {
        const struct cc_context ctx = {.seed = data_random(&seed),
                                       .rank = (int64_t)(data_random(&seed) % 100) - 1,
                                       .direction = i % 2 == 0 ? CC_PUSH : CC_PULL,
                                       .step = data_random(&seed),
                                       .tensor = data_random(&seed) % 1000};
        const uint64_t stream = data_random(&seed) % 4, index = data_random(&seed) >> i % 64;
        const struct cc_key key = cc_context_key(&ctx, index, stream);
        assert_int_equal(cc_random(key, (uint32_t)index),
                         ref_random(&ctx, ctx.rank, stream, index));
    }
}

int main(int argc, char **argv)
{
    const struct rig_test tests[] = {
        {"every_scheme", every_scheme, NULL},
        {"defaults", defaults, NULL},
        {"random_numbers", random_numbers, NULL},
        {"small", small, ""},
        {"matrices", matrices, ""},
        {"large", large, ""},
        {"hostile", hostile, ""},
    };
    return rig_run("reference", tests, sizeof tests / sizeof tests[0], argc, argv);
}
