#include "netsim/rank/applied_error.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/transport/mpi_calls.h"
#include "schemes/spec.h"

int cc_applied_error_open(struct cc_applied_error *x, const struct cc_rank_loop *l,
                          struct cc_error *e)
{
    const size_t n = cc_job_values(l->s.job), period = l->s.row->period;
    *x = (struct cc_applied_error){.workers = MPI_COMM_NULL,
                                   .values = n,
                                   .half = l->s.row->steps / period / 2 * period,
                                   .momentum = cc_own_momentum(l->spec->scheme, l->spec->params)};
    if (n > INT_MAX)
        return cc_fail(e, "the errors of %zu values are too many for MPI_Allreduce", n);
    const int code =
        MPI_Comm_split(l->mpi.comm, l->s.server ? MPI_UNDEFINED : 0, l->s.rank, &x->workers);
    CC_TRY(cc_mpi_check(code, "MPI_Comm_split", e));
    for (int i = 0; i < CC_APPLIED_WINDOWS && !l->s.server; i++) {
        CC_TRY(CC_NEW(x->gradient[i], n, e));
        CC_TRY(CC_NEW(x->model[i], n, e));
    }
    return x->momentum == 0 || l->s.server ? CC_OK : CC_NEW(x->velocity, n, e);
}

/* The values that this step's gradient adds to the scheme's input. */
static const double *add_momentum(struct cc_applied_error *x, const float *gradient)
{
    for (size_t i = 0; i < x->values; i++)
        x->velocity[i] = x->momentum * x->velocity[i] + (double)gradient[i];
    return x->velocity;
}

void cc_applied_error_step(struct cc_applied_error *x, const struct cc_rank_loop *l, size_t step)
{
    const size_t before = l->s.row->warmup;
    if (x->workers == MPI_COMM_NULL)
        return;
    const double *u = x->velocity != NULL ? add_momentum(x, l->s.gradient) : NULL;
    double *sum = step >= before ? x->gradient[step - before >= x->half] : NULL;
    for (size_t i = 0; i < x->values && sum != NULL; i++)
        sum[i] += u != NULL ? u[i] : (double)l->s.gradient[i];
    if (step + 1 == before)
        memcpy(x->model[0], l->s.model, x->values * sizeof(float));
    if (step + 1 == before + x->half)
        memcpy(x->model[1], l->s.model, x->values * sizeof(float));
}

/* The squared error of the model's change since `begin`, relative to the square of the mean
 * gradients' sum; 0 if that is 0. */
static double error_since(const struct cc_applied_error *x, const float *begin, const float *model,
                          const double *first, const double *second, int workers)
{
    double error = 0, all = 0;
    for (size_t i = 0; i < x->values; i++) {
        const double mean = ((first != NULL ? first[i] : 0) + second[i]) / workers;
        const double off = (double)model[i] - (double)begin[i] - mean;
        error += off * off;
        all += mean * mean;
    }
    return all > 0 ? error / all : 0;
}

int cc_applied_error_end(struct cc_applied_error *x, const struct cc_rank_loop *l,
                         struct cc_error *e)
{
    double **g = x->gradient;
    int workers = 1;
    if (x->workers == MPI_COMM_NULL)
        return CC_OK;
    MPI_Comm_size(x->workers, &workers);
    for (int i = 0; i < CC_APPLIED_WINDOWS; i++)
        CC_TRY(cc_mpi_allreduce(x->workers, g[i], x->values, MPI_DOUBLE, MPI_SUM, e));
    x->error[0] = error_since(x, x->model[0], l->s.model, g[0], g[1], workers);
    x->error[1] = error_since(x, x->model[1], l->s.model, NULL, g[1], workers);
    return CC_OK;
}

void cc_applied_error_close(struct cc_applied_error *x)
{
    if (x->workers != MPI_COMM_NULL)
        MPI_Comm_free(&x->workers);
    for (int i = 0; i < CC_APPLIED_WINDOWS; i++) {
        free(x->gradient[i]);
        free(x->model[i]);
    }
    free(x->velocity);
    *x = (struct cc_applied_error){.workers = MPI_COMM_NULL};
}
