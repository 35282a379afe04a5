/* Papers' figures and tables: what no option of a recipe says. */
#ifndef CC_CMD_TRAIN_PAPERS_PAPERS_H
#define CC_CMD_TRAIN_PAPERS_PAPERS_H

#include "cmd/train/train.h"

/* Sets the time of computing by that of fp32's traffic, as the recipe has it, once the net is
 * known. */
int cc_train_paper_open(struct cc_train *t, struct cc_error *e);
void cc_train_paper_free(struct cc_train *t);
/* The recipe's notes, and one on the time of computing. */
int cc_train_paper_notes(const struct cc_train *t, struct cc_error *e);

/* --- the frameworks of Pipe-SGD's figures --- */

/* Trains all of them, and adds their rows. */
int cc_train_frameworks(struct cc_args *args, struct cc_error *e);

/* --- passes of SparCML's Table 2 --- */

/* Measures, and adds its rows (passes.c). */
int cc_train_passes(struct cc_args *args, struct cc_error *e);

#endif
