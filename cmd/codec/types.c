#include "cmd/codec/types.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/trace/trace_dtype.h"

/* The types that can be given back, by their names in safetensors. Others become float32. */
static const struct {
    const char *name;
    enum cc_dtype type;
} names[] = {{"F32", CC_F32}, {"BF16", CC_BF16}, {"F16", CC_F16}};

#define NAMES     (sizeof names / sizeof names[0])
#define NAME_ROOM 8

static const char *name_of(enum cc_dtype type)
{
    for (size_t i = 0; i < NAMES; i++)
        if (names[i].type == type)
            return names[i].name;
    return names[0].name;
}

/* The types of all tensors, a line each, to be freed; "" if all are float32. */
static int print_types(const struct cc_trace *t, char **out, struct cc_error *e)
{
    const size_t tensors = cc_trace_tensors(t);
    bool other = false;
    char *text = cc_alloc(NAME_ROOM * tensors, e);
    *out = text;
    if (text == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < tensors; i++) {
        const char *name = name_of(cc_trace_dtype(t, i));
        const size_t length = strlen(name);
        other = other || strcmp(name, names[0].name) != 0;
        memcpy(text, name, length);
        text += length;
        *text++ = '\n';
    }
    text[-1] = '\0';
    if (!other)
        (*out)[0] = '\0';
    return CC_OK;
}

int cc_types_add(const struct cc_spec *spec, const struct cc_trace *t, struct cc_pair **pairs,
                 size_t *count, struct cc_error *e)
{
    size_t room = *count;
    char *key = NULL, *value = NULL;
    int status = CC_OK;
    for (size_t i = 0; i < *count; i++)
        if (strcmp((*pairs)[i].key, CC_TYPES_KEY) == 0)
            return cc_fail(e,
                           "the file's metadata have the key %s, which compressed files use; "
                           "rename it",
                           CC_TYPES_KEY);
    if (spec->scheme->flags & CC_LOSSY)
        return CC_OK;
    CC_TRY_OUT(print_types(t, &value, e));
    if (value[0] == '\0')
        goto out;
    key = cc_strdup(CC_TYPES_KEY, e);
    status = key == NULL ? CC_FAIL : CC_GROW(*pairs, &room, *count + 1, e);
    if (status == CC_OK) {
        (*pairs)[(*count)++] = (struct cc_pair){key, value};
        return CC_OK;
    }
out:
    free(key);
    free(value);
    return status;
}

/* The type at *text, which moves on to the next line. */
static bool parse_type(const char **text, enum cc_dtype *out)
{
    const size_t length = strcspn(*text, "\n");
    for (size_t i = 0; i < NAMES; i++)
        if (strlen(names[i].name) == length && memcmp(names[i].name, *text, length) == 0) {
            *out = names[i].type;
            *text += length + ((*text)[length] == '\n');
            return true;
        }
    return false;
}

static int parse_types(const char *text, size_t count, enum cc_dtype *types, struct cc_error *e)
{
    for (size_t i = 0; i < count; i++)
        if (!parse_type(&text, &types[i]))
            return cc_fail(e, "metadata %s: line %zu is not one of F32, BF16 and F16", CC_TYPES_KEY,
                           i + 1);
    return *text == '\0' ? CC_OK
                         : cc_fail(e, "metadata %s: more lines than the file's %zu tensors",
                                   CC_TYPES_KEY, count);
}

int cc_types_take(const struct cc_container *file, enum cc_dtype *types, struct cc_pair *pairs,
                  size_t *count, struct cc_error *e)
{
    const struct cc_container_head *h = &file->head;
    *count = 0;
    for (size_t i = 0; i < file->tensor_count; i++)
        types[i] = CC_F32;
    for (size_t i = 0; i < h->pair_count; i++)
        if (strcmp(h->pairs[i].key, CC_TYPES_KEY) == 0)
            CC_TRY(parse_types(h->pairs[i].value, file->tensor_count, types, e));
        else
            pairs[(*count)++] = h->pairs[i];
    return CC_OK;
}
