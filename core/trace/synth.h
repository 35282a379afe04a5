/* The kernels of synthetic traces: numbers of zero mean and mean square 1, by inverting the
 * distribution function with a few float operations that give the same bits everywhere. */
#ifndef CC_CORE_TRACE_SYNTH_H
#define CC_CORE_TRACE_SYNTH_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"
#include "core/random.h"

/* Which random number element i gets. A value lasts several steps and each element is renewed at a
 * step of its own, its phase; those that are renewed later in a period than this step still have
 * the first of two keys. Some elements have the value that all ranks have. */
struct cc_draw {
    struct cc_key phase, share;
    uint32_t renewed, shared;        /* thresholds on 32 bits: the share of elements, times 2^32 */
    struct cc_key own[2], common[2]; /* [1]: when renewed */
};

/* out[i] = scale * number of element first + i. The elements' indices have the same upper 32 bits,
 * and `first` is the lower. */
typedef void cc_draw_fn(const struct cc_draw *d, uint32_t first, float scale, float *out, size_t n);

struct k_synth {
    cc_draw_fn *laplace, *gaussian, *student;
};
CC_KERNELS(k_synth)

#endif
