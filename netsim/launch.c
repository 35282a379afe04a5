#include "netsim/launch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/memory.h"
#include "netsim/mpirun.h"
#include "netsim/program.h"
#include "netsim/words.h"

#define TICK_S      0.1
#define PATIENCE_S  5.0  /* for mpirun to end its ranks */
#define GOODBYE_S   10.0 /* for the ranks to leave MPI after the last report */
#define LINE_LENGTH ((size_t)64 << 20)

/* The watchdog. In a lab nothing moves if, over QUIET_S, the links together carry less than
 * QUIET_BYTES and no report comes: TCP's attempts on a dead link and the kernel's own chatter are
 * less. On a cluster other things may pass on the links, and only reports count. */
#define QUIET_S        6.0
#define QUIET_BYTES    20000.0
#define START_S        20.0 /* until the ranks say hello, beside the forecast; and for each rank: */
#define START_RANK_S   0.3
#define CLUSTER_FACTOR 1.5
#define CLUSTER_S      10.0

struct text {
    char *at;
    size_t length, capacity;
    bool overlong; /* the rest of this line is thrown away */
};

struct listener {
    const struct cc_launch_how *how;
    const struct cc_job *job;
    struct cc_program mpirun;
    struct text out, err;
    struct cc_words words;
    bool hello, done;
    char complaint[400]; /* of the first rank that failed */
    size_t row, step;    /* that the last report was about, and whether any was */
    bool in_row;
    double reported, ticked; /* when */
    double deadline;         /* of what is under way */
    double quiet_since;      /* 0: the deadline is not over */
    uint64_t quiet_bytes;    /* what the links had carried by then */
    int status;              /* why it stops, CC_OK: it has not */
    bool stop;
    struct cc_error *e;
};

static void stop(struct listener *l, int status)
{
    if (!l->stop)
        l->status = status;
    l->stop = true;
}

/* --- reports --- */

int cc_launch_carried(const struct cc_report_row *r, const char *device, struct cc_error *e)
{
    /* What is given to MPI passes with headers on top; a tenth is left to what is still on the way
     * when counters are read. */
    if (r->sent_bytes < 0 || r->sent_bytes >= 0.9 * r->given_bytes)
        return CC_OK;
    return cc_fail(e,
                   "%s carried %.0f of the %.0f bytes of a step: MPI used another interface (see "
                   "the parameter btl_tcp_if_include)",
                   device != NULL ? device : "the interface", r->sent_bytes, r->given_bytes);
}

/* "rank 3", and what it is. */
static void name_rank(const struct cc_job *job, int rank, char *out, size_t size)
{
    if (rank < 0 || rank >= job->workers + job->servers)
        (void)snprintf(out, size, "a rank");
    else if (rank < job->workers)
        (void)snprintf(out, size, "rank %d (a worker)", rank);
    else
        (void)snprintf(out, size, "rank %d (a server)", rank);
}

static void set_deadline(struct listener *l)
{
    double due = l->how->due(l->how->arg);
    l->reported = cc_now();
    if (l->how->lab == NULL)
        due = CLUSTER_FACTOR * due + CLUSTER_S;
    if (!l->hello)
        due += START_S + START_RANK_S * (double)(l->job->workers + l->job->servers);
    if (l->complaint[0] != '\0')
        due = PATIENCE_S;
    else if (l->done)
        due = GOODBYE_S;
    l->deadline = l->reported + due;
    l->quiet_since = 0;
}

static int take_report(struct listener *l, const struct cc_report *r)
{
    char who[40];
    switch (r->kind) {
    case CC_REPORT_HELLO:
        l->hello = true;
        break;
    case CC_REPORT_ROW_BEGIN:
    case CC_REPORT_STEP:
        if (r->row >= l->job->rows)
            return cc_fail(l->e, "%s reports row %zu of %zu: is it of another version?",
                           l->how->rank_program, r->row, l->job->rows);
        l->in_row = true;
        l->row = r->row;
        l->step = r->kind == CC_REPORT_STEP ? r->step + 1 : 0;
        break;
    case CC_REPORT_ROW:
        l->in_row = false;
        if (cc_launch_carried(&r->result, l->job->device, l->e) != CC_OK)
            return CC_FAIL;
        break;
    case CC_REPORT_MOMENTS:
    case CC_REPORT_SIZE:
        break;
    case CC_REPORT_DONE:
        l->done = true;
        break;
    case CC_REPORT_ERROR:
        name_rank(l->job, r->rank, who, sizeof who);
        if (l->complaint[0] == '\0')
            (void)snprintf(l->complaint, sizeof l->complaint, "%s: %s", who, r->text);
        break;
    }
    return l->how->hear(l->how->arg, r, l->e);
}

