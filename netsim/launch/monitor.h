/* Listening to a program that runs ranks: the reports that rank 0 prints, what else is said, and
 * its end. */
#ifndef CC_NETSIM_LAUNCH_MONITOR_H
#define CC_NETSIM_LAUNCH_MONITOR_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "netsim/job/job.h"
#include "netsim/launch/program.h"
#include "netsim/job/report.h"
#include "netsim/launch/log_tail.h"

/* Lines of a stream, as far as they have come. */
struct cc_monitor_text {
    char *at;
    size_t length, capacity;
    size_t searched; /* in so many there is no newline */
    bool overlong;   /* the rest of this line is thrown away */
};

struct cc_monitor {
    /* --- filled in before --- */
    struct cc_program program; /* started */
    const char *rank_program;
    const struct cc_job *job;
    /* What each report is handed to, after the fields below are brought up to it; a status that is
     * not CC_OK ends the program. */
    int (*on_report)(void *arg, const struct cc_report *r, struct cc_error *e);
    /* What each other line is handed to; NULL: to the last words. */
    void (*other)(void *arg, const char *line, size_t length);
    /* Both several times a second. tick: true ends the program, as interrupted; watch (or NULL):
     * a status that is not CC_OK ends it. */
    bool (*on_tick)(void *arg);
    int (*watch)(void *arg, struct cc_error *e);
    /* The program ended otherwise than it should, and no rank said why: writes the message. */
    int (*explain)(void *arg, const char *last_words, struct cc_error *e);
    void *arg;
    double patience_s; /* for its end once it is to end, and for who it may leave behind */

    /* --- what was heard --- */
    bool hello, done;
    char first_error[400]; /* of the first rank that failed */
    size_t row, step;      /* that the last report was about, and whether any was */
    bool in_row;
    struct cc_log_tail words;

    /* --- its own --- */
    struct cc_monitor_text out, err;
    double ticked;
    int status; /* why it stops; CC_OK: it has not */
    bool stop;
    struct cc_error *e;
};

/* Listens until the program has ended, or ends it, and closes it. Nothing that it heard is kept but
 * in the fields. */
int cc_monitor_run(struct cc_monitor *l, struct cc_error *e);

/* "was killed by signal 9 (Killed)", of a status of wait(). */
void cc_exit_text(int status, char *out, size_t size);

#endif
