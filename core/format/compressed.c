#include "core/format/compressed.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

/* The types that can be given back, by their names in safetensors. Others become float32. */
static const struct {
    const char *word;
    enum cc_dtype type;
} words[] = {{"F32", CC_F32},
             {"BF16", CC_BF16},
             {"F16", CC_F16},
             {"F8_E4M3", CC_F8_E4M3},
             {"F8_E5M2", CC_F8_E5M2}};
enum { WORDS = sizeof words / sizeof words[0] };

const char *cc_types_word(enum cc_dtype type)
{
    for (size_t i = 0; i < WORDS; i++)
        if (words[i].type == type)
            return words[i].word;
    return words[0].word;
}

/* The type at *text, which moves on to the next line. */
static bool parse_type(const char **text, enum cc_dtype *out)
{
    const size_t length = strcspn(*text, "\n");
    for (size_t i = 0; i < WORDS; i++)
        if (strlen(words[i].word) == length && memcmp(words[i].word, *text, length) == 0) {
            *out = words[i].type;
            *text += length + ((*text)[length] == '\n');
            return true;
        }
    return false;
}

static const char *value_of(const struct cc_container *file, const char *key)
{
    const struct cc_container_head *h = &file->head;
    for (size_t i = 0; i < h->pair_count; i++)
        if (strcmp(h->pairs[i].key, key) == 0)
            return h->pairs[i].value;
    return NULL;
}

const char *cc_container_base(const struct cc_container *file)
{
    return value_of(file, CC_BASE_KEY);
}

int cc_container_no_base(const struct cc_container *file, struct cc_error *e)
{
    return cc_container_base(file) == NULL
               ? CC_OK
               : cc_fail(e, "it has differences from a base; `commcomp decode --base FILE` gives "
                            "its values");
}

int cc_container_types(const struct cc_container *file, enum cc_dtype *types, struct cc_error *e)
{
    const char *text = value_of(file, CC_TYPES_KEY);
    for (size_t i = 0; i < file->tensor_count; i++) {
        types[i] = CC_F32;
        if (text != NULL && !parse_type(&text, &types[i]))
            return cc_fail(
                e, "metadata %s: line %zu is not one of F32, BF16, F16, F8_E4M3 and F8_E5M2",
                CC_TYPES_KEY, i + 1);
    }
    if (text != NULL && *text != '\0')
        return cc_fail(e, "metadata %s: more lines than the file's %zu tensors", CC_TYPES_KEY,
                       file->tensor_count);
    return CC_OK;
}

static int add_all(const struct cc_container *file, const enum cc_dtype *types,
                   struct cc_contents *out, struct cc_error *e)
{
    for (size_t i = 0; i < file->tensor_count; i++)
        CC_TRY(
            cc_contents_add(out, file->tensors[i].name, &file->tensors[i].shape, types[i], i, e));
    for (size_t i = 0; i < file->head.pair_count; i++) {
        const struct cc_pair *p = &file->head.pairs[i];
        if (strcmp(p->key, CC_TYPES_KEY) != 0)
            CC_TRY(cc_contents_add_meta(out, p->key, p->value, e));
    }
    return CC_OK;
}

int cc_compressed_parse(const uint8_t *bytes, size_t size, struct cc_contents *out,
                        struct cc_error *e)
{
    struct cc_container file;
    enum cc_dtype *types = NULL;
    int status = CC_OK;
    CC_TRY(cc_container_read(bytes, size, &file, e));
    CC_TRY_OUT(
        cc_container_check(&file, size, cc_container_limit(size), "it is refused as a trace", e));
    CC_TRY_OUT(cc_container_no_base(&file, e));
    CC_TRY_OUT(CC_NEW(types, file.tensor_count, e));
    CC_TRY_OUT(cc_container_types(&file, types, e));
    status = add_all(&file, types, out, e);
out:
    free(types);
    cc_container_free(&file);
    return status;
}
