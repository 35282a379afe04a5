/* Results within a page: each lies in a script element of type application/json with its length and
 * checksum, every '<' escaped, so that commands read it back from the page. */
#include "results/page_data.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/memory.h"
#include "results/text.h"

static const char element[] = "<script", element_class[] = "commcomp-result",
                  element_end[] = "</script>", count_name[] = "commcomp-results";
static const char escape[] = "\\u003c";
enum { ESCAPE = sizeof escape - 1 };

int cc_results_add(struct cc_results *r, const char *path, const char *text, size_t length,
                   struct cc_error *e)
{
    CC_TRY(CC_GROW(r->of, &r->capacity, r->count + 1, e));
    const char *slash = strrchr(path, '/');
    struct cc_result one = {.name = cc_strdup(slash != NULL ? slash + 1 : path, e),
                            .text = cc_alloc(length + 1, e),
                            .length = length};
    if (one.name == NULL || one.text == NULL) {
        free(one.name);
        free(one.text);
        return CC_FAIL;
    }
    memcpy(one.text, text, length);
    one.text[length] = '\0';
    r->of[r->count++] = one;
    return CC_OK;
}

void cc_results_free(struct cc_results *r)
{
    for (size_t i = 0; i < r->count; i++) {
        free(r->of[i].name);
        free(r->of[i].text);
    }
    free(r->of);
    *r = (struct cc_results){.of = NULL};
}

bool cc_page_is_path(const char *path)
{
    const char *suffix = strrchr(path, '.');
    return suffix != NULL && (strcmp(suffix, ".html") == 0 || strcmp(suffix, ".htm") == 0);
}

static unsigned long checksum(const char *text, size_t length)
{
    return crc32_z(crc32(0, NULL, 0), (const Bytef *)text, length);
}

/* --- writing --- */

void cc_page_put_count(size_t count, FILE *out)
{
    (void)fprintf(out, "<meta name=\"%s\" content=\"%zu\">\n", count_name, count);
}

static bool is_escape(const char *at, const char *end)
{
    return (size_t)(end - at) >= ESCAPE && memcmp(at, escape, ESCAPE) == 0;
}

/* Prints data-kept if the text has escapes itself. */
static void put_kept(const struct cc_result *r, FILE *out)
{
    const char *end = r->text + r->length;
    size_t count = 0, kept = 0;
    for (const char *s = r->text; s < end; s++) {
        if (is_escape(s, end))
            (void)fprintf(out, kept++ == 0 ? " data-kept=\"%zu" : " %zu", count);
        count += *s == '<' || is_escape(s, end);
    }
    if (kept > 0)
        (void)fputc('"', out);
}

void cc_page_put_result(const struct cc_result *r, FILE *out)
{
    (void)fprintf(out, "%s type=\"application/json\" class=\"%s\" data-name=\"", element,
                  element_class);
    cc_text_escape(r->name, cc_text_html, out);
    (void)fprintf(out, "\" data-bytes=\"%zu\" data-crc32=\"%08lx\"", r->length,
                  checksum(r->text, r->length));
    put_kept(r, out);
    (void)fputc('>', out);
    for (size_t i = 0; i < r->length; i++)
        if (r->text[i] == '<')
            (void)fputs(escape, out);
        else
            (void)fputc(r->text[i], out);
    (void)fprintf(out, "%s\n", element_end);
}

/* --- reading --- */

struct reader {
    const char *text, *end;
    const char *path;
    struct cc_error *e;
};

/* The first `what` in [at, end), or NULL. */
static const char *find(const char *at, const char *end, const char *what)
{
    return memmem(at, (size_t)(end - at), what, strlen(what));
}

