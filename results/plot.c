/* Makes a figure from a sheet. Each kind of plot names the columns of x, y and the parts of bars.
 * The rows that pass the filter become points, each in the panel of its settings
 * (results/plot_rows.c) and in the series of its scheme. Then points are sorted, rows with the same
 * x are averaged, and axes get their ranges (results/plot_axis.c). */
#include "results/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/units.h"
#include "results/plot_impl.h"

enum { MOST_PANELS = 12 };

/* --- making --- */

static int need(const struct cc_maker *m, const char *key, size_t *out)
{
    *out = cc_sheet_column(m->s, key);
    if (*out != CC_NO_COLUMN)
        return CC_OK;
    return cc_fail(m->e, "%s: the plot '%s' needs a column '%s', which it lacks; %s", m->s->path,
                   cc_plot_kind_names[m->f->kind], key, m->kind->hint);
}

/* The part of the network's time that is hidden; 0 if that is less than 1% of the step. */
static double hidden_s(double busy_s, double comm_s, double step_s)
{
    return busy_s - comm_s > 0.01 * step_s ? busy_s - comm_s : 0;
}

static bool hides(const struct cc_sheet *s)
{
    for (size_t i = 0; i < s->rows; i++)
        if (hidden_s(cc_sheet_number_or_nan(s, i, CC_BUSY_COLUMN),
                     cc_sheet_number_or_nan(s, i, "comm_s"),
                     cc_sheet_number_or_nan(s, i, "step_s")) > 0)
            return true;
    return false;
}

/* The columns that name the series: those of the kind whose texts differ; else the first. */
static int find_series(struct cc_maker *m)
{
    bool any = false;
    for (size_t i = 0; i < 2; i++) {
        const size_t c =
            m->kind->series[i] != NULL ? cc_sheet_column(m->s, m->kind->series[i]) : CC_NO_COLUMN;
        bool differs = false;
        for (size_t row = 1; c != CC_NO_COLUMN && row < m->s->rows && !differs; row++)
            differs = !cc_value_same(cc_sheet_value(m->s, row, c), cc_sheet_value(m->s, 0, c));
        m->series[i] = differs ? c : CC_NO_COLUMN;
        any = any || differs;
    }
    return any || m->kind->series[0] == NULL ? CC_OK : need(m, m->kind->series[0], &m->series[0]);
}

/* Finds the columns of the kind: measures that are not needed only where they say something. */
static int find_columns(struct cc_maker *m)
{
    m->x = m->also = CC_NO_COLUMN;
    CC_TRY(find_series(m));
    if (m->kind->x != NULL)
        CC_TRY(need(m, m->kind->x, &m->x));
    if (m->kind->also != NULL)
        CC_TRY(need(m, m->kind->also, &m->also));
    for (size_t i = 0; m->kind->measure[i] != NULL; i++) {
        const char *key = m->kind->measure[i];
        const bool says =
            strcmp(key, CC_BUSY_COLUMN) == 0 ? hides(m->s) : cc_sheet_has_number(m->s, key);
        if (m->kind->needed > 0 && i >= m->kind->needed && !says)
            continue;
        CC_TRY(need(m, key, &m->measure[m->measures]));
        m->low[m->measures] = m->kind->low[i];
        m->high[m->measures] = m->kind->high[i];
        m->f->part[m->measures++] = m->kind->part[i] != NULL ? m->kind->part[i] : "";
    }
    cc_maker_find_settings(m);
    m->training_row = cc_sheet_column(m->s, "kind");
    return CC_OK;
}

/* Appends the value of a column to a series' name. */
static int put_name(const struct cc_maker *m, size_t row, size_t column, char *name, size_t cap)
{
    char number[64];
    const struct cc_value *v = cc_sheet_value(m->s, row, column);
    if (v->kind == CC_NULL && name[0] != '\0')
        return CC_OK;
    if (v->kind == CC_NULL || v->kind == CC_BOOL)
        return cc_fail(m->e, "%s: %s %zu: the column '%s' should have a name", m->s->path,
                       m->s->place_word, m->s->place[row], m->s->key[column]);
    cc_print_si(v->number, "", number, sizeof number);
    cc_list_add(name, cap, " ", "%s", v->text != NULL ? v->text : number);
    return CC_OK;
}

