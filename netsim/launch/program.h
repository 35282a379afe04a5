/* A program that runs beside this one: inside a lab, or as a child of this process. */
#ifndef CC_NETSIM_LAUNCH_PROGRAM_H
#define CC_NETSIM_LAUNCH_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/error.h"
#include "netsim/lab/lab.h"

struct cc_program {
    struct cc_lab *lab; /* or NULL: a child of this process */
    struct cc_lab_child inside;
    pid_t pid;
    bool group;   /* of processes, which it leads */
    int out, err; /* its stdout and stderr: read ends that do not block */
    bool ended;
    int status; /* of wait(), once it has ended */
};

/* Looked up in PATH; `text` is what it reads on stdin. A child gets SIGTERM when this process dies.
 * That there is no such program is an error, or (of a child) exit code 127. `group`, of a child
 * only: it leads a group of processes, and what is left of them when it ends is killed. */
int cc_program_start(struct cc_lab *lab, char *const argv[], const char *text, size_t length,
                     bool group, struct cc_program *out, struct cc_error *e);
/* Sets p->ended. */
int cc_program_poll(struct cc_program *p, struct cc_error *e);
/* If it has not ended: SIGTERM, and SIGKILL where that does not help within `patience_s`; waits
 * for the end. */
int cc_program_stop(struct cc_program *p, double patience_s, struct cc_error *e);
/* Text as a file that has no name and is gone when all have closed it; others that we may start can
 * open it as /proc/<our process>/fd/<*out>. `what` begins a message: "the job". */
int cc_program_file(const char *what, const char *text, size_t length, int *out,
                    struct cc_error *e);
/* The path of a program that lies beside the one that runs, or that the environment's `variable`
 * names; to be freed. `remedy` says in a message how to get it. */
char *cc_program_beside(const char *name, const char *variable, const char *remedy,
                        struct cc_error *e);
/* Closes the descriptors. */
void cc_program_close(struct cc_program *p);

#endif
