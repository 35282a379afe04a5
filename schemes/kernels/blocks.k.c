/* Codes of values in blocks: small floats (OCP 8-bit Floating Point Specification, revision 1.0,
 * and Microscaling Formats, version 1.0) and integers of 4 bits.
 *
 * A small float is the top of a binary32 with another bias. Rounding to the nearest adds half a
 * unit of its last place to the bits of |x|, less one where the place is even, and rounding at
 * random adds random bits below that place; the carry into the exponent is right in both cases.
 * Below the least normal number codes are multiples of a quantum q: adding q * 2^23 to |x| leaves
 * them in the lowest bits; at random they are one of the two integers around |x| / q.
 *
 * The loops are plain, with the number of values of a block known where it is the usual 32, so that
 * compilers vectorize them; those for AVX-512 are written out, as compilers take half its width. */
#include "schemes/kernels/blocks.h"

#include <stdbool.h>

#include "core/bytes.h"
#include "schemes/kernels/lanes.h"

#define INLINE static inline __attribute__((always_inline))

/* A format: with a mantissa of 0 bits, integers from -most to most; otherwise floats, whose codes
 * of magnitudes are used up to `most`. */
struct format {
    unsigned bits, mantissa, bias, most;
};

#define E4M3 ((struct format){.bits = 8, .mantissa = 3, .bias = 7, .most = 0x7e})
#define E5M2 ((struct format){.bits = 8, .mantissa = 2, .bias = 15, .most = 0x7b})
#define E2M1 ((struct format){.bits = 4, .mantissa = 1, .bias = 1, .most = 7})
#define INT4 ((struct format){.bits = 4, .most = 7})

/* A power of two. */
INLINE float power(int exponent)
{
    return cc_bits_f32((uint32_t)(127 + exponent) << 23);
}

/* The exponent of the quantum of numbers below the least normal one. */
INLINE int quantum(struct format f)
{
    return 1 - (int)f.bias - (int)f.mantissa;
}

/* yes if `if_so`, otherwise no: by masks, as compilers may not compute both sides of a condition
 * with float operations, and would not vectorize the loop. */
INLINE uint32_t chosen(bool if_so, uint32_t yes, uint32_t no)
{
    const uint32_t mask = -(uint32_t)if_so;
    return (yes & mask) | (no & ~mask);
}

INLINE float decoded(struct format f, uint8_t code)
{
    if (f.mantissa == 0)
        return (float)((int32_t)((uint32_t)code << 28) >> 28);
    const uint32_t sign = (uint32_t)code >> (f.bits - 1) << 31;
    const uint32_t mag = code & ((1u << (f.bits - 1)) - 1);
    const float small = (float)(int32_t)(mag & ((1u << f.mantissa) - 1)) * power(quantum(f));
    const uint32_t normal = (mag << (23 - f.mantissa)) + ((127 - f.bias) << 23);
    return cc_bits_f32(sign | chosen(mag >> f.mantissa == 0, cc_f32_bits(small), normal));
}

