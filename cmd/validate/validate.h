/* commcomp validate: what its files share. validate.c runs and simulates, validate_rows.c compares
 * the answers, validate_notes.c sums the diagnoses up. */
#ifndef CC_CMD_VALIDATE_VALIDATE_H
#define CC_CMD_VALIDATE_VALIDATE_H

#include "cmd/run/run.h"
#include "cmd/sim/sim.h"
#include "models/diagnosis.h"

/* A row of the experiment, with the answers that there are. */
struct validated {
    /* The run's; without its answer, the simulation's. */
    const struct cc_experiment_setting *setting;
    const struct cc_experiment_row *row;
    const struct cc_measured_row *run, *sim; /* NULL: no answer */
    struct cc_diagnosis diagnosis;
};

struct validate_options {
    struct cc_given given;
    double tolerance;
};

struct validate {
    struct cc_record *record;
    struct cc_experiment_input input; /* for both: */
    struct run run;
    struct sim sim;
    struct validate_options options;
    struct cc_error no_run, no_sim; /* why some rows have no answer of the one or the other */
    struct validated *row;
    size_t rows; /* with an answer of the run or the simulation */
};

/* Compares the answers of run, simulation and formulas, and adds a row of the record for each. */
int cc_validate_rows(struct validate *v, struct cc_error *e);
/* Adds the notes under the table. */
int cc_validate_notes(struct validate *v, struct cc_error *e);

#endif
