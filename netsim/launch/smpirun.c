/* One simulation: the platform and the list of hosts in memory files, the job on stdin, reports and
 * SimGrid's messages from its output (monitor.c, smpirun_log.c).
 *
 * smpirun and SimGrid open files by path. The platform and the hosts are memory files (memfd)
 * without names, given as /proc/<this process>/fd/<n>: nothing is left of them wherever this
 * program ends. SimGrid's trace is passed the same way, as a pipe (drain.h): smpirun cuts paths at
 * blanks, and SimGrid does not notice a full disk.
 *
 * smpirun is a shell script that starts the simulation, one process with all ranks. They form a
 * process group, so that ending smpirun ends the simulation as well. It has no deadline: a
 * simulation may compute for long without a report. Only when a rank has failed does the rest get
 * no more than EXIT_TIMEOUT_S.
 *
 * Memory is the usual limit. It is estimated and checked beforehand; if the simulation is killed
 * all the same, the kernel's counter of out-of-memory kills tells whether that was the reason. */
#include "netsim/launch/smpirun.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/memory_text.h"
#include "core/open_files.h"
#include "netsim/launch/argv.h"
#include "netsim/launch/drain.h"
#include "netsim/launch/monitor.h"
#include "netsim/launch/smpirun_log.h"
#include "schemes/spec.h"

#define BUILD_IT       "make builds it where smpicc is installed (Debian: apt-get install libsimgrid-dev)"
#define EXIT_TIMEOUT_S 5.0
#define OPEN_FILES     32 /* of the shell and the simulation, each */

struct simulation {
    const struct cc_smpirun_config *config;
    const struct cc_job *job;
    struct cc_monitor monitor;
    struct cc_smpirun_log log;
    double failed;    /* time of the first error that a rank reported; 0: none */
    size_t oom_kills; /* the kernel's counter at the start */
    int platform, hosts;
    struct cc_drain trace; /* SimGrid's own */
    bool traced;           /* whether it is open */
};

static int count_ranks(const struct simulation *s)
{
    return s->job->workers + s->job->servers;
}

/* --- callbacks of the monitor --- */

static int on_report(void *arg, const struct cc_report *r, struct cc_error *e)
{
    struct simulation *s = arg;
    if (r->kind == CC_REPORT_ERROR && s->failed == 0)
        s->failed = cc_monitor_now(&s->monitor);
    return s->config->on_report(s->config->arg, r, e);
}

static void on_other_line(void *arg, const char *line, size_t length)
{
    struct simulation *s = arg;
    cc_smpirun_log_add(&s->log, &s->monitor.log_tail, line, length);
}

static int watch(void *arg, struct cc_error *e)
{
    struct simulation *s = arg;
    if (s->failed == 0 || cc_monitor_now(&s->monitor) - s->failed < EXIT_TIMEOUT_S)
        return CC_OK;
    return cc_fail(e, "%s", s->monitor.first_error);
}

/* --- memory --- */

/* The estimate is the sum of the process itself, each rank's stack and fixed data, the gradients
 * (if the job computes with data) and what a training keeps, and for the most demanding row each
 * rank's buffers for the messages of all rounds. */

/* Measured with SimGrid 3.32: the process, a rank with its stack, and what a rank holds for one
 * message in one round. */
#define PROCESS_BYTES 32e6
#define RANK_BYTES    150e3
#define ROUND_BYTES   500.0

/* Arrays of one step's values in a worker: a gradient (at least one), the model, what it sends and
 * what it receives. */
#define ARRAYS 4.0

/* A training keeps the optimizer's state, one or two arrays, with what an update begins from or
 * takes: on each server, where these send model deltas, of shards once among all workers, and
 * otherwise on each worker. While rank 0
 * writes a checkpoint, it has a copy of all residuals. */
static double training_arrays(const struct cc_job *job)
{
    const struct cc_job_training *t = &job->training;
    const double states = (double)cc_optimizer_state(&t->optimizer, 1);
    const double copies = t->checkpoint != NULL ? job->workers + job->servers : 0;
    const int keepers = t->shards != CC_SHARDS_NONE ? 1 : t->deltas ? job->servers : job->workers;
    return t->net == NULL ? 0 : (states + 1) * keepers + copies;
}

static int count_rounds(const struct cc_job *job)
{
    const int rounds = cc_exchange_info(job->exchange)->rounds(job->workers);
    const bool gathers =
        job->via == CC_VIA_ALLGATHER && cc_exchange_has(job->exchange, CC_X_RECODES);
    return gathers && rounds < job->workers - 1 ? job->workers - 1 : rounds;
}

