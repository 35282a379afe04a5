#include "train/kernels/sparse.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

enum { CHAINS = 16 };

/* Adds the products of a whole group of sixteen non-zeros to the chains. */
#if defined(__AVX512F__)
struct chains {
    __m512d low, high;
};

static inline void add_group(struct chains *c, const uint32_t *index, const float *value,
                             const float *w)
{
    const __m512 x = _mm512_i32gather_ps(_mm512_loadu_si512(index), w, 4);
    const __m512 v = _mm512_loadu_ps(value);
    const __m512d x_high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
    const __m512d v_high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
    c->low = _mm512_fmadd_pd(_mm512_cvtps_pd(_mm512_castps512_ps256(x)),
                             _mm512_cvtps_pd(_mm512_castps512_ps256(v)), c->low);
    c->high = _mm512_fmadd_pd(x_high, v_high, c->high);
}

static inline void get_chains(const struct chains *c, double out[CHAINS])
{
    _mm512_storeu_pd(out, c->low);
    _mm512_storeu_pd(out + 8, c->high);
}
#elif defined(__AVX2__)
struct chains {
    __m256d four[4];
};

static inline void add_group(struct chains *c, const uint32_t *index, const float *value,
                             const float *w)
{
    for (int k = 0; k < 4; k++) {
        const __m128i at = _mm_loadu_si128((const __m128i *)(const void *)(index + 4 * k));
        const __m256d x = _mm256_cvtps_pd(_mm_i32gather_ps(w, at, 4));
        const __m256d v = _mm256_cvtps_pd(_mm_loadu_ps(value + 4 * k));
        c->four[k] = _mm256_fmadd_pd(x, v, c->four[k]);
    }
}

static inline void get_chains(const struct chains *c, double out[CHAINS])
{
    for (int k = 0; k < 4; k++)
        _mm256_storeu_pd(out + 4 * k, c->four[k]);
}
#else
struct chains {
    double one[CHAINS];
};

static inline void add_group(struct chains *c, const uint32_t *index, const float *value,
                             const float *w)
{
    for (int k = 0; k < CHAINS; k++)
        c->one[k] += (double)w[index[k]] * (double)value[k];
}

static inline void get_chains(const struct chains *c, double out[CHAINS])
{
    for (int k = 0; k < CHAINS; k++)
        out[k] = c->one[k];
}
#endif

static double dot(const uint32_t *index, const float *value, size_t n, const float *w)
{
    struct chains c = {0};
    double sum[CHAINS];
    size_t i = 0;
    for (; i + CHAINS <= n; i += CHAINS)
        add_group(&c, index + i, value + i, w);
    get_chains(&c, sum);
    for (size_t k = 0; i < n; i++, k++)
        sum[k] += (double)w[index[i]] * (double)value[i];
    for (int half = CHAINS / 2; half > 0; half /= 2)
        for (int k = 0; k < half; k++)
            sum[k] += sum[k + half];
    return sum[0];
}

static void add(const uint32_t *restrict index, const float *restrict value, size_t n, float by,
                float *restrict w)
{
    for (size_t i = 0; i < n; i++)
        w[index[i]] += by * value[i];
}

const struct k_sparse CC_K(k_sparse) = {
    .dot = dot,
    .add = add,
};
