/* The rows of a sheet that a figure draws, and the settings that tell its panels apart. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/units.h"
#include "results/plot_impl.h"

/* Columns by which rows go to different panels. Those with one value are in the figure's title. */
static const struct setting {
    const char *key, *unit; /* NULL: text */
    const char *word;       /* after the number */
    enum {
        ANY,
        NAME,  /* names of tensors, which their size replaces */
        CELL,  /* cells of tables, only where the kind says so */
        LINK,  /* changes nothing of a training but its time */
        AMOUNT /* numbers of values, which matter to the kinds for calls */
    } of;
} settings[] = {
    {"table", NULL, "", ANY},
    {"column", NULL, "", CELL},
    {"heading", NULL, "", CELL},
    {"process", NULL, "", CELL},
    {"net", NULL, "", NAME},
    {"data", NULL, "", ANY},
    {"trace", NULL, "", NAME},
    {"stream", NULL, "", ANY},
    {"tensor", NULL, "", NAME},
    {"exchange", NULL, "", ANY},
    {"mode", NULL, "", ANY},
    {"dtype", NULL, "", ANY},
    {"local_steps", "", " local steps", ANY},
    {"stream_parts", "", " parts in turn", ANY},
    {"consistency", NULL, "", ANY},
    {"workers", "", " workers", ANY},
    {"per_host", "", " a host", ANY},
    {"servers", "", " servers", ANY},
    {"placement", NULL, "", ANY},
    {"topology", NULL, "", ANY},
    {"platform", NULL, "", ANY},
    {"fidelity", NULL, "", ANY},
    {"bw_bps", "bit/s", "", LINK},
    {"latency_s", "s", " latency", LINK},
    {"staleness", "", " steps stale", ANY},
    {"depth", "", " deep", ANY},
    {"threads", "", " threads", ANY},
    {"batch", "", " samples a worker", ANY},
    {"rate", "", " learning rate", ANY},
    {"keep", "", " of the values kept", ANY},
    {"values", "#", " values", AMOUNT},
    {"nonzeros", "", " of the values not zero", AMOUNT},
};
#define SETTINGS (sizeof settings / sizeof settings[0])
_Static_assert(SETTINGS <= CC_MOST_SETTINGS, "a column for each setting");

static bool is(const char *key, const char *other)
{
    return other != NULL && strcmp(key, other) == 0;
}

static bool is_of_calls(enum cc_plot_kind kind)
{
    return kind == CC_PLOT_BANDWIDTH || kind == CC_PLOT_DENSITY;
}

/* Whether rows are told apart by the column: not if it is x or names the series. */
static bool tells_apart(enum cc_plot_kind kind, const struct cc_kind *own, const struct setting *t)
{
    if (is(t->key, own->series[0]) || is(t->key, own->series[1]) || is(t->key, own->x))
        return false;
    switch (t->of) {
    case NAME:
        return kind != CC_PLOT_SIZE;
    case CELL:
        return is(t->key, own->panel);
    case LINK:
        return !cc_plot_is_training(kind) || is(CC_TIME_COLUMN, own->x);
    case AMOUNT:
        return is_of_calls(kind);
    case ANY:
        break;
    }
    return true;
}

/* A training's evaluations are points over the steps; everything else plots its summaries. */
static bool is_kind(const struct cc_maker *m, size_t row)
{
    const struct cc_value *v =
        m->training_row != CC_NO_COLUMN && cc_sheet_has_number(m->s, "accuracy")
            ? cc_sheet_value(m->s, row, m->training_row)
            : NULL;
    return v == NULL || v->kind != CC_TEXT ||
           strcmp(v->text, cc_plot_is_training(m->f->kind) ? "eval" : "summary") == 0;
}

/* The setting of a row. Truth values are none: `data` of `sim` says whether it moved the data. */
static const struct cc_value *setting_of(const struct cc_maker *m, size_t row, size_t i)
{
    static const struct cc_value none;
    const struct cc_value *v =
        m->setting[i] != CC_NO_COLUMN ? cc_sheet_value(m->s, row, m->setting[i]) : &none;
    return v->kind != CC_BOOL ? v : &none;
}

