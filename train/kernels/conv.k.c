/* Direct convolutions, as E. Georganas et al., Anatomy of high-performance deep learning
 * convolutions on SIMD architectures, 2018: a tile of output places stays in registers, 16 channels
 * a place, while all input channels and taps pass; a vector of weights is loaded once for all
 * places of the tile and multiplied with one input value of each. For the gradient of weights, a
 * tile of input channels x 16 output channels stays in registers while all places pass. */
#include "train/kernels/conv.h"

#include "train/kernels/simd.h"

/* --- outputs --- */

/* Tiles of rows x columns, for the registers that there are: wide ones while columns last. */
#if CC_WIDTH == 16
#define TILES(X) X(1, 16) X(2, 8) X(4, 4) X(8, 2) X(8, 1)
#elif CC_WIDTH > 1
#define TILES(X) X(3, 2) X(6, 1)
#else
#define TILES(X) X(1, 1)
#endif
#define TILE_ROWS   8
#define TILE_PLACES 16

/* A tile; `rows`, `cols` and `in_step` are constants where it is called. */
static inline __attribute__((always_inline)) void tile_of(size_t rows, size_t cols, size_t in_step,
                                                          const struct cc_conv *c,
                                                          const float *const *in_row,
                                                          float *const *out_row, size_t col)
{
    cc_vec sum[TILE_PLACES][CC_GROUP_VECS];
    for (size_t r = 0; r < rows; r++)
        for (size_t x = 0; x < cols; x++)
            for (size_t v = 0; v < CC_GROUP_VECS; v++)
                sum[r * cols + x][v] =
                    c->add ? cc_vec_load(out_row[r] + (col + x) * c->out_step + v * CC_WIDTH)
                           : cc_vec_set(0.0f);
    for (size_t begin = 0, group = 0; begin < c->channels; begin += CC_GROUP, group++) {
        size_t channels = c->channels - begin < CC_GROUP ? c->channels - begin : CC_GROUP;
        for (size_t t = 0; t < c->taps; t++) {
            const float *w = c->weights[t] + group * c->weights_step;
            ptrdiff_t at = (ptrdiff_t)(group * c->plane + col * in_step) + c->tap[t];
            const float *in[TILE_ROWS];
            for (size_t r = 0; r < rows; r++)
                in[r] = in_row[r] + at;
            for (size_t i = 0; i < channels; i++, w += CC_GROUP) {
                cc_vec weight[CC_GROUP_VECS];
                for (size_t v = 0; v < CC_GROUP_VECS; v++)
                    weight[v] = cc_vec_load(w + v * CC_WIDTH);
                for (size_t r = 0; r < rows; r++)
                    for (size_t x = 0; x < cols; x++) {
                        cc_vec value = cc_vec_set(in[r][x * in_step + i]);
                        for (size_t v = 0; v < CC_GROUP_VECS; v++)
                            sum[r * cols + x][v] =
                                cc_vec_fma(value, weight[v], sum[r * cols + x][v]);
                    }
            }
        }
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t x = 0; x < cols; x++)
            for (size_t v = 0; v < CC_GROUP_VECS; v++)
                cc_vec_store(out_row[r] + (col + x) * c->out_step + v * CC_WIDTH,
                             sum[r * cols + x][v]);
}

#define TILE_FUNCTIONS(ROWS, COLS)                                                                 \
    static void tile_##ROWS##_##COLS(const struct cc_conv *c, const float *const *in,              \
                                     float *const *out, size_t col)                                \
    {                                                                                              \
        if (c->in_step == CC_GROUP)                                                                \
            tile_of(ROWS, COLS, CC_GROUP, c, in, out, col);                                        \
        else                                                                                       \
            tile_of(ROWS, COLS, 2 * CC_GROUP, c, in, out, col);                                    \
    }
TILES(TILE_FUNCTIONS)

/* Rows beyond the last are the last again: a tile computes and stores its values twice. */
#define TILE_COLUMNS(ROWS, COLS)                                                                   \
    for (; c->cols - col >= (COLS); col += (COLS))                                                 \
        for (size_t r = 0; r < rows; r += (ROWS))                                                  \
            tile_##ROWS##_##COLS(c, in + r, out + r, col);

static void rows_of(const struct cc_conv *c, const float *const *in_rows, float *const *out_rows,
                    size_t rows)
{
    const float *in[CC_CONV_ROWS + TILE_ROWS];
    float *out[CC_CONV_ROWS + TILE_ROWS];
    size_t col = 0;
    for (size_t r = 0; r < CC_CONV_ROWS + TILE_ROWS; r++) {
        in[r] = in_rows[r < rows ? r : rows - 1];
        out[r] = out_rows[r < rows ? r : rows - 1];
    }
    TILES(TILE_COLUMNS)
}

/* --- weights --- */

/* Input channels whose sums are in registers together. */
#if CC_WIDTH == 16
#define WIDE 16
#elif CC_WIDTH > 1
#define WIDE 4
#else
#define WIDE 1
#endif
#define NARROW (WIDE < 4 ? WIDE : 4)

/* The sums of `channels` input channels, a constant where it is called. */
static inline __attribute__((always_inline)) void weights_of(size_t channels, size_t in_col,
                                                             const struct cc_conv_weights *c,
                                                             const float *first, float *tile)
{
    cc_vec sum[WIDE][CC_GROUP_VECS];
    for (size_t i = 0; i < channels; i++)
        for (size_t v = 0; v < CC_GROUP_VECS; v++)
            sum[i][v] = cc_vec_set(0.0f);
    for (size_t n = 0; n < c->images; n++)
        for (size_t y = 0; y < c->rows; y++) {
            const float *in = first + n * c->in_image + y * c->in_row;
            const float *out = c->out + n * c->out_image + y * c->out_row;
            for (size_t x = 0; x < c->cols; x++, in += in_col, out += CC_GROUP)
                for (size_t v = 0; v < CC_GROUP_VECS; v++) {
                    cc_vec gradient = cc_vec_load(out + v * CC_WIDTH);
                    for (size_t i = 0; i < channels; i++)
                        sum[i][v] = cc_vec_fma(cc_vec_set(in[i]), gradient, sum[i][v]);
                }
        }
    for (size_t i = 0; i < channels; i++)
        for (size_t v = 0; v < CC_GROUP_VECS; v++)
            cc_vec_store(tile + i * CC_GROUP + v * CC_WIDTH, sum[i][v]);
}

static void weights(const struct cc_conv_weights *c, float *tile)
{
    size_t i = 0;
    for (; i + WIDE <= c->channels; i += WIDE, tile += WIDE * CC_GROUP)
        if (c->in_col == CC_GROUP)
            weights_of(WIDE, CC_GROUP, c, c->in + i, tile);
        else
            weights_of(WIDE, 2 * CC_GROUP, c, c->in + i, tile);
    for (; i < c->channels; i += NARROW, tile += NARROW * CC_GROUP)
        weights_of(NARROW, c->in_col, c, c->in + i, tile);
}

const struct k_conv CC_K(k_conv) = {
    .rows = rows_of,
    .weights = weights,
};
