/* Values set among zeros within the cache: against one loop over the items, for every instruction
 * set, at any address, with any number of items; and what is refused, wherever it stands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "core/bytes.h"
#include "core/isa.h"
#include "core/memory.h"
#include "schemes/kernels/scatter.h"
#include "tests/lib/data.h"

#define MOST   260000
#define MARGIN 32
#define TAU    0x3f400000u

/* Ascending indices in [begin, end): each with the chance 1 / every, or all at the end. */
struct sample {
    size_t begin, end, every;
    bool late;
};

static const struct sample samples[] = {
    {0, 20000, 20, false},   {0, 20000, 100, false}, {0, 20000, 5000, false},
    {7, 19999, 1, false},    {0, 3000, 3, false},    {100, 5000, 40, false},
    {0, 20000, 50, true},    {5, 6, 1, false},       {3, 40, 2, false},
    {0, 8192, 20000, false}, {0, 4096, 16, true},    {5, 260000, 900, false},
};

static uint32_t index_[MOST];
static uint8_t items[8 * MOST + 64];
static float room[MOST + 2 * MARGIN + 16], expected[MOST + 2 * MARGIN];

static size_t draw(const struct sample *s, uint64_t *seed)
{
    const size_t from = s->late ? s->end - (s->end - s->begin) / s->every : s->begin;
    size_t count = 0;
    for (size_t i = from; i < s->end; i++)
        if (s->late || data_random(seed) % s->every == 0)
            index_[count++] = (uint32_t)i;
    return count;
}

static float value_at(size_t i)
{
    return (float)i + 0.5f;
}

/* kind 0: pairs, 1: codes, 2: listed. */
static bool set(unsigned kind, size_t count, size_t begin, size_t end, float *y)
{
    if (kind == 0)
        return k_scatter()->pairs(items, count, begin, end, y);
    if (kind == 1)
        return k_scatter()->codes(items, count, TAU, begin, end, y);
    k_scatter()->listed(index_, items, count, begin, end, y);
    return true;
}

static void put_items(unsigned kind, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (kind == 0) {
            cc_put_u32(items + 8 * i, index_[i]);
            cc_put_f32(items + 8 * i + 4, value_at(i));
        } else if (kind == 1) {
            cc_put_u32(items + 4 * i, 2 * index_[i] + i % 3 % 2);
        } else {
            cc_put_f32(items + 4 * i, value_at(i));
        }
    }
}

/* What is outside [begin, end) stays. */
static void expect(unsigned kind, size_t count, size_t begin, size_t end)
{
    for (size_t i = 0; i < end + 2 * MARGIN; i++)
        expected[i] = i >= begin + MARGIN && i < end + MARGIN ? 0 : -7;
    for (size_t i = 0; i < count; i++)
        expected[MARGIN + index_[i]] = kind != 1 ? value_at(i) : i % 3 % 2 ? -0.75f : 0.75f;
}

static void check_items(unsigned kind, const struct sample *s, uint64_t *seed)
{
    const size_t count = draw(s, seed);
    put_items(kind, count);
    expect(kind, count, s->begin, s->end);
    for (size_t shift = 0; shift < 16; shift += 5) {
        for (size_t i = 0; i < s->end + 2 * MARGIN; i++)
            room[shift + i] = -7;
        assert_true(set(kind, count, s->begin, s->end, room + shift + MARGIN));
        assert_memory_equal(room + shift, expected, (s->end + 2 * MARGIN) * sizeof *expected);
    }
}

