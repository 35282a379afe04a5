/* Re-sparsified sums (netsim/exchange/pack/pair_keep.h): what is left out and taken in, in every
 * form of a stream, against plain loops over all values; thresholds worked out by hand; and that a
 * threshold that is far off recovers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "netsim/exchange/pack/pair_keep.h"
#include "tests/lib/data.h"

enum { VALUES = 150001, FROM = 700, ALL = FROM + VALUES };

static void *room(size_t bytes)
{
    void *p = cc_alloc0(bytes, NULL);
    assert_non_null(p);
    return p;
}

static uint32_t bits_of(float magnitude)
{
    return cc_f32_bits(magnitude);
}

/* --- what is left out and taken in --- */

/* A sum of the values [FROM, ALL) of a message, `share` of which are there. */
struct sum {
    float *value; /* -0: absent */
    struct cc_stream list, dense;
    uint8_t *bytes;
    struct cc_stream_view view;
    struct cc_index_value *own; /* pairs of a worker in the whole message */
    size_t owns;
};

static struct sum make_sum(double share)
{
    struct sum s = {.value = room(sizeof(float) * VALUES),
                    .own = room(sizeof *s.own * ALL),
                    .list = {.range = {FROM, ALL}, .pair = room(sizeof *s.own * VALUES)},
                    .dense = {.range = {FROM, ALL}, .dense = true}};
    uint64_t state = 7;
    for (uint32_t i = 0; i < ALL; i++) {
        const float v = (float)(data_unit(&state) * 2 - 1);
        const bool there = data_unit(&state) < share;
        if (i >= FROM)
            s.value[i - FROM] = there ? v : -0.0f;
        if (i >= FROM && there)
            s.list.pair[s.list.count++] = (struct cc_index_value){i, v};
        if (there && data_unit(&state) < 0.5)
            s.own[s.owns++] = (struct cc_index_value){i, 2 * v};
    }
    s.dense.value = room(sizeof(float) * VALUES);
    memcpy(s.dense.value, s.value, sizeof(float) * VALUES);
    return s;
}

static void free_sum(struct sum *s)
{
    free(s->value);
    free(s->list.pair);
    free(s->dense.value);
    free(s->own);
}

/* Takes a sum in and compares what is kept and what was in vain with loops over the values. */
static void check_taken(const struct sum *s, struct cc_stream_part part, float least, void *scratch)
{
    struct cc_keep k = {.wanted = 1,
                        .threshold = bits_of(least),
                        .value = room(sizeof(float) * VALUES),
                        .vain = room(sizeof *k.vain * (s->owns + 1))};
    const struct cc_stream own = {.range = {0, ALL}, .pair = s->own, .count = s->owns};
    size_t kept = 0, vain = 0;
    cc_keep_take(&k, &part, (struct cc_stream_range){FROM, ALL}, &own, scratch);
    for (size_t i = 0; i < VALUES; i++)
        if (fabsf(s->value[i]) >= least)
            assert_true(kept < k.kept && k.value[kept++] == s->value[i]);
    assert_int_equal(k.kept, kept);
    for (size_t i = 0; i < s->owns; i++)
        if (s->own[i].index >= FROM && fabsf(s->value[s->own[i].index - FROM]) < least)
            assert_true(vain < k.vains && k.vain[vain].index == s->own[i].index &&
                        k.vain[vain++].value == s->own[i].value);
    assert_int_equal(k.vains, vain);
    free(k.value);
    free(k.vain);
}

static void every_form(void **state)
{
    static const struct {
        double share;
        float least;
        enum cc_wire wire;
        enum cc_stream_kind kind;
    } cases[] = {{0.001, 0.5f, CC_WIRE_PAIRS, CC_STREAM_PAIRS},
                 {0.02, 0.5f, CC_WIRE_AUTO, CC_STREAM_SHORT},
                 {0.9, 0.3f, CC_WIRE_AUTO, CC_STREAM_BITMAP},
                 {1, 0.3f, CC_WIRE_PAIRS, CC_STREAM_DENSE},
                 {0.5, 0.999999f, CC_WIRE_AUTO, CC_STREAM_PAIRS}};
    void *scratch = room(cc_stream_scratch());
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sum s = make_sum(cases[i].share);
        const struct cc_keep k = {.threshold = bits_of(cases[i].least)};
        const struct cc_stream_range all = {FROM, ALL};
        cc_keep_prune(&k, &s.list);
        cc_keep_prune(&k, &s.dense);
        const struct cc_stream_view list = cc_stream_view_of(&s.list);
        const struct cc_stream_view dense = cc_stream_view_of(&s.dense);
        check_taken(&s, (struct cc_stream_part){.view = &list}, cases[i].least, scratch);
        check_taken(&s, (struct cc_stream_part){.view = &dense}, cases[i].least, scratch);
        for (int form = 0; form < 2; form++) {
            const struct cc_stream *from = form == 0 ? &s.list : &s.dense;
            struct cc_stream_head head = {.tag = 1};
            struct cc_stream_view view;
            uint8_t *out = room(cc_stream_bound(VALUES, VALUES, CC_WIRE_AUTO) + 8 * VALUES);
            const size_t n = cc_stream_encode(from, all, cases[i].wire, false, &head, scratch, out);
            assert_int_equal(cc_stream_open(out, n, all, VALUES, &view, NULL), CC_OK);
            if (i + 1 < sizeof cases / sizeof cases[0])
                assert_int_equal(view.kind, cases[i].kind);
            check_taken(&s, (struct cc_stream_part){.view = &view}, cases[i].least, scratch);
            free(out);
        }
        free_sum(&s);
    }
    free(scratch);
}

