/* Writing safetensors files. */
#include <stdlib.h>

#include "core/bytes.h"
#include "core/format/safetensors.h"
#include "core/memory_text.h"

const struct cc_safetensors_dtype cc_safetensors_dtypes[] = {
    {"F32", CC_F32},
    {"F16", CC_F16},
    {"BF16", CC_BF16},
    {"F64", CC_F64},
    {"BOOL", CC_U8},
    {"U8", CC_U8},
    {"I8", CC_I8},
    {"U16", CC_U16},
    {"I16", CC_I16},
    {"U32", CC_U32},
    {"I32", CC_I32},
    {"U64", CC_U64},
    {"I64", CC_I64},
    {"F8_E5M2", CC_F8_E5M2},
    {"F8_E4M3", CC_F8_E4M3},
    {"F8_E8M0", CC_FLOAT8},
    {"F8_E4M3FNUZ", CC_FLOAT8},
    {"F8_E5M2FNUZ", CC_FLOAT8},
    {NULL, CC_F32},
};

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

static const char *dtype_name(enum cc_dtype dtype)
{
    const struct cc_safetensors_dtype *d = cc_safetensors_dtypes;
    while (d->dtype != dtype)
        d++;
    return d->name;
}

static void put_tensor(FILE *f, const struct cc_tensor_info *t, enum cc_dtype dtype, size_t begin,
                       size_t end)
{
    put_string(f, t->name);
    (void)fprintf(f, ":{\"dtype\":\"%s\",\"shape\":[", dtype_name(dtype));
    for (int d = 0; d < t->shape.ndim; d++)
        (void)fprintf(f, d == 0 ? "%zu" : ",%zu", t->shape.dim[d]);
    (void)fprintf(f, "],\"data_offsets\":[%zu,%zu]}", begin, end);
}

/* Makes the header as one text, to be freed; its length is written before it. *data is set to the
 * bytes of all values. */
static int make_header(const struct cc_tensor_info *tensors, const enum cc_dtype *dtypes,
                       size_t count, const struct cc_pair *metadata, size_t pairs, char **text,
                       size_t *length, size_t *data, struct cc_error *e)
{
    struct cc_memory_text t;
    CC_TRY(cc_memory_text_begin(&t, "a safetensors header", e));
    FILE *f = t.f;
    (void)fputc('{', f);
    if (pairs > 0) {
        (void)fputs("\"" CC_SAFETENSORS_METADATA "\":{", f);
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
        const enum cc_dtype dtype = dtypes == NULL ? CC_F32 : dtypes[i];
        const size_t end = at + tensors[i].shape.n * cc_dtype_bytes(dtype);
        put_tensor(f, &tensors[i], dtype, at, end);
        at = end;
    }
    (void)fputc('}', f);
    /* The data then begins at a multiple of 8. */
    for (long used = ftell(f); used > 0 && used % 8 != 0; used++)
        (void)fputc(' ', f);
    CC_TRY(cc_memory_text_end(&t, CC_OK, e));
    *text = t.text;
    *length = t.bytes;
    *data = at;
    return CC_OK;
}

int cc_safetensors_begin(struct cc_safetensors_writer *w, const char *path,
                         const struct cc_tensor_info *tensors, const enum cc_dtype *dtypes,
                         size_t count, const struct cc_pair *metadata, size_t pairs,
                         struct cc_error *e)
{
    char *header;
    size_t length;
    *w = (struct cc_safetensors_writer){0};
    CC_TRY(make_header(tensors, dtypes, count, metadata, pairs, &header, &length, &w->left, e));
    int status = length <= CC_SAFETENSORS_HEADER
                     ? cc_file_create(&w->out, path, e)
                     : cc_fail(e, "%s: a header of %zu bytes, more than %d", path, length,
                               CC_SAFETENSORS_HEADER);
    if (status == CC_OK) {
        uint8_t size[CC_SAFETENSORS_LENGTH];
        cc_put_u64(size, length);
        (void)fwrite(size, 1, sizeof size, w->out.f);
        (void)fwrite(header, 1, length, w->out.f);
        status = cc_file_check(&w->out, e);
        if (status != CC_OK)
            cc_file_abort(&w->out);
    }
    free(header);
    return status;
}

int cc_safetensors_bytes(struct cc_safetensors_writer *w, const void *values, size_t bytes,
                         struct cc_error *e)
{
    if (bytes > w->left)
        return cc_fail(e, "%s: %zu bytes more than its tensors hold", w->out.path, bytes - w->left);
    w->left -= bytes;
    if (bytes > 0)
        (void)fwrite(values, 1, bytes, w->out.f);
    return cc_file_check(&w->out, e);
}

int cc_safetensors_commit(struct cc_safetensors_writer *w, struct cc_error *e)
{
    const int status =
        w->left == 0 ? CC_OK
                     : cc_fail(e, "%s: %zu bytes of values are missing", w->out.path, w->left);
    return cc_file_end(&w->out, status, e);
}

void cc_safetensors_abort(struct cc_safetensors_writer *w)
{
    cc_file_abort(&w->out);
}
