#include "netsim/launch/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* How long the thread waits before it looks whether it is to stop. */
#define TICK_MS 50

/* Copies until the pipe's other ends are closed, or until it is empty once `stop` is set: a process
 * that was left over may hold an end open. After a write that failed it goes on reading, so that
 * the program does not wait for room. */
static void *copy(void *arg)
{
    struct cc_drain *d = arg;
    char block[1 << 16];
    for (;;) {
        const bool last = atomic_load(&d->stop);
        struct pollfd p = {.fd = d->in, .events = POLLIN};
        (void)poll(&p, 1, last ? 0 : TICK_MS);
        const ssize_t n = read(d->in, block, sizeof block);
        if (n > 0 && d->reason == 0 && fwrite(block, 1, (size_t)n, d->file.f) != (size_t)n)
            d->reason = errno;
        const bool later = n < 0 && (errno == EAGAIN || errno == EINTR);
        if (n < 0 && !later && d->reason == 0)
            d->reason = errno;
        if (n == 0 || (later ? last : n < 0))
            return NULL;
    }
}

/* The thread takes no signals: the program's handlers are meant for its first one. */
static int start_thread(struct cc_drain *d)
{
    sigset_t all, old;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    const int error = pthread_create(&d->thread, NULL, copy, d);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
}

int cc_drain_open(struct cc_drain *d, const char *path, struct cc_error *e)
{
    int ends[2], error;
    *d = (struct cc_drain){.in = -1, .out = -1};
    CC_TRY(cc_file_create(&d->file, path, e));
    error = pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno;
    if (error == 0) {
        d->in = ends[0];
        d->out = ends[1];
        (void)fcntl(d->in, F_SETFL, O_NONBLOCK);
        error = start_thread(d);
    }
    if (error == 0)
        return CC_OK;
    if (d->in >= 0) {
        (void)close(d->in);
        (void)close(d->out);
    }
    cc_file_abort(&d->file);
    return cc_fail(e, "%s: no pipe to write it through: %s", path, strerror(error));
}

static void end_thread(struct cc_drain *d)
{
    (void)close(d->out);
    atomic_store(&d->stop, true);
    (void)pthread_join(d->thread, NULL);
    (void)close(d->in);
}

int cc_drain_commit(struct cc_drain *d, struct cc_error *e)
{
    end_thread(d);
    if (d->reason == 0)
        return cc_file_commit(&d->file, e);
    const int status = cc_fail(e, "%s: cannot be written: %s", d->file.path, strerror(d->reason));
    cc_file_abort(&d->file);
    return status;
}

void cc_drain_abort(struct cc_drain *d)
{
    end_thread(d);
    cc_file_abort(&d->file);
}
