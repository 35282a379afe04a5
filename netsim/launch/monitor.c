#include "netsim/launch/monitor.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/memory.h"

#define TICK_S      0.1
#define LAST_S      0.5 /* for the last words of a program that has ended */
#define LINE_LENGTH ((size_t)64 << 20)

static void stop(struct cc_monitor *l, int status)
{
    if (!l->stop)
        l->status = status;
    l->stop = true;
}

/* --- reports --- */

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

static int take_report(struct cc_monitor *l, const struct cc_report *r)
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
                           l->rank_program, r->row, l->job->rows);
        l->in_row = true;
        l->row = r->row;
        l->step = r->kind == CC_REPORT_STEP ? r->step + 1 : 0;
        break;
    case CC_REPORT_ROW:
        l->in_row = false;
        break;
    case CC_REPORT_EVENTS:
    case CC_REPORT_SIZE:
        break;
    case CC_REPORT_DONE:
        l->done = true;
        break;
    case CC_REPORT_ERROR:
        name_rank(l->job, r->rank, who, sizeof who);
        if (l->first_error[0] == '\0')
            (void)snprintf(l->first_error, sizeof l->first_error, "%s: %s", who, r->text);
        break;
    }
    return l->on_report(l->arg, r, l->e);
}

static void take_line(struct cc_monitor *l, const char *line, size_t length, bool is_out)
{
    struct cc_report r;
    struct cc_error no;
    if (!is_out || cc_report_parse(line, length, &r, &no) != CC_OK) {
        if (l->other != NULL)
            l->other(l->arg, line, length);
        else
            cc_log_tail_add(&l->words, line, length);
        return;
    }
    if (!l->stop) {
        int status = take_report(l, &r);
        if (status != CC_OK)
            stop(l, status);
    }
    cc_report_free(&r);
}

/* --- reading --- */

/* Takes the complete lines; at the end also what no newline follows. */
static void take_lines(struct cc_monitor *l, struct cc_monitor_text *t, bool is_out, bool end)
{
    size_t from = 0;
    for (;;) {
        size_t look = from > t->searched ? from : t->searched;
        const char *newline =
            look < t->length ? memchr(t->at + look, '\n', t->length - look) : NULL;
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
    t->searched = t->length;
}

/* All that is there now; closes *fd at its end. */
static void read_all(struct cc_monitor *l, int *fd, struct cc_monitor_text *t, bool is_out)
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

static void listen_for(struct cc_monitor *l, double seconds)
{
    /* poll() passes over a descriptor that is negative. */
    struct pollfd at[2] = {{.fd = l->program.out, .events = POLLIN},
                           {.fd = l->program.err, .events = POLLIN}};
    (void)poll(at, 2, (int)(1e3 * seconds));
    read_all(l, &l->program.out, &l->out, true);
    read_all(l, &l->program.err, &l->err, false);
}

/* --- the end --- */

void cc_exit_text(int status, char *out, size_t size)
{
    if (WIFSIGNALED(status))
        (void)snprintf(out, size, "was killed by signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    else
        (void)snprintf(out, size, "ended with exit code %d", WEXITSTATUS(status));
}

static int judge(struct cc_monitor *l)
{
    char last[300];
    int status = l->program.status;
    if (l->first_error[0] != '\0')
        return cc_fail(l->e, "%s", l->first_error);
    if (l->done && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return CC_OK;
    /* A Ctrl-C reaches the program as well. */
    if (l->on_tick(l->arg))
        return cc_fail(l->e, "interrupted");
    cc_log_tail_text(&l->words, last, sizeof last);
    return l->explain(l->arg, last, l->e);
}

/* Its last words may come a little after its end, and whoever it left behind may hold the other end
 * for longer. */
static void drain(struct cc_monitor *l, double seconds)
{
    double begin = cc_now();
    while ((l->program.out >= 0 || l->program.err >= 0) && cc_now() - begin < seconds)
        listen_for(l, 0.05);
}

/* What is to be done several times a second. */
static void look_after(struct cc_monitor *l)
{
    if (cc_program_poll(&l->program, l->e) != CC_OK)
        stop(l, CC_FAIL);
    else if (!l->program.ended && l->on_tick(l->arg))
        stop(l, cc_fail(l->e, "interrupted"));
    else if (!l->program.ended && l->watch != NULL && l->watch(l->arg, l->e) != CC_OK)
        stop(l, CC_FAIL);
    l->ticked = cc_now();
}

static int follow(struct cc_monitor *l)
{
    while (!l->stop && !l->program.ended) {
        listen_for(l, TICK_S);
        if (!l->stop && cc_now() - l->ticked >= TICK_S)
            look_after(l);
    }
    /* Its group was killed, and holds the other ends until it is gone. */
    double last_s = l->program.group ? l->patience_s : LAST_S;
    if (!l->stop)
        drain(l, last_s);
    if (!l->stop)
        return judge(l);
    /* The reason for the stop is told, not what comes of it. */
    (void)cc_program_stop(&l->program, l->patience_s, NULL);
    if (l->program.group)
        drain(l, last_s);
    return l->status;
}

int cc_monitor_run(struct cc_monitor *l, struct cc_error *e)
{
    l->e = e;
    int status = follow(l);
    cc_program_close(&l->program);
    free(l->out.at);
    free(l->err.at);
    l->out = l->err = (struct cc_monitor_text){0};
    return status;
}
