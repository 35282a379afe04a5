/* The layout of tables for people: which columns are shown, and where. For results/ only. */
#ifndef CC_RESULTS_LAYOUT_H
#define CC_RESULTS_LAYOUT_H

#include "results/record.h"

enum cc_place {
    CC_IN_TABLE,
    CC_ABOVE,    /* the same in all rows: a line above the table */
    CC_LEFT_OUT, /* the table would be too wide */
    CC_PLACES
};

struct cc_shown {
    const struct cc_column *column;
    const char *head;
    size_t index; /* the column's in the record */
    size_t width; /* the widest cell's, in characters */
    bool left;    /* texts are aligned to the left, numbers, also those in texts, to the right */
    enum cc_place place;
};

struct cc_layout {
    struct cc_shown *shown;
    size_t count;
    size_t in[CC_PLACES];           /* how many of them have a place */
    bool units;                     /* a column in the table has a unit */
    const struct cc_shown *wrapped; /* the column whose texts are wrapped, the last one; or NULL */
    size_t wrap_at;                 /* where in a line it begins */
};

enum { CC_TABLE_GAP = 2 }; /* spaces between columns */

/* Lays out the record as cc_record_print says, a single row as a list of lines above the table if
 * `list` is set. If `width` is not 0, columns are left out by their roles until the table is not
 * wider; where even the answers are too many, the texts of the last column are wrapped, if it has
 * texts, or answers are left out. The caller frees l->shown. */
int cc_layout_make(const struct cc_record *r, bool list, size_t width, struct cc_layout *l,
                   struct cc_error *e);

/* Leaves out columns in the same order until the table has at most `most`, but neither settings
 * that tell rows apart nor the first answer; none if the user chose them, or wants all. */
void cc_layout_keep(const struct cc_record *r, struct cc_layout *l, size_t most);

/* The next column after p (NULL: the first) that has this place; NULL after the last. */
const struct cc_shown *cc_layout_next(const struct cc_layout *l, enum cc_place place,
                                      const struct cc_shown *p);

#endif
