/* The record: the results of a command, as rows with the same keys in table, CSV and JSON. */
#ifndef CC_RESULTS_RECORD_H
#define CC_RESULTS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/error.h"

/* "schema" of the JSON. */
#define CC_RECORD_SCHEMA "commcomp/1"

enum cc_value_kind { CC_NULL, CC_NUMBER, CC_TEXT, CC_BOOL };

struct cc_value {
    enum cc_value_kind kind;
    double number; /* also CC_BOOL: 0 or 1 */
    char *text; /* owned by the record; CC_NUMBER: NULL, or the digits that a double cannot hold */
};

/* The role of a column in the table. Settings say what a row is about: they follow from options and
 * input, and stand above the table where all rows agree. The others are results, which stay in the
 * table. Where it is too narrow for all of them, details are left out first, then parts, then main
 * ones, then settings that the others imply, and of several answers the last; the settings that
 * tell the rows apart and the first answer stay. */
enum cc_role { CC_SETTING, CC_ANSWER, CC_MAIN, CC_PART, CC_DETAIL };

/* A column. `key` is its name in CSV and JSON; `head` its title in the table, NULL if the table
 * shows it only on demand, titled by its key. In the table, numbers are multiplied by `scale` (0
 * means 1) and printed by `format`, a printf format for one double, or "%.6g" if it is NULL; of
 * the decimals of "%.3f" a table shows those among the first four digits. CC_RATE prints bits per
 * second with their unit, such as 10 Gbit/s. Truth values are "yes" and "no", or with a format that
 * text and nothing. CSV and JSON have the value itself. `help` explains the column in one line, in
 * --help and the man page. An array ends with a column without a key. */
#define CC_RATE "rate"
struct cc_column {
    const char *key;
    const char *head;
    const char *unit; /* "" if none */
    const char *format;
    double scale;
    const char *help;
    enum cc_role role;
};

struct cc_row {
    struct cc_value *value; /* one for each column */
    bool detail;            /* tables have it only if they are wide */
};

struct cc_record {
    const char *command; /* "bench" */
    int argc;            /* the whole command line, for the JSON echo */
    const char *const *argv;
    const struct cc_column *columns;
    size_t column_count;
    struct cc_row *rows;
    size_t row_count, row_capacity;
    bool partial;    /* interrupted: the rows that were complete until then */
    char error[512]; /* the error that ended the command, or empty */
    char mpi[128];   /* the MPI library of the run, for JSON's "host", or empty */
    char title[256]; /* the first line above a table, or empty */
    char **notes;    /* lines below the table, and JSON's "notes" */
    size_t note_count, note_capacity;
    /* how tables are laid out: */
    size_t width;   /* of the terminal in characters; 0: no limit */
    bool wide;      /* nothing is left out, however wide and long the table */
    size_t *chosen; /* the columns to show instead, by index, in this order; NULL: by their roles */
    size_t chosen_count;
    bool usual; /* they are the command's choice: see cc_record_choose_usual */
};

/* Makes *r an empty record. command, columns and argv must outlive it. */
void cc_record_init(struct cc_record *r, const char *command, const struct cc_column *columns,
                    int argc, const char *const *argv);
void cc_record_free(struct cc_record *r);

/* Adds a row of nulls and returns its index, or SIZE_MAX with a message. */
size_t cc_record_add(struct cc_record *r, struct cc_error *e);

/* Set the value of a row in the column `key`, which must exist. A number that is not finite becomes
 * null, and -0 becomes 0. Text is copied; invalid UTF-8 is replaced. */
void cc_record_number(struct cc_record *r, size_t row, const char *key, double v);
/* The same for a whole number, of which no digit is lost beyond 2^53. */
int cc_record_whole(struct cc_record *r, size_t row, const char *key, uint64_t v,
                    struct cc_error *e);
/* A number of a column, for setting several of them. */
struct cc_number_column {
    const char *key;
    double value;
};
void cc_record_numbers(struct cc_record *r, size_t row, const struct cc_number_column *columns,
                       size_t count);
void cc_record_bool(struct cc_record *r, size_t row, const char *key, bool v);
int cc_record_text(struct cc_record *r, size_t row, const char *key, const char *v,
                   struct cc_error *e);
/* The value of a row in the column `key`, which must exist. */
const struct cc_value *cc_record_value(const struct cc_record *r, size_t row, const char *key);

/* Marks a row as one of details, which tables leave out unless they are wide. CSV and JSON have it.
 */
void cc_record_detail(struct cc_record *r, size_t row);

/* Sets the title; what does not fit is cut off. */
void cc_record_title(struct cc_record *r, const char *fmt, ...) CC_PRINTF(2, 3);

/* The text of a value in tables, not yet escaped: in *v, in the buffer or constant. */
enum { CC_VALUE_CAP = 512 }; /* %f of the largest double has 309 digits before the point */
const char *cc_value_text(const struct cc_value *v, const struct cc_column *c,
                          char buffer[CC_VALUE_CAP]);

/* Whether two values are equal; nulls are. */
bool cc_value_same(const struct cc_value *a, const struct cc_value *b);

/* Adds a note. */
int cc_record_note(struct cc_record *r, struct cc_error *e, const char *fmt, ...) CC_PRINTF(3, 4);

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
