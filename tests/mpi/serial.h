/* The reference for the exchanges: what every worker's model must be after a step, computed by one
 * process straight from the definitions (docs/model.md), with plain loops over ranks and chunks and
 * codecs called one by one. */
#ifndef CC_TESTS_MPI_SERIAL_H
#define CC_TESTS_MPI_SERIAL_H

#include "netsim/job/job.h"
#include "schemes/spec.h"

/* One message of a job's row. */
struct serial;

/* The counts that one step must have. */
struct serial_counts {
    uint64_t payload[32]; /* bytes encoded by each rank: every value once */
    uint64_t moved;       /* bytes of payload between ranks, all of them */
    uint64_t transfers;   /* messages, each with at most most_payloads payloads */
    uint64_t most_payloads;
    uint64_t heads; /* the most bytes that packs add */
    uint64_t kept;  /* values in re-sparsified sums */
    bool chose;     /* ssar-auto: took this exchange */
    enum cc_exchange chosen;
};

/* All that is pointed to must outlive it. Not for the exchange ps. */
struct serial *serial_open(const struct cc_job *job, const struct cc_job_row *row,
                           const struct cc_message *m, const struct cc_spec *spec,
                           const struct cc_spec *raw);
void serial_close(struct serial *s);

/* One step: gradient[rank] and model are flat steps. *slack: how far sums may be away that were
 * added in another order (exchange mpi), else 0. */
void serial_step(struct serial *s, uint64_t step, const float *const *gradient, float *model,
                 struct serial_counts *counts, double *slack);

/* With the job's `keep`: how far the values applied and held back so far are from those computed,
 * relative to the sum of the magnitudes of these; the largest of all values. */
double serial_off(const struct serial *s);

#endif
