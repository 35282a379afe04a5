/* Sums of streams, in one of three ways.
 *
 * Few pairs are merged: the lists of a stretch of the range two by two, then two by two of what
 * this makes, so that pairs of the same index follow each other in the order of the parts; then
 * these are added from the left. The work grows with the pairs alone.
 *
 * More pairs are added block by block to an array that stays in the cache, part by part in the
 * given order, which is then listed (pair_kernels.h). If a list of them might be
 * larger than all values, the array is the output itself.
 *
 * So a value's additions have the order of the parts in all ways, whatever their number. */
#include <string.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "netsim/exchange/pack/pair_impl.h"
#include "netsim/exchange/pack/pair_merge.h"
#include "schemes/kernels/expand.h"

/* A merge costs about as much as adding to an array where the parts together have a pair for this
 * many values, for each time that a pair is moved (Zen 4: 2 parts 9 and 2 ns a pair in the two ways
 * at 0.2%, 1.8 and 1.8 at 20%). */
enum { VALUES_PER_MERGE = 8 };

size_t cc_stream_scratch(void)
{
    return sizeof(struct cc_scratch);
}

/* --- merging --- */

size_t cc_pairs_count(const struct cc_stream_part *c, struct cc_stream_range range, size_t at,
                      size_t n)
{
    const struct cc_stream_view *v = c->view;
    const size_t end = at + n;
    size_t found = 0;
    if (v->kind == CC_STREAM_PAIRS)
        return cc_pairs_until(v, c->at, range.from + end) - c->at;
    for (size_t i = at; i < end; i += CC_STREAM_BLOCK)
        found += cc_get_u32(v->counts + i / CC_STREAM_BLOCK * 4);
    return found;
}

struct cc_index_value *cc_pairs_list(struct cc_stream_part *c, struct cc_stream_range range,
                                     size_t at, size_t n, struct cc_index_value *to)
{
    const struct cc_stream_view *v = c->view;
    const size_t first = c->at;
    c->at += c->listed;
    c->list = v->ended ? cc_pairs_of(v) + first : to;
    if (v->ended)
        return to;
    if (v->kind == CC_STREAM_PAIRS) {
        k_merge()->copy(v->index + CC_PAIR_BYTES * first, c->listed, v->base, to);
        to += c->listed;
    } else {
        size_t from = first;
        for (size_t i = at; i < at + n; i += CC_STREAM_BLOCK) {
            const size_t m = cc_get_u32(v->counts + i / CC_STREAM_BLOCK * 4);
            k_merge()->join(v->index + 2 * from, v->value + 4 * from, m, range.from + (uint32_t)i,
                            to);
            from += m;
            to += m;
        }
    }
    *to++ = (struct cc_index_value){.index = CC_PAIR_END};
    return to;
}

/* Merges neighbours among the lists until one is left, which is part[0]'s. */
static void merge_lists(struct cc_stream_part *part, size_t parts, struct cc_scratch *s)
{
    for (size_t level = 0; parts > 1; level++) {
        struct cc_index_value *to = s->list[1 + level % 2];
        for (size_t i = 0; i < parts; i += 2) {
            const struct cc_stream_part *a = &part[i], *b = i + 1 < parts ? &part[i + 1] : NULL;
            const size_t n = a->listed + (b != NULL ? b->listed : 0);
            if (b != NULL)
                k_merge()->merge(a->list, a->listed, b->list, b->listed, to);
            else
                memcpy(to, a->list, n * sizeof *to);
            part[i / 2].list = to;
            part[i / 2].listed = n;
            to += n;
            *to++ = (struct cc_index_value){.index = CC_PAIR_END};
        }
        parts = (parts + 1) / 2;
    }
}

/* Appends the sum of the values [at, at + n) to the list *out; false if they have more pairs than
 * there is room for. */
static bool sum_by_merging(struct cc_stream_part *part, size_t parts, struct cc_stream_range range,
                           size_t at, size_t n, struct cc_scratch *s, struct cc_stream *out)
{
    size_t all = 0;
    for (size_t i = 0; i < parts; i++) {
        part[i].listed = cc_pairs_count(&part[i], range, at, n);
        all += part[i].listed;
    }
    if (all + parts > CC_STRETCH)
        return false;
    struct cc_index_value *to = s->list[0];
    for (size_t i = 0; i < parts; i++)
        to = cc_pairs_list(&part[i], range, at, n, to);
    merge_lists(part, parts, s);
    out->count += k_merge()->sum_runs(part[0].list, all, out->pair + out->count);
    return true;
}

/* --- adding to an array --- */