static size_t place(const struct reader *r, const char *at)
{
    return (size_t)(at - r->text);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The value of an attribute in the tag [tag, end), as it is written; *length is 0 without it. Goes
 * from attribute to attribute, as the value of another one may look like it. */
static const char *attribute(const char *tag, const char *end, const char *name, size_t *length)
{
    const char *at = tag;
    *length = 0;
    while (at < end) {
        const char *word, *quote;
        while (at < end && !is_blank(*at))
            at++;
        while (at < end && is_blank(*at))
            at++;
        for (word = at; at < end && !is_blank(*at) && *at != '=';)
            at++;
        const size_t letters = (size_t)(at - word);
        if (end - at < 2 || at[0] != '=' || at[1] != '"')
            continue;
        at += 2;
        quote = memchr(at, '"', (size_t)(end - at));
        if (quote == NULL)
            break;
        if (letters == strlen(name) && memcmp(word, name, letters) == 0) {
            *length = (size_t)(quote - at);
            return at;
        }
        at = quote + 1;
    }
    return "";
}

static bool has_value(const char *tag, const char *end, const char *name, const char *value)
{
    size_t length;
    const char *at = attribute(tag, end, name, &length);
    return length == strlen(value) && memcmp(at, value, length) == 0;
}

/* A copy of an attribute's value without the escapes of cc_html_print. */
static char *copy_value(const char *at, size_t length, struct cc_error *e)
{
    char *copy = cc_alloc(length + 1, e);
    size_t used = 0;
    for (size_t i = 0; copy != NULL && i < length; used++) {
        size_t taken = 1;
        copy[used] = at[i];
        for (const char *c = "&<>\"'"; *c != '\0'; c++) {
            const char *escaped = cc_text_html[(unsigned char)*c];
            if (strncmp(at + i, escaped, strlen(escaped)) == 0) {
                copy[used] = *c;
                taken = strlen(escaped);
            }
        }
        i += taken;
    }
    if (copy != NULL)
        copy[used] = '\0';
    return copy;
}

/* Undoes the escapes of [from, end) into `to`, which has room for as many bytes; returns how many
 * there are. `kept` lists those that stay, and goes on to `kept_end`. */
static size_t unescape(const char *from, const char *end, const char *kept, const char *kept_end,
                       char *to)
{
    size_t used = 0, count = 0;
    while (from < end) {
        if (!is_escape(from, end)) {
            to[used++] = *from++;
            continue;
        }
        char *after = NULL;
        const bool stays = kept < kept_end && strtoul(kept, &after, 10) == count++;
        if (stays) {
            memcpy(to + used, from, ESCAPE);
            used += ESCAPE;
            kept = after;
        } else {
            to[used++] = '<';
        }
        from += ESCAPE;
    }
    return used;
}

/* Reads the element whose tag is [tag, tag_end) and whose text ends at `end`. */
static int read_result(const struct reader *r, const char *tag, const char *tag_end,
                       const char *end, struct cc_results *out)
{
    size_t name_length, bytes_length, sum_length, kept_length;
    const char *name_at = attribute(tag, tag_end, "data-name", &name_length);
    const char *bytes_at = attribute(tag, tag_end, "data-bytes", &bytes_length);
    const char *sum_at = attribute(tag, tag_end, "data-crc32", &sum_length);
    const char *kept = attribute(tag, tag_end, "data-kept", &kept_length);
    char *name = copy_value(name_at, name_length, r->e);
    char *text = cc_alloc((size_t)(end - tag_end) + 1, r->e);
    int status = name != NULL && text != NULL ? CC_OK : CC_FAIL;
    if (status == CC_OK && (bytes_length == 0 || sum_length == 0))
        status = cc_fail(r->e,
                         "%s: byte %zu: the result's element lacks data-bytes or data-crc32: the "
                         "page was edited; make it again from the results",
                         r->path, place(r, tag));
    if (status == CC_OK) {
        const size_t length = unescape(tag_end + 1, end, kept, kept + kept_length, text);
        if (length != strtoull(bytes_at, NULL, 10) ||
            checksum(text, length) != strtoul(sum_at, NULL, 16))
            status = cc_fail(r->e,
                             "%s: byte %zu: the result '%.100s' has %zu bytes and another checksum "
                             "than the %.*s bytes that were written: the page was damaged or "
                             "edited; make it again from the results",
                             r->path, place(r, tag_end + 1), name, length,
                             bytes_length < 20 ? (int)bytes_length : 20, bytes_at);
        else
            status = cc_results_add(out, name, text, length, r->e);
    }
    free(name);
    free(text);
    return status;
}

/* Reads the number of results that the page should have; 0 without it. */
static size_t read_count(const struct reader *r)
{
    for (const char *at = r->text; (at = find(at, r->end, "<meta")) != NULL; at++) {
        const char *end = memchr(at, '>', (size_t)(r->end - at));
        size_t length;
        if (end == NULL || !has_value(at, end, "name", count_name))
            continue;
        const char *value = attribute(at, end, "content", &length);
        return length > 0 ? strtoul(value, NULL, 10) : 0;
    }
    return 0;
}

int cc_page_read(const char *path, const char *text, size_t length, struct cc_results *out,
                 struct cc_error *e)
{
    const struct reader r = {.text = text, .end = text + length, .path = path, .e = e};
    const size_t expected = read_count(&r), before = out->count;
    const char *at = text;
    while ((at = find(at, r.end, element)) != NULL) {
        const char *tag_end = memchr(at, '>', (size_t)(r.end - at));
        if (tag_end == NULL || !has_value(at, tag_end, "class", element_class)) {
            at += strlen(element);
            continue;
        }
        const char *end = find(tag_end, r.end, element_end);
        if (end == NULL)
            return cc_fail(e,
                           "%s: byte %zu: the result that begins here does not end: the page is "
                           "cut off; fetch or make it again",
                           path, place(&r, at));
        CC_TRY(read_result(&r, at, tag_end, end, out));
        at = end;
    }
    const size_t found = out->count - before;
    if (expected == 0)
        return cc_fail(e,
                       "%s: not a page of commcomp, which says how many results it has; `commcomp "
                       "report FILE... -o report.html` makes them",
                       path);
    if (found != expected)
        return cc_fail(e,
                       "%s: byte %zu: the page ends with %zu of its %zu results: it is cut off or "
                       "was edited; fetch or make it again",
                       path, length, found, expected);
    return CC_OK;
}

int cc_page_read_one(const char *path, const char *text, size_t length, struct cc_results *out,
                     struct cc_error *e)
{
    *out = (struct cc_results){.of = NULL};
    int status = cc_page_read(path, text, length, out, e);
    if (status == CC_OK && out->count != 1)
        status = cc_fail(e,
                         "%s: the page has %zu results: take one out with `commcomp report %s "
                         "--only 1 -o one.json`",
                         path, out->count, path);
    if (status != CC_OK)
        cc_results_free(out);
    return status;
}
