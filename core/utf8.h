/* UTF-8, and the characters of it that a terminal may get: names come from files and from others,
 * and control characters would move the cursor, change colours or worse. */
#ifndef CC_CORE_UTF8_H
#define CC_CORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of the UTF-8 sequence at p, of which `left` >= 1 bytes are there; 0 if it is invalid:
 * no overlong forms, no surrogates, nothing above U+10FFFF. */
size_t cc_utf8_length(const uint8_t *p, size_t left);

/* Whether text[0, length) is valid UTF-8; *where is the first bad byte otherwise. */
bool cc_utf8_valid(const uint8_t *text, size_t length, size_t *where);

/* The bytes of the UTF-8 character at s if a terminal may get it; 0 for a control character (U+0000
 * to U+001F, U+007F to U+009F), for one that turns the direction of text (U+202A to U+202E, U+2066
 * to U+2069) and for a byte that begins none, as a raw 0x9b. */
size_t cc_printable(const char *s);

/* Replaces by '?' each byte of s that a terminal must not get. */
void cc_make_printable(char *s);

#endif