static int series_of(struct cc_maker *m, size_t row, const char *part, size_t *out)
{
    struct cc_figure *f = m->f;
    char name[1024] = "";
    for (size_t i = 0; i < 2; i++)
        if (m->series[i] != CC_NO_COLUMN)
            CC_TRY(put_name(m, row, m->series[i], name, sizeof name));
    if (m->filter->one_panel)
        cc_maker_tell_apart(m, row, name, sizeof name);
    if (part != NULL)
        (void)snprintf(name, sizeof name, "%s", part);
    for (*out = 0; *out < f->series_count; ++*out)
        if (strcmp(f->series[*out], name) == 0)
            return CC_OK;
    CC_TRY(CC_GROW(f->series, &f->series_capacity, f->series_count + 1, m->e));
    CC_TRY(cc_text(&f->series[f->series_count], m->e, "%s", name));
    f->series_count++;
    return CC_OK;
}

/* Finds or adds the panel of the rows with this row's settings, and of this measure if each measure
 * has a panel of its own. */
static int panel_of(struct cc_maker *m, size_t row, const char *measure, size_t *out)
{
    struct cc_figure *f = m->f;
    for (*out = 0; *out < f->panels; ++*out) {
        const struct cc_panel *p = &f->panel[*out];
        if (p->measure == measure && cc_maker_same_panel(m, row, p->first_row))
            return CC_OK;
    }
    if (f->panels == MOST_PANELS)
        return cc_fail(m->e,
                       "%s: more than %d combinations of settings, each a plot of its own: choose "
                       "with --bw, --workers, --exchange, --kind, or, of a timeline, --scheme, or "
                       "plot a part of the file",
                       m->s->path, MOST_PANELS);
    CC_TRY(CC_GROW(f->panel, &f->panel_capacity, f->panels + 1, m->e));
    char title[512] = "";
    if (measure != NULL)
        (void)snprintf(title, sizeof title, "%s", measure);
    if (!m->filter->one_panel)
        cc_maker_describe(m, row, true, title, sizeof title);
    struct cc_panel *p = &f->panel[f->panels++];
    *p = (struct cc_panel){.first_row = row, .measure = measure};
    CC_TRY(cc_text(&p->title, m->e, "%s", title));
    return CC_NEW(p->of, m->s->rows * CC_MOST_PARTS, m->e); /* every row may bring series */
}

static int add_point(struct cc_points *to, double x, double y, double group, size_t row,
                     struct cc_error *e)
{
    CC_TRY(CC_GROW(to->point, &to->capacity, to->count + 1, e));
    if (to->count == 0)
        to->total = to->band_lo = to->band_hi = NAN;
    to->point[to->count++] =
        (struct cc_point){.x = x, .y = y, .lo = y, .hi = y, .group = group, .row = row};
    return CC_OK;
}

/* Fails if the value cannot be plotted: logarithms need it above zero, bars (`zero`) at least zero.
 * NaN, a missing value, passes. */
static int check_range(const struct cc_maker *m, size_t row, size_t column, double v, bool zero)
{
    if (isnan(v) || (v >= 1e-100 && v <= 1e100) || (zero && v == 0))
        return CC_OK;
    return cc_fail(m->e, "%s: %s %zu, column '%.100s': %g should be %s zero%s", m->s->path,
                   m->s->place_word, m->s->place[row], m->s->key[column], v,
                   zero ? "at least" : "above", v > 0 ? ", and within 1e-100 and 1e100" : "");
}

static int number_at(const struct cc_maker *m, size_t row, size_t column, bool zero, double *out)
{
    if (column == CC_NO_COLUMN) {
        *out = 0;
        return CC_OK;
    }
    CC_TRY(cc_sheet_number(m->s, row, column, out, m->e));
    return check_range(m, row, column, *out, zero);
}

/* Validations are drawn relative to the measured step, or where there was none, the simulated one,
 * with the tolerance about it. */
static void relate(const struct cc_maker *m, size_t row, double *y, struct cc_points *to)
{
    double base = NAN;
    const double tolerance = cc_sheet_number_or_nan(m->s, row, "tolerance");
    for (size_t i = 0; i < m->measures; i++)
        base = isnan(y[i]) ? base : y[i];
    for (size_t i = 0; i < m->measures; i++)
        y[i] /= base;
    to->band_lo = 1 - tolerance;
    to->band_hi = 1 + tolerance;
    if (!isnan(tolerance))
        (void)snprintf(m->f->band, sizeof m->f->band, "within the tolerance of %g%%",
                       100 * tolerance);
}

