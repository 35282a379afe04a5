/* Text that may be shown on a terminal: names come from files and from others, and control
 * characters would move the cursor, change colours or worse. */
#ifndef CC_CORE_PRINTABLE_H
#define CC_CORE_PRINTABLE_H

#include <stddef.h>

/* The bytes of the UTF-8 character at s if a terminal may get it; 0 for a control character (U+0000
 * to U+001F, U+007F to U+009F), for one that turns the direction of text (U+202A to U+202E, U+2066
 * to U+2069) and for a byte that begins none, as a raw 0x9b. */
size_t cc_printable(const char *s);

/* Replaces by '?' each byte of s that a terminal must not get. */
void cc_make_printable(char *s);

#endif
