#include "results/plot.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/memory.h"
#include "results/text.h"

/* A record and the columns to plot; NONE for one that was not asked for. */
struct source {
    const struct cc_record *r;
    size_t x, y, series;
};
#define NONE SIZE_MAX

static int find_column(const struct cc_record *r, const char *key, size_t *out, struct cc_error *e)
{
    *out = NONE;
    if (key == NULL)
        return CC_OK;
    for (size_t c = 0; c < r->column_count; c++) {
        if (strcmp(r->columns[c].key, key) == 0) {
            *out = c;
            return CC_OK;
        }
    }
    return cc_usage(e, "'%s' is not a key of the results of %s", key, r->command);
}

static const struct cc_value *value(const struct source *s, size_t row, size_t column)
{
    return &s->r->rows[row].value[column];
}

/* Whether the row has a point or a bar. */
static bool plotted(const struct source *s, size_t row)
{
    return value(s, row, s->y)->kind == CC_NUMBER &&
           (s->x == NONE || value(s, row, s->x)->kind == CC_NUMBER);
}

static bool same_series(const struct source *s, size_t a, size_t b)
{
    return s->series == NONE || cc_value_same(value(s, a, s->series), value(s, b, s->series));
}

/* Whether the row is the first of its series that is plotted. */
static bool begins_series(const struct source *s, size_t row)
{
    for (size_t i = 0; i < row; i++)
        if (plotted(s, i) && same_series(s, i, row))
            return false;
    return plotted(s, row);
}

/* A text as gnuplot quotes it. In single quotes nothing has a meaning, backquotes included. */
static void put_quoted(const char *text, FILE *out)
{
    (void)fputc('\'', out);
    for (; *text != '\0'; text++) {
        bool control = (unsigned char)*text < 0x20 || *text == 0x7f;
        (void)fputs(*text == '\'' ? "'" : "", out);
        (void)fputc(control ? ' ' : *text, out);
    }
    (void)fputc('\'', out);
}

static void put_name(const struct source *s, size_t row, FILE *out)
{
    const struct cc_value *v = s->series != NONE ? value(s, row, s->series) : NULL;
    if (v != NULL && v->kind == CC_TEXT) {
        put_quoted(v->text, out);
        return;
    }
    (void)fputc('\'', out);
    if (v != NULL)
        (void)cc_value_print(v, &s->r->columns[s->series], out);
    (void)fputc('\'', out);
}

static void put_number(const struct source *s, size_t row, size_t column, FILE *out)
{
    char text[CC_NUMBER_CAP];
    double scale = s->r->columns[column].scale;
    cc_number_print(value(s, row, column)->number * (scale != 0 ? scale : 1), text);
    (void)fputs(text, out);
}

/* "set ylabel 'step (ms)'" */
static void put_axis(const struct source *s, const char *axis, size_t column, bool log, FILE *out)
{
    const struct cc_column *c = &s->r->columns[column];
    char label[256];
    (void)snprintf(label, sizeof label, c->unit[0] != '\0' ? "%s (%s)" : "%s",
                   c->head != NULL ? c->head : c->key, c->unit);
    (void)fprintf(out, "set %slabel ", axis);
    put_quoted(label, out);
    (void)fputc('\n', out);
    if (log)
        (void)fprintf(out, "set logscale %s\n", axis);
}

/* Dashes and points, and not only colours, tell the lines apart. */
static const char style[] = "set linetype 1 lc rgb '#000000' dt 1 pt 7 lw 1.5\n"
                            "set linetype 2 lc rgb '#4477aa' dt 2 pt 5 lw 1.5\n"
                            "set linetype 3 lc rgb '#cc6677' dt 4 pt 9 lw 1.5\n"
                            "set linetype 4 lc rgb '#117733' dt 3 pt 13 lw 1.5\n"
                            "set linetype 5 lc rgb '#999933' dt 5 pt 6 lw 1.5\n"
                            "set linetype 6 lc rgb '#882255' dt 1 pt 4 lw 1.5\n"
                            "set linetype 7 lc rgb '#666666' dt 2 pt 8 lw 1.5\n"
                            "set linetype 8 lc rgb '#aa4499' dt 4 pt 12 lw 1.5\n"
                            "set linetype cycle 8\n"
                            "set border 3\n"
                            "set tics nomirror out\n"
                            "set grid ytics back lt 1 lc rgb '#bbbbbb' lw 0.5\n";

