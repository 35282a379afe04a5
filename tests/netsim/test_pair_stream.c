/* Streams of index-value pairs: every form against a slow writer and reader of docs/wire.md, sums
 * against plain additions, and what must be refused. With every instruction set, to the last bit,
 * and with buffers that end at a guard page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "core/random.h"
#include "netsim/exchange/pack/pair_kernels.h"
#include "netsim/exchange/pack/pair_stream.h"
#include "tests/lib/guard.h"
#include "tests/lib/kit.h"
#include "tests/lib/stream_reference.h"

enum { TAG = 0x01020304, PARTS = 9, FROM = 70001 };

static const size_t sizes[] = {1, 2, 15, 16, 17, 63, 64, 65, 1000, 65535, 65536, 65537, 200003};
static const double densities[] = {0, 0.0005, 0.01, 0.04, 0.3, 0.6, 0.99, 1};

enum { SIZES = sizeof sizes / sizeof sizes[0], DENSITIES = sizeof densities / sizeof densities[0] };

/* Values of about this density; the others are -0. */
static void fill(float *v, size_t n, double density, uint64_t seed)
{
    const struct cc_random_id id = {.seed = seed};
    const struct cc_key key = cc_key(&id, 0);
    const uint32_t limit = (uint32_t)(density * 0x1p32 * (1 - 0x1p-32));
    for (size_t i = 0; i < n; i++) {
        const uint32_t r = cc_random(key, (uint32_t)i), s = cc_random(key, ~(uint32_t)i);
        v[i] = density >= 1 || r < limit ? ((float)s - 0x1p31f) * 0x1p-20f : -0.0f;
    }
}

/* v as a stream in memory, of the values from FROM on; `dense`: as values. */
static struct cc_stream own_stream(const float *v, size_t n, bool dense)
{
    struct cc_stream s = {.range = {FROM, FROM + (uint32_t)n}, .dense = dense};
    s.pair = cc_alloc((n + 1) * sizeof *s.pair, NULL);
    s.value = cc_alloc((n + 1) * sizeof *s.value, NULL);
    memcpy(s.value, v, n * sizeof *v);
    for (size_t i = 0; i < n; i++)
        if (!stream_absent(v[i]))
            s.pair[s.count++] = (struct cc_index_value){FROM + (uint32_t)i, v[i]};
    s.pair[s.count].index = CC_PAIR_END;
    return s;
}

static void free_stream(struct cc_stream *s)
{
    free(s->pair);
    free(s->value);
}

static void same(const float *a, const float *b, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0)
            fail_msg("%s, %zu values: value %zu is %a, not %a", what, n, i, (double)a[i],
                     (double)b[i]);
}

/* Encoded from pairs and from values, read and applied. */
static void check_form(const float *v, size_t n, enum cc_wire wire, void *scratch)
{
    static struct guard room;
    size_t c = 0;
    uint8_t *want = malloc(64 + 8 * n);
    float *y = calloc(n, sizeof *y), *z = calloc(n, sizeof *z), *read = calloc(n, sizeof *read);
    for (size_t i = 0; i < n; i++) {
        c += !stream_absent(v[i]);
        y[i] = z[i] = (float)i;
    }
    const size_t len = stream_write(v, n, -1, wire == CC_WIRE_PAIRS, TAG, 77, want);
    assert_true(len <= cc_stream_bound(n, c, wire));
    for (int dense = 0; dense < 2; dense++) {
        struct cc_stream s = own_stream(v, n, dense);
        struct cc_stream_head head = {.tag = TAG, .sent = 77};
        struct cc_stream_view view;
        struct cc_error e = {""};
        uint8_t *out = guard_back(&room, cc_stream_bound(n, c, wire), 4);
        memset(out, 0xa5, cc_stream_bound(n, c, wire));
        assert_int_equal(cc_stream_encode(&s, s.range, wire, false, &head, scratch, out), len);
        assert_memory_equal(out, want, len);
        assert_true(stream_read(out, len, n, c, read));
        same(read, v, n, "read");
        out = guard_back(&room, len, 4);
        memcpy(out, want, len);
        assert_int_equal(cc_stream_open(out, len, s.range, c, &view, &e), CC_OK);
        assert_int_equal(view.head.sent, 77);
        memcpy(y, z, n * sizeof *y);
        cc_stream_view_apply(&view, 0.25f, y - FROM);
        for (size_t i = 0; i < n; i++)
            read[i] = stream_absent(v[i]) ? z[i] : cc_add_scaled(z[i], 0.25f, v[i]);
        same(y, read, n, "applied as received");
        memcpy(y, z, n * sizeof *y);
        view = cc_stream_view_of(&s);
        cc_stream_view_apply(&view, 0.25f, y - FROM);
        same(y, read, n, "applied from memory");
        cc_stream_expand(&s, s.range, y);
        same(y, v, n, "expanded");
        free_stream(&s);
    }
    free(want);
    free(read);
    free(y);
    free(z);
}

