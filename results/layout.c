/* Choosing columns. Settings that are the same in all rows stand above the table. If the rest is
 * too wide, columns of the less important roles are left out first, then settings that the others
 * imply, then the last answers; a last column of text may wrap instead. */
#include "results/layout.h"

#include <stdlib.h>

#include "core/memory.h"
#include "results/text.h"

const struct cc_shown *cc_layout_next(const struct cc_layout *l, enum cc_place place,
                                      const struct cc_shown *p)
{
    for (p = p == NULL ? l->shown : p + 1; p < l->shown + l->count; p++)
        if (p->place == place)
            return p;
    return NULL;
}

/* Whether a text is a number, which is aligned as one. */
static bool is_number(const char *text)
{
    char *end;
    (void)strtod(text, &end);
    return end != text && *end == '\0';
}

/* Measures a column and finds its place; false if it is not shown, because it is null in every row.
 */
static bool measure(const struct cc_record *r, bool list, struct cc_shown *p)
{
    bool filled = false, same = true;
    const bool chosen = r->chosen != NULL && !r->usual;
    p->width = cc_larger(cc_text_print(p->head, NULL), cc_text_print(p->column->key->unit, NULL));
    for (size_t i = 0; i < r->row_count; i++) {
        const struct cc_value *v = &r->rows[i].value[p->index];
        p->width = cc_larger(p->width, cc_value_print(v, p->column, NULL));
        p->left = p->left || (v->kind == CC_TEXT && !is_number(v->text));
        same = same && cc_value_same(v, &r->rows[0].value[p->index]);
        filled = filled || v->kind != CC_NULL;
    }
    if (list || (same && !chosen && p->column->role == CC_SETTING))
        p->place = CC_ABOVE;
    return filled || chosen;
}

static void add(const struct cc_record *r, bool list, struct cc_layout *l, size_t index)
{
    const struct cc_column *c = &r->columns[index];
    struct cc_shown p = {.column = c, .head = cc_column_head(c), .index = index};
    if (!measure(r, list, &p))
        return;
    l->shown[l->count++] = p;
}

static bool is_in_table(const struct cc_shown *p, enum cc_role role)
{
    return p->place == CC_IN_TABLE && p->column->role == role;
}

static size_t count_role(const struct cc_layout *l, enum cc_role role)
{
    size_t count = 0;
    for (size_t i = 0; i < l->count; i++)
        count += is_in_table(&l->shown[i], role);
    return count;
}

static size_t table_width(const struct cc_layout *l)
{
    size_t width = 0;
    for (const struct cc_shown *p = NULL; (p = cc_layout_next(l, CC_IN_TABLE, p)) != NULL;)
        width += p->width + (width > 0 ? CC_TABLE_GAP : 0);
    return width;
}

/* Takes results out of the table, and puts back what fits: the more important roles first, each
 * from the left, and none of a role after one that was left out of a more important one. */
static void fit(struct cc_layout *l, size_t width)
{
    bool all = true;
    for (size_t i = 0; i < l->count; i++)
        if (l->shown[i].place == CC_IN_TABLE && l->shown[i].column->role > CC_ANSWER)
            l->shown[i].place = CC_LEFT_OUT;
    for (enum cc_role role = CC_MAIN; role <= CC_DETAIL && all; role++)
        for (size_t i = 0; i < l->count; i++) {
            struct cc_shown *p = &l->shown[i];
            if (p->place != CC_LEFT_OUT || p->column->role != role)
                continue;
            p->place = CC_IN_TABLE;
            if (table_width(l) <= width)
                continue;
            p->place = CC_LEFT_OUT;
            all = false;
        }
}

/* Wraps the last column if the table is too wide, and there is room for some words. */
static void wrap_last(struct cc_layout *l, size_t width)
{
    enum { LEAST = 16 };
    const struct cc_shown *last = NULL;
    for (const struct cc_shown *p = NULL; (p = cc_layout_next(l, CC_IN_TABLE, p)) != NULL;)
        last = p;
    const size_t all = table_width(l);
    if (last == NULL || !last->left || all <= width || all - last->width + LEAST > width)
        return;
    l->wrapped = last;
    l->wrap_at = all - last->width;
}

