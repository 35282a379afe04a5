/* Tensors of several blocks and several threads: runs of zero bytes that cross the borders of both
 * give the bytes of the reference, which knows neither blocks nor threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/isa.h"
#include "core/parallel.h"
#include "tests/lib/data.h"
#include "tests/lib/reference.h"
#include "tests/lib/rig.h"
#include "tests/lib/text.h"
#include "tests/lib/tier.h"

/* Nine parts, and a last byte that is partly padding. */
#define VALUES (9 * CC_PART_VALUES + 3)

/* Values of each of the five planes: a byte is zero where all five planes are. */
#define PLANE (VALUES / 5 + 1)

/* The pattern of bytes: one of `every` bytes is not zero, and none in [from, to). */
struct pattern {
    size_t every, from, to;
};

static const struct pattern patterns[] = {
    {1, 0, 0},                     /* no zero byte */
    {1, PLANE / 9 - 5, PLANE / 2}, /* one run over several parts, and full ones beside it */
    {2, 0, 0},                     /* single zero bytes */
    {15, 0, 0},                    /* runs of 14 */
    {16, 0, 0},                    /* and of 14 and 1 */
    {1000, 0, 0},                  /* long runs over every border */
    {40000, 0, PLANE / 3},         /* longer than a block, and zeros at the beginning */
    {PLANE - 1, 0, 0},             /* the first and the last byte */
    {1, 0, PLANE - 1},             /* the last byte alone */
    {1, 0, PLANE},                 /* only zeros */
};

static void fill(const struct pattern *p, uint64_t seed, float *x)
{
    memset(x, 0, VALUES * sizeof *x);
    for (size_t j = 0; j < PLANE; j += p->every) {
        if (j >= p->from && j < p->to)
            continue;
        size_t plane = data_random(&seed) % 5, i = plane * PLANE + j;
        x[i < VALUES ? i : j] = data_random(&seed) % 2 != 0 ? 1.0f : -1.0f;
    }
}

static void check_threads(struct rig *rig, const float *x, const uint8_t *expected, size_t length,
                          const float *values)
{
    static const int threads[] = {3, 64, 1, 2, 9};
    const struct cc_context ctx = rig_context(3);
    for (size_t t = 0; t < tier_pick(1, 2, sizeof threads / sizeof threads[0]); t++) {
        rig->codec.threads = threads[t];
        if (rig->codec.state != NULL)
            cc_codec_reset(&rig->codec);
        const uint8_t *payload;
        const float *y;
        size_t len;
        assert_int_equal(rig_encode(rig, &ctx, x, &payload, &len), CC_OK);
        assert_int_equal(len, length);
        assert_memory_equal(payload, expected, len);
        assert_int_equal(rig_decode(rig, &ctx, expected, length, &y), CC_OK);
        for (size_t i = 0; i < VALUES; i++)
            assert_true(rig_same(y[i], values[i]));
        assert_int_equal(rig_decode_add(rig, &ctx, expected, length, -2.0f, &y), CC_OK);
        for (size_t i = 0; i < VALUES; i++)
            assert_true(y[i] == rig_before_add(i) - 2.0f * values[i]);
    }
}

static void check_pattern(const char *setting, const struct pattern *p, float *x, float *values)
{
    const struct cc_shape shape = cc_shape_flat(VALUES);
    const struct cc_context ctx = rig_context(3);
    struct rig rig;
    assert_true(rig_open(&rig, setting));
    rig_shape(&rig, &shape);
    fill(p, p->every, x);
    struct ref *ref = ref_new(rig.spec, &shape);
    assert_true(ref_begin(ref, &ctx, x));
    const uint8_t *payload;
    size_t len;
    assert_int_equal(rig_encode(&rig, &ctx, x, &payload, &len), CC_OK);
    const char *why = ref_finish(ref, &ctx, payload, len);
    if (why != NULL)
        fail_msg("%s, every %zu: %s", setting, p->every, why);
    assert_true(ref_decode(ref, &ctx, payload, len, values));
    uint8_t *expected = malloc(len);
    assert_non_null(expected);
    memcpy(expected, payload, len);
    enum cc_isa before = cc_isa();
    for (int isa = 0; isa < CC_ISAS; isa++) {
        cc_isa_force((enum cc_isa)isa);
        check_threads(&rig, x, expected, len, values);
    }
    cc_isa_force(before);
    free(expected);
    ref_free(ref);
    rig_close(&rig);
}

static void borders(void **state)
{
    static const char *const settings[] = {"3lc", "3lc:zre=0", "ternary:zre=1", "ternary:ef=1"};
    (void)state;
    float *x = malloc(VALUES * sizeof *x), *values = malloc(VALUES * sizeof *values);
    assert_true(x != NULL && values != NULL);
    for (size_t s = 0; s < sizeof settings / sizeof settings[0]; s++)
        for (size_t p = 0; p < sizeof patterns / sizeof patterns[0]; p++)
            check_pattern(settings[s], &patterns[p], x, values);
    free(x);
    free(values);
}

/* The message about a damaged payload is the same for any number of threads. */
static void errors(void **state)
{
    (void)state;
    const struct cc_shape shape = cc_shape_flat(VALUES);
    const struct cc_context ctx = rig_context(0);
    uint8_t *payload = malloc(PLANE + 5);
    assert_non_null(payload);
    memset(payload, 121, PLANE + 5);
    memcpy(payload, (const uint8_t[]){0, 0, 128, 63}, 4);
    static const struct {
        const char *setting;
        size_t at;
        uint8_t byte;
        size_t len;
        const char *text;
    } cases[] = {
        {"3lc:zre=0", PLANE / 2, 243, PLANE + 4, "243 is not five trits"},
        {"3lc:zre=0", PLANE - 1, 255, PLANE + 4, "255 is not five trits"},
        {"3lc", 4, 121, PLANE + 3, "ends before the last trit"},
        {"3lc", 4, 121, PLANE / 3, "ends before the last trit"},
        {"3lc", 4, 121, PLANE + 5, "continues after the last trit"},
        {"3lc", PLANE + 3, 250, PLANE + 4, "the run extends beyond"},
        {"3lc", PLANE / 2, 250, PLANE + 4, "continues after the last trit"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        char first[sizeof((struct cc_error *)NULL)->text] = "";
        uint8_t before = payload[cases[c].at];
        payload[cases[c].at] = cases[c].byte;
        struct rig rig;
        assert_true(rig_open(&rig, cases[c].setting));
        rig_shape(&rig, &shape);
        for (int threads = 1; threads <= 9; threads += 2) {
            const float *y;
            rig.codec.threads = threads;
            assert_int_equal(rig_decode(&rig, &ctx, payload, cases[c].len, &y), CC_FAIL);
            assert_contains(rig.e.text, cases[c].text);
            if (threads == 1)
                memcpy(first, rig.e.text, sizeof first);
            assert_string_equal(rig.e.text, first);
        }
        rig_close(&rig);
        payload[cases[c].at] = before;
    }
    free(payload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(borders),
        cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
