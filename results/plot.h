/* Plots of a record: a gnuplot script that carries its data, and gnuplot to draw it. */
#ifndef CC_RESULTS_PLOT_H
#define CC_RESULTS_PLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "core/error.h"
#include "results/record.h"

/* What to plot, by the columns' keys. Axes are labelled with the columns' head and unit, and have
 * the columns' scale. Nulls are left out. */
struct cc_plot {
    const char *title;  /* NULL: none */
    const char *y;      /* numbers */
    const char *x;      /* numbers; NULL: bars, one for each row */
    const char *series; /* what the bars are called; or a line for each value of it (NULL: one) */
    bool log_x, log_y;
};

/* Writes a script that draws into the file `image`, which ends in .png or .svg. Fails when a key is
 * unknown or there is nothing to plot. */
int cc_plot_script(const struct cc_record *r, const struct cc_plot *p, const char *image, FILE *out,
                   struct cc_error *e);

/* Runs gnuplot on a script's file, and waits for it. */
int cc_plot_draw(const char *script, struct cc_error *e);

#endif