static void take_line(struct listener *l, const char *line, size_t length, bool is_out)
{
    struct cc_report r;
    struct cc_error no;
    if (!is_out || cc_report_parse(line, length, &r, &no) != CC_OK) {
        cc_words_hear(&l->words, line, length);
        return;
    }
    if (!l->stop) {
        int status = take_report(l, &r);
        if (status != CC_OK)
            stop(l, status);
        else
            set_deadline(l);
    }
    cc_report_free(&r);
}

/* --- reading --- */

/* Takes the complete lines; at the end also what no newline follows. */
static void take_lines(struct listener *l, struct text *t, bool is_out, bool end)
{
    size_t from = 0;
    for (;;) {
        const char *newline =
            from < t->length ? memchr(t->at + from, '\n', t->length - from) : NULL;
        if (newline == NULL && (!end || from == t->length))
            break;
        size_t to = newline != NULL ? (size_t)(newline - t->at) : t->length;
        if (!t->overlong)
            take_line(l, t->at + from, to - from, is_out);
        t->overlong = false;
        from = newline != NULL ? to + 1 : to;
    }
    if (from > 0)
        memmove(t->at, t->at + from, t->length - from);
    t->length -= from;
    if (t->length > LINE_LENGTH) {
        t->length = 0;
        t->overlong = true;
    }
}

/* All that is there now; closes *fd at its end. */
static void read_all(struct listener *l, int *fd, struct text *t, bool is_out)
{
    while (*fd >= 0) {
        if (cc_grow((void **)&t->at, &t->capacity, t->length + 65536, 1, l->e) != CC_OK) {
            stop(l, CC_FAIL);
            return;
        }
        ssize_t got = read(*fd, t->at + t->length, t->capacity - t->length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got > 0)
            t->length += (size_t)got;
        take_lines(l, t, is_out, got <= 0);
        if (got <= 0) {
            (void)close(*fd);
            *fd = -1;
        }
    }
}

static void listen_for(struct listener *l, double seconds)
{
    /* poll() passes over a descriptor that is negative. */
    struct pollfd at[2] = {{.fd = l->mpirun.out, .events = POLLIN},
                           {.fd = l->mpirun.err, .events = POLLIN}};
    (void)poll(at, 2, (int)(1e3 * seconds));
    read_all(l, &l->mpirun.out, &l->out, true);
    read_all(l, &l->mpirun.err, &l->err, false);
}

/* --- the watchdog --- */

static void name_work(const struct listener *l, char *out, size_t size)
{
    if (l->done)
        (void)snprintf(out, size, "the end of mpirun");
    else if (!l->hello)
        (void)snprintf(out, size, "the first word of the ranks");
    else if (l->in_row && l->job->kind == CC_JOB_REPLAY)
        (void)snprintf(out, size, "step %zu of row %zu (%.100s)", l->step + 1, l->row + 1,
                       l->job->row[l->row].scheme);
    else
        (void)snprintf(out, size, "the next report");
}

/* Below which the lab's links are quiet: slow ones carry less. */
static double quiet_limit(const struct cc_lab *lab)
{
    double quarter = cc_lab_settings(lab)->bw_bps / 8 * QUIET_S / 4;
    return quarter > 0 && quarter < QUIET_BYTES ? quarter : QUIET_BYTES;
}

static int watch_lab(struct listener *l, double now)
{
    uint64_t bytes;
    char work[200];
    if (cc_lab_traffic(l->how->lab, &bytes, l->e) != CC_OK)
        return CC_FAIL;
    double moved = (double)(bytes - l->quiet_bytes);
    if (l->quiet_since == 0 || moved >= quiet_limit(l->how->lab)) {
        l->quiet_since = now;
        l->quiet_bytes = bytes;
        return CC_OK;
    }
    if (now - l->quiet_since < QUIET_S)
        return CC_OK;
    name_work(l, work, sizeof work);
    return cc_fail(l->e,
                   "nothing moves any more: %s was due after %.1f s and has not come after %.1f s; "
                   "all links together carried %.0f bytes in the last %.1f s. Is a link down, or a "
                   "host stopped?",
                   work, l->deadline - l->reported, now - l->reported, moved, now - l->quiet_since);
}

