/* Streams: encoding, checking, applying. Sums are in pair_sum.c. */
#include "netsim/exchange/pack/pair_stream.h"

#include <string.h>

#include "core/bytes.h"
#include "netsim/exchange/pack/pair_kernels.h"
#include "netsim/exchange/pack/pair_impl.h"
#include "schemes/kernels/expand.h"

/* The bytes of a body of c pairs of n values, in each form. */
struct body {
    size_t bytes[CC_STREAM_DENSE + 1];
    enum cc_stream_kind least;
};

static size_t blocks_of(size_t n)
{
    return (n + CC_STREAM_BLOCK - 1) / CC_STREAM_BLOCK;
}

static size_t bitmap_bytes(size_t n)
{
    return (n + 63) / 64 * 8;
}

/* u16 for each pair, in whole words of 4 bytes. */
static size_t short_bytes(size_t c)
{
    return (2 * c + 3) / 4 * 4;
}

static struct body measure(size_t n, size_t c, enum cc_wire wire)
{
    struct body b = {.bytes = {CC_PAIR_BYTES * c, 4 * blocks_of(n) + short_bytes(c) + 4 * c,
                               bitmap_bytes(n) + 4 * c, 4 * n}};
    for (int k = CC_STREAM_PAIRS; k <= CC_STREAM_DENSE; k++) {
        const bool plain = k == CC_STREAM_PAIRS || k == CC_STREAM_DENSE;
        if (b.bytes[k] < b.bytes[b.least] && (plain || wire == CC_WIRE_AUTO))
            b.least = (enum cc_stream_kind)k;
    }
    return b;
}

size_t cc_stream_bound(size_t n, size_t pairs, enum cc_wire wire)
{
    const struct body b = measure(n, pairs < n ? pairs : n, wire);
    return CC_STREAM_HEAD + b.bytes[b.least];
}

size_t cc_stream_memory(size_t n, size_t pairs)
{
    const size_t dense = sizeof(float) * n;
    const size_t list = sizeof(struct cc_index_value) * (pairs < n ? pairs : n);
    /* The slack is for pairs; alike for all, so that two streams can be exchanged. */
    return (list < dense ? list : dense) + sizeof(struct cc_index_value) * CC_PAIR_SLACK;
}

/* --- encoding --- */

