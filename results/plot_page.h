/* The page of a figure: where its panels, texts and samples of lines stand. All lengths are in
 * points (1/72 inch), y goes upwards from the lower left corner. For results/ only. */
#ifndef CC_RESULTS_PLOT_PAGE_H
#define CC_RESULTS_PLOT_PAGE_H

#include "results/plot_impl.h"

/* --- metrics --- */

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

/* --- the plan --- */

enum cc_text_at { CC_AT_LEFT, CC_AT_CENTRE, CC_AT_RIGHT };

/* A line of text: x is its left end, centre or right end, y its middle; of an upright one, x its
 * middle and y its centre. Drawn with its panel. */
struct cc_page_text {
    char *text;
    double x, y, width;
    enum cc_text_at at;
    bool upright;
    size_t panel;
};

enum cc_stroke {
    CC_STROKE_LINE,      /* a series */
    CC_STROKE_LEADER,    /* from a point to its label */
    CC_STROKE_REFERENCE, /* the line to compare with */
    CC_STROKE_TOTAL,     /* a whole step */
    CC_STROKE_FRONT      /* the Pareto front */
};
struct cc_page_line {
    double x0, y0, x1, y1;
    enum cc_stroke stroke;
    size_t series; /* CC_STROKE_LINE: its style */
    size_t panel;
};

struct cc_page_mark {
    double x, y;
    size_t series; /* its style */
    bool part;     /* the style is that of a part, as of CC_MARKS */
};

struct cc_page_fill {
    double x0, y0, x1, y1;
    size_t part; /* its filling; CC_FILL_BAND: a tolerance */
};
#define CC_FILL_BAND SIZE_MAX

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
    struct cc_page_line *line;
    struct cc_page_mark *sample;
    struct cc_page_fill *fill;
    size_t texts, lines, samples, fills;
    size_t text_capacity, line_capacity, sample_capacity, fill_capacity;
};

/* Lays the figure out on the page. Where the page has a height, the font is made smaller, down to
 * CC_LEAST_FONT, until everything has its place. A usage error says how large the page has to be.
 * Release *out with cc_plan_free. */
#define CC_LEAST_FONT 4.5
int cc_plan_make(const struct cc_figure *f, const struct cc_page *page, struct cc_plan *out,
                 struct cc_error *e);
void cc_plan_free(struct cc_plan *p);

/* A rectangle that holds the text. */
struct cc_box {
    double left, bottom, right, top;
};
struct cc_box cc_plan_text_box(const struct cc_plan *p, const struct cc_page_text *t);

/* --- parts of the plan, for plot_plan.c --- */

/* Add to the plan. The text is copied, with blanks instead of control characters; text and width of
 * `t` are set here. */
int cc_plan_text(struct cc_plan *p, const char *text, const struct cc_page_text *t,
                 struct cc_error *e);
int cc_plan_line(struct cc_plan *p, const struct cc_page_line *l, struct cc_error *e);
int cc_plan_sample(struct cc_plan *p, const struct cc_page_mark *m, struct cc_error *e);
int cc_plan_fill(struct cc_plan *p, const struct cc_page_fill *r, struct cc_error *e);

/* The legend: beside the panels, below them, or none, as names stand at the points. */
enum cc_legend_place { CC_LEGEND_RIGHT, CC_LEGEND_BELOW, CC_LEGEND_PLACES };
/* How points of CC_LABELLED are named. */
enum cc_naming { CC_NAMED, CC_NUMBERED, CC_BY_MARKS, CC_NAMINGS };

struct cc_legend_entry {
    struct cc_text_lines name;
    enum {
        CC_OF_LINE,
        CC_OF_POINT,
        CC_OF_PART,
        CC_OF_MARK,
        CC_OF_BAND,
        CC_OF_TOTAL,
        CC_OF_FRONT,
        CC_OF_REFERENCE
    } sample;
    size_t number;
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
