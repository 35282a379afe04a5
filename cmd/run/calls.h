/* `commcomp run --bw none`: calls of exchanges timed one by one, without computing and without a
 * shaped network. calls.c parses the options and runs the settings, calls_rows.c makes the rows. */
#ifndef CC_CMD_RUN_CALLS_H
#define CC_CMD_RUN_CALLS_H

#include "cmd/cli/progress.h"
#include "cmd/input/cluster.h"
#include "cmd/input/hosts.h"
#include "cmd/run/run.h"
#include "core/trace/synth.h"
#include "netsim/job/report.h"

/* A row that was measured, and whether its result was right. */
struct calls_row {
    size_t at;     /* in the record */
    double call_s; /* median */
    bool dense;    /* fp32 */
    bool by_mpi;   /* over the MPI library's own exchange */
};

struct calls {
    struct cc_record *record;
    struct cc_spec_list *schemes;
    struct cc_hosts hosts;
    struct run_options options;
    struct cc_source_options source;
    struct cc_experiment_input steps; /* calls of a row that count, at most; and before them */
    struct cc_progress progress;
    size_t settings, done; /* jobs, for the progress bar */
    size_t reported;       /* rows of the job under way */
    size_t unsteady;       /* rows whose calls vary much */
    /* The job under way, and the rows of its values, non-zeros and workers. */
    const struct cc_setting *setting;
    double nonzeros; /* share of the values */
    const struct cc_job *job;
    struct calls_row *row;
    size_t rows, row_capacity;
    /* Combinations that cannot be, and the reason of the first. */
    size_t left_out;
    struct cc_error reason;
    /* Rows whose result is wrong, and what is wrong with the first. */
    size_t checked, wrong;
    char first_wrong[400];
    bool chooses; /* ssar-auto is among the exchanges */
    bool encodes; /* the time of some calls has codecs in it */
};

/* The host's memory as a link, by which ssar-auto chooses: 5 GB/s each way, as bytes are copied in
 * and out, and 20 us a message, as ranks may share cores. A guess, not fitted to this machine. */
#define CALLS_BW_BPS    40e9
#define CALLS_LATENCY_S 20e-6

/* Adds a row. */
int calls_add_row(struct calls *c, const struct cc_report_calls *got, struct cc_error *e);
/* Adds the rows of the job, as they would run. */
int calls_add_dry_rows(struct calls *c, struct cc_error *e);
/* Compares the rows of the same values, non-zeros and workers, and forgets them. */
void calls_end_group(struct calls *c);
/* The notes; CC_FAIL if a result was wrong. */
int calls_notes(struct calls *c, struct cc_error *e);

#endif
