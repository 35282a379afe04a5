/* Axes and labels of figures. For results/ only. */
#ifndef CC_RESULTS_PLOT_IMPL_H
#define CC_RESULTS_PLOT_IMPL_H

#include "results/plot.h"

/* Limits: more cannot be told apart. */
enum { CC_MOST_LINES = 24, CC_MOST_SERIES = 64 };

/* A measured column: a part of bars, or a panel of its own. */
struct cc_kind {
    enum cc_figure_shape shape;
    const char *title, *x;
    const char *series[2]; /* columns whose texts name a series; of several, those that differ */
    const char *panel;     /* a column by which rows go to panels besides the settings; or NULL */
    const char *measure[CC_MOST_PARTS + 1];               /* columns, ending with NULL */
    const char *low[CC_MOST_PARTS], *high[CC_MOST_PARTS]; /* columns of their quartiles; or NULL */
    const char *part[CC_MOST_PARTS];                      /* their names */
    size_t needed;    /* the number of the first ones that a plot needs; 0: all */
    const char *also; /* a column that is needed besides; or NULL */
    struct cc_axis x_axis, y_axis;
    double reference;
    bool lines_of_parts; /* each measure is a line, not a panel */
    bool own_axes;
    double x_scale, scale; /* factors on x and y; 0: 1 */
    const char *hint;      /* the remedy where there is nothing to plot */
};

/* The time for which the network is busy: what exceeds comm_s is hidden, and a part of its own. */
#define CC_BUSY_COLUMN "comm_busy_s"
#define CC_TIME_COLUMN "time_s"

/* A kind's columns and axes; those of trainings are over what `over` says. */
struct cc_kind cc_plot_describe(enum cc_plot_kind kind, enum cc_plot_over over,
                                const struct cc_sheet *s);
/* Whether a column is there and has a number in any row. */
bool cc_sheet_has_number(const struct cc_sheet *s, const char *key);
/* A row's number in a column; NaN without. */
double cc_sheet_number_or_nan(const struct cc_sheet *s, size_t row, const char *key);

/* Sorts the points of a line by group. Points of the same group become one, with their mean, lowest
 * and highest y, or, unless it averages, are reported as the rows *first and *second: false. */
bool cc_points_order(struct cc_points *p, bool averages, size_t *first, size_t *second);

/* Whether series are rows: CC_STACKED, CC_GROUPED, CC_MARKS. */
bool cc_figure_has_bars(const struct cc_figure *f);
/* Whether a step takes another time than the sum of its parts: they overlap, or workers wait. */
bool cc_figure_has_totals(const struct cc_figure *f);

/* The number of a panel's points. */
size_t cc_panel_points(const struct cc_figure *f, size_t panel);

/* Lines that coincide, within a hundredth of the axis: (*leader)[k] is the first series with the
 * line of series k, and (*style)[k] counts the different lines before it. Allocated for the caller.
 */
int cc_lines_group(const struct cc_figure *f, size_t **leader, size_t **style, struct cc_error *e);

/* Orders the series, and sets the ranges of the axes. */
void cc_figure_scale(struct cc_figure *f);

/* Chooses about `want` tics within the axis' range; returns their number. */
enum { CC_MOST_TICS = 64 };
size_t cc_axis_tics(const struct cc_axis *a, int want, double at[CC_MOST_TICS]);

/* The position of a value on the axis, from 0 to 1. */
double cc_axis_share(const struct cc_axis *a, double v);

/* Draws lines and points as text, for cc_plot_text. */
int cc_plot_chart(const struct cc_figure *f, int columns, int lines, FILE *out, struct cc_error *e);

/* Labels beside points. Lengths are in points; y goes upwards. */
struct cc_label {
    const char *text;
    double x, y;          /* the point; set by the caller */
    double width, height; /* the text's; set by the caller */
    double left, bottom;  /* the text's place; set by cc_labels_place */
    bool line;            /* the text is so far from its point that a line should join them */
    char number[24];      /* for a text of the caller's */
};

/* Where labels are placed: the area, the radius of points' marks, and a path of horizontal and
 * vertical lines that texts should not cover. */
struct cc_label_area {
    double width, height, radius;
    double (*path)[2];
    size_t path_count;
};

/* Places labels within the area so that they cover neither points nor each other, or as little of
 * them as possible, and so that each is nearest to its own point, or joined to it by a line. */
void cc_labels_place(struct cc_label *label, size_t count, const struct cc_label_area *area);

/* Whether they cover nothing: no text another text or a point, and no text leaves the area; no line
 * to a point crosses a text, another line or another point; and no text is nearer to another point
 * than to its own, or, if a line joins it to its own, beside another point. */
bool cc_labels_clear(const struct cc_label *label, size_t count, const struct cc_label_area *area);

/* The Pareto front of a panel: the points that no other is left of and above, in this order. There
 * is room for all points of the panel in `out`; returns how many they are. */
size_t cc_pareto_front(const struct cc_figure *f, size_t panel, struct cc_point *out);

#endif
