/* The rows of a sheet that a figure draws, and the settings that tell its panels apart. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/units.h"
#include "results/plot_maker.h"

/* Columns by which rows go to different panels. Those with one value are in the figure's title. */
static const struct setting {
    const char *key, *unit; /* NULL: text */
    const char *word;       /* after the number */
} settings[] = {
    {"table", NULL, ""},
    {"column", NULL, ""},
    {"heading", NULL, ""},
    {"net", NULL, ""},
    {"data", NULL, ""},
    {"trace", NULL, ""},
    {"stream", NULL, ""},
    {"tensor", NULL, ""},
    {"exchange", NULL, ""},
    {"mode", NULL, ""},
    {"consistency", NULL, ""},
    {"workers", "", " workers"},
    {"servers", "", " servers"},
    {"placement", NULL, ""},
    {"topology", NULL, ""},
    {"platform", NULL, ""},
    {"fidelity", NULL, ""},
    {"bw_bps", "bit/s", ""},
    {"latency_s", "s", " latency"},
    {"staleness", "", " steps stale"},
    {"depth", "", " deep"},
    {"threads", "", " threads"},
    {"batch", "", " samples a worker"},
    {"rate", "", " learning rate"},
    {"keep", "", " of the values kept"},
    {"values", "#", " values"},
    {"nonzeros", "", " of the values not zero"},
};
#define SETTINGS (sizeof settings / sizeof settings[0])
_Static_assert(SETTINGS <= CC_MOST_SETTINGS, "a column for each setting");

static bool is_one_of(const char *key, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (keys[i] != NULL && strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

/* Whether a title says a setting that all rows share: sizes only where they matter. */
static bool is_told(enum cc_plot_kind kind, const char *key)
{
    return kind == CC_PLOT_BANDWIDTH || kind == CC_PLOT_DENSITY || strcmp(key, "values") != 0;
}

/* Whether rows are told apart by the column: not if it is x or names the series; a tensor's size
 * replaces its name; and a network changes nothing of a training but its time. */
static bool tells_apart(enum cc_plot_kind kind, const struct cc_kind *own, const struct setting *t)
{
    static const char *const names[] = {"trace", "tensor", "net"}, *const links[] = {"bw_bps",
                                                                                     "latency_s"};
    static const char *const amounts[] = {"values", "nonzeros"}, *const cells[] = {"column",
                                                                                   "heading"};
    const char *key = t->key;
    if (is_one_of(key, own->series, 2) || is_one_of(key, &own->x, 1))
        return false;
    if (is_one_of(key, cells, 2))
        return is_one_of(key, &own->panel, 1);
    if (is_one_of(key, amounts, 2))
        return kind == CC_PLOT_BANDWIDTH || kind == CC_PLOT_DENSITY;
    if (cc_plot_is_training(kind) && own->x != NULL && strcmp(own->x, CC_TIME_COLUMN) != 0 &&
        is_one_of(key, links, 2))
        return false;
    return !(kind == CC_PLOT_SIZE && is_one_of(key, names, 3));
}

void cc_maker_find_settings(struct cc_maker *m)
{
    for (size_t i = 0; i < SETTINGS; i++)
        m->setting[i] = cc_sheet_column(m->s, settings[i].key);
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

static bool same(const struct cc_value *a, const struct cc_value *b)
{
    if (a->kind != b->kind)
        return false;
    return a->kind == CC_TEXT ? strcmp(a->text, b->text) == 0 : a->number == b->number;
}

bool cc_maker_same_panel(const struct cc_maker *m, size_t a, size_t b)
{
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
        found =
            scheme != NULL && scheme->kind == CC_TEXT && strcmp(scheme->text, f->schemes[i]) == 0;
    for (size_t i = 0; i < SETTINGS && found; i++) {
        const struct cc_value *v = setting_of(m, row, i);
        if (f->exchange != NULL && strcmp(settings[i].key, "exchange") == 0)
            found = v->kind == CC_TEXT && strcmp(v->text, f->exchange) == 0;
        if (f->bw_bps > 0 && strcmp(settings[i].key, "bw_bps") == 0)
            found = v->kind == CC_NUMBER && fabs(v->number / f->bw_bps - 1) < 1e-9;
        if (f->workers > 0 && strcmp(settings[i].key, "workers") == 0)
            found = v->kind == CC_NUMBER && v->number == f->workers;
    }
    return found;
}

/* Appends a setting such as "10 workers" to the list in text[cap]. */
static void put_setting(const struct setting *t, const struct cc_value *v, char *text, size_t cap)
{
    char number[64] = "";
    size_t used = strlen(text);
    if (v->kind == CC_NULL)
        return;
    if (v->kind == CC_NUMBER)
        cc_print_si(v->number, t->unit != NULL ? t->unit : "", number, sizeof number);
    const char *word = t->word;
    const size_t noun = word[0] == ' ' ? 1 + strcspn(word + 1, " ") : 0;
    const bool one = v->kind == CC_NUMBER && v->number == 1; /* 1 worker, 1 sample a worker */
    const size_t letters = noun - (one && noun > 0 && word[noun - 1] == 's');
    (void)snprintf(text + used, cap - used, "%s%s%.*s%s", used > 0 ? ", " : "",
                   v->kind == CC_TEXT ? v->text : number, (int)letters, word, word + noun);
}

void cc_maker_describe(const struct cc_maker *m, size_t row, bool apart, char *text, size_t cap)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        bool differs = false;
        for (size_t r = 0; r < m->s->rows && !differs; r++)
            differs = cc_maker_keeps(m, r) && !same(setting_of(m, r, i), setting_of(m, row, i));
        const bool wanted = apart ? differs && tells_apart(m->f->kind, m->kind, &settings[i])
                                  : !differs && is_told(m->f->kind, settings[i].key);
        if (wanted)
            put_setting(&settings[i], setting_of(m, row, i), text, cap);
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
