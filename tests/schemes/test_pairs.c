/* Payloads read as index-value pairs (to_pairs), compared with the decoded values, for every
 * setting. Settings whose payloads are not pairs must refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/isa.h"
#include "schemes/pairs.h"
#include "tests/lib/data.h"
#include "tests/lib/rig.h"
#include "tests/lib/settings.h"
#include "tests/lib/text.h"

static bool has_pairs(const struct rig *r)
{
    return cc_pair_cost(r->spec->scheme, r->spec->params).pair_bits > 0;
}

/* Reads a payload into memory for exactly cap pairs before a guard page. */
static int read_pairs(struct rig *r, const struct cc_context *ctx, const uint8_t *payload,
                      size_t len, uint32_t base, struct guard *room, size_t cap,
                      const struct cc_index_value **pairs, size_t *count)
{
    struct cc_codec receiver = r->codec;
    struct guard in = {0};
    struct cc_index_value *out =
        guard_back(room, cap * sizeof *out, _Alignof(struct cc_index_value));
    uint8_t *copy = guard_back(&in, len, 1);
    if (len > 0)
        memcpy(copy, payload, len);
    receiver.state = NULL;
    *pairs = out;
    *count = SIZE_MAX;
    r->e.text[0] = '\0';
    int status = cc_to_pairs(&receiver, ctx, copy, len, base, out, cap, count, &r->e);
    guard_close(&in);
    return status;
}

static void same_as_decoded(const struct rig *r, const struct cc_index_value *pairs, size_t count,
                            uint32_t base, const float *y)
{
    const size_t n = r->codec.shape.n;
    float *scattered = calloc(n + 1, sizeof *scattered);
    assert_non_null(scattered);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && pairs[i].index <= pairs[i - 1].index)
            fail_msg("%s, n %zu: index %u after %u", r->spec->name, n, pairs[i].index,
                     pairs[i - 1].index);
        if (pairs[i].index < base || pairs[i].index - base >= n)
            fail_msg("%s, n %zu: index %u, base %u", r->spec->name, n, pairs[i].index, base);
        scattered[pairs[i].index - base] = pairs[i].value;
    }
    for (size_t i = 0; i < n; i++)
        if (!rig_same(scattered[i], y[i]))
            fail_msg("%s, n %zu: value %zu is %a in the pairs and decodes to %a", r->spec->name, n,
                     i, (double)scattered[i], (double)y[i]);
    free(scattered);
}

/* The pairs of an encoder's payload equal the decoded values, stay within the bound, have the size
 * that the cost gives, and never exceed the room for them. */
static void check_payload(struct rig *r, const struct cc_context *ctx, const uint8_t *payload,
                          size_t len, struct guard *room)
{
    const struct cc_pair_cost cost = cc_pair_cost(r->spec->scheme, r->spec->params);
    const size_t n = r->codec.shape.n, bound = cc_pairs_bound(&r->codec);
    const uint32_t base = ctx->step % 2 == 0 ? 0 : UINT32_MAX - (uint32_t)n + 1;
    const struct cc_index_value *pairs;
    const float *y;
    size_t count, again;
    assert_in_range(bound, 1, n);
    assert_int_equal(rig_decode(r, ctx, payload, len, &y), CC_OK);
    if (read_pairs(r, ctx, payload, len, base, room, bound, &pairs, &count) != CC_OK)
        fail_msg("%s, n %zu: %s", r->spec->name, n, r->e.text);
    assert_in_range(count, 0, bound);
    same_as_decoded(r, pairs, count, base, y);
    const size_t bits = cost.value_bits * n + cost.pair_bits * count;
    const bool at_least =
        strcmp(r->spec->scheme->id, "chunktopk") == 0; /* each chunk has a header */
    if (len > 0 && (8 * len < bits || (8 * len > bits + 8 * sizeof(float) + 7 && !at_least)))
        fail_msg("%s, n %zu: %zu bytes, but %zu pairs cost %zu bits", r->spec->name, n, len, count,
                 bits);
    assert_int_equal(read_pairs(r, ctx, payload, len, base, room, count, &pairs, &again), CC_OK);
    assert_int_equal(again, count);
    same_as_decoded(r, pairs, count, base, y);
    if (count > 0) {
        assert_int_equal(read_pairs(r, ctx, payload, len, base, room, count - 1, &pairs, &again),
                         CC_FAIL);
        assert_contains(r->e.text, "there is room for");
    }
}

