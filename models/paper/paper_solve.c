/* Checks that a table has what its formula looks up, fits its constants, by least squares of
 * log(model / figure) over the columns that are to be fitted, and computes all figures and their
 * errors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/nearest.h"
#include "models/fit.h"
#include "models/paper/paper_formula.h"

/* --- the check --- */

/* Refuses a word that is not in the list, naming the nearest one or all. */
static int refuse_unknown(const char *what, const char *word, const char *const *words,
                          struct cc_error *e)
{
    char all[256];
    const char *near = cc_nearest(word, words);
    if (near != NULL)
        return cc_fail(e, "%s \"%.60s\" is unknown: did you mean \"%s\"?", what, word, near);
    cc_word_list(words, all, sizeof all);
    return cc_fail(e, "%s \"%.60s\" is unknown; there are %s", what, word, all);
}

/* Checks that the formula's table has an input of that name, which may have this value. */
static int check_input(const struct cc_param *table, const char *name, double value,
                       struct cc_error *e)
{
    const struct cc_param *p = cc_param_find(table, name);
    const char *names[32] = {NULL};
    for (size_t i = 0; table[i].name != NULL && i + 1 < sizeof names / sizeof names[0]; i++)
        names[i] = table[i].name;
    if (p == NULL)
        return refuse_unknown("input", name, names, e);
    if (value >= p->min && value <= p->max && (p->type != CC_INT || value == floor(value)))
        return CC_OK;
    return cc_fail(e, "\"%s\" is %s from %.9g to %.9g, not %.9g", p->name,
                   p->type == CC_INT ? "a whole number" : "a number", p->min, p->max, value);
}

static int check_inputs(const struct cc_paper_inputs *in, const struct cc_param *table,
                        struct cc_error *e)
{
    for (size_t i = 0; i < in->count; i++)
        CC_TRY(check_input(table, in->item[i].name, in->item[i].value, e));
    return CC_OK;
}

/* Checks a constant; a fitted one by its bounds, as it takes every value between them. */
static int check_constant(const struct cc_paper_constant *c, const struct cc_param *table,
                          struct cc_error *e)
{
    const struct cc_param *p = cc_param_find(table, c->name);
    if (c->origin != CC_FITTED)
        return check_input(table, c->name, c->value, e);
    if (p != NULL && p->type == CC_INT)
        return cc_fail(e, "\"%s\" is a whole number, which cannot be fitted", c->name);
    CC_TRY(check_input(table, c->name, c->min, e));
    return check_input(table, c->name, c->max, e);
}

static int check_column(const struct cc_paper_column *c, const struct cc_paper_formula *f,
                        struct cc_error *e)
{
    for (size_t i = 0; f->quantities[i] != NULL; i++)
        if (strcmp(f->quantities[i], c->quantity) == 0)
            return check_inputs(&c->inputs, f->inputs, e);
    return refuse_unknown("quantity", c->quantity, f->quantities, e);
}

static int check(const struct cc_paper *p, const struct cc_paper_formula *f, struct cc_error *e)
{
    static const char place[] = "%s \"%.60s\": formula '%s'";
    for (size_t i = 0; i < p->constants; i++)
        CC_TRY_IN(check_constant(&p->constant[i], f->inputs, e), e, place, "constant",
                  p->constant[i].name, f->name);
    for (size_t i = 0; i < p->columns; i++)
        CC_TRY_IN(check_column(&p->column[i], f, e), e, place, "column", p->column[i].name,
                  f->name);
    for (size_t i = 0; i < p->rows; i++)
        CC_TRY_IN(check_inputs(&p->row[i].inputs, f->inputs, e), e, place, "row", p->row[i].name,
                  f->name);
    return CC_OK;
}

/* --- constants and figures --- */

/* A table being solved. */
struct solver {
    struct cc_paper *p;
    const struct cc_paper_formula *formula;
    struct cc_predictor *predictor; /* one for each row */
    int status;
    struct cc_error e;
};

static int compute_figure(struct solver *w, size_t row, size_t column, double *out,
                          struct cc_error *e)
{
    const struct cc_paper_formula *f = w->formula;
    struct cc_paper_case c = {.paper = w->p,
                              .row = &w->p->row[row],
                              .column = &w->p->column[column],
                              .predictor = &w->predictor[row],
                              .e = e};
    if (f->of_net && c.row->net == NULL)
        c.status = cc_fail(e, "it needs a net");
    else
        *out = f->figure(&c);
    if (c.missing != NULL) /* the cause of any other failure */
        c.status =
            cc_fail(e, "the formula '%s' needs \"%s\": no input and no constant has this name",
                    f->name, c.missing);
    else if (c.status == CC_OK && !isfinite(*out))
        c.status = cc_fail(e, "the formula '%s' gives no number", f->name);
    return cc_status_in(c.status, e, "row \"%.60s\", column \"%.60s\"", c.row->name,
                        c.column->name);
}

