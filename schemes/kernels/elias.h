/* Elias-coded levels of one bucket: how many are not 0, then for each of these the distance from
 * the one before, the sign, the magnitude (docs/payloads.md, qsgd). */
#ifndef CC_SCHEMES_KERNELS_ELIAS_H
#define CC_SCHEMES_KERNELS_ELIAS_H

#include "core/isa.h"
#include "schemes/elias.h"

/* Levels are read in groups of this many: arrays of them are filled up to it with zeros. */
#define CC_LEVEL_GROUP 64

enum cc_elias_fault {
    CC_ELIAS_OK,
    CC_ELIAS_END,      /* the input ends too soon, or a code is larger than any allowed */
    CC_ELIAS_COUNT,    /* more nonzero levels than values */
    CC_ELIAS_POSITION, /* beyond the bucket */
    CC_ELIAS_LEVEL,    /* above s */
    CC_ELIAS_PADDING,  /* not 0 */
};

struct k_elias {
    /* Writes n levels, `count` of them not 0, n < CC_OMEGA_MAX; returns the end of what counts as
     * written, and may write 8 bytes more. */
    uint8_t *(*put)(const int16_t *levels, size_t n, size_t count, uint8_t *out);
    /* Reads n levels of at most s up to the end of their last byte. r->buffer and r->have are 0
     * before, and afterwards if all is well. */
    enum cc_elias_fault (*get)(struct cc_bit_reader *r, size_t n, int s, int16_t *levels);
};
CC_KERNELS(k_elias)

#endif