static int put_head(const struct source *s, const struct cc_plot *p, const char *image, FILE *out,
                    struct cc_error *e)
{
    const char *suffix = strrchr(image, '.');
    const char *terminal = NULL;
    if (suffix != NULL && strcmp(suffix, ".png") == 0)
        terminal = "pngcairo noenhanced size 900,540 font 'Sans,11' background '#ffffff'";
    else if (suffix != NULL && strcmp(suffix, ".svg") == 0)
        terminal = "svg noenhanced size 900,540 font 'Sans,12' background '#ffffff'";
    if (terminal == NULL)
        return cc_usage(e, "'%s': a plot's suffix should be .png or .svg", image);
    (void)fprintf(out, "set terminal %s\nset output ", terminal);
    put_quoted(image, out);
    (void)fprintf(out, "\n%s", style);
    if (p->title != NULL) {
        (void)fputs("set title ", out);
        put_quoted(p->title, out);
        (void)fputc('\n', out);
    }
    put_axis(s, "y", s->y, p->log_y, out);
    return CC_OK;
}

static void put_bars(const struct source *s, bool log, FILE *out)
{
    (void)fprintf(out,
                  "%sset boxwidth 0.7\nset style fill solid 0.5 border lt 1\n"
                  "set rmargin 3\n",
                  log ? "" : "set yrange [0:*]\n");
    (void)fprintf(out, "set xrange [-0.6:%zu.6]\nset xtics rotate by 40 right (",
                  s->r->row_count - 1);
    for (size_t i = 0; i < s->r->row_count; i++) {
        (void)fputs(i > 0 ? ", " : "", out);
        put_name(s, i, out);
        (void)fprintf(out, " %zu", i);
    }
    (void)fputs(")\n$bars << EOD\n", out);
    for (size_t i = 0; i < s->r->row_count; i++) {
        if (!plotted(s, i))
            continue;
        (void)fprintf(out, "%zu ", i);
        put_number(s, i, s->y, out);
        (void)fputc('\n', out);
    }
    (void)fputs("EOD\nplot $bars using 1:2 with boxes lt 1 notitle\n", out);
}

static void put_points(const struct source *s, size_t first, FILE *out)
{
    (void)fprintf(out, "$series%zu << EOD\n", first);
    for (size_t i = first; i < s->r->row_count; i++) {
        if (!plotted(s, i) || !same_series(s, first, i))
            continue;
        put_number(s, i, s->x, out);
        (void)fputc(' ', out);
        put_number(s, i, s->y, out);
        (void)fputc('\n', out);
    }
    (void)fputs("EOD\n", out);
}

static void put_lines(const struct source *s, bool log, FILE *out)
{
    put_axis(s, "x", s->x, log, out);
    (void)fputs(s->series != NONE ? "set key outside right top\n" : "set key off\n", out);
    for (size_t i = 0; i < s->r->row_count; i++)
        if (begins_series(s, i))
            put_points(s, i, out);
    const char *before = "plot ";
    for (size_t i = 0; i < s->r->row_count; i++) {
        if (!begins_series(s, i))
            continue;
        (void)fprintf(out, "%s$series%zu using 1:2 with linespoints title ", before, i);
        put_name(s, i, out);
        before = ", \\\n     ";
    }
    (void)fputc('\n', out);
}

int cc_plot_script(const struct cc_record *r, const struct cc_plot *p, const char *image, FILE *out,
                   struct cc_error *e)
{
    struct source s = {.r = r};
    int status = find_column(r, p->x, &s.x, e);
    if (status == CC_OK)
        status = find_column(r, p->y, &s.y, e);
    if (status == CC_OK)
        status = find_column(r, p->series, &s.series, e);
    if (status != CC_OK)
        return status;
    size_t points = 0;
    for (size_t i = 0; i < r->row_count; i++)
        points += plotted(&s, i);
    if (points == 0)
        return cc_fail(e, "nothing to plot: no row has a number for %s%s%s", p->y,
                       p->x != NULL ? " and " : "", p->x != NULL ? p->x : "");
    status = put_head(&s, p, image, out, e);
    if (status != CC_OK)
        return status;
    if (p->x == NULL)
        put_bars(&s, p->log_y, out);
    else
        put_lines(&s, p->log_x, out);
    return ferror(out) ? cc_fail(e, "the plot's script could not be written") : CC_OK;
}

int cc_plot_draw(const char *script, struct cc_error *e)
{
    char name[] = "gnuplot", *path = cc_strdup(script, e);
    if (path == NULL)
        return CC_FAIL;
    char *argv[] = {name, path, NULL};
    pid_t child;
    int status, error = posix_spawnp(&child, name, NULL, NULL, argv, environ);
    free(path);
    if (error == ENOENT)
        return cc_fail(e,
                       "gnuplot is not installed: install it (Debian: gnuplot-nox), or draw the "
                       "plot elsewhere with `gnuplot %s`",
                       script);
    if (error != 0)
        return cc_fail(e, "gnuplot could not be started: %s", strerror(error));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return cc_fail(e, "gnuplot: %s", strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return cc_fail(e, "gnuplot could not draw %s; its message is above", script);
    return CC_OK;
}
