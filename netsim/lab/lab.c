/* The caller's side of the lab: starts its init process, forks into the lab, and ends it.
 *
 * init must be the first process of the new PID namespace and a child of the caller. It is cloned
 * with raw system calls, which the C library does not know about; in a program with threads the
 * clone may then hold locks of the library that nobody releases. So the caller first forks a
 * spawner: fork() leaves the library in order in the new process. The spawner clones init with
 * CLONE_PARENT, which makes it the caller's child, reports the outcome, and ends. Programs in the
 * lab are started in the same way, by a spawner that has entered the lab.
 *
 * Killing init is enough to end a lab: the kernel then kills every process of its PID namespace,
 * and with the last of them the other namespaces and their links vanish. */
#include "netsim/lab/lab.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/memory.h"
#include "netsim/lab/lab_impl.h"

enum { MOST_HOSTS = 1000 }; /* a Linux bridge has 1,024 ports */

/* How long the lab's first process may take to begin; to open the lab, a second more for each
 * HOSTS_PER_S hosts, which is several times what it takes on a slow machine. */
enum { ANSWER_S = 20, HOSTS_PER_S = 5 };

struct cc_lab {
    struct cc_lab_config config;
    char *congestion, *program;
    bool user; /* in a user namespace */
    pid_t init;
};

/* --- defaults --- */

struct point {
    double bw_bps, bytes;
};

/* Interpolates between measured points, linearly in the logarithms; beyond the last one in
 * proportion to the rate. */
static double interpolate(const struct point *p, size_t count, double bw_bps)
{
    if (bw_bps <= p[0].bw_bps)
        return p[0].bytes;
    for (size_t i = 1; i < count; i++)
        if (bw_bps <= p[i].bw_bps) {
            double share = log(bw_bps / p[i - 1].bw_bps) / log(p[i].bw_bps / p[i - 1].bw_bps);
            return p[i - 1].bytes * pow(p[i].bytes / p[i - 1].bytes, share);
        }
    return p[count - 1].bytes * bw_bps / p[count - 1].bw_bps;
}

/* The timer that ends a wait is late by some microseconds, and a bucket that is full by then loses
 * what the link could have carried. Larger buckets than these let messages pass that should wait.
 */
size_t cc_lab_burst(double bw_bps)
{
    static const struct point points[] = {{10e6, 5e3}, {100e6, 14e3}, {1e9, 64e3}, {10e9, 600e3}};
    return (size_t)interpolate(points, sizeof points / sizeof points[0], bw_bps);
}

/* A TCP connection has at most some 300 kB on its way at 1 Gbit/s or less, so this queue holds what
 * all other hosts send to one. With shorter queues 1 to 20% of all segments were sent again, and a
 * step took up to four times as long when the last segment of a message was lost. */
size_t cc_lab_limit(double bw_bps, int hosts)
{
    double senders = hosts > 11 ? hosts - 1 : 10;
    return (size_t)(senders * 300e3 * fmax(1, bw_bps / 1e9));
}

/* --- starting init --- */

/* A spawner's report. */
struct init_status {
    pid_t init; /* or a program; -1: failed, with errno `error` */
    int error;
    bool user; /* in a user namespace */
};

/* Forks into new namespaces; the new process is a child of this process's parent. A raw system
 * call, as the C library's clone() needs a new stack. */
