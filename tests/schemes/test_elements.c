/* Gradients of 16 bits: payload, state and messages are those of the values widened beforehand, of
 * every scheme, with every instruction set and any number of threads. Between guard pages, so that
 * a loop which reads float32 instead, or beyond the end, stops the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/isa.h"
#include "tests/lib/data.h"
#include "tests/lib/rig.h"
#include "tests/lib/tier.h"

static const enum cc_element halves[] = {CC_ELEMENT_BF16, CC_ELEMENT_FP16};

/* Values that the type has. */
static void fill(enum data_kind kind, uint64_t seed, enum cc_element type, float *x, size_t n)
{
    void *narrow = malloc(n * sizeof(uint16_t));
    assert_non_null(narrow);
    data_fill(kind, seed, x, n);
    cc_narrow(type, x, n, narrow);
    cc_widen((struct cc_elements){narrow, type}, n, x);
    free(narrow);
}

struct pair {
    struct rig wide, half;
    float *x;
};

static void step(struct pair *p, enum data_kind kind, uint64_t number)
{
    const struct cc_context ctx = rig_context(number);
    const uint8_t *want, *got;
    size_t want_len, got_len;
    rig_dirty(&p->half, (int)number);
    const int status = rig_encode(&p->wide, &ctx, p->x, &want, &want_len);
    assert_int_equal(rig_encode(&p->half, &ctx, p->x, &got, &got_len), status);
    const char *name = p->wide.spec->name, *type = cc_element_names[p->half.input];
    const size_t n = p->wide.codec.shape.n, state = cc_state_bytes(&p->wide.codec);
    const char *where = cc_isa_name(cc_isa());
    if (status != CC_OK) {
        assert_string_equal(p->wide.e.text, p->half.e.text);
        return;
    }
    if (got_len != want_len || memcmp(got, want, want_len) != 0)
        fail_msg("%s of %s, n %zu, %s, %s: another payload", name, type, n, data_name(kind), where);
    if (state > 0 && memcmp(p->wide.codec.state, p->half.codec.state, state) != 0)
        fail_msg("%s of %s, n %zu, %s, %s: another state", name, type, n, data_name(kind), where);
}

static void compare(struct pair *p, enum cc_element type, struct cc_shape shape,
                    enum data_kind kind, int threads)
{
    p->half.input = type;
    rig_shape(&p->wide, &shape);
    rig_shape(&p->half, &shape);
    p->wide.codec.threads = p->half.codec.threads = threads;
    for (uint64_t number = 0; number < 3; number++) {
        fill(kind, number, type, p->x, shape.n);
        step(p, kind, number);
    }
}

#define MOST 300011

static struct pair pair_open(const char *setting)
{
    struct pair p = {.x = malloc(MOST * sizeof *p.x)};
    assert_non_null(p.x);
    assert_true(rig_open(&p.wide, setting) && rig_open(&p.half, setting));
    return p;
}

static void pair_close(struct pair *p)
{
    rig_close(&p->wide);
    rig_close(&p->half);
    free(p->x);
}

static void each_isa(void (*check)(struct pair *p), struct pair *p)
{
    const enum cc_isa best = cc_isa();
    for (int isa = 0; isa < CC_ISAS; isa++) {
        if (!cc_isa_has((enum cc_isa)isa))
            continue;
        cc_isa_force((enum cc_isa)isa);
        check(p);
    }
    cc_isa_force(best);
}

static void check_lengths(struct pair *p)
{
    static const size_t lengths[] = {1, 2, 5, 16, 31, 64, 65, 130, 511, 1000, 4097, 8200, 20011};
    static const enum data_kind kinds[] = {DATA_LAPLACE, DATA_MIXED, DATA_TIES, DATA_DENORMAL};
    const size_t count = sizeof lengths / sizeof *lengths;
    for (size_t i = 0; i < count; i += tier_pick(1, 2, 1))
        for (size_t k = 0; k < tier_pick(2, 1, sizeof kinds / sizeof *kinds); k++)
            for (size_t t = 0; t < sizeof halves / sizeof *halves; t++) {
                struct cc_shape shape = cc_shape_flat(lengths[i]);
                if (lengths[i] == 1000)
                    shape = (struct cc_shape){.n = 1000, .dim = {25, 40}, .ndim = 2};
                p->half.front = i % 2 != 0;
                compare(p, halves[t], shape, kinds[k], 1);
            }
}

static void every_length(void **state)
{
    struct pair p = pair_open(*state);
    each_isa(check_lengths, &p);
    pair_close(&p);
}

static void shared(void **state)
{
    struct pair p = pair_open(*state);
    for (size_t t = 0; t < sizeof halves / sizeof *halves; t++)
        compare(&p, halves[t], cc_shape_flat(MOST), DATA_LAPLACE, 3);
    pair_close(&p);
}

/* A value that is not finite is refused in the same words. */
static void not_finite(void **state)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    static const size_t at[] = {0, 70, 4999};
    struct pair p = pair_open(*state);
    struct cc_shape shape = cc_shape_flat(5000);
    for (size_t t = 0; t < sizeof halves / sizeof *halves; t++)
        for (size_t i = 0; i < 3; i++) {
            const struct cc_context ctx = rig_context(1);
            const uint8_t *payload;
            size_t len;
            p.half.input = halves[t];
            rig_shape(&p.wide, &shape);
            rig_shape(&p.half, &shape);
            fill(DATA_LAPLACE, i, halves[t], p.x, shape.n);
            p.x[at[i]] = bad[i];
            assert_int_equal(rig_encode(&p.half, &ctx, p.x, &payload, &len), CC_FAIL);
            assert_int_equal(rig_encode(&p.wide, &ctx, p.x, &payload, &len), CC_FAIL);
            assert_string_equal(p.half.e.text, p.wide.e.text);
        }
    pair_close(&p);
}

/* A codec for one type refuses the other, and takes float32. */
static void other_type(void **state)
{
    struct pair p = pair_open(*state);
    const struct cc_shape shape = cc_shape_flat(64);
    p.half.input = CC_ELEMENT_BF16;
    rig_shape(&p.half, &shape);
    fill(DATA_LAPLACE, 0, CC_ELEMENT_BF16, p.x, 64);
    uint16_t x[64];
    uint8_t *out = malloc(cc_bound(&p.half.codec) + 1);
    size_t len;
    const struct cc_context ctx = rig_context(0);
    cc_narrow(CC_ELEMENT_FP16, p.x, 64, x);
    assert_int_equal(cc_encode_from(&p.half.codec, &ctx, (struct cc_elements){x, CC_ELEMENT_FP16},
                                    out, cc_bound(&p.half.codec), &len, &p.half.e),
                     CC_FAIL);
    assert_non_null(strstr(p.half.e.text, "a gradient of fp16, and the codec is for bf16"));
    assert_int_equal(
        cc_encode(&p.half.codec, &ctx, p.x, out, cc_bound(&p.half.codec), &len, &p.half.e), CC_OK);
    free(out);
    pair_close(&p);
}

int main(int argc, char **argv)
{
    const struct rig_test tests[] = {
        {"every_length", every_length, ""},
        {"shared", shared, ""},
        {"not_finite", not_finite, ""},
        {"other_type", other_type, ""},
    };
    return rig_run("element types", tests, sizeof tests / sizeof tests[0], argc, argv);
}
