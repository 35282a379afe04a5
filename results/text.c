#include "results/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/memory.h"

static bool reads_back(double v, int digits, char out[CC_NUMBER_CAP])
{
    (void)snprintf(out, CC_NUMBER_CAP, "%.*g", digits, v);
    return strtod(out, NULL) == v;
}

/* If some number of digits is enough, more are, by halving: except at powers of two, below which
 * doubles are closer together than above. Most results of arithmetic need 16 or 17. */
static int least_digits(double v, char out[CC_NUMBER_CAP])
{
    int exponent, low = 1, high = 15;
    if (fabs(frexp(v, &exponent)) == 0.5)
        return low;
    if (!reads_back(v, high, out))
        return high + 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (reads_back(v, middle, out))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void cc_number_print(double v, char out[CC_NUMBER_CAP])
{
    if (v == 0) {
        (void)snprintf(out, CC_NUMBER_CAP, signbit(v) ? "-0.0" : "0");
    } else if (v == floor(v) && fabs(v) <= 0x1p53) {
        (void)snprintf(out, CC_NUMBER_CAP, "%.0f", v);
    } else {
        int digits = least_digits(v, out);
        while (!reads_back(v, digits, out) && digits < 17)
            digits++;
    }
}

/* The bytes of the UTF-8 character at s, 0 if there is none. */
static size_t utf8_length(const char *s)
{
    unsigned char lead = (unsigned char)*s;
    size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4, where;
    bool whole = strnlen(s, length) == length;
    return whole && cc_utf8_valid((const uint8_t *)s, length, &where) ? length : 0;
}

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
        size_t length = utf8_length(s), taken = length > 0 ? length : 1;
        const char *from = length > 0 ? s : replacement;
        size_t put = length > 0 ? length : sizeof replacement - 1;
        memcpy(to, from, put);
        to += put;
        s += taken;
    }
    *to = '\0';
    return copy;
}

static size_t escape_print(unsigned char c, FILE *out)
{
    if (c != '\n' && c != '\t')
        return out != NULL ? (size_t)fprintf(out, "\\x%02x", c) : 4;
    if (out != NULL)
        (void)fputs(c == '\n' ? "\\n" : "\\t", out);
    return 2;
}

size_t cc_text_print(const char *s, FILE *out)
{
    size_t width = 0;
    while (*s != '\0') {
        unsigned char c = (unsigned char)*s;
        size_t length = utf8_length(s);
        /* U+0080 to U+009F are control characters too. */
        if (length == 0 || c < 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char)s[1] < 0xa0)) {
            width += escape_print(c, out);
            s++;
            continue;
        }
        if (out != NULL)
            (void)fwrite(s, 1, length, out);
        width++;
        s += length;
    }
    return width;
}

size_t cc_value_print(const struct cc_value *v, const struct cc_column *c, FILE *out)
{
    char number[512]; /* %f of the largest double has 309 digits before the point */
    const char *text = number;
    switch (v->kind) {
    case CC_NULL:
        text = "-";
        break;
    case CC_BOOL:
        text = v->number != 0 ? "yes" : "no";
        break;
    case CC_TEXT:
        text = v->text;
        break;
    case CC_NUMBER:
        (void)snprintf(number, sizeof number, c->format != NULL ? c->format : "%.6g",
                       v->number * (c->scale != 0 ? c->scale : 1));
        break;
    }
    return cc_text_print(text, out);
}

bool cc_value_same(const struct cc_value *a, const struct cc_value *b)
{
    if (a->kind != b->kind)
        return false;
    return a->kind == CC_TEXT ? strcmp(a->text, b->text) == 0 : a->number == b->number;
}
