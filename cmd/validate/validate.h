/* commcomp validate: what its files share. */
#ifndef CC_CMD_VALIDATE_VALIDATE_H
#define CC_CMD_VALIDATE_VALIDATE_H

#include "cmd/run/run.h"
#include "cmd/sim/sim.h"
#include "models/diagnosis.h"

/* A row of the plan, and what became of it. */
struct validated {
    const struct cc_experiment_setting *setting;
    const struct cc_experiment_row *row;
    struct cc_diagnosis diagnosis;
};

struct validate {
    struct cc_args *args;
    struct cc_record *record;             /* the result; its rows are joined from */
    struct cc_record measured, simulated; /* those of run and of sim, in the plan's order */
    struct run run;                       /* with the plan */
    struct sim sim;
    double tolerance;
    struct cc_error no_run, no_sim; /* why there are not as many rows as in the plan; or empty */
    struct validated *row;
    size_t rows; /* that have more than a forecast */
};

/* Joins the rows that run and sim have measured, with their verdicts. */
int cc_validate_rows(struct validate *v, struct cc_error *e);
/* Under the table. */
int cc_validate_notes(struct validate *v, struct cc_error *e);

#endif
