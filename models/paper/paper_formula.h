/* The formulas behind published tables: how a formula looks up its numbers, and the table of all
 * formulas. Private to models/paper/. */
#ifndef CC_MODELS_PAPER_PAPER_FORMULA_H
#define CC_MODELS_PAPER_PAPER_FORMULA_H

#include <stdbool.h>

#include "core/param.h"
#include "models/paper/paper.h"
#include "models/predict.h"

/* One figure of a table. */
struct cc_paper_case {
    const struct cc_paper *paper;
    const struct cc_paper_row *row;
    const struct cc_paper_column *column;
    struct cc_predictor *predictor; /* reusable memory, for row->net */
    const char *missing;            /* the first name that was not found, or NULL */
};

/* The input or constant of that name; NaN if there is none. */
double cc_case(struct cc_paper_case *c, const char *name);
/* The same for an input of type CC_INT; 1 if there is none. */
int cc_case_whole(struct cc_paper_case *c, const char *name);
/* Whether the row, the column or the constants have an input of that name. */
bool cc_case_has(const struct cc_paper_case *c, const char *name);
/* Whether they have it and it is not 0. */
bool cc_case_flag(const struct cc_paper_case *c, const char *name);
/* Whether the column shows this quantity. */
bool cc_case_is(const struct cc_paper_case *c, const char *quantity);

/* A formula; figure() sets *out to the model's figure. It need not check for missing names, as
 * paper_solve.c does, and its numbers are in the ranges of `inputs`. */
struct cc_paper_formula {
    const char *name;
    int (*figure)(struct cc_paper_case *c, double *out, struct cc_error *e);
    const char *const *quantities; /* ends with NULL */
    const struct cc_param *inputs; /* every name that it looks up: name, type, min, max */
};

/* Ends with a row without a name. */
extern const struct cc_paper_formula cc_paper_formulas[];

/* Checks that the formula takes the table's quantities, inputs and constants. The message names the
 * place, not the file. */
int cc_paper_check(const struct cc_paper *p, const struct cc_paper_formula *f, struct cc_error *e);

/* The formulas; each is explained in its paper's file. */
int cc_formula_shared_port(struct cc_paper_case *c, double *out, struct cc_error *e);
int cc_formula_zero_runs(struct cc_paper_case *c, double *out, struct cc_error *e);
int cc_formula_traffic(struct cc_paper_case *c, double *out, struct cc_error *e);
int cc_formula_gpu_sum(struct cc_paper_case *c, double *out, struct cc_error *e);
int cc_formula_amdahl(struct cc_paper_case *c, double *out, struct cc_error *e);
int cc_formula_pipeline(struct cc_paper_case *c, double *out, struct cc_error *e);
int cc_formula_sparse_pass(struct cc_paper_case *c, double *out, struct cc_error *e);
int cc_formula_low_precision(struct cc_paper_case *c, double *out, struct cc_error *e);
int cc_formula_sparse_order(struct cc_paper_case *c, double *out, struct cc_error *e);
int cc_formula_utility(struct cc_paper_case *c, double *out, struct cc_error *e);
int cc_formula_placement(struct cc_paper_case *c, double *out, struct cc_error *e);
int cc_formula_combined(struct cc_paper_case *c, double *out, struct cc_error *e);

#endif
