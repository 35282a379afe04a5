/* Base-3 encoding with quantization in the same pass, for 3lc and ternary (Lim, Andersen, Kaminsky:
 * 3LC, MLSys 2019, section 3.2).
 *
 * Five trits t of -1, 0, 1 make one byte: with the digits d = t + 1, most significant first,
 * byte = 81 d0 + 27 d1 + 9 d2 + 3 d3 + d4, which is 0 to 242. The digits of a byte do not come from
 * five neighbouring values: a tensor (or a part of it) of 5 L values is cut into five planes of L
 * values, and byte j holds element j of each plane.
 *
 * So bytes begin as 121, five zero trits, and each call adds the trits of values of one plane,
 * times the plane's weight. Each call streams over contiguous values, while the bytes stay in the
 * first-level cache; vectors need no shuffles between planes. Decoding first finds all digits of a
 * byte: the first one by comparing with 81 and 162, and what is left, which is below 81, in a table
 * of the other four. Then each call looks up the values of one plane's digits.
 *
 * The loops over whole vectors are in base3_avx512.h, and for AVX2 and NEON in base3_vectors.h; the
 * scalar loops here define the result and do what is left over. */
#include "schemes/kernels/base3.h"

#include "core/bytes.h"
#include "core/memory.h"
#include "schemes/kernels/vector.h"

/* Digits 1 to 4 of a byte below 81, in two bits each. */
#define DIGIT4(x) (x), (x) + 64, (x) + 128
#define DIGIT3(x) DIGIT4(x), DIGIT4((x) + 16), DIGIT4((x) + 32)
#define DIGIT2(x) DIGIT3(x), DIGIT3((x) + 4), DIGIT3((x) + 8)
static const uint8_t last_four[128] = {DIGIT2(0), DIGIT2(1), DIGIT2(2)};

#ifdef CC_VECTORS
/* A loop prefetches the values that it reaches AHEAD values later to the second-level cache,
 * AHEAD_ADD later where it adds, or AHEAD_DRAW later if it computes much between two lines.
 * Measured on a virtual Zen 4, whose memory is at times slower for reasons not known: then 3lc
 * encodes a quarter faster so, and ternary half as fast again; else the differences are within 5%,
 * where prefetches to the first-level cache take a third of the speed of a loop that only moves the
 * same bytes. On Zen 5, the loop over values of 3lc is a fifth faster so. */
#define AHEAD      512
#define AHEAD_ADD  256
#define AHEAD_DRAW 1024

static inline void prefetch(const float *x, size_t ahead)
{
    /* An integer, as it may lie outside the array. */
    __builtin_prefetch((const void *)((uintptr_t)x + ahead * sizeof *x), 0, 2);
}

/* The least m but 0 for the loops over vectors: m * 2^-32 must be exact for draw_vectors, and the
 * bits of m exceed 2^16 for round_vectors. */
#define VECTOR_LEAST 0x1p-90

static inline bool vectors_do(float m)
{
    return m == 0 || m >= VECTOR_LEAST;
}
#endif

#if defined(__AVX512F__)
#include "schemes/kernels/base3_avx512.h"
#elif defined(CC_VECTORS)
#include "schemes/kernels/base3_vectors.h"
#endif

static inline uint8_t with_trit(uint8_t byte, int trit, uint8_t weight)
{
    return (uint8_t)(byte + weight * trit);
}

static void round_plain(const float *restrict x, float half, uint8_t weight,
                        uint8_t *restrict bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = with_trit(bytes[i], (x[i] >= half) - (x[i] <= -half), weight);
}

static void round_residual(const float *restrict x, float *restrict r, float m, float half,
                           uint8_t weight, uint8_t *restrict bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float v = x[i] + r[i];
        int trit = (v >= half) - (v <= -half);
        r[i] = v - m * (float)trit;
        bytes[i] = with_trit(bytes[i], trit, weight);
    }
}

static void round_trits(const float *restrict x, float *restrict r, float m, float half,
                        uint8_t weight, uint8_t *restrict bytes, size_t n)
{
    size_t i = 0;
#ifdef CC_VECTORS
    if (vectors_do(m) && r != NULL)
        i = round_vectors(x, r, m, half, weight, bytes, n);
    else if (vectors_do(m))
        i = round_vectors(x, NULL, m, half, weight, bytes, n);
#endif
    if (r != NULL)
        round_residual(x + i, r + i, m, half, weight, bytes + i, n - i);
    else
        round_plain(x + i, half, weight, bytes + i, n - i);
}

/* The trit of one value. Values beyond m, which clipping leaves, are always sent; with m = 0 none
 * is. */
static inline int draw_one(float v, float m, struct cc_key key, uint32_t index)
{
    float a = cc_bits_f32(cc_f32_bits(v) & 0x7fffffffu);
    int sent = (double)cc_unit(cc_random(key, index)) * (double)m < (double)a;
    return v < 0 ? -sent : sent;
}

