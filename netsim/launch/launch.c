/* One run of mpirun: command line, job on stdin, reports from stdout (monitor.c), watchdog.
 *
 * The watchdog tells a slow run from one that hangs. After each report it sets a deadline from the
 * caller's forecast for the work under way, with more time before the first report, while mpirun
 * starts the ranks. When the deadline has passed:
 *
 *  - On a cluster the run has failed. Other traffic may use the links, so only reports count; the
 *    forecast is stretched by CLUSTER_FACTOR and CLUSTER_S instead.
 *  - In a lab the run has failed only when its links stand still, too: less than STILL_BYTES in
 *    STILL_S. So a wrong forecast ends no run that still makes progress.
 *
 * After the first error of a rank the others have EXIT_TIMEOUT_S to end, and after the last report
 * the ranks have FINALIZE_S to leave MPI. */
#include "netsim/launch/launch.h"

#include <stdio.h>

#include "core/open_files.h"
#include "netsim/launch/argv.h"
#include "netsim/launch/monitor.h"

#define EXIT_TIMEOUT_S 5.0
#define FINALIZE_S     10.0

/* TCP's attempts on a dead link and the kernel's own traffic stay below this. */
#define STILL_S     6.0
#define STILL_BYTES 20000.0

#define START_S        20.0 /* until all ranks have started, beside the forecast; plus, per rank: */
#define START_RANK_S   0.3
#define CLUSTER_FACTOR 1.5
#define CLUSTER_S      10.0

struct launch {
    const struct cc_launch_config *config;
    struct cc_monitor monitor;
    double reported;      /* time of the last report */
    double deadline;      /* time by which the next one is due */
    double still_since;   /* since when the links stand still; 0: before the deadline */
    uint64_t still_bytes; /* their counter at that time */
};

/* --- reports --- */

int cc_launch_check_bytes(const struct cc_report_row *r, const char *device, struct cc_error *e)
{
    /* The interface carries what MPI is given, plus headers. Some of it may still be on its way
     * when the counters are read, hence the margin of a tenth. */
    if (r->sent_bytes < 0 || r->sent_bytes >= 0.9 * r->given_bytes)
        return CC_OK;
    return cc_fail(e,
                   "%s carried %.0f of the %.0f bytes of a step: MPI used another interface (see "
                   "the parameter btl_tcp_if_include)",
                   device != NULL ? device : "the interface", r->sent_bytes, r->given_bytes);
}

static void set_deadline(struct launch *l)
{
    const struct cc_job *job = l->monitor.job;
    double seconds = l->config->remaining_s(l->config->arg);
    if (l->config->hosts.lab == NULL)
        seconds = CLUSTER_FACTOR * seconds + CLUSTER_S;
    if (!l->monitor.hello)
        seconds += START_S + START_RANK_S * (double)(job->workers + job->servers);
    if (l->monitor.first_error[0] != '\0')
        seconds = EXIT_TIMEOUT_S;
    else if (l->monitor.done)
        seconds = FINALIZE_S;
    l->reported = cc_monitor_now(&l->monitor);
    l->deadline = l->reported + seconds;
    l->still_since = 0;
}

static int on_report(void *arg, const struct cc_report *r, struct cc_error *e)
{
    struct launch *l = arg;
    if (r->kind == CC_REPORT_ROW)
        CC_TRY(cc_launch_check_bytes(&r->result, l->monitor.job->device, e));
    CC_TRY(l->config->on_report(l->config->arg, r, e));
    set_deadline(l);
    return CC_OK;
}

/* --- the watchdog --- */

/* The subject of the next report: "step 3 of row 1 (fp32)". */
static void print_expected(const struct cc_monitor *m, char *out, size_t size)
{
    if (m->done)
        (void)snprintf(out, size, "the end of mpirun");
    else if (!m->hello)
        (void)snprintf(out, size, "the first report of the ranks");
    else if (m->in_row && m->job->kind == CC_JOB_REPLAY)
        (void)snprintf(out, size, "step %zu of row %zu (%.100s)", m->step + 1, m->row + 1,
                       m->job->row[m->row].scheme);
    else
        (void)snprintf(out, size, "the next report");
}

