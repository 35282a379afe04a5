/* Compares an exchange's results with the MPI library's own sum of the same values, and between
 * ranks; of a reduce-scatter the parts of all ranks together, and of an all-gather each part with
 * the gradient of the rank that has it. */
#ifndef CC_NETSIM_RANK_RESULT_CHECK_H
#define CC_NETSIM_RANK_RESULT_CHECK_H

#include <mpi.h>
#include <stdbool.h>

#include "netsim/exchange/rank_state.h"

struct cc_result_check {
    MPI_Comm workers; /* MPI_COMM_NULL on servers, which check nothing */
    size_t values;
    float *own; /* this worker's payload, decoded; later another rank's result */
    float *sum, *magnitude;
    enum cc_element type; /* that sums are rounded to on their way */
    enum cc_operation op;
    char wrong[200]; /* on this rank; "": nothing */
};

/* Whether the row's results can be compared: payloads are summed, merged or decoded as they were
 * encoded, or nothing is lost by encoding them again; and a payload follows from the gradient of
 * one step. */
bool cc_result_check_possible(const struct cc_job *job, const struct cc_job_row *row,
                              const struct cc_spec *spec);

/* Sums what the workers' payloads of step 0 decode to, encoded with codecs of its own. Collective.
 * Close it also after an error. */
int cc_result_check_open(struct cc_result_check *c, const struct cc_rank_state *s,
                         const float *gradient, struct cc_error *e);
/* Compares the mean that step 0 has given, on a model of zeros. Collective. */
int cc_result_check_sum(struct cc_result_check *c, const float *mean, struct cc_error *e);
/* Compares the models of all workers, which must have the same bits, but after a reduce-scatter.
 * Collective. */
int cc_result_check_equal(struct cc_result_check *c, const float *model, struct cc_error *e);
void cc_result_check_close(struct cc_result_check *c);

#endif
