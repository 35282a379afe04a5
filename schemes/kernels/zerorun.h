/* Zero-run encoding of base-3 bytes: 2 to 14 bytes of 121 in a row become one byte, 243 to 255. */
#ifndef CC_SCHEMES_KERNELS_ZERORUN_H
#define CC_SCHEMES_KERNELS_ZERORUN_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"

#define CC_RUN_MAX 14u

/* A run of k = 2 .. 14 bytes is written as CC_RUN_CODE + k. */
#define CC_RUN_CODE 241u

/* Bytes that may be written, or read, beyond those that are asked for. */
#define CC_RUN_SLACK 256u

/* The input is expanded in groups of this many bytes. */
#define CC_RUN_GROUP 8u

struct k_zerorun {
    /* Encodes n bytes of at most 242. in[n] is read too: it tells whether a run continues. *run is
     * the length of a run that is not written yet, from one call to the next; 0 at first. Returns
     * the length of the output. CC_RUN_SLACK bytes after in[n] may be read, and after out[n]
     * written. */
    size_t (*encode)(const uint8_t *in, size_t n, unsigned *run, uint8_t *out);
    /* Expands in[*at, len) until out has `want` bytes or some more, or the input ends. out has room
     * for want + CC_RUN_SLACK bytes, of which the first want + CC_RUN_GROUP * CC_RUN_MAX are
     * CC_BYTE_ZERO before. Advances *at, and returns the number of bytes that out has, which is
     * below want + CC_RUN_SLACK, also if others write to the input.
     */
    size_t (*decode)(const uint8_t *in, size_t len, size_t *at, uint8_t *out, size_t want);
    /* The same without writing: advances *at over input that expands to `want` bytes or more, or to
     * the end of the input. Returns less than want + CC_RUN_SLACK. */
    size_t (*skip)(const uint8_t *in, size_t len, size_t *at, size_t want);
};
CC_KERNELS(k_zerorun)

#endif
