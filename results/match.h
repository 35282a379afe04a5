/* Matching the rows of two results by their settings. */
#ifndef CC_RESULTS_MATCH_H
#define CC_RESULTS_MATCH_H

#include <stddef.h>

#include "results/record.h"
#include "results/sheet.h"

/* The rows of two sheets that belong together. Columns are those of `columns`, the command's, which
 * both sheets have. */
struct cc_match {
    const struct cc_sheet *sheet[2];
    const struct cc_column *columns;
    size_t *at[2]; /* by column of the command: that of the sheet, or CC_NO_COLUMN */
    size_t *key;   /* the settings that tell rows apart, by index in `columns` */
    size_t key_count;
    size_t *partner; /* by row of the first sheet: the row of the second, or SIZE_MAX */
    size_t *alone;   /* rows of the second without a partner */
    size_t alone_count;
};

/* Finds the settings (CC_SETTING) that tell the rows of either sheet apart: in the order of the
 * columns, each that tells more of them apart than those before it. Rows with the same values of
 * these belong together; of several alike, the first ones, the second ones and so on. Release *out,
 * which is set on success only, with cc_match_free; the sheets must live as long. */
int cc_match_rows(const struct cc_sheet *a, const struct cc_sheet *b,
                  const struct cc_column *columns, struct cc_match *out, struct cc_error *e);
void cc_match_free(struct cc_match *m);

/* The value of a row of sheet 0 or 1 in a column of the command; NULL if the sheet lacks it. */
const struct cc_value *cc_match_value(const struct cc_match *m, int which, size_t row,
                                      size_t column);

#endif
