/* Follows a program that runs ranks: passes on the reports that rank 0 prints, keeps what else is
 * printed, and decides how the run ended. Used for mpirun (launch.c) and smpirun (smpirun.c). */
#ifndef CC_NETSIM_LAUNCH_MONITOR_H
#define CC_NETSIM_LAUNCH_MONITOR_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "netsim/job/job.h"
#include "netsim/job/report.h"
#include "netsim/launch/log_tail.h"
#include "netsim/launch/program.h"

/* Bytes of a stream from which the complete lines have been taken. */
struct cc_line_buffer {
    struct cc_output read;
    size_t searched; /* this many bytes at the beginning hold no newline */
    bool skipping;   /* the current line is too long: dropped up to its newline */
};

struct cc_monitor {
    /* --- set by the caller --- */
    const char *subject;      /* the program in messages about its end: "the simulation" */
    const char *brings;       /* what brings it: "Open MPI brings it (Debian: openmpi-bin)" */
    const char *rank_program; /* its path, for messages */
    const struct cc_job *job;

    /* Callbacks with `arg`. on_report gets each report after the state below has been updated;
     * on_other_line gets every other line, or is NULL: then these go to log_tail. watch is called
     * several times a second, as on_tick is with `tick_arg`. The program is ended when on_report or
     * watch fails, or when on_tick returns true ("interrupted"). */
    int (*on_report)(void *arg, const struct cc_report *r, struct cc_error *e);
    void (*on_other_line)(void *arg, const char *line, size_t length);
    int (*watch)(void *arg, struct cc_error *e);
    /* Writes the message for a program that ended before its ranks were done, or with a failure,
     * when no rank has reported an error, and fails; or has the usual one written, with the text
     * *remedy at its end. `log` is the text of log_tail. */
    int (*explain)(void *arg, const char *log, const char **remedy, struct cc_error *e);
    void *arg;
    bool (*on_tick)(void *arg);
    void *tick_arg;
    double exit_timeout_s; /* for the program and its group to end once they are told to */

    /* --- the program, once it runs --- */
    struct cc_program program;
    struct cc_members members; /* its processes and files */

    /* --- state of the run, from its reports --- */
    bool began; /* the program was started, whatever became of it */
    bool hello, done;
    bool killed;           /* a signal has ended a rank */
    char first_error[400]; /* that, or else the first error that a rank reported, or "" */
    size_t row, step;      /* under way, if in_row */
    bool in_row;
    struct cc_log_tail log_tail;

    /* --- private --- */
    struct cc_line_buffer out, err;
    double ticked; /* time of the last tick */
    double turned; /* time of the loop's last turn */
    double paused; /* seconds for which this process was stopped */
    double looked; /* by the monitor's clock: the last look for stopped members, */
    double stopped_since;
    struct cc_stopped stopped; /* and the one that it found */
    bool stopping;             /* the program is to be ended, */
    int status;                /* with this result */
    struct cc_error *e;
};

/* Starts argv[0] with the job on its stdin (cc_program_start, with members of its own), follows it
 * until it has ended, ending it where a callback asks for that or one of its processes remains
 * stopped, and closes it: none of its processes and files is left. Returns CC_OK if all ranks were
 * done and the exit code is 0. */
int cc_monitor_run(struct cc_monitor *m, const struct cc_program_way *way, char *const argv[],
                   struct cc_error *e);

/* Seconds on a clock that stands still while this process is stopped, as by Ctrl-Z. */
double cc_monitor_now(const struct cc_monitor *m);

#endif
