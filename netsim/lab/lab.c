/* The caller's side of the lab: brings init to life, asks it for things, ends it. */
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
#include <sys/wait.h>
#include <unistd.h>

#include "core/memory.h"
#include "netsim/lab/lab_inside.h"

/* A Linux bridge has 1,024 ports. */
enum { MOST_HOSTS = 1000 };

struct cc_lab {
    struct cc_lab_config config;
    char *congestion, *program;
    bool user; /* in a user namespace */
    pid_t init;
    int socket;
};

/* --- what the rate asks for --- */

/* Between measured points, by the logarithm of the rate. */
struct point {
    double bw_bps, bytes;
};

static double between(const struct point *p, size_t count, double bw_bps)
{
    if (bw_bps <= p[0].bw_bps)
        return p[0].bytes;
    for (size_t i = 1; i < count; i++)
        if (bw_bps <= p[i].bw_bps) {
            double part = log(bw_bps / p[i - 1].bw_bps) / log(p[i].bw_bps / p[i - 1].bw_bps);
            return p[i - 1].bytes * pow(p[i].bytes / p[i - 1].bytes, part);
        }
    return p[count - 1].bytes * bw_bps / p[count - 1].bw_bps;
}

/* The timer that ends a wait is late by some microseconds: a bucket that overflows meanwhile loses
 * what the link could have carried. Large ones let messages pass that should have waited. */
size_t cc_lab_burst(double bw_bps)
{
    static const struct point points[] = {{10e6, 5e3}, {100e6, 14e3}, {1e9, 64e3}, {10e9, 600e3}};
    return (size_t)between(points, sizeof points / sizeof points[0], bw_bps);
}

/* So much that nothing is ever lost when all other hosts send to one: TCP does not put more than
 * some 300 kB of a connection on its way at 1 Gbit/s or less. With shorter queues 1 to 20% of all
 * segments were sent again, and steps took up to four times their time when the last segment of a
 * message was among them. */
size_t cc_lab_limit(double bw_bps, int hosts)
{
    double senders = hosts > 11 ? hosts - 1 : 10;
    return (size_t)(senders * 300e3 * fmax(1, bw_bps / 1e9));
}

/* --- bringing init to life --- */

/* What the process in between reports. */
struct init_status {
    pid_t init; /* -1: could not be made, because of `error` */
    int error;
    bool user;
};

/* A fork into new namespaces. A system call, as the C library's clone() wants a new stack. The
 * child belongs to the parent of who calls this. */
static pid_t clone_into(unsigned long namespaces)
{
    return (pid_t)syscall(SYS_clone, namespaces | CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
}

/* In a process of its own, made by fork(), which leaves the C library in order whatever the threads
 * of the caller were doing; it ends at once, and init is the caller's child. */
_Noreturn static void spawner(struct cc_lab_init_args *init_args)
{
    const unsigned long own =
        CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC;
    struct init_status init_status = {.init = -1, .error = EPERM};
    /* Root needs no user namespace, unless it is root of a container that lacks the rights. */
    if (init_args->uid == 0)
        init_status.init = clone_into(own);
    if (init_status.init == -1 && (init_args->uid != 0 || errno == EPERM)) {
        init_args->user = true;
        init_status.init = clone_into(own | CLONE_NEWUSER);
    }
    init_status.error = errno;
    if (init_status.init == 0)
        cc_lab_init(init_args);
    init_status.user = init_args->user;
    (void)cc_lab_send(init_args->socket, &init_status, sizeof init_status);
    _exit(0);
}

static int start_init(struct cc_lab *lab, struct cc_error *e)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return cc_fail(e, "socketpair: %s", strerror(errno));
    struct cc_lab_init_args init_args = {.config = &lab->config,
                                         .program = lab->program,
                                         .uid = geteuid(),
                                         .gid = getegid(),
                                         .socket = ends[1]};
    pid_t between = fork();
    if (between == 0) {
        close(ends[0]);
        spawner(&init_args);
    }
    int error = errno;
    close(ends[1]);
    lab->socket = ends[0];
    if (between == -1)
        return cc_fail(e, "fork: %s", strerror(error));
    struct init_status init_status;
    bool told = cc_lab_receive(lab->socket, &init_status, sizeof init_status);
    while (waitpid(between, NULL, 0) == -1 && errno == EINTR)
        continue;
    if (!told)
        return cc_fail(e, "the lab's first process died");
    lab->init = init_status.init;
    lab->user = init_status.user;
    if (init_status.init != -1)
        return CC_OK;
    cc_lab_forbidden(e, "namespaces", init_status.error);
    return CC_FAIL;
}

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

