/* The roofline: how fast this machine's memory lets a codec be at best, measured in the same run.
 *
 * A codec must at least read the gradient, read and write its state, and write its payload, in one
 * pass, or in two where a scale must be known first; decoding must read the payload and write the
 * values. The limit is the time of a loop that moves just these bytes in just these passes and does
 * nothing else: the best of plain and non-temporal stores, and of several block sizes. */
#ifndef CC_BENCH_ROOFLINE_H
#define CC_BENCH_ROOFLINE_H

#include <stddef.h>

#include "core/error.h"
#include "core/isa.h"
#include "schemes/spec.h"

struct k_memory {
    /* Reads n floats; what it returns depends on all of them. */
    unsigned (*read)(const float *x, size_t n);
    /* x = x + 1 */
    void (*update)(float *x, size_t n);
    /* Writes the bytes, which begin on CC_ALIGN and are a multiple of it, through the cache or past
     * it. */
    void (*write)(void *out, size_t bytes);
    void (*write_past)(void *out, size_t bytes);
};
CC_KERNELS(k_memory)

/* The limits, for one thread, of one scheme on `values` values that make `payload_bytes`, in GB/s
 * of float32. */
struct cc_limits {
    double encode, decode;
};

/* Measures them; 0 where there is none: the scheme has no traffic(), or a stream of the values is
 * less than twice the cache. A stream longer than that is measured over twice the cache. */
int cc_roofline_measure(const struct cc_spec *s, size_t values, double payload_bytes,
                        struct cc_limits *out, struct cc_error *e);

#endif