static pid_t fork_into(unsigned long namespaces)
{
    return (pid_t)syscall(SYS_clone, namespaces | CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
}

/* The spawner's main function. */
_Noreturn static void spawn_init(struct cc_lab_init_args *args)
{
    const unsigned long own =
        CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC;
    struct init_status status = {.init = -1, .error = EPERM};
    /* Root needs no user namespace, except as root of a container without the capabilities. */
    if (args->uid == 0)
        status.init = fork_into(own);
    if (status.init == -1 && (args->uid != 0 || errno == EPERM)) {
        args->user = true;
        status.init = fork_into(own | CLONE_NEWUSER);
    }
    status.error = errno;
    if (status.init == 0)
        cc_lab_init(args);
    status.user = args->user;
    (void)cc_lab_send(args->socket, &status, sizeof status);
    _exit(0);
}

static void set_deadline(int socket, int seconds)
{
    const struct timeval most = {.tv_sec = seconds};
    (void)setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
}

static void wait_for(pid_t pid)
{
    while (waitpid(pid, NULL, 0) == -1 && errno == EINTR)
        continue;
}

/* Starts init, to which *socket then leads. */
static int start_init(struct cc_lab *lab, int *socket, struct cc_error *e)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return cc_fail(e, "socketpair: %s", strerror(errno));
    struct cc_lab_init_args args = {.config = &lab->config,
                                    .program = lab->program,
                                    .uid = geteuid(),
                                    .gid = getegid(),
                                    .socket = ends[1]};
    pid_t spawner = fork();
    if (spawner == 0) {
        close(ends[0]);
        spawn_init(&args);
    }
    int error = errno;
    close(ends[1]);
    *socket = ends[0];
    if (spawner == -1)
        return cc_fail(e, "fork: %s", strerror(error));
    struct init_status init;
    set_deadline(*socket, ANSWER_S);
    bool received = cc_lab_receive(*socket, &init, sizeof init);
    if (!received)
        (void)kill(spawner, SIGKILL); /* it may be stopped */
    wait_for(spawner);
    if (!received)
        return cc_fail(e, "the lab's first process died, or was stopped");
    lab->init = init.init;
    lab->user = init.user;
    if (init.init != -1)
        return CC_OK;
    cc_lab_explain_refusal(e, "namespaces", init.error);
    return CC_FAIL;
}

/* The path of the running program. */
static int own_program(char **out, struct cc_error *e)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n == -1)
        return cc_fail(e, "/proc/self/exe: %s; is /proc mounted?", strerror(errno));
    path[n] = '\0';
    *out = cc_strdup(path, e);
    return *out != NULL ? CC_OK : CC_FAIL;
}

/* Copies the configuration with defaults filled in, and checks it. */
static int set_config(struct cc_lab *lab, const struct cc_lab_config *config, struct cc_error *e)
{
    lab->config = *config;
    if (config->hosts < 1 || config->hosts > MOST_HOSTS)
        return cc_fail(e, "a lab of %d hosts: it can have 1 to %d", config->hosts, (int)MOST_HOSTS);
    if (lab->config.burst_bytes == 0)
        lab->config.burst_bytes = cc_lab_burst(config->bw_bps);
    if (lab->config.limit_bytes == 0)
        lab->config.limit_bytes = cc_lab_limit(config->bw_bps, config->hosts);
    /* tc would accept less, and then drop every frame. */
    if (lab->config.burst_bytes < CC_LAB_FRAME || lab->config.limit_bytes < CC_LAB_FRAME)
        return cc_fail(e, "a %s of %zu bytes: a frame of %d does not pass; give it more",
                       lab->config.burst_bytes < CC_LAB_FRAME ? "burst" : "limit",
                       lab->config.burst_bytes < CC_LAB_FRAME ? lab->config.burst_bytes
                                                              : lab->config.limit_bytes,
                       (int)CC_LAB_FRAME);
    lab->congestion = cc_strdup(config->congestion != NULL ? config->congestion : "reno", e);
    if (lab->congestion == NULL)
        return CC_FAIL;
    lab->config.congestion = lab->congestion;
    return own_program(&lab->program, e);
}

