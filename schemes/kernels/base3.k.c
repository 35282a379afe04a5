/* Base-3 encoding with quantization in the same pass, for 3lc and ternary (Lim, Andersen, Kaminsky:
 * 3LC, MLSys 2019, section 3.2).
 *
 * Five trits t of -1, 0, 1 make one byte: with the digits d = t + 1, most significant first,
 * byte = 81 d0 + 27 d1 + 9 d2 + 3 d3 + d4, which is 0 to 242. The digits of a byte do not come from
 * five neighbouring values: a tensor (or a part of it) of 5 L values is cut into five planes of L
 * values, and byte j holds element j of each plane.
 *
 * So a block of bytes is built plane by plane: byte = 3 * byte + digit, first for plane 0, then for
 * plane 1, and so on. Each call streams over contiguous values, while the block of bytes stays in
 * the first-level cache; vectors need no shuffles. Decoding does the reverse: it splits off the
 * first digit (comparing with 81 and 162), writes the values of a plane, and multiplies what is
 * left by 3, which brings the next digit to the front.
 *
 * The loops over whole vectors are in base3_avx512.h, base3_avx2.h and base3_neon.h; the scalar
 * loops here define the result and do what is left over. */
#include "schemes/kernels/base3.h"

#include "core/bytes.h"
#include "core/memory.h"

#if defined(__AVX2__) || defined(__ARM_NEON)
/* Distance of software prefetching in values, all streams together. The hardware's own prefetching
 * begins anew with each of the five planes, and with each page. Out of cache, 1,500 to 2,000 were
 * the best of 256 to 4,096, and a third faster than none; in cache it costs nothing. */
#define AHEAD 2048

static inline void prefetch(const float *x, ptrdiff_t ahead)
{
    /* Integers, as x + ahead may lie outside the array. */
    __builtin_prefetch((const void *)((uintptr_t)x + (uintptr_t)ahead * sizeof *x));
}

/* The number of values, out of n, whose prefetches stay within this plane. Those of the others go
 * to the beginning of the next plane. */
static inline size_t near_part(size_t n, size_t ahead)
{
    return n > ahead ? (n - ahead) / 64 * 64 : 0;
}

/* The least m for draw_vectors, which needs m * 2^-24 to be exact. */
#define DRAW_LEAST 0x1p-100f
#endif

#if defined(__AVX512F__)
#include "schemes/kernels/base3_avx512.h"
#define VECTORS
#elif defined(__AVX2__)
#include "schemes/kernels/base3_avx2.h"
#define VECTORS
#elif defined(__ARM_NEON)
#include "schemes/kernels/base3_neon.h"
#define VECTORS
#endif

static inline uint8_t append(uint8_t byte, int trit)
{
    return (uint8_t)(3 * byte + (int)CC_DIGIT_ZERO + trit);
}

static void round_plain(const float *restrict x, float half, uint8_t *restrict bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = append(bytes[i], (x[i] >= half) - (x[i] <= -half));
}

static void round_residual(const float *restrict x, float *restrict r, float m, float half,
                           uint8_t *restrict bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float v = x[i] + r[i];
        int trit = (v >= half) - (v <= -half);
        r[i] = v - m * (float)trit;
        bytes[i] = append(bytes[i], trit);
    }
}

static void round_trits(const float *restrict x, float *restrict r, float m, float half,
                        uint8_t *restrict bytes, size_t n, ptrdiff_t next)
{
    size_t i = 0;
#ifdef VECTORS
    size_t ahead = r != NULL ? AHEAD / 2 : AHEAD, near = near_part(n, ahead);
    if (r != NULL) {
        i = round_vectors(x, r, m, half, bytes, near, (ptrdiff_t)ahead);
        i += round_vectors(x + i, r + i, m, half, bytes + i, n - i, next - (ptrdiff_t)near);
    } else {
        i = round_vectors(x, NULL, m, half, bytes, near, (ptrdiff_t)ahead);
        i += round_vectors(x + i, NULL, m, half, bytes + i, n - i, next - (ptrdiff_t)near);
    }
#endif
    (void)next;
    if (r != NULL)
        round_residual(x + i, r + i, m, half, bytes + i, n - i);
    else
        round_plain(x + i, half, bytes + i, n - i);
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
                       uint8_t *restrict bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = append(bytes[i], draw_one(x[i], m, key, index + (uint32_t)i));
}

