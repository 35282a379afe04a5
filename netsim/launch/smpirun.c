#include "netsim/launch/smpirun.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/memory.h"
#include "netsim/launch/argv.h"
#include "netsim/launch/monitor.h"
#include "netsim/launch/program.h"
#include "netsim/launch/smpirun_log.h"
#include "netsim/launch/smpirun_argv.h"

#define BUILD_IT   "make builds it where smpicc is installed (Debian: apt-get install libsimgrid-dev)"
#define PATIENCE_S 5.0 /* for the simulation to end */

const char *const cc_fidelity_names[] = {"alpha-beta", "tc", "tcp", NULL};

struct simulation {
    const struct cc_smpirun_config *config;
    const struct cc_job *job;
    const char *name; /* of smpirun */
    struct cc_monitor l;
    struct cc_smpirun_log says;
    double complained;       /* when the first rank did; 0: none did */
    unsigned long oom_kills; /* of the kernel, before it began */
    int platform, hosts, paje;
};

static int ranks(const struct simulation *s)
{
    return s->job->workers + s->job->servers;
}

/* --- listening --- */

static int on_report(void *arg, const struct cc_report *r, struct cc_error *e)
{
    struct simulation *s = arg;
    if (r->kind == CC_REPORT_ERROR && s->complained == 0)
        s->complained = cc_now();
    return s->config->on_report(s->config->arg, r, e);
}

static void other(void *arg, const char *line, size_t length)
{
    struct simulation *s = arg;
    cc_smpirun_log_add(&s->says, &s->l.words, line, length);
}

static bool on_tick(void *arg)
{
    struct simulation *s = arg;
    return s->config->on_tick(s->config->arg);
}

/* A simulation may compute for long without a word: only one in which a rank has failed is not
 * waited for. */
static int watch(void *arg, struct cc_error *e)
{
    struct simulation *s = arg;
    if (s->complained == 0 || cc_now() - s->complained < PATIENCE_S)
        return CC_OK;
    return cc_fail(e, "%s", s->l.first_error);
}

/* --- the end --- */

/* How often the kernel has killed a process for want of memory; 0 if it does not tell. */
static unsigned long oom_kills(void)
{
    unsigned long n = 0;
    char line[100];
    FILE *f = fopen("/proc/vmstat", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "oom_kill %lu", &n) == 1)
            break;
    if (f != NULL)
        (void)fclose(f);
    return n;
}

static int cannot_start(const char *name, const char *why, struct cc_error *e)
{
    return cc_fail(e,
                   "%s could not be started%s%s; SimGrid brings it (Debian: apt-get install "
                   "libsimgrid-dev)",
                   name, why[0] != '\0' ? ": " : "", why);
}

/* What takes less. */
static const char *thrift(const struct cc_job *job)
{
    return job->data ? "with --data off, or with fewer workers" : "with fewer workers";
}

static int no_memory(const struct simulation *s, const char *why, struct cc_error *e)
{
    return cc_fail(e, "%s: %d simulated ranks in one process%s. Less memory is needed %s", why,
                   ranks(s), s->job->data ? ", each with its gradients" : "", thrift(s->job));
}

/* To what a rank said. */
static int add_thrift(const struct simulation *s, struct cc_error *e)
{
    const struct cc_error said = *e;
    return cc_fail(e, "%s. Less is needed %s", said.text, thrift(s->job));
}

static int check_memory(const struct simulation *s, struct cc_error *e)
{
    struct cc_error why;
    char what[80];
    (void)snprintf(what, sizeof what, "%d simulated ranks in one process%s", ranks(s),
                   s->job->data ? ", each with its gradients" : "");
    if (cc_memory_check(cc_smpirun_memory(s->job), what, &why) == CC_OK)
        return CC_OK;
    return cc_fail(e, "%s. Less is needed %s", why.text, thrift(s->job));
}

static int deadlock(const struct simulation *s, struct cc_error *e)
{
    char who[200];
    cc_smpirun_log_waiting(&s->says, who, sizeof who);
    return cc_fail(e,
                   "the simulation stands still: of %d ranks, %s wait for messages that nobody "
                   "sends. This is a fault of commcomp's, please report it",
                   ranks(s), who);
}

/* The shell of smpirun tells of a signal by its exit code. */
static int signal_of(int status)
{
    if (WIFSIGNALED(status))
        return WTERMSIG(status);
    return WEXITSTATUS(status) > 128 ? WEXITSTATUS(status) - 128 : 0;
}

static const char *remedy(const struct simulation *s)
{
    if (s->says.version)
        return " (commcomp is tested with SimGrid 3.32: is this another version?)";
    if (s->says.host)
        return " (the platform has no such host)";
    return "";
}

