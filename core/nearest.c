/* The nearest word has the least edit distance, if that is small for its length; otherwise it is
 * the only one that begins with the given word. */
#include "core/nearest.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/memory.h"

enum { LONGEST = 63, LEAST_PREFIX = 3 };

static int lower(char c)
{
    return tolower((unsigned char)c);
}

/* The Damerau-Levenshtein distance in which no characters are edited twice ("optimal string
 * alignment"): row i of the table holds the distances of the first i characters of a. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), rows[3][LONGEST + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    if (n > LONGEST || m > LONGEST)
        return SIZE_MAX;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            row[j] = cc_smaller(last[j], row[j - 1]) + 1;
            row[j] = cc_smaller(row[j], last[j - 1] + (lower(a[i - 1]) != lower(b[j - 1])));
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                row[j] = cc_smaller(row[j], before[j - 2] + 1);
        }
    }
    return row[m];
}

static size_t common_prefix(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] != '\0' && lower(a[n]) == lower(b[n]))
        n++;
    return n;
}

/* The only entry that begins with the word, or NULL. */
static const char *completed(const char *word, const char *const *list)
{
    const char *found = NULL;
    size_t n = strlen(word);
    for (size_t i = 0; n >= LEAST_PREFIX && list[i] != NULL; i++) {
        if (strncasecmp(list[i], word, n) != 0)
            continue;
        if (found != NULL)
            return NULL;
        found = list[i];
    }
    return found;
}

const char *cc_nearest(const char *word, const char *const *list)
{
    const char *nearest = NULL;
    size_t n = strlen(word), distance = SIZE_MAX, prefix = 0;
    for (size_t i = 0; n > 1 && list[i] != NULL; i++) {
        size_t d = edit_distance(word, list[i]), same = common_prefix(word, list[i]);
        size_t limit = (n < 6 ? 1 : n / 3) + (2 * same >= n);
        if (d > limit || d > distance || (d == distance && same <= prefix))
            continue;
        nearest = list[i];
        distance = d;
        prefix = same;
    }
    return nearest != NULL ? nearest : completed(word, list);
}

int cc_word_find(const char *const *list, const char *word)
{
    for (int i = 0; list[i] != NULL; i++)
        if (strcmp(list[i], word) == 0)
            return i;
    return -1;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *cc_word_twice(const char **text, size_t count)
{
    qsort(text, count, sizeof *text, by_text);
    for (size_t i = 1; i < count; i++)
        if (strcmp(text[i - 1], text[i]) == 0)
            return text[i];
    return NULL;
}

void cc_word_list(const char *const *list, char *out, size_t cap)
{
    out[0] = '\0';
    for (size_t i = 0; list[i] != NULL; i++)
        cc_list_add(out, cap, ", ", "%s", list[i]);
}
