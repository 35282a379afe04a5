/* The record: the results of a command, as rows with the same keys in table, CSV and JSON. */
#ifndef CC_RESULTS_RECORD_H
#define CC_RESULTS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/error.h"
#include "results/key.h"

/* "schema" of the JSON, and that of earlier versions, which readers still read. */
#define CC_RECORD_SCHEMA   "commcomp/2"
#define CC_RECORD_SCHEMA_1 "commcomp/1"

enum cc_value_kind { CC_NULL, CC_NUMBER, CC_TEXT, CC_BOOL };

struct cc_value {
    enum cc_value_kind kind;
    enum cc_origin origin; /* where it differs from the column's; else CC_ORIGIN_UNKNOWN */
    double number;         /* also CC_BOOL: 0 or 1 */
    char *text; /* owned by the record; CC_NUMBER: NULL, or the digits that a double cannot hold */
};

/* The role of a column in the table. Settings say what a row is about: they follow from options and
 * input, and stand above the table where all rows agree. The others are results, which stay in the
 * table. Where it is too narrow for all of them, details are left out first, then parts, then main
 * ones, then settings that the others imply, and of several answers the last; the settings that
 * tell the rows apart and the first answer stay. */
enum cc_role { CC_SETTING, CC_ANSWER, CC_MAIN, CC_PART, CC_DETAIL };

/* A column: a key as a command shows it. A table shows a column without a head, or a hidden one, on
 * demand only. `origin`, if it is set, is that of the command's values in place of the key's;
 * `by_row`: each row says it. `head`, if it is set, is the title in place of the key's. `note`, if
 * it is set, says what holds for this command, after the key's help. An array ends with a column
 * without a key. */
struct cc_column {
    const struct cc_result_key *key;
    enum cc_role role;
    bool hidden;
    bool by_row;
    enum cc_origin origin;
    const char *head;
    const char *note;
};
/* CC_COLUMN(step_s, CC_ANSWER) is the initializer of a column; other members follow, as in
 * CC_COLUMN(step_s, CC_ANSWER, .origin = CC_ORIGIN_MEASURED). */
#define CC_COLUMN(name, ...)                                                                       \
    {                                                                                              \
        .key = CC_KEY(name), .role = __VA_ARGS__                                                   \
    }

/* The column of a list with this key; NULL if there is none. */
const struct cc_column *cc_column_find(const struct cc_column *list, const char *key);
/* The number of a list's columns. */
size_t cc_columns_count(const struct cc_column *list);
/* Whether tables show the column unasked. */
bool cc_column_shown(const struct cc_column *c);
/* Its title: the column's head, or the key's, or the key's name. */
const char *cc_column_head(const struct cc_column *c);
struct cc_row {
    struct cc_value *value; /* one for each column */
    /* Set by the command: the origin of its values in columns `by_row`, and whether only wide
     * tables have the row. */
    enum cc_origin origin;
    bool detail;
};

/* Where a table has a note. JSON and files of notes have all of them;
 * JSON begins with those above the table. */
enum cc_note_place {
    CC_NOTE_BELOW,   /* below the rows */
    CC_NOTE_WARNING, /* below the rows, before the others: why figures may be wrong */
    CC_NOTE_ANSWER,  /* above everything, the title too; below it, settings stand in one line, and a
                        table for a terminal keeps to its most important columns and notes */
    CC_NOTE_FIRST,   /* the same, of an answer that names the settings, which are left out */
    CC_NOTE_CODE,    /* the same, as it is: a line to be pasted */
    CC_NOTE_REASON,  /* below the rows if `reasons` is set */
    CC_NOTE_PLACES
};

struct cc_record {
    const char *command; /* "bench" */
    int argc;            /* the whole command line, for the JSON echo */
    const char *const *argv;
    const struct cc_column *columns;
    size_t column_count;
    struct cc_row *rows;
    size_t row_count, row_capacity;
    size_t hidden_rows;        /* of the printed copy: details that its table leaves out */
    bool partial;              /* interrupted: the rows that were complete until then */
    char error[512];           /* the error that ended the command, or empty */
    char mpi[128];             /* the MPI library of the run, for JSON's "host", or empty */
    char title[256];           /* the first line above a table, or empty */
    char *source;              /* the JSON of a stored result, whose "argv" and "host" JSON has in
                                  place of this run's; owned; or NULL */
    char **notes;              /* lines below the table, and JSON's "notes" */
    unsigned char *note_place; /* one for each, of enum cc_note_place */
    size_t note_count, note_capacity, place_capacity;
    /* how tables are laid out: */
    size_t width;   /* the terminal's, in characters; 0: no limit */
    bool wide;      /* nothing is left out, however wide and long the table */
    bool all_rows;  /* rows that are details are shown */
    bool reasons;   /* notes that are reasons are shown */
    size_t *chosen; /* the columns to show instead, by index, in this order; NULL: by their roles */
    size_t chosen_count;
    bool usual; /* they are the command's choice: see cc_record_choose_usual */
};

/* Makes *r an empty record. command, columns and argv must outlive it. */
void cc_record_init(struct cc_record *r, const char *command, const struct cc_column *columns,
                    int argc, const char *const *argv);
void cc_record_free(struct cc_record *r);

/* Adds a row of nulls; sets *row, unless it is NULL, to its index. */
int cc_record_add(struct cc_record *r, size_t *row, struct cc_error *e);

void cc_record_remove(struct cc_record *r, size_t row);
/* Set the value of a row in the column of `key`, which must exist. A number that is not finite
 * becomes null, and -0 becomes 0. Text is copied; invalid UTF-8 is replaced. */
