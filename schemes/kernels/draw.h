/* The keyed permutation that gives randk its indices (docs/payloads.md, randk). */
#ifndef CC_SCHEMES_KERNELS_DRAW_H
#define CC_SCHEMES_KERNELS_DRAW_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"
#include "core/random.h"

#define CC_DRAW_ROUNDS 8
#define CC_DRAW_LANES  64

/* v has room for n rounded up to a multiple of CC_DRAW_LANES, and elements beyond n are permuted as
 * well: doing the last ones one by one would take longer than all before. */
struct k_draw {
    /* Each v[i] < 4^b becomes its image under the permutation of [0, 4^b); 1 <= b <= 31. */
    void (*permute)(const struct cc_key key[CC_DRAW_ROUNDS], unsigned b, uint64_t *v, size_t n);
    /* The same for b <= 16, in 32 bits. */
    void (*permute_small)(const struct cc_key key[CC_DRAW_ROUNDS], unsigned b, uint32_t *v,
                          size_t n);
};
CC_KERNELS(k_draw)

#endif