#if defined(CC_LANES)
#include "schemes/kernels/blocks_avx512.h"
#else
INLINE uint32_t least_of(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* v, or where |v| is larger than `most`, or NaN, that with v's sign. */
INLINE float limited(float v, float most)
{
    const uint32_t bits = cc_f32_bits(v);
    return cc_bits_f32(least_of(bits & 0x7fffffffu, cc_f32_bits(most)) | (bits & 0x80000000u));
}

/* One of the two integers around v at random, v itself if it is one. */
INLINE int32_t drawn(float v, uint32_t draw)
{
    const int32_t cut = (int32_t)v, down = cut - (v < (float)cut);
    return down + (cc_unit(draw) < v - (float)down);
}

/* --- one value --- */

INLINE uint8_t float_nearest(struct format f, float v)
{
    const uint32_t bits = cc_f32_bits(v), mag = bits & 0x7fffffffu, drop = 23 - f.mantissa;
    const float magic = power(quantum(f) + 23);
    const uint32_t rounded = (mag + (1u << (drop - 1)) - 1 + (mag >> drop & 1u)) >> drop;
    const uint32_t normal = rounded - ((127 - f.bias) << f.mantissa);
    const uint32_t small = cc_f32_bits(cc_bits_f32(mag) + magic) - cc_f32_bits(magic);
    const uint32_t code = chosen(mag < (128 - f.bias) << 23, small, normal);
    return (uint8_t)(least_of(code, f.most) | (bits >> 31) << (f.bits - 1));
}

INLINE uint8_t float_random(struct format f, float v, uint32_t draw)
{
    const uint32_t bits = cc_f32_bits(v), mag = bits & 0x7fffffffu, drop = 23 - f.mantissa;
    const uint32_t rounded = (mag + (draw >> (32 - drop))) >> drop;
    const uint32_t normal = rounded - ((127 - f.bias) << f.mantissa);
    /* Only used for small magnitudes; limited, so that the conversion is defined for all. */
    const float a = limited(cc_bits_f32(mag), power(1 - (int)f.bias));
    const uint32_t small = (uint32_t)drawn(a * power(-quantum(f)), draw);
    const uint32_t code = chosen(mag < (128 - f.bias) << 23, small, normal);
    return (uint8_t)(least_of(code, f.most) | (bits >> 31) << (f.bits - 1));
}

/* The lower half of the byte has the integer. */
INLINE uint8_t int_nearest(struct format f, float v)
{
    const float rounder = 0x1.8p23f, q = limited(v, (float)(int)f.most);
    return (uint8_t)((cc_f32_bits(q + rounder) - cc_f32_bits(rounder)) & 15u);
}

INLINE uint8_t int_random(struct format f, float v, uint32_t draw)
{
    return (uint8_t)((uint32_t)drawn(limited(v, (float)(int)f.most), draw) & 15u);
}

INLINE unsigned unused(struct format f, uint8_t code)
{
    if (f.mantissa == 0)
        return code == 8;
    return (code & ((1u << (f.bits - 1)) - 1)) > f.most;
}

/* --- one block --- */

INLINE void nearest_block(struct format f, const float *restrict x, size_t n, float divisor,
                          uint8_t *restrict codes)
{
    for (size_t i = 0; i < n; i++)
        codes[i] =
            f.mantissa == 0 ? int_nearest(f, x[i] / divisor) : float_nearest(f, x[i] / divisor);
}

INLINE void random_block(struct format f, const float *restrict x, size_t n, float divisor,
                         struct cc_key key, uint32_t first, uint8_t *restrict codes)
{
    uint32_t index = first; /* as wide as the values, for vectors */
    for (size_t i = 0; i < n; i++, index++) {
        const uint32_t draw = cc_random(key, index);
        codes[i] = f.mantissa == 0 ? int_random(f, x[i] / divisor, draw)
                                   : float_random(f, x[i] / divisor, draw);
    }
}

INLINE unsigned load_block(struct format f, const uint8_t *restrict codes, size_t n, float scale,
                           float *restrict y)
{
    uint8_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        bad |= (uint8_t)unused(f, codes[i]);
        y[i] = decoded(f, codes[i]) * scale;
    }
    return bad;
}

INLINE unsigned add_block(struct format f, const uint8_t *restrict codes, size_t n, float scale,
                          float factor, float *restrict y)
{
    uint8_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        bad |= (uint8_t)unused(f, codes[i]);
        const float value = decoded(f, codes[i]) * scale;
        const float product = factor * value;
        y[i] += product;
    }
    return bad;
}

INLINE void rest_block(struct format f, const float *restrict v, const uint8_t *restrict codes,
                       size_t n, float scale, float *restrict r)
{
    for (size_t i = 0; i < n; i++) {
        const float value = decoded(f, codes[i]) * scale;
        r[i] = v[i] - value;
    }
}
#endif

INLINE uint32_t absmax_block(const float *restrict x, size_t n)
{
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t mag = cc_f32_bits(x[i]) & 0x7fffffffu;
        most = mag > most ? mag : most;
    }
    return most;
}

/* --- all blocks of a call --- */