/* One index equal to the one before, or beyond the end, or before the beginning. */
static void check_bad(unsigned kind, const struct sample *s, uint64_t *seed)
{
    const size_t count = draw(s, seed);
    for (size_t i = 0; i < count; i += 1 + (size_t)(data_random(seed) % 13)) {
        const uint32_t kept = index_[i];
        const uint32_t bad[] = {i > 0 ? index_[i - 1] : (uint32_t)s->begin - 1, (uint32_t)s->end,
                                UINT32_MAX >> (kind == 1)};
        for (size_t b = 0; b < 3; b++) {
            if (i == 0 && b == 0 && s->begin == 0)
                continue;
            index_[i] = bad[b];
            put_items(kind, count);
            for (size_t k = 0; k < s->end + 2 * MARGIN; k++)
                room[k] = -7;
            assert_false(set(kind, count, s->begin, s->end, room + MARGIN));
            for (size_t k = 0; k < s->end + 2 * MARGIN; k++)
                if (k < s->begin + MARGIN || k >= s->end + MARGIN)
                    assert_true(room[k] == -7);
        }
        index_[i] = kept;
    }
}

static void items_as_one_by_one(void **state)
{
    (void)state;
    for (enum cc_isa isa = 0; isa < CC_ISAS; isa++) {
        if (!cc_isa_has(isa))
            continue;
        cc_isa_force(isa);
        uint64_t seed = 5;
        for (size_t k = 0; k < sizeof samples / sizeof samples[0]; k++)
            for (unsigned kind = 0; kind < 3; kind++)
                check_items(kind, &samples[k], &seed);
        for (unsigned kind = 0; kind < 2; kind++) {
            check_bad(kind, &samples[4], &seed);
            check_bad(kind, &samples[5], &seed);
        }
    }
}

/* Buckets of n values, k of which are set; then one index of one bucket is bad. */
static void check_buckets(size_t n, size_t k, uint64_t *seed)
{
    enum { BUCKETS = 9 };
    uint16_t at[BUCKETS * 1024];
    for (size_t i = 0; i < (BUCKETS + 1) * n + 2 * MARGIN; i++)
        room[i] = expected[i] = i >= MARGIN && i < MARGIN + BUCKETS * n ? 0 : -7;
    for (size_t b = 0; b < BUCKETS; b++)
        for (size_t j = 0, i = 0; i < n; i++) {
            if (j == k || data_random(seed) % (n - i) >= k - j)
                continue;
            uint8_t *bucket = items + 6 * k * b;
            at[b * k + j] = (uint16_t)i;
            cc_put_u16(bucket + 2 * j, (uint16_t)i);
            cc_put_f32(bucket + 2 * k + 4 * j, value_at(i));
            expected[MARGIN + b * n + i] = value_at(i);
            j++;
        }
    for (size_t i = 0; i < BUCKETS * n; i++)
        room[MARGIN + i] = 3;
    assert_int_equal(k_scatter()->buckets(items, BUCKETS, n, k, room + MARGIN), BUCKETS);
    assert_memory_equal(room, expected, ((BUCKETS + 1) * n + 2 * MARGIN) * sizeof *expected);
    for (size_t b = 0; b < BUCKETS; b += 2) {
        const size_t j = (size_t)(data_random(seed) % k);
        uint8_t *index = items + 6 * k * b + 2 * j;
        const uint16_t bad[] = {(uint16_t)n, UINT16_MAX, j > 0 ? at[b * k + j - 1] : 40000};
        for (size_t i = 0; i < 3; i++) {
            cc_put_u16(index, bad[i]);
            assert_int_equal(k_scatter()->buckets(items, BUCKETS, n, k, room + MARGIN), b);
        }
        cc_put_u16(index, at[b * k + j]);
    }
    for (size_t i = 0; i < MARGIN; i++)
        assert_true(room[i] == -7 && room[MARGIN + BUCKETS * n + i] == -7);
}

static void buckets_as_one_by_one(void **state)
{
    static const size_t sizes[][2] = {{512, 26}, {512, 5},   {1024, 33}, {1024, 1024}, {1, 1},
                                      {17, 9},   {100, 100}, {640, 64},  {333, 32},    {48, 31}};
    (void)state;
    for (enum cc_isa isa = 0; isa < CC_ISAS; isa++) {
        if (!cc_isa_has(isa))
            continue;
        cc_isa_force(isa);
        uint64_t seed = 9;
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
            check_buckets(sizes[k][0], sizes[k][1], &seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_as_one_by_one),
        cmocka_unit_test(buckets_as_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