static double row_bytes(const struct cc_job *job, const struct cc_job_row *row)
{
    const double workers = job->workers, values = (double)cc_job_values(job);
    double bytes =
        ROUND_BYTES * (workers + job->servers) * (double)row->messages * count_rounds(job);
    bool gathers = cc_exchange_has(job->exchange, CC_X_GATHERS);
    /* Each worker holds the payloads of all. Those of other schemes are smaller, and unknown here.
     */
    if (job->data && gathers && strcmp(row->scheme, CC_RAW_SCHEME) == 0)
        bytes += sizeof(float) * workers * workers * values;
    return bytes;
}

size_t cc_smpirun_memory(const struct cc_job *job)
{
    const double ranks = job->workers + job->servers;
    double most = 0;
    for (size_t i = 0; i < job->rows; i++) {
        double bytes = row_bytes(job, &job->row[i]);
        most = bytes > most ? bytes : most;
    }
    most += PROCESS_BYTES + RANK_BYTES * ranks;
    if (job->data)
        most +=
            sizeof(float) * (ARRAYS * ranks + training_arrays(job)) * (double)cc_job_values(job);
    return most < (double)((size_t)1 << 60) ? (size_t)most : (size_t)1 << 60;
}

/* How a simulation of this job could need less memory. */
static const char *memory_advice(const struct cc_job *job)
{
    return job->data ? "with --data off, or with fewer workers" : "with fewer workers";
}

enum { RANKS_CAP = 80 };

static void print_ranks(const struct cc_job *job, char out[RANKS_CAP])
{
    (void)snprintf(out, RANKS_CAP, "%d simulated ranks in one process%s",
                   job->workers + job->servers, job->data ? ", each with its gradients" : "");
}

static int no_memory(const struct simulation *s, const char *why, struct cc_error *e)
{
    char ranks[RANKS_CAP];
    print_ranks(s->job, ranks);
    return cc_fail(e, "%s: %s. Less memory is needed %s", why, ranks, memory_advice(s->job));
}

int cc_smpirun_check_memory(const struct cc_job *job, struct cc_error *e)
{
    struct cc_error why;
    char what[RANKS_CAP];
    print_ranks(job, what);
    if (cc_memory_check(cc_smpirun_memory(job), what, &why) == CC_OK)
        return CC_OK;
    return cc_fail(e, "%s. Less is needed %s", why.text, memory_advice(job));
}

/* The number of processes that the kernel has killed for lack of memory; 0 if it does not tell. */
static size_t count_oom_kills(void)
{
    return cc_memory_counter("/proc/vmstat", "oom_kill ", 0);
}

/* The signal that ended smpirun or the simulation, or 0. As a shell, smpirun passes the latter on
 * in its exit code. */
static int signal_of(int status)
{
    if (WIFSIGNALED(status))
        return WTERMSIG(status);
    return WEXITSTATUS(status) > 128 ? WEXITSTATUS(status) - 128 : 0;
}

static const char *remedy_of(const struct simulation *s)
{
    if (s->log.unknown_setting)
        return " (commcomp is tested with SimGrid 3.32: is this another version?)";
    if (s->log.unknown_host)
        return " (the platform has no such host)";
    return "";
}

static int explain(void *arg, const char *log, const char **remedy, struct cc_error *e)
{
    struct simulation *s = arg;
    const int status = s->monitor.program.status, number = signal_of(status);
    char text[400];
    *remedy = remedy_of(s);
    if (s->log.deadlock) {
        cc_smpirun_log_waiting(&s->log, text, sizeof text);
        return cc_fail(e,
                       "the simulation stands still: of %d ranks, %s wait for messages that nobody "
                       "sends. This is a fault of commcomp's, please report it",
                       count_ranks(s), text);
    }
    if (s->log.no_memory) {
        (void)snprintf(text, sizeof text, "SimGrid: %s", log);
        return no_memory(s, text, e);
    }
    if (number == SIGKILL && count_oom_kills() > s->oom_kills)
        return no_memory(s, "the system ran out of memory and killed the simulation", e);
    if (number == SIGKILL)
        return no_memory(s, "somebody killed the simulation, perhaps for want of memory", e);
    /* SimGrid prints the reason and then aborts. */
    if (number == SIGABRT && log[0] != '\0')
        return cc_fail(e, "SimGrid gave up: %s%s", log, *remedy);
    if (number != 0)
        s->monitor.program.status = number; /* as of a process that the signal killed */
    return CC_OK;
}

