/* The formulas behind published tables. For paper.c. */
#ifndef CC_MODELS_PAPER_FORMULA_H
#define CC_MODELS_PAPER_FORMULA_H

#include "models/paper.h"
#include "models/predict.h"

/* One figure of a table. */
struct cc_paper_case {
    const struct cc_paper *paper;
    const struct cc_paper_row *row;
    const struct cc_paper_column *column;
    struct cc_predictor *predictor; /* reusable memory, for row->net */
    const char *missing;            /* the first name that nobody gave, or NULL */
};

/* The input or constant of that name; NaN if there is none. */
double cc_case(struct cc_paper_case *c, const char *name);
/* Whether the row, the column or the constants have it. */
int cc_case_has(const struct cc_paper_case *c, const char *name);
/* Whether the column's quantity is this word. */
int cc_case_is(const struct cc_paper_case *c, const char *quantity);

/* *out: the model's figure. A name that is missing need not be looked at: paper.c does. */
struct cc_paper_formula {
    const char *name;
    int (*figure)(struct cc_paper_case *c, double *out, struct cc_error *e);
};

/* Ends with a row without a name. */
extern const struct cc_paper_formula cc_paper_formulas[];

/* Those of each paper. */
int cc_formula_shared_port(struct cc_paper_case *c, double *out, struct cc_error *e);
int cc_formula_zero_runs(struct cc_paper_case *c, double *out, struct cc_error *e);
int cc_formula_traffic(struct cc_paper_case *c, double *out, struct cc_error *e);
int cc_formula_gpu_sum(struct cc_paper_case *c, double *out, struct cc_error *e);
int cc_formula_amdahl(struct cc_paper_case *c, double *out, struct cc_error *e);
int cc_formula_pipeline(struct cc_paper_case *c, double *out, struct cc_error *e);
int cc_formula_sparse_pass(struct cc_paper_case *c, double *out, struct cc_error *e);
int cc_formula_low_precision(struct cc_paper_case *c, double *out, struct cc_error *e);
int cc_formula_sparse_order(struct cc_paper_case *c, double *out, struct cc_error *e);
int cc_formula_placement(struct cc_paper_case *c, double *out, struct cc_error *e);
int cc_formula_combined(struct cc_paper_case *c, double *out, struct cc_error *e);

#endif
