/* The caller's side of the lab: starts its init process, sends it requests, and ends it.
 *
 * init must be the first process of the new PID namespace and a child of the caller. It is cloned
 * with raw system calls, which the C library does not know about; in a program with threads the
 * clone may then hold locks of the library that nobody releases. So the caller first forks a
 * spawner: fork() leaves the library in order in the new process. The spawner clones init with
 * CLONE_PARENT, which makes it the caller's child, reports the outcome over init's socket, and
 * ends.
 *
 * Killing init is enough to end a lab: the kernel then kills every process of its PID namespace,
 * and with the last of them the other namespaces and their links vanish. */
#include "netsim/lab/lab.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <math.h>
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

/* How long an answer of the lab's first process may take; opening a lab, a second more for each
 * HOSTS_PER_S hosts, which is several times what it takes on a slow machine. */
enum { ANSWER_S = 20, HOSTS_PER_S = 5 };

struct cc_lab {
    struct cc_lab_config config;
    char *congestion, *program;
    bool user; /* in a user namespace */
    pid_t init;
    int socket;
    int answer_s; /* the present deadline */
    bool silent;  /* it has passed: nothing is asked any more */
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

/* The spawner's report. */
struct init_status {
    pid_t init; /* -1: failed, with errno `error` */
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

static void set_deadline(struct cc_lab *lab, int seconds)
{
    const struct timeval most = {.tv_sec = seconds};
    lab->answer_s = seconds;
    (void)setsockopt(lab->socket, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    (void)setsockopt(lab->socket, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
}

static int start_init(struct cc_lab *lab, struct cc_error *e)
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
    lab->socket = ends[0];
    if (spawner == -1)
        return cc_fail(e, "fork: %s", strerror(error));
    struct init_status init;
    set_deadline(lab, ANSWER_S);
    bool received = cc_lab_receive(lab->socket, &init, sizeof init);
    if (!received)
        (void)kill(spawner, SIGKILL); /* it may be stopped */
    while (waitpid(spawner, NULL, 0) == -1 && errno == EINTR)
        continue;
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

/* --- requests --- */

static int receive_answer(struct cc_lab *lab, struct cc_lab_answer *a, struct cc_error *e)
{
    errno = 0;
    if (!lab->silent && !cc_lab_receive(lab->socket, a, sizeof *a)) {
        lab->silent = true;
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return cc_fail(e,
                           "the lab's first process has not answered for %d s: it is stopped, or "
                           "the machine is far too busy",
                           lab->answer_s);
    }
    if (lab->silent)
        return cc_fail(e, "the lab is gone: its first process died or does not answer");
    if (a->status != CC_OK)
        cc_error_set(e, "%s", a->e.text);
    return a->status;
}

static int request(struct cc_lab *lab, const struct cc_lab_request *r, struct cc_lab_answer *a,
                   struct cc_error *e)
{
    (void)cc_lab_send(lab->socket, r, sizeof *r); /* a failure shows in the missing answer */
    return receive_answer(lab, a, e);
}

int cc_lab_open(const struct cc_lab_config *config, struct cc_lab **out, struct cc_error *e)
{
    struct cc_lab *lab = cc_alloc0(sizeof *lab, e);
    if (lab == NULL)
        return CC_FAIL;
    lab->init = -1;
    lab->socket = -1;
    struct cc_lab_answer a;
    int status = CC_OK;
    CC_TRY_OUT(set_config(lab, config, e));
    CC_TRY_OUT(start_init(lab, e));
    set_deadline(lab, ANSWER_S + config->hosts / HOSTS_PER_S);
    CC_TRY_OUT(request(lab, &(struct cc_lab_request){.op = CC_LAB_OPEN}, &a, e));
    set_deadline(lab, ANSWER_S);
    *out = lab;
    lab = NULL;
out:
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
        while (waitpid(lab->init, NULL, 0) == -1 && errno == EINTR)
            continue;
    }
    if (lab->socket != -1)
        close(lab->socket);
    free(lab->congestion);
    free(lab->program);
    free(lab);
}

static void close_all(const int *fd, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fd[i] != -1)
            close(fd[i]);
}

/* Sends the request, with the descriptors attached to its first byte, and then the arguments. */
static void send_spawn(struct cc_lab *lab, char *const argv[], const int fds[CC_LAB_ENDS])
{
    struct cc_lab_request r = {.op = CC_LAB_SPAWN};
    for (; argv[r.args] != NULL; r.args++)
        r.bytes += (uint32_t)strlen(argv[r.args]) + 1;
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(CC_LAB_ENDS * sizeof(int))];
    } control = {0};
    struct iovec part = {&r, sizeof r};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control.room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(CC_LAB_ENDS * sizeof(int));
    memcpy(CMSG_DATA(head), fds, CC_LAB_ENDS * sizeof(int));
    ssize_t n;
    do
        n = sendmsg(lab->socket, &message, MSG_NOSIGNAL);
    while (n == -1 && errno == EINTR);
    if (n > 0)
        (void)cc_lab_send(lab->socket, (const char *)&r + n, sizeof r - (size_t)n);
    for (size_t i = 0; n > 0 && argv[i] != NULL; i++)
        (void)cc_lab_send(lab->socket, argv[i], strlen(argv[i]) + 1);
}