static void forms(void **state)
{
    (void)state;
    void *scratch = cc_alloc0(cc_stream_scratch(), NULL);
    for (size_t k = 0; k < SIZES; k++)
        for (size_t d = 0; d < DENSITIES; d++) {
            float *v = malloc(sizes[k] * sizeof *v);
            fill(v, sizes[k], densities[d], 10 * k + d);
            check_form(v, sizes[k], CC_WIRE_AUTO, scratch);
            check_form(v, sizes[k], CC_WIRE_PAIRS, scratch);
            free(v);
        }
    free(scratch);
}

/* The forms of the parts: those in memory, lists or one with all values, and received ones. */
enum mix { LISTS, BITMAPS, VALUES, MIXES };

/* Sums PARTS parts of n values each, and the first one alone, which may have a list where all do
 * not. */
static void check_sums(float *const v[PARTS], size_t n, enum mix mix, void *scratch)
{
    static const int forms_of[MIXES] = {2, 3, 4};
    float *want = malloc(n * sizeof *want), *got = malloc(n * sizeof *got);
    uint8_t *bytes[PARTS];
    struct cc_stream own[PARTS];
    struct cc_stream_view view[PARTS];
    struct cc_stream_part part[PARTS];
    for (size_t i = 0; i < n; i++)
        want[i] = -0.0f;
    for (size_t p = 0; p < PARTS; p++) {
        own[p] = own_stream(v[p], n, p == 1 && mix == VALUES);
        bytes[p] = malloc(64 + 8 * n);
        const size_t len =
            stream_write(v[p], n, (int)(p % (size_t)forms_of[mix]), false, TAG, 0, bytes[p]);
        assert_int_equal(cc_stream_open(bytes[p], len, own[p].range, n, &view[p], NULL), CC_OK);
        if (p < 2)
            view[p] = cc_stream_view_of(&own[p]);
        part[p] = (struct cc_stream_part){.view = &view[p]};
        for (size_t i = 0; i < n; i++)
            want[i] = want[i] + v[p][i];
    }
    for (size_t parts = 1; parts <= PARTS; parts += PARTS - 1) {
        struct cc_stream sum = {0};
        sum.pair = cc_alloc(cc_stream_memory(n, parts == 1 ? own[0].count : n), NULL);
        sum.value = (float *)(void *)sum.pair;
        cc_stream_sum(part, parts, own[0].range, scratch, &sum);
        if (!sum.dense)
            assert_int_equal(sum.pair[sum.count].index, CC_PAIR_END);
        for (size_t i = 0; i < sum.count && !sum.dense; i++)
            assert_false(stream_absent(sum.pair[i].value));
        cc_stream_expand(&sum, sum.range, got);
        same(got, parts == 1 ? v[0] : want, n, "sum");
        free(sum.pair);
    }
    for (size_t p = 0; p < PARTS; p++) {
        free(bytes[p]);
        free_stream(&own[p]);
    }
    free(want);
    free(got);
}

/* Streams that are parts of longer ones are in tests/mpi/test_exchange.c. */
static void sums(void **state)
{
    (void)state;
    void *scratch = cc_alloc0(cc_stream_scratch(), NULL);
    float *v[PARTS];
    for (size_t k = 0; k < SIZES; k++)
        for (size_t d = 0; d < DENSITIES; d++) {
            for (size_t p = 0; p < PARTS; p++) {
                v[p] = malloc(sizes[k] * sizeof *v[p]);
                fill(v[p], sizes[k], densities[d], 100 * k + 10 * d + p);
            }
            for (int mix = 0; mix < MIXES; mix++)
                check_sums(v, sizes[k], (enum mix)mix, scratch);
            for (size_t p = 0; p < PARTS; p++)
                free(v[p]);
        }
    free(scratch);
}