static void draw_plain(const float *restrict x, float m, struct cc_key key, uint32_t index,
                       uint8_t weight, uint8_t *restrict bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = with_trit(bytes[i], draw_one(x[i], m, key, index + (uint32_t)i), weight);
}

static void draw_residual(const float *restrict x, float *restrict r, float m, struct cc_key key,
                          uint32_t index, uint8_t weight, uint8_t *restrict bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float v = x[i] + r[i];
        int trit = draw_one(v, m, key, index + (uint32_t)i);
        r[i] = v - m * (float)trit;
        bytes[i] = with_trit(bytes[i], trit, weight);
    }
}

static void draw_trits(const float *restrict x, float *restrict r, float m, struct cc_key key,
                       uint32_t index, uint8_t weight, uint8_t *restrict bytes, size_t n)
{
    size_t i = 0;
#ifdef CC_VECTORS
    if (vectors_do(m) && r != NULL)
        i = draw_vectors(x, r, m, key, index, weight, bytes, n);
    else if (vectors_do(m))
        i = draw_vectors(x, NULL, m, key, index, weight, bytes, n);
#endif
    if (r != NULL)
        draw_residual(x + i, r + i, m, key, index + (uint32_t)i, weight, bytes + i, n - i);
    else
        draw_plain(x + i, m, key, index + (uint32_t)i, weight, bytes + i, n - i);
}

static unsigned split(const uint8_t *restrict bytes, uint8_t *const digits[CC_DIGIT_ARRAYS],
                      size_t n)
{
    unsigned most = 0;
    size_t i = 0;
#ifdef CC_VECTORS
    i = split_vectors(bytes, digits, n, &most);
#endif
    for (; i < n; i++) {
        unsigned first = (unsigned)(bytes[i] >= 81) + (bytes[i] >= 162);
        uint8_t others = last_four[(bytes[i] - 81 * first) % sizeof last_four];
        digits[0][i] = (uint8_t)first;
        digits[1][i] = others;
        digits[2][i] = others >> 4;
        most = bytes[i] > most ? bytes[i] : most;
    }
    return most;
}

#ifdef CC_VECTORS
/* The number of values, at most n, before the next line of the cache. */
static inline size_t before_line(const float *y, size_t n)
{
    size_t head = (size_t)(-(uintptr_t)y % CC_ALIGN) / sizeof *y;
    return head < n ? head : n;
}
#endif

/* Selections, not value[digit]: these become vector instructions. */
static inline float value_of(unsigned digit, const float value[3])
{
    float v = (digit & 3) == 2 ? value[2] : value[1];
    return (digit & 3) == 0 ? value[0] : v;
}

static inline void set_each(const uint8_t *restrict digits, unsigned shift, const float value[3],
                            float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = value_of((unsigned)digits[i] >> shift, value);
}

static void set(const uint8_t *restrict digits, unsigned shift, const float value[3],
                float *restrict y, size_t n, bool nontemporal)
{
    size_t i = 0;
#ifdef CC_VECTORS
    i = before_line(y, n);
    set_each(digits, shift, value, y, i);
    if (shift == 0)
        i += set_vectors(digits + i, 0, value, y + i, n - i, nontemporal);
    else
        i += set_vectors(digits + i, 2, value, y + i, n - i, nontemporal);
#endif
    (void)nontemporal;
    set_each(digits + i, shift, value, y + i, n - i);
}

static inline void add_each(const uint8_t *restrict digits, unsigned shift, const float value[3],
                            float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += value_of((unsigned)digits[i] >> shift, value);
}

static void add(const uint8_t *restrict digits, unsigned shift, const float value[3],
                float *restrict y, size_t n)
{
    size_t i = 0;
#ifdef CC_VECTORS
    i = before_line(y, n);
    add_each(digits, shift, value, y, i);
    if (shift == 0)
        i += add_vectors(digits + i, 0, value, y + i, n - i);
    else
        i += add_vectors(digits + i, 2, value, y + i, n - i);
#endif
    add_each(digits + i, shift, value, y + i, n - i);
}

static size_t zeros(const uint8_t *bytes, size_t n)
{
    const uint64_t eight = UINT64_C(0x0101010101010101) * CC_BYTE_ZERO;
    size_t i = 0;
    while (i + 8 <= n && cc_get_u64(bytes + i) == eight)
        i += 8;
    while (i < n && bytes[i] == CC_BYTE_ZERO)
        i++;
    return i;
}

const struct k_base3 CC_K(k_base3) = {
    .round = round_trits,
    .draw = draw_trits,
    .split = split,
    .set = set,
    .add = add,
    .zeros = zeros,
};
