/* The numbers that a formula looks up: inputs of the row, of the column, then the constants. */
#include <math.h>
#include <string.h>

#include "models/paper/paper_formula.h"

static const double *find_input(const struct cc_paper_inputs *inputs, const char *name)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (strcmp(inputs->item[i].name, name) == 0)
            return &inputs->item[i].value;
    return NULL;
}

static const double *find_value(const struct cc_paper_case *c, const char *name)
{
    const double *v = find_input(&c->row->inputs, name);
    if (v == NULL)
        v = find_input(&c->column->inputs, name);
    for (size_t i = 0; v == NULL && i < c->paper->constants; i++)
        if (strcmp(c->paper->constant[i].name, name) == 0)
            v = &c->paper->constant[i].value;
    return v;
}

double cc_case(struct cc_paper_case *c, const char *name)
{
    const double *v = find_value(c, name);
    if (v != NULL)
        return *v;
    c->missing = c->missing != NULL ? c->missing : name;
    return NAN;
}

int cc_case_whole(struct cc_paper_case *c, const char *name)
{
    double v = cc_case(c, name);
    return isnan(v) ? 1 : (int)v;
}

bool cc_case_has(const struct cc_paper_case *c, const char *name)
{
    return find_value(c, name) != NULL;
}

bool cc_case_flag(const struct cc_paper_case *c, const char *name)
{
    const double *v = find_value(c, name);
    return v != NULL && *v != 0;
}

bool cc_case_is(const struct cc_paper_case *c, const char *quantity)
{
    return strcmp(c->column->quantity, quantity) == 0;
}
