/* Reading the header: tensors are sorted by offset and must cover the data without gap or
 * overlap. */
#include "core/format/safetensors.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/format/json.h"
#include "core/memory.h"

/* `shapes`: only shapes are needed, so types that cannot be loaded are accepted. */
static int parse_dtype(const char *text, bool shapes, enum cc_dtype *out, struct cc_error *e)
{
    static const char *const refused[] = {"F4", "F6_E2M3", "F6_E3M2", "C64"};
    bool known = false;
    for (const struct cc_safetensors_dtype *d = cc_safetensors_dtypes; d->name != NULL; d++) {
        if (strcmp(text, d->name) != 0)
            continue;
        if (shapes || d->dtype < CC_DECIMAL) {
            *out = d->dtype;
            return CC_OK;
        }
        known = true;
    }
    for (unsigned i = 0; i < sizeof refused / sizeof refused[0]; i++)
        known |= strcmp(text, refused[i]) == 0;
    if (known)
        return cc_fail(
            e,
            "its dtype is %s; only F32, F16, BF16, F64, F8_E4M3 and F8_E5M2 are read: convert it, "
            "or leave it out",
            text);
    return cc_fail(e, "unknown dtype \"%.40s\"", text);
}

static int parse_shape(const cJSON *list, struct cc_shape *out, struct cc_error *e)
{
    if (!cJSON_IsArray(list))
        return cc_fail(e, "its shape is not a list");
    size_t dim[CC_MAX_DIMS];
    int ndim = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (ndim == CC_MAX_DIMS)
            return cc_fail(e, "its shape has more than %d dimensions", CC_MAX_DIMS);
        if (!cc_json_size(item, &dim[ndim++]))
            return cc_fail(e, "its shape is not made of whole numbers from 0 to 2^53");
    }
    return cc_shape_make(dim, ndim, out, e);
}

/* Sets all of t but the name; *end is the end of its bytes. */
static int parse_tensor(const cJSON *object, size_t data_size, bool shapes, struct cc_stored *t,
                        size_t *end, struct cc_error *e)
{
    if (!cJSON_IsObject(object))
        return cc_fail(e, "is not described by an object");
    const cJSON *dtype = NULL, *shape = NULL, *offsets = NULL;
    for (const cJSON *c = object->child; c != NULL; c = c->next) {
        if (strcmp(c->string, "dtype") == 0)
            dtype = c;
        else if (strcmp(c->string, "shape") == 0)
            shape = c;
        else if (strcmp(c->string, "data_offsets") == 0)
            offsets = c;
        else
            return cc_fail(e, "unknown key \"%.40s\"", c->string);
    }
    if (dtype == NULL || shape == NULL || offsets == NULL)
        return cc_fail(e, "has no %s",
                       dtype == NULL   ? "dtype"
                       : shape == NULL ? "shape"
                                       : "data_offsets");
    if (!cJSON_IsString(dtype))
        return cc_fail(e, "its dtype is not a string");
    CC_TRY(parse_dtype(dtype->valuestring, shapes, &t->dtype, e));
    CC_TRY(parse_shape(shape, &t->shape, e));
    size_t begin;
    if (!cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 ||
        !cc_json_size(offsets->child, &begin) || !cc_json_size(offsets->child->next, end))
        return cc_fail(e, "its data_offsets are not two whole numbers from 0 to 2^53");
    if (begin > *end || *end > data_size)
        return cc_fail(e, "its data_offsets [%zu, %zu] do not lie within the %zu bytes of data",
                       begin, *end, data_size);
    size_t bytes;
    if (!cc_mul(t->shape.n, cc_dtype_bytes(t->dtype), &bytes) || bytes != *end - begin)
        return cc_fail(e, "its data_offsets [%zu, %zu] do not fit its dtype and shape", begin,
                       *end);
    t->offset = begin;
    return CC_OK;
}

