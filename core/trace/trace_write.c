/* Traces are written step by step: a file is complete or absent, and a directory is made under a
 * temporary name and takes its place when all files are there. */
#include "core/trace/trace_write.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/interrupt.h"
#include "core/memory.h"
#include "core/trace/trace_impl.h"
#include "core/trace/trace_step.h"

static int write_values(struct cc_trace *t, size_t stream, size_t step, struct cc_tensor_file *w,
                        struct cc_error *e)
{
    float *x;
    int status = CC_OK;
    CC_TRY(CC_NEW(x, cc_trace_largest(t), e));
    for (size_t i = 0; i < cc_trace_tensors(t); i++) {
        if (cc_interrupted())
            CC_TRY_OUT(cc_fail(e, "interrupted; nothing was written"));
        CC_TRY_OUT(cc_trace_load(t, stream, step, i, x, e));
        CC_TRY_OUT(cc_tensor_file_put(w, x, e));
    }
out:
    free(x);
    return status;
}

int cc_trace_write_step(struct cc_trace *t, size_t stream, size_t step, const char *path,
                        const struct cc_pair *pairs, size_t count, struct cc_error *e)
{
    size_t tensors = cc_trace_tensors(t);
    struct cc_tensor_info *info;
    enum cc_dtype *dtypes = NULL;
    struct cc_tensor_file *w = NULL;
    struct cc_step_pairs own = {.order = NULL};
    int status = CC_OK;
    CC_TRY(CC_NEW(info, tensors, e));
    for (size_t i = 0; i < tensors; i++)
        info[i] = *cc_trace_tensor(t, i);
    CC_TRY_OUT(CC_NEW(dtypes, tensors, e));
    for (size_t i = 0; i < tensors; i++)
        dtypes[i] = cc_element_dtype(t->element_set ? t->element : CC_ELEMENT_FP32);
    if (pairs == NULL) {
        CC_TRY_OUT(cc_step_pairs_make(cc_trace_stream(t, stream),
                                      cc_trace_step_number(t, stream, step), info, tensors, &own,
                                      e));
        pairs = own.pair;
        count = sizeof own.pair / sizeof own.pair[0];
    }
    CC_TRY_OUT(cc_tensor_file_begin(path, info, dtypes, tensors, pairs, count, &w, e));
    status = write_values(t, stream, step, w, e);
    if (status == CC_OK)
        status = cc_tensor_file_commit(w, e);
    else
        cc_tensor_file_abort(w);
out:
    free(info);
    free(dtypes);
    free(own.order);
    return status;
}

/* --- directories --- */

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

int cc_trace_check_directory(const char *path, struct cc_error *e)
{
    DIR *d = opendir(path);
    if (d == NULL && errno == ENOENT)
        return CC_OK;
    if (d == NULL)
        return cc_fail(e, "%s: %s", path, strerror(errno));
    int status = CC_OK;
    for (struct dirent *f = readdir(d); status == CC_OK && f != NULL; f = readdir(d))
        if (!is_dot(f->d_name))
            status = cc_fail(e, "%s is not empty; name a new directory", path);
    (void)closedir(d);
    return status;
}

/* Removes an incomplete directory and the files in it. */
static void remove_directory(const char *path)
{
    DIR *d = opendir(path);
    if (d == NULL)
        return;
    for (struct dirent *f = readdir(d); f != NULL; f = readdir(d))
        if (!is_dot(f->d_name))
            (void)unlinkat(dirfd(d), f->d_name, 0);
    (void)closedir(d);
    (void)rmdir(path);
}

static int write_files(struct cc_trace *t, const char *directory, cc_write_step *write,
                       const char *suffix, void (*progress)(void *context, double done),
                       void *context, uint64_t *files, uint64_t *bytes, struct cc_error *e)
{
    int status = CC_OK;
    size_t streams = cc_trace_streams(t);
    for (size_t s = 0; s < streams; s++) {
        struct cc_trace_sender stream = cc_trace_stream(t, s);
        size_t steps = cc_trace_steps(t, s);
        for (size_t i = 0; status == CC_OK && i < steps; i++) {
            char *path;
            struct stat st;
            CC_TRY(
                cc_step_path(directory, stream, cc_trace_step_number(t, s, i), suffix, &path, e));
            status = write(t, s, i, path, NULL, 0, e);
            *files += 1;
            *bytes += status == CC_OK && stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
            free(path);
            if (progress != NULL)
                progress(context, ((double)s + (double)(i + 1) / (double)steps) / (double)streams);
        }
    }
    return status;
}

int cc_trace_write(struct cc_trace *t, const char *directory, cc_write_step *write,
                   const char *suffix, void (*progress)(void *context, double done), void *context,
                   uint64_t *files, uint64_t *bytes, struct cc_error *e)
{
    char *path = cc_strdup(directory, e), *temporary = NULL;
    size_t n = path == NULL ? 0 : strlen(path);
    int status = path == NULL ? CC_FAIL : cc_trace_check_directory(path, e);
    while (n > 1 && path[n - 1] == '/')
        path[--n] = '\0';
    if (status == CC_OK)
        status = cc_text(&temporary, e, "%s.tmp%ld", path, (long)getpid());
    if (status == CC_OK && mkdir(temporary, 0777) != 0)
        status = cc_fail(e, "%s: cannot be made: %s", directory, strerror(errno));
    CC_TRY_OUT(status);
    *files = *bytes = 0;
    status =
        write_files(t, temporary, write != NULL ? write : cc_trace_write_step,
                    write != NULL ? suffix : CC_STEP_SUFFIX, progress, context, files, bytes, e);
    if (status == CC_OK && rename(temporary, path) != 0)
        status = cc_fail(e, "%s: cannot be made: %s", directory, strerror(errno));
    if (status != CC_OK)
        remove_directory(temporary);
out:
    free(path);
    free(temporary);
    return status;
}
