#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"

static const uint8_t nothing[1];

static int map_descriptor(int fd, const char *path, struct cc_map *out, struct cc_error *e)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return cc_fail(e, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return cc_fail(e, "%s: is a directory, not a file", path);
    if (!S_ISREG(st.st_mode))
        return cc_fail(e, "%s: not a regular file; copy it to one first", path);
    if (st.st_size == 0) {
        *out = (struct cc_map){.data = nothing};
        return CC_OK;
    }
    size_t size = (size_t)st.st_size;
    void *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return cc_fail(e, "%s: cannot be mapped: %s", path, strerror(errno));
    *out = (struct cc_map){.data = p, .size = size};
    return CC_OK;
}

int cc_map_open(const char *path, struct cc_map *out, struct cc_error *e)
{
    /* O_NONBLOCK: opening a pipe must not wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return cc_fail(e, "%s: cannot be read: %s", path, strerror(errno));
    int status = map_descriptor(fd, path, out, e);
    (void)close(fd);
    return status;
}

void cc_map_close(struct cc_map *m)
{
    if (m->size > 0)
        (void)munmap((void *)(uintptr_t)m->data, m->size);
    *m = (struct cc_map){0};
}

/* Opens a new file beside o->path. The name does not end like a tensor file's, so that whoever
 * reads the directory meanwhile passes it by. */
static int open_temporary(struct cc_outfile *o, struct cc_error *e)
{
    static atomic_uint serial;
    int fd;
    do {
        free(o->temporary);
        if (asprintf(&o->temporary, "%s.tmp%ld-%u", o->path, (long)getpid(),
                     atomic_fetch_add(&serial, 1)) < 0) {
            o->temporary = NULL;
            return cc_fail(e, "%s: out of memory", o->path);
        }
        fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd < 0 && errno == EEXIST);
    if (fd < 0)
        return cc_fail(e, "%s: cannot be written: %s", o->path, strerror(errno));
    o->f = fdopen(fd, "w");
    if (o->f == NULL) {
        (void)close(fd);
        (void)unlink(o->temporary);
        return cc_fail(e, "%s: out of memory", o->path);
    }
    return CC_OK;
}

static void forget(struct cc_outfile *o)
{
    free(o->path);
    free(o->temporary);
    *o = (struct cc_outfile){0};
}

int cc_file_create(struct cc_outfile *o, const char *path, struct cc_error *e)
{
    *o = (struct cc_outfile){0};
    struct stat st;
    int exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode))
        return cc_fail(e, "%s: cannot be written: it is a directory", path);
    /* Through a symbolic link, the file that it points to is replaced, not the link. */
    o->path = exists && S_ISREG(st.st_mode) ? realpath(path, NULL) : cc_strdup(path, NULL);
    if (o->path == NULL)
        return cc_fail(e, "%s: cannot be written: %s", path, strerror(errno));
    int status;
    if (exists && !S_ISREG(st.st_mode)) {
        o->f = fopen(path, "we");
        status =
            o->f != NULL ? CC_OK : cc_fail(e, "%s: cannot be written: %s", path, strerror(errno));
    } else {
        status = open_temporary(o, e);
    }
    if (status == CC_OK && exists && o->temporary != NULL)
        (void)fchmod(fileno(o->f), st.st_mode & 07777);
    if (status != CC_OK)
        forget(o);
    return status;
}

int cc_file_can_create(const char *path, struct cc_error *e)
{
    struct cc_outfile o;
    struct stat st;
    /* To open a pipe may be to wait for its reader, and who reads it would see it end. */
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return CC_OK;
    if (cc_file_create(&o, path, e) != CC_OK)
        return CC_FAIL;
    cc_file_abort(&o);
    return CC_OK;
}

int cc_file_check(const struct cc_outfile *o, struct cc_error *e)
{
    /* A stream does not keep the reason; nothing else has failed since. */
    return ferror(o->f) ? cc_fail(e, "%s: cannot be written: %s", o->path, strerror(errno)) : CC_OK;
}

int cc_file_commit(struct cc_outfile *o, struct cc_error *e)
{
    int bad = ferror(o->f) || fflush(o->f) != 0;
    if (!bad && o->temporary != NULL)
        bad = fsync(fileno(o->f)) != 0;
    int reason = errno;
    if (fclose(o->f) != 0 && !bad) {
        bad = 1;
        reason = errno;
    }
    if (!bad && o->temporary != NULL && rename(o->temporary, o->path) != 0) {
        bad = 1;
        reason = errno;
    }
    int status = CC_OK;
    if (bad) {
        if (o->temporary != NULL)
            (void)unlink(o->temporary);
        status = cc_fail(e, "%s: cannot be written: %s", o->path, strerror(reason));
    }
    forget(o);
    return status;
}

void cc_file_abort(struct cc_outfile *o)
{
    if (o->f != NULL)
        (void)fclose(o->f);
    if (o->temporary != NULL)
        (void)unlink(o->temporary);
    forget(o);
}
