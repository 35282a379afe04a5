/* Papers' figures and tables: their set-ups, and their numbers beside. */
#ifndef CC_CMD_TRAIN_PAPERS_PAPERS_H
#define CC_CMD_TRAIN_PAPERS_PAPERS_H

#include "cmd/train/train.h"

/* --paper: sets the options of the figure that are not given, before they are parsed; NULL if it is
 * not given. */
int cc_train_paper_set(struct cc_args *args, const struct cc_train_figure **out,
                       struct cc_error *e);
/* Opens the paper's tables, and sets the proportion of computing to traffic, once the net is known.
 */
int cc_train_paper_open(struct cc_train *t, struct cc_error *e);
void cc_train_paper_free(struct cc_train *t);
/* The paper's numbers beside those of a summary: all four NaN if it has none, as for a training
 * that is shorter than the standard steps. */
struct cc_train_printed {
    double accuracy, difference, speedup, bits;
};
struct cc_train_printed cc_train_paper_printed(const struct cc_train *t, size_t variant,
                                               const struct cc_link *link);
int cc_train_paper_notes(const struct cc_train *t, struct cc_error *e);

/* --- the frameworks of Pipe-SGD's figures --- */

extern const struct cc_train_figure cc_train_pipe_figures[]; /* ends with one without a name */

/* Trains all of them, and adds their rows. */
int cc_train_frameworks(struct cc_args *args, const struct cc_train_figure *figure,
                        struct cc_error *e);
/* Opens the paper's table, and sets the time of computing, once the net is known. */
int cc_train_framework_open(struct cc_train *t, struct cc_error *e);
/* NULL without frameworks, as the two with which others are compared, whose first scheme is fp32.
 */
const char *cc_train_framework_name(const struct cc_train *t);
const struct cc_train *cc_train_ps_sync(const struct cc_train *t);
const struct cc_train *cc_train_d_sync(const struct cc_train *t);
/* The paper's accuracy. */
double cc_train_framework_accuracy(const struct cc_train *t, size_t variant);
int cc_train_framework_notes(const struct cc_train *t, struct cc_error *e);

/* --paper with this table: measures, and adds its rows (table.c). */
#define CC_TRAIN_TABLE "sparcml-table2"
int cc_train_table(struct cc_args *args, struct cc_error *e);

#endif
