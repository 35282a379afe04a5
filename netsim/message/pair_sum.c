/* Sums of streams.
 *
 * A sum is made block by block: the values of each part that lie in the block are added to an array
 * that stays in the cache, part by part in the given order, and then listed as pairs
 * (pair_kernels.h). So the order of additions is that of the parts, however many there are, and the
 * work grows with the pairs, not with the range. If the parts have so many pairs that a list might
 * be larger than all values, the sum is made in the output instead, as values. */
#include <string.h>

#include "core/bytes.h"
#include "netsim/message/pair_impl.h"
#include "schemes/kernels/expand.h"

size_t cc_stream_scratch(void)
{
    return sizeof(struct cc_scratch);
}

/* Adds those of `count` pairs, of which none is below `from`, that are below from + n to acc;
 * returns how many these are. */
static size_t add_list(const struct cc_index_value *pair, size_t count, uint32_t from, size_t n,
                       float *acc, uint8_t *mark)
{
    const size_t end = cc_pair_search(pair, 0, count, from + (uint32_t)n);
    k_pairs()->add_pairs(pair, end, from, acc, mark);
    return end;
}

static void mark_all(uint8_t *mark, size_t n)
{
    if (mark != NULL)
        memset(mark, 1, (n + CC_GROUP - 1) / CC_GROUP);
}

/* Adds the values [at, at + n) of the range to acc[0, n). */
static void add_block(struct cc_stream_part *c, struct cc_stream_range range, size_t at, size_t n,
                      float *acc, uint8_t *mark)
{
    const struct cc_stream *own = c->own;
    const struct cc_stream_view *v = c->received;
    if (own != NULL && own->dense) {
        const float *value = own->value + (range.from - own->range.from) + at;
        k_pairs()->add_dense((const uint8_t *)value, n, acc, mark);
    } else if (own != NULL) {
        c->at += add_list(own->pair + c->at, own->count - c->at, range.from + (uint32_t)at, n, acc,
                          mark);
    } else if (v->kind == CC_STREAM_PAIRS) {
        const struct cc_index_value *pair = (const void *)v->index;
        c->at += add_list(pair + c->at, v->head.pairs - c->at, (uint32_t)at, n, acc, mark);
    } else if (v->kind == CC_STREAM_SHORT) {
        const size_t m = cc_get_u32(v->counts + at / CC_STREAM_BLOCK * 4);
        k_pairs()->add_short(v->index + 2 * c->at, v->value + 4 * c->at, m, acc, mark);
        c->at += m;
    } else if (v->kind == CC_STREAM_BITMAP) {
        c->at += k_expand()->expand_add(v->bits + at / 8, n, v->value + 4 * c->at,
                                        v->head.pairs - c->at, 1, acc);
        mark_all(mark, n);
    } else {
        k_pairs()->add_dense(v->value + 4 * at, n, acc, mark);
    }
}

void cc_stream_sum(struct cc_stream_part *part, size_t parts, struct cc_stream_range range,
                   void *scratch, struct cc_stream *out)
{
    struct cc_scratch *s = scratch;
    const size_t n = range.to - range.from;
    size_t all = 0;
    for (size_t i = 0; i < parts; i++) {
        const struct cc_stream *own = part[i].own;
        part[i].at = 0;
        if (own == NULL) {
            all += part[i].received->head.pairs;
        } else if (own->dense) {
            all += n;
        } else {
            part[i].at = cc_pair_search(own->pair, 0, own->count, range.from);
            all += cc_pair_search(own->pair, part[i].at, own->count, range.to) - part[i].at;
        }
    }
    if (!s->ready)
        k_pairs()->clear(s->acc, CC_STREAM_BLOCK);
    s->ready = true;
    *out = (struct cc_stream){
        .range = range, .dense = all > n / 2, .pair = out->pair, .value = out->value};
    for (size_t at = 0; at < n; at += CC_STREAM_BLOCK) {
        const size_t m = n - at < CC_STREAM_BLOCK ? n - at : CC_STREAM_BLOCK;
        float *acc = out->dense ? out->value + at : s->acc;
        if (out->dense)
            k_pairs()->clear(acc, m);
        for (size_t i = 0; i < parts; i++)
            add_block(&part[i], range, at, m, acc, out->dense ? NULL : s->mark);
        if (!out->dense)
            out->count += k_pairs()->take(s->acc, s->mark, m, range.from + (uint32_t)at,
                                          out->pair + out->count);
    }
}
