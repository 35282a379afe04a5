/* One scheme with one exchange over MPI, against the serial reference: the model of every rank
 * after every step, the bytes that were encoded, and those that were sent. Several messages go at
 * once, and step follows step without a barrier. Sums are equal to the last bit, but for those of
 * the MPI library, whose order of additions is its own. */
#ifndef CC_TESTS_MPI_TRIAL_H
#define CC_TESTS_MPI_TRIAL_H

#include <mpi.h>

#include "netsim/exchange/exchange.h"
#include "netsim/transport/runtime.h"
#include "tests/mpi/serial.h"

enum { MOST_MESSAGES = 8, MOST_STEPS = 13, LARGE = 1000003 };

struct ranks_here {
    int rank, ranks;
    long cases, failures;
    bool all;
    const char *scheme, *exchange; /* only these; NULL: all */
};

/* An exchange with its options. */
struct way {
    const char *exchange;
    enum cc_via via;
    enum cc_wire wire;
    int dense_bits;
    double keep;
    const char *gather, *inner;
    int per_host; /* where as many ranks divide by it */
};

/* Which tensors and gradients. */
enum trial_kind {
    TRIAL_SMALL, /* all small sizes at once, each a message of its own, and one of several tensors
                  */
    TRIAL_LARGE, /* a million values */
    /* As small ones without raw tensors, for sums that are re-sparsified: 13 steps */
    TRIAL_WHOLE, /* small whole numbers, whose sums are exact */
    TRIAL_REAL,  /* values that become much larger in step 5, and much smaller in step 9 */
};

struct trial {
    struct ranks_here *here;
    const char *setting;
    enum trial_kind kind;
    struct cc_job job;
    struct cc_job_row row;
    struct cc_message message[MOST_MESSAGES];
    struct cc_spec *spec, *raw, *second, *inner;
    struct cc_mpi_transport mpi;
    struct cc_rank_state rank_state;
    size_t values, steps;
    float *gradient, *model;                 /* this rank's */
    float *after;                            /* its model after each step */
    struct cc_counters counters[MOST_STEPS]; /* what it had counted by then */
    double slack;                            /* expected */
};

/* setting, kind, steps and the job's exchange are set. */
void trial_open(struct trial *t);
void trial_close(struct trial *t);
/* Ends the program if the status is a failure. */
void trial_fail_on(const struct trial *t, int status, const struct cc_error *e);
/* The gradient of a rank in a step. */
void trial_fill(const struct trial *t, int rank, size_t step, float *x);

/* Runs a setting over an exchange, if it can carry it and the ranks want it, and compares. */
void trial_attempt(struct ranks_here *w, const char *setting, const struct way *way,
                   enum trial_kind kind);

#endif
