/* The parts of plots. For results/plot*.c only. */
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
/* A row's number in a column; NaN without, also without a key. */
double cc_sheet_number_or_nan(const struct cc_sheet *s, size_t row, const char *key);

/* Whether series are rows: CC_STACKED, CC_GROUPED, CC_MARKS. */
bool cc_figure_has_bars(const struct cc_figure *f);
/* Where the bar of a part goes: along x, and its upper edge and width beside it, in distances of
 * the series, counted upwards from the middle of its own. */
struct cc_bar {
    double from, to, top, width;
};
struct cc_bar cc_figure_bar(const struct cc_figure *f, const struct cc_points *of, size_t point);
/* Whether a step takes another time than the sum of its parts: they overlap, or workers wait. */
bool cc_figure_has_totals(const struct cc_figure *f);

/* A panel's x axis. */
const struct cc_axis *cc_panel_x(const struct cc_figure *f, const struct cc_panel *p);
/* The number of a panel's points. */
size_t cc_panel_points(const struct cc_figure *f, size_t panel);

/* Lines that coincide, within a hundredth of the axis: (*leader)[k] is the first series with the
 * line of series k, and (*style)[k] counts the different lines before it. Allocated for the caller.
 */
int cc_lines_group(const struct cc_figure *f, size_t **leader, size_t **style, struct cc_error *e);

/* The names of all series that have the line of series k, with commas between them; to be freed. */
char *cc_lines_name(const struct cc_figure *f, const size_t *leader, size_t k, struct cc_error *e);

/* Orders the series, and sets the ranges of the axes. */
void cc_figure_scale(struct cc_figure *f);

/* Chooses about `want` tics within the axis' range; returns their number. */
enum { CC_MOST_TICS = 64 };
size_t cc_axis_tics(const struct cc_axis *a, int want, double at[CC_MOST_TICS]);

/* The position of a value on the axis, from 0 to 1. */
double cc_axis_share(const struct cc_axis *a, double v);

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

/* --- a figure in the making: its sheet, columns and filter --- */

enum { CC_MOST_SETTINGS = 32 };

struct cc_maker {
    const struct cc_sheet *s;
    const struct cc_kind *kind;
    const struct cc_plot_filter *filter;
    struct cc_figure *f;
    /* Columns, or CC_NO_COLUMN: */
    size_t series[2], x, measure[CC_MOST_PARTS], also, training_row;
    size_t measures;
    const char *low[CC_MOST_PARTS], *high[CC_MOST_PARTS]; /* keys, or NULL */
    /* The largest rows, or the highest lines, alone are drawn, where there are more than can be
     * told apart: */
    struct {
        size_t of;    /* rows or lines; 0: all are drawn */
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

/* Appends to a series' name, in one panel for all: the local steps, if rows differ in them, and the
 * settings that it takes to tell the row from others with the same name. */
void cc_maker_tell_apart(const struct cc_maker *m, size_t row, char *name, size_t cap);

/* Prints the settings of a row in which panels differ (`apart`), or those that all rows share. */
void cc_maker_describe(const struct cc_maker *m, size_t row, bool apart, char *text, size_t cap);

/* --- the page of a figure: where its panels, texts and samples of lines stand ---
 *
 * All lengths are in points (1/72 inch), y goes upwards from the lower left corner. */

/* The width of a text in a font ("" or NULL: the default one); an upper bound for most fonts. */
double cc_text_width(const char *text, const char *font, double size);

/* A text broken into lines, none of which is wider than a given width. */
enum { CC_MOST_TEXT_LINES = 12 };
struct cc_text_lines {
    char *line[CC_MOST_TEXT_LINES];
    size_t count;
    double width; /* the widest line's */
};
/* Breaks at blanks, and within words that do not fit. Text that would need a further line is left
 * out. Release *out with cc_text_lines_free, also after an error. */
int cc_text_break(const char *text, const char *font, double size, double width,
                  struct cc_text_lines *out, struct cc_error *e);
void cc_text_lines_free(struct cc_text_lines *l);

/* The height of a line of text, and the distance of lines, relative to the font's size. */
#define CC_TEXT_HEIGHT 1.2
#define CC_LINE_HEIGHT 1.25

enum cc_text_at { CC_AT_LEFT, CC_AT_CENTRE, CC_AT_RIGHT, CC_UPRIGHT };

/* A line of text: x is its left end, centre or right end, y its middle; of an upright one, x its
 * middle and y its centre. Drawn with its panel. */
struct cc_page_text {
    char *text;
    double x, y, width;
    enum cc_text_at at;
    size_t panel;
};

/* A line, a mark or a filled rectangle, drawn with its panel. */
enum cc_shape_kind {
    CC_SHAPE_LINE,      /* a series */
    CC_SHAPE_LEADER,    /* from a point to its label */
    CC_SHAPE_REFERENCE, /* the line to compare with */
    CC_SHAPE_TOTAL,     /* a whole step */
    CC_SHAPE_FRONT,     /* the Pareto front */
    CC_SHAPE_POINT,     /* the mark of a series */
    CC_SHAPE_MARK,      /* the mark of a part, as of CC_MARKS */
    CC_SHAPE_PART,      /* the filling of a part */
    CC_SHAPE_BAND       /* the filling of a tolerance */
};
struct cc_page_shape {
    enum cc_shape_kind kind;
    size_t number;         /* the series or part that it is like */
    double x0, y0, x1, y1; /* ends or corners; a mark is at x0, y0 */
    size_t panel;
};

struct cc_tics {
    double at[CC_MOST_TICS];
    size_t count;
};

struct cc_area {
    double left, bottom;
    struct cc_axis x;
    struct cc_tics x_tics;
};

struct cc_plan {
    double width, height, font_size;
    const char *font;               /* NULL: the default */
    double area_width, area_height; /* each panel's, within its axes */
    struct cc_area *area;           /* [panels] */
    size_t panels, columns, rows;
    struct cc_tics y_tics;
    bool values; /* bars have their values beside them */
    double mark; /* the radius of points' marks */