static void check_shape(struct rig *r, const struct cc_shape *shape, enum data_kind kind,
                        uint64_t steps)
{
    struct guard room = {0};
    float *x = malloc((shape->n + 1) * sizeof *x);
    assert_non_null(x);
    rig_shape(r, shape);
    for (uint64_t step = 0; step < steps; step++) {
        const struct cc_context ctx = rig_context(step);
        const uint8_t *payload;
        size_t len;
        data_fill(kind, step, x, shape->n);
        if (rig_encode(r, &ctx, x, &payload, &len) != CC_OK)
            break; /* large residuals overflow */
        uint8_t *copy = malloc(len + 1);
        assert_non_null(copy);
        if (len > 0)
            memcpy(copy, payload, len);
        check_payload(r, &ctx, copy, len, &room);
        free(copy);
    }
    free(x);
    guard_close(&room);
}

static void what_is_decoded(void **state)
{
    struct rig rig;
    uint64_t seed = 11;
    assert_true(rig_open(&rig, *state));
    const enum cc_isa best = cc_isa();
    for (int isa = 0; isa < CC_ISAS && has_pairs(&rig); isa++) {
        if (!cc_isa_has((enum cc_isa)isa))
            continue;
        cc_isa_force((enum cc_isa)isa);
        for (size_t n = 1; n <= 130; n++) {
            const struct cc_shape shape = cc_shape_flat(n);
            check_shape(&rig, &shape, n % 2 == 0 ? DATA_LAPLACE : DATA_TIES, 2);
        }
        for (int kind = 0; kind < DATA_KINDS; kind++) {
            const struct cc_shape shape = cc_shape_flat(1 + (size_t)(data_random(&seed) % 9000));
            check_shape(&rig, &shape, (enum data_kind)kind, 4);
        }
    }
    cc_isa_force(best);
    const struct cc_shape large = cc_shape_flat(400001);
    if (has_pairs(&rig))
        check_shape(&rig, &large, DATA_GAUSSIAN, 2);
    rig_close(&rig);
}

/* Any bytes are refused exactly where decode refuses them, if there is room for n pairs; no pair is
 * written beyond the room. */
static void spoilt(void **state)
{
    struct rig rig;
    uint64_t seed = 7;
    float x[700];
    const struct cc_shape shape = cc_shape_flat(700);
    const struct cc_context ctx =
        rig_context(5); /* every wrapper of the settings sends in this step */
    assert_true(rig_open(&rig, *state));
    rig_shape(&rig, &shape);
    for (int i = 0; i < 600 && has_pairs(&rig); i++) {
        struct guard room = {0};
        const struct cc_index_value *pairs;
        const uint8_t *payload;
        const float *y;
        size_t len, count;
        data_fill(i % 2 == 0 ? DATA_LAPLACE : DATA_TIES, (uint64_t)i, x, shape.n);
        assert_int_equal(rig_encode(&rig, &ctx, x, &payload, &len), CC_OK);
        uint8_t *bad = malloc(len + 16);
        assert_true(bad != NULL && payload != NULL);
        memcpy(bad, payload, len);
        if (i % 3 == 0)
            len = (size_t)(data_random(&seed) % (len + 9));
        for (int flips = i % 4; flips > 0 && len > 0; flips--)
            bad[data_random(&seed) % len] ^= (uint8_t)(1u << data_random(&seed) % 8);
        const int status = rig_decode(&rig, &ctx, bad, len, &y);
        if (read_pairs(&rig, &ctx, bad, len, 3, &room, shape.n, &pairs, &count) != status)
            fail_msg("%s: decode gives %d, to_pairs not: %s", rig.spec->name, status, rig.e.text);
        if (status == CC_OK)
            same_as_decoded(&rig, pairs, count, 3, y);
        if (read_pairs(&rig, &ctx, bad, len, 3, &room, shape.n / 50, &pairs, &count) == CC_OK)
            same_as_decoded(&rig, pairs, count, 3, y);
        free(bad);
        guard_close(&room);
    }
    rig_close(&rig);
}

