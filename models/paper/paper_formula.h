/* The formulas behind published tables. Private to models/paper/. */
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
    struct cc_error *e;
    int status;          /* CC_OK at first; the message is in e */
    const char *missing; /* the first name that was not found, or NULL */
};

/* A formula. It need not check for missing names, as paper_solve.c does, and its numbers are in the
 * ranges of `inputs`. */
struct cc_paper_formula {
    const char *name;
    double (*figure)(struct cc_paper_case *c);
    bool of_net;                   /* it needs the row's net */
    const char *const *quantities; /* ends with NULL */
    const struct cc_param *inputs; /* every name that it looks up: name, type, min, max */
};

/* Ends with a row without a name. */
extern const struct cc_paper_formula cc_paper_formulas[];

#endif