static void draw_residual(const float *restrict x, float *restrict r, float m, struct cc_key key,
                          uint32_t index, uint8_t *restrict bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float v = x[i] + r[i];
        int trit = draw_one(v, m, key, index + (uint32_t)i);
        r[i] = v - m * (float)trit;
        bytes[i] = append(bytes[i], trit);
    }
}

static void draw_trits(const float *restrict x, float *restrict r, float m, struct cc_key key,
                       uint32_t index, uint8_t *restrict bytes, size_t n, ptrdiff_t next)
{
    size_t i = 0;
#ifdef VECTORS
    size_t ahead = r != NULL ? AHEAD / 2 : AHEAD, near = near_part(n, ahead);
    uint32_t rest = index + (uint32_t)near;
    if (m >= DRAW_LEAST && r != NULL) {
        i = draw_vectors(x, r, m, key, index, bytes, near, (ptrdiff_t)ahead);
        i += draw_vectors(x + i, r + i, m, key, rest, bytes + i, n - i, next - (ptrdiff_t)near);
    } else if (m >= DRAW_LEAST) {
        i = draw_vectors(x, NULL, m, key, index, bytes, near, (ptrdiff_t)ahead);
        i += draw_vectors(x + i, NULL, m, key, rest, bytes + i, n - i, next - (ptrdiff_t)near);
    }
#endif
    (void)next;
    if (r != NULL)
        draw_residual(x + i, r + i, m, key, index + (uint32_t)i, bytes + i, n - i);
    else
        draw_plain(x + i, m, key, index + (uint32_t)i, bytes + i, n - i);
}

/* Removes the first digit of a byte and returns it; the others are multiplied by 3. */
static inline unsigned split_digit(uint8_t *byte)
{
    unsigned digit = (unsigned)(*byte >= 81) + (*byte >= 162);
    *byte = (uint8_t)(3 * (*byte - 81 * digit));
    return digit;
}

/* Selections, not value[digit]: these become vector instructions. */
static inline float value_of(unsigned digit, const float value[3])
{
    float v = digit == 2 ? value[2] : value[1];
    return digit == 0 ? value[0] : v;
}

static void set(uint8_t *restrict bytes, const float value[3], float *restrict y, size_t n,
                ptrdiff_t next, bool nontemporal)
{
    size_t i = 0;
#ifdef VECTORS
    if (nontemporal) {
        /* Scalar stores up to a line of the cache, where the streaming stores can begin. */
        size_t head = (size_t)(-(uintptr_t)y % CC_ALIGN) / sizeof(float);
        for (prefetch(y, next); i < head && i < n; i++)
            y[i] = value_of(split_digit(bytes + i), value);
        i += set_vectors(bytes + i, value, y + i, n - i, true);
    }
    i += set_vectors(bytes + i, value, y + i, n - i, false);
#endif
    (void)next;
    (void)nontemporal;
    for (; i < n; i++)
        y[i] = value_of(split_digit(bytes + i), value);
}

static void add(uint8_t *restrict bytes, const float value[3], float *restrict y, size_t n,
                ptrdiff_t next)
{
    size_t i = 0;
#ifdef VECTORS
    size_t near = near_part(n, AHEAD);
    i = add_vectors(bytes, value, y, near, AHEAD);
    i += add_vectors(bytes + i, value, y + i, n - i, next - (ptrdiff_t)near);
#endif
    (void)next;
    for (; i < n; i++)
        y[i] += value_of(split_digit(bytes + i), value);
}

static unsigned copy(const uint8_t *restrict in, uint8_t *restrict out, size_t n)
{
    uint8_t most = 0;
    for (size_t i = 0; i < n; i++) {
        out[i] = in[i];
        most = in[i] > most ? in[i] : most;
    }
    return most;
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
    .set = set,
    .add = add,
    .copy = copy,
    .zeros = zeros,
};
