/* Reads the summaries of trainings from a result, and keeps the best of each scheme. */
#include "cmd/input/trainings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "results/sheet.h"
#include "schemes/spec.h"

/* No training has more steps, seeds or workers. */
#define MOST_COUNT 1e12
/* Nor a loss above this, in nats or bits, or a rise of it. */
#define MOST_LOSS 1e4

/* The columns that every result of trainings has, beside those of accuracies or losses. */
static const char *const needed[] = {"kind",    "scheme", "net",   "data",
                                     "workers", "step",   "seeds", "diverged"};

/* The measure by which trainings are judged: the first of these columns that has a number. */
static const char *const judged_by[] = {[CC_TRAINED_BITS] = "bits_per_byte",
                                        [CC_TRAINED_ACCURACY] = "accuracy",
                                        [CC_TRAINED_LOSS] = "loss"};

static bool has(const struct cc_sheet *s, const char *key)
{
    return cc_sheet_column(s, key) != CC_NO_COLUMN;
}

static int check_columns(const struct cc_sheet *s, struct cc_error *e)
{
    const char *lacks = NULL;
    for (size_t i = sizeof needed / sizeof needed[0]; i-- > 0;)
        lacks = has(s, needed[i]) ? lacks : needed[i];
    if (lacks == NULL && !has(s, "bits_per_byte") && (has(s, "accuracy") || !has(s, "loss")))
        lacks = !has(s, "accuracy") ? "accuracy" : !has(s, "difference") ? "difference" : NULL;
    if (lacks != NULL)
        return cc_fail(e,
                       "%s: a result of trainings needs a column '%s', which it lacks: `commcomp "
                       "train --seeds 3 -o FILE` makes them",
                       s->path, lacks);
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

/* A share of the test samples, or a difference of two, or nothing. */
static int share_of(const struct cc_sheet *s, size_t row, const char *key, int least, double *out,
                    struct cc_error *e)
{
    CC_TRY(number_of(s, row, key, out, e));
    if (*out < least || *out > 1)
        return cc_fail(e, "%s: %s %zu, column '%s': %.10g is not a number from %d to 1", s->path,
                       s->place_word, s->place[row], key, *out, least);
    return CC_OK;
}

/* The count of a row, which has to have one. */
static int count_of(const struct cc_sheet *s, size_t row, const char *key, int least, double *out,
                    struct cc_error *e)
{
    CC_TRY(number_of(s, row, key, out, e));
    if (isnan(*out))
        return cc_fail(e, "%s: %s %zu, column '%s': a summary has a number here", s->path,
                       s->place_word, s->place[row], key);
    if (!(*out >= least && *out <= MOST_COUNT && *out == floor(*out)))
        return cc_fail(e, "%s: %s %zu, column '%s': %.10g is not a whole number from %d to %g",
                       s->path, s->place_word, s->place[row], key, *out, least, MOST_COUNT);
    return CC_OK;
}

/* The interval of a value, in the columns that begin with its key. Those of few trainings may be
 * wider than accuracies can be. */
static int interval_of(const struct cc_sheet *s, size_t row, const char *key, double value,
                       double *low, double *high, struct cc_error *e)
{
    enum { WIDEST = 1000 };
    char name[64];
    (void)snprintf(name, sizeof name, "%s_low", key);
    CC_TRY(number_of(s, row, name, low, e));
    (void)snprintf(name, sizeof name, "%s_high", key);
    CC_TRY(number_of(s, row, name, high, e));
    if (*low > value || *high < value || *low < -WIDEST || *high > WIDEST)
        return cc_fail(e,
                       "%s: %s %zu, column '%s': %.10g is outside of its interval, %.10g to %.10g",
                       s->path, s->place_word, s->place[row], key, value, *low, *high);
    return CC_OK;
}

/* A difference to fp32's accuracy and its interval, in the columns that begin with `key`. */
static int difference_of(const struct cc_sheet *s, size_t row, const char *key,
                         struct cc_trained *out, struct cc_error *e)
{
    CC_TRY(share_of(s, row, key, -1, &out->difference, e));
    return interval_of(s, row, key, out->difference, &out->low, &out->high, e);
}

/* The verdict of a trial, in *out; false in *tried if the row has none. */
static int verdict_of(const struct cc_sheet *s, size_t row, struct cc_trained *out,
                      struct cc_error *e)
{
    const size_t c = cc_sheet_column(s, "verdict");
    const struct cc_value *v = c != CC_NO_COLUMN ? cc_sheet_value(s, row, c) : NULL;
    if (v == NULL || v->kind == CC_NULL || (v->text != NULL && v->text[0] == '\0'))
        return CC_OK;
    for (size_t i = 0; v->text != NULL && cc_trial_verdicts[i] != NULL; i++)
        if (strcmp(cc_trial_verdicts[i], v->text) == 0) {
            out->tried = true;
            out->verdict = (enum cc_trial_verdict)i;
            return CC_OK;
        }
    return cc_fail(e, "%s: %s %zu, column 'verdict': '%.40s' is not keeps, costs or open", s->path,
                   s->place_word, s->place[row], v->text != NULL ? v->text : "a number");
}

/* A trial's row: its verdict, and the accuracy that was lost with its interval. A training that was
 * ended early, or a trial by the training loss, has none. */
static int read_trial(const struct cc_sheet *s, size_t row, struct cc_trained *out,
                      struct cc_error *e)
{
    double low, high;
    out->lost = NAN;
    if (!out->tried)
        return CC_OK;
    CC_TRY(share_of(s, row, "lost", -1, &out->lost, e));
    CC_TRY(interval_of(s, row, "lost", out->lost, &low, &high, e));
    if (fabs(out->lost + out->difference) > 1e-6)
        return cc_fail(e, "%s: %s %zu, column 'lost': %.10g, and the difference to fp32 is %.10g",
                       s->path, s->place_word, s->place[row], out->lost, out->difference);
    if (out->seeds == 0 && out->verdict != CC_TRIAL_COSTS)
        return cc_fail(e, "%s: %s %zu, column 'seeds': 0 trainings, whose verdict is '%s'", s->path,
                       s->place_word, s->place[row], cc_trial_verdicts[out->verdict]);
    out->low = isnan(out->lost) ? NAN : -high;
    out->high = isnan(out->lost) ? NAN : -low;
    return CC_OK;
}

/* The measure by which a row is judged, in out->by. A trial is one of accuracies. */
static int judge(const struct cc_sheet *s, size_t row, struct cc_trained *out, struct cc_error *e)
{
    double value = NAN;
    out->loss = NAN;
    out->by = CC_TRAINED_NOTHING;
    if (out->tried)
        return CC_OK;
    for (int i = CC_TRAINED_NOTHING + 1; i < CC_TRAINED_WAYS && isnan(value); i++) {
        CC_TRY(number_of(s, row, judged_by[i], &value, e));
        out->by = isnan(value) ? CC_TRAINED_NOTHING : (enum cc_trained_by)i;
    }
    if (!cc_trained_by_loss(out->by))
        return CC_OK;
    if (!(value > 0 && value <= MOST_LOSS))
        return cc_fail(e, "%s: %s %zu, column '%s': %.10g is not a number above 0, up to %g",
                       s->path, s->place_word, s->place[row], judged_by[out->by], value, MOST_LOSS);
    out->loss = value;
    return CC_OK;
}

/* The rise of the loss over fp32's, in the place of a difference of accuracies, with its sign. */
static int rise_of(const struct cc_sheet *s, size_t row, struct cc_trained *out, struct cc_error *e)
{
    double rise, low, high;
    CC_TRY(number_of(s, row, "loss_rise", &rise, e));
    if (!isnan(rise) && !(rise > -1 && rise <= MOST_LOSS))
        return cc_fail(e,
                       "%s: %s %zu, column 'loss_rise': %.10g is not a number above -1, up to %g",
                       s->path, s->place_word, s->place[row], rise, MOST_LOSS);
    CC_TRY(interval_of(s, row, "loss_rise", rise, &low, &high, e));
    out->difference = -rise;
    out->low = -high;
    out->high = -low;
    return CC_OK;
}

static int read_row(const struct cc_sheet *s, size_t row, struct cc_trained *out,
                    struct cc_error *e)
{
    double best;
    CC_TRY(verdict_of(s, row, out, e));
    CC_TRY(judge(s, row, out, e));
    CC_TRY(share_of(s, row, "accuracy", 0, &out->accuracy, e));
    CC_TRY(number_of(s, row, "rate", &out->rate, e));
    CC_TRY(count_of(s, row, "step", 1, &out->steps, e));
    CC_TRY(count_of(s, row, "seeds", 0, &out->seeds, e));
    CC_TRY(count_of(s, row, "diverged", 0, &out->diverged, e));
    if (out->rate <= 0)
        return cc_fail(e, "%s: %s %zu, column 'rate': %.10g is not a number above 0", s->path,
                       s->place_word, s->place[row], out->rate);
    if (out->by != CC_TRAINED_NOTHING && out->seeds == 0)
        return cc_fail(e, "%s: %s %zu, column 'seeds': 0 trainings, which have %s", s->path,
                       s->place_word, s->place[row],
                       cc_trained_by_loss(out->by) ? "a loss" : "an accuracy");
    if (cc_trained_by_loss(out->by)) {
        out->lost = NAN;
        return rise_of(s, row, out, e);
    }
    CC_TRY(number_of(s, row, "difference_best", &best, e));
    CC_TRY(difference_of(s, row, isnan(best) ? "difference" : "difference_best", out, e));
    return read_trial(s, row, out, e);
}

/* Whether a scheme's training with another length or rate counts instead: the longest, then that of
 * which fewer diverged, then the more accurate, or the one of the smaller loss. */
static bool is_better(const struct cc_trained *a, const struct cc_trained *than)
{
    if (a->steps != than->steps)
        return a->steps > than->steps;
    if (a->diverged != than->diverged)
        return a->diverged < than->diverged;
    return cc_trained_by_loss(a->by) ? a->loss < than->loss : a->accuracy > than->accuracy;
}

static bool has_diverged(const struct cc_trained *t)
{
    return t->diverged > 0 || (t->by == CC_TRAINED_NOTHING && !t->tried);
}

static bool is_setting(const char *key)
{
    for (size_t i = 0; i < CC_KEYS; i++)
        if (strcmp(cc_result_keys[i].name, key) == 0)
            return cc_result_keys[i].origin == CC_ORIGIN_GIVEN;
    return false;
}

static bool same_setting(const struct cc_value *a, const struct cc_value *b)
{
    return a->kind == CC_NUMBER && b->kind == CC_NUMBER ? a->number == b->number
                                                        : cc_value_same(a, b);
}

/* Fails if a row before has all settings of this one: two figures of one training, of which neither
 * is known to be the right one. */
static int check_alone(const struct cc_sheet *s, size_t row, struct cc_error *e)
{
    for (size_t i = 0; i < row; i++) {
        bool same = strcmp(text_of(s, i, "kind"), "summary") == 0 &&
                    strcmp(text_of(s, i, "scheme"), text_of(s, row, "scheme")) == 0;
        for (size_t c = 0; c < s->columns && same; c++)
            same = !is_setting(s->key[c]) ||
                   same_setting(cc_sheet_value(s, i, c), cc_sheet_value(s, row, c));
        if (same)
            return cc_fail(e,
                           "%s: %s %zu: a second summary of %s with the settings of %s %zu: keep "
                           "the right one",
                           s->path, s->place_word, s->place[row], text_of(s, row, "scheme"),
                           s->place_word, s->place[i]);
    }
    return CC_OK;
}

/* The canonical name of a scheme; the text itself if this program lacks it, as a plugin's. */
static int name_of(const char *text, char **out, struct cc_error *e)
{
    struct cc_spec *spec;
    struct cc_error unknown;
    if (cc_spec_parse(text, &spec, &unknown) != CC_OK)
        return cc_text(out, e, "%s", text);
    const int status = cc_text(out, e, "%s", spec->name);
    cc_spec_free(spec);
    return status;
}

/* Takes over the name of `new`. */
static int add_trained(struct cc_trainings *t, struct cc_trained *new, struct cc_error *e)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->of[i].scheme, new->scheme) == 0) {
            char *name = new->scheme;
            new->scheme = t->of[i].scheme;
            if (is_better(new, &t->of[i]))
                t->of[i] = *new;
            free(name);
            return CC_OK;
        }
    const int status = CC_GROW(t->of, &t->capacity, t->count + 1, e);
    if (status == CC_OK)
        t->of[t->count++] = *new;
    else
        free(new->scheme);
    return status;
}

