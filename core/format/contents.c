#include "core/format/contents.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

void cc_pairs_free(struct cc_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free((char *)pairs[i].key);
        free((char *)pairs[i].value);
    }
    free(pairs);
}

void cc_contents_free(struct cc_contents *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->tensors[i].name);
    free(c->tensors);
    cc_pairs_free(c->metadata, c->metadata_count);
    *c = (struct cc_contents){0};
}

const char *cc_contents_meta(const struct cc_contents *c, const char *key)
{
    for (size_t i = 0; i < c->metadata_count; i++)
        if (strcmp(c->metadata[i].key, key) == 0)
            return c->metadata[i].value;
    return NULL;
}

int cc_contents_add(struct cc_contents *c, const char *name, const struct cc_shape *shape,
                    enum cc_dtype dtype, size_t offset, struct cc_error *e)
{
    CC_TRY(CC_GROW(c->tensors, &c->capacity, c->count + 1, e));
    char *copy;
    CC_TRY(cc_text(&copy, e, "%s", name));
    c->tensors[c->count++] =
        (struct cc_stored){.name = copy, .shape = *shape, .dtype = dtype, .offset = offset};
    return CC_OK;
}

int cc_contents_add_meta(struct cc_contents *c, const char *key, const char *value,
                         struct cc_error *e)
{
    CC_TRY(CC_GROW(c->metadata, &c->metadata_capacity, c->metadata_count + 1, e));
    char *copy;
    CC_TRY(cc_text(&copy, e, "%s", key));
    c->metadata[c->metadata_count++] = (struct cc_pair){.key = copy, .value = NULL};
    CC_TRY(cc_text(&copy, e, "%s", value));
    c->metadata[c->metadata_count - 1].value = copy;
    return CC_OK;
}

size_t cc_dtype_bytes(enum cc_dtype dtype)
{
    static const size_t bytes[] = {
        [CC_F32] = 4,     [CC_F16] = 2,     [CC_BF16] = 2,    [CC_F64] = 8,
        [CC_F8_E4M3] = 1, [CC_F8_E5M2] = 1, [CC_DECIMAL] = 0, [CC_FLOAT8] = 1,
        [CC_I8] = 1,      [CC_U8] = 1,      [CC_I16] = 2,     [CC_U16] = 2,
        [CC_I32] = 4,     [CC_U32] = 4,     [CC_I64] = 8,     [CC_U64] = 8};
    return bytes[dtype];
}

/* --- the order of tensors by the metadata key `order` --- */

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
    size_t *order = NULL;
    struct named *table = NULL;
    char *copy = NULL;
    int status = CC_OK;
    if (text != NULL)
        CC_TRY(cc_text(&copy, e, "%s", text));
    CC_TRY_OUT(CC_NEW(order, c->count + 1, e));
    CC_TRY_OUT(CC_NEW(table, c->count + 1, e));
    for (size_t i = 0; i < c->count; i++) {
        order[i] = i;
        table[i] = (struct named){.name = c->tensors[i].name, .index = i};
    }
    if (text != NULL) {
        qsort(table, c->count, sizeof *table, by_name);
        CC_TRY_OUT(match_lines(copy, table, c->count, order, e));
    }
    *out = order;
out:
    free(copy);
    free(table);
    if (status != CC_OK)
        free(order);
    return status;
}
