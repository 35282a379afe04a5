#include "core/format/safetensors.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/format/json.h"
#include "core/memory.h"
#include "core/memory_text.h"

#define MAX_HEADER   100000000 /* as the format's own reader has it */
#define LENGTH_BYTES 8         /* of the number before the header */
#define METADATA     "__metadata__"

/* --- reading --- */

static const struct {
    const char *name;
    enum cc_dtype dtype;
} dtypes[] = {
    {"F32", CC_F32},
    {"F16", CC_F16},
    {"BF16", CC_BF16},
    {"F64", CC_F64},
    {"BOOL", CC_WHOLE8},
    {"U8", CC_WHOLE8},
    {"I8", CC_WHOLE8},
    {"U16", CC_WHOLE16},
    {"I16", CC_WHOLE16},
    {"U32", CC_WHOLE32},
    {"I32", CC_WHOLE32},
    {"U64", CC_WHOLE64},
    {"I64", CC_WHOLE64},
    {"F8_E5M2", CC_FLOAT8},
    {"F8_E4M3", CC_FLOAT8},
    {"F8_E8M0", CC_FLOAT8},
    {"F8_E4M3FNUZ", CC_FLOAT8},
    {"F8_E5M2FNUZ", CC_FLOAT8},
};

/* `shapes`: only shapes are needed, so types that cannot be loaded are accepted. */
static int parse_dtype(const char *text, bool shapes, enum cc_dtype *out, struct cc_error *e)
{
    static const char *const refused[] = {"F4", "F6_E2M3", "F6_E3M2", "C64"};
    bool known = false;
    for (unsigned i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        if (strcmp(text, dtypes[i].name) != 0)
            continue;
        if (shapes || dtypes[i].dtype < CC_DECIMAL) {
            *out = dtypes[i].dtype;
            return CC_OK;
        }
        known = true;
    }
    for (unsigned i = 0; i < sizeof refused / sizeof refused[0]; i++)
        known |= strcmp(text, refused[i]) == 0;
    if (known)
        return cc_fail(e,
                       "its dtype is %s; only F32, F16, BF16 and F64 are read: convert it, "
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
    if (parse_dtype(dtype->valuestring, shapes, &t->dtype, e) != CC_OK ||
        parse_shape(shape, &t->shape, e) != CC_OK)
        return CC_FAIL;
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
        return cc_fail(e, METADATA " is not an object");
    for (const cJSON *c = object->child; c != NULL; c = c->next) {
        if (!cJSON_IsString(c))
            return cc_fail(e, METADATA ": the value of \"%.100s\" is not a string", c->string);
        if (cc_contents_add_meta(out, c->string, c->valuestring, e) != CC_OK)
            return CC_FAIL;
    }
    return CC_OK;
}

static int parse_header(const cJSON *root, size_t data_start, size_t data_size, bool shapes,
                        struct cc_contents *out, struct cc_error *e)
{
    for (const cJSON *c = root->child; c != NULL; c = c->next) {
        if (strcmp(c->string, METADATA) == 0) {
            if (parse_metadata(c, out, e) != CC_OK)
                return CC_FAIL;
            continue;
        }
        struct cc_stored t = {0};
        size_t end;
        if (cc_tensor_name_check(c->string, e) != CC_OK)
            return CC_FAIL;
        if (parse_tensor(c, data_size, shapes, &t, &end, e) != CC_OK) {
            cc_error_in(e, "tensor \"%.200s\"", c->string);
            return CC_FAIL;
        }
        if (cc_contents_add(out, c->string, &t.shape, t.dtype, t.offset, e) != CC_OK)
            return CC_FAIL;
    }
    return check_cover(out, data_start, data_size, e);
}

size_t cc_safetensors_head(const uint8_t *first, size_t file_size)
{
    if (file_size < LENGTH_BYTES)
        return file_size;
    const uint64_t length = cc_get_u64(first);
    return length <= MAX_HEADER && length <= file_size - LENGTH_BYTES
               ? LENGTH_BYTES + (size_t)length
               : LENGTH_BYTES;
}

static int parse(const uint8_t *bytes, size_t size, bool shapes, struct cc_contents *out,
                 struct cc_error *e)
{
    if (size < LENGTH_BYTES)
        return cc_fail(e,
                       "not a safetensors file: %zu bytes are less than the header's length "
                       "takes",
                       size);
    uint64_t length = cc_get_u64(bytes);
    if (length > MAX_HEADER)
        return cc_fail(e,
                       "not a safetensors file: its header would have %llu bytes, more than "
                       "%d",
                       (unsigned long long)length, MAX_HEADER);
    if (length > size - LENGTH_BYTES)
        return cc_fail(e,
                       "the file is cut short: its header should have %llu bytes, and %zu "
                       "follow",
                       (unsigned long long)length, size - LENGTH_BYTES);
    if (length == 0 || bytes[LENGTH_BYTES] != '{')
        return cc_fail(e, "not a safetensors file: its header does not begin with {");
    cJSON *root;
    if (cc_json_parse((const char *)bytes + LENGTH_BYTES, (size_t)length, &root, e) != CC_OK) {
        cc_error_in(e, "safetensors header");
        return CC_FAIL;
    }
    size_t data_start = LENGTH_BYTES + (size_t)length;
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

/* --- writing --- */

static void put_string(FILE *f, const char *text)
{
    (void)fputc('"', f);
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
        if (*p < 0x20)
            (void)fprintf(f, "\\u%04x", *p);
        else if (*p == '"' || *p == '\\')
            (void)fprintf(f, "\\%c", *p);
        else
            (void)fputc(*p, f);
    }
    (void)fputc('"', f);
}

static void put_tensor(FILE *f, const struct cc_tensor_info *t, size_t begin, size_t end)
{
    put_string(f, t->name);
    (void)fputs(":{\"dtype\":\"F32\",\"shape\":[", f);
    for (int d = 0; d < t->shape.ndim; d++)
        (void)fprintf(f, d == 0 ? "%zu" : ",%zu", t->shape.dim[d]);
    (void)fprintf(f, "],\"data_offsets\":[%zu,%zu]}", begin, end);
}

/* Makes the header as one text, to be freed; its length is written before it. */
static int make_header(const struct cc_tensor_info *tensors, size_t count,
                       const struct cc_pair *metadata, size_t pairs, char **text, size_t *length,
                       struct cc_error *e)
{
    static const char what[] = "a safetensors header";
    struct cc_memory_text t;
    CC_TRY(cc_memory_text_begin(&t, what, e));
    FILE *f = t.f;
    (void)fputc('{', f);
    if (pairs > 0) {
        (void)fputs("\"" METADATA "\":{", f);
        for (size_t i = 0; i < pairs; i++) {
            if (i > 0)
                (void)fputc(',', f);
            put_string(f, metadata[i].key);
            (void)fputc(':', f);
            put_string(f, metadata[i].value);
        }
        (void)fputc('}', f);
    }
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 || pairs > 0)
            (void)fputc(',', f);
        size_t end = at + tensors[i].shape.n * sizeof(float);
        put_tensor(f, &tensors[i], at, end);
        at = end;
    }
    (void)fputc('}', f);
    /* The data then begins at a multiple of 8. */
    for (long used = ftell(f); used > 0 && used % 8 != 0; used++)
        (void)fputc(' ', f);
    CC_TRY(cc_memory_text_end(&t, what, e));
    *text = t.text;
    *length = t.bytes;
    return CC_OK;
}

