/* Merging lists of index-value pairs, for sums of few values.
 *
 * Lists are in the order of their indices, and a pair with the index CC_PAIR_END, or any that is
 * not below the indices of the other list, follows their last one. So a merge reads one pair beyond
 * each list and asks nowhere whether a list has ended. */
#ifndef CC_NETSIM_EXCHANGE_PACK_PAIR_MERGE_H
#define CC_NETSIM_EXCHANGE_PACK_PAIR_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"
#include "schemes/scheme.h"

#define CC_PAIR_END UINT32_MAX

struct k_merge {
    /* Writes the pairs of both lists in order to out[0, a_count + b_count); of equal indices, those
     * of `a` first. */
    void (*merge)(const struct cc_index_value *a, size_t a_count, const struct cc_index_value *b,
                  size_t b_count, struct cc_index_value *out);
    /* Replaces pairs of the same index, which follow each other, by one with their sum, added from
     * the left; leaves out sums of -0. Returns the number of pairs. `out` has room for count pairs
     * and CC_PAIR_SLACK more, and does not overlap `in`. */
    size_t (*sum_runs)(const struct cc_index_value *in, size_t count, struct cc_index_value *out);
    /* Pairs of u16 indices, to which `base` is added, and f32 values, both at any address. */
    void (*join)(const uint8_t *index, const uint8_t *value, size_t count, uint32_t base,
                 struct cc_index_value *out);
    /* Pairs at any address, to whose indices `base` is added. */
    void (*copy)(const uint8_t *in, size_t count, uint32_t base, struct cc_index_value *out);
};
CC_KERNELS(k_merge)

#endif
