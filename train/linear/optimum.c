/* Newton's method: the Hessian by Cholesky's factors, and a step that is halved until the objective
 * no longer rises. */
#include "train/linear/optimum.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "train/math.h"

enum { MOST_STEPS = 200, MOST_HALVES = 60 };

struct newton {
    const struct cc_linear_objective *f;
    double *w, *g, *next; /* [features]; next: parameters to try */
    gsl_matrix *hessian;  /* its lower triangle, then its decomposition */
    gsl_vector *step;
};

/* F at w, and with `h` gradient and Hessian. */
static double evaluate(const struct newton *n, const double *w, double *g, gsl_matrix *h)
{
    const struct cc_sparse_rows *r = &n->f->samples->rows;
    const size_t features = n->f->features;
    const double share = 1 / (double)r->count;
    double loss = 0, squares = 0;
    for (size_t j = 0; j < features; j++)
        squares += w[j] * w[j];
    for (size_t j = 0; j < features && h != NULL; j++)
        g[j] = n->f->l2 * w[j];
    if (h != NULL) {
        gsl_matrix_set_identity(h);
        (void)gsl_matrix_scale(h, n->f->l2);
    }
    for (size_t i = 0; i < r->count; i++) {
        double z = 0;
        for (size_t k = r->begin[i]; k < r->begin[i + 1]; k++)
            z += (double)r->value[k] * w[r->index[k]];
        const struct cc_linear_point p = cc_linear_point(CC_LOGISTIC, z, n->f->samples->label[i]);
        const double curve = fabs(p.slope) * (1 - fabs(p.slope));
        loss += p.loss;
        for (size_t k = r->begin[i]; k < r->begin[i + 1] && h != NULL; k++) {
            const double x = share * (double)r->value[k];
            double *row = gsl_matrix_ptr(h, r->index[k], 0);
            g[r->index[k]] += p.slope * x;
            for (size_t l = r->begin[i]; l <= k; l++)
                row[r->index[l]] += curve * x * (double)r->value[l];
        }
    }
    return share * loss + n->f->l2 / 2 * squares;
}

static double norm(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* Goes along the Newton step, half of it again and again until the objective falls. Returns false
 * where it does not any more. */
static bool descend(struct newton *n, double *value)
{
    const size_t features = n->f->features;
    gsl_vector_view g = gsl_vector_view_array(n->g, features);
    if (gsl_linalg_cholesky_decomp1(n->hessian) != GSL_SUCCESS ||
        gsl_linalg_cholesky_solve(n->hessian, &g.vector, n->step) != GSL_SUCCESS)
        return false;
    double length = 1;
    for (size_t i = 0; i < MOST_HALVES; i++, length /= 2) {
        for (size_t j = 0; j < features; j++)
            n->next[j] = n->w[j] - length * gsl_vector_get(n->step, j);
        const double there = evaluate(n, n->next, NULL, NULL);
        /* Near the minimum the objective has no digits left to fall by. */
        if (there > *value + 1e-15 * fabs(*value))
            continue;
        memcpy(n->w, n->next, features * sizeof *n->w);
        *value = there;
        return true;
    }
    return false;
}

static int minimize(struct newton *n, struct cc_linear_optimum *out, struct cc_error *e)
{
    const size_t features = n->f->features;
    double best = INFINITY;
    out->value = evaluate(n, n->w, n->g, n->hessian);
    out->gradient = norm(n->g, features);
    while (out->steps < MOST_STEPS && out->gradient < best / 2) {
        best = out->gradient;
        memcpy(out->w, n->w, features * sizeof *out->w);
        if (!descend(n, &out->value))
            break;
        out->steps++;
        out->value = evaluate(n, n->w, n->g, n->hessian);
        out->gradient = norm(n->g, features);
    }
    if (out->gradient < best)
        memcpy(out->w, n->w, features * sizeof *out->w);
    out->gradient = fmin(out->gradient, best);
    out->value = evaluate(n, out->w, NULL, NULL);
    if (out->gradient <= 1e-12)
        return CC_OK;
    return cc_fail(e,
                   "the minimum was not found: Newton's method ends with a gradient of %g, above "
                   "1e-12; a larger --weight-decay makes it easier",
                   out->gradient);
}

int cc_linear_optimum(const struct cc_linear_objective *f, struct cc_linear_optimum *out,
                      struct cc_error *e)
{
    const size_t features = f->features;
    struct newton n = {.f = f};
    int status = CC_OK;
    if (f->loss != CC_LOGISTIC || !(f->l2 > 0))
        return cc_usage(e,
                        "the optimum is found of logreg with a --weight-decay above 0, which makes "
                        "it strongly convex");
    if (features > CC_OPTIMUM_FEATURES)
        return cc_usage(e, "the optimum is found with up to %d features, and there are %zu",
                        CC_OPTIMUM_FEATURES, features);
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    CC_TRY_OUT(CC_NEW(n.w, features, e));
    CC_TRY_OUT(CC_NEW(n.g, features, e));
    CC_TRY_OUT(CC_NEW(n.next, features, e));
    CC_TRY_OUT(CC_NEW(out->w, features, e));
    n.hessian = gsl_matrix_alloc(features, features);
    n.step = gsl_vector_alloc(features);
    if (n.hessian == NULL || n.step == NULL)
        status = cc_fail(e, "out of memory for %zu x %zu second derivatives", features, features);
    else
        status = minimize(&n, out, e);
out:
    gsl_matrix_free(n.hessian);
    gsl_vector_free(n.step);
    free(n.w);
    free(n.g);
    free(n.next);
    (void)gsl_set_error_handler(handler);
    return status;
}
