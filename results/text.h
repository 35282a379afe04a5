/* Values and texts as the writers of records print them. For results/ only. */
#ifndef CC_RESULTS_TEXT_H
#define CC_RESULTS_TEXT_H

#include <stdio.h>

#include "core/error.h"
#include "core/format/json.h"
#include "results/record.h"

/* Print a text, or a value for people: scaled and formatted by its column; "-" for null; yes or no.
 * Control characters of texts are escaped, so that a name cannot break a line or control the
 * terminal. Return the width in characters; if out is NULL nothing is printed. */
size_t cc_text_print(const char *s, FILE *out);
size_t cc_value_print(const struct cc_value *v, const struct cc_column *c, FILE *out);

/* The same with ASCII characters replaced by texts of another language, or NULL: as they are. A
 * value with `unit` is followed by its unit where it has one. */
typedef const char *const cc_replacement[128];
void cc_text_escape(const char *s, const char *const *replace, FILE *out);
void cc_value_put(const struct cc_value *v, const struct cc_column *c, bool unit,
                  const char *const *replace, FILE *out);

/* The characters that LaTeX and HTML take for their own. */
extern cc_replacement cc_text_latex, cc_text_html;

/* Prints a text and ends the line. Lines that would be longer than `width` (0: no limit) are broken
 * at spaces and go on after `indent` spaces. The first line has `at` characters already. */
void cc_text_wrap(const char *s, size_t width, size_t at, size_t indent, FILE *out);

/* A number as CSV and JSON have it: with all its digits. */
const char *cc_number_digits(const struct cc_value *v, char buffer[CC_NUMBER_CAP]);

/* A copy in valid UTF-8, to be freed: each invalid byte becomes U+FFFD. */
char *cc_utf8_copy(const char *s, struct cc_error *e);

/* The lines below a table, each by a call of `print` with its label ("" or "error: "): warnings,
 * further notes until there are `most`, that an interrupt ended the record, and the error. Notes
 * above the table are not among them. */
typedef void cc_print_remark(const struct cc_record *r, const char *label, const char *text,
                             FILE *out);
void cc_remarks_put(const struct cc_record *r, size_t most, cc_print_remark *print, FILE *out);
bool cc_remarks_any(const struct cc_record *r);

/* The writers of cc_record_print, which checks `out` for failed writes. They fail only without
 * memory. */
int cc_table_write(const struct cc_record *r, FILE *out, struct cc_error *e);
int cc_json_write(const struct cc_record *r, FILE *out, struct cc_error *e);
int cc_markdown_write(const struct cc_record *r, FILE *out, struct cc_error *e);
int cc_latex_write(const struct cc_record *r, FILE *out, struct cc_error *e);

/* Prints HTML: %s stands for a text, which is text wherever it stands in a page, between quotes of
 * an attribute, too, and %zu for a number. */
void cc_html_print(FILE *out, const char *fmt, ...) CC_PRINTF(2, 3);

#endif
