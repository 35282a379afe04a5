/* Reading input files. Standard input is copied to a temporary file, so that it can be read in any
 * order like others. A file's size and times are taken when it is opened and compared after
 * reading; while its times are too recent for a change to show, opening waits. */
#include "core/infile.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/file.h"
#include "core/memory.h"

/* How old a file's last change is before its state is taken, and how often that is waited for. */
#define RECENT_S 0.02
enum { MOST_TRIES = 50 };

static struct cc_file_state state_of(const struct stat *st)
{
    return (struct cc_file_state){.device = st->st_dev,
                                  .inode = st->st_ino,
                                  .size = (size_t)st->st_size,
                                  .modified = st->st_mtim,
                                  .status_changed = st->st_ctim};
}

bool cc_infile_is_stdin(const char *path)
{
    return strcmp(path, "-") == 0;
}

/* Copies the standard input to `to`. Returns 0 or an errno. */
static int copy_stdin(FILE *to)
{
    char buffer[1 << 16];
    for (;;) {
        const ssize_t n = read(STDIN_FILENO, buffer, sizeof buffer);
        if (n < 0)
            return errno; /* also EINTR: Ctrl-C ends the wait for more */
        if (n == 0)
            return fflush(to) == 0 ? 0 : errno;
        if (fwrite(buffer, 1, (size_t)n, to) != (size_t)n)
            return errno;
    }
}

/* The descriptor of a temporary file with the standard input, for the caller to close; -1 with a
 * message. It is read once, for the rest of the process. */
static int open_stdin(struct cc_error *e)
{
    static FILE *copy;
    if (copy == NULL) {
        FILE *f = cc_file_temporary("the standard input", e);
        if (f == NULL)
            return -1;
        const int reason = copy_stdin(f);
        if (reason != 0) {
            (void)fclose(f);
            cc_error_set(e, "the standard input could not be copied: %s", strerror(reason));
            return -1;
        }
        copy = f;
    }
    const int fd = fcntl(fileno(copy), F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        cc_error_set(e, "the standard input: %s", strerror(errno));
    return fd;
}

static double seconds_since(struct timespec t)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (double)(now.tv_sec - t.tv_sec) + 1e-9 * (double)(now.tv_nsec - t.tv_nsec);
}

/* Whether a change from now on may leave the file's time as it is: times have steps of up to 10 ms.
 * The clock of a server of files may be a little ahead. */
static bool is_recent(struct timespec t)
{
    return fabs(seconds_since(t)) < RECENT_S;
}

/* Takes the state of a regular file, once its last change is so long ago that another one will
 * differ in time. */
static int take_state(struct cc_infile *f, const char *path, struct cc_error *e)
{
    const struct timespec pause = {.tv_nsec = (long)(1e9 * RECENT_S)};
    struct stat st;
    for (int tries = 0; tries < MOST_TRIES; tries++) {
        if (fstat(f->fd, &st) != 0)
            return cc_fail(e, "%s: %s", path, strerror(errno));
        f->state = state_of(&st);
        if (!is_recent(st.st_mtim) && !is_recent(st.st_ctim))
            return CC_OK;
        (void)nanosleep(&pause, NULL);
    }
    return cc_fail(e, "%s: is being written all the time; start again when nobody writes to it",
                   path);
}

int cc_infile_open(const char *path, struct cc_infile *out, struct cc_error *e)
{
    /* O_NONBLOCK: opening a pipe must not wait for a writer. */
    const bool standard = cc_infile_is_stdin(path);
    struct cc_infile f = {.fd = standard ? open_stdin(e)
                                         : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    struct stat st;
    int status = CC_OK;
    if (f.fd < 0 && standard)
        return CC_FAIL;
    if (f.fd < 0)
        return cc_fail(e, "%s: cannot be read: %s", path, strerror(errno));
    if (fstat(f.fd, &st) != 0)
        status = cc_fail(e, "%s: %s", path, strerror(errno));
    else if (S_ISDIR(st.st_mode))
        status = cc_fail(e, "%s: is a directory, not a file", path);
    else if (!S_ISREG(st.st_mode))
        status = cc_fail(e, "%s: not a regular file; copy it to one first", path);
    else if (standard) /* the copy is this program's own */
        f.state = state_of(&st);
    else
        status = take_state(&f, path, e);
    if (status == CC_OK)
        *out = f;
    else
        cc_infile_close(&f);
    return status;
}

static int changed(const char *path, struct cc_error *e)
{
    return cc_fail(e,
                   "%s: the file has changed since it was opened; start again when nobody writes "
                   "to it",
                   path);
}

int cc_infile_read(const struct cc_infile *f, const char *path, size_t offset, void *to,
                   size_t bytes, struct cc_error *e)
{
    uint8_t *at = to;
    while (bytes > 0) {
        const ssize_t n = pread(f->fd, at, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return cc_fail(e, "%s: cannot be read: %s", path, strerror(errno));
        if (n == 0)
            return changed(path, e);
        at += n;
        offset += (size_t)n;
        bytes -= (size_t)n;
    }
    return CC_OK;
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

int cc_infile_check(const struct cc_infile *f, const char *path, const struct cc_file_state *state,
                    struct cc_error *e)
{
    struct stat st;
    if (fstat(f->fd, &st) != 0)
        return cc_fail(e, "%s: %s", path, strerror(errno));
    const struct cc_file_state now = state_of(&st);
    const bool same = now.device == state->device && now.inode == state->inode &&
                      now.size == state->size && same_time(now.modified, state->modified) &&
                      same_time(now.status_changed, state->status_changed);
    return same ? CC_OK : changed(path, e);
}

void cc_infile_close(struct cc_infile *f)
{
    (void)close(f->fd);
    f->fd = -1;
}

int cc_file_read(const char *path, struct cc_bytes *out, struct cc_error *e)
{
    struct cc_infile f;
    struct cc_bytes b = {.data = NULL};
    int status = CC_OK;
    CC_TRY(cc_infile_open(path, &f, e));
    b.size = f.state.size;
    CC_TRY_OUT(cc_memory_check(b.size, path, e));
    b.data = cc_alloc(b.size + 1, e);
    if (b.data == NULL)
        CC_TRY_OUT(cc_fail(e, "%s: out of memory: %zu bytes were asked for", path, b.size + 1));
    CC_TRY_OUT(cc_infile_read(&f, path, 0, b.data, b.size, e));
    CC_TRY_OUT(cc_infile_check(&f, path, &f.state, e));
    b.data[b.size] = 0;
    *out = b;
out:
    cc_infile_close(&f);
    if (status != CC_OK)
        free(b.data);
    return status;
}

void cc_bytes_free(struct cc_bytes *b)
{
    free(b->data);
    *b = (struct cc_bytes){0};
}