void cc_record_number(struct cc_record *r, size_t row, const struct cc_result_key *key, double v);
/* The same for a whole number, of which no digit is lost beyond 2^53. */
int cc_record_whole(struct cc_record *r, size_t row, const struct cc_result_key *key, uint64_t v,
                    struct cc_error *e);
/* A number of a column, for setting several of them. */
struct cc_number_column {
    const struct cc_result_key *key;
    double value;
};
void cc_record_numbers(struct cc_record *r, size_t row, const struct cc_number_column *columns,
                       size_t count);
/* A text of a column, for setting several of them. NULL and "" leave the column null. */
struct cc_text_column {
    const struct cc_result_key *key;
    const char *text;
};
int cc_record_texts(struct cc_record *r, size_t row, const struct cc_text_column *columns,
                    size_t count, struct cc_error *e);
void cc_record_bool(struct cc_record *r, size_t row, const struct cc_result_key *key, bool v);
int cc_record_text(struct cc_record *r, size_t row, const struct cc_result_key *key, const char *v,
                   struct cc_error *e);
/* Copies a value with its digits and its origin; null leaves the column null. */
int cc_record_copy(struct cc_record *r, size_t row, const struct cc_result_key *key,
                   const struct cc_value *from, struct cc_error *e);
/* Says how the value of a row in the column of `key` was obtained, once it is set: otherwise than
 * those of other rows. */
void cc_record_origin(struct cc_record *r, size_t row, const struct cc_result_key *key,
                      enum cc_origin origin);
/* The origin of the value of a row in a column. */
enum cc_origin cc_value_origin(const struct cc_record *r, size_t row, size_t column);
/* The value of a row in the column of `key`, which must exist. */
struct cc_value *cc_record_value(const struct cc_record *r, size_t row,
                                 const struct cc_result_key *key);

/* Sets the title; what does not fit is cut off. */
void cc_record_title(struct cc_record *r, const char *fmt, ...) CC_PRINTF(2, 3);

/* The text of a value in tables, not yet escaped: in *v, in the buffer or constant. */
enum { CC_VALUE_CAP = 512 }; /* %f of the largest double has 309 digits before the point */
const char *cc_value_text(const struct cc_value *v, const struct cc_column *c,
                          char buffer[CC_VALUE_CAP]);

/* Whether two values are equal; nulls are. */
bool cc_value_same(const struct cc_value *a, const struct cc_value *b);

/* Adds a note at a place. */
int cc_record_note_at(struct cc_record *r, enum cc_note_place place, struct cc_error *e,
                      const char *fmt, ...) CC_PRINTF(4, 5);
/* Gives the notes from `first` on that stand below the rows another place. */
void cc_record_move_notes(struct cc_record *r, size_t first, enum cc_note_place place);
/* Whether a note stands above the title. */
static inline bool cc_note_above(const struct cc_record *r, size_t note)
{
    return r->note_place[note] >= CC_NOTE_ANSWER && r->note_place[note] <= CC_NOTE_CODE;
}
/* Whether tables show a note. */
static inline bool cc_note_shown(const struct cc_record *r, size_t note)
{
    return r->note_place[note] != CC_NOTE_REASON || r->reasons || r->wide;
}

/* Adds a note; cc_record_note_once unless the record has the same one already. */
int cc_record_note(struct cc_record *r, struct cc_error *e, const char *fmt, ...) CC_PRINTF(3, 4);
int cc_record_note_once(struct cc_record *r, struct cc_error *e, const char *fmt, ...)
    CC_PRINTF(3, 4);
/* Adds a warning, unless the record has the same one already. */
int cc_record_warn(struct cc_record *r, struct cc_error *e, const char *fmt, ...) CC_PRINTF(3, 4);

/* Chooses the columns of tables and CSV, by their keys with commas between them. A usage error for
 * an unknown key names the nearest one. */
int cc_record_choose(struct cc_record *r, const char *keys, struct cc_error *e);

/* The same for tables that would have too many columns, unless the user chose, or wants all: of
 * these columns the table is laid out as it is of all. CSV has all. */
int cc_record_choose_usual(struct cc_record *r, const char *keys, struct cc_error *e);

enum cc_format {
    CC_FORMAT_TABLE,
    CC_FORMAT_CSV,
    CC_FORMAT_JSON,
    CC_FORMAT_MARKDOWN, /* GitHub's tables */
    CC_FORMAT_LATEX     /* a tabular with the rules of the package booktabs */
};
extern const char *const cc_format_names[]; /* ends with NULL */

/* Prints the record, and fails if a write failed. The table omits columns without a head and
 * columns that are null in every row. A setting with the same value in every row stands above the
 * table, but the first column stays if no other setting does. A single row is printed as a list,
 * one column a line. With chosen columns, tables and CSV have exactly these; JSON always has all.
 */
int cc_record_print(const struct cc_record *r, enum cc_format format, FILE *out,
                    struct cc_error *e);

/* Writes the record to `path` by cc_file_create, in the format of cc_format_of_path, a table
 * without a limit on its width. */
int cc_record_save(const struct cc_record *r, const char *path, enum cc_format otherwise,
                   struct cc_error *e);
/* Writes the notes to `path`, a line each. */
int cc_record_save_notes(const struct cc_record *r, const char *path, struct cc_error *e);
/* The format that the path's suffix says: .csv, .json, .md, .tex, or .txt for a table. A pipe,
 * device or descriptor without one of these has the format `otherwise`; for a file it is a usage
 * error. */
int cc_format_of_path(const char *path, enum cc_format otherwise, enum cc_format *out,
                      struct cc_error *e);

#endif
