/* Products of matrices of up to 64 x 64 values, in vectors (vector.h): blocks of four rows and two
 * vectors of columns are summed in registers, each product and each sum rounded, in the order of
 * the inner index. */
#include "schemes/kernels/cosine.h"

#include <string.h>

#include "schemes/kernels/vector.h"

#define BLOCK (2 * CC_VECTOR)

/* The fewest columns that every instruction set's blocks divide. */
#define WIDTH CC_BASIS_HALF

static size_t whole_blocks(size_t cols)
{
    return (cols + WIDTH - 1) / WIDTH * WIDTH;
}

/* Sums of `rows` <= 4 rows, a constant. */
static inline __attribute__((always_inline)) void block(size_t rows, const float *l, size_t ls,
                                                        const float *r, size_t rs, size_t inner,
                                                        float *out, size_t os)
{
    cc_vf32 sum[4][2] = {{{0}}};
    for (size_t k = 0; k < inner; k++) {
        const cc_vf32 a = cc_vf32_load(r + k * rs), b = cc_vf32_load(r + k * rs + CC_VECTOR);
        for (size_t i = 0; i < rows; i++) {
            const float c = l[i * ls + k];
            sum[i][0] += c * a;
            sum[i][1] += c * b;
        }
    }
    for (size_t i = 0; i < rows; i++) {
        cc_vf32_store(out + i * os, sum[i][0]);
        cc_vf32_store(out + i * os + CC_VECTOR, sum[i][1]);
    }
}

/* out[i][j] = the sum over k < inner of l[i][k] r[k][j], for i < rows and j < cols, a multiple of
 * WIDTH; rows are ls, rs and os values apart. */
static void multiply(const float *l, size_t ls, const float *r, size_t rs, size_t rows,
                     size_t inner, size_t cols, float *out, size_t os)
{
    for (size_t j = 0; j < cols; j += BLOCK) {
        size_t i = 0;
        for (; i + 4 <= rows; i += 4)
            block(4, l + i * ls, ls, r + j, rs, inner, out + i * os + j, os);
        for (; i < rows; i++)
            block(1, l + i * ls, ls, r + j, rs, inner, out + i * os + j, os);
    }
}

/* The transform of the columns: z has rows of CC_BASIS, of which whole blocks are set. */
static void forward_down(const struct cc_basis *down, const float *restrict x, size_t cols,
                         float *restrict z)
{
    float even[CC_BASIS_HALF * CC_BASIS] = {0}, odd[CC_BASIS_HALF * CC_BASIS] = {0};
    const size_t n = down->n, half = n / 2, width = whole_blocks(cols);
    for (size_t i = 0; i < half; i++) {
        const float *restrict a = x + i * cols, *restrict b = x + (n - 1 - i) * cols;
        for (size_t j = 0; j < cols; j++) {
            even[i * CC_BASIS + j] = a[j] + b[j];
            odd[i * CC_BASIS + j] = a[j] - b[j];
        }
    }
    if (n % 2 != 0)
        memcpy(even + half * CC_BASIS, x + half * cols, cols * sizeof *x);
    multiply(down->c, 2 * CC_BASIS, even, CC_BASIS, n - half, n - half, width, z, 2 * CC_BASIS);
    multiply(down->c + CC_BASIS, 2 * CC_BASIS, odd, CC_BASIS, half, half, width, z + CC_BASIS,
             2 * CC_BASIS);
}

