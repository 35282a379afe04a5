/* The order of tensors by the metadata key `order`. */
#include <stdlib.h>
#include <string.h>

#include "core/format/contents.h"
#include "core/memory.h"

struct named {
    const char *name;
    size_t index;
};

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* Fills order[] from the lines of `text`, whose newlines become NULs. The table is sorted by name;
 * an index in it becomes SIZE_MAX when it is used. */
static int match_lines(char *text, struct named *table, size_t count, size_t *order,
                       struct cc_error *e)
{
    size_t n = 0;
    for (char *line = text; line != NULL; n++) {
        char *newline = strchr(line, '\n');
        if (newline != NULL)
            *newline++ = '\0';
        const struct named key = {.name = line};
        struct named *found = bsearch(&key, table, count, sizeof *table, by_name);
        if (found == NULL)
            return cc_fail(e, "metadata order names \"%.200s\", which the file does not have",
                           line);
        if (found->index == SIZE_MAX)
            return cc_fail(e, "metadata order names \"%.200s\" twice", line);
        order[n] = found->index;
        found->index = SIZE_MAX;
        line = newline;
    }
    for (size_t i = 0; i < count; i++)
        if (table[i].index != SIZE_MAX)
            return cc_fail(e, "metadata order does not name tensor \"%.200s\"", table[i].name);
    return CC_OK;
}

int cc_contents_order(const struct cc_contents *c, size_t **out, struct cc_error *e)
{
    const char *text = cc_contents_meta(c, "order");
    size_t *order = calloc(c->count + 1, sizeof *order);
    struct named *table = calloc(c->count + 1, sizeof *table);
    char *copy = text != NULL ? cc_strdup(text, e) : NULL;
    int status = CC_OK;
    if (order == NULL || table == NULL || (text != NULL && copy == NULL)) {
        status = cc_fail(e, "out of memory: %zu tensors", c->count);
    } else {
        for (size_t i = 0; i < c->count; i++) {
            order[i] = i;
            table[i] = (struct named){.name = c->tensors[i].name, .index = i};
        }
        if (text != NULL) {
            qsort(table, c->count, sizeof *table, by_name);
            status = match_lines(copy, table, c->count, order, e);
        }
    }
    free(copy);
    free(table);
    if (status == CC_OK)
        *out = order;
    else
        free(order);
    return status;
}
