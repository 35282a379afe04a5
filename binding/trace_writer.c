/* Writing traces from programs: tensors are declared once, then each step gets its values in that
 * order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binding/impl.h"
#include "core/memory.h"
#include "core/trace/trace_step.h"

struct commcomp_trace_writer {
    char *directory;
    struct cc_names names;
    struct cc_tensor_info *tensors;
    enum cc_dtype *dtypes;
    size_t count, capacity, dtype_capacity;
    size_t next; /* the tensor whose values come next */
    bool begun;  /* a step, whose file is */
    struct cc_safetensors_writer file;
};

int commcomp_trace_writer_new(const char *directory, struct commcomp_trace_writer **out,
                              char *error)
{
    struct cc_error *e = cc_error_of(error);
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return cc_fail(e, "%s: cannot be made: %s", directory, strerror(errno));
    struct commcomp_trace_writer *w;
    CC_TRY(CC_NEW(w, 1, e));
    w->directory = cc_strdup(directory, e);
    if (w->directory == NULL) {
        free(w);
        return CC_FAIL;
    }
    *out = w;
    return CC_OK;
}

int commcomp_trace_writer_tensor(struct commcomp_trace_writer *w, const char *name,
                                 const size_t *dims, int ndim, int dtype, char *error)
{
    static const enum cc_dtype dtypes[] = {[COMMCOMP_F32] = CC_F32,
                                           [COMMCOMP_F16] = CC_F16,
                                           [COMMCOMP_BF16] = CC_BF16,
                                           [COMMCOMP_F64] = CC_F64};
    struct cc_error *e = cc_error_of(error);
    struct cc_shape shape;
    if (w->begun)
        return cc_usage(e, "tensor '%.200s': a step has begun; all of its tensors come before",
                        name);
    if (dtype < 0 || (size_t)dtype >= sizeof dtypes / sizeof dtypes[0])
        return cc_usage(e,
                        "tensor '%.200s': dtype %d is none of float32, float16, bfloat16, float64",
                        name, dtype);
    CC_TRY(cc_shape_make(dims, ndim, &shape, e));
    CC_TRY(CC_GROW(w->tensors, &w->capacity, w->count + 1, e));
    CC_TRY(CC_GROW(w->dtypes, &w->dtype_capacity, w->count + 1, e));
    CC_TRY(cc_names_add(&w->names, name, e));
    w->tensors[w->count] = (struct cc_tensor_info){.name = w->names.name[w->count], .shape = shape};
    w->dtypes[w->count] = dtypes[dtype];
    w->count++;
    return CC_OK;
}

int commcomp_trace_writer_step(struct commcomp_trace_writer *w, int direction, int64_t rank,
                               uint64_t step, char *error)
{
    struct cc_error *e = cc_error_of(error);
    const struct cc_trace_sender sender = {(enum cc_direction)direction, rank};
    char *path;
    CC_TRY(cc_sender_check(rank, direction, e));
    if ((direction == COMMCOMP_PULL) != (rank == -1))
        return cc_usage(e,
                        "rank %lld, direction %d: a worker pushes, and the server, rank -1, is "
                        "who sends pulls",
                        (long long)rank, direction);
    if (w->begun)
        return cc_usage(e, "%s: the step before has not ended", w->directory);
    if (w->count == 0)
        return cc_usage(e, "%s: a step of no tensors; declare them first", w->directory);
    CC_TRY(cc_step_path(w->directory, sender, step, CC_STEP_SUFFIX, &path, e));
    const bool there = access(path, F_OK) == 0;
    const int status =
        there ? cc_fail(e, "%s: is there already; name a new directory", path) : CC_OK;
    free(path);
    CC_TRY(status);
    CC_TRY(cc_step_begin(w->directory, sender, step, w->tensors, w->dtypes, w->count, &w->file, e));
    w->begun = true;
    w->next = 0;
    return CC_OK;
}

int commcomp_trace_writer_values(struct commcomp_trace_writer *w, const void *values, size_t bytes,
                                 char *error)
{
    struct cc_error *e = cc_error_of(error);
    if (!w->begun || w->next == w->count)
        return cc_usage(e,
                        "%s: values without a tensor: each of %zu has some in a step that has "
                        "begun",
                        w->directory, w->count);
    const struct cc_tensor_info *t = &w->tensors[w->next];
    const size_t want = t->shape.n * cc_dtype_bytes(w->dtypes[w->next]);
    if (bytes != want)
        return cc_usage(e, "tensor '%.200s': %zu bytes of values, not %zu", t->name, bytes, want);
    CC_TRY(cc_safetensors_bytes(&w->file, values, bytes, e));
    w->next++;
    return CC_OK;
}

int commcomp_trace_writer_end_step(struct commcomp_trace_writer *w, char *error)
{
    struct cc_error *e = cc_error_of(error);
    if (!w->begun)
        return cc_usage(e, "%s: no step has begun", w->directory);
    w->begun = false;
    if (w->next == w->count)
        return cc_safetensors_commit(&w->file, e);
    cc_safetensors_abort(&w->file);
    return cc_usage(e, "%s: a step of %zu tensors got values of %zu", w->directory, w->count,
                    w->next);
}

void commcomp_trace_writer_free(struct commcomp_trace_writer *w)
{
    if (w == NULL)
        return;
    if (w->begun)
        cc_safetensors_abort(&w->file);
    cc_names_free(&w->names);
    free(w->tensors);
    free(w->dtypes);
    free(w->directory);
    free(w);
}
