/* Plots of results: a sheet becomes a figure, and a figure a script for gnuplot that contains its
 * data, or bars of text. */
#ifndef CC_RESULTS_PLOT_H
#define CC_RESULTS_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/error.h"
#include "results/sheet.h"

/* K(ID, name, help): CC_PLOT_ID is the constant; help: a few words after the name in --help. */
/* clang-format off */
#define CC_PLOT_KIND_LIST(K)                                                                       \
    K(SPEEDUP, "speedup", "against bandwidth")                                                     \
    K(STEP, "step", "the parts of its time, hidden communication among them")                      \
    K(ERROR, "error", "size against error")                                                        \
    K(WORKERS, "workers", "scaling")                                                               \
    K(ROOFLINE, "roofline", "codec speed over the memory's limit")                                 \
    K(SIZE, "size", "codec speed against tensor size")                                             \
    K(ACCURACY, "accuracy", "of trainings, over steps, bytes or time (--over)")                    \
    K(LOSS, "loss", "the same")                                                                    \
    K(TRAIN_LOSS, "train-loss", "the same, on the batches")                                        \
    K(BITS, "bits", "of trainings, per value of pushes and pulls")                                 \
    K(VALIDATE, "validate", "model, sim and run beside each other")                                \
    K(UTILIZATION, "utilization", "of computing over bandwidth, with local steps")                 \
    K(TIMELINE, "timeline", "computing and links over time, of a file of --timeline")              \
    K(THROUGHPUT, "throughput", "bits per second on links over time, of such a file")              \
    K(PAPER, "paper", "published figures and the model's")                                         \
    K(PAPERS, "papers", "the errors of published tables")                                          \
    K(COMPARE, "compare", "ratios of two results")                                                 \
    K(BANDWIDTH, "bandwidth", "of an exchange against size")                                       \
    K(DENSITY, "density", "time of an exchange against the share of non-zeros")                    \
    K(LINK, "link", "time against message size")                                                   \
    K(RATIO, "ratio", "of the bytes")                                                              \
    K(NETS, "nets", "their sizes")
/* clang-format on */
#define CC_PLOT_ID(id, name, help) CC_PLOT_##id,
enum cc_plot_kind { CC_PLOT_KIND_LIST(CC_PLOT_ID) CC_PLOT_KINDS };
extern const char *const cc_plot_kind_names[]; /* ends with NULL */

/* Whether a kind is of trainings. */
bool cc_plot_is_training(enum cc_plot_kind kind);

/* The x axis of trainings. */
enum cc_plot_over { CC_OVER_STEPS, CC_OVER_BYTES, CC_OVER_TIME };
extern const char *const cc_plot_over_names[]; /* ends with NULL */

/* The rows to plot, where NULL and 0 select all, and the x axis of trainings. */
struct cc_plot_filter {
    const char *const *schemes; /* canonical names */
    size_t scheme_count;
    const char *exchange;
    double bw_bps, workers;
    enum cc_plot_over over;
    bool one_panel; /* lines of all settings in one panel, named by the settings that tell them
                       apart */
};

/* Columns that one plot shows: parts of bars, marks of a row, lines or panels. */
enum { CC_MOST_PARTS = 4 };

enum cc_figure_shape {
    CC_LINES,
    CC_LABELLED, /* points with their names */
    CC_STACKED,  /* a bar for each series, its points one after the other */
    CC_GROUPED,  /* a bar for each point, in groups by series */
    CC_MARKS     /* a row for each series, with a mark for each point */
};

/* Bars and marks have the number of the part (0, 1, ...) in x, and the value in y. */
struct cc_point {
    double x, y;
    double lo, hi; /* the lowest and highest y of the rows whose mean the point is, or quartiles */
    double group;  /* rows of a line with the same group are one point: x, of trainings the step */
    size_t row;    /* its number in the sheet */
};

struct cc_points {
    struct cc_point *point;
    size_t count, capacity;
    double total; /* CC_STACKED: the step's time if it is not the sum of the parts; else NaN */
    double band_lo, band_hi; /* CC_MARKS: the tolerance; NaN without */
};

struct cc_axis {
    const char *label;
    const char *unit; /* takes SI prefixes: "bit/s", "s"; "" for plain numbers, "#" for counts */
    bool log;
    int base;      /* base of the log tics: 10 or 2 */
    double lo, hi; /* the range shown */
    double only;   /* the value of all points, which is the only tic; 0: they differ */
    double most;   /* the largest `hi` of axes with one label, whose unit they share; 0: hi */
};

