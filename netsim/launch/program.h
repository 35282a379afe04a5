/* A program that runs beside this one, perhaps inside a lab, with its input, its output and its
 * end.
 */
#ifndef CC_NETSIM_LAUNCH_PROGRAM_H
#define CC_NETSIM_LAUNCH_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/error.h"
#include "netsim/lab/lab.h"
#include "netsim/launch/members.h"

struct cc_program {
    pid_t pid;
    bool group;   /* it leads a process group of its own */
    int out, err; /* non-blocking read ends of its stdout and stderr; -1: closed */
    bool ended;
    int status; /* as from wait(), once it has ended */
};

/* How a program is started. */
struct cc_program_way {
    struct cc_lab *lab; /* where it runs; NULL: here */
    bool group;      /* it leads a process group, and what is left of that when it ends is killed */
    bool no_network; /* it has a loopback of its own and no other interface, where the system lets
                        this user make a network namespace */
    const struct cc_members *members; /* which it joins; or NULL */
};

/* Starts argv[0], which is looked up in PATH, with `text` on its stdin, as a child of this process;
 * it receives SIGTERM when this process dies. A missing program shows later as exit code 127. */
int cc_program_start(const struct cc_program_way *way, char *const argv[], const char *text,
                     size_t length, struct cc_program *out, struct cc_error *e);

/* Sets p->ended and p->status if it has ended by now. */
int cc_program_poll(struct cc_program *p, struct cc_error *e);

/* Ends it, unless it has ended: SIGTERM, then SIGKILL after `timeout_s`. Waits for the end and
 * fails if SIGKILL does not bring it within the same time. */
int cc_program_stop(struct cc_program *p, double timeout_s, struct cc_error *e);

/* The text that a program has printed on one of its streams. */
struct cc_output {
    char *text;
    size_t length, capacity;
};

/* Appends to it what the stream holds now, up to some 64 KiB, and says whether there may be more.
 * Closes *fd at its end. */
int cc_program_read(int *fd, struct cc_output *o, bool *more, struct cc_error *e);

/* Waits until there is something to read, at most so long. */
void cc_program_await(const struct cc_program *p, double seconds);

/* Closes out and err. */
void cc_program_close(struct cc_program *p);

/* Writes text to a file in memory that has no name and vanishes with its last descriptor. Programs
 * started from here can open it as /proc/<this process>/fd/<*out>. `what` names the contents in
 * messages: "the job". The caller closes *out. */
int cc_program_file(const char *what, const char *text, size_t length, int *out,
                    struct cc_error *e);

/* The path of a program of ours: what the environment variable `variable` names, else `name` in the
 * directory of the running program. The caller frees it; NULL is a failure. `remedy` tells the user
 * in the message how to get the program. */
char *cc_program_beside(const char *name, const char *variable, const char *remedy,
                        struct cc_error *e);

/* Fails if the program is missing, with the remedy, or if this user may not execute it. */
int cc_program_check(const char *path, const char *remedy, struct cc_error *e);

/* Puts a status of wait() into words: "was killed by signal 9 (Killed)". */
void cc_exit_text(int status, char *out, size_t size);

#endif
