/* The error of what a scheme delivers, in one number that does not depend on the trace's length and
 * by which schemes with and without error feedback can be compared. docs/errors.md gives the
 * reasoning and its sources.
 *
 * The error is that of the sum of CC_ERROR_WINDOW consecutive updates u against the sum of the
 * gradients g, once residuals have settled: E ||sum (u - g)||^2 / E ||sum g||^2. An unbiased scheme
 * has the variance of a single step there (errors of different steps are independent, and so,
 * nearly, are gradients), a bias stays, and of error feedback what is left is what the residual
 * gained over the window: what arrives later than in it.
 *
 * A trace is repeated as often as it takes. Repeated as it is, every gradient would come back, the
 * sums would grow like the number of steps instead of its root, and residuals would fill with the
 * same values again and again. Each pass after the first therefore changes the signs of a matrix's
 * rows and columns at random: magnitudes, norms and singular values stay, and passes are as
 * uncorrelated as captured gradients a few steps apart. */
#ifndef CC_BENCH_UPDATE_ERROR_H
#define CC_BENCH_UPDATE_ERROR_H

#include "bench/config.h"

/* Steps of a window; rounded up to whole periods of the scheme. */
#define CC_ERROR_WINDOW      32
#define CC_ERROR_WINDOW_TEXT "32" /* the same */

/* The error of one scheme. NaN: not known. */
struct cc_update_error {
    double error;     /* the error of a window's sum, as above; sending nothing has 1 */
    double low, high; /* 95% interval of `error`, for the variation over the steps of the trace and
                         over windows; NaN with one step, whose variation cannot be known */
    double nmse;      /* a single settled step's: E ||u - g||^2 / E ||g||^2 */
    double delay;     /* with error feedback: norm of the residual / norm of the gradient, settled;
                         otherwise NaN */
    /* The error of a single settled step, apart in its part along the gradient and the rest, which
     * is orthogonal to it: with a = sum <u, g> / sum <g, g>, over all steps and tensors, late is
     * |1 - a| and noise sum ||u - a g||^2 / sum ||g||^2; late^2 + noise is nmse. g is the gradient
     * itself, whatever the scheme's momentum. */
    double late, noise;
    /* Without a state: the error of a single step, apart in what repeating the encoding of the same
     * gradient under other random numbers leaves and what it averages out, both relative to
     * E ||g||^2. */
    double bias, variance;
    bool settled; /* the last windows differ by less than 5% from those before */
};

/* Measures out[s] for every scheme. For a large net, some tensors are measured, among them matrices
 * of all places, and large tensors by their first rows; for schemes that depend on the shape, fewer
 * tensors but whole ones, up to 4 Mi values. The same trace gives the same tensors in every call. A
 * scheme that fails is left out, with the reason in config->failed; after an interrupt, those that
 * were not measured have NaN, and of drawn matrices those of cc_update_error_by_shape. */
int cc_update_errors(const struct cc_bench_config *config, struct cc_update_error *out,
                     struct cc_error *e);

/* Whether the scheme's error depends on the singular values of the gradients, which drawn ones do
 * not have from captured ones (docs/traces.md): it is lossy, and the tensor's shape decides its
 * payload. */
bool cc_update_error_by_shape(const struct cc_spec *spec);

/* The error of nothing known: NaN in all numbers. */
struct cc_update_error cc_update_error_unknown(void);

#endif
