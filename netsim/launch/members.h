/* The processes and files of one run of mpirun or smpirun, its members. They are known by the run's
 * mark (netsim/lab/mark.h), so none of them is left, and stopped ones are found. */
#ifndef CC_NETSIM_LAUNCH_MEMBERS_H
#define CC_NETSIM_LAUNCH_MEMBERS_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/error.h"
#include "netsim/lab/mark.h"

struct cc_members {
    char mark[CC_MARK_DIGITS + 1];
    char *folder; /* TMPDIR of the run, or NULL */
    pid_t keeper; /* of the folder; -1: none */
    int hold;     /* the keeper acts at the end of this pipe */
};

/* Draws a mark. With `files`, also makes a folder for temporary files in TMPDIR and starts the
 * keeper, a process that ends the run and removes its files if this process ends without closing
 * them. Without it, the run's processes and files end otherwise, as with a lab. After success, call
 * cc_members_close. */
int cc_members_open(struct cc_members *m, bool files, struct cc_error *e);

/* With files: kills the members on this machine, removes the folder and the folders in /dev/shm,
 * and ends the keeper. Does nothing to a zeroed *m. */
void cc_members_close(struct cc_members *m);

/* Makes this process, and those that it starts, members of the run; called between fork and exec.
 * Returns whether there was memory for it. */
bool cc_members_enter(const struct cc_members *m);

/* A member that is stopped, as by SIGSTOP. */
struct cc_stopped {
    pid_t pid;     /* 0: none is */
    char name[80]; /* "commcomp-rank of rank 3" */
};

/* Looks for a stopped member on this machine, in a lab too; for out->pid first, if that is not 0.
 * Reads /proc. */
void cc_members_stopped(const struct cc_members *m, struct cc_stopped *out);

#endif
