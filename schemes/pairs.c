/* Index-value payloads: writing, decoding by several threads, reading as pairs.
 *
 * A payload is an array of items, 8-byte pairs or 4-byte codes, whose indices must ascend strictly.
 * Decoding splits the tensor, not the payload: part p of the tensor takes the items whose indices
 * fall into it, found by binary search. The search assumes ascending items, which an untrusted
 * payload need not have, so each part then checks that its own items ascend and lie within the part
 * (512 at a time, just before they are used, while they are in the first-level cache). If every
 * part is satisfied, all items together ascend: the last item of a part lies below its border and
 * the first of the next at or above it. If one is not, a serial pass finds the first bad item and
 * names its offset.
 *
 * A payload may change while it is decoded. Each index that is used is therefore checked against
 * the tensor once more when it is used; the check before only decides which payloads are good.
 *
 * Decoding writes zeros and values block by block (zeros.h), or within the cache by a kernel
 * (kernels/scatter.h); adding, and to_pairs, touch only the values that the items name. Loops over
 * items are compiled once for pairs and once for codes.
 *
 * cc_pairs_sort is an American flag sort (McIlroy, Bostic, McIlroy, Engineering Radix Sort, 1993):
 * in place, by 8 bits at a time from the highest, small buckets by insertion. */
#include "schemes/pairs.h"

#include <string.h>

#include "core/cache.h"
#include "core/parallel.h"
#include "core/tile.h"
#include "schemes/kernels/expand.h"
#include "schemes/kernels/scatter.h"
#include "schemes/kernels/select.h"
#include "schemes/zeros.h"

void cc_pairs_put(const uint8_t *bits, size_t n, const uint8_t *values, uint8_t *out)
{
    uint32_t index[CC_SELECT_BLOCK + CC_SELECT_SLACK];
    for (size_t i = 0; i < n; i += CC_SELECT_BLOCK) {
        size_t m = n - i < CC_SELECT_BLOCK ? n - i : CC_SELECT_BLOCK;
        size_t count = k_select()->indices(bits + i / 8, m, (uint32_t)i, index);
        for (size_t j = 0; j < count; j++) {
            cc_put_u32(out + CC_PAIR_BYTES * j, index[j]);
            cc_put_u32(out + CC_PAIR_BYTES * j + 4, cc_get_u32(values + 4 * j));
        }
        values += 4 * count;
        out += CC_PAIR_BYTES * count;
    }
}

/* --- items: pairs or codes --- */

/* Items checked at a time, just before they are used: they stay in the first-level cache. */
#define CHECK 512

struct items {
    const uint8_t *at;
    size_t count;
    uint32_t tau; /* bits of the codes' magnitude */
    bool pairs;
};

static inline size_t item_bytes(bool pairs)
{
    return pairs ? CC_PAIR_BYTES : CC_CODE_BYTES;
}

static inline size_t item_index(const struct items *s, bool pairs, size_t i)
{
    const uint64_t first = cc_once(cc_get_u32(s->at + item_bytes(pairs) * i));
    return pairs ? first : first >> 1;
}

/* Without a branch on the sign, which would be mispredicted half the time. */
static inline float item_value(const struct items *s, bool pairs, size_t i)
{
    const uint8_t *at = s->at + item_bytes(pairs) * i;
    return pairs ? cc_get_f32(at + 4) : cc_bits_f32(s->tau ^ cc_get_u32(at) << 31);
}

static size_t any_index(const struct items *s, size_t i)
{
    return s->pairs ? item_index(s, true, i) : item_index(s, false, i);
}

/* Whether items [first, end) ascend, also from the item before unless that is in another part. */
static bool ascend(const struct items *s, size_t first, size_t end, size_t part)
{
    size_t from = first > part ? first - 1 : first, stride = item_bytes(s->pairs);
    return k_expand()->ascend(s->at + stride * from, end - from, stride, s->pairs ? 0 : 1);
}

