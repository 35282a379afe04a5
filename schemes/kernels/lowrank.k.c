/* The matrix products of PowerSGD (Vogels et al., NeurIPS 2019, algorithm 1): P = M Q, then, after
 * P's columns were made orthogonal, Q = transpose(M) P, and P transpose(Q) to decode. The rank r is
 * small, so each product reads or writes M once and is limited by memory if that is all it does.
 *
 * - project (M Q): a row of M is multiplied with two columns of Q at a time, a block of columns of
 *   M that stays in the cache; each sum has its own 16 lanes (core/reduce.h).
 * - back (transpose(M) P): 8 rows of M at a time update a block of Q; one load and store of Q per 8
 *   multiplications.
 * - product (P transpose(Q)): tiles of 64 values of a row are summed over k in registers, then
 *   written, added or subtracted.
 *
 * Loops have fixed lengths and constants as modes, so that the compiler vectorizes them without
 * intrinsics. */
#include "schemes/kernels/lowrank.h"

#include "core/bytes.h"
#include "core/reduce.h"

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define MULTIPLY_ADD(a, b, c) __builtin_fma(a, b, c)
#else
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif

/* --- p = m q --- */

/* The sums of one row of m with K rows of q, over a block of at most CC_SUM_BLOCK columns. */
#define ROW_SUMS(K)                                                                                \
    static inline void row_sums_##K(const float *m, const double *q, size_t q_stride, size_t n,    \
                                    double *sum)                                                   \
    {                                                                                              \
        double lane[K][CC_SUM_LANES] = {{0}};                                                      \
        size_t j = 0;                                                                              \
        for (; j + CC_SUM_LANES <= n; j += CC_SUM_LANES)                                           \
            for (size_t k = 0; k < K; k++)                                                         \
                for (size_t l = 0; l < CC_SUM_LANES; l++)                                          \
                    lane[k][l] =                                                                   \
                        MULTIPLY_ADD((double)m[j + l], q[k * q_stride + j + l], lane[k][l]);       \
        for (size_t k = 0; k < K; k++) {                                                           \
            for (size_t l = 0; j + l < n; l++)                                                     \
                lane[k][l] = MULTIPLY_ADD((double)m[j + l], q[k * q_stride + j + l], lane[k][l]);  \
            double total = 0;                                                                      \
            for (size_t l = 0; l < CC_SUM_LANES; l++)                                              \
                total += lane[k][l];                                                               \
            sum[k] = total;                                                                        \
        }                                                                                          \
    }
ROW_SUMS(1)
ROW_SUMS(2)

static void project(const float *m, size_t rows, size_t cols, const double *q, size_t r, double *p,
                    size_t p_stride)
{
    for (size_t k = 0; k < r; k++)
        for (size_t i = 0; i < rows; i++)
            p[k * p_stride + i] = 0;
    for (size_t j = 0; j < cols; j += CC_SUM_BLOCK) {
        size_t n = cols - j < CC_SUM_BLOCK ? cols - j : CC_SUM_BLOCK;
        for (size_t i = 0; i < rows; i++) {
            const float *row = m + i * cols + j;
            double sum[2];
            size_t k = 0;
            for (; k + 2 <= r; k += 2) {
                row_sums_2(row, q + k * cols + j, cols, n, sum);
                p[k * p_stride + i] += sum[0];
                p[(k + 1) * p_stride + i] += sum[1];
            }
            if (k < r) {
                row_sums_1(row, q + k * cols + j, cols, n, sum);
                p[k * p_stride + i] += sum[0];
            }
        }
    }
}

/* --- q = transpose(m) p --- */

/* Rows that share one pass over q. */
#define ROWS 8

static inline void back_rows(const float *restrict m, size_t rows, size_t cols,
                             const float *restrict p, size_t r, size_t from, size_t to,
                             double *restrict q)
{
    for (size_t k = 0; k < r; k++) {
        double *restrict to_q = q + k * cols;
        double w[ROWS];
        for (size_t i = 0; i < rows; i++)
            w[i] = (double)p[i * r + k];
        if (rows == ROWS) {
            for (size_t j = from; j < to; j++) {
                double sum = to_q[j];
                for (size_t i = 0; i < ROWS; i++)
                    sum = MULTIPLY_ADD((double)m[i * cols + j], w[i], sum);
                to_q[j] = sum;
            }
        } else {
            for (size_t i = 0; i < rows; i++)
                for (size_t j = from; j < to; j++)
                    to_q[j] = MULTIPLY_ADD((double)m[i * cols + j], w[i], to_q[j]);
        }
    }
}

