/* Results read back from CSV or JSON that a command wrote, or from CSV of another origin; and
 * timelines, whose rows are bins of time (results/timeline_use.h). */
#ifndef CC_RESULTS_SHEET_H
#define CC_RESULTS_SHEET_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/format/contents.h"
#include "core/infile.h"
#include "results/record.h"

struct cc_sheet {
    char *path; /* for messages */
    char **key;
    size_t columns, rows;
    struct cc_value *value; /* rows x columns; a number from CSV also has its text, a value from
                               JSON the origin that the document says */
    size_t *place;          /* by row, for messages: its line (CSV) or number from 1 (JSON) */
    const char *place_word; /* "line" or "row" */
    bool csv;               /* from CSV, not JSON */
    bool timeline, partial; /* from a timeline; of a run that did not finish */
};

#define CC_NO_COLUMN SIZE_MAX

/* Reads a file of results as it is, .csv, .json or .html (a page) by its suffix; the standard input
 * tells by its first character. A usage error for other suffixes, of which `expected` names the
 * right ones: ".csv or .json". */
enum cc_result_form { CC_RESULT_CSV, CC_RESULT_JSON, CC_RESULT_PAGE };
int cc_result_read(const char *path, const char *expected, struct cc_bytes *out,
                   enum cc_result_form *form, struct cc_error *e);

/* Reads such a file, of pages one that holds one result. Errors: missing
 * or repeated keys, rows of different length, invalid UTF-8, JSON that is not a result of commcomp,
 * no rows. Messages name the file and the place. *out is set on success only; release it with
 * cc_sheet_free. */
int cc_sheet_read(const char *path, struct cc_sheet *out, struct cc_error *e);

/* The same from text; `path` is for messages. Any bytes either parse or give an error. */
int cc_sheet_parse_csv(const char *path, const char *text, size_t length, struct cc_sheet *out,
                       struct cc_error *e);
int cc_sheet_parse_json(const char *path, const char *text, size_t length, struct cc_sheet *out,
                        struct cc_error *e);

/* Gives the columns of a result of schema commcomp/1 that this command wrote today's names.
 * cc_sheet_parse_json has done so; of a CSV, the caller has to know that it is so old. */
int cc_sheet_rename(struct cc_sheet *s, const char *command, struct cc_error *e);

void cc_sheet_free(struct cc_sheet *s);

/* The index of a key, or CC_NO_COLUMN. */
size_t cc_sheet_column(const struct cc_sheet *s, const char *key);
/* Whether a column, which may be CC_NO_COLUMN, has a value of this kind. */
bool cc_sheet_has(const struct cc_sheet *s, size_t column, enum cc_value_kind kind);

const struct cc_value *cc_sheet_value(const struct cc_sheet *s, size_t row, size_t column);

/* The number in a row and column, NaN for null; a text or boolean is an error that names file, row
 * and column. */
int cc_sheet_number(const struct cc_sheet *s, size_t row, size_t column, double *out,
                    struct cc_error *e);

/* Where a result comes from: what its JSON document says beside the rows. */
struct cc_provenance {
    char *command; /* "bench" */
    char *argv;    /* the program's name and the arguments, with spaces between them, as a shell
                      takes them; empty for rows from a CSV */
    struct cc_pair *host; /* "host": "cpu", "AMD EPYC" */
    size_t host_count;
    char **note;           /* "notes" */
    size_t notes, answers; /* the first `answers` of them are the answer */
    bool partial;          /* the document has "partial" */
    char *error;           /* "error", or NULL */
    size_t rows;
};

/* Parses a document, whose rows cc_sheet_parse_json reads if there are any; the caller adds the
 * path to messages. Release *out, which is set on success only, with cc_provenance_free. */
int cc_provenance_parse(const char *text, size_t length, struct cc_provenance *out,
                        struct cc_error *e);
void cc_provenance_free(struct cc_provenance *p);

/* The value of a key of "host", or NULL. */
const char *cc_provenance_host(const struct cc_provenance *p, const char *key);

#endif
