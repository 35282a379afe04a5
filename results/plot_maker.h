/* A figure in the making: its sheet, columns and filter. For results/plot*.c only. */
#ifndef CC_RESULTS_PLOT_MAKER_H
#define CC_RESULTS_PLOT_MAKER_H

#include "results/plot_impl.h"

enum { CC_MOST_SETTINGS = 32 };

struct cc_maker {
    const struct cc_sheet *s;
    const struct cc_kind *kind;
    const struct cc_plot_filter *filter;
    struct cc_figure *f;
    /* Columns, or CC_NO_COLUMN: */
    size_t series[2], x, measure[CC_MOST_PARTS], low[CC_MOST_PARTS], high[CC_MOST_PARTS], also;
    size_t training_row, tolerance;
    size_t measures;
    /* The largest rows alone are drawn, where there are more than can be told apart: */
    struct {
        size_t of;    /* rows; 0: all are drawn */
        double least; /* number of values of the last one kept, */
        size_t row;   /* and its row */
    } largest;
    size_t setting[CC_MOST_SETTINGS]; /* columns, or CC_NO_COLUMN */
    struct cc_error *e;
};

/* Finds the columns of the settings by which rows may differ besides scheme and x. */
void cc_maker_find_settings(struct cc_maker *m);

/* Whether the filter keeps a row, and the row is of those that the kind draws. */
bool cc_maker_keeps(const struct cc_maker *m, size_t row);

/* Keeps the nets or tensors with the most values, where all are too many bars or marks. */
int cc_maker_keep_largest(struct cc_maker *m);

/* Whether two rows belong into the same panel: they agree in all settings that tell panels apart.
 */
bool cc_maker_same_panel(const struct cc_maker *m, size_t a, size_t b);

/* Prints the settings of a row in which panels differ (`apart`), or those that all rows share. */
void cc_maker_describe(const struct cc_maker *m, size_t row, bool apart, char *text, size_t cap);

#endif