/* Calls `one` with `i`, the first value of a block, `m`, its number of values, and `b`, its index.
 */
#define USUAL 32
#define EACH_BLOCK(one)                                                                            \
    do {                                                                                           \
        size_t i = 0, b = 0;                                                                       \
        if (block == USUAL) {                                                                      \
            const size_t m = USUAL;                                                                \
            for (; i + USUAL <= n; i += USUAL, b++) {                                              \
                one;                                                                               \
            }                                                                                      \
        }                                                                                          \
        for (; i < n; i += block, b++) {                                                           \
            const size_t m = n - i < block ? n - i : block;                                        \
            one;                                                                                   \
        }                                                                                          \
    } while (0)

#define FORMAT(name, f)                                                                            \
    static void name##_nearest(const float *x, size_t n, size_t block, const float *divisor,       \
                               uint8_t *codes)                                                     \
    {                                                                                              \
        EACH_BLOCK(nearest_block(f, x + i, m, divisor[b], codes + i));                             \
    }                                                                                              \
    static void name##_random(const float *x, size_t n, size_t block, const float *divisor,        \
                              struct cc_key key, uint32_t first, uint8_t *codes)                   \
    {                                                                                              \
        EACH_BLOCK(random_block(f, x + i, m, divisor[b], key, first + (uint32_t)i, codes + i));    \
    }                                                                                              \
    static int name##_load(const uint8_t *codes, size_t n, size_t block, const float *scale,       \
                           float *y)                                                               \
    {                                                                                              \
        unsigned bad = 0;                                                                          \
        EACH_BLOCK(bad |= load_block(f, codes + i, m, scale[b], y + i));                           \
        return (int)bad;                                                                           \
    }                                                                                              \
    static int name##_add(const uint8_t *codes, size_t n, size_t block, const float *scale,        \
                          float factor, float *y)                                                  \
    {                                                                                              \
        unsigned bad = 0;                                                                          \
        EACH_BLOCK(bad |= add_block(f, codes + i, m, scale[b], factor, y + i));                    \
        return (int)bad;                                                                           \
    }                                                                                              \
    static void name##_rest(const float *v, const uint8_t *codes, size_t n, size_t block,          \
                            const float *scale, float *r)                                          \
    {                                                                                              \
        EACH_BLOCK(rest_block(f, v + i, codes + i, m, scale[b], r + i));                           \
    }

FORMAT(e4m3, E4M3)
FORMAT(e5m2, E5M2)
FORMAT(e2m1, E2M1)
FORMAT(int4, INT4)

static uint32_t absmax(const float *x, size_t n, size_t block, uint32_t *most)
{
    uint32_t all = 0;
    EACH_BLOCK(most[b] = absmax_block(x + i, m); all = most[b] > all ? most[b] : all);
    return all;
}

static void sum(const float *restrict x, const float *restrict r, float *restrict v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i] = x[i] + r[i];
}

static void join(const uint8_t *restrict codes, size_t n, uint8_t *restrict out)
{
    for (size_t i = 0; i < n / 2; i++)
        out[i] = (uint8_t)(codes[2 * i] | codes[2 * i + 1] << 4);
    if (n % 2 != 0)
        out[n / 2] = codes[n - 1];
}

static void split(const uint8_t *restrict in, size_t n, uint8_t *restrict codes)
{
    for (size_t i = 0; i < n / 2 + n % 2; i++) {
        codes[2 * i] = in[i] & 15;
        codes[2 * i + 1] = in[i] >> 4;
    }
}

#define TABLE(name)                                                                                \
    {                                                                                              \
        .nearest = name##_nearest, .random = name##_random, .load = name##_load,                   \
        .add = name##_add, .rest = name##_rest                                                     \
    }

const struct k_blocks CC_K(k_blocks) = {
    .e4m3 = TABLE(e4m3),
    .e5m2 = TABLE(e5m2),
    .e2m1 = TABLE(e2m1),
    .int4 = TABLE(int4),
    .sum = sum,
    .absmax = absmax,
    .join = join,
    .split = split,
};
