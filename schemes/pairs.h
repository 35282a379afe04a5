/* Payloads that name the nonzero values by strictly ascending indices, in one of two forms: pairs
 * (u32 index, f32 value), and codes (u32 = 2 index + sign) that share one magnitude. Writing,
 * decoding, and reading as pairs; sparse, dgc and threshold use them, randk the sort. */
#ifndef CC_SCHEMES_PAIRS_H
#define CC_SCHEMES_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemes/scheme.h"

#define CC_PAIR_BYTES 8
#define CC_CODE_BYTES 4

/* Writes the pairs of n values as 8 bytes each: their indices are the set bits of a bit array,
 * their values lie in `values` (f32, any alignment) in the same order. */
void cc_pairs_put(const uint8_t *bits, size_t n, const uint8_t *values, uint8_t *out);

/* A received payload, untrusted. */
struct cc_indexed {
    const uint8_t *payload;
    size_t begin, end; /* the bytes of the pairs or codes */
    const float *tau;  /* the magnitude of codes; NULL: pairs */
    size_t n;          /* values of the tensor */
};

/* To y[0, n), as decode of struct cc_scheme. */
int cc_indexed_decode(const struct cc_indexed *in, int threads, const float *scale, float *y,
                      struct cc_error *e);

/* As to_pairs of struct cc_scheme. */
int cc_indexed_to_pairs(const struct cc_indexed *in, uint32_t base, struct cc_index_value *out,
                        size_t cap, size_t *count, struct cc_error *e);

/* The descriptor's functions of a scheme whose payload is pairs and nothing else. */
int cc_pairs_decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                    size_t len, const float *scale, float *y, struct cc_error *e);
struct cc_pair_cost cc_pairs_cost(const void *params);
int cc_pairs_read(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, uint32_t base, struct cc_index_value *out, size_t cap, size_t *count,
                  struct cc_error *e);

/* For encode: CC_FAIL if indices of n values do not fit. `what` has them; `remedy` helps. */
int cc_pairs_check(size_t n, const struct cc_context *ctx, const char *what, const char *remedy,
                   struct cc_error *e);

/* Whether the indices of pairs [first, end) ascend strictly and lie in [base, base + n). For
 * to_pairs, which checks what it has written: the payload may have changed since it was read. */
bool cc_pairs_ascend(const struct cc_index_value *pairs, size_t first, size_t end, uint32_t base,
                     size_t n);

/* Sorts pairs of distinct indices below `end` by index, in place, without allocating. */
void cc_pairs_sort(struct cc_index_value *pairs, size_t count, size_t end);

#endif
