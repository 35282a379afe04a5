#include "netsim/launch/host_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { SHOWN = 100 }; /* bytes of a wrong name that a message shows */

/* Whether these bytes are letters, digits and some of `others`, at least one. */
static bool consists_of(const char *text, size_t length, const char *others)
{
    bool good = length > 0;
    for (size_t i = 0; i < length; i++)
        good = good && text[i] != '\0' &&
               ((isascii(text[i]) && isalnum((unsigned char)text[i])) ||
                strchr(others, text[i]) != NULL);
    return good;
}

/* A name, or a user's. */
static bool is_plain(const char *text, size_t length)
{
    return consists_of(text, length, ".-_") && text[0] != '-' && text[0] != '.';
}

/* "[fe80::1%eth0]" */
static bool is_bracketed(const char *text, size_t length)
{
    return length > 2 && text[0] == '[' && text[length - 1] == ']' &&
           consists_of(text + 1, length - 2, ".:%-_") && text[1] != '-';
}

/* A host, with slots where they may follow it: a number, "*" or "auto". Open MPI's relative names,
 * "+n2" and "+e:1", are hosts of an allocation. */
static bool is_host(const char *text, size_t length)
{
    const char *at = memchr(text, '@', length);
    if (at != NULL) {
        if (!is_plain(text, (size_t)(at - text)))
            return false;
        length -= (size_t)(at + 1 - text);
        text = at + 1;
    }
    if (length > 1 && text[0] == '+')
        return consists_of(text + 1, length - 1, ":");
    const char *bracket = length > 0 && text[0] == '[' ? memchr(text, ']', length) : NULL;
    const char *from = bracket != NULL ? bracket : text;
    const char *colon = memchr(from, ':', length - (size_t)(from - text));
    const size_t name = colon != NULL ? (size_t)(colon - text) : length;
    const bool slots = colon == NULL || (name + 2 == length && colon[1] == '*') ||
                       consists_of(colon + 1, length - name - 1, "");
    return slots && (is_plain(text, name) || is_bracketed(text, name));
}

int cc_host_list_check(const char *list, struct cc_error *e)
{
    for (size_t host = 1;; host++) {
        const size_t n = strcspn(list, ",");
        if (!is_host(list, n))
            return cc_fail(e, "host %zu: '%.*s' is not the name of a host", host,
                           (int)(n < SHOWN ? n : SHOWN), list);
        if (list[n] == '\0')
            return CC_OK;
        list += n + 1;
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* Whether a word after the host, such as "slots=4" or "user=name", holds nothing that could become
 * an option of ssh: no "-" where a value begins, and no "^", which marks hosts. */
static bool is_attribute(const char *word, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const bool begins =
            i == 0 || word[i - 1] == '=' || word[i - 1] == '"' || word[i - 1] == '\'';
        if (word[i] == '^' || (begins && word[i] == '-'))
            return false;
    }
    return true;
}

/* Checks the words of a line. "^" before a host leaves it out. */
static int check_line(const char *name, size_t number, const char *line, const char *end,
                      struct cc_error *e)
{
    for (bool first = true;; first = false) {
        while (line < end && is_blank(*line))
            line++;
        const char *word = line;
        while (line < end && !is_blank(*line))
            line++;
        const size_t length = (size_t)(line - word);
        if (length == 0 || word[0] == '#' || (length > 1 && memcmp(word, "//", 2) == 0))
            return CC_OK;
        const int shown = (int)(length < SHOWN ? length : SHOWN);
        const size_t excluded = first && word[0] == '^';
        if (first && !is_host(word + excluded, length - excluded))
            return cc_fail(e, "%s: line %zu: '%.*s' is not the name of a host", name, number, shown,
                           word);
        if (!first && !is_attribute(word, length))
            return cc_fail(e, "%s: line %zu: '%.*s' could be taken for an option of ssh", name,
                           number, shown, word);
    }
}

int cc_hostfile_check(const char *name, const char *text, size_t length, struct cc_error *e)
{
    const char *end = text + length;
    for (size_t number = 1; text < end; number++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline != NULL ? newline : end;
        CC_TRY(check_line(name, number, text, stop, e));
        text = newline != NULL ? newline + 1 : end;
    }
    return CC_OK;
}
