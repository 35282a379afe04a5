/* Every result is first written completely to a file that nobody sees, and
 * published by cc_file_commit.
 *
 * A regular file is written as PATH.tmpPID-N in the same directory, synced, and renamed to PATH. A
 * crash leaves the old file and at most a temporary one.
 *
 * A pipe, a device or a descriptor of this process cannot be renamed to, and opening a pipe blocks
 * until somebody reads it. The result is written to an unnamed temporary file; commit opens the
 * target and copies the result there. Nothing touches the target before that, so creating and
 * aborting is a safe test, and a reader never gets half a result of a failed command. */
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"

static int write_error(const char *path, int reason, struct cc_error *e)
{
    return cc_fail(e, "%s: cannot be written: %s", path, strerror(reason));
}

/* Opens a new file beside o->path. Its name does not end in a suffix of tensor files, so that
 * readers of the directory ignore it. */
static int open_temporary(struct cc_outfile *o, struct cc_error *e)
{
    static atomic_uint serial;
    int fd;
    do {
        free(o->temporary);
        CC_TRY(cc_text(&o->temporary, e, "%s.tmp%ld-%u", o->path, (long)getpid(),
                       atomic_fetch_add(&serial, 1)));
        fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd < 0 && errno == EEXIST);
    if (fd < 0)
        return write_error(o->path, errno, e);
    o->f = fdopen(fd, "w");
    if (o->f == NULL) {
        (void)close(fd);
        (void)unlink(o->temporary);
        return cc_fail(e, "%s: out of memory", o->path);
    }
    return CC_OK;
}

/* The descriptor of this process that the path names, as a process substitution does, or -1. These
 * are duplicated, not opened: if stdout is a regular file, opening /dev/stdout would overwrite what
 * has been printed there, and renaming would replace it. */
static int descriptor_of(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        const size_t n = strlen(folders[i]);
        const char *digits = path + n;
        char *end;
        if (strncmp(path, folders[i], n) != 0 || digits[0] < '0' || digits[0] > '9')
            continue;
        const long fd = strtol(digits, &end, 10);
        if (*end == '\0' && fd <= INT_MAX)
            return (int)fd;
    }
    return -1;
}

bool cc_file_is_stdout(const char *path)
{
    return descriptor_of(path) == STDOUT_FILENO;
}

bool cc_file_is_stream(const char *path)
{
    struct stat st;
    return descriptor_of(path) >= 0 ||
           (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

/* Whether the pipe, device or descriptor may be written, without opening it. */
static int check_stream(const char *path, struct cc_error *e)
{
    const int fd = descriptor_of(path);
    if (fd < 0)
        return access(path, W_OK) == 0 ? CC_OK : write_error(path, errno, e);
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return write_error(path, errno, e);
    return (flags & O_ACCMODE) != O_RDONLY ? CC_OK : cc_fail(e, "%s: is open for reading", path);
}

FILE *cc_file_temporary(const char *what, struct cc_error *e)
{
    const char *folder = getenv("TMPDIR");
    if (folder == NULL || folder[0] == '\0')
        folder = "/tmp";
    char *name;
    if (cc_text(&name, e, "%s/commcomp-XXXXXX", folder) != CC_OK)
        return NULL;
    const int fd = mkostemp(name, O_CLOEXEC);
    FILE *f = fd >= 0 ? fdopen(fd, "w+") : NULL;
    if (f == NULL)
        cc_error_set(e, "%s: no temporary file in %s (TMPDIR): %s", what, folder, strerror(errno));
    if (fd >= 0)
        (void)unlink(name);
    if (fd >= 0 && f == NULL)
        (void)close(fd);
    free(name);
    return f;
}

static void free_names(struct cc_outfile *o)
{
    free(o->path);
    free(o->temporary);
    *o = (struct cc_outfile){0};
}

int cc_file_create(struct cc_outfile *o, const char *path, struct cc_error *e)
{
    int status = CC_OK;
    struct stat st;
    *o = (struct cc_outfile){0};
    if (cc_file_is_stream(path)) {
        CC_TRY(check_stream(path, e));
        CC_TRY(cc_text(&o->path, e, "%s", path));
        o->f = cc_file_temporary(path, e);
        status = o->f != NULL ? CC_OK : CC_FAIL;
        goto out;
    }
    const bool exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode))
        return cc_fail(e, "%s: cannot be written: it is a directory", path);
    if (!exists && lstat(path, &st) == 0)
        return cc_fail(e, "%s: cannot be written: it is a link to nothing; remove it first", path);
    /* A symbolic link stays: the file that it points to is replaced. */
    o->path = exists ? realpath(path, NULL) : cc_strdup(path, NULL);
    if (o->path == NULL)
        return write_error(path, errno, e);
    CC_TRY_OUT(open_temporary(o, e));
    if (exists)
        (void)fchmod(fileno(o->f), st.st_mode & 07777);
out:
    if (status != CC_OK)
        free_names(o);
    return status;
}

