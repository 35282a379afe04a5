#include "tests/lib/xml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

bool xml_next(const char **at, struct xml_tag *t)
{
    const char *open = strchr(*at, '<'), *close = open != NULL ? strchr(open, '>') : NULL;
    if (close == NULL)
        return false;
    *at = close + 1;
    if (open[1] == '?' || open[1] == '!')
        return xml_next(at, t);
    t->end = open[1] == '/';
    t->empty = close[-1] == '/';
    assert_int_equal(sscanf(open + 1 + t->end, "%31[a-zA-Z_]", t->name), 1);
    (void)snprintf(t->text, sizeof t->text, "%.*s", (int)(close - open), open);
    return true;
}

const char *xml_value(const struct xml_tag *t, const char *key)
{
    static char out[8][256];
    static unsigned next;
    char *to = out[next++ % 8], start[40];
    (void)snprintf(start, sizeof start, " %s=\"", key);
    const char *from = strstr(t->text, start);
    to[0] = '\0';
    if (from != NULL)
        (void)sscanf(from + strlen(start), "%255[^\"]", to);
    return to;
}

struct xml_tag xml_find(const char *xml, const char *name, const char *key, const char *is)
{
    struct xml_tag t;
    while (xml_next(&xml, &t))
        if (!t.end && strcmp(t.name, name) == 0 && strcmp(xml_value(&t, key), is) == 0)
            return t;
    fail_msg("no <%s %s=\"%s\">", name, key, is);
    return t;
}

int xml_count(const char *xml, const char *name)
{
    struct xml_tag t;
    int n = 0;
    while (xml_next(&xml, &t))
        n += !t.end && strcmp(t.name, name) == 0;
    return n;
}

void xml_assert_nested(const char *xml)
{
    char open[8][32];
    int depth = 0;
    struct xml_tag t;
    while (xml_next(&xml, &t)) {
        if (t.end) {
            assert_true(depth > 0);
            assert_string_equal(t.name, open[--depth]);
        } else if (!t.empty) {
            assert_true(depth < 8);
            (void)snprintf(open[depth++], 32, "%s", t.name);
        }
    }
    assert_int_equal(depth, 0);
}
