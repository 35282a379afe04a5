/* Any bytes either decode or are refused, the same on every instruction set, by decode, decode_add
 * and to_pairs, and by the reference of tests/lib.
 *
 * Input: u8 index in tests/lib/settings.c (modulo their number), u16 n (its lower 13 bits), u8 rows
 * (above 1: a matrix with this number of rows), u8 step, then the payload. FUZZ_SCHEME=3lc in the
 * environment restricts it to the settings of one scheme. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/isa.h"
#include "core/memory.h"
#include "tests/lib/reference.h"
#include "tests/lib/rig.h"
#include "tests/lib/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADER = 5, MOST_SETTINGS = 256 };

static struct cc_spec *usable[MOST_SETTINGS]; /* by the index of the setting; NULL: not used */
static size_t known;                          /* number of settings */

static void open_settings(void)
{
    const char *only = getenv("FUZZ_SCHEME");
    size_t count = 0;
    for (size_t i = 0; settings[i] != NULL; known = ++i) {
        if (i == MOST_SETTINGS) {
            fprintf(stderr, "one byte does not name all settings of tests/lib/settings.c\n");
            exit(1);
        }
        usable[i] = setting_open(settings[i]);
        if (usable[i] != NULL && only != NULL && strcmp(usable[i]->scheme->id, only) != 0) {
            cc_spec_free(usable[i]);
            usable[i] = NULL;
        }
        count += usable[i] != NULL;
    }
    if (count == 0) {
        fprintf(stderr, "FUZZ_SCHEME=%s: no such scheme in tests/lib/settings.c\n", only);
        exit(1);
    }
}

static void fail(const struct cc_codec *c, const char *what)
{
    fprintf(stderr, "%s, n %zu, %s: %s\n", c->scheme->id, c->shape.n, cc_isa_name(cc_isa()), what);
    abort();
}

struct outcome {
    int status;
    float *y, *sum;
};

/* Decodes into buffers of exactly the right size, so that the sanitizer detects any access
 * beyond. */
static struct outcome decode(const struct cc_codec *c, const struct cc_context *ctx,
                             const uint8_t *payload, size_t len, enum cc_isa isa)
{
    const size_t n = c->shape.n;
    struct outcome o = {.y = malloc(n * sizeof(float)), .sum = malloc(n * sizeof(float))};
    struct cc_error e = {""};
    cc_isa_force(isa);
    for (size_t i = 0; i < n; i++)
        o.sum[i] = rig_before_add(i);
    o.status = cc_decode(c, ctx, payload, len, o.y, &e);
    if (o.status != CC_OK && (o.status != CC_FAIL || strncmp(e.text, "payload, byte ", 14) != 0))
        fail(c, e.text);
    if (cc_decode_add(c, ctx, payload, len, 0.5f, o.sum, &e) != o.status)
        fail(c, "decode and decode_add do not agree");
    return o;
}

/* Reads pairs into room for exactly cap: they equal the decoded values, and to_pairs accepts every
 * payload that decode accepts unless it has more pairs than cap. */
static void read_pairs(const struct cc_codec *c, const struct cc_context *ctx,
                       const uint8_t *payload, size_t len, const struct outcome *o, size_t cap)
{
    const uint32_t base = 7;
    const size_t n = c->shape.n;
    struct cc_index_value *pairs = malloc(cap * sizeof *pairs);
    float *y = calloc(n + 1, sizeof *y);
    struct cc_error e = {""};
    size_t count = 0;
    const int status = cc_to_pairs(c, ctx, payload, len, base, pairs, cap, &count, &e);
    if (status != CC_OK && strncmp(e.text, "payload, byte ", 14) != 0)
        fail(c, e.text);
    if ((status == CC_OK && o->status != CC_OK) || (status != o->status && cap == n))
        fail(c, "decode and to_pairs do not agree");
    for (size_t i = 0; i < count && status == CC_OK; i++) {
        if (pairs[i].index < base || pairs[i].index - base >= n ||
            (i > 0 && pairs[i].index <= pairs[i - 1].index))
            fail(c, "indices out of range or order");
        y[pairs[i].index - base] = pairs[i].value;
    }
    for (size_t i = 0; i < n && status == CC_OK; i++)
        if (!rig_same(y[i], o->y[i]))
            fail(c, "the pairs are not what is decoded");
    free(y);
    free(pairs);
}

static void check(const struct cc_spec *s, const struct cc_context *ctx,
                  const struct cc_shape *shape, const uint8_t *payload, size_t len)
{
    const size_t n = shape->n;
    struct cc_codec c = {.scheme = s->scheme, .params = s->params, .shape = *shape};
    c.scratch = cc_alloc(cc_scratch_bytes(&c), NULL);
    struct ref *ref = ref_new(s, shape);
    float *expected = malloc(n * sizeof *expected);
    const enum cc_isa best = cc_isa();
    const bool accept = ref_decode(ref, ctx, payload, len, expected);
    for (int isa = 0; isa < CC_ISAS; isa++) {
        if (!cc_isa_has((enum cc_isa)isa))
            continue;
        struct outcome o = decode(&c, ctx, payload, len, (enum cc_isa)isa);
        /* The zfp library may decode any part of a damaged stream. */
        const bool open = strcmp(s->scheme->id, "zfp") == 0;
        if ((o.status == CC_OK) != accept && !open)
            fail(&c, accept ? "refused, against the page" : "decoded, against the page");
        for (size_t i = 0; i < n && o.status == CC_OK; i++) {
            const float product = 0.5f * o.y[i], sum = rig_before_add(i) + product;
            if (!open && !rig_same(o.y[i], expected[i]))
                fail(&c, "a value is not what the page says");
            if (!rig_same(o.sum[i], sum))
                fail(&c, "decode_add is not decode, multiplied and added");
        }
        if (cc_pair_cost(s->scheme, s->params).pair_bits > 0) {
            read_pairs(&c, ctx, payload, len, &o, n);
            read_pairs(&c, ctx, payload, len, &o, cc_pairs_bound(&c));
        }
        free(o.y);
        free(o.sum);
    }
    cc_isa_force(best);
    free(expected);
    ref_free(ref);
    free(c.scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool ready;
    if (!ready)
        open_settings();
    ready = true;
    if (size < HEADER)
        return 0;
    size_t at = data[0] % known, rows = data[3];
    while (usable[at] == NULL)
        at = (at + 1) % known;
    struct cc_shape shape = cc_shape_flat((data[1] | (size_t)data[2] << 8) & 0x1fff);
    if (rows > 1)
        shape =
            (struct cc_shape){.n = shape.n / rows * rows, .dim = {rows, shape.n / rows}, .ndim = 2};
    const struct cc_context ctx = {
        .seed = 42, .rank = 3, .step = data[4], .tensor = 5, .name = "fuzz"};
    uint8_t *payload = malloc(size - HEADER);
    if (size > HEADER)
        memcpy(payload, data + HEADER, size - HEADER);
    check(usable[at], &ctx, &shape, payload, size - HEADER);
    free(payload);
    return 0;
}
