/* The monitor is a loop around poll() with three states:
 *
 * - running: the program's output is read as it comes. Each complete line of stdout that is a
 *   report updates the state and is passed to on_report; all other lines are kept for messages.
 *   Every TICK_S the loop looks whether the program has ended, and calls on_tick and watch.
 * - stopping: a callback failed or asked to stop, or memory ran out. The first reason is the
 *   result. The program gets SIGTERM and, after exit_timeout_s, SIGKILL; later reports are dropped.
 * - ended: the program has ended. Output left in the pipes is read for at most DRAIN_S, since
 *   processes that it leaves behind may hold the pipes open for longer. The result is, in this
 *   order: the first error of a rank; success, if the ranks were done and the exit code is 0;
 *   "interrupted"; what explain() makes of the rest.
 *
 * A group that is killed with its leader holds the pipes until all its processes are gone. The
 * caller must not continue before that, so its pipes are read for up to exit_timeout_s. */
#include "netsim/launch/monitor.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "core/clock.h"

#define TICK_S      0.1
#define PAUSE_S     2.0  /* a turn of the loop takes longer only if this process was stopped */
#define LOOK_S      2.0  /* between looking for stopped members */
#define STOPPED_S   10.0 /* after which a stopped member is given up */
#define DRAIN_S     0.5
#define LINE_LENGTH ((size_t)64 << 20) /* the longest line that is kept */

static void begin_stop(struct cc_monitor *m, int status)
{
    if (!m->stopping)
        m->status = status;
    m->stopping = true;
}

/* --- reports --- */

/* "rank 3 (a worker)". */
static void print_rank(const struct cc_job *job, int rank, char *out, size_t size)
{
    if (rank < 0 || rank >= job->workers + job->servers)
        (void)snprintf(out, size, "a rank");
    else if (rank < job->workers)
        (void)snprintf(out, size, "rank %d (a worker)", rank);
    else
        (void)snprintf(out, size, "rank %d (a server)", rank);
}

/* The first rank that was killed is the cause: of the errors, too, that others have reported. */
static void take_killed(struct cc_monitor *m, const struct cc_report_killed *k)
{
    char rank[40];
    if (m->killed)
        return;
    m->killed = true;
    print_rank(m->job, k->rank, rank, sizeof rank);
    (void)snprintf(m->first_error, sizeof m->first_error,
                   "%s, process %zu on node %.200s, exited on signal %d (%s)%s", rank, k->process,
                   k->host, k->signal, strsignal(k->signal),
                   k->signal == SIGKILL
                       ? "; it ended first: was it killed, or did its host run out of memory?"
                       : "");
}

static int take_report(struct cc_monitor *m, const struct cc_report *r)
{
    char rank[40];
    switch (r->kind) {
    case CC_REPORT_HELLO:
        m->hello = true;
        break;
    case CC_REPORT_ROW_BEGIN:
    case CC_REPORT_STEP:
        if (r->row >= m->job->rows)
            return cc_fail(m->e, "%s reports row %zu of %zu: is it of another version?",
                           m->rank_program, r->row, m->job->rows);
        m->in_row = true;
        m->row = r->row;
        m->step = r->kind == CC_REPORT_STEP ? r->step + 1 : 0;
        break;
    case CC_REPORT_ROW:
    case CC_REPORT_EVAL:
    case CC_REPORT_CALLS:
        m->in_row = false;
        break;
    case CC_REPORT_EVENTS:
    case CC_REPORT_SIZE:
        break;
    case CC_REPORT_DONE:
        m->done = true;
        break;
    case CC_REPORT_ERROR:
        print_rank(m->job, r->rank, rank, sizeof rank);
        if (m->first_error[0] == '\0')
            (void)snprintf(m->first_error, sizeof m->first_error, "%s: %s", rank, r->text);
        break;
    case CC_REPORT_KILLED:
        take_killed(m, &r->killed);
        break;
    }
    return m->on_report(m->arg, r, m->e);
}

static bool begins_as_report(const char *line, size_t length)
{
    static const char begin[] = "{\"report\": ";
    return length >= sizeof begin - 1 && memcmp(line, begin, sizeof begin - 1) == 0;
}

/* A rank that is killed may have written a part of a line: returns where in the line the report of
 * its end begins, or the line's beginning. */
