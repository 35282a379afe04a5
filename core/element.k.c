/* The kernels of core/element.h, compiled once per instruction set: plain loops, which compilers
 * vectorize, but for numbers of fp16, which machines convert in one step. That makes a NaN quiet,
 * so blocks that have one, or infinity, go through the plain loop. */
#include "core/element.h"

#include <stdbool.h>

#include "core/neon.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

static void from_bf16(const uint16_t *restrict x, size_t n, float *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = cc_from_bf16(x[i]);
}

static inline void from_fp16_plain(const uint16_t *restrict x, size_t n, float *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = cc_from_fp16(x[i]);
}

#if defined(__AVX2__) || defined(__ARM_NEON)
#define BLOCK  512
#define VECTOR 16

static inline bool all_finite(const uint16_t *x, size_t n)
{
    uint16_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const uint16_t bits = x[i] & 0x7fff;
        most = bits > most ? bits : most;
    }
    return most < 0x7c00;
}

static inline void from_fp16_vector(const uint16_t *restrict x, float *restrict out)
{
#if defined(__AVX512F__)
    _mm512_storeu_ps(out, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i_u *)(const void *)x)));
#elif defined(__AVX2__)
    for (size_t i = 0; i < VECTOR; i += 8)
        _mm256_storeu_ps(
            out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i_u *)(const void *)(x + i))));
#else
    for (size_t i = 0; i < VECTOR; i += 4)
        vst1q_f32(out + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x + i))));
#endif
}
#endif

static void from_fp16(const uint16_t *restrict x, size_t n, float *restrict out)
{
#ifdef BLOCK
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < BLOCK ? n - i : BLOCK;
        size_t k = all_finite(x + i, m) ? m / VECTOR * VECTOR : 0;
        for (size_t j = 0; j < k; j += VECTOR)
            from_fp16_vector(x + i + j, out + i + j);
        from_fp16_plain(x + i + k, m - k, out + i + k);
    }
#else
    from_fp16_plain(x, n, out);
#endif
}

/* The half of a number that is infinite or NaN, in a type with this infinity and quiet bit. */
static inline uint16_t not_finite(uint32_t bits, uint32_t infinite, uint32_t quiet)
{
    return (uint16_t)((bits >> 16 & 0x8000u) | infinite | ((bits & 0x7fffffu) > 0 ? quiet : 0u));
}

static void to_bf16(const float *restrict x, size_t n, uint16_t *restrict out)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = cc_f32_bits(x[i]);
        const uint16_t number = cc_nearest_bf16(bits), other = not_finite(bits, 0x7f80, 0x40);
        out[i] = (bits & 0x7fffffffu) < CC_F32_INF_BITS ? number : other;
    }
}

static void to_fp16(const float *restrict x, size_t n, uint16_t *restrict out)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = cc_f32_bits(x[i]);
        const uint16_t number = cc_nearest_fp16(bits), other = not_finite(bits, 0x7c00, 0x200);
        out[i] = (bits & 0x7fffffffu) < CC_F32_INF_BITS ? number : other;
    }
}

const struct k_element CC_K(k_element) = {
    .from_bf16 = from_bf16, .from_fp16 = from_fp16, .to_bf16 = to_bf16, .to_fp16 = to_fp16};