static int add_bar(struct cc_maker *m, size_t row, double *y, double total)
{
    size_t series = 0, panel = 0;
    CC_TRY(series_of(m, row, NULL, &series));
    CC_TRY(panel_of(m, row, NULL, &panel));
    struct cc_points *to = &m->f->panel[panel].of[series];
    if (to->count > 0)
        return cc_fail(m->e, "%s: %s %zu and %zu are both %s", m->s->path, m->s->place_word,
                       m->s->place[to->point[0].row], m->s->place[row], m->f->series[series]);
    double sum = 0;
    struct cc_points row_band = {.band_lo = NAN, .band_hi = NAN};
    if (m->f->kind == CC_PLOT_VALIDATE)
        relate(m, row, y, &row_band);
    for (size_t i = 0; i < m->measures; i++) {
        y[i] *= m->kind->scale > 0 ? m->kind->scale : 1;
        if (!isnan(y[i]))
            CC_TRY(add_point(to, (double)i, y[i], (double)i, row, m->e));
        sum += y[i];
    }
    to->band_lo = row_band.band_lo;
    to->band_hi = row_band.band_hi;
    if (total > 0 && fabs(sum - total) > 1e-3 * total)
        to->total = total;
    return CC_OK;
}

/* Sets the ends of a measure's range about v, where the row has one. */
static void range_of(const struct cc_maker *m, size_t row, size_t i, double v, struct cc_point *out)
{
    const double low = cc_sheet_number_or_nan(m->s, row, m->low[i]),
                 high = cc_sheet_number_or_nan(m->s, row, m->high[i]);
    if (low > 0 && high < 1e100) {
        out->lo = fmin(v, low);
        out->hi = fmax(v, high);
        m->f->whiskers = true;
    }
}

/* Adds a point for each measure that the row has. */
static int add_xy(struct cc_maker *m, size_t row, double x, const double *y, double also)
{
    const bool own_panels = m->measures > 1 && !m->kind->lines_of_parts;
    for (size_t i = 0; i < m->measures; i++) {
        size_t series = 0, panel = 0;
        if (isnan(y[i]) || isnan(x) || isnan(also))
            continue;
        double v = m->f->kind == CC_PLOT_WORKERS ? x * also / y[i] : y[i];
        v *= m->kind->scale > 0 ? m->kind->scale : 1;
        CC_TRY(series_of(m, row, m->kind->lines_of_parts ? m->f->part[i] : NULL, &series));
        CC_TRY(panel_of(m, row, own_panels ? m->f->part[i] : NULL, &panel));
        const double group = cc_plot_is_training(m->f->kind) ? also : x;
        struct cc_points *to = &m->f->panel[panel].of[series];
        const double scale = m->kind->x_scale > 0 ? m->kind->x_scale : 1;
        CC_TRY(add_point(to, x * scale, v, group, row, m->e));
        if (!cc_plot_is_training(m->f->kind))
            range_of(m, row, i, v, &to->point[to->count - 1]);
    }
    return CC_OK;
}

/* Adds a call that does not depend on the density: a flat line from the least one to the greatest.
 */
static int add_flat(struct cc_maker *m, size_t row, const double *y, double also)
{
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < m->s->rows; i++) {
        const double x = cc_sheet_number_or_nan(m->s, i, m->kind->x);
        if (cc_maker_keeps(m, i) && !isnan(x)) {
            least = fmin(least, x);
            most = fmax(most, x);
        }
    }
    if (least >= most) {
        m->f->left_out++;
        return CC_OK;
    }
    CC_TRY(add_xy(m, row, least, y, also));
    return add_xy(m, row, most, y, also);
}

static int add_row(struct cc_maker *m, size_t row)
{
    const enum cc_figure_shape shape = m->kind->shape;
    const bool bars = cc_figure_has_bars(m->f);
    double x = 0, y[CC_MOST_PARTS] = {0}, also = 0;
    bool any = false, all = true;
    const bool log = bars ? m->kind->x_axis.log : m->kind->y_axis.log;
    CC_TRY(number_at(m, row, m->x, m->f->kind == CC_PLOT_ERROR, &x));
    CC_TRY(number_at(m, row, m->also, false, &also));
    for (size_t i = 0; i < m->measures; i++) {
        if (shape == CC_MARKS && !log)
            CC_TRY(cc_sheet_number(m->s, row, m->measure[i], &y[i], m->e));
        else
            CC_TRY(number_at(m, row, m->measure[i], !log, &y[i]));
        if (strcmp(m->s->key[m->measure[i]], CC_BUSY_COLUMN) == 0)
            y[i] = hidden_s(y[i], y[i - 1], also);
        any = any || !isnan(y[i]);
        all = all && !isnan(y[i]);
    }
    if (any && isnan(x) && m->f->kind == CC_PLOT_DENSITY)
        return add_flat(m, row, y, also);
    if (!any || isnan(x) || isnan(also) || (shape == CC_STACKED && !all)) {
        m->f->left_out++;
        return CC_OK;
    }
    return bars ? add_bar(m, row, y, also) : add_xy(m, row, x, y, also);
}

