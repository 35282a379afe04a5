/* A file that another program writes: through a pipe that a thread reads, so that a write that
 * fails, as on a full disk, is noticed here, whatever the other program makes of it, and the file
 * appears whole or not at all (core/file.h). */
#ifndef CC_NETSIM_LAUNCH_DRAIN_H
#define CC_NETSIM_LAUNCH_DRAIN_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/error.h"
#include "core/file.h"

/* Not to be copied while it is open. */
struct cc_drain {
    int in, out; /* the pipe; the program opens `out` by its path in /proc */
    pthread_t thread;
    atomic_bool stop;
    int reason; /* the errno of the first read or write that failed */
    struct cc_outfile file;
};

/* Begins the file. After success, call exactly one of commit and abort. */
int cc_drain_open(struct cc_drain *d, const char *path, struct cc_error *e);
/* Takes what the program has written until now, which is all if it has ended. */
int cc_drain_commit(struct cc_drain *d, struct cc_error *e);
/* Drops the file. */
void cc_drain_abort(struct cc_drain *d);

#endif
