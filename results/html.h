/* Text in HTML pages. For results/ only. */
#ifndef CC_RESULTS_HTML_H
#define CC_RESULTS_HTML_H

#include <stdio.h>

/* Prints a text so that it is text wherever it stands in a page, between quotes of an attribute,
 * too. Control characters are escaped as on a terminal. */
void cc_html_put(const char *text, FILE *out);

#endif