static int by_offset(const void *a, const void *b)
{
    const struct cc_stored *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    /* An empty tensor lies before the one that begins where it does. */
    if ((x->shape.n == 0) != (y->shape.n == 0))
        return x->shape.n == 0 ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Sorts the tensors by offset; they must cover the data without gap or overlap. Then counts offsets
 * from the file's beginning. */
static int check_cover(struct cc_contents *c, size_t data_start, size_t data_size,
                       struct cc_error *e)
{
    if (c->count > 0)
        qsort(c->tensors, c->count, sizeof *c->tensors, by_offset);
    size_t at = 0;
    for (size_t i = 0; i < c->count; i++) {
        struct cc_stored *t = &c->tensors[i];
        if (t->offset != at)
            return cc_fail(e,
                           "tensor \"%.200s\" begins at byte %zu of the data, not at %zu where "
                           "the one before it ends",
                           t->name, t->offset, at);
        at += t->shape.n * cc_dtype_bytes(t->dtype);
        t->offset += data_start;
    }
    if (at != data_size)
        return cc_fail(e,
                       "the tensors cover %zu of %zu bytes of data: the file is cut short, or "
                       "something was appended",
                       at, data_size);
    return CC_OK;
}

static int parse_metadata(const cJSON *object, struct cc_contents *out, struct cc_error *e)
{
    if (!cJSON_IsObject(object))
        return cc_fail(e, CC_SAFETENSORS_METADATA " is not an object");
    for (const cJSON *c = object->child; c != NULL; c = c->next) {
        if (!cJSON_IsString(c))
            return cc_fail(e, CC_SAFETENSORS_METADATA ": the value of \"%.100s\" is not a string",
                           c->string);
        CC_TRY(cc_contents_add_meta(out, c->string, c->valuestring, e));
    }
    return CC_OK;
}

static int parse_header(const cJSON *root, size_t data_start, size_t data_size, bool shapes,
                        struct cc_contents *out, struct cc_error *e)
{
    for (const cJSON *c = root->child; c != NULL; c = c->next) {
        if (strcmp(c->string, CC_SAFETENSORS_METADATA) == 0) {
            CC_TRY(parse_metadata(c, out, e));
            continue;
        }
        struct cc_stored t = {0};
        size_t end;
        CC_TRY(cc_tensor_name_check(c->string, e));
        CC_TRY_IN(parse_tensor(c, data_size, shapes, &t, &end, e), e, "tensor \"%.200s\"",
                  c->string);
        CC_TRY(cc_contents_add(out, c->string, &t.shape, t.dtype, t.offset, e));
    }
    return check_cover(out, data_start, data_size, e);
}

size_t cc_safetensors_head(const uint8_t *first, size_t file_size)
{
    if (file_size < CC_SAFETENSORS_LENGTH)
        return file_size;
    const uint64_t length = cc_get_u64(first);
    return length <= CC_SAFETENSORS_HEADER && length <= file_size - CC_SAFETENSORS_LENGTH
               ? CC_SAFETENSORS_LENGTH + (size_t)length
               : CC_SAFETENSORS_LENGTH;
}

static int parse(const uint8_t *bytes, size_t size, bool shapes, struct cc_contents *out,
                 struct cc_error *e)
{
    if (size < CC_SAFETENSORS_LENGTH)
        return cc_fail(e,
                       "not a safetensors file: %zu bytes are less than the header's length "
                       "takes",
                       size);
    uint64_t length = cc_get_u64(bytes);
    if (length > CC_SAFETENSORS_HEADER)
        return cc_fail(e,
                       "not a safetensors file: its header would have %llu bytes, more than "
                       "%d",
                       (unsigned long long)length, CC_SAFETENSORS_HEADER);
    if (length > size - CC_SAFETENSORS_LENGTH)
        return cc_fail(e,
                       "the file is cut short: its header should have %llu bytes, and %zu "
                       "follow",
                       (unsigned long long)length, size - CC_SAFETENSORS_LENGTH);
    if (length == 0 || bytes[CC_SAFETENSORS_LENGTH] != '{')
        return cc_fail(e, "not a safetensors file: its header does not begin with {");
    cJSON *root;
    CC_TRY_IN(cc_json_parse((const char *)bytes + CC_SAFETENSORS_LENGTH, (size_t)length, &root, e),
              e, "safetensors header");
    size_t data_start = CC_SAFETENSORS_LENGTH + (size_t)length;
    int status = parse_header(root, data_start, size - data_start, shapes, out, e);
    cJSON_Delete(root);
    return status;
}

int cc_safetensors_parse(const uint8_t *bytes, size_t size, struct cc_contents *out,
                         struct cc_error *e)
{
    return parse(bytes, size, false, out, e);
}

int cc_safetensors_shapes(const uint8_t *bytes, size_t size, struct cc_contents *out,
                          struct cc_error *e)
{
    return parse(bytes, size, true, out, e);
}
