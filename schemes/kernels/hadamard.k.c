/* Sums and differences of values that are less than a vector apart are made in its lanes: lane l of
 * v becomes v[l ^ s] + v[l], or where the bit s of l is set, v[l ^ s] - v[l]. */
#include "schemes/kernels/hadamard.h"

#include <math.h>

#include "schemes/kernels/vector.h"

#define INLINE static inline __attribute__((always_inline))

#if defined(CC_VECTORS)
/* Within a vector, for s = 1, 2 and 4; and 8, where it has 16 lanes. */
#if CC_VECTOR == 16
#define SWAPPED(v, s)                                                                              \
    __builtin_shufflevector(v, v, 0 ^ s, 1 ^ s, 2 ^ s, 3 ^ s, 4 ^ s, 5 ^ s, 6 ^ s, 7 ^ s, 8 ^ s,   \
                            9 ^ s, 10 ^ s, 11 ^ s, 12 ^ s, 13 ^ s, 14 ^ s, 15 ^ s)
#elif CC_VECTOR == 8
#define SWAPPED(v, s)                                                                              \
    __builtin_shufflevector(v, v, 0 ^ s, 1 ^ s, 2 ^ s, 3 ^ s, 4 ^ s, 5 ^ s, 6 ^ s, 7 ^ s)
#else
#define SWAPPED(v, s) __builtin_shufflevector(v, v, 0 ^ s, 1 ^ s, 2 ^ s, 3 ^ s)
#endif

/* 1, or -1 in the lanes whose number has the bit s. */
INLINE cc_vf32 signs_of(uint32_t s)
{
    static const float sign[4][16] = {{1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1},
                                      {1, 1, -1, -1, 1, 1, -1, -1, 1, 1, -1, -1, 1, 1, -1, -1},
                                      {1, 1, 1, 1, -1, -1, -1, -1, 1, 1, 1, 1, -1, -1, -1, -1},
                                      {1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1}};
    return cc_vf32_load(sign[s == 1 ? 0 : s == 2 ? 1 : s == 4 ? 2 : 3]);
}

/* The product is exact, so that one rounding is left, that of the sum or difference. */
INLINE cc_vf32 in_lanes(cc_vf32 v)
{
    v = cc_vf32_fma(v, signs_of(1), SWAPPED(v, 1));
    v = cc_vf32_fma(v, signs_of(2), SWAPPED(v, 2));
#if CC_VECTOR >= 8
    v = cc_vf32_fma(v, signs_of(4), SWAPPED(v, 4));
#endif
#if CC_VECTOR >= 16
    v = cc_vf32_fma(v, signs_of(8), SWAPPED(v, 8));
#endif
    return v;
}

/* A value times the scale, and times its sign, if there are any: a product with 1 or -1 is exact.
 */
INLINE cc_vf32 scaled(const float *x, float scale, const float *sign, size_t i)
{
    const cc_vf32 v = cc_vf32_load(x + i) * scale;
    return sign != NULL ? v * cc_vf32_load(sign + i) : v;
}

INLINE void put(float *y, cc_vf32 v, const float *sign, size_t i)
{
    cc_vf32_store(y + i, sign != NULL ? v * cc_vf32_load(sign + i) : v);
}

/* A group of a number of values that is known, in registers. before, after: signs, or NULL. */
#define FEW 32
INLINE void rotate_few(const float *x, float *y, float scale, const float *before,
                       const float *after)
{
    cc_vf32 v[FEW / CC_VECTOR];
    for (size_t k = 0; k < FEW / CC_VECTOR; k++)
        v[k] = in_lanes(scaled(x, scale, before, k * CC_VECTOR));
    for (size_t s = 1; s < FEW / CC_VECTOR; s *= 2)
        for (size_t k = 0; k < FEW / CC_VECTOR; k++)
            if ((k & s) == 0) {
                const cc_vf32 a = v[k], b = v[k + s];
                v[k] = a + b;
                v[k + s] = a - b;
            }
    for (size_t k = 0; k < FEW / CC_VECTOR; k++)
        put(y, v[k], after, k * CC_VECTOR);
}

INLINE void rotate_any(const float *x, float *y, size_t h, float scale, const float *before,
                       const float *after)
{
    for (size_t i = 0; i < h; i += CC_VECTOR)
        cc_vf32_store(y + i, in_lanes(scaled(x, scale, before, i)));
    for (size_t s = CC_VECTOR; s < h; s *= 2)
        for (size_t i = 0; i < h; i += 2 * s)
            for (size_t j = i; j < i + s; j += CC_VECTOR) {
                const cc_vf32 a = cc_vf32_load(y + j), b = cc_vf32_load(y + j + s);
                cc_vf32_store(y + j, a + b);
                cc_vf32_store(y + j + s, a - b);
            }
    for (size_t i = 0; i < h && after != NULL; i += CC_VECTOR)
        put(y, cc_vf32_load(y + i), after, i);
}
#else
#define FEW 32
INLINE void rotate_any(const float *x, float *y, size_t h, float scale, const float *before,
                       const float *after)
{
    for (size_t i = 0; i < h; i++)
        y[i] = before != NULL ? x[i] * scale * before[i] : x[i] * scale;
    for (size_t s = 1; s < h; s *= 2)
        for (size_t i = 0; i < h; i += 2 * s)
            for (size_t j = i; j < i + s; j++) {
                const float a = y[j], b = y[j + s];
                y[j] = a + b;
                y[j + s] = a - b;
            }
    for (size_t i = 0; i < h && after != NULL; i++)
        y[i] *= after[i];
}

INLINE void rotate_few(const float *x, float *y, float scale, const float *before,
                       const float *after)
{
    rotate_any(x, y, FEW, scale, before, after);
}
#endif

INLINE const float *from(const float *sign, size_t i)
{
    return sign != NULL ? sign + i : NULL;
}

INLINE void rotate_all(const float *x, float *y, size_t n, size_t h, const float *before,
                       const float *after)
{
    const float scale = (float)(1 / sqrt((double)h));
    const size_t whole = n / h * h;
    if (h == FEW)
        for (size_t i = 0; i < whole; i += FEW)
            rotate_few(x + i, y + i, scale, from(before, i), from(after, i));
    else
        for (size_t i = 0; i < whole; i += h)
            rotate_any(x + i, y + i, h, scale, from(before, i), from(after, i));
    for (size_t i = whole; i < n; i++)
        y[i] = x[i];
}

static void rotate(const float *x, float *y, size_t n, size_t h)
{
    rotate_all(x, y, n, h, NULL, NULL);
}

static void rotate_signed(const float *x, float *y, size_t n, size_t h, const float *sign)
{
    rotate_all(x, y, n, h, sign, NULL);
}

static void rotate_back(const float *x, float *y, size_t n, size_t h, const float *sign)
{
    rotate_all(x, y, n, h, NULL, sign);
}

const struct k_hadamard CC_K(k_hadamard) = {
    .rotate = rotate, .rotate_signed = rotate_signed, .rotate_back = rotate_back};