/* Fails when a lab's links have stood still for STILL_S after the deadline. */
static int watch_links(struct launch *l, double now, struct cc_error *e)
{
    uint64_t bytes;
    char expected[200];
    CC_TRY(cc_lab_traffic(l->config->hosts.lab, &bytes, e));
    /* Slow links move less than STILL_BYTES in that time: a quarter of their rate counts as still.
     */
    double limit = STILL_BYTES,
           quarter = cc_lab_settings(l->config->hosts.lab)->bw_bps / 8 * STILL_S / 4;
    if (quarter > 0 && quarter < limit)
        limit = quarter;
    double moved = (double)(bytes - l->still_bytes);
    if (l->still_since == 0 || moved >= limit) {
        l->still_since = now;
        l->still_bytes = bytes;
        return CC_OK;
    }
    if (now - l->still_since < STILL_S)
        return CC_OK;
    print_expected(&l->monitor, expected, sizeof expected);
    return cc_fail(e,
                   "nothing moves any more: %s was due after %.1f s and has not come after %.1f s; "
                   "all links together carried %.0f bytes in the last %.1f s. Is a link down, or a "
                   "host stopped?",
                   expected, l->deadline - l->reported, now - l->reported, moved,
                   now - l->still_since);
}

static int watch(void *arg, struct cc_error *e)
{
    struct launch *l = arg;
    char expected[200];
    double now = cc_monitor_now(&l->monitor);
    if (now < l->deadline)
        return CC_OK;
    if (l->monitor.first_error[0] != '\0')
        return cc_fail(e, "%s", l->monitor.first_error);
    if (l->config->hosts.lab != NULL && !l->monitor.done)
        return watch_links(l, now, e);
    print_expected(&l->monitor, expected, sizeof expected);
    return cc_fail(e, "nothing was heard for %.1f s: %s was expected within %.1f s",
                   now - l->reported, expected, l->deadline - l->reported);
}

/* --- running --- */

static int explain(void *arg, const char *log, const char **remedy, struct cc_error *e)
{
    const struct launch *l = arg;
    (void)e;
    *remedy = cc_mpirun_remedy(&l->config->hosts, log);
    return CC_OK;
}

/* mpirun has pipes and a connection to each rank on this machine, and others to each host. How many
 * ranks of a cluster are here is not known, so they are only made room for. */
static int need_open_files(const struct cc_launch_config *config, const struct cc_job *job,
                           struct cc_error *e)
{
    enum { ALONE = 32, A_HOST = 2, A_RANK = 4 };
    struct cc_error ignored;
    const size_t ranks = (size_t)(job->workers + job->servers);
    if (config->hosts.lab != NULL)
        return cc_open_files_need("mpirun", ALONE + A_HOST * ranks, e);
    const char *starter = cc_starter_names[config->hosts.cluster->starter];
    if (config->hosts.cluster->here)
        return cc_open_files_need(starter, ALONE + A_RANK * ranks, e);
    (void)cc_open_files_need(starter, ALONE + A_RANK * ranks, &ignored);
    return cc_open_files_need(starter, ALONE, e);
}

int cc_launch(const struct cc_launch_config *config, const struct cc_job *job, struct cc_error *e)
{
    const bool srun = config->hosts.lab == NULL && config->hosts.cluster->starter == CC_BY_SRUN;
    struct launch l = {.config = config,
                       .monitor = {.brings = srun ? "Slurm brings it (Debian: slurm-client)"
                                                  : "Open MPI brings it (Debian: openmpi-bin)",
                                   .rank_program = config->rank_program,
                                   .job = job,
                                   .on_report = on_report,
                                   .watch = watch,
                                   .explain = explain,
                                   .arg = &l,
                                   .on_tick = config->on_tick,
                                   .tick_arg = config->arg,
                                   .exit_timeout_s = EXIT_TIMEOUT_S}};
    char **argv;
    CC_TRY(cc_program_check(config->rank_program,
                            "make builds it where mpicc is installed (Debian: libopenmpi-dev)", e));
    CC_TRY(need_open_files(config, job, e));
    CC_TRY(cc_mpirun_argv(&config->hosts, config->rank_program, job, &argv, e));
    set_deadline(&l);
    const struct cc_program_way way = {.lab = config->hosts.lab,
                                       .no_network = config->hosts.lab == NULL &&
                                                     config->hosts.cluster->here};
    const int status = cc_monitor_run(&l.monitor, &way, argv, e);
    if (config->began != NULL && l.monitor.began)
        *config->began = true;
    cc_argv_free(argv);
    return status;
}