int cc_lab_spawn(struct cc_lab *lab, char *const argv[], int in, struct cc_lab_child *out,
                 struct cc_error *e)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int output[2] = {-1, -1}, error[2] = {-1, -1};
    int status = CC_OK;
    struct cc_lab_answer a;
    if (null == -1 || pipe2(output, O_CLOEXEC) != 0 || pipe2(error, O_CLOEXEC) != 0) {
        status = cc_fail(e, "%s cannot be started in the lab: %s", argv[0], strerror(errno));
        goto out;
    }
    send_spawn(lab, argv, (const int[CC_LAB_ENDS]){in != -1 ? in : null, output[1], error[1]});
    CC_TRY_OUT(receive_answer(lab, &a, e));
    *out = (struct cc_lab_child){.id = a.id, .out = output[0], .err = error[0]};
out:
    close_all((const int[]){null, output[1], error[1]}, 3);
    if (status != CC_OK)
        close_all((const int[]){output[0], error[0]}, 2);
    return status;
}

int cc_lab_poll(struct cc_lab *lab, const struct cc_lab_child *child, bool *ended, int *status,
                struct cc_error *e)
{
    struct cc_lab_answer a;
    CC_TRY(request(lab, &(struct cc_lab_request){.op = CC_LAB_POLL, .id = child->id}, &a, e));
    *ended = a.ended;
    if (a.ended)
        *status = a.wait_status;
    return CC_OK;
}

int cc_lab_kill(struct cc_lab *lab, const struct cc_lab_child *child, int signal,
                struct cc_error *e)
{
    struct cc_lab_answer a;
    struct cc_lab_request r = {.op = CC_LAB_KILL, .id = child->id, .signal = signal};
    return request(lab, &r, &a, e);
}

int cc_lab_traffic(struct cc_lab *lab, uint64_t *bytes, struct cc_error *e)
{
    struct cc_lab_answer a;
    CC_TRY(request(lab, &(struct cc_lab_request){.op = CC_LAB_TRAFFIC}, &a, e));
    *bytes = a.traffic;
    return CC_OK;
}

/* --- information for users of the lab --- */

const char *cc_lab_agent(const struct cc_lab *lab)
{
    (void)lab;
    return CC_LAB_FOLDER "/enter";
}

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
                     enter, 0, enter, cc_lab_agent(lab), 0, enter, 0, enter, 0);
    if (n == -1)
        return cc_error_set(e, "out of memory"), NULL;
    return text;
}