/* Payloads that cannot be read as pairs are refused before any of their bytes is read. */
static void refused(void **state)
{
    struct rig rig;
    const struct cc_context ctx = rig_context(5);
    const struct cc_shape shape = cc_shape_flat(10), none = cc_shape_flat(0);
    const struct cc_index_value *pairs;
    struct guard room = {0};
    size_t count;
    assert_true(rig_open(&rig, *state));
    rig_shape(&rig, &shape);
    if (has_pairs(&rig)) {
        assert_int_equal(read_pairs(&rig, &ctx, NULL, 0, UINT32_MAX - 8, &room, 10, &pairs, &count),
                         CC_FAIL);
        assert_contains(rig.e.text, "below 2^32");
        rig_shape(&rig, &none);
        assert_int_equal(cc_pairs_bound(&rig.codec), 0);
        assert_int_equal(read_pairs(&rig, &ctx, NULL, 0, 5, &room, 0, &pairs, &count), CC_OK);
        assert_int_equal(count, 0);
        assert_int_equal(
            read_pairs(&rig, &ctx, (const uint8_t *)"", 1, 5, &room, 0, &pairs, &count), CC_FAIL);
    } else {
        assert_int_equal(cc_pairs_bound(&rig.codec), 0);
        assert_int_equal(read_pairs(&rig, &ctx, NULL, 0, 0, &room, 10, &pairs, &count), CC_FAIL);
        assert_contains(rig.e.text, "not index-value pairs");
    }
    guard_close(&room);
    rig_close(&rig);
}

/* --- not for each setting --- */

/* The fields of a descriptor agree with each other. */
static void descriptors(void **state)
{
    (void)state;
    for (size_t i = 0; cc_schemes[i] != NULL; i++) {
        const struct cc_scheme *s = cc_schemes[i];
        struct cc_spec *spec = NULL;
        assert_int_equal(cc_spec_parse(s->id, &spec, NULL), CC_OK);
        const bool pairs = cc_pair_cost(s, spec->params).pair_bits > 0;
        if ((s->pair_cost == NULL) != (s->to_pairs == NULL))
            fail_msg("%s: pair_cost and to_pairs must be set together", s->id);
        if (pairs != ((s->flags & CC_SPARSE) != 0))
            fail_msg("%s: CC_SPARSE is for schemes of pairs", s->id);
        if (pairs != (s->kind == CC_PAIRS) && s->kind != CC_SUM_F32)
            fail_msg("%s: kind and pair_cost disagree", s->id);
        if (s->absolute_param != NULL && cc_param_find(s->params, s->absolute_param) == NULL)
            fail_msg("%s: has no parameter %s", s->id, s->absolute_param);
        cc_spec_free(spec);
    }
}

static int by_index(const void *a, const void *b)
{
    const uint32_t x = ((const struct cc_index_value *)a)->index;
    const uint32_t y = ((const struct cc_index_value *)b)->index;
    return (x > y) - (x < y);
}

/* Different indices in any order, over ranges of every width, dense and clustered. */
static void sorting(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (unsigned bits = 0; bits <= 32; bits++) {
        const size_t end = (size_t)1 << bits, count = end < 3000 ? end : 3000;
        const size_t stride = bits % 3 == 0 || end / count == 0 ? 1 : end / count;
        struct cc_index_value *p = malloc(count * sizeof *p), *want = malloc(count * sizeof *want);
        assert_true(p != NULL && want != NULL);
        for (size_t i = 0; i < count; i++)
            p[i] = (struct cc_index_value){(uint32_t)(end - 1 - stride * i), (float)i};
        for (size_t i = count; i > 1; i--) {
            const size_t j = (size_t)(data_random(&seed) % i);
            const struct cc_index_value moved = p[j];
            p[j] = p[i - 1];
            p[i - 1] = moved;
        }
        memcpy(want, p, count * sizeof *p);
        qsort(want, count, sizeof *want, by_index);
        cc_pairs_sort(p, count, end);
        for (size_t i = 0; i < count; i++)
            assert_true(p[i].index == want[i].index && p[i].value == want[i].value);
        free(p);
        free(want);
    }
}

int main(int argc, char **argv)
{
    const struct rig_test tests[] = {
        {"what_is_decoded", what_is_decoded, ""},
        {"spoilt", spoilt, ""},
        {"refused", refused, ""},
        {"descriptors", descriptors, NULL},
        {"sorting", sorting, NULL},
    };
    return rig_run("pairs", tests, sizeof tests / sizeof tests[0], argc, argv);
}
