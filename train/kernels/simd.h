/* Vectors of the widest kind that the instruction set has, for the kernels of training: sixteen
 * values (AVX-512), eight (AVX2), four (NEON), or one. A multiply-addition is fused everywhere, so
 * a chain of them gives the same bits whatever the width. */
#ifndef CC_TRAIN_KERNELS_SIMD_H
#define CC_TRAIN_KERNELS_SIMD_H

#include <math.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#define CC_WIDTH 16
typedef __m512 cc_vec;
#define cc_vec_load(p)      _mm512_loadu_ps(p)
#define cc_vec_store(p, v)  _mm512_storeu_ps(p, v)
#define cc_vec_set(x)       _mm512_set1_ps(x)
#define cc_vec_fma(a, b, c) _mm512_fmadd_ps(a, b, c)
#define cc_vec_add(a, b)    _mm512_add_ps(a, b)
#define cc_vec_sub(a, b)    _mm512_sub_ps(a, b)
#define cc_vec_mul(a, b)    _mm512_mul_ps(a, b)
#define cc_vec_max(a, b)    _mm512_max_ps(a, b) /* b if one is NaN */
/* x where y > 0, elsewhere 0 */
#define cc_vec_where(y, x) _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(y, _mm512_setzero_ps(), 30), x)
#elif defined(__AVX2__)
#include <immintrin.h>
#define CC_WIDTH            8
typedef __m256 cc_vec;
#define cc_vec_load(p)      _mm256_loadu_ps(p)
#define cc_vec_store(p, v)  _mm256_storeu_ps(p, v)
#define cc_vec_set(x)       _mm256_set1_ps(x)
#define cc_vec_fma(a, b, c) _mm256_fmadd_ps(a, b, c)
#define cc_vec_add(a, b)    _mm256_add_ps(a, b)
#define cc_vec_sub(a, b)    _mm256_sub_ps(a, b)
#define cc_vec_mul(a, b)    _mm256_mul_ps(a, b)
#define cc_vec_max(a, b)    _mm256_max_ps(a, b)
#define cc_vec_where(y, x)  _mm256_and_ps(_mm256_cmp_ps(y, _mm256_setzero_ps(), 30), x)
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#define CC_WIDTH            4
typedef float32x4_t cc_vec;
#define cc_vec_load(p)      vld1q_f32(p)
#define cc_vec_store(p, v)  vst1q_f32(p, v)
#define cc_vec_set(x)       vdupq_n_f32(x)
#define cc_vec_fma(a, b, c) vfmaq_f32(c, a, b)
#define cc_vec_add(a, b)    vaddq_f32(a, b)
#define cc_vec_sub(a, b)    vsubq_f32(a, b)
#define cc_vec_mul(a, b)    vmulq_f32(a, b)
#define cc_vec_max(a, b)    vbslq_f32(vcgtq_f32(a, b), a, b)
#define cc_vec_where(y, x)  vreinterpretq_f32_u32(vandq_u32(vcgtzq_f32(y), vreinterpretq_u32_f32(x)))
#else
#define CC_WIDTH            1
typedef float cc_vec;
#define cc_vec_load(p)      (*(p))
#define cc_vec_store(p, v)  (*(p) = (v))
#define cc_vec_set(x)       (x)
#define cc_vec_fma(a, b, c) fmaf(a, b, c)
#define cc_vec_add(a, b)    ((a) + (b))
#define cc_vec_sub(a, b)    ((a) - (b))
#define cc_vec_mul(a, b)    ((a) * (b))
#define cc_vec_max(a, b)    ((a) > (b) ? (a) : (b))
#define cc_vec_where(y, x)  ((y) > 0 ? (x) : 0)
#endif

/* Values that are laid out together: sixteen images of a dense layer, sixteen channels of a
 * convolution; on every instruction set, since the layout decides the order of nothing else. */
#define CC_GROUP 16

/* Vectors of a group. */
#define CC_GROUP_VECS (CC_GROUP / CC_WIDTH)

#endif
