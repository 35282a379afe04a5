/* The parts of a page. For results/ only. */
#ifndef CC_RESULTS_PAGE_IMPL_H
#define CC_RESULTS_PAGE_IMPL_H

#include "results/text.h"
#include "results/page.h"

/* The origins of a column's values, a bit of 1 << origin each. */
unsigned cc_page_origins(const struct cc_page_part *p, size_t column);

/* The index of a column of the record; column_count if there is none. */
size_t cc_page_column(const struct cc_page_part *p, const struct cc_result_key *key);
/* Whether any row has a value in a column of the record. */
bool cc_page_is_filled(const struct cc_page_part *p, size_t column);

/* Writes the settings that all rows share, the table of the rows, and the list of its columns.
 * `number` is that of the part in the page, from 1, for ids. */
int cc_page_put_settings(const struct cc_page_part *p, FILE *out, struct cc_error *e);
int cc_page_put_table(const struct cc_page_part *p, size_t number, FILE *out, struct cc_error *e);
void cc_page_put_columns(const struct cc_page_part *p, FILE *out);

/* Whether a note gives a verdict; then it stands among them. */
bool cc_note_is_verdict(const char *note);
/* Calls `put` with each sentence of the verdict: the notes that are one, or sentences from the
 * rows. */
int cc_page_verdict(const struct cc_page_part *p, void put(const char *sentence, FILE *out),
                    FILE *out, struct cc_error *e);

#endif
