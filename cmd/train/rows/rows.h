/* Rows, columns and notes of trainings. */
#ifndef CC_CMD_TRAIN_ROWS_ROWS_H
#define CC_CMD_TRAIN_ROWS_ROWS_H

#include "cmd/train/train.h"

/* The columns of the record. */
extern const struct cc_column cc_train_columns[];
/* Sets a row's column `clock`, and with it the origin of its times. */
int cc_train_put_clock(struct cc_record *r, size_t row, const char *clock, struct cc_error *e);

/* --trial: sets what a summary row of a variant has of it, whose pushes have so many bits for a
 * value; and says how many schemes keep fp32's accuracy. Without --trial both do nothing. */
int cc_train_put_trial(const struct cc_train *t, size_t row, size_t variant, double bits,
                       struct cc_error *e);
int cc_train_note_trial(const struct cc_train *t, struct cc_error *e);

/* Adds all rows: evaluations, then a summary of each variant; and the notes on them. */
int cc_train_rows(const struct cc_train *t, struct cc_error *e);
int cc_train_notes(const struct cc_train *t, struct cc_error *e);

#endif
