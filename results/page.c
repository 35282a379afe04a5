/* Writing a page: the style and the script are embedded, each result is a section, and a list of
 * contents precedes several of them. */
#include "results/page.h"

#include <stdlib.h>

#include "core/embed.h"
#include "core/memory_text.h"
#include "core/version.h"
#include "results/page_impl.h"
#include "results/plot.h"

CC_EMBED(cc_page_style, "results/page.css");
CC_EMBED(cc_page_script, "results/page.js");

static const struct cc_embedded style = CC_EMBEDDED(cc_page_style),
                                script = CC_EMBEDDED(cc_page_script);

static void put_embedded(const struct cc_embedded *f, FILE *out)
{
    (void)fwrite(f->begin, 1, cc_embedded_size(f), out);
}

/* Writes an element that holds a text. */
static void put_element(const char *begin, const char *text, const char *end, FILE *out)
{
    (void)fputs(begin, out);
    cc_html_put(text, out);
    (void)fputs(end, out);
}

static void put_item(const char *text, FILE *out)
{
    put_element("<li>", text, "</li>\n", out);
}

/* --- the sections of a result --- */

/* Says why a result is not complete: its error, or that it was interrupted. */
static void put_state(const struct cc_page_part *p, FILE *out)
{
    if (p->from.error != NULL)
        put_element("<p class=\"state\"><strong>The command failed:</strong> ", p->from.error,
                    "</p>\n", out);
    if (p->from.partial)
        put_element("<p class=\"state\"><strong>Partial:</strong> ",
                    p->from.rows > 0
                        ? "the command was interrupted; these are its results until then"
                        : "the command was interrupted before its first row",
                    "</p>\n", out);
}

static void put_host(const struct cc_page_part *p, FILE *out)
{
    if (p->from.host_count == 0)
        return;
    (void)fputs("<ul class=\"pairs\">\n", out);
    for (size_t i = 0; i < p->from.host_count; i++) {
        put_element("<li><span>", p->from.host[i].key, ":</span> ", out);
        put_element("", p->from.host[i].value, "</li>\n", out);
    }
    (void)fputs("</ul>\n", out);
}

static int put_question(const struct cc_page_part *p, FILE *out, struct cc_error *e)
{
    const char *summary = p->known->summary(p->known->of, p->from.command);
    (void)fputs("<h3>Question</h3>\n", out);
    if (p->from.argv[0] != '\0')
        put_element("<pre class=\"command\"><code>", p->from.argv, "</code></pre>\n", out);
    else
        (void)fputs("<p>These rows come from a CSV, which says neither the command line nor the "
                    "host nor notes.</p>\n",
                    out);
    if (summary != NULL)
        put_element("<p class=\"summary\">", summary, "</p>\n", out);
    CC_TRY(cc_page_put_settings(p, out, e));
    put_host(p, out);
    return CC_OK;
}

static int put_verdict(const struct cc_page_part *p, FILE *out, struct cc_error *e)
{
    struct cc_memory_text t;
    CC_TRY(cc_memory_text_begin(&t, "a verdict", e));
    const int said = cc_page_verdict(p, put_item, t.f, e);
    int status = cc_memory_text_end(&t, "a verdict", said == CC_OK ? e : NULL);
    status = said != CC_OK ? said : status;
    if (status != CC_OK || t.bytes == 0) {
        free(t.text);
        return status;
    }
    (void)fprintf(out, "<h3>Verdict</h3>\n<ul class=\"verdict\">\n%s</ul>\n", t.text);
    free(t.text);
    return CC_OK;
}

static int put_picture(const struct cc_page_part *p, size_t number, FILE *out, struct cc_error *e)
{
    struct cc_memory_text t;
    struct cc_error why = {""};
    char prefix[32];
    (void)snprintf(prefix, sizeof prefix, "p%zu", number);
    CC_TRY(cc_memory_text_begin(&t, "a picture", e));
    const int drawn = cc_plot_svg(&p->sheet, prefix, t.f, &why);
    CC_TRY(cc_memory_text_end(&t, "a picture", e));
    if (drawn == CC_OK)
        (void)fprintf(out,
                      "<figure>\n<div class=\"scroll\" role=\"region\" aria-label=\"picture of "
                      "result %zu\" tabindex=\"0\">\n%s\n</div>\n<figcaption>Pointing at a value "
                      "shows it.</figcaption>\n</figure>\n",
                      number, t.text);
    else
        put_element("<p class=\"no-picture\">No picture: ", why.text, "</p>\n", out);
    free(t.text);
    return CC_OK;
}

