#include "core/trace_write.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/csv.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/npy.h"
#include "core/reduce.h"
#include "core/safetensors.h"

/* --- one file --- */

/* The metadata's `order`, to be freed. */
static char *make_order(const struct cc_trace *t, struct cc_error *e)
{
    char *text = NULL;
    size_t length;
    FILE *f = open_memstream(&text, &length);
    if (f != NULL) {
        for (size_t i = 0; i < cc_trace_tensors(t); i++)
            (void)fprintf(f, "%s%s", i > 0 ? "\n" : "", cc_trace_tensor(t, i)->name);
        if (fclose(f) != 0) {
            free(text);
            text = NULL;
        }
    }
    if (text == NULL)
        cc_error_set(e, "out of memory");
    return text;
}

static int write_safetensors(struct cc_trace *t, size_t stream, size_t step, const char *path,
                             float *buffer, struct cc_error *e)
{
    struct cc_stream s = cc_trace_stream(t, stream);
    char number[24], rank[24], *order = make_order(t, e);
    if (order == NULL)
        return CC_FAIL;
    (void)snprintf(number, sizeof number, "%" PRIu64, cc_trace_step_number(t, stream, step));
    (void)snprintf(rank, sizeof rank, "%" PRId64, s.rank);
    struct cc_metadata metadata[] = {{"schema", CC_TRACE_SCHEMA},
                                     {"step", number},
                                     {"rank", rank},
                                     {"direction", s.direction == CC_PUSH ? "push" : "pull"},
                                     {"order", order}};
    struct cc_safetensors_writer w;
    int status = cc_safetensors_begin(&w, path, cc_trace_tensor(t, 0), cc_trace_tensors(t),
                                      metadata, sizeof metadata / sizeof metadata[0], e);
    free(order);
    if (status != CC_OK)
        return status;
    for (size_t i = 0; i < cc_trace_tensors(t) && status == CC_OK; i++) {
        const float *x;
        status = cc_trace_load(t, stream, step, i, buffer, &x, e);
        if (status == CC_OK)
            status = cc_safetensors_values(&w, x, cc_trace_tensor(t, i)->shape.n, e);
    }
    if (status == CC_OK)
        return cc_safetensors_commit(&w, e);
    cc_safetensors_abort(&w);
    return status;
}

static int put_values(FILE *f, enum cc_format format, const struct cc_tensor_info *tensor,
                      const struct cc_shape *shape, const float *x, struct cc_error *e)
{
    size_t n = tensor->shape.n;
    if (format == CC_NPY) {
        (void)fwrite(x, sizeof *x, n, f);
        return CC_OK;
    }
    if (!cc_finite_bits(k_reduce()->absmax(x, n)))
        return cc_fail(e, "tensor \"%.200s\" has values that are not finite, which CSV cannot hold",
                       tensor->name);
    cc_csv_put(f, shape, x, n);
    return CC_OK;
}

/* .npy and CSV: one array. */
static int write_array(struct cc_trace *t, size_t stream, size_t step, enum cc_format format,
                       const char *path, float *buffer, struct cc_error *e)
{
    struct cc_shape shape =
        cc_trace_tensors(t) == 1 ? cc_trace_tensor(t, 0)->shape : cc_shape_flat(cc_trace_values(t));
    struct cc_outfile out;
    if (format == CC_CSV && shape.n == 0)
        return cc_fail(e, "%s: CSV cannot hold a tensor without values", path);
    if (cc_file_create(&out, path, e) != CC_OK)
        return CC_FAIL;
    if (format == CC_NPY)
        cc_npy_put_header(out.f, &shape);
    int status = CC_OK;
    for (size_t i = 0; i < cc_trace_tensors(t) && status == CC_OK; i++) {
        const float *x;
        status = cc_trace_load(t, stream, step, i, buffer, &x, e);
        if (status == CC_OK)
            status = put_values(out.f, format, cc_trace_tensor(t, i), &shape, x, e);
    }
    if (status == CC_OK)
        return cc_file_commit(&out, e);
    cc_file_abort(&out);
    cc_error_in(e, "%s", path);
    return status;
}

static int write_step(struct cc_trace *t, size_t stream, size_t step, enum cc_format format,
                      const char *path, float *buffer, struct cc_error *e)
{
    int status = format == CC_SAFETENSORS ? write_safetensors(t, stream, step, path, buffer, e)
                                          : write_array(t, stream, step, format, path, buffer, e);
    cc_trace_release(t, stream, step);
    return status;
}

int cc_trace_write_step(struct cc_trace *t, size_t stream, size_t step, enum cc_format format,
                        const char *path, struct cc_error *e)
{
    float *buffer = cc_alloc(cc_trace_largest(t) * sizeof *buffer, e);
    if (buffer == NULL)
        return CC_FAIL;
    int status = write_step(t, stream, step, format, path, buffer, e);
    free(buffer);
    return status;
}

/* --- all of it --- */

static int is_tensor_file(const struct dirent *d)
{
    enum cc_format format;
    return cc_format_of(d->d_name, &format, NULL) == CC_OK;
}

static int make_directory(const char *path, struct cc_error *e)
{
    if (mkdir(path, 0777) == 0)
        return CC_OK;
    if (errno != EEXIST)
        return cc_fail(e, "%s: cannot be made: %s", path, strerror(errno));
    struct dirent **names;
    int count = scandir(path, &names, is_tensor_file, NULL);
    if (count < 0)
        return cc_fail(e, "%s: cannot be written to: %s", path, strerror(errno));
    int status = CC_OK;
    if (count > 0)
        status = cc_fail(e,
                         "%s: already holds tensor files, as %s; remove them or choose another "
                         "directory",
                         path, names[0]->d_name);
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return status;
}

/* DIRECTORY/push-step000012-rank3.safetensors, to be freed. */
static char *file_name(const struct cc_trace *t, size_t stream, size_t step, enum cc_format format,
                       const char *directory, struct cc_error *e)
{
    struct cc_stream s = cc_trace_stream(t, stream);
    char rank[32] = "", *path;
    if (s.direction == CC_PUSH)
        (void)snprintf(rank, sizeof rank, "-rank%" PRId64, s.rank);
    if (asprintf(&path, "%s/%s-step%06" PRIu64 "%s%s", directory,
                 s.direction == CC_PUSH ? "push" : "pull", cc_trace_step_number(t, stream, step),
                 rank, cc_format_suffix(format)) < 0) {
        cc_error_set(e, "out of memory");
        return NULL;
    }
    return path;
}

int cc_trace_write(struct cc_trace *t, enum cc_format format, const char *directory,
                   void (*progress)(void *context, size_t done, size_t total), void *context,
                   struct cc_error *e)
{
    if (make_directory(directory, e) != CC_OK)
        return CC_FAIL;
    float *buffer = cc_alloc(cc_trace_largest(t) * sizeof *buffer, e);
    size_t total = 0, done = 0;
    int status = buffer != NULL ? CC_OK : CC_FAIL;
    for (size_t s = 0; s < cc_trace_streams(t); s++)
        total += cc_trace_steps(t, s);
    for (size_t s = 0; s < cc_trace_streams(t); s++) {
        for (size_t k = 0; k < cc_trace_steps(t, s) && status == CC_OK; k++) {
            char *path = file_name(t, s, k, format, directory, e);
            status = path != NULL ? write_step(t, s, k, format, path, buffer, e) : CC_FAIL;
            free(path);
            if (status == CC_OK && progress != NULL)
                progress(context, ++done, total);
        }
    }
    free(buffer);
    return status;
}