static const char *skip_cut_line(const char *line, size_t length)
{
    static const char killed[] = "{\"report\": \"killed\"";
    const char *found = memmem(line, length, killed, sizeof killed - 1);
    return found != NULL ? found : line;
}

/* A report that cannot be taken, say for lack of memory, is an error: a result must not be lost. */
static void refuse_report(struct cc_monitor *m, const char *why)
{
    if (!m->stopping)
        begin_stop(m, cc_fail(m->e, "a report of the ranks cannot be read: %s", why));
}

/* `cut`: the stream ended within the line. Then the program's end says more than a half report. */
static void take_line(struct cc_monitor *m, const char *line, size_t length, bool is_stdout,
                      bool cut)
{
    struct cc_report r;
    struct cc_error why;
    const char *end = line + length;
    if (is_stdout)
        line = skip_cut_line(line, length);
    length = (size_t)(end - line);
    if (!is_stdout || cc_report_parse(line, length, &r, &why) != CC_OK) {
        if (is_stdout && !cut && begins_as_report(line, length))
            refuse_report(m, why.text);
        if (m->on_other_line != NULL)
            m->on_other_line(m->arg, line, length);
        else
            cc_log_tail_add(&m->log_tail, line, length);
        return;
    }
    if (!m->stopping) {
        int status = take_report(m, &r);
        if (status != CC_OK)
            begin_stop(m, status);
    }
    cc_report_free(&r);
}

/* --- reading --- */

/* Takes the complete lines out of the buffer and, at the end of the stream, also a last line
 * without a newline. */
static void take_lines(struct cc_monitor *m, struct cc_line_buffer *b, bool is_stdout, bool at_end)
{
    size_t from = 0;
    for (;;) {
        size_t search = from > b->searched ? from : b->searched;
        const char *newline = search < b->read.length
                                  ? memchr(b->read.text + search, '\n', b->read.length - search)
                                  : NULL;
        if (newline == NULL && (!at_end || from == b->read.length))
            break;
        size_t to = newline != NULL ? (size_t)(newline - b->read.text) : b->read.length;
        if (!b->skipping)
            take_line(m, b->read.text + from, to - from, is_stdout, newline == NULL);
        b->skipping = false;
        from = newline != NULL ? to + 1 : to;
    }
    if (from > 0)
        memmove(b->read.text, b->read.text + from, b->read.length - from);
    b->read.length -= from;
    if (b->read.length > LINE_LENGTH) {
        if (is_stdout && !b->skipping && begins_as_report(b->read.text, b->read.length))
            refuse_report(m, "its line is longer than 64 MiB");
        b->read.length = 0;
        b->skipping = true;
    }
    b->searched = b->read.length;
}

/* Reads what a stream holds now. */
static void read_stream(struct cc_monitor *m, int *fd, struct cc_line_buffer *b, bool is_stdout)
{
    for (bool more = true; more && *fd >= 0;) {
        if (cc_program_read(fd, &b->read, &more, m->e) != CC_OK) {
            begin_stop(m, CC_FAIL);
            return;
        }
        take_lines(m, b, is_stdout, *fd < 0);
    }
}

/* Waits for output, at most so long, and reads it. */
static void read_output(struct cc_monitor *m, double seconds)
{
    cc_program_await(&m->program, seconds);
    read_stream(m, &m->program.out, &m->out, true);
    read_stream(m, &m->program.err, &m->err, false);
}

/* Reads until both streams have ended, at most so long. */
static void drain(struct cc_monitor *m, double seconds)
{
    double begin = cc_now();
    while ((m->program.out >= 0 || m->program.err >= 0) && cc_now() - begin < seconds)
        read_output(m, 0.05);
}

/* --- the loop --- */

double cc_monitor_now(const struct cc_monitor *m)
{
    return cc_now() - m->paused;
}

/* Notices that this process was stopped since the last turn. */
static void count_pause(struct cc_monitor *m)
{
    const double now = cc_now(), took = now - m->turned;
    if (m->turned > 0 && took > PAUSE_S)
        m->paused += took;
    m->turned = now;
}

/* Whether a member is stopped. `now` is by the monitor's clock. */
static bool look_for_stopped(struct cc_monitor *m, double now)
{
    const pid_t before = m->stopped.pid;
    m->looked = now;
    cc_members_stopped(&m->members, &m->stopped);
    if (m->stopped.pid != before)
        m->stopped_since = now;
    return m->stopped.pid != 0;
}

