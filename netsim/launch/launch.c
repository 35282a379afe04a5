#include "netsim/launch/launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "netsim/launch/argv.h"
#include "netsim/launch/monitor.h"
#include "netsim/launch/mpirun_argv.h"

#define PATIENCE_S 5.0  /* for mpirun to end its ranks */
#define GOODBYE_S  10.0 /* for the ranks to leave MPI after the last report */

/* The watchdog. In a lab nothing moves if, over QUIET_S, the links together carry less than
 * QUIET_BYTES and no report comes: TCP's attempts on a dead link and the kernel's own chatter are
 * less. On a cluster other things may pass on the links, and only reports count. */
#define QUIET_S        6.0
#define QUIET_BYTES    20000.0
#define START_S        20.0 /* until the ranks say hello, beside the forecast; and for each rank: */
#define START_RANK_S   0.3
#define CLUSTER_FACTOR 1.5
#define CLUSTER_S      10.0

struct launch {
    const struct cc_launch_config *config;
    struct cc_monitor l;
    const char *name;     /* of mpirun */
    double reported;      /* when the last report came */
    double deadline;      /* of what is under way */
    double quiet_since;   /* 0: the deadline is not over */
    uint64_t quiet_bytes; /* what the links had carried by then */
};

/* --- reports --- */

int cc_launch_check_bytes(const struct cc_report_row *r, const char *device, struct cc_error *e)
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

static void set_deadline(struct launch *a)
{
    const struct cc_job *job = a->l.job;
    double deadline_s = a->config->deadline_s(a->config->arg);
    a->reported = cc_now();
    if (a->config->lab == NULL)
        deadline_s = CLUSTER_FACTOR * deadline_s + CLUSTER_S;
    if (!a->l.hello)
        deadline_s += START_S + START_RANK_S * (double)(job->workers + job->servers);
    if (a->l.first_error[0] != '\0')
        deadline_s = PATIENCE_S;
    else if (a->l.done)
        deadline_s = GOODBYE_S;
    a->deadline = a->reported + deadline_s;
    a->quiet_since = 0;
}

static int on_report(void *arg, const struct cc_report *r, struct cc_error *e)
{
    struct launch *a = arg;
    if (r->kind == CC_REPORT_ROW && cc_launch_check_bytes(&r->result, a->l.job->device, e) != CC_OK)
        return CC_FAIL;
    int status = a->config->on_report(a->config->arg, r, e);
    if (status == CC_OK)
        set_deadline(a);
    return status;
}

static bool on_tick(void *arg)
{
    struct launch *a = arg;
    return a->config->on_tick(a->config->arg);
}

/* --- the watchdog --- */

static void name_work(const struct cc_monitor *l, char *out, size_t size)
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

static int watch_lab(struct launch *a, double now, struct cc_error *e)
{
    uint64_t bytes;
    char work[200];
    if (cc_lab_traffic(a->config->lab, &bytes, e) != CC_OK)
        return CC_FAIL;
    double moved = (double)(bytes - a->quiet_bytes);
    if (a->quiet_since == 0 || moved >= quiet_limit(a->config->lab)) {
        a->quiet_since = now;
        a->quiet_bytes = bytes;
        return CC_OK;
    }
    if (now - a->quiet_since < QUIET_S)
        return CC_OK;
    name_work(&a->l, work, sizeof work);
    return cc_fail(e,
                   "nothing moves any more: %s was due after %.1f s and has not come after %.1f s; "
                   "all links together carried %.0f bytes in the last %.1f s. Is a link down, or a "
                   "host stopped?",
                   work, a->deadline - a->reported, now - a->reported, moved, now - a->quiet_since);
}

static int watch(void *arg, struct cc_error *e)
{
    struct launch *a = arg;
    char work[200];
    double now = cc_now();
    if (now < a->deadline)
        return CC_OK;
    if (a->l.first_error[0] != '\0')
        return cc_fail(e, "%s", a->l.first_error);
    if (a->config->lab != NULL && !a->l.done)
        return watch_lab(a, now, e);
    name_work(&a->l, work, sizeof work);
    return cc_fail(e, "nothing was heard for %.1f s: %s was expected within %.1f s",
                   now - a->reported, work, a->deadline - a->reported);
}

/* --- the end --- */

static int cannot_start(const char *name, const char *why, struct cc_error *e)
{
    return cc_fail(e, "%s could not be started%s%s; Open MPI brings it (Debian: openmpi-bin)", name,
                   why[0] != '\0' ? ": " : "", why);
}

static int explain(void *arg, const char *last, struct cc_error *e)
{
    const struct launch *a = arg;
    int status = a->l.program.status;
    char config[80];
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127 && !a->l.hello)
        return cannot_start(a->name, last, e);
    cc_exit_text(status, config, sizeof config);
    return cc_fail(e, "%s %s %s%s%s%s", a->name, config,
                   a->l.done ? "although the ranks were done" : "before the ranks were done",
                   last[0] != '\0' ? ": " : "", last, cc_mpirun_remedy(a->config, last));
}

int cc_launch(const struct cc_launch_config *config, const struct cc_job *job, struct cc_error *e)
{
    struct launch a = {.config = config,
                       .l = {.rank_program = config->rank_program,
                             .job = job,
                             .on_report = on_report,
                             .on_tick = on_tick,
                             .watch = watch,
                             .explain = explain,
                             .arg = &a,
                             .patience_s = PATIENCE_S}};
    char **words = NULL;
    if (access(config->rank_program, X_OK) != 0)
        return cc_fail(e,
                       "%s: %s; make builds it where mpicc is installed (Debian: libopenmpi-dev)",
                       config->rank_program, strerror(errno));
    char *text = cc_job_text(job, e);
    int status = text != NULL ? cc_mpirun_argv(config, job, &words, e) : CC_FAIL;
    struct cc_error why = {0};
    if (status == CC_OK && cc_program_start(config->lab, words, text, strlen(text), false,
                                            &a.l.program, &why) != CC_OK)
        status = cannot_start(words[0], why.text, e);
    if (status == CC_OK) {
        a.name = words[0];
        set_deadline(&a);
        status = cc_monitor_run(&a.l, e);
    }
    cc_argv_free(words);
    free(text);
    return status;
}