static int settle(struct cc_lab *lab, const struct cc_lab_config *config, struct cc_error *e)
{
    lab->config = *config;
    if (config->hosts < 1 || config->hosts > MOST_HOSTS)
        return cc_fail(e, "a lab of %d hosts: it can have 1 to %d", config->hosts, (int)MOST_HOSTS);
    if (lab->config.burst_bytes == 0)
        lab->config.burst_bytes = cc_lab_burst(config->bw_bps);
    if (lab->config.limit_bytes == 0)
        lab->config.limit_bytes = cc_lab_limit(config->bw_bps, config->hosts);
    /* Without this, nothing passes and nobody says why. */
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

/* --- asking init --- */

static int answer(struct cc_lab *lab, struct cc_lab_answer *a, struct cc_error *e)
{
    if (!cc_lab_receive(lab->socket, a, sizeof *a))
        return cc_fail(e, "the lab is gone: its first process died");
    if (a->status != CC_OK)
        cc_error_set(e, "%s", a->e.text);
    return a->status;
}

static int ask(struct cc_lab *lab, const struct cc_lab_request *r, struct cc_lab_answer *a,
               struct cc_error *e)
{
    (void)cc_lab_send(lab->socket, r, sizeof *r); /* what went wrong shows in the answer */
    return answer(lab, a, e);
}

int cc_lab_open(const struct cc_lab_config *config, struct cc_lab **out, struct cc_error *e)
{
    struct cc_lab *lab = cc_alloc0(sizeof *lab, e);
    if (lab == NULL)
        return CC_FAIL;
    lab->init = -1;
    lab->socket = -1;
    struct cc_lab_answer a;
    int status = settle(lab, config, e);
    if (status == CC_OK)
        status = start_init(lab, e);
    if (status == CC_OK)
        status = ask(lab, &(struct cc_lab_request){.op = CC_LAB_OPEN}, &a, e);
    if (status != CC_OK) {
        cc_error_in(e, "the lab");
        cc_lab_close(lab);
        return status;
    }
    *out = lab;
    return CC_OK;
}

/* When init is gone, so is every process inside, and with the last of them the namespaces; the
 * kernel takes their links down within moments of that. */
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

/* The request and the words, the descriptors along with the first byte. */
static void send_spawn(struct cc_lab *lab, char *const argv[], const int fds[CC_LAB_ENDS])
{
    struct cc_lab_request r = {.op = CC_LAB_SPAWN};
    for (; argv[r.words] != NULL; r.words++)
        r.bytes += (uint32_t)strlen(argv[r.words]) + 1;
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
    int o[2] = {-1, -1}, r[2] = {-1, -1};
    int status = CC_OK;
    struct cc_lab_answer a;
    if (null == -1 || pipe2(o, O_CLOEXEC) != 0 || pipe2(r, O_CLOEXEC) != 0)
        status = cc_fail(e, "%s cannot be started in the lab: %s", argv[0], strerror(errno));
    if (status == CC_OK) {
        send_spawn(lab, argv, (const int[CC_LAB_ENDS]){in != -1 ? in : null, o[1], r[1]});
        status = answer(lab, &a, e);
    }
    close_all((const int[]){null, o[1], r[1]}, 3);
    if (status == CC_OK)
        *out = (struct cc_lab_child){.id = a.id, .out = o[0], .err = r[0]};
    else
        close_all((const int[]){o[0], r[0]}, 2);
    return status;
}

int cc_lab_poll(struct cc_lab *lab, const struct cc_lab_child *child, bool *ended, int *status,
                struct cc_error *e)
{
    struct cc_lab_answer a;
    int asked = ask(lab, &(struct cc_lab_request){.op = CC_LAB_POLL, .id = child->id}, &a, e);
    if (asked != CC_OK)
        return asked;
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
    return ask(lab, &r, &a, e);
}

int cc_lab_traffic(struct cc_lab *lab, uint64_t *bytes, struct cc_error *e)
{
    struct cc_lab_answer a;
    int status = ask(lab, &(struct cc_lab_request){.op = CC_LAB_TRAFFIC}, &a, e);
    if (status == CC_OK)
        *bytes = a.traffic;
    return status;
}

/* --- what it is --- */

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