/* Fails if a member has been stopped for too long, or if the caller's watch does: not while a
 * member is stopped, since that is the reason, unless a rank has given another. */
static int watch(struct cc_monitor *m)
{
    const double now = cc_monitor_now(m);
    struct cc_error why = {""};
    const bool stopped = now - m->looked >= LOOK_S ? look_for_stopped(m, now) : m->stopped.pid != 0;
    if (stopped && now - m->stopped_since >= STOPPED_S)
        return cc_fail(m->e,
                       "%s, process %ld, has been stopped (SIGSTOP) for %.0f s, and everything "
                       "waits for it",
                       m->stopped.name, (long)m->stopped.pid, now - m->stopped_since);
    if (m->watch(m->arg, &why) == CC_OK)
        return CC_OK;
    if (m->first_error[0] == '\0' && look_for_stopped(m, now))
        return CC_OK;
    return cc_fail(m->e, "%s", why.text);
}

static void tick(struct cc_monitor *m)
{
    if (cc_program_poll(&m->program, m->e) != CC_OK)
        begin_stop(m, CC_FAIL);
    else if (!m->program.ended && m->on_tick(m->tick_arg))
        begin_stop(m, cc_fail(m->e, "interrupted"));
    else if (!m->program.ended && watch(m) != CC_OK)
        begin_stop(m, CC_FAIL);
    m->ticked = cc_now();
}

static int cannot_start(struct cc_monitor *m, const char *name, const char *why)
{
    m->began = false;
    return cc_fail(m->e, "%s could not be started%s%s; %s", name, why[0] != '\0' ? ": " : "", why,
                   m->brings);
}

/* The result of a program that has ended. */
static int result(struct cc_monitor *m, const char *name)
{
    char log[300], end[80];
    const char *remedy = "";
    int status = m->program.status;
    if (m->first_error[0] != '\0')
        return cc_fail(m->e, "%s", m->first_error);
    if (m->done && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return CC_OK;
    /* Ctrl-C reaches the program as well, and it may end before the next tick. */
    if (m->on_tick(m->tick_arg))
        return cc_fail(m->e, "interrupted");
    cc_log_tail_text(&m->log_tail, log, sizeof log);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127 && !m->hello)
        return cannot_start(m, name, log);
    CC_TRY(m->explain(m->arg, log, &remedy, m->e));
    cc_exit_text(m->program.status, end, sizeof end);
    return cc_fail(m->e, "%s %s %s%s%s%s", m->subject != NULL ? m->subject : name, end,
                   m->done ? "although the ranks were done" : "before the ranks were done",
                   log[0] != '\0' ? ": " : "", log, remedy);
}

static int start(struct cc_monitor *m, const struct cc_program_way *way, char *const argv[])
{
    struct cc_program_way own = *way;
    struct cc_error why = {0};
    int status = CC_OK;
    char *text = cc_job_text(m->job, m->e);
    if (text == NULL)
        return CC_FAIL;
    CC_TRY_OUT(cc_members_open(&m->members, way->lab == NULL, m->e));
    own.members = &m->members;
    m->began = cc_program_start(&own, argv, text, strlen(text), &m->program, &why) == CC_OK;
    if (!m->began) {
        status = cannot_start(m, argv[0], why.text);
        cc_members_close(&m->members);
    }
out:
    free(text);
    return status;
}

int cc_monitor_run(struct cc_monitor *m, const struct cc_program_way *way, char *const argv[],
                   struct cc_error *e)
{
    const double drain_s = way->group ? m->exit_timeout_s : DRAIN_S;
    m->e = e;
    CC_TRY(start(m, way, argv));
    while (!m->stopping && !m->program.ended) {
        read_output(m, TICK_S);
        count_pause(m);
        if (!m->stopping && cc_now() - m->ticked >= TICK_S)
            tick(m);
    }
    if (!m->stopping)
        drain(m, drain_s);
    if (m->stopping) {
        /* The message stays the reason for stopping, also if the program does not end. */
        (void)cc_program_stop(&m->program, m->exit_timeout_s, NULL);
        if (way->group)
            drain(m, drain_s);
    } else {
        m->status = result(m, argv[0]);
    }
    cc_members_close(&m->members);
    cc_program_close(&m->program);
    free(m->out.read.text);
    free(m->err.read.text);
    m->out = m->err = (struct cc_line_buffer){0};
    return m->status;
}