/* Numbers from CSV are the same also where their texts differ. */
static bool same(const struct cc_value *a, const struct cc_value *b)
{
    return a->kind == b->kind &&
           (a->kind == CC_TEXT ? strcmp(a->text, b->text) == 0 : a->number == b->number);
}

/* Whether the latency follows from the x axis, as the latencies of links' classes do from their
 * bandwidths: then it tells no panels apart. */
static bool follows_x(const struct cc_maker *m, size_t column)
{
    for (size_t a = 0; a < m->s->rows; a++)
        for (size_t b = a + 1; b < m->s->rows; b++)
            if (same(cc_sheet_value(m->s, a, m->x), cc_sheet_value(m->s, b, m->x)) &&
                !same(cc_sheet_value(m->s, a, column), cc_sheet_value(m->s, b, column)))
                return false;
    return true;
}

void cc_maker_find_settings(struct cc_maker *m)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        size_t column = cc_sheet_column(m->s, settings[i].key);
        if (column != CC_NO_COLUMN && is("latency_s", settings[i].key) &&
            is("bw_bps", m->kind->x) && follows_x(m, column))
            column = CC_NO_COLUMN;
        m->setting[i] = column;
    }
}

bool cc_maker_same_panel(const struct cc_maker *m, size_t a, size_t b)
{
    if (m->filter->one_panel)
        return true;
    for (size_t i = 0; i < SETTINGS; i++)
        if (tells_apart(m->f->kind, m->kind, &settings[i]) &&
            !same(setting_of(m, a, i), setting_of(m, b, i)))
            return false;
    return true;
}

static bool is_large(const struct cc_maker *m, size_t row)
{
    const double values =
        m->largest.of > 0 ? cc_sheet_number_or_nan(m->s, row, "values") : (double)NAN;
    return m->largest.of == 0 || values > m->largest.least ||
           (values == m->largest.least && row <= m->largest.row);
}

bool cc_maker_keeps(const struct cc_maker *m, size_t row)
{
    const struct cc_plot_filter *f = m->filter;
    const size_t column = cc_sheet_column(m->s, "scheme");
    const struct cc_value *scheme =
        column != CC_NO_COLUMN ? cc_sheet_value(m->s, row, column) : NULL;
    bool found = f->scheme_count == 0;
    if (!is_kind(m, row) || !is_large(m, row))
        return false;
    for (size_t i = 0; i < f->scheme_count && !found; i++)
        found = scheme != NULL && scheme->kind == CC_TEXT && is(scheme->text, f->schemes[i]);
    for (size_t i = 0; i < SETTINGS && found; i++) {
        const struct cc_value *v = setting_of(m, row, i);
        if (f->exchange != NULL && is("exchange", settings[i].key))
            found = v->kind == CC_TEXT && is(v->text, f->exchange);
        if (f->bw_bps > 0 && is("bw_bps", settings[i].key))
            found = v->kind == CC_NUMBER && fabs(v->number / f->bw_bps - 1) < 1e-9;
        if (f->workers > 0 && is("workers", settings[i].key))
            found = v->kind == CC_NUMBER && v->number == f->workers;
    }
    return found;
}

/* Where the first of the two first words ends that is in the plural; without one, the first. */
static size_t noun_of(const char *word)
{
    if (word[0] != ' ')
        return 0;
    const size_t first = 1 + strcspn(word + 1, " ");
    if (word[first - 1] == 's' || word[first] == '\0')
        return first;
    const size_t second = first + 1 + strcspn(word + first + 1, " ");
    return word[second - 1] == 's' ? second : first;
}

