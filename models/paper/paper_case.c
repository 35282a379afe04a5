/* The parts that formulas share: the numbers that they look up, and a step's time. */
#include <math.h>
#include <string.h>

#include "models/paper/paper_formula.h"

/* --- the numbers that a formula looks up --- */

static const double *find_input(const struct cc_paper_inputs *inputs, const char *name)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (strcmp(inputs->item[i].name, name) == 0)
            return &inputs->item[i].value;
    return NULL;
}

/* The input of the row, the column, or the constant; NULL if there is none. */
static const double *find(const struct cc_paper_case *c, const char *name)
{
    const double *v = find_input(&c->row->inputs, name);
    if (v == NULL)
        v = find_input(&c->column->inputs, name);
    for (size_t i = 0; v == NULL && i < c->paper->constants; i++)
        if (strcmp(c->paper->constant[i].name, name) == 0)
            v = &c->paper->constant[i].value;
    return v;
}

/* The same, which must be there; NaN if it is not. */
double cc_case_number(struct cc_paper_case *c, const char *name)
{
    const double *v = find(c, name);
    if (v != NULL)
        return *v;
    c->missing = c->missing != NULL ? c->missing : name;
    return NAN;
}

/* The same of an input of type CC_INT; 1 if it is not there. */
int cc_case_whole(struct cc_paper_case *c, const char *name)
{
    double v = cc_case_number(c, name);
    return isnan(v) ? 1 : (int)v;
}

bool cc_case_has(const struct cc_paper_case *c, const char *name)
{
    return find(c, name) != NULL;
}

bool cc_case_flag(const struct cc_paper_case *c, const char *name)
{
    const double *v = find(c, name);
    return v != NULL && *v != 0;
}

/* Whether the column shows this quantity. */
bool cc_case_is(const struct cc_paper_case *c, const char *quantity)
{
    return strcmp(c->column->quantity, quantity) == 0;
}

/* A failure of the formula, whose message was written; NaN. */
double cc_case_failed(struct cc_paper_case *c, int status)
{
    c->status = status;
    return NAN;
}

/* --- a step --- */

double cc_case_step_s(struct cc_paper_case *c, const struct cc_setting *s,
                      const struct cc_codec_model *codec_model)
{
    struct cc_step_payloads payloads;
    struct cc_prediction p;
    int status = cc_step_payloads_make(s->net, codec_model, codec_model, NULL, &payloads, c->e);
    if (status != CC_OK)
        return cc_case_failed(c, status);
    status = cc_predict(c->predictor, s, &payloads, &p, c->e);
    cc_step_payloads_free(&payloads);
    return status == CC_OK ? p.step_s : cc_case_failed(c, status);
}
