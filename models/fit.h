/* Nonlinear least squares: the trust-region (Levenberg-Marquardt) method of GSL, from many starts,
 * as models with max() in them have several minima. */
#ifndef CC_MODELS_FIT_H
#define CC_MODELS_FIT_H

#include <stddef.h>

#include "core/error.h"

/* A constant looked for. */
struct cc_fit_constant {
    double min, max;  /* 0 < min < max: searched on a logarithmic scale between them */
    double value;     /* found */
    double deviation; /* its standard deviation, as the residuals tell; 0 if they do not */
};

/* Writes the n residuals of the constants x[0..p). A residual that is not finite ends the fit. */
typedef void (*cc_fit_residuals)(void *arg, const double *x, double *residual);

/* Minimizes the sum of squares; n >= p >= 1, p <= CC_FIT_MOST. The same machine gives the same
 * answer every time. Sets value and deviation on success only; *rms is of the residuals. */
int cc_fit(cc_fit_residuals f, void *arg, size_t n, struct cc_fit_constant *constant, size_t p,
           double *rms, struct cc_error *e);

enum { CC_FIT_MOST = 16 };

#endif