/* Fails if this row is judged by something else than those before. */
static int check_judged(struct cc_trainings *t, const struct cc_sheet *s, size_t row,
                        enum cc_trained_by by, struct cc_error *e)
{
    if (by == CC_TRAINED_NOTHING)
        return CC_OK;
    if (t->judged_at > 0 && t->by != by)
        return cc_fail(e,
                       "%s: %s %zu has %s and %s %zu %s, and trainings are compared by one of "
                       "them: give a file of one kind",
                       s->path, s->place_word, t->judged_at, judged_by[t->by], s->place_word,
                       s->place[row], judged_by[by]);
    t->by = by;
    t->judged_at = s->place[row];
    return CC_OK;
}

static int add_row(struct cc_trainings *t, const struct cc_sheet *s, size_t row, struct cc_error *e)
{
    struct cc_trained new = {.scheme = NULL};
    CC_TRY(read_row(s, row, &new, e));
    CC_TRY(check_alone(s, row, e));
    CC_TRY(check_judged(t, s, row, new.by, e));
    CC_TRY(name_of(text_of(s, row, "scheme"), &new.scheme, e));
    return add_trained(t, &new, e);
}

static int describe(struct cc_trainings *t, const struct cc_sheet *s, size_t row,
                    struct cc_error *e)
{
    double workers, steps;
    CC_TRY(count_of(s, row, "workers", 1, &workers, e));
    CC_TRY(count_of(s, row, "step", 1, &steps, e));
    free(t->about);
    const char *net = text_of(s, row, "net");
    const size_t column = cc_sheet_column(s, "exchange");
    const char *exchange = column != CC_NO_COLUMN ? cc_sheet_value(s, row, column)->text : NULL;
    exchange = exchange != NULL ? exchange : "";
    t->mixed = t->mixed ||
               (t->net != NULL && (strcmp(t->net, net) != 0 || strcmp(t->exchange, exchange) != 0));
    free(t->net);
    free(t->exchange);
    t->net = t->exchange = NULL;
    CC_TRY(cc_text(&t->net, e, "%s", net));
    CC_TRY(cc_text(&t->exchange, e, "%s", exchange));
    return cc_text(&t->about, e, "%s on %s, %.0f workers, %.0f steps", text_of(s, row, "net"),
                   text_of(s, row, "data"), workers, steps);
}

