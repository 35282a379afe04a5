/* Words of floats, split into the upper byte of the word rotated to the left by one, which is the
 * exponent of float32 and bfloat16, and the rest. */
#ifndef CC_SCHEMES_KERNELS_WORDS_H
#define CC_SCHEMES_KERNELS_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/isa.h"
#include "schemes/kernels/exponent.h"

struct k_words {
    /* Rotates each word to the left by one: its upper byte goes to `high`, the rest, 3 bytes or 1,
     * to `low`. For each 8 values, split32 may write 4 bytes beyond those of `low`. ahead: what the
     * caller reads after these values, which is prefetched, a word for each; NULL: nothing. */
    void (*split32)(const float *x, size_t n, const void *ahead, uint8_t *low, uint8_t *high);
    void (*split16)(const uint16_t *w, size_t n, const void *ahead, uint8_t *low, uint8_t *high);
    /* The reverse. join32 may read 4 bytes beyond those of `low`. scale NULL: sets y; nontemporal:
     * around the cache if y begins on CC_ALIGN. Otherwise adds scale * value. */
    void (*join32)(const uint8_t *low, const uint8_t *high, size_t n, const void *ahead,
                   const float *scale, bool nontemporal, float *y);
    void (*join16)(const uint8_t *low, const uint8_t *high, size_t n, uint16_t *w);
    /* The upper bytes of binary16, or words of E5M2, rotated: the exponents, and the 3 bits after
     * them, two in codes of 2 bits (kernels/exponent.h), the highest in a bit array. */
    void (*cut)(const uint8_t *high, size_t n, uint8_t *exponent, uint8_t *twos, uint8_t *ones);
    void (*uncut)(const uint8_t *exponent, const uint8_t *twos, const uint8_t *ones, size_t n,
                  uint8_t *high);
    /* Rotated words of E4M3: the exponents, and the 4 bits after them in codes of 4 bits. */
    void (*cut4)(const uint8_t *high, size_t n, uint8_t *exponent, uint8_t *fours);
    void (*uncut4)(const uint8_t *exponent, const uint8_t *fours, size_t n, uint8_t *high);
    /* The bits that are set in the lower half of any word. */
    uint32_t (*lower)(const float *x, size_t n);
    /* split32 and join32 for words that have none, by their upper halves. Returns what lower does.
     */
    uint32_t (*split_bf16)(const float *x, size_t n, const void *ahead, uint8_t *low,
                           uint8_t *high);
    void (*join_bf16)(const uint8_t *low, const uint8_t *high, size_t n, const void *ahead,
                      const float *scale, bool nontemporal, float *y);
    /* Sets a bit for each word that is not 0, packs these words to `out`, which has room for n and
     * 16 more, and returns their number. */
    size_t (*pack)(const float *x, size_t n, uint8_t *bits, float *out);
};
CC_KERNELS(k_words)

#endif
