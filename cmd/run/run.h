/* commcomp run: what its files share. */
#ifndef CC_CMD_RUN_RUN_H
#define CC_CMD_RUN_RUN_H

#include "cmd/input/hosts.h"
#include "cmd/measure/experiment.h"
#include "netsim/lab/lab.h"
#include "netsim/launch/launch.h"

/* What the options say of labs and clusters. */
struct run_options {
    struct cc_hosts hosts;
    const char *device; /* of the cluster's hosts, that is shaped and counted; or NULL */
    bool keep, latency_given;
};

struct run_paper;

struct run {
    struct cc_experiment plan;
    struct run_options options;
    struct run_paper *paper;     /* --paper, or NULL */
    struct cc_lab_config shaped; /* the settings of the lab that is open */
};

/* Plans what the options say; rows go to *record, which has (at least) run's columns. The command
 * of `args` has the options of run, but may lack --paper, --keep, --tc-dev and --dry-run. Close it
 * also after an error; *r must stay where it is until then. */
int cc_run_open(struct run *r, struct cc_args *args, struct cc_record *record, struct cc_error *e);
void cc_run_close(struct run *r);

/* --- options --- */

int cc_run_options_parse(const struct cc_args *args, struct run_options *out, struct cc_error *e);
void cc_run_options_free(struct run_options *o);

/* --- the plan: cc_experiment_ops --- */

/* A lab's hosts are not many. */
int cc_run_refuse(void *arg, const struct cc_cluster_args *c, struct cc_error *e);
void cc_run_complete(void *arg, struct cc_experiment_setting *s);
int cc_run_choose(void *arg, const struct cc_experiment_setting *s, struct cc_experiment_row *row,
                  struct cc_error *e);

/* Seconds for starting the ranks of a setting. */
double cc_run_start_s(const struct cc_setting *s);
/* Seconds of one of a row's steps, the first to warm up is 0. */
double cc_run_step_s(const struct cc_experiment_row *row, size_t step);
/* Seconds of a row, warm-up included. */
double cc_run_row_s(const struct cc_experiment_row *row);
/* --dry-run: a row for each row of the plan. */
int cc_run_dry(struct run *r, struct cc_error *e);

/* --- running --- */

/* Everything that the ranks need to know. Free with cc_job_free, also after an error if *out was
 * zeroed before. */
int cc_run_job(struct run *r, const struct cc_experiment_setting *s, struct cc_job *out,
               struct cc_error *e);
/* Measures all settings, one after the other, and adds a row for each scheme, in the plan's order;
 * also those until an interrupt or an error. */
int cc_run_all(struct run *r, struct cc_error *e);

/* --- rows --- */

/* What was measured of a row, beside the model's answer. */
int cc_run_add_row(struct run *r, const struct cc_experiment_setting *s, size_t row,
                   const struct cc_report_row *got, struct cc_error *e);
/* Under the rows of a setting, which begin at `first`; and under all of them. */
int cc_run_setting_notes(struct run *r, const struct cc_experiment_setting *s, size_t first,
                         struct cc_error *e);
int cc_run_notes(struct run *r, struct cc_error *e);

/* --- --paper --- */

/* Sets the options that the table's set-up asks for; NULL in *out without --paper. */
int cc_run_paper_open(struct cc_args *args, struct run_paper **out, struct cc_error *e);
/* What depends on the net and the link: the compute time. */
int cc_run_paper_scale(struct run *r, struct cc_error *e);
/* The paper's columns of a row that has its speedup. */
void cc_run_paper_row(struct run *r, size_t row, const struct cc_setting *s, const char *scheme);
int cc_run_paper_notes(struct run *r, struct cc_error *e);
void cc_run_paper_free(struct run_paper *p);

#endif
