#include "train/data/rows.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

void cc_rows_free(struct cc_sparse_rows *r)
{
    free(r->begin);
    free(r->index);
    free(r->value);
    *r = (struct cc_sparse_rows){.count = 0};
}

/* Index and value share a capacity. */
static int reserve(struct cc_sparse_rows *r, size_t count, struct cc_error *e)
{
    size_t capacity = r->capacity;
    if (count <= capacity)
        return CC_OK;
    CC_TRY(CC_GROW(r->index, &capacity, count, e));
    capacity = r->capacity;
    CC_TRY(CC_GROW(r->value, &capacity, count, e));
    r->capacity = capacity;
    return CC_OK;
}

int cc_rows_reserve(struct cc_sparse_rows *r, size_t rows, size_t values, struct cc_error *e)
{
    CC_TRY(CC_GROW(r->begin, &r->row_capacity, rows + 1, e));
    return reserve(r, values, e);
}

int cc_rows_add_row(struct cc_sparse_rows *r, struct cc_error *e)
{
    CC_TRY(CC_GROW(r->begin, &r->row_capacity, r->count + 2, e));
    if (r->count == 0)
        r->begin[0] = 0;
    r->begin[r->count + 1] = r->begin[r->count];
    r->count++;
    return CC_OK;
}

int cc_rows_add(struct cc_sparse_rows *r, uint32_t index, float value, struct cc_error *e)
{
    const size_t at = r->begin[r->count];
    CC_TRY(reserve(r, at + 1, e));
    r->index[at] = index;
    r->value[at] = value;
    r->begin[r->count] = at + 1;
    return CC_OK;
}

int cc_rows_transpose(const struct cc_sparse_rows *r, size_t columns, struct cc_sparse_rows *out,
                      struct cc_error *e)
{
    const size_t n = cc_rows_nonzeros(r);
    CC_TRY(cc_rows_reserve(out, columns, n, e));
    /* where the next value of each column goes, which ends as the column's end */
    size_t *next = out->begin + 1;
    memset(out->begin, 0, (columns + 1) * sizeof *out->begin);
    for (size_t k = 0; k < n; k++)
        if ((size_t)r->index[k] + 1 < columns)
            next[r->index[k] + 1]++;
    for (size_t c = 1; c < columns; c++)
        next[c] += next[c - 1];
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = r->begin[i]; k < r->begin[i + 1]; k++) {
            const size_t at = next[r->index[k]]++;
            out->index[at] = (uint32_t)i;
            out->value[at] = r->value[k];
        }
    out->count = columns;
    return CC_OK;
}

int cc_rows_move(struct cc_sparse_rows *from, const bool *moves, struct cc_sparse_rows *to,
                 struct cc_error *e)
{
    size_t kept = 0, at = 0, begin = 0;
    for (size_t i = 0; i < from->count; i++) {
        const size_t end = from->begin[i + 1];
        if (moves[i]) {
            CC_TRY(cc_rows_add_row(to, e));
            for (size_t k = begin; k < end; k++)
                CC_TRY(cc_rows_add(to, from->index[k], from->value[k], e));
        } else {
            memmove(from->index + at, from->index + begin, (end - begin) * sizeof *from->index);
            memmove(from->value + at, from->value + begin, (end - begin) * sizeof *from->value);
            at += end - begin;
            from->begin[++kept] = at;
        }
        begin = end;
    }
    from->count = kept;
    return CC_OK;
}
