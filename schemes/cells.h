/* A tensor as a matrix that is cut into cells, neighbours in both dimensions, for schemes that
 * choose the largest values of each (chunktopk, demo): what their papers call chunks.
 *
 * The matrix has as many rows as the first dimension; a tensor of fewer than two is one row. Each
 * side is cut into as few parts as its limit allows, which are as long as each other, or the first
 * ones longer by one. With sides that 64 divides these are the chunks of DeMo (Peng, Quesnelle,
 * Kingma, Decoupled Momentum Optimization, 2024, section 3.1), whose parts are those of the largest
 * divisor; a prime side would leave it with single values. */
#ifndef CC_SCHEMES_CELLS_H
#define CC_SCHEMES_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/error.h"
#include "core/tensor.h"

/* The most values of a cell, and of its side unless the matrix is narrow. */
#define CC_CELL      4096
#define CC_CELL_SIDE 64

/* A side of the matrix: `parts` parts, of which the first `longer` have length + 1 values. */
struct cc_cell_cut {
    size_t parts, length, longer;
};

struct cc_cells {
    size_t cols; /* of the matrix */
    struct cc_cell_cut down, across;
    size_t count;
};

/* One of them: its first value in the tensor, rows and columns. */
struct cc_cell {
    size_t at, rows, cols;
};

/* Cells with sides of at most `side`. 0: of at most CC_CELL values, with sides of CC_CELL_SIDE
 * unless one of the matrix is shorter. The shape has a value. */
struct cc_cells cc_cells_make(const struct cc_shape *shape, size_t side);

/* Cell i, counted row by row. */
struct cc_cell cc_cells_at(const struct cc_cells *c, size_t i);

/* The sum of bytes(arg, values) over the cells before cell i <= count; SIZE_MAX on overflow. */
size_t cc_cells_bytes(const struct cc_cells *c, size_t i,
                      size_t (*bytes)(const void *arg, size_t values), const void *arg);

/* v = x + decay r, row by row, for the cell of the tensors x and r (NULL: v = x). Returns the
 * largest bits of |v|. */
uint32_t cc_cell_load(const struct cc_cell *c, size_t cols, struct cc_elements x, const float *r,
                      float decay, float *v);
/* The cell of the tensor r = v. */
void cc_cell_store(const struct cc_cell *c, size_t cols, const float *v, float *r);

/* ceil(k values / whole): the share of a cell that has k where a whole one has `whole` values. */
size_t cc_cell_share(size_t k, size_t values, size_t whole);

/* Writes the places of the k largest magnitudes of n finite values, ascending; the lower of equal
 * ones. 1 <= k <= n <= CC_CELL; `most` are the bits of the largest magnitude. *guess: 0 at first,
 * for the speed of the next call. */
void cc_cell_pick(const float *v, size_t n, size_t k, uint32_t most, uint32_t *guess,
                  uint16_t *place);

/* --- loops over the cells of a codec --- */

/* A codec's cells, and its functions for one of them; `arg` is the codec's own. Payloads of cells
 * follow one another. */
struct cc_cell_loop {
    struct cc_cells cells;
    size_t n; /* values of the tensor */
    int threads;
    bool varies; /* payloads may be shorter than `bytes` */
    void *arg;
    /* The most bytes of the payload of a cell with this number of values. */
    size_t (*bytes)(const void *arg, size_t values);
    /* Encodes a cell and returns its bytes; 0: a value is not finite. *guess as above. */
    size_t (*put)(void *arg, const struct cc_cell *c, uint32_t *guess, uint8_t *out);
    /* Decodes a cell whose payload begins at in[at], and returns where it ends; 0: the payload is
     * refused, with a message. `len` is that of all cells. */
    size_t (*get)(void *arg, const struct cc_cell *c, const uint8_t *in, size_t at, size_t len,
                  struct cc_error *e);
};

/* The largest payload of all cells. */
size_t cc_cells_bound(const struct cc_cell_loop *loop);

/* Encodes all cells to `out`, which has that room, and sets *len. False: a value is not finite. */
bool cc_cells_encode(const struct cc_cell_loop *loop, uint8_t *out, size_t *len);

/* Decodes all cells; as decode of struct cc_scheme. */
int cc_cells_decode(const struct cc_cell_loop *loop, const uint8_t *in, size_t len,
                    struct cc_error *e);

#endif
