/* Bit arrays: value 8j + i is bit i of byte j. An array of n bits has ceil(n/8) bytes at any
 * address, and no other byte is read or written. */
#ifndef CC_SCHEMES_KERNELS_BITARRAY_H
#define CC_SCHEMES_KERNELS_BITARRAY_H

#include <stddef.h>
#include <stdint.h>

#include "core/bytes.h"

/* The bytes of an array of n bits. */
static inline size_t cc_bit_bytes(size_t n)
{
    return n / 8 + (n % 8 != 0);
}

/* The 64 bits from bit i (a multiple of 64) of a bit array of n > i; those from n on are 0. */
static inline uint64_t cc_bits_word(const uint8_t *bits, size_t n, size_t i)
{
    if (n - i >= 64)
        return cc_get_u64(bits + i / 8);
    uint64_t w = 0;
    memcpy(&w, bits + i / 8, (n - i + 7) / 8);
    return w & ((UINT64_C(1) << (n - i)) - 1);
}

static inline void cc_bits_put_word(uint8_t *bits, size_t n, size_t i, uint64_t w)
{
    memcpy(bits + i / 8, &w, n - i >= 64 ? 8 : (n - i + 7) / 8);
}

/* Loops over the numbers i of the set bits of w, lowest first; w is 0 afterwards. */
#define CC_FOR_SET_BITS(i, w)                                                                      \
    for (size_t i; (w) != 0 && (i = (size_t)__builtin_ctzll(w), 1); (w) &= (w)-1)

#endif