int cc_file_can_create(const char *path, struct cc_error *e)
{
    struct cc_outfile o;
    CC_TRY(cc_file_create(&o, path, e));
    cc_file_abort(&o);
    return CC_OK;
}

int cc_file_check(const struct cc_outfile *o, struct cc_error *e)
{
    /* A stream does not keep the reason; errno is usually still that of the write. */
    return ferror(o->f) ? write_error(o->path, errno != 0 ? errno : EIO, e) : CC_OK;
}

/* Copies `from` to the pipe, device or descriptor `path`, opened only now. Returns 0 or an errno.
 * A signal ends it with EINTR: opening waits for a reader, and writing for a slow one. */
static int copy_to_stream(FILE *from, const char *path)
{
    char buffer[1 << 16];
    int reason = 0;
    size_t n;
    const int named = descriptor_of(path);
    if (named >= 0)
        (void)fflush(NULL); /* earlier output comes first */
    const int fd = named >= 0 ? fcntl(named, F_DUPFD_CLOEXEC, 0) : open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    rewind(from);
    while (reason == 0 && (n = fread(buffer, 1, sizeof buffer, from)) > 0) {
        for (size_t at = 0; reason == 0 && at < n;) {
            const ssize_t written = write(fd, buffer + at, n - at);
            if (written < 0)
                reason = errno;
            else
                at += (size_t)written;
        }
    }
    if (reason == 0 && ferror(from))
        reason = EIO;
    if (close(fd) != 0 && reason == 0)
        reason = errno;
    return reason;
}

int cc_file_commit(struct cc_outfile *o, struct cc_error *e)
{
    const bool regular = o->temporary != NULL;
    int reason = 0;
    if (ferror(o->f) || fflush(o->f) != 0)
        reason = errno != 0 ? errno : EIO;
    if (reason == 0 && regular && fsync(fileno(o->f)) != 0)
        reason = errno;
    if (reason == 0 && !regular)
        reason = copy_to_stream(o->f, o->path);
    if (fclose(o->f) != 0 && reason == 0)
        reason = errno;
    if (reason == 0 && regular && rename(o->temporary, o->path) != 0)
        reason = errno;
    if (reason != 0 && regular)
        (void)unlink(o->temporary);
    const int status = reason == 0 ? CC_OK : write_error(o->path, reason, e);
    free_names(o);
    return status;
}

int cc_file_end(struct cc_outfile *o, int status, struct cc_error *e)
{
    if (status == CC_OK)
        return cc_file_commit(o, e);
    cc_file_abort(o);
    return status;
}

void cc_file_abort(struct cc_outfile *o)
{
    if (o->f != NULL)
        (void)fclose(o->f);
    if (o->temporary != NULL)
        (void)unlink(o->temporary);
    free_names(o);
}
