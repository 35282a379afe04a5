#include "core/printable.h"

#include <stdbool.h>
#include <stdint.h>

/* The number of bytes of a character that begins with `lead`, and the least character of that
 * length; 0: none begins so. */
static size_t length_of(unsigned char lead, uint32_t *least)
{
    static const uint32_t from[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t n = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    *least = from[n];
    return lead < 0xf5 ? n : 0;
}

size_t cc_printable(const char *s)
{
    uint32_t least;
    const unsigned char lead = (unsigned char)*s;
    const size_t n = length_of(lead, &least);
    uint32_t v = n <= 1 ? lead : lead & (0x7fU >> n);
    for (size_t i = 1; i < n; i++) {
        const unsigned char c = (unsigned char)s[i];
        if ((c & 0xc0) != 0x80) /* also the end of the text */
            return 0;
        v = v << 6 | (c & 0x3f);
    }
    if (n == 0 || v < least || (v >= 0xd800 && v < 0xe000) || v > 0x10ffff)
        return 0;
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