/* Few pairs, but close together: more than are merged at once; and the same indices in two, three
 * and all parts, at every place of a vector. */
static void clusters(void **state)
{
    (void)state;
    enum { N = 700000, FIRST = 140000, CLOSE = 2000 };
    void *scratch = cc_alloc0(cc_stream_scratch(), NULL);
    float *v[PARTS];
    for (size_t p = 0; p < PARTS; p++) {
        v[p] = malloc(N * sizeof *v[p]);
        fill(v[p], N, p % 2 == 0 ? 0 : 0.0005, p);
        fill(v[p] + FIRST, CLOSE, 1, 10 + p);
        for (size_t i = 0; i < 40; i++) {
            v[p][1000 + 17 * i] = p < 2 ? (float)(p + i) : -0.0f;
            v[p][2000 + 18 * i] = p % 3 == 0 ? (float)(p + i) : -0.0f;
            v[p][3000 + 19 * i] = (float)(p + i) * 0.1f;
        }
    }
    for (int mix = 0; mix < VALUES; mix++)
        check_sums(v, N, (enum mix)mix, scratch);
    for (size_t p = 0; p < PARTS; p++)
        free(v[p]);
    free(scratch);
}

/* Pairs of -0, which are sent explicitly, and lists that are merged with an empty one. */
static void merging(void **state)
{
    (void)state;
    enum { MOST = 80 };
    struct cc_index_value a[MOST + 1], b[MOST + 1], merged[2 * MOST + 1],
        sum[2 * MOST + CC_PAIR_SLACK], want[2 * MOST];
    for (size_t n = 0; n <= MOST; n++)
        for (size_t m = 0; m <= MOST; m += n % 2 + 1) {
            const uint32_t shift = (uint32_t)(n * 3 % 7);
            size_t c = 0;
            for (size_t i = 0; i < n; i++)
                a[i] = (struct cc_index_value){(uint32_t)(2 * i), i % 5 == 0 ? -0.0f : (float)i};
            for (size_t i = 0; i < m; i++)
                b[i] = (struct cc_index_value){(uint32_t)(3 * i) + shift, -0.0f};
            a[n].index = b[m].index = merged[n + m].index = CC_PAIR_END;
            k_merge()->merge(a, n, b, m, merged);
            for (size_t i = 0, j = 0, k = 0; k < n + m; k++) {
                const bool second = i == n || (j < m && b[j].index < a[i].index);
                assert_memory_equal(&merged[k], second ? &b[j] : &a[i], sizeof *a);
                j += second;
                i += !second;
            }
            for (size_t i = 0; i < n; i++)
                if (!stream_absent(a[i].value))
                    want[c++] = a[i];
            assert_int_equal(k_merge()->sum_runs(merged, n + m, sum), c);
            assert_memory_equal(sum, want, c * sizeof *sum);
        }
}

/* docs/wire.md's example, of a form that is not the shortest here. */
static void by_hand(void **state)
{
    (void)state;
    static const uint8_t want[] = {1, 0, 0, 0, 4, 3, 2, 1,    0, 0, 2,    0,    3, 0, 0, 0,   5, 0,
                                   0, 0, 0, 0, 0, 0, 2, 0,    0, 0, 1,    0,    0, 0, 7, 0,   9, 0,
                                   2, 0, 0, 0, 0, 0, 0, 0x3f, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40};
    static const uint8_t pairs[] = {0, 0, 0, 0, 4, 3, 2,    1,    0, 0, 2, 0, 3, 0, 0, 0,
                                    5, 0, 0, 0, 0, 0, 0,    0,    7, 0, 0, 0, 0, 0, 0, 0x3f,
                                    9, 0, 0, 0, 0, 0, 0x80, 0x3f, 2, 0, 1, 0, 0, 0, 0, 0x40};
    struct cc_index_value pair[] = {{7, 0.5f}, {9, 1}, {65538, 2}};
    const struct cc_stream s = {.range = {0, 131072}, .count = 3, .pair = pair};
    struct cc_stream_head head = {.tag = TAG, .sent = 5};
    struct cc_stream_view view;
    float *y = calloc(131072, sizeof *y);
    uint8_t out[64];
    assert_int_equal(cc_stream_encode(&s, s.range, CC_WIRE_AUTO, false, &head, NULL, out),
                     sizeof pairs);
    assert_memory_equal(out, pairs, sizeof pairs);
    assert_int_equal(cc_stream_open(want, sizeof want, s.range, 3, &view, NULL), CC_OK);
    cc_stream_view_apply(&view, 2, y);
    assert_true(y[7] == 1 && y[9] == 2 && y[65538] == 4 && view.head.sent == 5);
    free(y);
}