/* --- thresholds --- */

/* Ends a step that has kept those values; returns the next threshold as a magnitude. */
static float ends(struct cc_keep *k, const float *value, size_t n)
{
    memcpy(k->value, value, n * sizeof *value);
    k->kept = n;
    cc_keep_end_step(k);
    assert_int_equal(k->kept, 0);
    return cc_bits_f32(k->threshold);
}

static void by_hand(void **state)
{
    static const float ten[] = {1, -9, 3, -4, 5, 6, -7, 8, 2, 10};
    static const float four[] = {-16, 64, 32, 8}, two[] = {4, 2};
    float room_for[16];
    struct cc_keep k = {.wanted = 4, .value = room_for};
    (void)state;
    assert_int_equal(cc_keep_wanted(0.01, 1000), 10);
    assert_int_equal(cc_keep_wanted(0.01, 7), 1);
    /* After a step that kept everything: the fourth largest of 10, 9, 8, 7, ... */
    assert_true(ends(&k, ten, 10) == 7);
    assert_int_equal(k.surplus, 0);
    /* Four were kept: no surplus, and the fourth is the least. */
    assert_true(ends(&k, four, 4) == 8);
    /* Two of four: m(4) = m(2)^2 / m(1) = 2 x 2 / 4. Two are missing, less than 8 steps make up. */
    assert_true(ends(&k, two, 2) == 1);
    assert_int_equal(k.surplus, -2);
    /* All of ten again: 6 more, 4 beyond the wanted ones in all. */
    assert_true(ends(&k, ten, 10) == 7);
    assert_int_equal(k.surplus, 4);
    /* 8 beyond: aims at 3. */
    k.surplus = 8;
    assert_true(ends(&k, four, 4) == 16);
    /* Nothing: half; nothing again: everything next. */
    assert_true(ends(&k, four, 0) == 8);
    assert_true(ends(&k, four, 0) == 0);
    assert_true(ends(&k, two, 2) == 0); /* everything was there already */
}

/* Steps of 20,000 Laplace values, whose scale changes; the number that each keeps. */
static size_t step_of(struct cc_keep *k, uint64_t seed, double scale, float *sum)
{
    enum { N = 20000 };
    data_fill(DATA_LAPLACE, seed, sum, N);
    for (size_t i = 0; i < N; i++) {
        const float v = (float)scale * sum[i];
        if ((cc_f32_bits(v) & 0x7fffffffu) >= k->threshold)
            k->value[k->kept++] = v;
    }
    const size_t kept = k->kept;
    cc_keep_end_step(k);
    return kept;
}

static void recovers(void **state)
{
    enum { N = 20000, WANTED = 400 };
    static const double jump[] = {1e6, 1e-6, 30, 0.03};
    struct cc_keep k = {.wanted = WANTED, .value = room(N * sizeof(float))};
    float *sum = room(N * sizeof *sum);
    double scale = 1, mean = 0;
    uint64_t seed = 1;
    (void)state;
    assert_int_equal(step_of(&k, seed++, scale, sum), N);
    for (size_t j = 0; j < sizeof jump / sizeof jump[0]; j++) {
        scale *= jump[j];
        const size_t off = step_of(&k, seed++, scale, sum);
        assert_true(off > 5 * WANTED || off < WANTED / 5);
        for (int i = 0; i < 2; i++) /* half the threshold, then none, where it is too high */
            (void)step_of(&k, seed++, scale, sum);
        for (int i = 0; i < 10; i++) {
            const size_t kept = step_of(&k, seed++, scale, sum);
            assert_in_range(kept, WANTED / 3, 2 * WANTED);
        }
    }
    /* Scales that vary by a factor of 1.5 from step to step: as many as wanted on average. */
    uint64_t random = 3;
    for (int i = 0; i < 400; i++)
        mean += (double)step_of(&k, seed++, exp(log(1.5) * (data_unit(&random) - 0.5)), sum) / 400;
    assert_true(fabs(mean / WANTED - 1) < 0.1);
    free(k.value);
    free(sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form),
        cmocka_unit_test(by_hand),
        cmocka_unit_test(recovers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
