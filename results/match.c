/* Matching rows: each row is labelled by the text of its settings, both lists are sorted by label,
 * and equal labels are joined. */
#include "results/match.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/format/json.h"
#include "core/memory.h"
#include "core/memory_text.h"

const struct cc_value *cc_match_value(const struct cc_match *m, int which, size_t row,
                                      size_t column)
{
    const struct cc_sheet *s = m->sheet[which];
    const size_t at = cc_sheet_column(s, m->columns[column].key->name);
    return at != CC_NO_COLUMN ? cc_sheet_value(s, row, at) : NULL;
}

static void put_value(const struct cc_value *v, FILE *out)
{
    char number[CC_NUMBER_CAP];
    if (v == NULL || v->kind == CC_NULL) {
        (void)fputs("-", out);
    } else if (v->kind == CC_TEXT) {
        (void)fputs(v->text, out);
    } else if (v->kind == CC_BOOL) {
        (void)fputs(v->number != 0 ? "yes" : "no", out);
    } else {
        cc_number_print(v->number, number);
        (void)fputs(number, out);
    }
}

/* The settings of the key in a row, as text, which the caller frees. */
static char *label_row(const struct cc_match *m, int which, size_t row, struct cc_error *e)
{
    struct cc_memory_text t;
    bool first = true;
    if (cc_memory_text_begin(&t, "the settings of a row", e) != CC_OK)
        return NULL;
    for (size_t i = 0; i < m->key_count; i++) {
        const char *key = m->columns[m->key[i]].key->name;
        (void)fprintf(t.f, "%s%s=", first ? "" : ", ", key);
        put_value(cc_match_value(m, which, row, m->key[i]), t.f);
        first = false;
    }
    return cc_memory_text_end(&t, "the settings of a row", e) == CC_OK ? t.text : NULL;
}

/* --- the rows of a sheet by their labels --- */

struct labelled {
    char *label;
    size_t row;
};

static int by_label(const void *x, const void *y)
{
    const struct labelled *a = x, *b = y;
    const int order = strcmp(a->label, b->label);
    return order != 0 ? order : (a->row > b->row) - (a->row < b->row);
}

static void free_labels(struct labelled *list, size_t count)
{
    for (size_t i = 0; list != NULL && i < count; i++)
        free(list[i].label);
    free(list);
}

/* The rows of a sheet, sorted by the settings of the key; NULL without memory. */
static struct labelled *label_rows(const struct cc_match *m, int which, struct cc_error *e)
{
    const size_t rows = m->sheet[which]->rows;
    struct labelled *list = cc_alloc0(rows * sizeof *list, e);
    for (size_t i = 0; list != NULL && i < rows; i++) {
        list[i] = (struct labelled){label_row(m, which, i, e), i};
        if (list[i].label == NULL) {
            free_labels(list, rows);
            return NULL;
        }
    }
    if (list != NULL)
        qsort(list, rows, sizeof *list, by_label);
    return list;
}

/* Sets *out to how many different rows the key tells apart in the two sheets. */
static int count_distinct(const struct cc_match *m, size_t *out, struct cc_error *e)
{
    *out = 0;
    for (int which = 0; which < 2; which++) {
        const size_t rows = m->sheet[which]->rows;
        struct labelled *list = label_rows(m, which, e);
        if (list == NULL)
            return CC_FAIL;
        for (size_t i = 0; i < rows; i++)
            *out += i == 0 || strcmp(list[i - 1].label, list[i].label) != 0;
        free_labels(list, rows);
    }
    return CC_OK;
}

static int choose_key(struct cc_match *m, struct cc_error *e)
{
    size_t best = 2; /* a row of each sheet: nothing tells others apart from it */
    for (size_t c = 0; m->columns[c].key != NULL; c++) {
        size_t distinct;
        if (m->columns[c].role != CC_SETTING || cc_match_value(m, 0, 0, c) == NULL ||
            cc_match_value(m, 1, 0, c) == NULL)
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
    struct labelled *a = label_rows(m, 0, e), *b = a != NULL ? label_rows(m, 1, e) : NULL;
    bool *taken = b != NULL ? cc_alloc0(rows[1] * sizeof *taken, e) : NULL;
    const int status = taken != NULL ? CC_OK : CC_FAIL;
    for (size_t i = 0, k = 0; status == CC_OK && i < rows[0]; i++) {
        while (k < rows[1] && strcmp(b[k].label, a[i].label) < 0)
            k++;
        const bool found = k < rows[1] && strcmp(b[k].label, a[i].label) == 0;
        m->partner[a[i].row] = found ? b[k].row : SIZE_MAX;
        if (found)
            taken[b[k++].row] = true;
    }
    for (size_t i = 0; status == CC_OK && i < rows[1]; i++)
        if (!taken[i])
            m->alone[m->alone_count++] = i;
    free_labels(a, rows[0]);
    free_labels(b, rows[1]);
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
    m.key = cc_alloc((count + 1) * sizeof *m.key, e);
    m.partner = cc_alloc(a->rows * sizeof *m.partner, e);
    m.alone = cc_alloc(b->rows * sizeof *m.alone, e);
    if (m.key == NULL || m.partner == NULL || m.alone == NULL) {
        status = CC_FAIL;
        goto out;
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
    free(m->partner);
    free(m->alone);
    *m = (struct cc_match){.key = NULL};
}
