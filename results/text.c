/* Printing values and texts: numbers by the format of their key, texts with control characters and
 * broken UTF-8 replaced, words wrapped to a width. */
#include "results/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/units.h"
#include "core/utf8.h"

char *cc_utf8_copy(const char *s, struct cc_error *e)
{
    static const char replacement[] = "\xef\xbf\xbd";
    size_t bytes;
    char *copy = cc_mul(strlen(s) + 1, sizeof replacement - 1, &bytes) ? malloc(bytes) : NULL;
    if (copy == NULL) {
        cc_error_set(e, "out of memory: a text of %zu bytes", strlen(s));
        return NULL;
    }
    char *to = copy;
    while (*s != '\0') {
        size_t length = cc_utf8_length((const uint8_t *)s, strnlen(s, 4)),
               taken = length > 0 ? length : 1;
        const char *from = length > 0 ? s : replacement;
        size_t put = length > 0 ? length : sizeof replacement - 1;
        memcpy(to, from, put);
        to += put;
        s += taken;
    }
    *to = '\0';
    return copy;
}

/* Prints a character of `length` bytes if there is an output. */
static void put(const char *s, size_t length, const char *const *replace, FILE *out)
{
    const unsigned char c = (unsigned char)*s;
    const char *other = replace != NULL && c < 128 ? replace[c] : NULL;
    if (out != NULL && other != NULL)
        (void)fputs(other, out);
    else if (out != NULL)
        (void)fwrite(s, 1, length, out);
}

/* cc_text_print for the text before `end`, with or without replacements. */
static size_t print_until(const char *s, const char *end, const char *const *replace, FILE *out)
{
    size_t width = 0;
    while (s < end) {
        unsigned char c = (unsigned char)*s;
        size_t length = cc_printable(s);
        if (length == 0) {
            char escape[8];
            const int n = c == '\n'   ? snprintf(escape, sizeof escape, "\\n")
                          : c == '\t' ? snprintf(escape, sizeof escape, "\\t")
                                      : snprintf(escape, sizeof escape, "\\x%02x", c);
            for (const char *p = escape; *p != '\0'; p++)
                put(p, 1, replace, out);
            width += (size_t)n;
            s++;
            continue;
        }
        put(s, length, replace, out);
        width++;
        s += length;
    }
    return width;
}

/* Brackets and stars are in braces because the end of a row, \\, takes them for its own. */
cc_replacement cc_text_latex = {
    ['\\'] = "\\textbackslash{}",
    ['{'] = "\\{",
    ['}'] = "\\}",
    ['$'] = "\\$",
    ['&'] = "\\&",
    ['#'] = "\\#",
    ['_'] = "\\_",
    ['%'] = "\\%",
    ['~'] = "\\textasciitilde{}",
    ['^'] = "\\textasciicircum{}",
    ['<'] = "\\textless{}",
    ['>'] = "\\textgreater{}",
    ['|'] = "\\textbar{}",
    ['['] = "{[}",
    ['*'] = "{*}",
};

void cc_text_escape(const char *s, const char *const *replace, FILE *out)
{
    (void)print_until(s, s + strlen(s), replace, out);
}

size_t cc_text_print(const char *s, FILE *out)
{
    return print_until(s, s + strlen(s), NULL, out);
}

void cc_text_wrap(const char *s, size_t width, size_t at, size_t indent, FILE *out)
{
    size_t column = at;
    while (*s != '\0') {
        const char *word = s + strspn(s, " "), *end = word + strcspn(word, " ");
        const size_t gap = (size_t)(word - s), length = print_until(word, end, NULL, NULL);
        if (width > 0 && column > at && column + gap + length > width) {
            (void)fprintf(out, "\n%*s", (int)indent, "");
            at = column = indent;
        } else {
            (void)fprintf(out, "%*s", (int)gap, "");
            column += gap;
        }
        column += print_until(word, end, NULL, out);
        s = end;
    }
    (void)fputc('\n', out);
}

/* The significant digits that a table shows, but for whole numbers: more than these depend on the
 * run, and CSV and JSON have them all. */
enum { DIGITS = 4 };

/* Prints a number by a column's format. Decimals of "%.3f" are printed only as far as they are
 * among the first four digits (1330, 275.0, 11.26, 0.004); zero has no sign. */