    size_t *leader; /* by series: the first one with the same line */
    size_t *style;  /* by series: the number of its line's style */

    struct cc_page_text *text;
    struct cc_page_shape *shape;
    size_t texts, text_capacity, shapes, shape_capacity;
};

/* Lays the figure out on the page. Where the page has a height, the font is made smaller, down to
 * CC_LEAST_FONT, until everything has its place. A usage error says how large the page has to be.
 * Release *out with cc_plan_free. */
#define CC_LEAST_FONT 4.5
int cc_plan_make(const struct cc_figure *f, const struct cc_page *page, struct cc_plan *out,
                 struct cc_error *e);
void cc_plan_free(struct cc_plan *p);

/* Add to the plan. The text is copied, with blanks instead of control characters. */
int cc_plan_text(struct cc_plan *p, const char *text, double x, double y, enum cc_text_at at,
                 size_t panel, struct cc_error *e);
int cc_plan_shape(struct cc_plan *p, struct cc_page_shape shape, struct cc_error *e);

/* The legend: beside the panels, below them, or none, as names stand at the points. */
enum cc_legend_place { CC_LEGEND_RIGHT, CC_LEGEND_BELOW };
/* How points of CC_LABELLED are named. */
enum cc_naming { CC_NAMED, CC_NUMBERED, CC_BY_MARKS, CC_NAMINGS };

struct cc_legend_entry {
    struct cc_text_lines name;
    enum cc_shape_kind sample;
    size_t number; /* number of the series or part */
};
struct cc_legend {
    struct cc_legend_entry *entry;
    size_t entries;
    enum cc_legend_place place;
    size_t columns, rows; /* CC_LEGEND_BELOW: */
    double width, height; /* the whole page's */
    double column_width;
};
/* Arranges the legend for a page of this width. Release *out with cc_legend_free. */
int cc_legend_make(const struct cc_figure *f, const struct cc_plan *p, enum cc_legend_place place,
                   enum cc_naming naming, double width, struct cc_legend *out, struct cc_error *e);
/* Adds its texts and samples to the plan. */
int cc_legend_put(const struct cc_legend *l, struct cc_plan *p, double left, double top,
                  struct cc_error *e);
void cc_legend_free(struct cc_legend *l);

/* Bars: the middle of the bar `bar` (a whole number: that of a series) of a panel; the x axes,
 * which leave room for the values beside the bars, and whether there are any; the values. */
double cc_plan_bar_y(const struct cc_figure *f, const struct cc_plan *p, size_t panel, double bar);
void cc_plan_bar_axes(const struct cc_figure *f, struct cc_plan *p);
int cc_plan_bar_values(const struct cc_figure *f, struct cc_plan *p, size_t panel,
                       struct cc_error *e);

/* Names the points of a panel in the way `naming`, and sets *clear to whether no name covers
 * another or a point, leaves the panel, or is crossed by a line to another's point. */
int cc_plan_names(const struct cc_figure *f, struct cc_plan *p, size_t panel, enum cc_naming naming,
                  bool *clear, struct cc_error *e);

/* The text of a tic or of a value beside a bar: all on an axis with the same unit and decimals. */
struct cc_number_format {
    double scale;     /* factor on the numbers */
    int decimals;     /* -1: each its own, with its own prefix */
    const char *unit; /* the unit in the axis' label, or "" */
};
struct cc_number_format cc_axis_format(const struct cc_axis *a, double least);
void cc_axis_number(const struct cc_axis *a, const struct cc_number_format *n, double v,
                    char text[64]);
/* As many tics as have room for their texts: within `length`, beside each other or upwards. */
void cc_axis_choose(const struct cc_axis *a, double exact, double length, bool upwards,
                    const struct cc_plan *p, struct cc_tics *out);
/* The middle of a tic's text of this size along an axis: at the tic, or as near as it can be where
 * texts reach at most `beyond` past the axis' ends. */
double cc_tic_middle(const struct cc_axis *a, double tic, double size, double length,
                     double beyond);
#define CC_TICS_BEYOND 0.6 /* the gap of texts side by side, relative to the font's size */
/* The text of a tic. */
void cc_tic_text(const struct cc_axis *a, double exact, double v, char text[64]);

#endif
