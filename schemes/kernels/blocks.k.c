/* Codes of values in blocks: small floats (OCP 8-bit Floating Point Specification, revision 1.0,
 * and Microscaling Formats, version 1.0) and integers of 4 and 8 bits.
 *
 * A small float is the top of a binary32 with another bias. Rounding to the nearest adds half a
 * unit of its last place to the bits of |x|, less one where the place is even, and rounding at
 * random adds random bits below that place; the carry into the exponent is right in both cases.
 * Below the least normal number codes are multiples of a quantum q: adding q * 2^23 to |x| leaves
 * them in the lowest bits; at random they are one of the two integers around |x| / q.
 *
 * The loops are plain, with the number of values of a block known where it is the usual 32, so that
 * compilers vectorize them; those for AVX-512 are written out, as compilers take half its width,
 * and so are rounding at random and decoding, by the machine's conversion of binary16, with AVX2
 * and NEON. */
#include "schemes/kernels/blocks.h"

#include <stdbool.h>

#include "core/bytes.h"
#include "schemes/kernels/lanes.h"
#include "schemes/kernels/vector.h"

#define INLINE static inline __attribute__((always_inline))

/* A format: with a bias of 0, integers from -most to most; otherwise floats, whose codes of
 * magnitudes are used up to `most`. */
struct format {
    unsigned bits, mantissa, bias, most;
};

#define E4M3 ((struct format){.bits = 8, .mantissa = 3, .bias = 7, .most = 0x7e})
#define E5M2 ((struct format){.bits = 8, .mantissa = 2, .bias = 15, .most = 0x7b})
#define E2M1 ((struct format){.bits = 4, .mantissa = 1, .bias = 1, .most = 7})
#define E3M0 ((struct format){.bits = 4, .mantissa = 0, .bias = 3, .most = 7})
#define INT4 ((struct format){.bits = 4, .most = 7})
#define INT8 ((struct format){.bits = 8, .most = 127})

INLINE bool is_integer(struct format f)
{
    return f.bias == 0;
}

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
    if (is_integer(f))
        return (float)((int32_t)((uint32_t)code << (32 - f.bits)) >> (32 - f.bits));
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

/* The lowest bits of the byte have the integer. */
INLINE uint8_t int_nearest(struct format f, float v)
{
    const float rounder = 0x1.8p23f, q = limited(v, (float)(int)f.most);
    return (uint8_t)((cc_f32_bits(q + rounder) - cc_f32_bits(rounder)) & ((1u << f.bits) - 1));
}

INLINE uint8_t int_random(struct format f, float v, uint32_t draw)
{
    return (uint8_t)((uint32_t)drawn(limited(v, (float)(int)f.most), draw) & 15u);
}

INLINE unsigned unused(struct format f, uint8_t code)
{
    if (is_integer(f))
        return code == 1u << (f.bits - 1);
    return (code & ((1u << (f.bits - 1)) - 1)) > f.most;
}

/* --- encoding 16 values at a time, at random: the arithmetic of one value, on vectors ---
 *
 * Compilers vectorize rounding to the nearest as well as this would be. */

#if defined(CC_VECTORS)
INLINE cc_vu32 all_lanes(uint32_t v)
{
    return (cc_vu32){0} + v;
}

INLINE cc_vu32 chosen_lanes(cc_vi32 if_so, cc_vu32 yes, cc_vu32 no)
{
    return (yes & (cc_vu32)if_so) | (no & ~(cc_vu32)if_so);
}

/* |v| by its bits, limited to those of `most`, which NaN becomes, too. */
INLINE cc_vu32 magnitudes(cc_vf32 v, float most)
{
    const cc_vi32 mag = (cc_vi32)((cc_vu32)v & 0x7fffffffu);
    const cc_vi32 limit = (cc_vi32)all_lanes(cc_f32_bits(most));
    return chosen_lanes(mag < limit, (cc_vu32)mag, (cc_vu32)limit);
}

INLINE cc_vf32 limited_lanes(cc_vf32 v, float most)
{
    return (cc_vf32)(magnitudes(v, most) | ((cc_vu32)v & 0x80000000u));
}

/* The integer above, and that below as a float and as an integer. */
INLINE cc_vu32 above_lanes(cc_vf32 v)
{
#if defined(__AVX2__)
    return (cc_vu32)_mm256_cvttps_epi32(_mm256_ceil_ps(v));
#else
    return vreinterpretq_u32_s32(vcvtpq_s32_f32(v));
#endif
}

INLINE cc_vf32 floor_lanes(cc_vf32 v)
{
#if defined(__AVX2__)
    return _mm256_floor_ps(v);
#else
    return vrndmq_f32(v);
#endif
}

INLINE cc_vu32 whole_lanes(cc_vf32 v)
{
#if defined(__AVX2__)
    return (cc_vu32)_mm256_cvttps_epi32(v);
#else
    return vreinterpretq_u32_s32(vcvtq_s32_f32(v));
#endif
}