int cc_safetensors_begin(struct cc_safetensors_writer *w, const char *path,
                         const struct cc_tensor_info *tensors, size_t count,
                         const struct cc_pair *metadata, size_t pairs, struct cc_error *e)
{
    char *header;
    size_t length;
    *w = (struct cc_safetensors_writer){0};
    if (make_header(tensors, count, metadata, pairs, &header, &length, e) != CC_OK)
        return CC_FAIL;
    int status = length <= MAX_HEADER ? cc_file_create(&w->out, path, e)
                                      : cc_fail(e, "%s: a header of %zu bytes, more than %d", path,
                                                length, MAX_HEADER);
    if (status == CC_OK) {
        uint8_t size[LENGTH_BYTES];
        cc_put_u64(size, length);
        (void)fwrite(size, 1, sizeof size, w->out.f);
        (void)fwrite(header, 1, length, w->out.f);
        for (size_t i = 0; i < count; i++)
            w->left += tensors[i].shape.n;
        status = cc_file_check(&w->out, e);
        if (status != CC_OK)
            cc_file_abort(&w->out);
    }
    free(header);
    return status;
}

int cc_safetensors_values(struct cc_safetensors_writer *w, const float *x, size_t n,
                          struct cc_error *e)
{
    if (n > w->left)
        return cc_fail(e, "%s: %zu values more than its tensors hold", w->out.path, n - w->left);
    w->left -= n;
    if (n > 0)
        (void)fwrite(x, sizeof *x, n, w->out.f);
    return cc_file_check(&w->out, e);
}

int cc_safetensors_commit(struct cc_safetensors_writer *w, struct cc_error *e)
{
    if (w->left > 0) {
        int status = cc_fail(e, "%s: %zu values are missing", w->out.path, w->left);
        cc_file_abort(&w->out);
        return status;
    }
    return cc_file_commit(&w->out, e);
}

void cc_safetensors_abort(struct cc_safetensors_writer *w)
{
    cc_file_abort(&w->out);
}
