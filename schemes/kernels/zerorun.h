/* Zero-run encoding: 2 to 14 bytes of 121 in a row become one byte, 243 to 255. */
#ifndef CC_SCHEMES_KERNELS_ZERORUN_H
#define CC_SCHEMES_KERNELS_ZERORUN_H

#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"

#define CC_RUN_MAX 14u

/* The byte for a run of k = 2 .. 14 is CC_RUN_CODE + k. */
#define CC_RUN_CODE 241u

/* Decoding may write so much beyond what is wanted. */
#define CC_RUN_SLACK 128u

struct k_zerorun {
    /* Encodes n bytes of at most 242. in[n] is read too: it says whether a run goes on. *run
     * carries an unfinished run from piece to piece; 0 at first. Writes within out[0, n) and
     * returns how many bytes count. */
    size_t (*encode)(const uint8_t *in, size_t n, unsigned *run, uint8_t *out);
    /* Expands in[*at, len) until `want` bytes or more are accounted for in out, or the input ends;
     * the last run may go beyond. out has room for want + CC_RUN_SLACK bytes and is full of
     * CC_BYTE_ZERO before. Advances *at and
     * returns how many bytes were expanded. */
    size_t (*decode)(const uint8_t *in, size_t len, size_t *at, uint8_t *out, size_t want);
    /* Counts instead of writing: passes over in[*at, len) until it expands to `want` bytes or more,
     * or ends. */
    size_t (*skip)(const uint8_t *in, size_t len, size_t *at, size_t want);
};
CC_KERNELS(k_zerorun)

#endif
