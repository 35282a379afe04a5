/* Numbers and texts as the record's writers print them. For results/ only. */
#ifndef CC_RESULTS_TEXT_H
#define CC_RESULTS_TEXT_H

#include <stdio.h>

#include "core/error.h"
#include "core/format/json.h"
#include "results/record.h"

/* The value as people read it: scaled and formatted as its column says; "-" for null, yes or no.
 * A text's control characters are escaped, so that a name cannot break a line or reach the
 * terminal. Returns the width in characters; out may be NULL to learn only that. */
size_t cc_value_print(const struct cc_value *v, const struct cc_column *c, FILE *out);
size_t cc_text_print(const char *s, FILE *out);

bool cc_value_same(const struct cc_value *a, const struct cc_value *b);

/* A copy in valid UTF-8, to be freed: every byte that is not becomes U+FFFD. */
char *cc_utf8_copy(const char *s, struct cc_error *e);

/* The writers behind cc_record_print, which finds out whether `out` took what they wrote. They fail
 * only for want of memory. */
int cc_table_write(const struct cc_record *r, FILE *out, struct cc_error *e);
void cc_csv_write(const struct cc_record *r, FILE *out);
int cc_json_write(const struct cc_record *r, FILE *out, struct cc_error *e);

#endif