static int explain(void *arg, const char *last, struct cc_error *e)
{
    const struct simulation *s = arg;
    int status = s->l.program.status, number = signal_of(status);
    char config[80];
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127 && !s->l.hello)
        return cannot_start(s->name, last, e);
    if (s->says.deadlock)
        return deadlock(s, e);
    if (s->says.memory) {
        char why[400];
        (void)snprintf(why, sizeof why, "SimGrid: %s", last);
        return no_memory(s, why, e);
    }
    if (number == SIGKILL && oom_kills() > s->oom_kills)
        return no_memory(s, "the system ran out of memory and killed the simulation", e);
    if (number == SIGKILL)
        return no_memory(s, "somebody killed the simulation, perhaps for want of memory", e);
    /* SimGrid aborts after it has said why. */
    if (number == SIGABRT && last[0] != '\0')
        return cc_fail(e, "SimGrid gave up: %s%s", last, remedy(s));
    cc_exit_text(number != 0 ? number : status, config, sizeof config);
    return cc_fail(e, "the simulation %s %s%s%s%s", config,
                   s->l.done ? "although the ranks were done" : "before the ranks were done",
                   last[0] != '\0' ? ": " : "", last, remedy(s));
}

/* --- files --- */

static void path_of(int fd, char *out, size_t size)
{
    (void)snprintf(out, size, "/proc/%ld/fd/%d", (long)getpid(), fd);
}

static int write_hosts(struct simulation *s, struct cc_error *e)
{
    const struct cc_platform *p = s->config->platform;
    char *text = NULL;
    size_t length;
    if (p->hosts < (size_t)ranks(s))
        return cc_fail(e, "the platform has %zu hosts, and there are %d workers and %d servers",
                       p->hosts, s->job->workers, s->job->servers);
    FILE *f = open_memstream(&text, &length);
    for (int i = 0; f != NULL && i < ranks(s); i++)
        (void)fprintf(f, "%s\n", p->host[i]);
    if (f == NULL || fclose(f) != 0) {
        free(text);
        return cc_fail(e, "out of memory: the names of %d hosts", ranks(s));
    }
    int status = cc_program_file("the list of hosts", text, length, &s->hosts, e);
    free(text);
    return status;
}

/* Files that have no names: nothing is left of them, wherever this program ends. The trace has one;
 * smpirun gets this program's descriptor, as it would cut a path at a blank. */
static int open_files(struct simulation *s, struct cc_smpirun_files *out, struct cc_error *e)
{
    const char *xml = s->config->platform->xml, *paje = s->config->paje;
    if (cc_program_file("the platform", xml, strlen(xml), &s->platform, e) != CC_OK ||
        write_hosts(s, e) != CC_OK)
        return CC_FAIL;
    path_of(s->platform, out->platform, sizeof out->platform);
    path_of(s->hosts, out->hosts, sizeof out->hosts);
    if (paje == NULL)
        return CC_OK;
    s->paje = open(paje, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (s->paje < 0)
        return cc_fail(e, "%s: %s", paje, strerror(errno));
    path_of(s->paje, out->paje, sizeof out->paje);
    return CC_OK;
}

static void close_files(struct simulation *s)
{
    const int files[] = {s->platform, s->hosts, s->paje};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (files[i] >= 0)
            (void)close(files[i]);
}

/* --- all of it --- */

char *cc_rank_sim_program(struct cc_error *e)
{
    return cc_program_beside("commcomp-rank-sim", "COMMCOMP_RANK_SIM", BUILD_IT, e);
}

static int run(struct simulation *s, char **words, struct cc_error *e)
{
    struct cc_error why = {0};
    char *text = cc_job_text(s->job, e);
    if (text == NULL)
        return CC_FAIL;
    s->name = words[0];
    s->oom_kills = oom_kills();
    int status =
        cc_program_start(NULL, words, text, strlen(text), true, &s->l.program, &why) == CC_OK
            ? CC_OK
            : cannot_start(s->name, why.text, e);
    free(text);
    status = status == CC_OK ? cc_monitor_run(&s->l, e) : CC_FAIL;
    return status != CC_OK && strstr(s->l.first_error, "out of memory") != NULL ? add_thrift(s, e)
                                                                                : status;
}

int cc_smpirun(const struct cc_smpirun_config *config, struct cc_job *job, struct cc_error *e)
{
    struct simulation s = {.config = config,
                           .job = job,
                           .platform = -1,
                           .hosts = -1,
                           .paje = -1,
                           .l = {.rank_program = config->rank_program,
                                 .job = job,
                                 .on_report = on_report,
                                 .other = other,
                                 .on_tick = on_tick,
                                 .watch = watch,
                                 .explain = explain,
                                 .arg = &s,
                                 .patience_s = PATIENCE_S}};
    struct cc_smpirun_files files = {.paje = ""};
    char **words = NULL;
    if (access(config->rank_program, X_OK) != 0)
        return cc_fail(e, "%s: %s; %s", config->rank_program, strerror(errno), BUILD_IT);
    /* The formulas know no blocks, and nobody's word that is waited for. */
    bool formulas = config->fidelity == CC_FIDELITY_ALPHA_BETA;
    job->block_bytes = formulas ? (size_t)1 << 30 : 0;
    job->rendezvous = !formulas;
    int status = check_memory(&s, e);
    if (status == CC_OK)
        status = open_files(&s, &files, e);
    if (status == CC_OK)
        status = cc_smpirun_argv(config, job, &files, &words, e);
    if (status == CC_OK)
        status = run(&s, words, e);
    cc_argv_free(words);
    close_files(&s);
    return status;
}
