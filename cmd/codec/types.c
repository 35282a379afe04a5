#include "cmd/codec/types.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/trace/trace_dtype.h"

/* The longest word of a type, and the end of its line. */
#define ROOM 8

/* The types of all tensors, a line each, to be freed; "" if all are float32. */
static int print_types(const struct cc_trace *t, char **out, struct cc_error *e)
{
    const size_t tensors = cc_trace_tensors(t);
    bool other = false;
    char *text = cc_alloc(ROOM * tensors, e);
    *out = text;
    if (text == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < tensors; i++) {
        const char *name = cc_types_word(cc_trace_dtype(t, i));
        const size_t length = strlen(name);
        other = other || strcmp(name, cc_types_word(CC_F32)) != 0;
        memcpy(text, name, length);
        text += length;
        *text++ = '\n';
    }
    text[-1] = '\0';
    if (!other)
        (*out)[0] = '\0';
    return CC_OK;
}

int cc_types_add(const struct cc_trace *t, struct cc_pair **pairs, size_t *count,
                 struct cc_error *e)
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

int cc_types_take(const struct cc_container *file, enum cc_dtype *types, struct cc_pair *pairs,
                  size_t *count, struct cc_error *e)
{
    const struct cc_container_head *h = &file->head;
    *count = 0;
    for (size_t i = 0; i < h->pair_count; i++)
        if (strcmp(h->pairs[i].key, CC_TYPES_KEY) != 0 && strcmp(h->pairs[i].key, CC_BASE_KEY) != 0)
            pairs[(*count)++] = h->pairs[i];
    return cc_container_types(file, types, e);
}