/* Fills in the rises of losses whose fp32 is of another call of train. Their intervals are not
 * known. */
static void find_rises(struct cc_trainings *t, const struct cc_trained *fp32)
{
    for (size_t i = 0; i < t->count && cc_trained_by_loss(t->by); i++)
        if (isnan(t->of[i].difference))
            t->of[i].difference = 1 - t->of[i].loss / fp32->loss;
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
    if (fp32 == NULL || has_diverged(fp32) || (fp32->tried && fp32->verdict != CC_TRIAL_KEEPS))
        return cc_fail(e,
                       "%s: no training with fp32 was completed, which losses are measured "
                       "against: `commcomp train --scheme fp32,...`",
                       s->path);
    find_rises(t, fp32);
    for (size_t i = 0; i < t->count; i++)
        if (!has_diverged(&t->of[i]) && !t->of[i].tried && isnan(t->of[i].difference))
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
    free(t->net);
    free(t->exchange);
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
    if (t->tried)
        return isnan(t->lost) && t->diverged > 0 ? INFINITY : t->lost;
    return has_diverged(t) ? INFINITY : -t->difference;
}

const enum cc_trial_verdict *cc_trained_verdict(const struct cc_trained *t)
{
    return t != NULL && t->tried ? &t->verdict : NULL;
}
