/* Floats of 8 bits, as files of tensors store them: sign, exponent, mantissa. With 4 and 3 bits
 * (F8_E4M3 of safetensors, float8_e4m3fn of PyTorch) have no infinity and one NaN, all ones;
 * those of 5 and 2 bits (F8_E5M2) are the upper bytes of binary16. Every word has a float32 of its
 * own, NaN with its sign and mantissa included. */
#ifndef CC_CORE_FLOAT8_H
#define CC_CORE_FLOAT8_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bytes.h"

enum cc_float8 { CC_E4M3, CC_E5M2 };

/* mantissa: its bits; bias: that of the exponent; most, least: bits of the largest number as
 * float32, and of the smallest that is not subnormal. */
struct cc_float8_form {
    unsigned mantissa, bias;
    uint32_t most, least;
};

static inline struct cc_float8_form cc_float8_form(enum cc_float8 type)
{
    return type == CC_E4M3 ? (struct cc_float8_form){3, 7, 0x43e00000u, 0x3c800000u}
                           : (struct cc_float8_form){2, 15, 0x47600000u, 0x38800000u};
}

/* One or the other without a branch, which compilers would make of ?: around additions of floats:
 * then they do not vectorize. */
static inline uint32_t cc_float8_pick(bool first, uint32_t one, uint32_t other)
{
    const uint32_t mask = 0u - (uint32_t)first;
    return (one & mask) | (other & ~mask);
}

/* 2^k for -126 <= k <= 127. */
static inline float cc_float8_power(int k)
{
    return cc_bits_f32((uint32_t)(k + 127) << 23);
}

/* The exponent of the smallest number. */
static inline int cc_float8_last(struct cc_float8_form f)
{
    return 1 - (int)(f.bias + f.mantissa);
}

/* The bits of a word's float32. */
static inline uint32_t cc_float8_bits(enum cc_float8 type, unsigned word)
{
    const struct cc_float8_form f = cc_float8_form(type);
    const uint32_t mag = word & 0x7fu, nan = type == CC_E4M3 ? 0x7fu : 0x7cu;
    const uint32_t normal = (mag << (23 - f.mantissa)) + ((127 - f.bias) << 23);
    const uint32_t small = cc_f32_bits((float)(int)mag * cc_float8_power(cc_float8_last(f)));
    const uint32_t other = 0x7f800000u | (mag << (23 - f.mantissa) & 0x7fffffu);
    const uint32_t number = cc_float8_pick(mag >> f.mantissa == 0, small, normal);
    return cc_float8_pick(mag >= nan, other, number) | (uint32_t)(word & 0x80u) << 24;
}

static inline float cc_from_float8(enum cc_float8 type, unsigned word)
{
    return cc_bits_f32(cc_float8_bits(type, word));
}

/* The word of the number that is nearest to the one with these bits, ties to even; beyond the
 * largest, that. */
static inline uint8_t cc_nearest_float8(enum cc_float8 type, uint32_t bits)
{
    const struct cc_float8_form f = cc_float8_form(type);
    const unsigned cut = 23 - f.mantissa;
    const uint32_t all = bits & 0x7fffffffu, mag = cc_float8_pick(all < f.most, all, f.most);
    const float unit = cc_float8_power(23 + cc_float8_last(f));
    const uint32_t small = cc_f32_bits(cc_bits_f32(mag) + unit) - cc_f32_bits(unit);
    const uint32_t half = (1u << (cut - 1)) - 1 + (mag >> cut & 1u);
    const uint32_t normal = ((mag + half) >> cut) - ((127 - f.bias) << f.mantissa);
    return (uint8_t)(cc_float8_pick(mag < f.least, small, normal) | (bits >> 24 & 0x80u));
}

/* The word with this float32, NaN and infinity included; false if there is none. */
static inline bool cc_exact_float8(enum cc_float8 type, uint32_t bits, uint8_t *word)
{
    const uint32_t mag = bits & 0x7fffffffu;
    const unsigned cut = 23 - cc_float8_form(type).mantissa;
    const uint32_t other =
        (type == CC_E4M3 ? 0x78u : 0x7cu) | (mag >> cut & (type == CC_E4M3 ? 7u : 3u));
    const uint8_t number = cc_nearest_float8(type, bits);
    *word = (uint8_t)cc_float8_pick(mag >= CC_F32_INF_BITS, other | (bits >> 24 & 0x80u), number);
    return cc_float8_bits(type, *word) == bits;
}

#endif
