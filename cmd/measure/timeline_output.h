/* --timeline: the events that ranks report, as a file for trace viewers. */
#ifndef CC_CMD_MEASURE_TIMELINE_OUTPUT_H
#define CC_CMD_MEASURE_TIMELINE_OUTPUT_H

#include "cmd/measure/experiment.h"
#include "results/timeline.h"

struct cc_timeline_output {
    struct cc_given given;
    const char *path;         /* NULL: not asked for, and nothing happens */
    struct cc_timeline *file; /* or NULL */
    char config[100];         /* "sim, alpha-beta": part of the rows' names */
    size_t rows;              /* in the file */
};
extern const struct cc_option cc_timeline_options[];

/* Creates the file if the options ask for it, before anything is measured. `config` may be replaced
 * until the first row. */
int cc_timeline_output_open(struct cc_timeline_output *t, const struct cc_args *args, bool dry_run,
                            const char *config, struct cc_error *e);
/* Adds the events of a rank in a row of a setting; ranks come in order. x->timeline must be set. */
int cc_timeline_output_add(const struct cc_experiment *x,
                           const struct cc_experiment_setting *setting,
                           const struct cc_report_events *events, struct cc_error *e);
/* Completes the file with the rows that it has, also after an error or an interrupt; without rows,
 * there will be no file. Notes its size in the record. Returns `status`, or an error of the file.
 */
int cc_timeline_output_close(struct cc_timeline_output *t, struct cc_record *record, int status,
                             struct cc_error *e);

#endif