static void print_number(const char *format, double v, char buffer[CC_VALUE_CAP])
{
    const char *point = format + (format[1] == '+' ? 2 : 1);
    if (strcmp(format, CC_RATE) == 0) {
        cc_print_rate(v, buffer, CC_VALUE_CAP);
        return;
    }
    if (strlen(point) == 3 && point[0] == '.' && point[2] == 'f' && isfinite(v) && v != 0) {
        char rounded[32];
        (void)snprintf(rounded, sizeof rounded, "%.*e", DIGITS - 1, v);
        const int power = (int)floor(log10(fabs(strtod(rounded, NULL))));
        const int most = power < 0 ? DIGITS : power < DIGITS ? DIGITS - 1 - power : 0;
        const int decimals = point[1] - '0';
        (void)snprintf(buffer, CC_VALUE_CAP, format[1] == '+' ? "%+.*f" : "%.*f",
                       decimals < most ? decimals : most, v);
    } else {
        (void)snprintf(buffer, CC_VALUE_CAP, format, v);
    }
    if ((buffer[0] == '-' || buffer[0] == '+') && strpbrk(buffer, "123456789") == NULL)
        memmove(buffer, buffer + 1, strlen(buffer));
}

const char *cc_value_text(const struct cc_value *v, const struct cc_column *c,
                          char buffer[CC_VALUE_CAP])
{
    switch (v->kind) {
    case CC_NULL:
        break;
    case CC_BOOL:
        if (c->key->format != NULL)
            return v->number != 0 ? c->key->format : "";
        return v->number != 0 ? "yes" : "no";
    case CC_TEXT:
        return v->text;
    case CC_NUMBER:
        if (v->text != NULL)
            return v->text;
        print_number(c->key->format != NULL ? c->key->format : "%.6g", v->number * c->key->scale,
                     buffer);
        return buffer;
    }
    return "-";
}

size_t cc_value_print(const struct cc_value *v, const struct cc_column *c, FILE *out)
{
    char buffer[CC_VALUE_CAP];
    return cc_text_print(cc_value_text(v, c, buffer), out);
}

void cc_value_put(const struct cc_value *v, const struct cc_column *c, bool unit,
                  const char *const *replace, FILE *out)
{
    char buffer[CC_VALUE_CAP];
    cc_text_escape(cc_value_text(v, c, buffer), replace, out);
    if (!unit || c->key->unit[0] == '\0')
        return;
    (void)fputc(' ', out);
    cc_text_escape(c->key->unit, replace, out);
}

const char *cc_number_digits(const struct cc_value *v, char buffer[CC_NUMBER_CAP])
{
    if (v->text != NULL)
        return v->text;
    cc_number_print(v->number, buffer);
    return buffer;
}

bool cc_value_same(const struct cc_value *a, const struct cc_value *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->text != NULL && b->text != NULL)
        return strcmp(a->text, b->text) == 0;
    return a->text == b->text && a->number == b->number;
}

bool cc_remarks_any(const struct cc_record *r)
{
    for (size_t i = 0; i < r->note_count; i++)
        if (cc_note_shown(r, i) && !cc_note_above(r, i))
            return true;
    return r->partial || r->error[0] != '\0';
}

void cc_remarks_put(const struct cc_record *r, size_t most, cc_print_remark *print, FILE *out)
{
    size_t count = 0;
    for (int warnings = 1; warnings >= 0; warnings--)
        for (size_t i = 0; i < r->note_count; i++)
            if (cc_note_shown(r, i) && !cc_note_above(r, i) &&
                (r->note_place[i] == CC_NOTE_WARNING) == warnings && (count++ < most || warnings))
                print(r, "", r->notes[i], out);
    if (r->partial)
        print(r, "",
              r->row_count > 0 ? "partial: interrupted; these are the results until then"
                               : "partial: interrupted before the first row",
              out);
    if (r->error[0] != '\0')
        print(r, "error: ", r->error, out);
}

cc_replacement cc_text_html = {
    ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};

void cc_html_print(FILE *out, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    for (const char *next; (next = strchr(fmt, '%')) != NULL;) {
        const bool text = next[1] == 's';
        (void)fwrite(fmt, 1, (size_t)(next - fmt), out);
        if (text)
            cc_text_escape(va_arg(args, const char *), cc_text_html, out);
        else
            (void)fprintf(out, "%zu", va_arg(args, size_t));
        fmt = next + (text ? strlen("%s") : strlen("%zu"));
    }
    (void)fputs(fmt, out);
    va_end(args);
}