/* --- finishing --- */

/* By x; points of a group, whose x may differ, stay together. */
static int by_group(const void *a, const void *b)
{
    const double x = ((const struct cc_point *)a)->group, y = ((const struct cc_point *)b)->group;
    return (x > y) - (x < y);
}

/* Sorts the points of a line, one for each x: tensors of the same size, and the seeds of a
 * training, are averaged, with the lowest and highest y; other points with the same x are an error,
 * as they would be two lines drawn as one. */
static int order_line(const struct cc_maker *m, const char *name, struct cc_points *p)
{
    const bool averages = m->f->kind == CC_PLOT_SIZE || cc_plot_is_training(m->f->kind);
    size_t n = 0, averaged = 1;
    if (p->count > 1)
        qsort(p->point, p->count, sizeof *p->point, by_group);
    for (size_t i = 0; i < p->count; i++) {
        const struct cc_point *of = &p->point[i];
        if (n == 0 || of->group != p->point[n - 1].group) {
            p->point[n++] = *of;
            averaged = 1;
            continue;
        }
        struct cc_point *mean = &p->point[n - 1];
        if (!averages)
            return cc_fail(m->e, "%s: %s %zu and %zu are both %.100s with the same %s", m->s->path,
                           m->s->place_word, m->s->place[mean->row], m->s->place[of->row], name,
                           m->kind->x);
        averaged++;
        mean->x += (of->x - mean->x) / (double)averaged;
        mean->y += (of->y - mean->y) / (double)averaged;
        mean->lo = fmin(mean->lo, of->lo);
        mean->hi = fmax(mean->hi, of->hi);
    }
    p->count = n;
    return CC_OK;
}

static double highest_of(const struct cc_figure *f, size_t series)
{
    double y = 0;
    for (size_t i = 0; i < f->panels; i++)
        for (size_t k = 0; k < f->panel[i].of[series].count; k++)
            y = fmax(y, f->panel[i].of[series].point[k].y);
    return y;
}

static void remove_series(struct cc_figure *f, size_t series)
{
    const size_t behind = --f->series_count - series;
    free(f->series[series]);
    memmove(f->series + series, f->series + series + 1, behind * sizeof *f->series);
    for (size_t i = 0; i < f->panels; i++) {
        struct cc_points *of = f->panel[i].of;
        free(of[series].point);
        memmove(of + series, of + series + 1, behind * sizeof *of);
        of[f->series_count] = (struct cc_points){.point = NULL};
    }
}

/* Keeps the lines that reach highest, where all are too many and high is good. */
static void keep_highest(struct cc_maker *m)
{
    enum { DRAWN = 12 };
    struct cc_figure *f = m->f;
    if ((f->kind != CC_PLOT_SPEEDUP && f->kind != CC_PLOT_WORKERS) ||
        f->series_count <= CC_MOST_LINES)
        return;
    m->largest.of = f->series_count;
    while (f->series_count > DRAWN) {
        size_t lowest = 0;
        for (size_t k = 1; k < f->series_count; k++)
            if (highest_of(f, k) < highest_of(f, lowest))
                lowest = k;
        remove_series(f, lowest);
    }
}

/* The schemes of a sheet, in the order of its rows; of many, the first ones. */
static void list_schemes(const struct cc_sheet *s, char *out, size_t cap)
{
    enum { MOST = 8 };
    const char *listed[MOST];
    size_t count = 0;
    const size_t c = cc_sheet_column(s, "scheme");
    for (size_t row = 0; row < s->rows && c != CC_NO_COLUMN; row++) {
        const struct cc_value *v = cc_sheet_value(s, row, c);
        size_t k = 0;
        while (v->kind == CC_TEXT && k < count && strcmp(listed[k], v->text) != 0)
            k++;
        if (v->kind != CC_TEXT || k < count)
            continue;
        cc_list_add(out, cap, ", ", "%.60s", count < MOST ? v->text : "...");
        if (count == MOST)
            return;
        listed[count++] = v->text;
    }
}

/* Whether a row has a scheme of the filter. */
static bool has_scheme(const struct cc_maker *m)
{
    const struct cc_plot_filter only = {.schemes = m->filter->schemes,
                                        .scheme_count = m->filter->scheme_count};
    struct cc_maker all = *m;
    all.filter = &only;
    for (size_t row = 0; row < m->s->rows; row++)
        if (cc_maker_keeps(&all, row))
            return true;
    return false;
}

