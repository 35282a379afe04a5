/* The kernels of core/trace/synth_draw.h, compiled once per instruction set. Every operation is
 * exactly rounded IEEE arithmetic (no libm), so all variants and compilers give the same bits.
 *
 * One 32-bit random number r makes one value: its upper 31 bits are the probability p of the tail
 * in (0, 1/2], its lowest bit is the sign. The value is the quantile of p: for Laplace -ln(2p)/sqrt
 * 2, for the normal distribution Giles' polynomials for erfinv, for Student's t with 4 degrees of
 * freedom a closed form with the cosine of a third of an angle. Both branches of a choice are
 * computed, so that the loops vectorize. */
#include "core/trace/synth_draw.h"

#include "core/bytes.h"

static inline struct cc_key pick(int first, struct cc_key a, struct cc_key b)
{
    return (struct cc_key){first ? a.a : b.a, first ? a.b : b.b};
}

static inline uint32_t random_of(const struct cc_draw *d, uint32_t index)
{
    int renewed = cc_random(d->phase, index) < d->renewed;
    int shared = cc_random(d->share, index) < d->shared;
    struct cc_key own = pick(renewed, d->own[1], d->own[0]);
    struct cc_key common = pick(renewed, d->common[1], d->common[0]);
    return cc_random(pick(shared, common, own), index);
}

/* A tail's probability in (0, 1/2], from the upper 31 bits; the lowest bit is left for the sign. */
static inline float tail(uint32_t r)
{
    return ((float)(int32_t)(r >> 1) + 0.5f) * 0x1p-32f;
}

static inline float with_sign(float magnitude, uint32_t r)
{
    return cc_bits_f32(cc_f32_bits(magnitude) ^ r << 31);
}

/* Natural logarithm of a normal positive number, within 2 units in the last place (Cephes). */
static inline float log_of(float v)
{
    int32_t bits = (int32_t)cc_f32_bits(v);
    int32_t e = (bits - 0x3f3504f3) >> 23; /* the mantissa in [sqrt 1/2, sqrt 2) */
    float f = cc_bits_f32((uint32_t)bits - ((uint32_t)e << 23)) - 1.0f;
    float z = f * f;
    float p = 7.0376836292e-2f;
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    float k = (float)e;
    float y = p * f * z - 2.12194440e-4f * k - 0.5f * z;
    return f + y + 0.693359375f * k;
}

static inline float laplace_of(uint32_t r)
{
    return with_sign(log_of(2.0f * tail(r)) * -0.70710678f, r);
}

/* sqrt(2) erfinv(1 - 2p), after M. Giles, "Approximating the erfinv function" (GPU Computing Gems,
 * 2011), single precision. */
static inline float gaussian_of(uint32_t r)
{
    float p = tail(r);
    float w = -log_of(4.0f * p * (1.0f - p));
    float c = w - 2.5f;
    float a = 2.81022636e-08f;
    a = a * c + 3.43273939e-07f;
    a = a * c - 3.5233877e-06f;
    a = a * c - 4.39150654e-06f;
    a = a * c + 2.1858087e-04f;
    a = a * c - 1.25372503e-03f;
    a = a * c - 4.17768164e-03f;
    a = a * c + 2.46640727e-01f;
    a = a * c + 1.50140941f;
    float t = __builtin_sqrtf(w) - 3.0f;
    float b = -2.00214257e-04f;
    b = b * t + 1.00950558e-04f;
    b = b * t + 1.34934322e-03f;
    b = b * t - 3.67342844e-03f;
    b = b * t + 5.73950773e-03f;
    b = b * t - 7.6224613e-03f;
    b = b * t + 9.43887047e-03f;
    b = b * t + 1.00167406f;
    b = b * t + 2.83297682f;
    /* Selects without a branch. The bits of positive floats compare like integers. */
    uint32_t central = 0u - (uint32_t)((int32_t)cc_f32_bits(w) < 0x40a00000); /* w < 5 */
    float z = cc_bits_f32((cc_f32_bits(a) & central) | (cc_f32_bits(b) & ~central));
    return with_sign(z * (1.0f - 2.0f * p) * 1.41421356f, r);
}

/* Student's t with 4 degrees of freedom, over its standard deviation sqrt 2. With
 * y = sqrt(4 p (1 - p)) and c the root of 4 c^3 - 3 c = y in [sqrt 3/4, 1] (the cosine of a third
 * of y's arc), |t| = 2 sqrt(c / y - 1) = 4 sqrt(c / y) (1 - 2 p) / (4 c^2 - 1). */
static inline float student_of(uint32_t r)
{
    float p = tail(r);
    float y = __builtin_sqrtf(4.0f * p * (1.0f - p));
    float c = 0.8660254f + 0.1666667f * y - 0.0326921f * y * y;
    for (int i = 0; i < 2; i++)
        c -= ((4.0f * c * c - 3.0f) * c - y) / (12.0f * c * c - 3.0f);
    float t = __builtin_sqrtf(c / y) * (1.0f - 2.0f * p) / (4.0f * c * c - 1.0f);
    return with_sign(t * 2.82842712f, r);
}

#define DRAW_ALL(name)                                                                             \
    static void name(const struct cc_draw *d, uint32_t first, float scale, float *restrict out,    \
                     size_t n)                                                                     \
    {                                                                                              \
        const struct cc_draw copy = *d;                                                            \
        for (size_t i = 0; i < n; i++)                                                             \
            out[i] = scale * name##_of(random_of(&copy, first + (uint32_t)i));                     \
    }

DRAW_ALL(laplace)
DRAW_ALL(gaussian)
DRAW_ALL(student)

const struct k_synth CC_K(k_synth) = {.laplace = laplace, .gaussian = gaussian, .student = student};
