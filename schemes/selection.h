/* Selection of the largest magnitudes of a whole tensor without sorting it, for sparse and dgc, and
 * the search for the k-th largest of values in the cache, for topk. */
#ifndef CC_SCHEMES_SELECTION_H
#define CC_SCHEMES_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemes/scheme.h"

/* ceil(density n), at least 1 and at most n; 0 < density <= 1. */
size_t cc_density_count(double density, size_t n);

/* The values x to select from: arrays of n floats. */
struct cc_selection_input {
    const float *gradient;
    float *sum;      /* x = sum + gradient, stored here; NULL: x = gradient */
    float *momentum; /* u = factor u + gradient, stored here, then x = sum + u; NULL: none. Needs a
                        sum and an exact selection */
    float factor;
    size_t n;
};

enum cc_select_mode {
    CC_SELECT_EXACT,   /* the k largest */
    CC_SELECT_SAMPLED, /* all above a threshold from a sample, between 0.9 k and 1.1 k */
};

/* An exact selection of up to one value in CC_SELECT_FEW takes each at its place. A larger one
 * takes them in a second pass over x, which is then faster. */
#define CC_SELECT_FEW 128

/* The result. The caller provides both arrays. */
struct cc_selection {
    uint8_t *bits;   /* ceil(n/8) bytes: a set bit for each selected value */
    uint8_t *values; /* room for cc_select_most f32, of any alignment: the selected x in order */
    size_t count;    /* selected values, set by cc_select */
};

/* The largest number of values that cc_select selects. */
size_t cc_select_most(double density, size_t n, enum cc_select_mode mode);

/* Bytes of scratch memory that cc_select needs; SIZE_MAX on overflow. */
size_t cc_select_scratch(double density, size_t n, enum cc_select_mode mode);

/* Updates sum and momentum, selects as docs/payloads.md defines under `sparse`, writes *to, and
 * sets sum and momentum to 0 at the selected values. Zeros are never selected. scratch is aligned
 * to CC_ALIGN. The selection does not depend on the number of threads. Refuses values that are not
 * finite (CC_FAIL); sum and momentum are then unspecified. */
int cc_select(const struct cc_selection_input *from, double density, enum cc_select_mode mode,
              int threads, const struct cc_context *ctx, void *scratch, struct cc_selection *to,
              struct cc_error *e);

/* A selection that becomes pairs (pairs.h): its result lies in scratch memory, after the `own`
 * bytes of cc_select. Bytes of all, for at most `most` of n values; SIZE_MAX on overflow. */
size_t cc_select_pairs_scratch(size_t own, size_t most, size_t n);

/* As cc_select, with that scratch memory; writes the pairs and sets *len to their bytes. */
int cc_select_pairs(const struct cc_selection_input *from, double density, enum cc_select_mode mode,
                    int threads, const struct cc_context *ctx, void *scratch, size_t own,
                    size_t most, uint8_t *out, size_t *len, struct cc_error *e);

/* Returns CC_FAIL with a message about the first value that is not finite in the gradient, or in
 * the sum that it was added to unless that is NULL; both are of a block of n values that begins at
 * index `begin`. */
int cc_refuse_sum(const struct cc_context *ctx, struct cc_elements gradient, const float *sum,
                  size_t begin, size_t n, struct cc_error *e);

/* The threshold of the k largest magnitudes of n finite values, 1 <= k <= n: the bits of some t
 * such that exactly k magnitudes are >= t, or if ties rule that out, of the k-th largest magnitude.
 * *ties of the values equal to t belong to the k largest; SIZE_MAX: all do. `most` are the bits of
 * the largest magnitude; the search starts from `guess`. Meant for values that stay in the cache.
 */
uint32_t cc_kth_cached(const float *x, size_t n, size_t k, uint32_t most, uint32_t guess,
                       size_t *ties);

/* After x[0, n) was marked with threshold t: keeps the first *ties of the values equal to t, counts
 * them down, and clears the bits of the others. Returns the number of cleared bits. */
size_t cc_drop_ties(const float *x, size_t n, uint32_t t, size_t *ties, uint8_t *bits);

/* Writes `count` values, 0 < count <= n, to out: one from each of as many equal ranges of x, as it
 * will be once sum and momentum are updated. docs/payloads.md (sparse) defines the places. */
void cc_sample(const struct cc_selection_input *from, size_t count, int threads,
               const struct cc_context *ctx, float *out);

#endif
