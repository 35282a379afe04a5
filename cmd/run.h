/* commcomp run: what its files share. */
#ifndef CC_CMD_RUN_H
#define CC_CMD_RUN_H

#include "cmd/forecast.h"
#include "cmd/hosts.h"
#include "cmd/progress.h"
#include "core/trace.h"
#include "netsim/job.h"
#include "netsim/lab.h"
#include "netsim/launch.h"
#include "netsim/report.h"

/* What the options say beyond net, cluster and schemes. */
struct run_options {
    struct cc_hosts hosts;
    const char *device; /* of the cluster's hosts, that is shaped and counted; or NULL */
    const char *trace;  /* or NULL: */
    enum cc_distribution distribution;
    uint64_t steps, warmup; /* UINT64_MAX: not given */
    bool keep, dry_run;
    bool latency_given;
};

/* A scheme in a setting. */
struct run_row {
    size_t scheme;                 /* of the command line's */
    struct cc_prediction forecast; /* what `model` says */
    size_t period, warmup, steps;
    bool fills;     /* its payloads change while residuals fill */
    double seconds; /* of a step, with the codecs on as many cores as there are; */
    double bare_s;  /* of one that does not compute, as those before the last to warm up */
    double bytes;   /* of a step, on the links of all hosts */
};

/* A setting with all schemes, fp32 first: one job. */
struct run_setting {
    struct cc_setting setting;
    struct run_row *row;
    size_t rows;
    double shaped_bps;      /* what tc is told; 0: nothing is shaped */
    double added_latency_s; /* by netem; 0: none */
    bool nap;               /* more ranks than cores */
    bool oversubscribed;    /* more busy ones */
    double crowd;           /* busy ranks / cores, at least 1 */
};

struct run_paper;

struct run {
    struct cc_args *args;
    struct cc_record *record;
    struct run_options options;
    struct cc_forecast forecast;
    struct run_setting *setting;
    size_t settings, setting_capacity;
    struct run_paper *paper;  /* --paper, or NULL */
    struct cc_lab_how shaped; /* the settings of the lab that is open */
    double latest_fp32_s;     /* measured step of fp32 in the setting that runs; NaN: none */
    struct cc_progress progress;
};

/* --- options --- */

int cc_run_options_parse(const struct cc_args *args, struct run_options *out, struct cc_error *e);
void cc_run_options_free(struct run_options *o);
/* What `model` predicts and nobody can run: CC_USAGE. */
int cc_run_refuse(const struct cc_args *args, const struct run_options *o, struct cc_error *e);

/* --- the plan --- */

int cc_run_plan(struct run *r, struct cc_error *e);
void cc_run_plan_free(struct run *r);
/* Ranks of a setting: workers, and servers if its exchange has any. */
int cc_run_ranks(const struct cc_setting *s);
/* Seconds for starting the ranks of a setting. */
double cc_run_start_s(const struct cc_setting *s);
/* Seconds of one of a row's steps, the first to warm up is 0. */
double cc_run_step_s(const struct run_row *row, size_t step);
/* Seconds of a row, warm-up included. */
double cc_run_row_s(const struct run_row *row);
/* --dry-run: a row for each row of the plan. */
int cc_run_dry(struct run *r, struct cc_error *e);

/* --- running --- */

/* Everything that the ranks need to know. Free with cc_job_free, also after an error if *out was
 * zeroed before. */
int cc_run_job(struct run *r, const struct run_setting *s, struct cc_job *out, struct cc_error *e);
/* All settings, one after the other. */
int cc_run_all(struct run *r, struct cc_error *e);

/* --- rows --- */

/* What was measured of a row, beside the model's answer. */
int cc_run_add_row(struct run *r, const struct run_setting *s, size_t row,
                   const struct cc_report_row *got, struct cc_error *e);
/* Under the rows of a setting, which begin at `first`; and under all of them. */
int cc_run_setting_notes(struct run *r, const struct run_setting *s, size_t first,
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
