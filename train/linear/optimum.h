/* The minimum of the objective of logistic regression, as a reference for methods that approach it:
 * Newton's method on all rows in double, independent of what trains. */
#ifndef CC_TRAIN_LINEAR_OPTIMUM_H
#define CC_TRAIN_LINEAR_OPTIMUM_H

#include "train/linear/objective.h"

/* The most features: the Hessian has the square of their number. */
enum { CC_OPTIMUM_FEATURES = 2048 };

struct cc_linear_optimum {
    double *w;       /* [features]; free it */
    double value;    /* F(w) */
    double gradient; /* the gradient's norm there; w is within gradient / l2 of the minimum */
    size_t steps;
};

/* Ends where rounding keeps the gradient from becoming smaller. The objective must be logistic with
 * l2 > 0, and the gradient 1e-12 or less in the end; otherwise, and with too many features, it
 * fails. *out was zeroed before. */
int cc_linear_optimum(const struct cc_linear_objective *f, struct cc_linear_optimum *out,
                      struct cc_error *e);

#endif
