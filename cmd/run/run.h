/* commcomp run: what its files share. run_options.c parses the options, run_setting.c decides about
 * links and steps, run_launch.c runs the settings one after the other, run_rows.c and run_notes.c
 * tell what was measured. validate uses it, too. */
#ifndef CC_CMD_RUN_RUN_H
#define CC_CMD_RUN_RUN_H

#include "cmd/input/hosts.h"
#include "cmd/measure/experiment.h"
#include "models/recipe.h"
#include "netsim/lab/lab.h"
#include "netsim/launch/launch.h"

/* The options that only run has, and where its ranks are. */
struct run_options {
    struct cc_given given;
    struct cc_hosts hosts;
    const char *device; /* interface of the cluster's hosts to shape and to count; or NULL */
    bool keep_lab, ping;
    const char *paper; /* or NULL */
    /* for calls that are timed alone: */
    bool check;
    double time_s;
};
extern const struct cc_option cc_run_options[];

/* Time to spend on filling residuals, where the payload's size depends on them. */
#define CC_RUN_FILLING_S    6.0
#define CC_RUN_FILLING_TEXT "6 s" /* the same */

struct cc_paper;

struct run {
    struct cc_experiment experiment;
    struct run_options options;
    struct cc_paper *paper;      /* has the computing time of a recipe; or NULL */
    double compute;              /* as a share of fp32's traffic */
    struct cc_lab_config shaped; /* settings of the lab that is open */
    char congestion[32];         /* TCP congestion control of the labs; "" on a cluster */
    /* The setting under way: */
    double slowdown; /* measured / expected time of the latest step */
    double done_s;   /* expected seconds of the part that is done */
    /* --ping, by setting: the links' rates before and after its rows, as bw_bps counts; or NULL */
    struct cc_run_links {
        double before_bps, after_bps;
    } * links;
};

/* --- parsing and preparing --- */

/* Parses run's own options; the command of `args` may lack --paper, --keep-lab, --tc-dev and
 * --dry-run. Free *out with cc_run_free, also after an error. */
int cc_run_parse(struct cc_args *args, struct run *out, struct cc_error *e);
/* Refuses clusters that are too large for a lab. */
int cc_run_check(const struct run *r, const struct cc_cluster_args *c, struct cc_error *e);
/* Makes the settings and rows of the input, whose forecast is loaded. Rows and notes will go to
 * `record`, which has run's columns, or nowhere if it is NULL. *r must stay where it is. */
int cc_run_prepare(struct run *r, struct cc_experiment_input *input, struct cc_record *record,
                   struct cc_error *e);
void cc_run_free(struct run *r);

/* Completes a setting, and chooses the steps of a row: struct cc_experiment_ops, as cc_run_limit
 * and cc_run_cause. */
void cc_run_complete(void *arg, struct cc_experiment_setting *s);
int cc_run_choose(void *arg, const struct cc_experiment_setting *s, struct cc_experiment_row *row,
                  struct cc_error *e);

/* Expected seconds: of starting the ranks of a setting; of one of a row's steps, of which the first
 * to warm up is 0; and of a row with its warm-up. Steps and rows include the pauses before steps.
 */
double cc_run_start_s(const struct cc_setting *s);
double cc_run_step_s(const struct cc_experiment_setting *s, const struct cc_experiment_row *row,
                     size_t step);
double cc_run_row_s(const struct cc_experiment_setting *s, const struct cc_experiment_row *row);

/* --- running --- */

/* --dry-run: adds a row for each row of the experiment to a record with run's columns. */
int cc_run_dry(const struct run *r, struct cc_record *record, struct cc_error *e);
/* Adds a reported row, and prints it if there is a record. */
int cc_run_add_row(struct run *r, const struct cc_experiment_setting *s,
                   const struct cc_report_row *got, struct cc_error *e);

/* --ping: measures the rate of a setting's links, NaN if it was interrupted; and the seconds that
 * takes. */
int cc_run_ping(const struct run *r, const struct cc_experiment_setting *s, struct cc_lab *lab,
                double *bps, struct cc_error *e);
double cc_run_ping_s(const struct cc_experiment_setting *s);
/* Sets the columns of what --ping measured of a setting, if it did. */
void cc_run_put_links(const struct run *r, const struct cc_experiment_setting *s,
                      struct cc_record *record, size_t row);

/* --- notes, in the record --- */

/* On all rows; and for those on a setting, the differences that are normal and the cause of larger
 * ones, as struct cc_experiment_ops has them. */
int cc_run_notes(struct run *r, struct cc_error *e);
double cc_run_limit(const struct cc_setting *s);
const char *cc_run_cause(void *arg, const struct cc_experiment_setting *s, size_t first,
                         double worst);
/* Writes the --burst with which too little passes at once in this row to matter, or that none does.
 * NULL: nothing ran, and only the formula has buckets. */
void cc_run_burst_remedy(const struct cc_measured_row *m, char *out, size_t cap);

/* --- --bw none --- */

/* The whole command with --bw none: times calls of exchanges, without steps or a network. */
int cc_run_calls(struct cc_args *args, struct cc_error *e);

/* `commcomp run`, whose options and columns validate uses. */
extern const struct cc_command cc_command_run;

#endif
