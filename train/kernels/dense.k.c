/* Products of matrices, as in K. Goto and R. van de Geijn, Anatomy of high-performance matrix
 * multiplication, 2008, but without packing: a tile of c stays in registers while k passes, each
 * value of a is multiplied with a row of b's tile. Depth is cut into blocks, so that the rows of a
 * that a tile reads stay in the cache for the next tile; between blocks the sums rest in c, which
 * does not change their bits. */
#include "train/kernels/dense.h"

#include <string.h>

#include "train/kernels/simd.h"

/* A tile has up to TILE_ROWS rows and TILE_VECS vectors of columns: as many sums as there are
 * registers for. */
#if CC_WIDTH == 16 || CC_WIDTH == 4
#define TILE_ROWS 8
#elif CC_WIDTH == 8
#define TILE_ROWS 4
#else
#define TILE_ROWS 2
#endif
#define TILE_VECS 2
#define TILE_COLS ((size_t)TILE_VECS * CC_WIDTH)
#define DEPTH     ((size_t)256)

/* Common to all tiles of a block of depth. */
struct block {
    size_t a_row, a_col, b_row, depth;
    bool load; /* the sums go on from c; otherwise from bias */
};

/* c's values of `rows` rows and `vecs` vectors of columns: constants where it is called. */
static inline __attribute__((always_inline)) void tile_of(size_t rows, size_t vecs,
                                                          const struct block *t, const float *a,
                                                          const float *b, const float *bias,
                                                          float *c, size_t c_row)
{
    cc_vec sum[TILE_ROWS][TILE_VECS];
    for (size_t i = 0; i < rows; i++)
        for (size_t v = 0; v < vecs; v++)
            sum[i][v] = t->load        ? cc_vec_load(c + i * c_row + v * CC_WIDTH)
                        : bias != NULL ? cc_vec_set(bias[i])
                                       : cc_vec_set(0.0f);
    const size_t a_row = t->a_row, a_col = t->a_col, b_row = t->b_row;
    for (size_t k = 0; k < t->depth; k++, a += a_col, b += b_row) {
        cc_vec right[TILE_VECS];
        for (size_t v = 0; v < vecs; v++)
            right[v] = cc_vec_load(b + v * CC_WIDTH);
        for (size_t i = 0; i < rows; i++) {
            cc_vec left = cc_vec_set(a[i * a_row]);
            for (size_t v = 0; v < vecs; v++)
                sum[i][v] = cc_vec_fma(left, right[v], sum[i][v]);
        }
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t v = 0; v < vecs; v++)
            cc_vec_store(c + i * c_row + v * CC_WIDTH, sum[i][v]);
}

static void tile(const struct block *t, size_t rows, size_t vecs, const float *a, const float *b,
                 const float *bias, float *c, size_t c_row)
{
    if (rows == TILE_ROWS && vecs == 2)
        tile_of(TILE_ROWS, 2, t, a, b, bias, c, c_row);
    else if (rows == TILE_ROWS)
        tile_of(TILE_ROWS, 1, t, a, b, bias, c, c_row);
    else if (vecs == 2)
        tile_of(1, 2, t, a, b, bias, c, c_row);
    else
        tile_of(1, 1, t, a, b, bias, c, c_row);
}

/* The last columns, fewer than a vector: by way of a buffer, since c's rows end there. */
static void tile_narrow(const struct block *t, size_t rows, size_t cols, const float *a,
                        const float *b, const float *bias, float *c, size_t c_row)
{
    float whole[TILE_ROWS * CC_WIDTH] = {0};
    for (size_t i = 0; t->load && i < rows; i++)
        memcpy(whole + i * CC_WIDTH, c + i * c_row, cols * sizeof *c);
    tile(t, rows, 1, a, b, bias, whole, CC_WIDTH);
    for (size_t i = 0; i < rows; i++)
        memcpy(c + i * c_row, whole + i * CC_WIDTH, cols * sizeof *c);
}

static void product(const struct cc_product *p, size_t from, size_t to)
{
    for (size_t k = 0; k < p->depth || k == 0; k += DEPTH) {
        struct block t = {.a_row = p->a_row,
                          .a_col = p->a_col,
                          .b_row = p->b_row,
                          .depth = p->depth - k < DEPTH ? p->depth - k : DEPTH,
                          .load = p->add || k > 0};
        for (size_t i = from, rows; i < to; i += rows) {
            rows = to - i >= TILE_ROWS ? TILE_ROWS : 1;
            const float *a = p->a + i * p->a_row + k * p->a_col;
            const float *bias = p->bias != NULL ? p->bias + i : NULL;
            const float *b = p->b + k * p->b_row;
            float *c = p->c + i * p->c_row;
            for (size_t j = 0; j < p->cols; j += TILE_COLS) {
                size_t cols = p->cols - j, whole = cols / CC_WIDTH;
                whole = whole < TILE_VECS ? whole : TILE_VECS;
                if (whole > 0)
                    tile(&t, rows, whole, a, b + j, bias, c + j, p->c_row);
                if (whole < TILE_VECS && cols % CC_WIDTH > 0)
                    tile_narrow(&t, rows, cols % CC_WIDTH, a, b + j + whole * CC_WIDTH, bias,
                                c + j + whole * CC_WIDTH, p->c_row);
            }
        }
    }
}

static void transpose(const float *restrict from, size_t rows, size_t cols, size_t from_row,
                      float *restrict to, size_t to_row)
{
    for (size_t i = 0; i < rows; i += CC_GROUP)
        for (size_t j = 0; j < cols; j++)
            for (size_t k = i; k < rows && k < i + CC_GROUP; k++)
                to[j * to_row + k] = from[k * from_row + j];
}

static float sum(const float *x, size_t n)
{
    float lane[CC_GROUP] = {0}, total = 0;
    size_t i = 0;
    for (; i + CC_GROUP <= n; i += CC_GROUP)
        for (size_t l = 0; l < CC_GROUP; l++)
            lane[l] += x[i + l];
    for (size_t l = 0; i + l < n; l++)
        lane[l] += x[i + l];
    for (size_t l = 0; l < CC_GROUP; l++)
        total += lane[l];
    return total;
}

static void relu(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] < 0 ? 0 : x[i];
}

static void relu_back(const float *restrict y, float *restrict dy, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dy[i] = y[i] > 0 ? dy[i] : 0;
}

const struct k_dense CC_K(k_dense) = {
    .product = product,
    .transpose = transpose,
    .sum = sum,
    .relu = relu,
    .relu_back = relu_back,
};