static void refused(uint8_t *bytes, size_t len, size_t n, size_t most, const char *message)
{
    struct cc_stream_view view;
    struct cc_error e = {""};
    float *v = malloc((n + 1) * sizeof *v);
    if (cc_stream_open(bytes, len, (struct cc_stream_range){FROM, FROM + (uint32_t)n}, most, &view,
                       &e) == CC_OK ||
        strstr(e.text, message) == NULL)
        fail_msg("'%s' instead of '%s'", e.text, message);
    assert_true(n != cc_get_u32(bytes + 8) || !stream_read(bytes, len, n, most, v));
    free(v);
}

static void hostile(void **state)
{
    (void)state;
    enum { N = 70000 };
    float *v = malloc(N * sizeof *v);
    uint8_t *b = malloc(64 + 8 * N);
    for (size_t i = 0; i < N; i++)
        v[i] = i % 10000 == 9999 ? 1 : -0.0f;
    size_t len = stream_write(v, N, 0, false, TAG, 0, b);
    refused(b, 23, N, N, "its head alone has 24");
    refused(b, len - 4, N, N, "behind its head");
    refused(b, len + 4, N, N, "behind its head");
    refused(b, len, N, 6, "6 pairs are the most");
    refused(b, len, N + 1, N, "a stream of 70000 values where 70001 are expected");
    cc_put_u32(b + 24 + 8, 9999);
    refused(b, len, N, N, "pair 1: index 9999 does not ascend");
    cc_put_u32(b + 24 + 8 * 6, N);
    cc_put_u32(b + 24 + 8, 19999);
    refused(b, len, N, N, "pair 6: index 70000 of 70000");
    b[0] = 9;
    refused(b, len, N, N, "its form is 9");
    len = stream_write(v, N, 1, false, TAG, 0, b);
    cc_put_u32(b + 24 + 4, 2);
    refused(b, len, N, N, "block 1: 2 pairs of 4464 values, and 1 are left");
    cc_put_u32(b + 24 + 4, 1);
    cc_put_u32(b + 24 + 4, 0);
    refused(b, len, N, N, "its blocks have 6 pairs, not 7");
    cc_put_u32(b + 24 + 4, 1);
    cc_put_u16(b + 24 + 8 + 2, 9999);
    refused(b, len, N, N, "block 0: its indices do not ascend");
    cc_put_u16(b + 24 + 8 + 2, 19999);
    cc_put_u16(b + 24 + 8 + 12, 4464);
    refused(b, len, N, N, "block 1: an index beyond its 4464 values");
    len = stream_write(v, N, 2, false, TAG, 0, b);
    b[24] |= 1;
    refused(b, len, N, N, "its bitmap has 8 bits, not 7");
    b[24] = 0;
    b[24 + N / 8] |= 1;
    refused(b, len, N, N, "bits beyond its 70000 values");
    len = stream_write(v, N, 3, false, TAG, 0, b);
    cc_put_u32(b + 12, N - 1);
    refused(b, len, N, N, "a stream of 69999 pairs of 70000 values");
    free(b);
    free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(forms),    cmocka_unit_test(sums),
                                       cmocka_unit_test(clusters), cmocka_unit_test(merging),
                                       cmocka_unit_test(by_hand),  cmocka_unit_test(hostile)};
    return kit_run(tests);
}
