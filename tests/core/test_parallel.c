/* Cutting work into parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <string.h>

#include "core/cache.h"
#include "core/copy.h"
#include "core/isa.h"
#include "core/parallel.h"
#include "core/tile.h"

static void parts_are_never_too_small(void **state)
{
    (void)state;
    assert_int_equal(cc_parts(0, 1000, 10), 1);
    assert_int_equal(cc_parts(1, 1000, 10), 1);
    assert_int_equal(cc_parts(8, 0, 10), 1);
    assert_int_equal(cc_parts(8, 19, 10), 1);
    assert_int_equal(cc_parts(8, 20, 10), 2);
    assert_int_equal(cc_parts(8, 1000, 10), 8);
    assert_int_equal(cc_parts(1000, 1000000, 1), CC_PARTS_MAX);
    assert_int_equal(cc_parts(2, 5, 0), 2);
}

/* Borders ascend from 0 to n on multiples, and no part exceeds its share by more than a
 * multiple. */
static void parts_cover_everything_once(void **state)
{
    (void)state;
    static const size_t multiples[] = {1, 5, 64, 4096};
    for (size_t n = 0; n < 20000; n = 3 * n / 2 + 1)
        for (int parts = 1; parts <= 9; parts++)
            for (size_t k = 0; k < 4; k++) {
                size_t m = multiples[k], before = 0;
                assert_int_equal(cc_part_begin(n, parts, 0, m), 0);
                for (int p = 1; p <= parts; p++) {
                    size_t at = cc_part_begin(n, parts, p, m);
                    assert_true(at >= before && at <= n);
                    assert_true(p == parts || at % m == 0);
                    assert_true(at - before <= n / (size_t)parts + 1 + m ||
                                p == parts); /* the last part takes the remainder */
                    before = at;
                }
                assert_int_equal(before, n);
            }
}

/* Every byte of the streams becomes zero, and none beside them. */
static void zeros_reach_everything(void **state)
{
    (void)state;
    enum { BYTES = 3 * 4 * CC_PART_VALUES + 5, STREAMS = 2, ALL = STREAMS * BYTES + 2 };
    static unsigned char memory[ALL];
    for (int threads = 1; threads <= 4; threads++) {
        memset(memory, 1, ALL);
        cc_zero(memory + 1, STREAMS, BYTES, threads);
        assert_true(memory[0] == 1 && memory[ALL - 1] == 1);
        for (size_t i = 1; i < ALL - 1; i++)
            assert_int_equal(memory[i], 0);
    }
}

struct counts {
    unsigned char seen[CC_PARTS_MAX];
};

static void mark(void *arg, int part)
{
    struct counts *t = arg;
    t->seen[part]++;
}

static void every_part_runs_once(void **state)
{
    (void)state;
    for (int parts = 1; parts <= CC_PARTS_MAX; parts++) {
        struct counts t = {{0}};
        cc_parallel(parts, mark, &t);
        for (int p = 0; p < CC_PARTS_MAX; p++)
            assert_int_equal(t.seen[p], p < parts);
    }
}

struct taken {
    atomic_int times[100];
    size_t last; /* the item that ends all */
};

static bool take(void *arg, size_t i)
{
    struct taken *t = arg;
    t->times[i]++;
    return i != t->last;
}

/* Every item once, and none after one that ends them but those that other threads have by then. */
static void every_item_is_taken_once(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 8; threads++)
        for (size_t n = 0; n <= 100; n += 10) {
            struct taken t = {.last = SIZE_MAX};
            cc_parallel_items(threads, n, take, &t);
            for (size_t i = 0; i < 100; i++)
                assert_int_equal(t.times[i], i < n);
        }
    struct taken t = {.last = 40};
    cc_parallel_items(1, 100, take, &t);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(t.times[i], i <= 40);
}

/* Copies of every alignment and length; nothing beside the copy is touched. */
static void copies_past_the_cache(void **state)
{
    (void)state;
    static unsigned char from[512], to[1024];
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i * 7 + 1);
    enum cc_isa before = cc_isa();
    for (int isa = 0; isa < CC_ISAS; isa++) {
        cc_isa_force((enum cc_isa)isa);
        for (size_t at = 0; at < 70; at++)
            for (size_t n = 0; n < 300; n++) {
                memset(to, 0, sizeof to);
                k_copy()->nontemporal(to + 100 + at, from + at % 3, n);
                k_copy()->fence();
                assert_memory_equal(to + 100 + at, from + at % 3, n);
                assert_int_equal(to[99 + at], 0);
                assert_int_equal(to[100 + at + n], 0);
            }
    }
    cc_isa_force(before);
}

/* to[at, at + n) has the bytes of `from`, and the others of its `size` bytes are untouched. */
static void assert_only(const unsigned char *to, size_t size, size_t at, const unsigned char *from,
                        size_t n)
{
    assert_memory_equal(to + at, from, n);
    for (size_t i = 0; i < at; i++)
        assert_int_equal(to[i], 0xee);
    for (size_t i = at + n; i < size; i++)
        assert_int_equal(to[i], 0xee);
}

/* Tiles of every length at every alignment, written through the cache and past it. */
static void tiles_arrive_whole(void **state)
{
    (void)state;
    enum { BYTES = 5000 };
    static unsigned char from[BYTES], to[BYTES + 200];
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i * 13 + i / 256);
    enum cc_isa before = cc_isa();
    for (int run = 0; run < 2 * CC_ISAS; run++) {
        cc_isa_force((enum cc_isa)(run / 2));
        cc_cache_force(run % 2 == 0 ? 1 : SIZE_MAX);
        for (size_t at = 0; at < 70; at++)
            for (size_t tile = 1; tile <= CC_TILE * sizeof(float); tile += 1 + tile / 9) {
                struct cc_sink sink;
                memset(to, 0xee, sizeof to);
                cc_sink_open(&sink, to + 64 + at, BYTES);
                for (size_t i = 0, m; i < BYTES; i += m) {
                    m = BYTES - i < tile ? BYTES - i : tile;
                    memcpy(cc_sink_room(&sink), from + i, m);
                    cc_sink_put(&sink, m);
                }
                cc_sink_close(&sink);
                assert_only(to, sizeof to, 64 + at, from, BYTES);
            }
    }
    cc_isa_force(before);
    cc_cache_force(0);
}

/* As before, without tiles; nothing beside the copy is touched. */
static void bytes_are_copied_out(void **state)
{
    (void)state;
    enum { MOST = 1500 };
    static unsigned char from[MOST], to[MOST + 300];
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i * 11 + i / 256);
    enum cc_isa before = cc_isa();
    for (int run = 0; run < 2 * CC_ISAS; run++) {
        cc_isa_force((enum cc_isa)(run / 2));
        cc_cache_force(run % 2 == 0 ? 1 : SIZE_MAX);
        for (size_t at = 0; at < 260; at += 13)
            for (size_t n = 0; n <= MOST; n += 1 + n / 7) {
                memset(to, 0xee, sizeof to);
                cc_copy_out(to + 20 + at, from, n, MOST);
                assert_only(to, sizeof to, 20 + at, from, n);
            }
    }
    cc_isa_force(before);
    cc_cache_force(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_never_too_small), cmocka_unit_test(parts_cover_everything_once),
        cmocka_unit_test(zeros_reach_everything),    cmocka_unit_test(every_part_runs_once),
        cmocka_unit_test(copies_past_the_cache),     cmocka_unit_test(every_item_is_taken_once),
        cmocka_unit_test(tiles_arrive_whole),        cmocka_unit_test(bytes_are_copied_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