/* The first item whose index is at least `index` if items ascend; otherwise any. */
static size_t lower_bound(const struct items *s, size_t index)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (any_index(s, mid) < index)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Fills in a block with the items of [first, last) up to the first whose index is not in [begin,
 * begin + n), and returns that item. */
static inline size_t fill(const struct items *s, bool pairs, size_t first, size_t last,
                          size_t begin, size_t n, struct cc_zeros_block *block)
{
    struct cc_zeros_block b = *block;
    size_t i = first, end = last - i < cc_zeros_room(&b) ? last : i + cc_zeros_room(&b);
    for (; i < end; i++) {
        size_t at = item_index(s, pairs, i) - begin;
        if (at >= n)
            break;
        cc_zeros_set(&b, at, item_value(s, pairs, i));
    }
    *block = b;
    return i;
}

/* False if an index is not below n. */
static inline bool add(const struct items *s, bool pairs, size_t first, size_t last, float scale,
                       float *y, size_t n)
{
    for (size_t i = first; i < last; i++) {
        size_t index = item_index(s, pairs, i);
        if (index >= n)
            return false;
        y[index] = cc_add_scaled(y[index], scale, item_value(s, pairs, i));
    }
    return true;
}

/* --- decoding in parts --- */

struct job {
    struct items items;
    size_t n;
    bool adds;
    float scale;
    float *y;
};

/* The first item of the part that begins at `index`. */
static size_t first_item(const struct job *j, size_t index)
{
    if (index == 0)
        return 0;
    return index == j->n ? j->items.count : lower_bound(&j->items, index);
}

static double density_of(size_t first, size_t last, size_t begin, size_t end)
{
    return begin < end ? (double)(last - first) / (double)(end - begin) : 0;
}

/* Decodes items [first, last) to y[begin, end); false if one is bad. */
static bool decode_items(const struct job *j, size_t first, size_t last, size_t begin, size_t end)
{
    const struct items *s = &j->items;
    size_t i = first, checked = first;
    struct cc_zeros z;
    cc_zeros_open(&z, j->y + begin, j->n * sizeof(float), density_of(first, last, begin, end));
    for (size_t at = begin; at < end; at += CC_ZEROS_BLOCK) {
        size_t m = end - at < CC_ZEROS_BLOCK ? end - at : CC_ZEROS_BLOCK;
        struct cc_zeros_block block = cc_zeros_next(&z, m);
        for (;;) {
            i = s->pairs ? fill(s, true, i, checked, at, m, &block)
                         : fill(s, false, i, checked, at, m, &block);
            if (i < checked || checked == last)
                break;
            size_t next = last - checked < CHECK ? last : checked + CHECK;
            if (!ascend(s, checked, next, first))
                return false;
            checked = next;
        }
        cc_zeros_put(&z, &block);
    }
    cc_zeros_close(&z);
    return i == last;
}

/* The same within the cache. */
static bool decode_cached(const struct job *j, size_t first, size_t last, size_t begin, size_t end)
{
    const struct items *s = &j->items;
    const uint8_t *at = s->at + item_bytes(s->pairs) * first;
    return s->pairs ? k_scatter()->pairs(at, last - first, begin, end, j->y)
                    : k_scatter()->codes(at, last - first, s->tau, begin, end, j->y);
}

/* Where items name a quarter of the lines or more, but leave some out, adding fetches all of them
 * from memory, this many values ahead, each time it has added the items of about half as many. */
#define AHEAD       512
#define LINE_VALUES 16.0 /* float32 in a line of the cache */

static bool add_items(const struct job *j, size_t first, size_t last, size_t begin, size_t end)
{
    const struct items *s = &j->items;
    const double density = density_of(first, last, begin, end);
    const bool all =
        density * LINE_VALUES > 0.25 && density < 0.1 && cc_use_nontemporal(j->n * sizeof *j->y);
    const size_t step = all ? (size_t)(density * 0.5 * AHEAD) + 1 : CHECK;
    size_t checked = first;
    for (size_t i = first, next; i < last; i = next) {
        if (i == checked) {
            checked = last - i < CHECK ? last : i + CHECK;
            if (!ascend(s, i, checked, first) || any_index(s, checked - 1) >= j->n)
                return false;
        }
        next = checked - i < step ? checked : i + step;
        if (all) {
            const size_t index = any_index(s, next - 1);
            const bool beyond = index > end || end - index < AHEAD;
            begin = cc_touch(j->y, begin, beyond ? end : index + AHEAD);
        }
        if (!(s->pairs ? add(s, true, i, next, j->scale, j->y, j->n)
                       : add(s, false, i, next, j->scale, j->y, j->n)))
            return false;
    }
    return true;
}