static int watch(struct listener *l)
{
    char work[200];
    double now = cc_now();
    if (now < l->deadline)
        return CC_OK;
    if (l->complaint[0] != '\0')
        return cc_fail(l->e, "%s", l->complaint);
    if (l->how->lab != NULL && !l->done)
        return watch_lab(l, now);
    name_work(l, work, sizeof work);
    return cc_fail(l->e, "nothing was heard for %.1f s: %s was expected within %.1f s",
                   now - l->reported, work, l->deadline - l->reported);
}

/* --- the end --- */

static void say_exit(int status, char *out, size_t size)
{
    if (WIFSIGNALED(status))
        (void)snprintf(out, size, "was killed by signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    else
        (void)snprintf(out, size, "ended with exit code %d", WEXITSTATUS(status));
}

static int cannot_start(const char *name, const char *why, struct cc_error *e)
{
    return cc_fail(e, "%s could not be started%s%s; Open MPI brings it (Debian: openmpi-bin)", name,
                   why[0] != '\0' ? ": " : "", why);
}

static int judge(struct listener *l, const char *name)
{
    char last[300], how[80];
    int status = l->mpirun.status;
    if (l->complaint[0] != '\0')
        return cc_fail(l->e, "%s", l->complaint);
    if (l->done && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return CC_OK;
    /* A Ctrl-C reaches mpirun as well. */
    if (l->how->tick(l->how->arg))
        return cc_fail(l->e, "interrupted");
    cc_words_say(&l->words, last, sizeof last);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127 && !l->hello)
        return cannot_start(name, last, l->e);
    say_exit(status, how, sizeof how);
    return cc_fail(l->e, "%s %s %s%s%s%s", name, how,
                   l->done ? "although the ranks were done" : "before the ranks were done",
                   last[0] != '\0' ? ": " : "", last, cc_mpirun_remedy(l->how, last));
}

/* mpirun's last words may come a little after its end, and whoever it left behind may hold the
 * other end for longer. */
static void drain(struct listener *l)
{
    for (int i = 0; i < 10 && (l->mpirun.out >= 0 || l->mpirun.err >= 0); i++)
        listen_for(l, 0.05);
}

/* What is to be done several times a second. */
static void look_after(struct listener *l)
{
    if (cc_program_poll(&l->mpirun, l->e) != CC_OK)
        stop(l, CC_FAIL);
    else if (!l->mpirun.ended && l->how->tick(l->how->arg))
        stop(l, cc_fail(l->e, "interrupted"));
    else if (!l->mpirun.ended && watch(l) != CC_OK)
        stop(l, CC_FAIL);
    l->ticked = cc_now();
}

static int follow(struct listener *l, const char *name)
{
    while (!l->stop && !l->mpirun.ended) {
        listen_for(l, TICK_S);
        if (!l->stop && cc_now() - l->ticked >= TICK_S)
            look_after(l);
    }
    if (!l->stop)
        drain(l);
    if (!l->stop)
        return judge(l, name);
    /* The reason for the stop is told, not what comes of it. */
    (void)cc_program_stop(&l->mpirun, PATIENCE_S, NULL);
    return l->status;
}

int cc_launch(const struct cc_launch_how *how, const struct cc_job *job, struct cc_error *e)
{
    struct listener l = {.how = how, .job = job, .e = e};
    char **words = NULL;
    if (access(how->rank_program, X_OK) != 0)
        return cc_fail(e,
                       "%s: %s; make builds it where mpicc is installed (Debian: libopenmpi-dev)",
                       how->rank_program, strerror(errno));
    char *text = cc_job_text(job, e);
    int status = text != NULL ? cc_mpirun_words(how, job, &words, e) : CC_FAIL;
    struct cc_error why = {0};
    if (status == CC_OK &&
        cc_program_start(how->lab, words, text, strlen(text), &l.mpirun, &why) != CC_OK)
        status = cannot_start(words[0], why.text, e);
    if (status == CC_OK) {
        set_deadline(&l);
        status = follow(&l, words[0]);
        cc_program_close(&l.mpirun);
    }
    free(l.out.at);
    free(l.err.at);
    cc_mpirun_free(words);
    free(text);
    return status;
}
