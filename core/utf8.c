#include "core/utf8.h"

#include <string.h>

size_t cc_utf8_length(const uint8_t *p, size_t left)
{
    uint8_t a = p[0];
    if (a < 0x80)
        return 1;
    size_t length = a >= 0xc2 && a <= 0xdf   ? 2
                    : (a & 0xf0) == 0xe0     ? 3
                    : a >= 0xf0 && a <= 0xf4 ? 4
                                             : 0;
    if (length == 0 || length > left)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((a == 0xe0 && p[1] < 0xa0) || (a == 0xed && p[1] > 0x9f) || (a == 0xf0 && p[1] < 0x90) ||
        (a == 0xf4 && p[1] > 0x8f))
        return 0;
    return length;
}

bool cc_utf8_valid(const uint8_t *text, size_t length, size_t *where)
{
    for (size_t i = 0; i < length;) {
        size_t step = cc_utf8_length(text + i, length - i);
        if (step == 0) {
            *where = i;
            return false;
        }
        i += step;
    }
    return true;
}

size_t cc_printable(const char *s)
{
    const uint8_t *p = (const uint8_t *)s;
    const size_t n = cc_utf8_length(p, strnlen(s, 4));
    uint32_t v = n <= 1 ? p[0] : p[0] & (0x7fU >> n);
    for (size_t i = 1; i < n; i++)
        v = v << 6 | (p[i] & 0x3f);
    const bool control = v < 0x20 || (v >= 0x7f && v < 0xa0);
    const bool direction = (v >= 0x202a && v <= 0x202e) || (v >= 0x2066 && v <= 0x2069);
    return control || direction ? 0 : n;
}

void cc_make_printable(char *s)
{
    while (*s != '\0') {
        const size_t n = cc_printable(s);
        if (n == 0)
            *s = '?';
        s += n > 0 ? n : 1;
    }
}