/* Writes y[begin, end) from the items whose indices lie there; returns whether one is bad. */
static size_t decode_range(void *arg, size_t begin, size_t end)
{
    const struct job *j = arg;
    size_t first = first_item(j, begin), last = first_item(j, end);
    bool good = first <= last;
    if (first < last)
        good = any_index(&j->items, first) >= begin && any_index(&j->items, last - 1) < end;
    if (good && j->adds)
        good = add_items(j, first, last, begin, end);
    else if (good && cc_use_nontemporal(j->n * sizeof *j->y))
        good = decode_items(j, first, last, begin, end);
    else if (good)
        good = decode_cached(j, first, last, begin, end);
    return !good;
}

/* CC_FAIL with the first item that does not ascend or is out of range. */
static int refuse(const struct cc_indexed *in, const struct items *s, struct cc_error *e)
{
    size_t next = 0;
    for (size_t i = 0; i < s->count; i++) {
        size_t index = any_index(s, i), offset = in->begin + item_bytes(s->pairs) * i;
        if (index >= in->n)
            return cc_bad_payload(offset, e, "index %zu is beyond the tensor's %zu values", index,
                                  in->n);
        if (index < next)
            return cc_bad_payload(offset, e, "index %zu does not ascend: the one before is %zu",
                                  index, next - 1);
        next = index + 1;
    }
    return cc_changed_payload(e);
}

/* Checks that the payload is a whole number of items. */
static int open_items(const struct cc_indexed *in, struct items *s, struct cc_error *e)
{
    size_t bytes = in->end - in->begin, each = item_bytes(in->tau == NULL);
    if (bytes % each != 0)
        return cc_bad_payload(in->end - bytes % each, e,
                              "the payload has %zu bytes, not whole %s of %zu", in->end,
                              in->tau == NULL ? "pairs" : "codes", each);
    *s = (struct items){.at = in->payload + in->begin,
                        .count = bytes / each,
                        .tau = in->tau != NULL ? cc_f32_bits(*in->tau) : 0,
                        .pairs = in->tau == NULL};
    return CC_OK;
}

int cc_indexed_decode(const struct cc_indexed *in, int threads, const float *scale, float *y,
                      struct cc_error *e)
{
    struct items items;
    CC_TRY(open_items(in, &items, e));
    struct job j = {.items = items,
                    .n = in->n,
                    .adds = scale != NULL,
                    .scale = scale != NULL ? *scale : 0,
                    .y = y};
    return cc_parallel_values(threads, in->n, CC_ZEROS_BLOCK, decode_range, &j) == 0
               ? CC_OK
               : refuse(in, &j.items, e);
}

/* --- reading as pairs --- */

bool cc_pairs_ascend(const struct cc_index_value *pairs, size_t first, size_t end, uint32_t base,
                     size_t n)
{
    return first == end ||
           (pairs[first].index >= base && pairs[end - 1].index - base < n &&
            k_expand()->ascend((const uint8_t *)(pairs + first), end - first, sizeof *pairs, 0));
}

static inline void copy_pairs(const struct items *s, bool pairs, size_t first, size_t end,
                              uint32_t base, struct cc_index_value *out)
{
    for (size_t i = first; i < end; i++)
        out[i] = (struct cc_index_value){base + (uint32_t)item_index(s, pairs, i),
                                         item_value(s, pairs, i)};
}