static int fail_without_points(const struct cc_maker *m)
{
    const struct cc_plot_filter *o = m->filter;
    char schemes[300] = "";
    list_schemes(m->s, schemes, sizeof schemes);
    if (schemes[0] != '\0' && !has_scheme(m))
        return cc_fail(m->e, "%s: nothing to plot: no row has the scheme%s %.60s%s; there %s %s",
                       m->s->path, o->scheme_count > 1 ? "s" : "", o->schemes[0],
                       o->scheme_count > 1 ? ", ..." : "",
                       strchr(schemes, ' ') != NULL ? "are" : "is", schemes);
    return cc_fail(m->e, "%s: nothing to plot: no row%s has numbers for %s; %s", m->s->path,
                   o->scheme_count > 0 || o->exchange != NULL || o->bw_bps > 0 || o->workers > 0
                       ? " that --scheme, --bw, --workers and --exchange leave"
                       : "",
                   m->kind->measure[0], m->kind->hint);
}

static int check_amount(const struct cc_maker *m)
{
    static const char *const what[] = {[CC_LINES] = "lines",
                                       [CC_LABELLED] = "labels",
                                       [CC_STACKED] = "bars",
                                       [CC_GROUPED] = "bars",
                                       [CC_MARKS] = "rows"};
    const struct cc_figure *f = m->f;
    if (f->panels == 0)
        return fail_without_points(m);
    size_t most = f->shape == CC_LINES ? CC_MOST_LINES : CC_MOST_SERIES;
    if (f->series_count > most)
        return cc_fail(
            m->e,
            "%s: %zu %s are too many to tell apart (at most %zu): choose with --scheme, or "
            "plot a part of the file",
            m->s->path, f->series_count, what[f->shape], most);
    return CC_OK;
}

bool cc_figure_has_totals(const struct cc_figure *f)
{
    for (size_t i = 0; i < f->panels && f->shape == CC_STACKED; i++)
        for (size_t k = 0; k < f->series_count; k++)
            if (f->panel[i].of[k].count > 0 && !isnan(f->panel[i].of[k].total))
                return true;
    return false;
}

static int finish(struct cc_maker *m)
{
    struct cc_figure *f = m->f;
    keep_highest(m);
    CC_TRY(check_amount(m));
    f->parts = m->measures;
    for (size_t i = 0; i < f->panels && f->shape == CC_LINES; i++)
        for (size_t k = 0; k < f->series_count; k++)
            CC_TRY(order_line(m, f->series[k], &f->panel[i].of[k]));
    if (cc_figure_has_totals(f))
        f->x.label = "time of the parts; beside a bar is what the step takes";
    cc_figure_scale(f);
    char title[640] = "", largest[64] = "";
    cc_maker_describe(m, f->panel[0].first_row, false, title, sizeof title);
    if (m->largest.of > 0)
        (void)snprintf(largest, sizeof largest, "%s the %zu %s of %zu",
                       title[0] != '\0' ? "," : ":", f->series_count,
                       f->shape == CC_LINES ? "highest" : "largest", m->largest.of);
    return cc_text(&f->title, m->e, "%s%s%s%s", m->kind->title, title[0] != '\0' ? ": " : "", title,
                   largest);
}

int cc_figure_make(const struct cc_sheet *s, enum cc_plot_kind kind,
                   const struct cc_plot_filter *filter, struct cc_figure *out, struct cc_error *e)
{
    const struct cc_kind own = cc_plot_describe(kind, filter->over, s);
    struct cc_figure f = {.kind = kind,
                          .shape = own.shape,
                          .bands = cc_plot_is_training(kind),
                          .own_axes = own.own_axes,
                          .x = own.x_axis,
                          .y = own.y_axis,
                          .reference = own.reference};
    struct cc_maker m = {.s = s, .kind = &own, .filter = filter, .f = &f, .e = e};
    int status = CC_OK;
    CC_TRY_OUT(find_columns(&m));
    CC_TRY_OUT(cc_maker_keep_largest(&m));
    for (size_t i = 0; i < s->rows; i++)
        if (cc_maker_keeps(&m, i))
            CC_TRY_OUT(add_row(&m, i));
    CC_TRY_OUT(finish(&m));
    *out = f;
out:
    if (status != CC_OK)
        cc_figure_free(&f);
    return status;
}

void cc_figure_free(struct cc_figure *f)
{
    for (size_t i = 0; i < f->panels; i++) {
        for (size_t k = 0; k < f->series_count && f->panel[i].of != NULL; k++)
            free(f->panel[i].of[k].point);
        free(f->panel[i].of);
        free(f->panel[i].title);
    }
    for (size_t k = 0; k < f->series_count; k++)
        free(f->series[k]);
    free(f->series);
    free(f->panel);
    free(f->title);
    *f = (struct cc_figure){0};
}