static void back(const float *m, size_t rows, size_t cols, size_t from, size_t to, const float *p,
                 size_t r, double *q)
{
    for (size_t j = from; j < to; j += CC_SUM_BLOCK) {
        size_t end = to - j < CC_SUM_BLOCK ? to : j + CC_SUM_BLOCK;
        for (size_t i = 0; i < rows; i += ROWS) {
            size_t some = rows - i < ROWS ? rows - i : ROWS;
            back_rows(m + i * cols, some, cols, p + i * r, r, j, end, q);
        }
    }
}

/* --- the columns of p --- */

static double dot_block(const double *a, const double *b, size_t n)
{
    double lane[CC_SUM_LANES] = {0};
    size_t i = 0;
    for (; i + CC_SUM_LANES <= n; i += CC_SUM_LANES)
        for (size_t l = 0; l < CC_SUM_LANES; l++)
            lane[l] += a[i + l] * b[i + l];
    for (size_t l = 0; i + l < n; l++)
        lane[l] += a[i + l] * b[i + l];
    double total = 0;
    for (size_t l = 0; l < CC_SUM_LANES; l++)
        total += lane[l];
    return total;
}

static double dot(const double *a, const double *b, size_t n)
{
    double total = 0;
    for (size_t i = 0; i < n; i += CC_SUM_BLOCK)
        total += dot_block(a + i, b + i, n - i < CC_SUM_BLOCK ? n - i : CC_SUM_BLOCK);
    return total;
}

static void subtract(double *restrict a, double c, const double *restrict b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a[i] -= c * b[i];
}

/* --- y from p q --- */

/* Values of a row that are worked on in registers or the first-level cache. */
#define TILE 64

static inline uint32_t product_tile(const float *p, const float *restrict q, size_t stride,
                                    size_t n, size_t r, enum cc_lowrank_mode mode, float scale,
                                    float *restrict y)
{
    float v[TILE];
    for (size_t j = 0; j < n; j++)
        v[j] = p[0] * q[j];
    for (size_t k = 1; k < r; k++)
        for (size_t j = 0; j < n; j++)
            v[j] += p[k] * q[k * stride + j];
    uint32_t top = 0;
    for (size_t j = 0; j < n; j++) {
        float out = mode == CC_LOWRANK_SET   ? v[j]
                    : mode == CC_LOWRANK_ADD ? y[j] + scale * v[j]
                                             : y[j] - v[j];
        uint32_t bits = cc_f32_bits(out) & 0x7fffffffu;
        y[j] = out;
        top = bits > top ? bits : top;
    }
    return top;
}

static inline uint32_t product_all(const float *p, const float *q, size_t rows, size_t cols,
                                   size_t r, enum cc_lowrank_mode mode, float scale, float *y)
{
    uint32_t top = 0;
    for (size_t i = 0; i < rows; i++, p += r, y += cols) {
        size_t j = 0;
        for (; j + TILE <= cols; j += TILE) {
            uint32_t bits = product_tile(p, q + j, cols, TILE, r, mode, scale, y + j);
            top = bits > top ? bits : top;
        }
        uint32_t bits = product_tile(p, q + j, cols, cols - j, r, mode, scale, y + j);
        top = bits > top ? bits : top;
    }
    return top;
}

static uint32_t product(const float *p, const float *q, size_t rows, size_t cols, size_t r,
                        enum cc_lowrank_mode mode, float scale, float *y)
{
    switch (mode) {
    case CC_LOWRANK_SET:
        return product_all(p, q, rows, cols, r, CC_LOWRANK_SET, scale, y);
    case CC_LOWRANK_ADD:
        return product_all(p, q, rows, cols, r, CC_LOWRANK_ADD, scale, y);
    default:
        return product_all(p, q, rows, cols, r, CC_LOWRANK_SUBTRACT, scale, y);
    }
}

const struct k_lowrank CC_K(k_lowrank) = {
    .project = project,
    .back = back,
    .dot = dot,
    .subtract = subtract,
    .product = product,
};
