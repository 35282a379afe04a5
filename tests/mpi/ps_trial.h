/* A setting that tests/mpi/test_ps.c tries: the job, the inputs and the results of the ranks. */
#ifndef CC_TESTS_MPI_PS_TRIAL_H
#define CC_TESTS_MPI_PS_TRIAL_H

#include <mpi.h>

#include "netsim/job/job.h"
#include "netsim/transport/mpi.h"
#include "schemes/spec.h"

enum { MOST_MESSAGES = 8, MOST_TENSORS = 16, MOST_RANKS = 32, STEPS = 4, MOST_WORKERS = 9 };

enum ps_layout { SPLIT, WHOLE, MIXED, LAYOUTS };
extern const char *const ps_layouts[];

/* Counts of one rank in one step. */
struct ps_counts {
    uint64_t payload, messages, tensor[MOST_TENSORS];
};

struct ps_trial {
    const char *setting;
    enum ps_layout layout;
    MPI_Comm comm;
    struct cc_mpi_transport mpi;
    int rank;
    struct cc_job job;
    struct cc_job_row row;
    struct cc_message message[MOST_MESSAGES];
    struct cc_spec *spec, *raw;
    size_t values;
    float *after; /* the model after each step */
    struct ps_counts counts[STEPS];
    uint64_t head[STEPS], sent[STEPS];
};

/* End all ranks, naming the setting: ps_room without memory, ps_fail_on for a status other than
 * CC_OK. The caller frees what ps_room returns, which is zero. */
void ps_die(const struct ps_trial *t, const char *what);
void *ps_room(const struct ps_trial *t, size_t bytes);
void ps_fail_on(const struct ps_trial *t, int status, const struct cc_error *e);

/* Opens the setting and lays out eight tensors in four messages. The caller has set the
 * communicator, the setting, the layout and the numbers of workers and servers. */
void ps_open(struct ps_trial *t);
void ps_close(struct ps_trial *t);

/* A worker's gradient in a step, and every worker's model before the first. */
void ps_gradient(const struct ps_trial *t, int worker, size_t step, float *x);
void ps_model(const struct ps_trial *t, float *model);

#endif
