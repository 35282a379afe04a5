/* The inventory of papers: every table, figure and theorem of the five papers that the program is
 * about, the figures that each prints, and ours beside them. The data are
 * models/papers/inventory.json, linked into the program; docs/papers.md describes their form.
 *
 * A figure is reproduced where ours is within CC_REPRODUCED of the paper's, or where the intervals
 * of both meet. An item is reproduced (R) if all its figures are, partly (P) if some are, and not
 * (-) otherwise, also without figures. Figures of a published table (models/paper/paper.h) are
 * computed anew by cc_inventory_solve; the others are kept from trainings and simulations, with the
 * day, version and machine of these. */
#ifndef CC_MODELS_PAPER_INVENTORY_H
#define CC_MODELS_PAPER_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

#define CC_INVENTORY_SCHEMA "commcomp-inventory/1"

/* The relative error up to which a figure counts as reproduced. */
#define CC_REPRODUCED 0.1

enum cc_reproduced { CC_REPRODUCED_ALL, CC_REPRODUCED_PARTLY, CC_REPRODUCED_NOT };
extern const char *const cc_reproduced_words[]; /* "R", "P", "-"; ends with NULL */

/* How the cause of a difference is known: by an experiment, which changes one thing and trains,
 * simulates or measures; by a formula, or as the paper's own figures contradict each other; by
 * argument alone, also where the paper has nothing to compute; or not at all, in part or whole. */
enum cc_shown_by { CC_SHOWN_EXPERIMENT, CC_SHOWN_FORMULA, CC_SHOWN_ARGUMENT, CC_SHOWN_OPEN };
extern const char *const cc_shown_words[]; /* "experiment", ...; ends with NULL */

/* A figure. NaN: the paper prints no single figure, only an interval; an interval's end is not
 * known, or is open. At least one of `published`, `published_low` and `published_high` is known. A
 * statement of a text has published 1, and ours 1 if it holds, otherwise 0. */
struct cc_inventory_figure {
    const char *name, *column, *unit; /* column: of a table; NULL if none. unit: "" if none */
    double published, published_low, published_high;
    double ours, low, high;
    bool statement;
    /* after cc_inventory_solve: */
    bool reproduced;
    double nearest; /* what is published; of an interval, the value nearest to ours; or the bound */
    double error;   /* (ours - nearest) / |nearest|; NaN for a statement, where nearest is 0, within
                     * a bound, and of points, which are differences themselves */
};

/* Where kept figures come from. */
struct cc_inventory_kept {
    const char *name, *on, *version, *machine; /* on: a day, 2026-11-28 */
};

/* A line of the inventory. */
struct cc_inventory_item {
    const char *paper, *item;
    const char *command;       /* "commcomp ..."; NULL: there is none */
    const char *cause;         /* why figures are not reproduced; NULL where all are */
    enum cc_shown_by shown_by; /* where there is a cause */
    const char *changes;       /* the item whose figures this one repeats with a change, or NULL */
    const char *table;         /* a published table's name, or NULL */
    const char **quantity;
    size_t quantities; /* of the table, its columns of these quantities; 0: all */
    double takes_s;    /* time of the command; NaN: not known, or at once */
    /* The kept results of figures that are not a table's; else NULL: */
    const struct cc_inventory_kept *kept;
    const char *how; /* how they were obtained: an origin's word (results/key.h) */
    struct cc_inventory_figure *figure;
    size_t figures;
    /* after cc_inventory_solve: */
    enum cc_reproduced state;
    size_t reproduced; /* figures */
    double fitted;     /* constants that were fitted or chosen to them; of kept ones, as given */
    size_t worst;      /* the figure that is farthest from the paper's; SIZE_MAX: there is none */
};

struct cc_paper;

struct cc_inventory {
    void *json; /* owns all texts, but for those of tables */
    struct cc_inventory_kept *kept;
    struct cc_inventory_item *item;
    size_t kepts, items;
    struct cc_paper **table; /* by item: the table that is opened, or NULL */
};

/* The built-in inventory; and one from JSON text, strictly: any bytes either parse or give an error
 * with the item. Free with cc_inventory_free. */
int cc_inventory_open(struct cc_inventory **out, struct cc_error *e);
int cc_inventory_parse(const char *text, size_t length, struct cc_inventory **out,
                       struct cc_error *e);
void cc_inventory_free(struct cc_inventory *v);

/* Computes the figures of tables, and all states. Fails if an item is not reproduced and has no
 * cause, or is reproduced and has one. */
int cc_inventory_solve(struct cc_inventory *v, struct cc_error *e);

#endif
