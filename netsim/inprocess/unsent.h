/* The part of the workers' gradients that has not arrived yet, relative to the gradients: with
 * error feedback, the residuals. Everything is a mean over the workers, which is what the optimizer
 * takes.
 *
 * A scheme with momentum of its own sends more than the gradients; it is not for this. */
#ifndef CC_NETSIM_INPROCESS_UNSENT_H
#define CC_NETSIM_INPROCESS_UNSENT_H

#include <stddef.h>

#include "core/error.h"

struct cc_unsent {
    size_t values, workers;
    float *total;                 /* the gradients' until now, less what has arrived */
    float *mean;                  /* the gradients of this step */
    double total_sq, gradient_sq; /* sums over the steps since cc_unsent_ratio */
};

/* Close it also after an error; all zeros are nothing to close. */
int cc_unsent_open(struct cc_unsent *u, size_t workers, size_t values, struct cc_error *e);
void cc_unsent_close(struct cc_unsent *u);

/* A step: its gradients, then the values [from, to) of the mean that arrives, if any does, and the
 * end. */
void cc_unsent_begin(struct cc_unsent *u, const float *const *gradient);
void cc_unsent_arrive(struct cc_unsent *u, size_t from, size_t to, const float *mean);
void cc_unsent_end(struct cc_unsent *u);

/* The norm of what has not arrived / the norm of the gradients, as roots of the sums of their
 * squares over all steps since the last call; NaN without steps. */
double cc_unsent_ratio(struct cc_unsent *u);

#endif
