/* Matching rows: the rows of each sheet are sorted by their settings, and equal ones are joined. */
#include "results/match.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

const struct cc_value *cc_match_value(const struct cc_match *m, int which, size_t row,
                                      size_t column)
{
    const size_t at = m->at[which][column];
    return at != CC_NO_COLUMN ? cc_sheet_value(m->sheet[which], row, at) : NULL;
}

/* A row of sheet 0 or 1. */
struct place {
    int which;
    size_t row;
};

/* Orders two rows by the settings of the key. */
static int order_of(const struct cc_match *m, struct place a, struct place b)
{
    for (size_t i = 0; i < m->key_count; i++) {
        const struct cc_value *x = cc_match_value(m, a.which, a.row, m->key[i]),
                              *y = cc_match_value(m, b.which, b.row, m->key[i]);
        const int order = x->kind != y->kind   ? (x->kind > y->kind) - (x->kind < y->kind)
                          : x->kind == CC_TEXT ? strcmp(x->text, y->text)
                                               : (x->number > y->number) - (x->number < y->number);
        if (order != 0)
            return order;
    }
    return 0;
}

/* Equal rows stay in their order. */
static int by_key(const void *x, const void *y, void *match)
{
    const struct place *a = x, *b = y;
    const int order = order_of(match, *a, *b);
    return order != 0 ? order : (a->row > b->row) - (a->row < b->row);
}

/* The rows of a sheet, sorted by the settings of the key. */
static int sort_rows(struct cc_match *m, int which, struct place **out, struct cc_error *e)
{
    const size_t rows = m->sheet[which]->rows;
    CC_TRY(CC_NEW(*out, rows, e));
    for (size_t i = 0; i < rows; i++)
        (*out)[i] = (struct place){which, i};
    qsort_r(*out, rows, sizeof **out, by_key, m);
    return CC_OK;
}

/* Sets *out to how many different rows the key tells apart in the two sheets. */
static int count_distinct(struct cc_match *m, size_t *out, struct cc_error *e)
{
    *out = 0;
    for (int which = 0; which < 2; which++) {
        struct place *list;
        CC_TRY(sort_rows(m, which, &list, e));
        for (size_t i = 0; i < m->sheet[which]->rows; i++)
            *out += i == 0 || order_of(m, list[i - 1], list[i]) != 0;
        free(list);
    }
    return CC_OK;
}

static int choose_key(struct cc_match *m, struct cc_error *e)
{
    size_t best = 2; /* a row of each sheet: nothing tells others apart from it */
    for (size_t c = 0; m->columns[c].key != NULL; c++) {
        size_t distinct;
        if (m->columns[c].role != CC_SETTING || m->at[0][c] == CC_NO_COLUMN ||
            m->at[1][c] == CC_NO_COLUMN)
            continue;
        m->key[m->key_count++] = c;
        CC_TRY(count_distinct(m, &distinct, e));
        if (distinct > best)
            best = distinct;
        else
            m->key_count--;
    }
    return CC_OK;
}

/* Walks through both sorted lists. */
static int join(struct cc_match *m, struct cc_error *e)
{
    const size_t rows[2] = {m->sheet[0]->rows, m->sheet[1]->rows};
    struct place *a = NULL, *b = NULL;
    bool *taken = NULL;
    int status = CC_OK;
    CC_TRY_OUT(sort_rows(m, 0, &a, e));
    CC_TRY_OUT(sort_rows(m, 1, &b, e));
    CC_TRY_OUT(CC_NEW(taken, rows[1], e));
    for (size_t i = 0, k = 0; i < rows[0]; i++) {
        while (k < rows[1] && order_of(m, b[k], a[i]) < 0)
            k++;
        const bool found = k < rows[1] && order_of(m, b[k], a[i]) == 0;
        m->partner[a[i].row] = found ? b[k].row : SIZE_MAX;
        if (found)
            taken[b[k++].row] = true;
    }
    for (size_t i = 0; i < rows[1]; i++)
        if (!taken[i])
            m->alone[m->alone_count++] = i;
out:
    free(a);
    free(b);
    free(taken);
    return status;
}

int cc_match_rows(const struct cc_sheet *a, const struct cc_sheet *b,
                  const struct cc_column *columns, struct cc_match *out, struct cc_error *e)
{
    struct cc_match m = {.sheet = {a, b}, .columns = columns};
    size_t count = 0;
    int status = CC_OK;
    while (columns[count].key != NULL)
        count++;
    CC_TRY_OUT(CC_NEW(m.key, count, e));
    CC_TRY_OUT(CC_NEW(m.partner, a->rows, e));
    CC_TRY_OUT(CC_NEW(m.alone, b->rows, e));
    for (int which = 0; which < 2; which++) {
        CC_TRY_OUT(CC_NEW(m.at[which], count, e));
        for (size_t c = 0; c < count; c++)
            m.at[which][c] = cc_sheet_column(m.sheet[which], columns[c].key->name);
    }
    CC_TRY_OUT(choose_key(&m, e));
    CC_TRY_OUT(join(&m, e));
    *out = m;
out:
    if (status != CC_OK)
        cc_match_free(&m);
    return status;
}

void cc_match_free(struct cc_match *m)
{
    free(m->key);
    free(m->at[0]);
    free(m->at[1]);
    free(m->partner);
    free(m->alone);
    *m = (struct cc_match){.key = NULL};
}
