/* Reads TrueType: the tables head (units), hhea and hmtx (advance widths) and cmap, format 4
 * (characters to glyphs). All numbers are big-endian. */
#include "tests/lib/font.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *file;
static long length;
static size_t advances, map;
static unsigned units, metrics;

static unsigned u16(size_t at)
{
    assert_true(at + 2 <= (size_t)length);
    return (unsigned)file[at] << 8 | file[at + 1];
}

static size_t u32(size_t at)
{
    return (size_t)u16(at) << 16 | u16(at + 2);
}

static size_t table(const char *tag)
{
    for (unsigned i = 0; i < u16(4); i++)
        if (memcmp(file + 12 + 16 * (size_t)i, tag, 4) == 0)
            return u32(12 + 16 * (size_t)i + 8);
    fail_msg("the font has no table %s", tag);
    return 0;
}

bool font_open(void)
{
    FILE *f = fopen("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "rb");
    if (f == NULL)
        return false;
    (void)fseek(f, 0, SEEK_END);
    length = ftell(f);
    rewind(f);
    file = malloc((size_t)length);
    assert_non_null(file);
    assert_int_equal(fread(file, 1, (size_t)length, f), length);
    (void)fclose(f);
    units = u16(table("head") + 18);
    metrics = u16(table("hhea") + 34);
    advances = table("hmtx");
    const size_t cmap = table("cmap");
    map = 0;
    for (unsigned i = 0; i < u16(cmap + 2); i++) {
        const size_t at = cmap + u32(cmap + 4 + 8 * (size_t)i + 4);
        map = u16(at) == 4 ? at : map;
    }
    assert_true(map > 0);
    return true;
}

void font_close(void)
{
    free(file);
    file = NULL;
}

static unsigned glyph(unsigned c)
{
    const size_t segments = u16(map + 6) / 2, ends = map + 14, begins = ends + 2 * segments + 2;
    for (size_t i = 0; i < segments; i++) {
        const unsigned begin = u16(begins + 2 * i);
        const size_t delta = begins + 2 * segments + 2 * i, offset = delta + 2 * segments;
        if (c > u16(ends + 2 * i))
            continue;
        if (c < begin)
            return 0;
        if (u16(offset) == 0)
            return (c + u16(delta)) & 0xffff;
        return (u16(offset + u16(offset) + 2 * (size_t)(c - begin)) + u16(delta)) & 0xffff;
    }
    return 0;
}

double font_width(const char *text)
{
    double sum = 0;
    for (; *text != '\0'; text++) {
        const unsigned g = glyph((unsigned char)*text);
        sum += u16(advances + 4 * (size_t)(g < metrics ? g : metrics - 1));
    }
    return sum / units;
}