static void mark_all(uint8_t *mark, size_t n)
{
    if (mark != NULL)
        memset(mark, 1, (n + CC_GROUP - 1) / CC_GROUP);
}

/* Adds the values [at, at + n) of the range to acc[0, n). */
static void add_block(struct cc_stream_part *c, struct cc_stream_range range, size_t at, size_t n,
                      float *acc, uint8_t *mark)
{
    const struct cc_stream_view *v = c->view;
    if (v->kind == CC_STREAM_PAIRS) {
        const size_t end = cc_pairs_until(v, c->at, range.from + at + n);
        k_pairs()->add_pairs(cc_pairs_of(v) + c->at, end - c->at,
                             range.from + (uint32_t)at - v->base, acc, mark);
        c->at = end;
    } else if (v->kind == CC_STREAM_SHORT) {
        const size_t m = cc_get_u32(v->counts + at / CC_STREAM_BLOCK * 4);
        k_pairs()->add_short(v->index + 2 * c->at, v->value + 4 * c->at, m, acc, mark);
        c->at += m;
    } else if (v->kind == CC_STREAM_BITMAP) {
        c->at += k_expand()->expand_add(v->bits + at / 8, n, v->value + 4 * c->at,
                                        v->head.pairs - c->at, 1, acc);
        mark_all(mark, n);
    } else {
        k_pairs()->add_dense(v->value + 4 * (range.from - v->range.from + at), n, acc, mark);
    }
}

/* The sum of one block, from `at` on; appended to *out if that is a list. */
static void sum_block(struct cc_stream_part *part, size_t parts, struct cc_stream_range range,
                      size_t at, size_t n, struct cc_scratch *s, struct cc_stream *out)
{
    float *acc = out->dense ? out->value + at : s->acc;
    if (out->dense || !s->ready)
        k_pairs()->clear(acc, out->dense ? n : CC_STREAM_BLOCK);
    s->ready |= !out->dense;
    for (size_t i = 0; i < parts; i++)
        add_block(&part[i], range, at, n, acc, out->dense ? NULL : s->mark);
    if (!out->dense)
        out->count +=
            k_pairs()->take(s->acc, s->mark, n, range.from + (uint32_t)at, out->pair + out->count);
}

/* --- sums --- */

/* Finds the first pair of a part in the range; returns its number of pairs there, of a dense part
 * the values. *lists: remains true if the part is a list. */
static size_t begin_part(struct cc_stream_part *c, struct cc_stream_range range, bool *lists)
{
    const struct cc_stream_view *v = c->view;
    c->at = v->kind == CC_STREAM_PAIRS ? cc_pairs_until(v, 0, range.from) : 0;
    *lists &= v->kind == CC_STREAM_PAIRS || v->kind == CC_STREAM_SHORT;
    if (v->kind == CC_STREAM_PAIRS)
        return cc_pairs_until(v, c->at, range.to) - c->at;
    return v->kind == CC_STREAM_DENSE ? range.to - range.from : v->head.pairs;
}

/* Whether `all` pairs of n values are few enough to be merged. */
static bool merging_pays(size_t all, size_t n, size_t parts)
{
    size_t moves = 1;
    while (parts > (size_t)1 << moves)
        moves++;
    return all <= n / (VALUES_PER_MERGE * moves);
}

void cc_stream_sum(struct cc_stream_part *part, size_t parts, struct cc_stream_range range,
                   void *scratch, struct cc_stream *out)
{
    const size_t n = range.to - range.from;
    size_t all = 0, stretch = CC_STREAM_BLOCK;
    bool merges = true;
    for (size_t i = 0; i < parts; i++)
        all += begin_part(&part[i], range, &merges);
    merges = merges && merging_pays(all, n, parts);
    *out = (struct cc_stream){
        .range = range, .dense = all > n / 2, .pair = out->pair, .value = out->value};
    /* Half of the room is for pairs that are not spread evenly. */
    while (merges && stretch < n && all * (2 * stretch) / n < CC_STRETCH / 2)
        stretch *= 2;
    for (size_t at = 0, m; at < n; at += m) {
        m = cc_smaller(n - at, stretch);
        if (merges && sum_by_merging(part, parts, range, at, m, scratch, out))
            continue;
        m = cc_smaller(m, CC_STREAM_BLOCK);
        if (!merges || !sum_by_merging(part, parts, range, at, m, scratch, out))
            sum_block(part, parts, range, at, m, scratch, out);
    }
    if (!out->dense)
        out->pair[out->count] = (struct cc_index_value){.index = CC_PAIR_END};
}
