/* Each constant is searched between the logarithms of its bounds, along a logistic curve, so that
 * none leaves its range. The first start is the middle, the others are random with a fixed seed;
 * the best minimum counts. */
#include "models/fit.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/random.h"

enum { STARTS = 200, ITERATIONS = 200 };

struct problem {
    cc_fit_residuals f;
    void *arg;
    const struct cc_fit_constant *constant;
    size_t n, p;
    double *residual; /* n: GSL's own vectors may have strides */
};

/* Maps the unbounded variable z of the search to a constant between its bounds, on a logarithmic
 * scale. */
static double constant_of(const struct cc_fit_constant *c, double z)
{
    double x = exp(log(c->min) + (log(c->max) - log(c->min)) / (1 + exp(-z)));
    return fmin(fmax(x, c->min), c->max); /* rounding */
}

static int residuals(const gsl_vector *z, void *arg, gsl_vector *out)
{
    const struct problem *q = arg;
    double x[CC_FIT_MOST];
    for (size_t i = 0; i < q->p; i++)
        x[i] = constant_of(&q->constant[i], gsl_vector_get(z, i));
    q->f(q->arg, x, q->residual);
    for (size_t i = 0; i < q->n; i++) {
        if (!isfinite(q->residual[i]))
            return GSL_EDOM;
        gsl_vector_set(out, i, q->residual[i]);
    }
    return GSL_SUCCESS;
}

/* Sets z to the start-th starting point: the middle first, then random points of a fixed seed. */
static void set_start(gsl_vector *z, size_t p, size_t start)
{
    for (size_t i = 0; i < p; i++) {
        double u = start == 0 ? 0.5 : 0x1p-53 * (double)(cc_mix64(start * CC_FIT_MOST + i) >> 11);
        gsl_vector_set(z, i, log((0.02 + 0.96 * u) / (0.98 - 0.96 * u)));
    }
}

/* Reads the constants and their deviations at the end of a search, where the sum of squares is
 * `squares`. */
static void read_result(struct cc_fit_constant *constant, size_t n, size_t p, double squares,
                        gsl_multifit_nlinear_workspace *w, gsl_matrix *covariance)
{
    int known = n > p && gsl_multifit_nlinear_covar(gsl_multifit_nlinear_jac(w), 1e-12,
                                                    covariance) == GSL_SUCCESS;
    for (size_t i = 0; i < p; i++) {
        struct cc_fit_constant *c = &constant[i];
        double s = 1 / (1 + exp(-gsl_vector_get(w->x, i)));
        double slope = (log(c->max) - log(c->min)) * s * (1 - s);
        double variance = known ? gsl_matrix_get(covariance, i, i) * squares / (double)(n - p) : 0;
        c->value = constant_of(c, gsl_vector_get(w->x, i));
        c->deviation = isfinite(variance) && variance > 0 ? c->value * slope * sqrt(variance) : 0;
    }
}

static double search(struct problem *q, struct cc_fit_constant *constant,
                     gsl_multifit_nlinear_workspace *w, gsl_vector *z, gsl_matrix *covariance)
{
    gsl_multifit_nlinear_fdf fdf = {
        .f = residuals, .df = NULL, .fvv = NULL, .n = q->n, .p = q->p, .params = q};
    double best = INFINITY;
    for (size_t start = 0; start < STARTS; start++) {
        double squares;
        int info;
        set_start(z, q->p, start);
        if (gsl_multifit_nlinear_init(z, &fdf, w) != GSL_SUCCESS)
            continue;
        /* The status is ignored: a search that stops at a kink, where no step improves, counts too.
         */
        (void)gsl_multifit_nlinear_driver(ITERATIONS, 1e-10, 1e-10, 0, NULL, NULL, &info, w);
        gsl_vector *r = gsl_multifit_nlinear_residual(w);
        if (gsl_blas_ddot(r, r, &squares) == GSL_SUCCESS && squares < best) {
            best = squares;
            read_result(constant, q->n, q->p, squares, w, covariance);
        }
    }
    return best;
}

/* GSL goes on with NULL where its own functions find no memory: this ends the fit instead. */
static _Thread_local jmp_buf no_memory;

static void on_gsl_error(const char *reason, const char *file, int line, int error)
{
    (void)reason;
    (void)file;
    (void)line;
    if (error == GSL_ENOMEM)
        longjmp(no_memory, 1);
}

static int out_of_memory(size_t p, size_t n, struct cc_error *e)
{
    return cc_fail(e, "out of memory: a fit of %zu constants to %zu figures", p, n);
}

int cc_fit(cc_fit_residuals f, void *arg, size_t n, struct cc_fit_constant *constant, size_t p,
           double *rms, struct cc_error *e)
{
    if (p == 0 || p > CC_FIT_MOST || n < p)
        return cc_fail(e, "a fit of %zu constants to %zu figures", p, n);
    struct cc_fit_constant found[CC_FIT_MOST];
    for (size_t i = 0; i < p; i++)
        found[i] = constant[i];
    struct problem q = {f, arg, constant, n, p, malloc(n * sizeof *q.residual)};
    gsl_error_handler_t *handler = gsl_set_error_handler(on_gsl_error);
    if (setjmp(no_memory) != 0) { /* memory that GSL had allocated is lost */
        (void)gsl_set_error_handler(handler);
        free(q.residual);
        return out_of_memory(p, n, e);
    }
    gsl_multifit_nlinear_parameters config = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_workspace *w =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &config, n, p);
    gsl_vector *z = gsl_vector_alloc(p);
    gsl_matrix *covariance = gsl_matrix_alloc(p, p);
    double best = INFINITY;
    bool memory = w != NULL && z != NULL && covariance != NULL && q.residual != NULL;
    if (memory)
        best = search(&q, found, w, z, covariance);
    gsl_multifit_nlinear_free(w);
    gsl_vector_free(z);
    gsl_matrix_free(covariance);
    (void)gsl_set_error_handler(handler);
    free(q.residual);
    if (!memory)
        return out_of_memory(p, n, e);
    if (!isfinite(best))
        return cc_fail(e, "the fit found nothing: the formula is not finite anywhere it looked");
    for (size_t i = 0; i < p; i++)
        constant[i] = found[i];
    *rms = sqrt(best / (double)n);
    return CC_OK;
}
