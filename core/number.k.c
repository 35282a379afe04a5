/* The kernels of core/number.h: plain loops without branches, which compilers vectorize. */
#include "core/number.h"

#include "core/float8.h"
#include "core/memory.h"

/* Values of a pass, after which it ends if one of them is not of the format. */
#define PASS 256

static bool to_bf16(const float *restrict x, size_t n, uint16_t *restrict words)
{
    for (size_t i = 0, m; i < n; i += m) {
        uint32_t bits = 0;
        m = cc_smaller(n - i, PASS);
        for (size_t k = i; k < i + m; k++) {
            bits |= cc_f32_bits(x[k]);
            words[k] = (uint16_t)(cc_f32_bits(x[k]) >> 16);
        }
        if ((bits & 0xffff) != 0)
            return false;
    }
    return true;
}

static inline __attribute__((always_inline)) bool to8(enum cc_float8 type, const float *restrict x,
                                                      size_t n, uint8_t *restrict words)
{
    for (size_t i = 0, m; i < n; i += m) {
        uint32_t other = 0;
        m = cc_smaller(n - i, PASS);
        for (size_t k = i; k < i + m; k++)
            other |= (uint32_t)!cc_exact_float8(type, cc_f32_bits(x[k]), words + k);
        if (other != 0)
            return false;
    }
    return true;
}

static bool to_e4m3(const float *restrict x, size_t n, uint8_t *restrict words)
{
    return to8(CC_E4M3, x, n, words);
}

static bool to_e5m2(const float *restrict x, size_t n, uint8_t *restrict words)
{
    return to8(CC_E5M2, x, n, words);
}

static void from_e4m3(const uint8_t *restrict words, size_t n, float *restrict y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = cc_from_float8(CC_E4M3, words[i]);
}

static void from_e5m2(const uint8_t *restrict words, size_t n, float *restrict y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = cc_from_float8(CC_E5M2, words[i]);
}

const struct k_number CC_K(k_number) = {.to_bf16 = to_bf16,
                                        .to_e4m3 = to_e4m3,
                                        .to_e5m2 = to_e5m2,
                                        .from_e4m3 = from_e4m3,
                                        .from_e5m2 = from_e5m2};