size_t cc_pair_search(const struct cc_index_value *pair, size_t from, size_t count, uint32_t index)
{
    size_t step = 1, low = from, high = from;
    while (high < count && pair[high].index < index) {
        low = high + 1;
        high = count - high > step ? high + step : count;
        step *= 2;
    }
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (pair[mid].index < index)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

size_t cc_pairs_until(const struct cc_stream_view *v, size_t from, size_t end)
{
    return cc_pair_search(cc_pairs_of(v), from, v->head.pairs, (uint32_t)(end - v->base));
}

/* Where the body's arrays of a short stream are. */
struct short_body {
    uint8_t *counts, *index, *value;
};

static struct short_body lay_out_short(uint8_t *body, size_t n, size_t c)
{
    uint8_t *index = body + 4 * blocks_of(n);
    return (struct short_body){body, index, index + short_bytes(c)};
}

static void put_short(const struct cc_index_value *pair, size_t c, struct cc_stream_range part,
                      uint8_t *body)
{
    const size_t n = part.to - part.from;
    const struct short_body b = lay_out_short(body, n, c);
    size_t at = 0;
    if (c % 2 != 0)
        cc_put_u16(b.index + 2 * c, 0);
    for (size_t i = 0; i < blocks_of(n); i++) {
        const uint64_t end = part.from + (uint64_t)CC_STREAM_BLOCK * (i + 1);
        const size_t next = end >= part.to ? c : cc_pair_search(pair, at, c, (uint32_t)end);
        cc_put_u32(b.counts + 4 * i, (uint32_t)(next - at));
        k_pairs()->split(pair + at, next - at, part.from, b.index + 2 * at, b.value + 4 * at);
        at = next;
    }
}

static inline void set_bit(uint8_t *bits, uint32_t at)
{
    bits[at / 8] |= (uint8_t)(1u << at % 8);
}

/* Neighbours often share a byte, and then each waits for the one before: so four parts of the list
 * are taken in turn. */
static void put_bitmap(const struct cc_index_value *pair, size_t c, struct cc_stream_range part,
                       uint8_t *body)
{
    const size_t bytes = bitmap_bytes(part.to - part.from), each = c / 4;
    memset(body, 0, bytes);
    for (size_t i = 0; i < each; i++) {
        set_bit(body, pair[i].index - part.from);
        set_bit(body, pair[each + i].index - part.from);
        set_bit(body, pair[2 * each + i].index - part.from);
        set_bit(body, pair[3 * each + i].index - part.from);
    }
    for (size_t i = 4 * each; i < c; i++)
        set_bit(body, pair[i].index - part.from);
    for (size_t i = 0; i < c; i++)
        cc_put_f32(body + bytes + 4 * i, pair[i].value);
}

static void put_dense(const struct cc_index_value *pair, size_t c, struct cc_stream_range part,
                      uint8_t *body)
{
    k_pairs()->clear((float *)(void *)body, part.to - part.from);
    for (size_t i = 0; i < c; i++)
        cc_put_f32(body + sizeof(float) * (pair[i].index - part.from), pair[i].value);
}

static void put_pairs(const struct cc_index_value *pair, size_t c, struct cc_stream_range part,
                      uint8_t *body)
{
    for (size_t i = 0; i < c; i++) {
        cc_put_u32(body + CC_PAIR_BYTES * i, pair[i].index - part.from);
        cc_put_f32(body + CC_PAIR_BYTES * i + 4, pair[i].value);
    }
}

static void encode_pairs(const struct cc_index_value *pair, size_t c, struct cc_stream_range part,
                         enum cc_stream_kind kind, uint8_t *body)
{
    static void (*const put[])(const struct cc_index_value *, size_t, struct cc_stream_range,
                               uint8_t *) = {put_pairs, put_short, put_bitmap, put_dense};
    put[kind](pair, c, part, body);
}

/* Pairs or short, from values: listed block by block. */
static void list_values(const float *value, size_t c, struct cc_stream_range part,
                        enum cc_stream_kind kind, struct cc_scratch *scratch, uint8_t *body)
{
    const size_t n = part.to - part.from;
    const struct short_body b = lay_out_short(body, n, c);
    size_t at = 0;
    if (kind == CC_STREAM_SHORT && c % 2 != 0)
        cc_put_u16(b.index + 2 * c, 0);
    for (size_t i = 0; i < n; i += CC_STREAM_BLOCK) {
        const size_t m = n - i < CC_STREAM_BLOCK ? n - i : CC_STREAM_BLOCK;
        const struct cc_stream_range all = {0, (uint32_t)n};
        const size_t found = k_pairs()->list(value + i, m, (uint32_t)i, scratch->pair);
        if (kind == CC_STREAM_PAIRS) {
            put_pairs(scratch->pair, found, all, body + CC_PAIR_BYTES * at);
        } else {
            cc_put_u32(b.counts + i / CC_STREAM_BLOCK * 4, (uint32_t)found);
            k_pairs()->split(scratch->pair, found, 0, b.index + 2 * at, b.value + 4 * at);
        }
        at += found;
    }
}

static void encode_values(const float *value, size_t c, struct cc_stream_range part,
                          enum cc_stream_kind kind, struct cc_scratch *scratch, uint8_t *body)
{
    const size_t n = part.to - part.from, bytes = bitmap_bytes(n);
    if (kind == CC_STREAM_BITMAP) {
        memset(body + bytes - 8, 0, 8);
        (void)k_pairs()->pack(value, n, body, body + bytes, c);
    } else if (kind == CC_STREAM_DENSE) {
        memcpy(body, value, sizeof(float) * n);
    } else {
        list_values(value, c, part, kind, scratch, body);
    }
}

void cc_stream_put_head(const struct cc_stream_head *head, enum cc_stream_kind kind, uint8_t *out)
{
    cc_put_u32(out, kind);
    cc_put_u32(out + 4, head->tag);
    cc_put_u32(out + 8, head->values);
    cc_put_u32(out + 12, head->pairs);
    cc_put_u64(out + 16, head->sent);
}

size_t cc_stream_encode(const struct cc_stream *s, struct cc_stream_range part, enum cc_wire wire,
                        bool dense_only, struct cc_stream_head *head, void *scratch, uint8_t *out)
{
    const size_t n = part.to - part.from;
    const float *value = s->dense ? s->value + (part.from - s->range.from) : NULL;
    size_t first = 0, c;
    if (s->dense) {
        c = n > 0 ? k_pairs()->count(value, n) : 0;
    } else {
        first = cc_pair_search(s->pair, 0, s->count, part.from);
        c = cc_pair_search(s->pair, first, s->count, part.to) - first;
    }
    const struct body b = measure(n, c, wire);
    const enum cc_stream_kind kind = dense_only ? CC_STREAM_DENSE : b.least;
    head->values = (uint32_t)n;
    head->pairs = (uint32_t)(kind == CC_STREAM_DENSE ? n : c);
    cc_stream_put_head(head, kind, out);
    if (n > 0 && s->dense)
        encode_values(value, c, part, kind, scratch, out + CC_STREAM_HEAD);
    else if (n > 0)
        encode_pairs(s->pair + first, c, part, kind, out + CC_STREAM_HEAD);
    return CC_STREAM_HEAD + b.bytes[kind];
}

void cc_stream_expand(const struct cc_stream *s, struct cc_stream_range part, float *y)
{
    const size_t n = part.to - part.from;
    if (s->dense) {
        memcpy(y, s->value + (part.from - s->range.from), n * sizeof *y);
        return;
    }
    const size_t first = cc_pair_search(s->pair, 0, s->count, part.from);
    const size_t end = cc_pair_search(s->pair, first, s->count, part.to);
    put_dense(s->pair + first, end - first, part, (uint8_t *)y);
}

struct cc_stream_view cc_stream_view_of(const struct cc_stream *s)
{
    return (struct cc_stream_view){
        .range = s->range,
        .kind = s->dense ? CC_STREAM_DENSE : CC_STREAM_PAIRS,
        .head = {.values = s->range.to - s->range.from, .pairs = (uint32_t)s->count},
        .ended = true,
        .index = (const uint8_t *)s->pair,
        .value = (const uint8_t *)s->value};
}

/* --- checking --- */

static int check_pairs(struct cc_stream_view *v, struct cc_error *e)
{
    const size_t c = v->head.pairs, n = v->head.values;
    if (c == 0 || (k_expand()->ascend(v->index, c, CC_PAIR_BYTES, 0) &&
                   cc_get_u32(v->index + CC_PAIR_BYTES * (c - 1)) < n))
        return CC_OK;
    for (size_t i = 0; i < c; i++) {
        const uint32_t at = cc_get_u32(v->index + CC_PAIR_BYTES * i);
        if (at >= n)
            return cc_fail(e, "stream, pair %zu: index %lu of %zu values", i, (unsigned long)at, n);
        if (i > 0 && at <= cc_get_u32(v->index + CC_PAIR_BYTES * (i - 1)))
            return cc_fail(e, "stream, pair %zu: index %lu does not ascend", i, (unsigned long)at);
    }
    return CC_OK;
}

static int check_short(struct cc_stream_view *v, struct cc_error *e)
{
    const size_t n = v->head.values;
    size_t at = 0;
    for (size_t i = 0; i < blocks_of(n); i++) {
        const size_t left = n - i * CC_STREAM_BLOCK, c = cc_get_u32(v->counts + 4 * i);
        const size_t m = left < CC_STREAM_BLOCK ? left : CC_STREAM_BLOCK;
        if (c > m || c > v->head.pairs - at)
            return cc_fail(e, "stream, block %zu: %zu pairs of %zu values, and %zu are left", i, c,
                           m, v->head.pairs - at);
        if (!k_pairs()->ascend(v->index + 2 * at, c))
            return cc_fail(e, "stream, block %zu: its indices do not ascend", i);
        if (c > 0 && cc_get_u16(v->index + 2 * (at + c - 1)) >= m)
            return cc_fail(e, "stream, block %zu: an index beyond its %zu values", i, m);
        at += c;
    }
    return at == v->head.pairs ? CC_OK
                               : cc_fail(e, "stream: its blocks have %zu pairs, not %lu", at,
                                         (unsigned long)v->head.pairs);
}

static int check_bitmap(struct cc_stream_view *v, struct cc_error *e)
{
    const size_t n = v->head.values;
    const size_t c = k_expand()->popcount(v->bits, n);
    if (n % 64 != 0 && cc_get_u64(v->bits + n / 64 * 8) >> n % 64 != 0)
        return cc_fail(e, "stream: its bitmap has bits beyond its %zu values", n);
    return c == v->head.pairs ? CC_OK
                              : cc_fail(e, "stream: its bitmap has %zu bits, not %lu", c,
                                        (unsigned long)v->head.pairs);
}

int cc_stream_open(const uint8_t *in, size_t len, struct cc_stream_range range, size_t most,
                   struct cc_stream_view *out, struct cc_error *e)
{
    const size_t n = range.to - range.from;
    if (len < CC_STREAM_HEAD)
        return cc_fail(e, "stream: %zu bytes, and its head alone has %d", len, CC_STREAM_HEAD);
    const uint32_t kind = cc_get_u32(in);
    struct cc_stream_view v = {.range = range,
                               .base = range.from,
                               .head = {.tag = cc_get_u32(in + 4),
                                        .values = cc_get_u32(in + 8),
                                        .pairs = cc_get_u32(in + 12),
                                        .sent = cc_get_u64(in + 16)}};
    const uint8_t *body = in + CC_STREAM_HEAD;
    const size_t bytes = len - CC_STREAM_HEAD, c = v.head.pairs;
    if (kind > CC_STREAM_PACK)
        return cc_fail(e, "stream: its form is %lu, which is none", (unsigned long)kind);
    v.kind = (enum cc_stream_kind)kind;
    if (v.head.values != n)
        return cc_fail(e, "a stream of %lu values where %zu are expected",
                       (unsigned long)v.head.values, n);
    if (c > n || (c > most && kind <= CC_STREAM_BITMAP) || (c != n && kind >= CC_STREAM_DENSE))
        return cc_fail(e, "a stream of %zu pairs of %zu values, where %zu pairs are the most", c, n,
                       most);
    *out = v;
    if (kind == CC_STREAM_PACK) {
        out->pack = body;
        out->pack_bytes = bytes;
        return CC_OK;
    }
    const struct body b = measure(n, c, CC_WIRE_AUTO);
    if (bytes != b.bytes[kind])
        return cc_fail(e,
                       "a stream of %zu pairs of %zu values has %zu bytes behind its head, not %zu",
                       c, n, bytes, b.bytes[kind]);
    switch (out->kind) {
    case CC_STREAM_PAIRS:
        out->index = body;
        return check_pairs(out, e);
    case CC_STREAM_SHORT:
        out->counts = body;
        out->index = body + 4 * blocks_of(n);
        out->value = out->index + short_bytes(c);
        return check_short(out, e);
    case CC_STREAM_BITMAP:
        out->bits = body;
        out->value = body + bitmap_bytes(n);
        return check_bitmap(out, e);
    default:
        out->value = body;
        return CC_OK;
    }
}

void cc_stream_view_apply(const struct cc_stream_view *v, float scale, float *y)
{
    const size_t n = v->head.values;
    float *to = y + v->range.from;
    size_t at = 0;
    switch (v->kind) {
    case CC_STREAM_PAIRS:
        k_pairs()->apply_pairs((const struct cc_index_value *)(const void *)v->index, v->head.pairs,
                               0, scale, y + v->base);
        break;
    case CC_STREAM_SHORT:
        for (size_t i = 0; i < blocks_of(n); i++) {
            const size_t c = cc_get_u32(v->counts + 4 * i);
            k_pairs()->apply_short(v->index + 2 * at, v->value + 4 * at, c, scale,
                                   to + i * CC_STREAM_BLOCK);
            at += c;
        }
        break;
    case CC_STREAM_BITMAP:
        (void)k_expand()->expand_add(v->bits, n, v->value, v->head.pairs, scale, to);
        break;
    default:
        k_pairs()->apply_dense(v->value, n, scale, to);
        break;
    }
}