/* Codes of floats first in the top bytes, with 24 bits of the fraction behind: the upper 24 random
 * bits carry where the code is the one above. Below the least normal number the fraction is cut off
 * upwards, so that its complement is subtracted: blocks_avx512.h says why that is the same. */
INLINE cc_vu32 random_lanes(struct format f, cc_vf32 v, cc_vu32 draw)
{
    const unsigned shift = 1 + f.mantissa;
    if (is_integer(f)) {
        const cc_vf32 q = limited_lanes(v, (float)(int)f.most), down = floor_lanes(q);
        const cc_vf32 unit = __builtin_convertvector((cc_vi32)(draw >> 8), cc_vf32) * 0x1p-24f;
        return (whole_lanes(down) - (cc_vu32)(unit < q - down)) & 15u;
    }
    const cc_vu32 mag = magnitudes(v, decoded(f, (uint8_t)f.most));
    const cc_vu32 normal = (mag << shift) + (draw >> 8) - ((127 - f.bias) << (23 + shift));
    const cc_vu32 small =
        above_lanes((cc_vf32)mag * power(24 - quantum(f))) + (0xffffffu - (draw >> 8));
    const cc_vi32 below = (cc_vi32)mag < (int32_t)((128 - f.bias) << 23);
    return chosen_lanes(below, small, normal) >> 24 | (cc_vu32)v >> 31 << (f.bits - 1);
}

/* The lowest bytes of 16 lanes, which are below 256. */
INLINE void put16(const cc_vu32 v[CC_VECTORS_16], uint8_t *codes)
{
#if defined(__AVX2__)
    const __m256i words = _mm256_packus_epi32((__m256i)v[0], (__m256i)v[1]);
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(words, words),
                                                      _mm256_setr_epi32(0, 4, 1, 5, 0, 4, 1, 5));
    _mm_storeu_si128((__m128i_u *)(void *)codes, _mm256_castsi256_si128(bytes));
#else
    vst1q_u8(codes, cc_neon_low_bytes(v[0], v[1], v[2], v[3]));
#endif
}

/* Encodes whole groups; returns the number of their values. By powers of two values are divided by
 * a product, which is the same. */
INLINE size_t draw_groups(struct format f, const float *x, size_t n, float divisor,
                          struct cc_key key, uint32_t first, uint8_t *codes)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        cc_vu32 code[CC_VECTORS_16];
        for (size_t k = 0; k < CC_VECTORS_16; k++) {
            const uint32_t at = (uint32_t)(i + k * CC_VECTOR);
            const cc_vu32 draw = cc_vu32_random(cc_vu32_index(key, first + at), key.b);
            code[k] = random_lanes(f, cc_vf32_load(x + at) / divisor, draw);
        }
        put16(code, codes + i);
    }
    return i;
}
#else
#define draw_groups(f, x, n, divisor, key, first, codes) ((size_t)0)
#endif

/* --- one block --- */

INLINE void nearest_block(struct format f, const float *restrict x, size_t n, float divisor,
                          uint8_t *restrict codes)
{
    for (size_t i = 0; i < n; i++)
        codes[i] =
            is_integer(f) ? int_nearest(f, x[i] / divisor) : float_nearest(f, x[i] / divisor);
}

INLINE void random_block(struct format f, const float *restrict x, size_t n, float divisor,
                         struct cc_key key, uint32_t first, uint8_t *restrict codes)
{
    size_t i = draw_groups(f, x, n, divisor, key, first, codes);
    uint32_t index = first + (uint32_t)i; /* as wide as the values, for vectors */
    for (; i < n; i++, index++) {
        const uint32_t draw = cc_random(key, index);
        codes[i] = is_integer(f) ? int_random(f, x[i] / divisor, draw)
                                 : float_random(f, x[i] / divisor, draw);
    }
}

/* --- decoding 16 codes at a time ---
 *
 * A small float, moved to the places of a binary16, is that number but for the bias: the machine
 * converts it, and a power of two, exact, makes up for the bias. */
#if defined(CC_VECTORS)
#define SOME        16
typedef uint8_t codes16 __attribute__((vector_size(16)));
typedef uint16_t halves16 __attribute__((vector_size(32)));

INLINE codes16 load16(const uint8_t *codes)
{
    codes16 c;
    memcpy(&c, codes, sizeof c);
    return c;
}

INLINE void decode16(struct format f, codes16 c, cc_vf32 v[CC_VECTORS_16])
{
    const unsigned sign = f.bits - 1;
    const halves16 w = __builtin_convertvector(c, halves16);
    const halves16 half = (w & (uint16_t)((1u << sign) - 1)) << (10 - f.mantissa) |
                          (w & (uint16_t)(1u << sign)) << (15 - sign);
    uint16_t room[SOME];
    memcpy(room, &half, sizeof room);
    for (size_t k = 0; k < CC_VECTORS_16; k++)
        v[k] = cc_vf32_from(room, k * CC_VECTOR, CC_ELEMENT_FP16) * power(15 - (int)f.bias);
}

