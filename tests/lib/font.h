/* The widths of a font's characters, read from its file: a witness for the program's own table. */
#ifndef CC_TESTS_LIB_FONT_H
#define CC_TESTS_LIB_FONT_H

#include <stdbool.h>
#include <stddef.h>

/* Reads DejaVu Sans where Debian installs it; false if it is not there. */
bool font_open(void);
void font_close(void);

/* The width of an ASCII text, relative to the font's size. */
double font_width(const char *text);

#endif
