/* Sparse rows: the non-zeros of each row with their columns (compressed sparse rows). */
#ifndef CC_TRAIN_DATA_ROWS_H
#define CC_TRAIN_DATA_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* Row i has the non-zeros [begin[i], begin[i + 1]), whose columns ascend strictly and are below
 * 2^32. A row may have none. A struct of zeros has no rows. */
struct cc_sparse_rows {
    size_t count;
    size_t *begin; /* [count + 1], once there is a row; from 0 */
    uint32_t *index;
    float *value;
    size_t row_capacity, capacity; /* begin's; index' and value's: from CC_GROW */
};

static inline size_t cc_rows_nonzeros(const struct cc_sparse_rows *r)
{
    return r->count > 0 ? r->begin[r->count] : 0;
}

void cc_rows_free(struct cc_sparse_rows *r);

/* Makes room for `rows` rows and `values` values in all, so that adding them allocates nothing
 * more. */
int cc_rows_reserve(struct cc_sparse_rows *r, size_t rows, size_t values, struct cc_error *e);

/* Appends an empty row; then values to the last row, whose columns the caller has ascend. */
int cc_rows_add_row(struct cc_sparse_rows *r, struct cc_error *e);
int cc_rows_add(struct cc_sparse_rows *r, uint32_t index, float value, struct cc_error *e);

/* The columns of r as rows of *out, which was all zeros: columns become rows, and rows columns.
 * Every column of r is below `columns`. Free *out also after an error. */
int cc_rows_transpose(const struct cc_sparse_rows *r, size_t columns, struct cc_sparse_rows *out,
                      struct cc_error *e);

/* Moves the rows that `moves` has to the end of *to, and closes the gaps; the order stays. */
int cc_rows_move(struct cc_sparse_rows *from, const bool *moves, struct cc_sparse_rows *to,
                 struct cc_error *e);

#endif
