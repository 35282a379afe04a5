/* Results as a page of HTML that needs nothing else: the question, the verdict in words, a picture,
 * the figures, the notes, and how each figure was obtained, with the results themselves
 * (results/page_data.h). It can be read without scripts; with them, tables sort and filter. */
#ifndef CC_RESULTS_PAGE_H
#define CC_RESULTS_PAGE_H

#include "results/page_data.h"
#include "results/record.h"
#include "results/sheet.h"

/* The commands that this version knows. */
struct cc_page_commands {
    /* The columns of a command's record, and a summary of what it does; NULL if no command has that
     * name. */
    const struct cc_column *(*columns)(const void *of, const char *command);
    const char *(*summary)(const void *of, const char *command);
    const void *of;
};

/* A result as a page shows it. */
struct cc_page_part {
    const struct cc_result *result;
    const struct cc_page_commands *known;
    struct cc_provenance from;
    struct cc_sheet sheet;       /* without rows if the result has none */
    struct cc_column *column;    /* the sheet's: those of the command, then others */
    struct cc_result_key *other; /* keys of the others */
    struct cc_record record;     /* the rows with these columns */
};

/* Parses a result; it and the commands must live as long as *out. Release *out, which is set on
 * success only, with cc_page_part_free. Messages begin with the result's name. */
int cc_page_part_make(const struct cc_result *result, const struct cc_page_commands *known,
                      struct cc_page_part *out, struct cc_error *e);
void cc_page_part_free(struct cc_page_part *p);

/* A document for rows that were read from a CSV, with the name of the command that wrote them:
 * neither its command line nor its host is known. Adds it to the results. */
int cc_results_add_sheet(struct cc_results *r, const struct cc_sheet *s, const char *command,
                         struct cc_error *e);

/* Writes the page. A picture that cannot be drawn is replaced by the reason. */
int cc_page_write(const char *title, const struct cc_page_part *part, size_t count, FILE *out,
                  struct cc_error *e);

/* --- between the files of pages --- */

/* The index of a column of the record; column_count if there is none. */
size_t cc_page_column(const struct cc_page_part *p, const struct cc_result_key *key);

/* Whether a note gives a verdict; then it stands among them. */
bool cc_note_is_verdict(const char *note);
/* Prints the sentences of the verdict, each with a zero byte at its end: the notes that are one, or
 * sentences from the rows. */
void cc_page_verdict(const struct cc_page_part *p, FILE *out);

#endif