/* Rows that differ in more than the scheme and x have panels of their own. */
struct cc_panel {
    char *title;          /* the settings of its rows; empty if there is only one panel */
    struct cc_points *of; /* [series], perhaps without points */
    size_t first_row;     /* one of its rows */
    const char *measure;  /* the panel's y if panels differ in it; else NULL */
    struct cc_axis x;     /* if panels have axes of their own: see cc_panel_x */
};

struct cc_figure {
    enum cc_plot_kind kind;
    enum cc_figure_shape shape;
    bool bands;    /* lines have the band of their points' lo and hi */
    bool whiskers; /* or their points lines from lo to hi */
    bool own_axes; /* each panel has its own x axis */
    char *title;
    char **series; /* names of the schemes, in the order of the legend */
    size_t series_count, series_capacity;
    struct cc_panel *panel;
    size_t panels, panel_capacity;
    const char *part[CC_MOST_PARTS]; /* names of the parts */
    size_t parts;
    struct cc_axis x, y;
    double exact;     /* CC_LABELLED: errors up to here are drawn at the left end; 0: none */
    double reference; /* a line to compare with: y = 1, or y = x (workers); 0: none */
    char band[64];    /* CC_MARKS: what the bands are, for the legend; empty without */
    size_t left_out;  /* rows without the numbers */
};

/* The first kind whose columns the sheet has; an error that names the columns of each kind if none.
 */
int cc_plot_guess(const struct cc_sheet *s, enum cc_plot_kind *out, struct cc_error *e);

/* Fails if a column is missing, a field is not a number, no row is left to plot, or there are too
 * many series or panels to read. *out is set on success only; release it with cc_figure_free. */
int cc_figure_make(const struct cc_sheet *s, enum cc_plot_kind kind,
                   const struct cc_plot_filter *filter, struct cc_figure *out, struct cc_error *e);
void cc_figure_free(struct cc_figure *f);

/* --- drawing --- */

/* The page of a picture, and its width where nothing else is asked for. */
#define CC_PAGE_WIDTH (7 * 72.0)
struct cc_page {
    double width, height; /* in points, 1/72 inch; height 0: as its content needs */
    const char *font;     /* a family; NULL: the default one */
    double font_size;     /* in points; 0: by the page's size */
    double dpi;           /* for "png" */
    bool no_title;
    size_t columns; /* panels in a row; 0: by the page's width */
};

/* The output of gnuplot. */
struct cc_canvas {
    const char *terminal; /* "svg", "png", "pdf", "eps" or "tex" */
    struct cc_page page;
    const char *output; /* NULL: gnuplot's standard output; "tex" needs a file */
    /* Writes what comes before a panel's lines or bars, such as the invisible marks of cc_plot_svg;
     * or NULL. */
    void (*before)(const struct cc_figure *f, size_t panel, FILE *out);
};

/* Writes a script that contains its data. Names are quoted, so no name can be a command of gnuplot.
 * A usage error says where the page is too small. */
int cc_plot_script(const struct cc_figure *f, const struct cc_canvas *canvas, FILE *out,
                   struct cc_error *e);

/* Draws a figure as text, without gnuplot, `columns` wide; lines and points also about `lines`
 * high.
 */
int cc_plot_text(const struct cc_figure *f, int columns, int lines, FILE *out, struct cc_error *e);

/* Runs gnuplot on a script, without a shell and without the user's settings; its output is written
 * to the stream `out`. As for the functions above, the caller looks whether writes failed. */
int cc_gnuplot_run(FILE *script, FILE *out, struct cc_error *e);
/* Both: draws a figure by gnuplot. */
int cc_plot_draw(const struct cc_figure *f, const struct cc_canvas *canvas, FILE *out,
                 struct cc_error *e);

/* Draws a figure for LaTeX: `path`, which ends in .tex and is put into a document by \\input, and
 * beside it a .pdf that it includes; both whole, the .pdf first. The document needs the packages
 * graphicx and color. A usage error for a name that LaTeX could not include. */
int cc_plot_tex(const struct cc_figure *f, const struct cc_page *page, const char *path,
                struct cc_error *e);

/* Writes the default picture of a result, of the kind that cc_plot_guess finds, as an <svg> element
 * to be put into a page of HTML: without an XML declaration; its identifiers begin with `prefix`
 * and a hyphen, so that several can stand in one page. Each value is a <g class="value"> with an
 * invisible mark and a <title> that a browser shows where one points at it; of more than 1,200,
 * some are. Fails as cc_plot_guess, cc_figure_make and cc_gnuplot_run do, and has written nothing
 * then. */
int cc_plot_svg(const struct cc_sheet *s, const char *prefix, FILE *out, struct cc_error *e);

#endif
