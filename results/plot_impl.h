/* Inside plots. For results/ only. */
#ifndef CC_RESULTS_PLOT_IMPL_H
#define CC_RESULTS_PLOT_IMPL_H

#include "results/plot.h"

/* More than this nobody can tell apart. */
enum { CC_MOST_LINES = 24, CC_MOST_SERIES = 48 };

/* Orders the series, and sets the ranges of the axes. */
void cc_figure_scale(struct cc_figure *f);

/* About `want` places for tics inside the axis' range, and how many there are. */
enum { CC_MOST_TICS = 64 };
size_t cc_axis_tics(const struct cc_axis *a, int want, double at[CC_MOST_TICS]);

/* Where on the axis, from 0 to 1. */
double cc_axis_share(const struct cc_axis *a, double v);

/* Labels beside points. Lengths are in pixels, or characters on a terminal; y goes upwards. */
struct cc_label {
    const char *text;
    double x, y;          /* the point; set by the caller */
    double width, height; /* of the text; set by the caller */
    double left, bottom;  /* where the text goes */
    bool line;            /* it is so far away that a line should lead to it */
};

/* Finds places where labels cover neither points nor each other, nor leave the area; where there
 * is none, the one that covers least. `radius` is that of a point's mark. */
void cc_labels_place(struct cc_label *label, size_t count, double area_width, double area_height,
                     double radius);

#endif
