/* Elias-coded levels of one bucket of qsgd: the number of nonzero levels, then for each of them the
 * distance from the one before, the sign and the magnitude (docs/payloads.md, qsgd). */
#ifndef CC_SCHEMES_KERNELS_ELIAS_H
#define CC_SCHEMES_KERNELS_ELIAS_H

#include "core/isa.h"
#include "schemes/kernels/elias_code.h"

/* `put` reads levels in groups of this size: fill the last group up with zeros. */
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
    /* Encodes n < CC_OMEGA_MAX levels, `count` of which are not 0; returns the end of the output,
     * and may write 8 bytes beyond it. */
    uint8_t *(*put)(const int16_t *levels, size_t n, size_t count, uint8_t *out);
    /* Decodes n levels of at most s, up to the end of their last byte. r->buffer and r->have must
     * be 0, and are 0 again after success. */
    enum cc_elias_fault (*get)(struct cc_bit_reader *r, size_t n, int s, int16_t *levels);
};
CC_KERNELS(k_elias)

#endif
