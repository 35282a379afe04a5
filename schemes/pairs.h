/* Payloads of pairs (u32 index, f32 value), the indices ascending. */
#ifndef CC_SCHEMES_PAIRS_H
#define CC_SCHEMES_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#define CC_PAIR_BYTES 8

/* The largest n whose indices fit. */
#define CC_PAIRS_MOST (UINT64_C(1) << 32)

/* Writes the pairs of n values: the set bits of a bit array and their values, in order. */
void cc_pairs_put(const uint8_t *bits, size_t n, const uint8_t *values, uint8_t *out);

/* Into y[0, n), as the scheme contract says. */
int cc_pairs_decode(const uint8_t *in, size_t len, size_t n, float *y, struct cc_error *e);
int cc_pairs_decode_add(const uint8_t *in, size_t len, size_t n, float scale, float *y,
                        struct cc_error *e);

/* The message for an index out of order (index < next) or out of range, at byte `offset`. */
int cc_pairs_bad_index(size_t offset, uint32_t index, size_t next, size_t n, struct cc_error *e);

/* y = block, a block of decoded values; past: as cc_past_cache says. */
void cc_put_block(const float *block, size_t n, bool past, float *y);

#endif
