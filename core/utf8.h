/* UTF-8. */
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

#endif