int cc_indexed_to_pairs(const struct cc_indexed *in, uint32_t base, struct cc_index_value *out,
                        size_t cap, size_t *count, struct cc_error *e)
{
    struct items s;
    *count = 0;
    CC_TRY(open_items(in, &s, e));
    CC_TRY(cc_check_pairs_room(s.count, cap, e));
    for (size_t i = 0, next; i < s.count; i = next) {
        next = s.count - i < CHECK ? s.count : i + CHECK;
        if (s.pairs)
            copy_pairs(&s, true, i, next, base, out);
        else
            copy_pairs(&s, false, i, next, base, out);
        if (!cc_pairs_ascend(out, i > 0 ? i - 1 : 0, next, base, in->n))
            return refuse(in, &s, e);
    }
    *count = s.count;
    return CC_OK;
}

/* --- payloads of pairs alone --- */

static struct cc_indexed all_pairs(const struct cc_codec *c, const uint8_t *in, size_t len)
{
    return (struct cc_indexed){.payload = in, .end = len, .n = c->shape.n};
}

int cc_pairs_decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                    size_t len, const float *scale, float *y, struct cc_error *e)
{
    const struct cc_indexed pairs = all_pairs(c, in, len);
    (void)ctx;
    return cc_indexed_decode(&pairs, c->threads, scale, y, e);
}

struct cc_pair_cost cc_pairs_cost(const void *params)
{
    (void)params;
    return (struct cc_pair_cost){.pair_bits = 8 * CC_PAIR_BYTES};
}

int cc_pairs_read(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, uint32_t base, struct cc_index_value *out, size_t cap, size_t *count,
                  struct cc_error *e)
{
    const struct cc_indexed pairs = all_pairs(c, in, len);
    (void)ctx;
    return cc_indexed_to_pairs(&pairs, base, out, cap, count, e);
}

int cc_pairs_check(size_t n, const struct cc_context *ctx, const char *what, const char *remedy,
                   struct cc_error *e)
{
    return n <= UINT64_C(1) << 32
               ? CC_OK
               : cc_fail(e, "tensor '%s': %s has indices for 2^32 values only; %s",
                         ctx->name != NULL ? ctx->name : "?", what, remedy);
}

/* --- sorting --- */

#define DIGIT_BITS 8
#define DIGITS     (1 << DIGIT_BITS)
#define FEW_PAIRS  32 /* sorted by insertion */

static void sort_few(struct cc_index_value *p, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct cc_index_value moved = p[i];
        size_t j = i;
        for (; j > 0 && p[j - 1].index > moved.index; j--)
            p[j] = p[j - 1];
        p[j] = moved;
    }
}

/* Sorts pairs whose indices agree above the digit at `shift`: counts the digits, moves each pair to
 * its digit's bucket, and sorts the buckets by the digit below. */
static void sort_digit(struct cc_index_value *p, size_t count, unsigned shift)
{
    size_t next[DIGITS], end[DIGITS] = {0};
    if (count <= FEW_PAIRS) {
        sort_few(p, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        end[p[i].index >> shift & (DIGITS - 1)]++;
    for (size_t d = 0, at = 0; d < DIGITS; d++) {
        next[d] = at;
        at = end[d] += at;
    }
    for (size_t d = 0; d < DIGITS; d++) {
        while (next[d] < end[d]) {
            struct cc_index_value moved = p[next[d]];
            for (size_t own; (own = moved.index >> shift & (DIGITS - 1)) != d;) {
                struct cc_index_value other = p[next[own]];
                p[next[own]++] = moved;
                moved = other;
            }
            p[next[d]++] = moved;
        }
    }
    for (size_t d = 0, begin = 0; d < DIGITS && shift > 0; begin = end[d++])
        sort_digit(p + begin, end[d] - begin, shift > DIGIT_BITS ? shift - DIGIT_BITS : 0);
}

void cc_pairs_sort(struct cc_index_value *pairs, size_t count, size_t end)
{
    unsigned bits = 0;
    while (bits < 32 && end > UINT64_C(1) << bits)
        bits++;
    sort_digit(pairs, count, bits > DIGIT_BITS ? bits - DIGIT_BITS : 0);
}
