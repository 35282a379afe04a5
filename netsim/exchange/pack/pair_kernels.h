/* Loops over index-value pairs, for sums of sparse gradients.
 *
 * A sum is made in an array of floats, `acc`, in which -0 stands for a value that nobody has sent:
 * -0 + v is v, to the last bit, for every v, so the first value needs no other treatment than the
 * rest. Where only few values are sent, each group of CC_GROUP values has a mark, a byte that is 1
 * if anything was added to it, so that the others need not be looked at. */
#ifndef CC_NETSIM_EXCHANGE_PACK_PAIR_KERNELS_H
#define CC_NETSIM_EXCHANGE_PACK_PAIR_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"
#include "schemes/scheme.h"

#define CC_GROUP 16

/* Values that CC_SLACK loops may write beyond the last one of their output. */
#define CC_PAIR_SLACK 16

struct k_pairs {
    /* acc[0, n) = -0. */
    void (*clear)(float *acc, size_t n);
    /* acc[index - base] += value for each of the pairs, and marks the groups. mark may be NULL. */
    void (*add_pairs)(const struct cc_index_value *pair, size_t count, uint32_t base, float *acc,
                      uint8_t *mark);
    /* The same with u16 indices from acc[0] on, apart from their values (f32); any address. */
    void (*add_short)(const uint8_t *index, const uint8_t *value, size_t count, float *acc,
                      uint8_t *mark);
    /* acc[i] += value[i], f32 at any address, and marks all groups. */
    void (*add_dense)(const uint8_t *value, size_t n, float *acc, uint8_t *mark);

    /* Writes the values of acc[0, n) that are not -0 as pairs, whose indices count from base; sets
     * those that it writes to -0 and their marks to 0. Returns the number of pairs; `out` has room
     * for CC_PAIR_SLACK more. */
    size_t (*take)(float *acc, uint8_t *mark, size_t n, uint32_t base, struct cc_index_value *out);
    /* The same without marks, for an array that stays as it is. */
    size_t (*list)(const float *acc, size_t n, uint32_t base, struct cc_index_value *out);
    /* The number of values that are not -0. */
    size_t (*count)(const float *acc, size_t n);
    /* Writes the set of these values as a bit array, and the values one after the other to
     * value[0, 4 * room), room being at least their number; returns the number. */
    size_t (*pack)(const float *acc, size_t n, uint8_t *bits, uint8_t *value, size_t room);

    /* Pairs as u16 (the lower half of the index less base) and f32, any address. */
    void (*split)(const struct cc_index_value *pair, size_t count, uint32_t base, uint8_t *index,
                  uint8_t *value);
    /* Whether the u16 ascend strictly. */
    int (*ascend)(const uint8_t *index, size_t count);

    /* y[index - base] += scale * value, as cc_add_scaled; and the same of u16, and of dense
     * values. */
    void (*apply_pairs)(const struct cc_index_value *pair, size_t count, uint32_t base, float scale,
                        float *y);
    void (*apply_short)(const uint8_t *index, const uint8_t *value, size_t count, float scale,
                        float *y);
    void (*apply_dense)(const uint8_t *value, size_t n, float scale, float *y);
};
CC_KERNELS(k_pairs)

#endif