/* --- files --- */

static void print_path(int fd, char *out, size_t size)
{
    (void)snprintf(out, size, "/proc/%ld/fd/%d", (long)getpid(), fd);
}

/* Writes the list of hosts, each rank's. */
static int write_hosts(struct simulation *s, struct cc_error *e)
{
    const struct cc_platform *p = s->config->platform;
    const int ranks = count_ranks(s);
    struct cc_memory_text t;
    if (p->hosts < (size_t)cc_job_places(s->job))
        return cc_fail(e, "the platform has %zu hosts, and there are %d workers and %d servers",
                       p->hosts, s->job->workers, s->job->servers);
    CC_TRY(cc_memory_text_begin(&t, "the list of hosts", e));
    for (int i = 0; i < ranks; i++)
        (void)fprintf(t.f, "%s\n", p->host[cc_job_place(s->job, i)]);
    CC_TRY(cc_memory_text_end(&t, CC_OK, e));
    const int status = cc_program_file("the list of hosts", t.text, t.bytes, &s->hosts, e);
    free(t.text);
    return status;
}

static int open_files(struct simulation *s, struct cc_smpirun_paths *out, struct cc_error *e)
{
    const char *xml = s->config->platform->xml, *paje = s->config->paje;
    CC_TRY(cc_program_file("the platform", xml, strlen(xml), &s->platform, e));
    CC_TRY(write_hosts(s, e));
    print_path(s->platform, out->platform, sizeof out->platform);
    print_path(s->hosts, out->hosts, sizeof out->hosts);
    if (paje == NULL)
        return CC_OK;
    CC_TRY(cc_drain_open(&s->trace, paje, e));
    s->traced = true;
    print_path(s->trace.out, out->paje, sizeof out->paje);
    return CC_OK;
}

/* Returns `status`, or CC_FAIL if SimGrid's trace could not be written. */
static int close_files(struct simulation *s, int status, struct cc_error *e)
{
    const int files[] = {s->platform, s->hosts};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (files[i] >= 0)
            (void)close(files[i]);
    if (s->traced && status == CC_OK)
        return cc_drain_commit(&s->trace, e);
    if (s->traced)
        cc_drain_abort(&s->trace);
    return status;
}

/* --- running --- */

char *cc_rank_sim_program(struct cc_error *e)
{
    return cc_program_beside("commcomp-rank-sim", "COMMCOMP_RANK_SIM", BUILD_IT, e);
}

int cc_smpirun(const struct cc_smpirun_config *config, struct cc_job *job, struct cc_error *e)
{
    struct simulation s = {.config = config,
                           .job = job,
                           .platform = -1,
                           .hosts = -1,
                           .oom_kills = count_oom_kills(),
                           .monitor = {.subject = "the simulation",
                                       .brings = "SimGrid brings it (Debian: apt-get install "
                                                 "libsimgrid-dev)",
                                       .rank_program = config->rank_program,
                                       .job = job,
                                       .on_report = on_report,
                                       .on_other_line = on_other_line,
                                       .watch = watch,
                                       .explain = explain,
                                       .arg = &s,
                                       .on_tick = config->on_tick,
                                       .tick_arg = config->arg,
                                       .exit_timeout_s = EXIT_TIMEOUT_S}};
    struct cc_smpirun_paths paths = {.paje = ""};
    struct cc_error why;
    char **argv = NULL;
    int status = CC_OK;
    CC_TRY(cc_program_check(config->rank_program, BUILD_IT, e));
    CC_TRY(cc_open_files_need("smpirun", OPEN_FILES, e));
    /* The formulas know neither blocks nor a rendezvous. */
    const bool formulas = config->fidelity == CC_FIDELITY_ALPHA_BETA;
    job->block_bytes = formulas ? CC_JOB_WHOLE : 0;
    job->rendezvous = !formulas;
    CC_TRY_OUT(cc_smpirun_check_memory(job, e));
    CC_TRY_OUT(open_files(&s, &paths, e));
    CC_TRY_OUT(cc_smpirun_argv(config, &paths, job, &argv, e));
    status = cc_monitor_run(&s.monitor, &(struct cc_program_way){.group = true}, argv, e);
    if (config->began != NULL && s.monitor.began)
        *config->began = true;
    if (status != CC_OK && strstr(s.monitor.first_error, "out of memory") != NULL) {
        why = *e;
        status = cc_fail(e, "%s. Less is needed %s", why.text, memory_advice(job));
    }
out:
    cc_argv_free(argv);
    return close_files(&s, status, e);
}