/* Whether the settings in the table, but for one, tell all rows apart. */
static bool is_redundant(const struct cc_record *r, const struct cc_layout *l, size_t but)
{
    for (size_t a = 0; a < r->row_count; a++)
        for (size_t b = a + 1; b < r->row_count; b++) {
            bool differ = false;
            for (size_t i = 0; i < l->count && !differ; i++) {
                const struct cc_shown *p = &l->shown[i];
                differ = i != but && is_in_table(p, CC_SETTING) &&
                         !cc_value_same(&r->rows[a].value[p->index], &r->rows[b].value[p->index]);
            }
            if (!differ)
                return false;
        }
    return true;
}

/* Leaves out columns of a role, the last ones first, until the table fits: settings that the others
 * imply, and answers until a single one is left. */
static void leave_out(const struct cc_record *r, struct cc_layout *l, enum cc_role role,
                      size_t width)
{
    for (size_t i = l->count; i-- > 0 && table_width(l) > width;)
        if (is_in_table(&l->shown[i], role) &&
            (role == CC_SETTING ? i > 0 && is_redundant(r, l, i) : count_role(l, role) > 1))
            l->shown[i].place = CC_LEFT_OUT;
}

static void leave_out_shown(struct cc_layout *l, struct cc_shown *p)
{
    p->place = CC_LEFT_OUT;
    l->in[CC_IN_TABLE]--;
    l->in[CC_LEFT_OUT]++;
}

void cc_layout_keep(const struct cc_record *r, struct cc_layout *l, size_t most)
{
    if ((r->chosen != NULL && !r->usual) || r->wide)
        return;
    for (int role = CC_DETAIL; role > CC_ANSWER; role--)
        for (size_t i = l->count; i-- > 0 && l->in[CC_IN_TABLE] > most;)
            if (is_in_table(&l->shown[i], (enum cc_role)role))
                leave_out_shown(l, &l->shown[i]);
    for (size_t i = l->count; i-- > 1 && l->in[CC_IN_TABLE] > most;)
        if (is_in_table(&l->shown[i], CC_SETTING) && is_redundant(r, l, i))
            leave_out_shown(l, &l->shown[i]);
    for (size_t i = l->count; i-- > 0 && l->in[CC_IN_TABLE] > most;)
        if (is_in_table(&l->shown[i], CC_ANSWER) && count_role(l, CC_ANSWER) > 1)
            leave_out_shown(l, &l->shown[i]);
    l->units = false;
    for (const struct cc_shown *p = NULL; (p = cc_layout_next(l, CC_IN_TABLE, p)) != NULL;)
        l->units = l->units || p->column->key->unit[0] != '\0';
}

int cc_layout_make(const struct cc_record *r, bool list, size_t width, struct cc_layout *l,
                   struct cc_error *e)
{
    *l = (struct cc_layout){.count = 0};
    CC_TRY(CC_NEW(l->shown, r->column_count, e));
    const bool fits = width > 0 && (r->chosen == NULL || r->usual);
    if (r->row_count == 0)
        return CC_OK;
    list = list && r->row_count == 1;
    for (size_t i = 0; r->chosen != NULL && i < r->chosen_count; i++)
        add(r, list, l, r->chosen[i]);
    for (size_t c = 0; r->chosen == NULL && c < r->column_count; c++)
        if (cc_column_shown(&r->columns[c]))
            add(r, list, l, c);
    if (!list && l->count > 0 && count_role(l, CC_SETTING) == 0)
        l->shown[0].place = CC_IN_TABLE;
    if (fits)
        fit(l, width);
    if (width > 0)
        wrap_last(l, width);
    if (fits && l->wrapped == NULL) {
        leave_out(r, l, CC_SETTING, width);
        leave_out(r, l, CC_ANSWER, width);
    }
    for (const struct cc_shown *p = l->shown; p < l->shown + l->count; p++) {
        l->in[p->place]++;
        l->units = l->units || (p->place == CC_IN_TABLE && p->column->key->unit[0] != '\0');
    }
    return CC_OK;
}
