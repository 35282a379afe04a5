/* The common parts of encoding streams and adding them: scratch memory, and the search in lists of
 * pairs. For pair_*.c only. */
#ifndef CC_NETSIM_EXCHANGE_PACK_PAIR_IMPL_H
#define CC_NETSIM_EXCHANGE_PACK_PAIR_IMPL_H

#include "netsim/exchange/pack/pair_kernels.h"
#include "netsim/exchange/pack/pair_stream.h"

/* Pairs of a stretch of a sum that is merged, with those that end its lists. */
#define CC_STRETCH 16384

/* A block of a sum; it stays in the second-level cache, as do the lists of a stretch. Between calls
 * `acc` is all -0 and `mark` all 0 once `ready`. */
struct cc_scratch {
    float acc[CC_STREAM_BLOCK];
    uint8_t mark[CC_STREAM_BLOCK / CC_GROUP];
    struct cc_index_value pair[CC_STREAM_BLOCK + CC_PAIR_SLACK];
    struct cc_index_value list[3][CC_STRETCH + CC_PAIR_SLACK];
    bool ready;
};

/* A view's pairs, and the first of them from pair `from` on that is not below value `end`. */
static inline const struct cc_index_value *cc_pairs_of(const struct cc_stream_view *v)
{
    return (const struct cc_index_value *)(const void *)v->index;
}
size_t cc_pairs_until(const struct cc_stream_view *v, size_t from, size_t end);

/* The pairs of a part, a list (pairs or short), among the values [at, at + n) of the range; `at` is
 * at a multiple of CC_STREAM_BLOCK, and c->at their first pair. */
size_t cc_pairs_count(const struct cc_stream_part *c, struct cc_stream_range range, size_t at,
                      size_t n);
/* Makes the list of them: c->listed pairs, written to `to` and ended unless they are in memory
 * as such. Returns what is left of `to`. */
struct cc_index_value *cc_pairs_list(struct cc_stream_part *c, struct cc_stream_range range,
                                     size_t at, size_t n, struct cc_index_value *to);

/* The first of pair[from, count) whose index is at least `index`, or count; found in a time that
 * grows with the logarithm of its distance from `from`. */
size_t cc_pair_search(const struct cc_index_value *pair, size_t from, size_t count, uint32_t index);

#endif
