/* Payloads that name what is not zero by its index, the indices ascending strictly: pairs (u32
 * index, f32 value), and codes u32 = 2 index + sign with one magnitude for all. */
#ifndef CC_SCHEMES_PAIRS_H
#define CC_SCHEMES_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#include "schemes/scheme.h"

#define CC_PAIR_BYTES 8
#define CC_CODE_BYTES 4

/* The largest n whose indices fit. */
#define CC_PAIRS_MOST (UINT64_C(1) << 32)

/* Writes the pairs of n values: the set bits of a bit array and their values, in order. */
void cc_pairs_put(const uint8_t *bits, size_t n, const uint8_t *values, uint8_t *out);

/* A payload to decode. */
struct cc_indexed {
    const uint8_t *payload;
    size_t begin, end; /* where the pairs or codes are, in bytes */
    const float *tau;  /* the magnitude of codes; NULL: pairs */
    size_t n;          /* values of the tensor */
};

/* Into y[0, n), as the scheme contract says. */
int cc_indexed_decode(const struct cc_indexed *in, int threads, float *y, struct cc_error *e);
int cc_indexed_decode_add(const struct cc_indexed *in, int threads, float scale, float *y,
                          struct cc_error *e);

/* To pairs, as the scheme contract says of to_pairs. */
int cc_indexed_to_pairs(const struct cc_indexed *in, uint32_t base, struct cc_index_value *out,
                        size_t cap, size_t *count, struct cc_error *e);

/* Sorts pairs of different indices below `end` in place, by their indices. */
void cc_pairs_sort(struct cc_index_value *pairs, size_t count, size_t end);

#endif
