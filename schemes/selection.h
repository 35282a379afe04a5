/* The largest magnitudes of a whole tensor, without sorting it: what `sparse` and `dgc` send. */
#ifndef CC_SCHEMES_SELECTION_H
#define CC_SCHEMES_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemes/scheme.h"

/* ceil(density n), at least 1 and at most n; 0 < density <= 1. */
size_t cc_density_count(double density, size_t n);

/* The values to select from, n of each. */
struct cc_selection_input {
    const float *gradient;
    float *sum;      /* x = sum + gradient, kept here; NULL: x = gradient */
    float *momentum; /* u: first u = factor u + gradient, then x = sum + u; NULL: none. Only with a
                        sum, and for an exact selection */
    float factor;
    size_t n;
};

enum cc_select_how {
    CC_SELECT_EXACT,   /* the k largest */
    CC_SELECT_SAMPLED, /* all above a threshold from a sample; within a tenth of k */
};

struct cc_selection {
    uint8_t *bits;   /* ceil(n/8) bytes: which were selected */
    uint8_t *values; /* at any address, room for cc_select_most values: x there, in order */
    size_t count;    /* set by cc_select */
};

/* How many values can be selected at most. */
size_t cc_select_most(double density, size_t n, enum cc_select_how config);

/* Bytes of scratch memory that cc_select needs; SIZE_MAX on overflow. */
size_t cc_select_scratch(double density, size_t n, enum cc_select_how config);

/* Brings the source up to date (sum, momentum), selects as docs/payloads.md says under `sparse`,
 * writes *to, and sets sum and momentum to 0 at what was selected. Zeros are never selected.
 * scratch is aligned to CC_ALIGN. The selection does not depend on the number of threads. Refuses
 * values that are not finite; the source is then unspecified. */
int cc_select(const struct cc_selection_input *from, double density, enum cc_select_how config,
              int threads, const struct cc_context *ctx, void *scratch, struct cc_selection *to,
              struct cc_error *e);

/* x += gradient over a block that began at index `begin` left something that is not finite (x then
 * holds the sum): says which value it was and returns CC_FAIL. */
int cc_refuse_sum(const struct cc_context *ctx, const float *gradient, const float *sum,
                  size_t begin, size_t n, struct cc_error *e);

/* For n values that stay in the cache, finite, 1 <= k <= n: the bits of a magnitude t such that
 * exactly k are >= t, or if there is none, those of the k-th largest. *ties of those equal to t
 * belong to the k largest (SIZE_MAX: all). `most` are the bits of the largest magnitude, `guess` is
 * where to look first. */
uint32_t cc_kth_cached(const float *x, size_t n, size_t k, uint32_t most, uint32_t guess,
                       size_t *ties);

/* After a marking of x[0, n) with threshold t: clears the bits of values equal to t once *ties of
 * them, counted down, were kept. Returns how many it cleared. */
size_t cc_drop_ties(const float *x, size_t n, uint32_t t, size_t *ties, uint8_t *bits);

#endif
