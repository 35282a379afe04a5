/* A writer of tensors by the suffix of its file. */
#include "core/format/tensorfile.h"

#include <stdbool.h>
#include <stdlib.h>

#include "core/bytes.h"
#include "core/format/compressed.h"
#include "core/format/csv.h"
#include "core/format/npy.h"
#include "core/format/safetensors.h"
#include "core/memory.h"

struct cc_tensor_file {
    enum cc_file_format format;
    const struct cc_tensor_info *tensors;
    const enum cc_dtype *dtypes; /* NULL: float32 */
    size_t count, next;
    struct cc_safetensors_writer safetensors;
    struct cc_outfile out; /* for the other formats */
};

static int format_to_write(const char *path, enum cc_file_format *out, struct cc_error *e)
{
    if (cc_file_format_of(path, out, e) == CC_OK && *out == CC_COMPRESSED)
        return cc_usage(e,
                        "%s: .cc files are written by `commcomp encode`, and by `commcomp trace "
                        "convert --compress`",
                        path);
    if (cc_file_format_of(path, out, e) == CC_OK)
        return *out != CC_NPZ ? CC_OK
                              : cc_usage(e,
                                         "%s: .npz files are only read; write .safetensors or "
                                         ".npy",
                                         path);
    *out = CC_SAFETENSORS;
    return cc_file_is_stream(path) ? CC_OK : CC_USAGE;
}

/* How the file stores a tensor. */
static enum cc_dtype dtype_of(const struct cc_tensor_file *w, size_t tensor)
{
    const enum cc_dtype wanted = w->dtypes == NULL ? CC_F32 : w->dtypes[tensor];
    const bool has = w->format == CC_SAFETENSORS || (w->format == CC_NPY && wanted == CC_F16);
    return has ? wanted : CC_F32;
}

/* Bytes of values as they are. */
static int put_bytes(struct cc_tensor_file *w, const void *bytes, size_t count, struct cc_error *e)
{
    if (w->format == CC_SAFETENSORS)
        return cc_safetensors_bytes(&w->safetensors, bytes, count, e);
    if (count > 0)
        (void)fwrite(bytes, 1, count, w->out.f);
    return cc_file_check(&w->out, e);
}

int cc_tensor_file_check(const char *path, size_t count, struct cc_error *e)
{
    enum cc_file_format format;
    CC_TRY(format_to_write(path, &format, e));
    if (format != CC_SAFETENSORS && count != 1)
        return cc_usage(e,
                        "%s: a file of this format holds one tensor, but there are %zu; write a "
                        ".safetensors file",
                        path, count);
    return CC_OK;
}

int cc_tensor_file_begin(const char *path, const struct cc_tensor_info *tensors,
                         const enum cc_dtype *dtypes, size_t count, const struct cc_pair *metadata,
                         size_t pairs, struct cc_tensor_file **out, struct cc_error *e)
{
    int status = CC_OK;
    CC_TRY(cc_tensor_file_check(path, count, e));
    struct cc_tensor_file *w;
    CC_TRY(CC_NEW(w, 1, e));
    w->tensors = tensors;
    w->dtypes = dtypes;
    w->count = count;
    CC_TRY_OUT(format_to_write(path, &w->format, e));
    if (w->format == CC_CSV && tensors[0].shape.n == 0)
        CC_TRY_OUT(cc_fail(e,
                           "%s: tensor \"%.200s\" is empty, which CSV cannot hold; write a "
                           ".safetensors or .npy file",
                           path, tensors[0].name));
    if (w->format == CC_SAFETENSORS)
        CC_TRY_OUT(cc_safetensors_begin(&w->safetensors, path, tensors, dtypes, count, metadata,
                                        pairs, e));
    else
        CC_TRY_OUT(cc_file_create(&w->out, path, e));
    if (w->format == CC_NPY)
        cc_npy_put_header(w->out.f, dtype_of(w, 0), &tensors[0].shape);
    *out = w;
out:
    if (status != CC_OK)
        free(w);
    return status;
}

/* Fails for values that the reader of CSV would refuse. */
static int check_csv(const struct cc_tensor_file *w, const struct cc_tensor_info *tensor,
                     const float *x, struct cc_error *e)
{
    for (size_t i = 0; i < tensor->shape.n; i++)
        if (!cc_finite(x[i]))
            return cc_fail(e,
                           "%s: tensor \"%.200s\": the value at index %zu is %s, which CSV cannot "
                           "hold; write a .safetensors or .npy file",
                           w->out.path, tensor->name, i, x[i] != x[i] ? "NaN" : "infinite");
    return CC_OK;
}

/* Writes the values in a type shorter than float32. */
static int put_narrow(struct cc_tensor_file *w, const struct cc_tensor_info *tensor,
                      enum cc_dtype dtype, const float *x, struct cc_error *e)
{
    uint8_t bytes[2 * 512];
    const size_t each = cc_dtype_bytes(dtype);
    for (size_t i = 0, m; i < tensor->shape.n; i += m) {
        m = cc_smaller(tensor->shape.n - i, sizeof bytes / each);
        const size_t done = cc_stored_narrow(dtype, x + i, m, bytes);
        if (done < m)
            return cc_fail(e, "%s: tensor \"%.200s\": the value at index %zu is not a number of %s",
                           w->format == CC_SAFETENSORS ? w->safetensors.out.path : w->out.path,
                           tensor->name, i + done, cc_types_word(dtype));
        CC_TRY(put_bytes(w, bytes, each * m, e));
    }
    return CC_OK;
}

int cc_tensor_file_put(struct cc_tensor_file *w, const float *x, struct cc_error *e)
{
    const enum cc_dtype dtype = dtype_of(w, w->next);
    const struct cc_tensor_info *tensor = &w->tensors[w->next++];
    const struct cc_shape *shape = &tensor->shape;
    if (dtype != CC_F32)
        return put_narrow(w, tensor, dtype, x, e);
    if (w->format != CC_CSV)
        return put_bytes(w, x, shape->n * sizeof *x, e);
    CC_TRY(check_csv(w, tensor, x, e));
    cc_csv_put(w->out.f, shape, x, shape->n);
    return cc_file_check(&w->out, e);
}

int cc_tensor_file_commit(struct cc_tensor_file *w, struct cc_error *e)
{
    int status = w->format == CC_SAFETENSORS ? cc_safetensors_commit(&w->safetensors, e)
                                             : cc_file_commit(&w->out, e);
    free(w);
    return status;
}

void cc_tensor_file_abort(struct cc_tensor_file *w)
{
    if (w == NULL)
        return;
    if (w->format == CC_SAFETENSORS)
        cc_safetensors_abort(&w->safetensors);
    else
        cc_file_abort(&w->out);
    free(w);
}

int cc_tensor_file_metadata(const char *path, struct cc_pair **out, size_t *count,
                            struct cc_error *e)
{
    enum cc_file_format format;
    struct cc_infile f;
    struct cc_contents contents;
    *out = NULL;
    *count = 0;
    CC_TRY(cc_file_format_find(path, &format, e));
    if (format != CC_SAFETENSORS && format != CC_COMPRESSED)
        return CC_OK;
    CC_TRY(cc_infile_open(path, &f, e));
    const int status = cc_contents_read(&f, path, format, &contents, e);
    cc_infile_close(&f);
    CC_TRY(status);
    *out = contents.metadata;
    *count = contents.metadata_count;
    contents.metadata = NULL;
    contents.metadata_count = 0;
    cc_contents_free(&contents);
    return CC_OK;
}
