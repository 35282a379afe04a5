/* --timeline: what the ranks report of what they did when, as a file. */
#ifndef CC_CMD_MEASURE_TIMELINE_OUTPUT_H
#define CC_CMD_MEASURE_TIMELINE_OUTPUT_H

#include "cmd/measure/experiment.h"
#include "results/timeline.h"

#define CC_TIMELINE_OPTION                                                                         \
    {                                                                                              \
        .name = "timeline", .value = "FILE", .file = CC_WRITES_FILE,                               \
        .help = "write what every rank did when, for ui.perfetto.dev or chrome://tracing "         \
                "(docs/timeline.md)"                                                               \
    }

struct cc_timeline_output {
    const char *path; /* NULL: nobody asks, and nothing happens */
    struct cc_timeline *file;
    const char *config; /* "sim, alpha-beta": part of the rows' names */
    size_t rows;        /* that are in it */
};

/* Creates the file if the options ask for it: before anything is measured. `how` may be written
 * until there are rows. */
int cc_timeline_output_open(struct cc_timeline_output *s, const struct cc_args *args,
                            const char *config, struct cc_error *e);
/* Lets the jobs of a plan ask for moments, if there is a file for them. */
void cc_timeline_output_follow(struct cc_timeline_output *s, struct cc_experiment *p);
/* Of a rank in a row of a setting, rank after rank. p->story must be there. */
int cc_timeline_output_take(const struct cc_experiment *p,
                            const struct cc_experiment_setting *setting,
                            const struct cc_report_events *m, struct cc_error *e);
/* Completes the file with what there is, also after an error or an interrupt; none if there is
 * nothing. Returns `status`, or what went wrong with the file. */
int cc_timeline_output_close(struct cc_timeline_output *s, struct cc_record *record, int status,
                             struct cc_error *e);

#endif