/* Not 0 in the bytes of codes that are not used. */
INLINE codes16 unused16(struct format f, codes16 c)
{
    return (codes16)((c & (uint8_t)((1u << (f.bits - 1)) - 1)) > (uint8_t)f.most);
}

INLINE unsigned any16(codes16 c)
{
    uint64_t half[2];
    memcpy(half, &c, sizeof half);
    return (half[0] | half[1]) != 0;
}

/* The uses of decoded values: out = value, out += factor * value, out = v - value. */
enum use { SET, ADD, REST };

/* Decodes whole groups, if the format is one of floats; returns the number of their values. */
INLINE size_t decode_groups(struct format f, const uint8_t *codes, size_t n, float scale,
                            enum use use, float factor, const float *v, float *out, unsigned *bad)
{
    codes16 wrong = {0};
    size_t i = 0;
    for (; !is_integer(f) && i + SOME <= n; i += SOME) {
        cc_vf32 value[CC_VECTORS_16];
        const codes16 c = load16(codes + i);
        wrong |= unused16(f, c);
        decode16(f, c, value);
        for (size_t k = 0; k < CC_VECTORS_16; k++) {
            value[k] *= scale;
            if (use == REST)
                value[k] = cc_vf32_load(v + i + k * CC_VECTOR) - value[k];
        }
        if (use == ADD)
            cc_add_16(out + i, factor, value);
        else
            cc_store_16(out + i, value, false);
    }
    *bad |= any16(wrong);
    return i;
}
#define GROUPS(...) decode_groups(__VA_ARGS__)
#else
#define GROUPS(f, codes, n, scale, use, factor, v, out, bad) ((void)(bad), (size_t)0)
#endif

INLINE unsigned load_block(struct format f, const uint8_t *restrict codes, size_t n, float scale,
                           float *restrict y)
{
    unsigned wrong = 0;
    uint8_t bad = 0;
    for (size_t i = GROUPS(f, codes, n, scale, SET, 0, y, y, &wrong); i < n; i++) {
        bad |= (uint8_t)unused(f, codes[i]);
        y[i] = decoded(f, codes[i]) * scale;
    }
    return bad | wrong;
}

INLINE unsigned add_block(struct format f, const uint8_t *restrict codes, size_t n, float scale,
                          float factor, float *restrict y)
{
    unsigned wrong = 0;
    uint8_t bad = 0;
    for (size_t i = GROUPS(f, codes, n, scale, ADD, factor, y, y, &wrong); i < n; i++) {
        bad |= (uint8_t)unused(f, codes[i]);
        const float value = decoded(f, codes[i]) * scale;
        const float product = factor * value;
        y[i] += product;
    }
    return bad | wrong;
}

INLINE void rest_block(struct format f, const float *restrict v, const uint8_t *restrict codes,
                       size_t n, float scale, float *restrict r)
{
    unsigned ignored = 0; /* these codes were just made */
    for (size_t i = GROUPS(f, codes, n, scale, REST, 0, v, r, &ignored); i < n; i++) {
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

#define FORMAT_RANDOM(name, f)                                                                     \
    static void name##_random(const float *x, size_t n, size_t block, const float *divisor,        \
                              struct cc_key key, uint32_t first, uint8_t *codes)                   \
    {                                                                                              \
        EACH_BLOCK(random_block(f, x + i, m, divisor[b], key, first + (uint32_t)i, codes + i));    \
    }

FORMAT(e4m3, E4M3)
FORMAT(e5m2, E5M2)
FORMAT(e2m1, E2M1)
FORMAT(e3m0, E3M0)
FORMAT(int4, INT4)
FORMAT(int8, INT8)
FORMAT_RANDOM(e4m3, E4M3)
FORMAT_RANDOM(e5m2, E5M2)
FORMAT_RANDOM(e2m1, E2M1)
FORMAT_RANDOM(e3m0, E3M0)
FORMAT_RANDOM(int4, INT4)

static uint32_t absmax(const float *x, size_t n, size_t block, uint32_t *most)
{
    uint32_t all = 0;
    EACH_BLOCK(most[b] = absmax_block(x + i, m); all = most[b] > all ? most[b] : all);
    return all;
}

#define SUM(name)                                                                                  \
    static void sum_##name(const void *restrict x, const float *restrict r, float *restrict v,     \
                           size_t n)                                                               \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            v[i] = cc_element_at(x, i, CC_ELEMENT_##name) + r[i];                                  \
    }
SUM(FP32)
SUM(BF16)
SUM(FP16)

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
    .e3m0 = TABLE(e3m0),
    .int4 = TABLE(int4),
    .int8 = {.nearest = int8_nearest, .load = int8_load, .add = int8_add, .rest = int8_rest},
    .sum = {sum_FP32, sum_BF16, sum_FP16},
    .absmax = absmax,
    .join = join,
    .split = split,
};
