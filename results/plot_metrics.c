/* The width of texts, so that a page can be laid out before anything is drawn. Widths are those of
 * DejaVu Sans, Debian's default font; Helvetica, Times and Computer Modern are narrower, so what
 * fits with these widths fits with theirs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "results/plot_page.h"

/* The advance widths of the characters from the blank on, in thousandths of the font size. */
static const unsigned short advance[95] = {
    318, 401, 460, 838, 637, 951, 780, 275, 391, 391, 500, 838, 318, 361,  318, 337, 637, 637, 637,
    637, 637, 637, 637, 637, 637, 637, 337, 337, 838, 838, 838, 531, 1000, 685, 687, 699, 771, 632,
    576, 775, 752, 295, 295, 656, 558, 863, 749, 788, 604, 788, 695, 635,  611, 732, 685, 989, 686,
    611, 686, 391, 337, 391, 838, 500, 500, 613, 635, 550, 635, 616, 353,  635, 634, 278, 278, 580,
    278, 975, 634, 612, 635, 635, 412, 521, 393, 634, 592, 818, 592, 592,  525, 637, 337, 637, 838};

/* Characters beyond ASCII, and those of fonts whose characters all have the same width. */
enum { OTHER = 1000, FIXED = 603 };

static bool is_fixed(const char *font)
{
    return font != NULL && (strstr(font, "Mono") != NULL || strstr(font, "Courier") != NULL ||
                            strstr(font, "Typewriter") != NULL);
}

/* The bytes of the character at `text`, and its width in thousandths. */
static size_t next(const char *text, bool fixed, double *width)
{
    const unsigned char c = (unsigned char)*text;
    size_t bytes = 1;
    while (c >= 0xc0 && ((unsigned char)text[bytes] & 0xc0) == 0x80)
        bytes++;
    *width = c < ' ' || c > '~' ? OTHER : advance[c - ' '];
    if (fixed)
        *width = c > '~' ? 2 * FIXED : FIXED;
    return bytes;
}

static double width_of(const char *text, size_t length, const char *font, double size)
{
    const bool fixed = is_fixed(font);
    double sum = 0, width;
    for (size_t at = 0; at < length && text[at] != '\0'; sum += width)
        at += next(text + at, fixed, &width);
    return sum * size / 1000;
}

double cc_text_width(const char *text, const char *font, double size)
{
    return width_of(text, strlen(text), font, size);
}

/* The length of the first line: up to the last blank that fits, or as many characters as fit. */
static size_t line_length(const char *text, const char *font, double size, double width)
{
    const bool fixed = is_fixed(font);
    size_t at = 0, blank = 0;
    double sum = 0, here;
    while (text[at] != '\0') {
        const size_t bytes = next(text + at, fixed, &here);
        if (text[at] == ' ')
            blank = at;
        sum += here * size / 1000;
        if (sum > width && at > 0)
            return blank > 0 ? blank : at;
        at += bytes;
    }
    return at;
}

int cc_text_break(const char *text, const char *font, double size, double width,
                  struct cc_text_lines *out, struct cc_error *e)
{
    *out = (struct cc_text_lines){0};
    while (*text != '\0') {
        if (out->count == CC_MOST_TEXT_LINES)
            return CC_OK;
        const size_t length = line_length(text, font, size, width);
        char *line = cc_alloc0(length + 1, e);
        if (line == NULL)
            return CC_FAIL;
        (void)memcpy(line, text, length);
        out->line[out->count++] = line;
        out->width = fmax(out->width, cc_text_width(line, font, size));
        text += length;
        text += strspn(text, " ");
    }
    return CC_OK;
}

void cc_text_lines_free(struct cc_text_lines *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->line[i]);
    *l = (struct cc_text_lines){0};
}
