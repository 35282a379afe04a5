/* Axes and labels of figures. For results/ only. */
#ifndef CC_RESULTS_PLOT_IMPL_H
#define CC_RESULTS_PLOT_IMPL_H

#include "results/plot.h"

/* Limits: more cannot be told apart. */
enum { CC_MOST_LINES = 24, CC_MOST_SERIES = 48 };

/* Orders the series, and sets the ranges of the axes. */
void cc_figure_scale(struct cc_figure *f);

/* Chooses about `want` tics within the axis' range; returns their number. */
enum { CC_MOST_TICS = 64 };
size_t cc_axis_tics(const struct cc_axis *a, int want, double at[CC_MOST_TICS]);

/* The position of a value on the axis, from 0 to 1. */
double cc_axis_share(const struct cc_axis *a, double v);

/* Labels beside points. Lengths are in pixels, or characters on a terminal; y goes upwards. */
struct cc_label {
    const char *text;
    double x, y;          /* the point; set by the caller */
    double width, height; /* of the text; set by the caller */
    double left, bottom;  /* the text's place; set by cc_labels_place */
    bool line;            /* the text is so far from its point that a line should join them */
};

/* Places labels within the area so that they cover neither points nor each other, or as little of
 * them as possible, and so that each is nearest to its own point, or joined to it by a line, where
 * the caller draws `lines`. `radius` is that of a point's mark. */
void cc_labels_place(struct cc_label *label, size_t count, double area_width, double area_height,
                     double radius, bool lines);

#endif