/* Whether a constant is found by least squares. */
static bool is_searched(const struct cc_paper_constant *c)
{
    return c->origin == CC_FITTED && !c->by_hand;
}

static int is_fitted(const struct cc_paper *p, size_t row, size_t column)
{
    return p->column[column].fit && p->row[row].fit && !isnan(p->row[row].figure[column]);
}

static void set_constants(struct cc_paper *p, const double *x)
{
    size_t k = 0;
    for (size_t i = 0; i < p->constants; i++)
        if (is_searched(&p->constant[i]))
            p->constant[i].value = x[k++];
}

static void residuals(void *arg, const double *x, double *out)
{
    struct solver *w = arg;
    size_t k = 0;
    set_constants(w->p, x);
    for (size_t r = 0; r < w->p->rows; r++)
        for (size_t c = 0; c < w->p->columns; c++) {
            double model = NAN;
            if (!is_fitted(w->p, r, c))
                continue;
            if (w->status == CC_OK)
                w->status = compute_figure(w, r, c, &model, &w->e);
            out[k++] = log(model / w->p->row[r].figure[c]);
        }
}

static int fit(struct solver *w, struct cc_error *e)
{
    struct cc_paper *p = w->p;
    struct cc_fit_constant constant[CC_FIT_MOST];
    double value[CC_FIT_MOST] = {0}, rms;
    size_t n = 0, k = 0, searched = 0;
    for (size_t i = 0; i < p->constants; i++)
        searched += is_searched(&p->constant[i]);
    if (searched == 0)
        return CC_OK;
    if (searched > CC_FIT_MOST)
        return cc_fail(e, "more than %d constants to be fitted", CC_FIT_MOST);
    for (size_t i = 0; i < p->constants; i++)
        if (is_searched(&p->constant[i]))
            constant[k++] = (struct cc_fit_constant){p->constant[i].min, p->constant[i].max, 0, 0};
    for (size_t r = 0; r < p->rows; r++)
        for (size_t c = 0; c < p->columns; c++)
            n += (size_t)is_fitted(p, r, c);
    int status = cc_fit(residuals, w, n, constant, k, &rms, e);
    if (w->status != CC_OK) {
        cc_error_set(e, "%s", w->e.text);
        return w->status;
    }
    CC_TRY(status);
    for (size_t i = 0; i < k; i++)
        value[i] = constant[i].value;
    set_constants(p, value);
    for (size_t i = 0, j = 0; i < p->constants; i++)
        if (is_searched(&p->constant[i]))
            p->constant[i].deviation = constant[j++].deviation;
    return CC_OK;
}

/* Computes all figures with the current constants, and the root mean square and the largest of
 * their errors. */
static int evaluate(struct solver *w, struct cc_error *e)
{
    struct cc_paper *p = w->p;
    double squares = 0;
    p->figures = 0;
    p->worst_error = 0;
    for (size_t r = 0; r < p->rows; r++)
        for (size_t c = 0; c < p->columns; c++) {
            if (isnan(p->row[r].figure[c]) && !p->row[r].ours[c])
                continue;
            CC_TRY(compute_figure(w, r, c, &p->row[r].model[c], e));
            if (p->row[r].ours[c])
                continue;
            double error = p->row[r].model[c] / p->row[r].figure[c] - 1;
            squares += error * error;
            p->figures++;
            if (fabs(error) > fabs(p->worst_error))
                p->worst_error = error;
        }
    p->rms_error = p->figures > 0 ? sqrt(squares / (double)p->figures) : 0;
    return CC_OK;
}

static int solve(struct cc_paper *p, struct cc_error *e)
{
    struct solver w = {.p = p, .formula = cc_paper_formulas, .status = CC_OK};
    int status = CC_OK;
    while (w.formula->name != NULL && strcmp(w.formula->name, p->formula) != 0)
        w.formula++;
    if (w.formula->name == NULL)
        return cc_fail(e, "there is no formula '%.60s'; docs/papers.md lists them", p->formula);
    CC_TRY(check(p, w.formula, e));
    CC_TRY(CC_NEW(w.predictor, p->rows, e));
    if (p->fitted > 0)
        CC_TRY_OUT(fit(&w, e));
    CC_TRY_OUT(evaluate(&w, e));
out:
    for (size_t i = 0; i < p->rows; i++)
        cc_predictor_free(&w.predictor[i]);
    free(w.predictor);
    return status;
}

int cc_paper_solve(struct cc_paper *p, struct cc_error *e)
{
    if (solve(p, e) == CC_OK)
        return CC_OK;
    cc_error_in(e, "%.200s", p->file != NULL ? p->file : p->id);
    return CC_FAIL; /* never CC_USAGE: the file is wrong, not the command line */
}
