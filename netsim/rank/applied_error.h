/* How far what the exchanges have applied in the counted steps of a row is from the mean of the
 * workers' gradients: the squared error of the sum over the steps, relative to the square of the
 * gradients' own sum, so that what residuals give later does not count as lost. A scheme that
 * applies momentum itself is held against the gradients with that momentum. */
#ifndef CC_NETSIM_RANK_APPLIED_ERROR_H
#define CC_NETSIM_RANK_APPLIED_ERROR_H

#include <mpi.h>

#include "netsim/rank/loop.h"

/* Two windows: all counted steps; and the last half of them, in whole periods, in which residuals
 * are fuller. */
enum { CC_APPLIED_WINDOWS = 2 };

struct cc_applied_error {
    MPI_Comm workers;                     /* MPI_COMM_NULL on servers, which apply nothing */
    size_t values, half;                  /* half: counted steps before the second window */
    double *gradient[CC_APPLIED_WINDOWS]; /* this worker's sums before `half` and from there on */
    double momentum, *velocity;           /* the scheme's; NULL: it has none */
    float *model[CC_APPLIED_WINDOWS];     /* at the beginning of each window */
    double error[CC_APPLIED_WINDOWS];
};

/* Before the row's first step, whose model is 0. Collective. After an error it is not closed. */
int cc_applied_error_open(struct cc_applied_error *x, const struct cc_rank_loop *l,
                          struct cc_error *e);
/* After each step: takes in its gradient and the model. */
void cc_applied_error_step(struct cc_applied_error *x, const struct cc_rank_loop *l, size_t step);
/* After the last step: sets `error`. Collective. */
int cc_applied_error_end(struct cc_applied_error *x, const struct cc_rank_loop *l,
                         struct cc_error *e);
/* Collective. */
void cc_applied_error_close(struct cc_applied_error *x);

#endif
