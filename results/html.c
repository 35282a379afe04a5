#include "results/html.h"

#include "results/text.h"

static cc_replacement replace = {
    ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};

void cc_html_put(const char *text, FILE *out)
{
    cc_text_escape(text, replace, out);
}