static void put_notes(const struct cc_page_part *p, FILE *out)
{
    bool any = false;
    for (size_t i = 0; i < p->from.notes; i++) {
        if (cc_note_is_verdict(p->from.note[i]))
            continue;
        (void)fputs(any ? "" : "<h3>Notes</h3>\n<ul class=\"notes\">\n", out);
        put_item(p->from.note[i], out);
        any = true;
    }
    (void)fputs(any ? "</ul>\n" : "", out);
}

/* Explains the words for origins that the result's columns have, and lists the columns. */
static void put_origins(const struct cc_page_part *p, FILE *out)
{
    unsigned used = 0;
    for (size_t c = 0; c < p->record.column_count; c++)
        used |= cc_page_origins(p, c);
    (void)fputs("<h3>How the figures were obtained</h3>\n<ul class=\"origins\">\n", out);
    for (int i = 0; i < CC_ORIGINS; i++)
        if ((used >> i & 1) != 0)
            (void)fprintf(out, "<li><strong>%s</strong>: %s</li>\n",
                          cc_origin_word((enum cc_origin)i), cc_origin_help((enum cc_origin)i));
    (void)fputs("</ul>\n<details>\n<summary>What each column means</summary>\n", out);
    cc_page_put_columns(p, out);
    (void)fputs("</details>\n", out);
}

static int put_part(const struct cc_page_part *p, size_t number, FILE *out, struct cc_error *e)
{
    (void)fprintf(out, "<section class=\"result\" id=\"result-%zu\">\n", number);
    put_element("<h2>", p->from.command, " ", out);
    put_element("<span class=\"file\">", p->result->name, "</span></h2>\n", out);
    put_state(p, out);
    CC_TRY(put_question(p, out, e));
    CC_TRY(put_verdict(p, out, e));
    if (p->record.row_count > 0) {
        CC_TRY(put_picture(p, number, out, e));
        (void)fputs("<h3>Figures</h3>\n", out);
        CC_TRY(cc_page_put_table(p, number, out, e));
    } else {
        (void)fputs("<p>The result has no rows.</p>\n", out);
    }
    put_notes(p, out);
    if (p->record.row_count > 0)
        put_origins(p, out);
    cc_page_put_result(p->result, out);
    (void)fputs("</section>\n", out);
    return CC_OK;
}

/* --- the page --- */

static void put_contents(const struct cc_page_part *part, size_t count, FILE *out)
{
    (void)fputs("<nav aria-label=\"results\">\n<ol>\n", out);
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(out, "<li><a href=\"#result-%zu\">", i + 1);
        put_element("", part[i].from.command, ": ", out);
        put_element("", part[i].result->name, "</a></li>\n", out);
    }
    (void)fputs("</ol>\n</nav>\n", out);
}

int cc_page_write(const char *title, const struct cc_page_part *part, size_t count, FILE *out,
                  struct cc_error *e)
{
    (void)fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n", out);
    put_element("<title>", title, "</title>\n", out);
    (void)fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                "<meta name=\"color-scheme\" content=\"light dark\">\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                "style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; "
                "form-action 'none'\">\n",
                out);
    put_element("<meta name=\"generator\" content=\"commcomp ", cc_version(), "\">\n", out);
    cc_page_put_count(count, out);
    (void)fputs("<style>\n", out);
    put_embedded(&style, out);
    (void)fputs("</style>\n</head>\n<body>\n<header>\n", out);
    put_element("<h1>", title, "</h1>\n", out);
    if (count > 1)
        put_contents(part, count, out);
    (void)fputs("</header>\n<main>\n", out);
    for (size_t i = 0; i < count; i++)
        CC_TRY(put_part(&part[i], i + 1, out, e));
    (void)fputs("</main>\n<footer>\n<p>Written by commcomp ", out);
    cc_html_put(cc_version(), out);
    (void)fputs(". The page holds its results whole: <code>commcomp report PAGE --format "
                "json</code> gives them again.</p>\n</footer>\n<script>\n",
                out);
    put_embedded(&script, out);
    (void)fputs("</script>\n</body>\n</html>\n", out);
    return CC_OK;
}
