/* Fits a table's constants, by least squares of log(model / figure) over the columns that are to be
 * fitted, and computes all figures and their errors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "models/fit.h"
#include "models/paper/paper_formula.h"

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
    struct cc_paper_case c = {.paper = w->p,
                              .row = &w->p->row[row],
                              .column = &w->p->column[column],
                              .predictor = &w->predictor[row]};
    int status = w->formula->figure(&c, out, e);
    if (c.missing != NULL) /* the cause of any other failure */
        status = cc_fail(e, "the formula '%s' needs \"%s\": no input and no constant has this name",
                         w->formula->name, c.missing);
    else if (status == CC_OK && !isfinite(*out))
        status = cc_fail(e, "the formula '%s' gives no number", w->formula->name);
    if (status != CC_OK)
        cc_error_in(e, "row \"%.60s\", column \"%.60s\"", w->p->row[row].name,
                    w->p->column[column].name);
    return status;
}

static int is_fitted(const struct cc_paper *p, size_t row, size_t column)
{
    return p->column[column].fit && !isnan(p->row[row].figure[column]);
}

static void set_constants(struct cc_paper *p, const double *x)
{
    size_t k = 0;
    for (size_t i = 0; i < p->constants; i++)
        if (p->constant[i].origin == CC_FITTED)
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
    size_t n = 0, k = 0;
    if (p->fitted > CC_FIT_MOST)
        return cc_fail(e, "more than %d constants to be fitted", CC_FIT_MOST);
    for (size_t i = 0; i < p->constants; i++)
        if (p->constant[i].origin == CC_FITTED)
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
        if (p->constant[i].origin == CC_FITTED)
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
            if (compute_figure(w, r, c, &p->row[r].model[c], e) != CC_OK)
                return CC_FAIL;
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
    CC_TRY(cc_paper_check(p, w.formula, e));
    w.predictor = cc_alloc0(p->rows * sizeof *w.predictor, e);
    if (w.predictor == NULL)
        return CC_FAIL;
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