/* Has init build the lab. */
static int build(const struct cc_lab *lab, int socket, struct cc_error *e)
{
    const int seconds = ANSWER_S + lab->config.hosts / HOSTS_PER_S;
    struct cc_lab_answer a;
    set_deadline(socket, seconds);
    (void)cc_lab_send(socket, "", 1); /* a failure shows in the missing answer */
    errno = 0;
    if (cc_lab_receive(socket, &a, sizeof a)) {
        if (a.status != CC_OK)
            cc_error_set(e, "%s", a.e.text);
        return a.status;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return cc_fail(e,
                       "the lab's first process has not answered for %d s: it is stopped, or the "
                       "machine is far too busy",
                       seconds);
    return cc_fail(e, "the lab is gone: its first process died");
}

int cc_lab_open(const struct cc_lab_config *config, struct cc_lab **out, struct cc_error *e)
{
    struct cc_lab *lab = cc_alloc0(sizeof *lab, e);
    int status = CC_OK, socket = -1;
    if (lab == NULL)
        return CC_FAIL;
    lab->init = -1;
    CC_TRY_OUT(set_config(lab, config, e));
    CC_TRY_OUT(start_init(lab, &socket, e));
    CC_TRY_OUT(build(lab, socket, e));
    *out = lab;
    lab = NULL;
out:
    if (socket != -1)
        close(socket);
    if (status != CC_OK)
        cc_error_in(e, "the lab");
    cc_lab_close(lab);
    return status;
}

void cc_lab_close(struct cc_lab *lab)
{
    if (lab == NULL)
        return;
    if (lab->init != -1) {
        kill(lab->init, SIGKILL);
        wait_for(lab->init);
    }
    free(lab->congestion);
    free(lab->program);
    free(lab);
}

/* --- programs --- */

/* Moves this process into the lab: its namespaces, the user's first, as it gives the right to enter
 * the others; its environment, and the present folder under the name that it has there, too. The
 * next process that it clones is in the lab's PID namespace. */
static bool enter(const struct cc_lab *lab)
{
    static const char *const names[] = {"user", "mnt", "pid", "net", "uts", "ipc"};
    enum { KINDS = sizeof names / sizeof names[0] };
    char path[PATH_MAX];
    int fd[KINDS];
    bool entered = true;
    for (int i = !lab->user; i < KINDS; i++) {
        (void)snprintf(path, sizeof path, "/proc/%ld/ns/%s", (long)lab->init, names[i]);
        fd[i] = open(path, O_RDONLY | O_CLOEXEC);
    }
    const bool named = getcwd(path, sizeof path) != NULL;
    for (int i = !lab->user; i < KINDS; i++)
        entered = entered && setns(fd[i], 0) == 0;
    if (entered && named)
        (void)!chdir(path);
    return entered && cc_lab_environment(NULL) == CC_OK;
}

pid_t cc_lab_fork(const struct cc_lab *lab)
{
    int report[2];
    struct init_status got = {.init = -1, .error = ESRCH};
    if (pipe2(report, O_CLOEXEC) != 0)
        return -1;
    pid_t spawner = fork();
    if (spawner == 0) {
        struct init_status status = {.init = enter(lab) ? fork_into(0) : -1, .error = errno};
        if (status.init == 0) {
            (void)setsid();
            return 0;
        }
        (void)!write(report[1], &status, sizeof status);
        _exit(0);
    }
    if (spawner == -1)
        got.error = errno;
    close(report[1]);
    while (read(report[0], &got, sizeof got) == -1 && errno == EINTR)
        continue;
    close(report[0]);
    if (spawner != -1)
        wait_for(spawner);
    errno = got.error;
    return got.init;
}

int cc_lab_traffic(const struct cc_lab *lab, uint64_t *bytes, struct cc_error *e)
{
    return cc_lab_net_traffic(lab->init, bytes, e);
}

/* --- information for users of the lab --- */

const struct cc_lab_config *cc_lab_settings(const struct cc_lab *lab)
{
    return &lab->config;
}

char *cc_lab_directions(const struct cc_lab *lab, struct cc_error *e)
{
    char enter[64];
    (void)snprintf(enter, sizeof enter, "nsenter -t %d%s -m -n -p -u -i", (int)lab->init,
                   lab->user ? " -U --preserve-credentials" : "");
    char *text = NULL;
    int n = asprintf(&text,
                     "A shell in the lab:      %s bash\n"
                     "A shell on host " CC_LAB_HOST ":      %s %s " CC_LAB_HOST " bash\n"
                     "Its links and counters:  %s ip -n " CC_LAB_HOST " -s link\n"
                     "How they are shaped:     %s tc -n " CC_LAB_HOST " -s qdisc\n",
                     enter, 0, enter, CC_LAB_AGENT, 0, enter, 0, enter, 0);
    if (n == -1)
        return cc_error_set(e, "out of memory"), NULL;
    return text;
}
