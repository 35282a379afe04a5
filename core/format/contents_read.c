/* Reading tensor files: the suffix of the name chooses the reader. */
#include <string.h>
#include <strings.h>

#include "core/bytes.h"
#include "core/format/compressed.h"
#include "core/format/contents.h"
#include "core/format/csv.h"
#include "core/format/npy.h"
#include "core/format/npz.h"
#include "core/format/safetensors.h"
#include "core/memory.h"

static const char *const suffixes[] = {[CC_SAFETENSORS] = ".safetensors",
                                       [CC_NPY] = ".npy",
                                       [CC_NPZ] = ".npz",
                                       [CC_CSV] = ".csv",
                                       [CC_COMPRESSED] = ".cc"};

int cc_file_format_of(const char *path, enum cc_file_format *out, struct cc_error *e)
{
    size_t length = strlen(path);
    for (unsigned i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        size_t n = strlen(suffixes[i]);
        if (length > n && strcasecmp(path + length - n, suffixes[i]) == 0) {
            *out = (enum cc_file_format)i;
            return CC_OK;
        }
    }
    return cc_fail(e, "%s: unknown suffix; use " CC_TENSOR_FILES, path);
}

int cc_file_format_find(const char *path, enum cc_file_format *out, struct cc_error *e)
{
    struct cc_infile f;
    uint8_t first[CC_HEAD_FIRST] = {0};
    if (!cc_infile_is_stdin(path))
        return cc_file_format_of(path, out, e);
    CC_TRY(cc_infile_open(path, &f, e));
    const size_t size = f.state.size < sizeof first ? f.state.size : sizeof first;
    const int status = cc_infile_read(&f, path, 0, first, size, e);
    cc_infile_close(&f);
    /* safetensors begins with the size of a JSON object, of less than 2^32 bytes, and the object.
     */
    const bool json = first[8] == '{' && cc_get_u32(first + 4) == 0;
    *out = memcmp(first, "\x93NUMPY", 6) == 0       ? CC_NPY
           : memcmp(first, "CCOMP\r\n\x1a", 8) == 0 ? CC_COMPRESSED
           : memcmp(first, "PK\3\4", 4) == 0        ? CC_NPZ
           : json                                   ? CC_SAFETENSORS
                                                    : CC_CSV;
    return status;
}

/* Hands out what was read, or after a failure frees it. */
static int take(int status, struct cc_contents *c, struct cc_contents *out)
{
    if (status == CC_OK)
        *out = *c;
    else
        cc_contents_free(c);
    return status;
}

int cc_contents_parse(enum cc_file_format format, const uint8_t *bytes, size_t file_size,
                      struct cc_contents *out, struct cc_error *e)
{
    typedef int parser(const uint8_t *bytes, size_t size, struct cc_contents *out,
                       struct cc_error *e);
    static parser *const parse[] = {[CC_SAFETENSORS] = cc_safetensors_parse,
                                    [CC_NPY] = cc_npy_parse,
                                    [CC_NPZ] = cc_npz_parse,
                                    [CC_CSV] = cc_csv_parse,
                                    [CC_COMPRESSED] = cc_compressed_parse};
    struct cc_contents c = {0};
    return take(parse[format](bytes, file_size, &c, e), &c, out);
}

/* --- files --- */

size_t cc_contents_head(enum cc_file_format format, const uint8_t *first, size_t file_size)
{
    return format == CC_SAFETENSORS ? cc_safetensors_head(first, file_size)
           : format == CC_NPY       ? cc_npy_head(first, file_size)
                                    : file_size;
}

int cc_contents_read_head(const struct cc_infile *f, const char *path, enum cc_file_format format,
                          struct cc_bytes *out, struct cc_error *e)
{
    const size_t size = f->state.size, some = size < CC_HEAD_FIRST ? size : CC_HEAD_FIRST;
    uint8_t first[CC_HEAD_FIRST];
    CC_TRY(cc_infile_read(f, path, 0, first, some, e));
    struct cc_bytes head = {.size = cc_contents_head(format, first, size)};
    CC_TRY(cc_memory_check(head.size, path, e));
    head.data = cc_alloc(head.size, e);
    if (head.data == NULL)
        return CC_FAIL;
    /* The bytes that gave the size are not read again, for they may have changed. */
    const size_t known = some < head.size ? some : head.size;
    memcpy(head.data, first, known);
    int status = cc_infile_read(f, path, known, head.data + known, head.size - known, e);
    if (status == CC_OK)
        status = cc_infile_check(f, path, &f->state, e);
    if (status == CC_OK)
        *out = head;
    else
        cc_bytes_free(&head);
    return status;
}

int cc_contents_read(const struct cc_infile *f, const char *path, enum cc_file_format format,
                     struct cc_contents *out, struct cc_error *e)
{
    struct cc_bytes head = {.data = NULL};
    struct cc_contents c = {0};
    if (format == CC_NPZ) {
        int status = cc_status_in(cc_npz_read(f, &c, e), e, "%s", path);
        if (status == CC_OK)
            status = cc_infile_check(f, path, &f->state, e);
        return take(status, &c, out);
    }
    CC_TRY(cc_contents_read_head(f, path, format, &head, e));
    const int status = cc_contents_parse(format, head.data, f->state.size, out, e);
    cc_bytes_free(&head);
    return cc_status_in(status, e, "%s", path);
}

/* Reads values that are not float32 block by block. */
static int read_blocks(const struct cc_infile *f, const char *path, enum cc_dtype dtype,
                       size_t offset, size_t n, float *x, struct cc_error *e)
{
    uint8_t block[1 << 15];
    const size_t each = cc_dtype_bytes(dtype), most = sizeof block / each;
    for (size_t at = 0, m; at < n; at += m) {
        m = n - at < most ? n - at : most;
        CC_TRY(cc_infile_read(f, path, offset + at * each, block, m * each, e));
        CC_TRY(cc_stored_values(block, m * each, dtype, m, x + at, e));
    }
    return CC_OK;
}

int cc_stored_read(const struct cc_infile *f, const char *path, enum cc_dtype dtype, size_t offset,
                   size_t n, float *x, struct cc_error *e)
{
    if (dtype == CC_F32)
        return cc_infile_read(f, path, offset, x, n * sizeof *x, e);
    if (dtype != CC_DECIMAL)
        return read_blocks(f, path, dtype, offset, n, x, e);
    struct cc_bytes text;
    CC_TRY(cc_contents_read_head(f, path, CC_CSV, &text, e));
    const int status = cc_stored_values(text.data, text.size, dtype, n, x, e);
    cc_bytes_free(&text);
    return cc_status_in(status, e, "%s", path);
}