/* The transform of the rows of z, to rows of across->n. */
static void forward_across(const struct cc_basis *across, const float *restrict z, size_t rows,
                           float *restrict y)
{
    float even[CC_BASIS * CC_BASIS_HALF] = {0}, odd[CC_BASIS * CC_BASIS_HALF] = {0};
    float of_even[CC_BASIS * CC_BASIS_HALF], of_odd[CC_BASIS * CC_BASIS_HALF];
    const size_t n = across->n, half = n / 2;
    for (size_t i = 0; i < rows; i++) {
        const float *restrict a = z + i * CC_BASIS;
        for (size_t j = 0; j < half; j++) {
            even[i * CC_BASIS_HALF + j] = a[j] + a[n - 1 - j];
            odd[i * CC_BASIS_HALF + j] = a[j] - a[n - 1 - j];
        }
        if (n % 2 != 0)
            even[i * CC_BASIS_HALF + half] = a[half];
    }
    multiply(even, CC_BASIS_HALF, across->even, CC_BASIS_HALF, rows, n - half, WIDTH, of_even,
             CC_BASIS_HALF);
    multiply(odd, CC_BASIS_HALF, across->odd, CC_BASIS_HALF, rows, half, WIDTH, of_odd,
             CC_BASIS_HALF);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < half; j++) {
            y[i * n + 2 * j] = of_even[i * CC_BASIS_HALF + j];
            y[i * n + 2 * j + 1] = of_odd[i * CC_BASIS_HALF + j];
        }
        if (n % 2 != 0)
            y[i * n + n - 1] = of_even[i * CC_BASIS_HALF + half];
    }
}

static void forward(const struct cc_basis *down, const struct cc_basis *across, const float *x,
                    float *y)
{
    float z[CC_BASIS * CC_BASIS];
    forward_down(down, x, across->n, z);
    forward_across(across, z, down->n, y);
}

/* Rows of coefficients, even or odd, that are not all 0: transformed, and the basis's values there,
 * basis[i][k] for the k-th of them. */
struct some_rows {
    size_t count;
    float row[CC_BASIS_HALF * CC_BASIS], basis[CC_BASIS_HALF * CC_BASIS_HALF];
};

static float *add_row(struct some_rows *s, const struct cc_basis *down, size_t u)
{
    float *row = s->row + s->count * CC_BASIS;
    memset(row, 0, CC_BASIS * sizeof *row);
    for (size_t i = 0; i < CC_BASIS_HALF; i++)
        s->basis[i * CC_BASIS_HALF + s->count] = down->c[u * CC_BASIS + i];
    s->count++;
    return row;
}

static void inverse(const struct cc_basis *down, const struct cc_basis *across,
                    const uint16_t *place, const float *q, size_t count, float *y)
{
    struct some_rows some[2];
    float sum[2][CC_BASIS_HALF * CC_BASIS] = {{0}}, *row = NULL;
    const size_t n = down->n, cols = across->n, half = n / 2, width = whole_blocks(cols);
    size_t u = 0, next = 0; /* the row of `row`, and the place where the row after it begins */
    some[0].count = some[1].count = 0;
    for (size_t j = 0; j < count; j++) {
        if (row == NULL || place[j] >= next) {
            u = place[j] / cols;
            next = (u + 1) * cols;
            row = add_row(&some[u % 2], down, u);
        }
        const float *function = across->c + (place[j] - u * cols) * CC_BASIS;
        for (size_t i = 0; i < CC_BASIS; i += CC_VECTOR)
            cc_vf32_store(row + i, cc_vf32_load(row + i) + q[j] * cc_vf32_load(function + i));
    }
    for (size_t s = 0; s < 2; s++)
        multiply(some[s].basis, CC_BASIS_HALF, some[s].row, CC_BASIS, n - half, some[s].count,
                 width, sum[s], CC_BASIS);
    for (size_t i = 0; i < n - half; i++) {
        const float *restrict even = sum[0] + i * CC_BASIS, *restrict odd = sum[1] + i * CC_BASIS;
        float *restrict a = y + i * cols, *restrict b = y + (n - 1 - i) * cols;
        for (size_t j = 0; j < cols; j++)
            a[j] = even[j] + odd[j];
        for (size_t j = 0; j < cols && i < half; j++)
            b[j] = even[j] - odd[j];
    }
}

const struct k_cosine CC_K(k_cosine) = {.forward = forward, .inverse = inverse};
