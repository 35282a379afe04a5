#include "schemes/kernels/accumulate.h"

#include "core/bytes.h"
#include "core/reduce.h"

/* In the first-level cache between the check and the addition. */
#define PIECE 512

#define AHEAD 2048

static inline uint32_t absmax_ahead(const float *restrict x, const float *restrict sum, size_t n)
{
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = cc_f32_bits(x[i] + sum[i]) & 0x7fffffffu;
        most = bits > most ? bits : most;
    }
    return most;
}

static size_t add(const float *restrict x, float *restrict sum, size_t n)
{
    for (size_t i = 0; i < n; i += PIECE) {
        size_t m = n - i < PIECE ? n - i : PIECE;
        for (size_t k = 0; k < m; k += 16) {
            __builtin_prefetch(x + i + k + AHEAD, 0, 2);
            __builtin_prefetch(sum + i + k + AHEAD, 1, 2);
        }
        if (!cc_finite_bits(absmax_ahead(x + i, sum + i, m)))
            return i;
        for (size_t k = 0; k < m; k++)
            sum[i + k] += x[i + k];
    }
    return n;
}

const struct k_accumulate CC_K(k_accumulate) = {.add = add};
