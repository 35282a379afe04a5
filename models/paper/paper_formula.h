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

/* The number of that name: of the row, the column, or the constants, which must be there; NaN, and
 * c->missing, if it is not. */
double cc_case_number(struct cc_paper_case *c, const char *name);
/* The same of an input of type CC_INT; 1 if it is not there. */
int cc_case_whole(struct cc_paper_case *c, const char *name);
bool cc_case_has(const struct cc_paper_case *c, const char *name);
bool cc_case_flag(const struct cc_paper_case *c, const char *name); /* false if it is not there */
/* Whether the column shows this quantity. */
bool cc_case_is(const struct cc_paper_case *c, const char *quantity);
/* A failure of the formula, whose message was written; NaN. */
double cc_case_failed(struct cc_paper_case *c, int status);
/* A step's time; NaN where it cannot be predicted. */
double cc_case_step_s(struct cc_paper_case *c, const struct cc_setting *s,
                      const struct cc_codec_model *codec_model);

/* Formulas with files of their own. */
double cc_paper_training(struct cc_paper_case *c);    /* paper_training.c */
double cc_paper_utilization(struct cc_paper_case *c); /* paper_utilization.c */

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
