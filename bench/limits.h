/* The limits that memory, or the second-level cache, sets to the schemes of a bench: which patterns
 * of bench/roofline.h their calls have, and samples of these patterns taken between those of the
 * codecs; beside them the limit of their own instructions. */
#ifndef CC_BENCH_LIMITS_H
#define CC_BENCH_LIMITS_H

#include <stdbool.h>

#include "bench/calls.h"

struct cc_limits;

/* Where the values of a step lie when a call begins. */
enum cc_limit_place {
    CC_IN_CACHE, /* neither of the others: no limit is known */
    CC_IN_L2,    /* nine tenths of the values or more are in a tensor that stays in the second-level
                    cache, and is not so small that calling the codec takes most of the time */
    CC_IN_MEMORY /* nine tenths of the values or more are in tensors that are too large for the
                    cache */
};
extern const char *const cc_limit_place_names[]; /* "cache", "L2", "memory" */
enum cc_limit_place cc_limits_place(const struct cc_trace *trace);

/* *out is NULL if no limit is known. There will be at most `most` samples. */
int cc_limits_open(const struct cc_bench_config *config, size_t most, struct cc_limits **out,
                   struct cc_error *e);
void cc_limits_free(struct cc_limits *l);

/* A cc_on_decoded, with the limits as its argument: notes which lines of the largest tensor are not
 * all zero. */
void cc_limits_on_decoded(void *limits, size_t tensor, const float *decoded);

/* Whether the next sample of the scheme needs cc_limits_on_decoded: the first one does, and all if
 * its limits depend on the lines. */
bool cc_limits_wants_decoded(const struct cc_limits *l, size_t scheme);

/* Takes sample number `sample` of the scheme's limits; the first call finds the patterns. Schemes
 * with the same pattern share its samples. `bytes`: the payload of a step. */
int cc_limits_sample(struct cc_limits *l, size_t scheme, double bytes, size_t sample,
                     struct cc_error *e);

/* The limits of a scheme's calls. */
struct cc_scheme_limits {
    double clock; /* the processor's in GHz: cycles of a value are 4 x GHz / (GB/s); 0: not known */
    struct cc_call_limits {
        double memory; /* GB/s of float32 that memory, or the second-level cache, allows; 0: it is
                          not the limit, or none is known */
        double l1;     /* the same that the codec's own instructions allow; 0: not known, as of a
                          scheme that sends in some steps only or treats matrices in another way than
                          vectors, or of a call that takes less than can be measured */
        double moved;  /* bytes that the call must move per value; NAN: not known, or it depends on
                          the payload */
    } call[CC_CALLS];
};
/* From the medians of the first `samples`; nothing is known if l is NULL. */
struct cc_scheme_limits cc_limits_of(struct cc_limits *l, size_t scheme, size_t samples);

#endif
