/* The parts of a page. For results/ only. */
#ifndef CC_RESULTS_PAGE_IMPL_H
#define CC_RESULTS_PAGE_IMPL_H

#include "results/text.h"
#include "results/page.h"

/* The origins of a column's values, a bit of 1 << origin each; 0 for a column without values. */
unsigned cc_page_origins(const struct cc_page_part *p, size_t column);

/* The index of a column of the record; column_count if there is none. */
size_t cc_page_column(const struct cc_page_part *p, const struct cc_result_key *key);

/* Whether a note gives a verdict; then it stands among them. */
bool cc_note_is_verdict(const char *note);
/* Prints the sentences of the verdict, each with a zero byte at its end: the notes that are one, or
 * sentences from the rows. */
void cc_page_verdict(const struct cc_page_part *p, FILE *out);

#endif
