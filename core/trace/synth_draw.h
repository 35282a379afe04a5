/* The kernels of synthetic traces: random numbers of mean 0 and mean square 1 from a distribution,
 * by inverting its distribution function with a few float operations that give the same bits on
 * every machine. */
#ifndef CC_CORE_TRACE_SYNTH_DRAW_H
#define CC_CORE_TRACE_SYNTH_DRAW_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"
#include "core/random.h"

/* Selects the random number of each element. A value lasts for a period of several steps. Each
 * element changes its value at a point of the period of its own, its phase: own[0] is the key until
 * then, own[1] after it. A share of the elements has the value that all ranks have in common, from
 * common[] instead of own[]. */
struct cc_draw {
    struct cc_key phase, share; /* keys that draw an element's phase, and whether it is shared */
    uint32_t renewed, shared;   /* the parts of the elements that are, times 2^32 */
    struct cc_key own[2], common[2]; /* before and after the element's phase */
};

/* out[i] = scale * the number of element first + i, for n elements whose indices have the same
 * upper 32 bits (those are in the keys); `first` has the lower 32 bits. */
typedef void cc_draw_fn(const struct cc_draw *d, uint32_t first, float scale, float *out, size_t n);

struct k_synth {
    cc_draw_fn *laplace, *gaussian, *student;
};
CC_KERNELS(k_synth)

#endif
