/* Reads the summaries of trainings from a result, and keeps the best of each scheme. */
#include "cmd/input/trainings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "results/sheet.h"
#include "schemes/spec.h"

/* The columns that every result of trainings has. */
static const char *const needed[] = {"kind", "scheme", "net",      "data",     "workers",
                                     "step", "seeds",  "diverged", "accuracy", "difference"};

static int check_columns(const struct cc_sheet *s, struct cc_error *e)
{
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (cc_sheet_column(s, needed[i]) == CC_NO_COLUMN)
            return cc_fail(e,
                           "%s: a result of trainings needs a column '%s', which it lacks: "
                           "`commcomp train --seeds 3 -o FILE` makes them",
                           s->path, needed[i]);
    return CC_OK;
}

/* The text of a row in a column that every result has, or "". */
static const char *text_of(const struct cc_sheet *s, size_t row, const char *key)
{
    const struct cc_value *v = cc_sheet_value(s, row, cc_sheet_column(s, key));
    return v->text != NULL ? v->text : "";
}

/* The number of a row; NaN where there is none. */
static int number_of(const struct cc_sheet *s, size_t row, const char *key, double *out,
                     struct cc_error *e)
{
    const size_t c = cc_sheet_column(s, key);
    *out = NAN;
    return c != CC_NO_COLUMN ? cc_sheet_number(s, row, c, out, e) : CC_OK;
}

/* The number of a row that has to have one. */
static int needed_number(const struct cc_sheet *s, size_t row, const char *key, double *out,
                         struct cc_error *e)
{
    CC_TRY(number_of(s, row, key, out, e));
    if (isnan(*out))
        return cc_fail(e, "%s: %s %zu, column '%s': a summary has a number here", s->path,
                       s->place_word, s->place[row], key);
    return CC_OK;
}

static int read_row(const struct cc_sheet *s, size_t row, struct cc_trained *out,
                    struct cc_error *e)
{
    double best;
    CC_TRY(number_of(s, row, "accuracy", &out->accuracy, e));
    CC_TRY(number_of(s, row, "rate", &out->rate, e));
    CC_TRY(needed_number(s, row, "step", &out->steps, e));
    CC_TRY(needed_number(s, row, "seeds", &out->seeds, e));
    CC_TRY(needed_number(s, row, "diverged", &out->diverged, e));
    CC_TRY(number_of(s, row, "difference_best", &best, e));
    const bool several = !isnan(best);
    CC_TRY(number_of(s, row, several ? "difference_best" : "difference", &out->difference, e));
    CC_TRY(number_of(s, row, several ? "difference_best_low" : "difference_low", &out->low, e));
    return number_of(s, row, several ? "difference_best_high" : "difference_high", &out->high, e);
}

/* Whether a scheme's training with another length or rate counts instead: the longest, then that of
 * which fewer diverged, then the more accurate. */
static bool is_better(const struct cc_trained *a, const struct cc_trained *than)
{
    if (a->steps != than->steps)
        return a->steps > than->steps;
    if (a->diverged != than->diverged)
        return a->diverged < than->diverged;
    return a->accuracy > than->accuracy;
}

static bool has_diverged(const struct cc_trained *t)
{
    return t->diverged > 0 || isnan(t->accuracy);
}

static int add_row(struct cc_trainings *t, const struct cc_sheet *s, size_t row, struct cc_error *e)
{
    const char *scheme = text_of(s, row, "scheme");
    struct cc_trained new = {.scheme = NULL};
    CC_TRY(read_row(s, row, &new, e));
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->of[i].scheme, scheme) == 0) {
            new.scheme = t->of[i].scheme;
            if (is_better(&new, &t->of[i]))
                t->of[i] = new;
            return CC_OK;
        }
    CC_TRY(CC_GROW(t->of, &t->capacity, t->count + 1, e));
    CC_TRY(cc_text(&new.scheme, e, "%s", scheme));
    t->of[t->count++] = new;
    return CC_OK;
}

static int describe(struct cc_trainings *t, const struct cc_sheet *s, size_t row,
                    struct cc_error *e)
{
    double workers, steps;
    CC_TRY(needed_number(s, row, "workers", &workers, e));
    CC_TRY(needed_number(s, row, "step", &steps, e));
    free(t->about);
    return cc_text(&t->about, e, "%s on %s, %.0f workers, %.0f steps", text_of(s, row, "net"),
                   text_of(s, row, "data"), workers, steps);
}

static int read_sheet(struct cc_trainings *t, const struct cc_sheet *s, struct cc_error *e)
{
    CC_TRY(check_columns(s, e));
    for (size_t i = 0; i < s->rows; i++)
        if (strcmp(text_of(s, i, "kind"), "summary") == 0) {
            CC_TRY(add_row(t, s, i, e));
            CC_TRY(describe(t, s, i, e));
        }
    if (t->count == 0)
        return cc_fail(e,
                       "%s: no summaries of trainings: `commcomp train --seeds 3 -o FILE` makes "
                       "them",
                       s->path);
    const struct cc_trained *fp32 = cc_trainings_find(t, CC_RAW_SCHEME);
    if (fp32 == NULL || isnan(fp32->accuracy))
        return cc_fail(e,
                       "%s: no training with fp32 was completed, which losses of accuracy are "
                       "measured against: `commcomp train --scheme fp32,...`",
                       s->path);
    for (size_t i = 0; i < t->count; i++)
        if (!has_diverged(&t->of[i]) && isnan(t->of[i].difference))
            return cc_fail(
                e, "%s: the trainings with %s have an accuracy, and no difference to fp32's",
                s->path, t->of[i].scheme);
    return CC_OK;
}

int cc_trainings_read(const char *path, struct cc_trainings *out, struct cc_error *e)
{
    struct cc_sheet s;
    CC_TRY(cc_text(&out->path, e, "%s", path));
    CC_TRY(cc_sheet_read(path, &s, e));
    const int status = read_sheet(out, &s, e);
    cc_sheet_free(&s);
    return status;
}

void cc_trainings_free(struct cc_trainings *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->of[i].scheme);
    free(t->of);
    free(t->path);
    free(t->about);
    *t = (struct cc_trainings){0};
}

const struct cc_trained *cc_trainings_find(const struct cc_trainings *t, const char *scheme)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->of[i].scheme, scheme) == 0)
            return &t->of[i];
    return NULL;
}

double cc_trained_lost(const struct cc_trained *t)
{
    if (t == NULL)
        return NAN;
    return has_diverged(t) ? INFINITY : -t->difference;
}