/* Appends a setting such as "10 workers" to the list in text[cap]. */
static void put_setting(const struct setting *t, const struct cc_value *v, char *text, size_t cap)
{
    char number[64] = "";
    if (v->kind == CC_NULL)
        return;
    if (v->kind == CC_NUMBER)
        cc_print_si(v->number, t->unit != NULL ? t->unit : "", number, sizeof number);
    const char *word = t->word;
    const size_t noun = noun_of(word);
    const bool one = v->kind == CC_NUMBER && v->number == 1; /* 1 worker, 1 sample a worker */
    const size_t letters = noun - (one && noun > 0 && word[noun - 1] == 's');
    cc_list_add(text, cap, ", ", "%s%.*s%s", v->kind == CC_TEXT ? v->text : number, (int)letters,
                word, word + noun);
}

void cc_maker_describe(const struct cc_maker *m, size_t row, bool apart, char *text, size_t cap)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        bool differs = false;
        for (size_t r = 0; r < m->s->rows && !differs; r++)
            differs = cc_maker_keeps(m, r) && !same(setting_of(m, r, i), setting_of(m, row, i));
        const bool wanted =
            apart ? differs && tells_apart(m->f->kind, m->kind, &settings[i])
                  : !differs && (is_of_calls(m->f->kind) || !is("values", settings[i].key));
        if (wanted)
            put_setting(&settings[i], setting_of(m, row, i), text, cap);
    }
}

/* Whether two rows' series have the same name so far: that of the kind's columns, and these
 * settings. */
static bool same_name(const struct cc_maker *m, size_t a, size_t b, const bool named[SETTINGS])
{
    for (size_t k = 0; k < 2; k++)
        if (m->series[k] != CC_NO_COLUMN &&
            !same(cc_sheet_value(m->s, a, m->series[k]), cc_sheet_value(m->s, b, m->series[k])))
            return false;
    for (size_t i = 0; i < SETTINGS; i++)
        if (named[i] && !same(setting_of(m, a, i), setting_of(m, b, i)))
            return false;
    return true;
}

void cc_maker_tell_apart(const struct cc_maker *m, size_t row, char *name, size_t cap)
{
    bool named[SETTINGS] = {false};
    for (int first = 1; first >= 0; first--) /* local steps first: they often decide alone */
        for (size_t i = 0; i < SETTINGS; i++) {
            const bool local = is("local_steps", settings[i].key);
            if (local != (first == 1) || !tells_apart(m->f->kind, m->kind, &settings[i]))
                continue;
            for (size_t r = 0; r < m->s->rows && !named[i]; r++)
                named[i] = cc_maker_keeps(m, r) && (local || same_name(m, r, row, named)) &&
                           !same(setting_of(m, r, i), setting_of(m, row, i));
            if (named[i])
                put_setting(&settings[i], setting_of(m, row, i), name, cap);
        }
}

struct size_of_row {
    double values;
    size_t row;
};

/* The largest first; of the same size, in the file's order. */
static int compare_sizes(const void *a, const void *b)
{
    const struct size_of_row *x = a, *y = b;
    if (x->values != y->values)
        return x->values > y->values ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}

int cc_maker_keep_largest(struct cc_maker *m)
{
    enum { DRAWN = 40 };
    size_t rows = 0;
    if (m->f->kind != CC_PLOT_NETS && m->f->kind != CC_PLOT_RATIO)
        return CC_OK;
    struct size_of_row *size;
    CC_TRY(CC_NEW(size, m->s->rows + 1, m->e));
    for (size_t i = 0; i < m->s->rows; i++) {
        const double values = cc_sheet_number_or_nan(m->s, i, "values");
        if (cc_maker_keeps(m, i) && !isnan(values))
            size[rows++] = (struct size_of_row){values, i};
    }
    qsort(size, rows, sizeof *size, compare_sizes);
    if (rows > CC_MOST_SERIES) {
        m->largest.of = rows;
        m->largest.least = size[DRAWN - 1].values;
        m->largest.row = size[DRAWN - 1].row;
    }
    free(size);
    return CC_OK;
}
