/* Published tables: the figures as printed, and a formula's result for each. The data are
 * models/papers/NAME.json, linked into the program; docs/papers.md describes their form and lists
 * the assumptions of each table. */
#ifndef CC_MODELS_PAPER_PAPER_H
#define CC_MODELS_PAPER_PAPER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "models/exchange.h"
#include "models/net.h"

#define CC_PAPER_SCHEMA "commcomp-paper/1"

/* A number that a formula looks up by its name: in the row, then the column, then the constants. */
struct cc_paper_input {
    const char *name;
    double value;
};
struct cc_paper_inputs {
    struct cc_paper_input *item;
    size_t count;
};

struct cc_paper_column {
    const char *name;     /* "10 Mbps" */
    const char *quantity; /* "speedup", "ratio", "bits", ... */
    const char *unit;     /* "" if none */
    bool fit;             /* whether constants are fitted to its figures */
    struct cc_paper_inputs inputs;
};

struct cc_paper_row {
    const char *name;   /* as the paper has it: "8-bit int" */
    const char *scheme; /* commcomp's name of it, canonical; NULL: none, or several */
    const char *system; /* a measured system's, as --system has it; or NULL */
    const char *cause;  /* why the model is far off; or NULL */
    struct cc_net *net; /* NULL if the formula needs none */
    struct cc_paper_inputs inputs;
    bool fit;        /* whether constants are fitted to its figures */
    double accuracy; /* as printed, in percent; NaN: none */
    double *figure;  /* by column: as printed; NaN where the table has none */
    bool *ours;      /* by column: the paper prints no figure, and the model's is shown alone */
    double *model;   /* by column: ours, after cc_paper_solve; NaN before, and where neither is */
};

enum cc_paper_origin { CC_GIVEN, CC_ASSUMED, CC_MEASURED, CC_FITTED };
extern const char *const cc_paper_origins[];

/* A constant of the formula. */
struct cc_paper_constant {
    const char *name, *unit, *source; /* source: where it comes from, or what it stands for */
    enum cc_paper_origin origin;
    double value;     /* set by cc_paper_solve if it is fitted */
    double min, max;  /* fitted: it is looked for between these */
    bool by_hand;     /* fitted: it has its value, as least squares do not find it */
    double deviation; /* fitted: its standard deviation */
};

struct cc_paper {
    void *json; /* owns all texts */
    char *file; /* where it was read from; NULL: not from a file */
    const char *id, *paper, *reference, *place, *caption;
    bool held_out;                    /* measured systems by which no constant was chosen */
    double baseline_accuracy;         /* accuracy of the row that is the others' unit; NaN: none */
    const char *formula;              /* name of one of the program's */
    const char *model;                /* a description of the formula */
    const char **assumption, **limit; /* limits: figures that are not reproduced, and why */
    size_t assumptions, limits;
    struct cc_paper_constant *constant;
    struct cc_paper_column *column;
    struct cc_paper_row *row;
    size_t constants, columns, rows;
    /* after cc_paper_solve, over all figures: error = model / figure - 1 */
    size_t figures, fitted; /* fitted: constants */
    double rms_error, worst_error;
};

/* A built-in table by its name, or a .json file; an unknown name is CC_USAGE, with the nearest. */
int cc_paper_open(const char *name, struct cc_paper **out, struct cc_error *e);

/* From JSON text, strictly. Any bytes either parse or give an error. Free with cc_paper_free. */
int cc_paper_parse(const char *text, size_t length, struct cc_paper **out, struct cc_error *e);
void cc_paper_free(struct cc_paper *p);

/* Checks that the formula knows all names and quantities and takes all numbers, fits the constants
 * that are to be fitted, by least squares of log(model / figure), and fills in `model`. CC_FAIL,
 * naming the file and the place, if any of this is impossible. */
int cc_paper_solve(struct cc_paper *p, struct cc_error *e);

/* The time of SparCML's exchange of n values by the formulas of its section 4.1 as printed: of
 * `pairs` non-zeros of each worker at uniform indices, or of dense values if there are none. The
 * baseline is Rabenseifner's allreduce. */
double cc_paper_sparcml_s(enum cc_exchange x, int workers, const struct cc_link *link, double n,
                          double pairs);

/* Tables whose figures are the first points of a grid from which on something holds: how many of
 * the model's are the same point, and how many that or a neighbour. False of other tables. */
#define CC_PAPER_UTILIZATION "utilization" /* their formula */
bool cc_paper_on_grid(const struct cc_paper *p, size_t *equal, size_t *near);

/* The value of a constant that the table has. */
double cc_paper_constant_value(const struct cc_paper *p, const char *name);

/* The row about the scheme of that canonical name; NULL: none. */
const struct cc_paper_row *cc_paper_row_of(const struct cc_paper *p, const char *scheme);

/* The figure of the row about a scheme in the column of that quantity whose only input, as the
 * bandwidth in Mbit/s, is this; NaN for columns without inputs. NaN if the table has none. */
double cc_paper_figure(const struct cc_paper *p, const char *scheme, const char *quantity,
                       double input);

/* The built-in tables' names, ending with NULL. */
extern const char *const cc_paper_names[];

#endif
