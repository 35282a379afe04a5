/* Nonlinear least squares: the trust-region (Levenberg-Marquardt) method of GSL, from many starts,
 * as models with max() in them have several minima. */
#ifndef CC_MODELS_FIT_H
#define CC_MODELS_FIT_H

#include <stddef.h>

#include "core/error.h"

/* An unknown constant of the model. */
struct cc_fit_constant {
    double min, max;  /* bounds, 0 < min < max; the search is on a logarithmic scale */
    double value;     /* the result */
    double deviation; /* its standard deviation, from the residuals; 0 if it is not known */
};

/* Writes the n residuals of the constants x[0..p). A residual that is not finite ends the fit. */
typedef void (*cc_fit_residuals)(void *arg, const double *x, double *residual);

/* Minimizes the sum of squared residuals; n >= p >= 1, p <= CC_FIT_MOST. Deterministic on one
 * machine. Sets values, deviations and *rms, the residuals' root mean square, on success only.
 * One thread at a time: GSL has one error handler for all, which is set meanwhile.
 * CC_FAIL if memory is out or no start gives finite residuals. */
int cc_fit(cc_fit_residuals f, void *arg, size_t n, struct cc_fit_constant *constant, size_t p,
           double *rms, struct cc_error *e);

enum { CC_FIT_MOST = 16 };

#endif
