/* The lab's init: the first process in its PID namespace. It builds the lab, starts programs on
 * request, and reaps processes. When it ends, for whatever reason, the kernel kills all processes
 * of the lab; and it ends when its parent does.
 *
 * It builds the lab in this order, as each step needs the ones before:
 *
 * 1. follow_parent: have this process killed when its parent dies.
 * 2. leave_caller: drop the caller's files, terminal, session and signal handlers.
 * 3. map_root, in a user namespace: become root, which the next steps require.
 * 4. mount_all: make mounts private; mount memory file systems on /run and /dev/shm, so that no
 *    file remains, and the /proc of the new PID namespace.
 * 5. Set PATH, TMPDIR and the host name.
 * 6. Write the agent's script for mpirun, and the hosts' names over /etc/hosts.
 * 7. cc_lab_net: create the hosts' network namespaces and links (lab_net.c).
 *
 * Then init answers the first request, OPEN, with the outcome, and serves further ones (lab_impl.h)
 * until the caller closes the socket. Orphaned processes of the lab become its children, so it
 * reaps every child and keeps the status of those that it was asked to start. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/memory.h"
#include "netsim/lab/lab_impl.h"

struct child {
    pid_t pid;
    bool ended;
    int wait_status;
};

struct init {
    int socket;
    struct child *child; /* the programs that were started, by id */
    size_t children, capacity;
    sigset_t mask; /* the signal mask for programs */
};

/* --- building --- */

/* Has this process killed when its parent dies, and receives the first request. If the parent died
 * before, the socket is closed and no request comes. (getppid() cannot tell: it is 0 in a new PID
 * namespace.) */
static void follow_parent(int socket)
{
    struct cc_lab_request r;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || !cc_lab_receive(socket, &r, sizeof r))
        _exit(1);
}

/* Drops what was inherited from the caller: its files but the socket, its terminal and session, and
 * its signal handlers. */
static int leave_caller(struct init *in, struct cc_error *e)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null == -1 || dup2(null, 0) == -1)
        return cc_fail(e, "/dev/null: %s", strerror(errno));
    if (in->socket != 3 && dup2(in->socket, 3) == -1)
        return cc_fail(e, "dup: %s", strerror(errno));
    in->socket = 3;
    closefrom(4);
    (void)fcntl(in->socket, F_SETFD, FD_CLOEXEC);
    (void)setsid();
    for (int s = 1; s < NSIG; s++)
        (void)signal(s, SIG_DFL);
    return CC_OK;
}

static int map_root(const struct cc_lab_init_args *args, struct cc_error *e)
{
    char uid_map[64], gid_map[64];
    int status = CC_OK;
    (void)snprintf(uid_map, sizeof uid_map, "0 %lu 1", (unsigned long)args->uid);
    (void)snprintf(gid_map, sizeof gid_map, "0 %lu 1", (unsigned long)args->gid);
    CC_TRY_OUT(cc_lab_write("/proc/self/setgroups", "deny", e));
    CC_TRY_OUT(cc_lab_write("/proc/self/uid_map", uid_map, e));
    CC_TRY_OUT(cc_lab_write("/proc/self/gid_map", gid_map, e));
out:
    if (status != CC_OK)
        cc_lab_explain_refusal(e, "user namespaces", EPERM);
    return status;
}

static int mount_tmpfs(const char *path, const char *options, bool user, struct cc_error *e)
{
    if (mount("commcomp", path, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0)
        return CC_OK;
    if (!user)
        return cc_fail(e, "mounting a tmpfs on %s: %s; does a container forbid it?", path,
                       strerror(errno));
    cc_lab_explain_refusal(e, "mounts", errno);
    return CC_FAIL;
}

/* Mounting /proc may fail: containers that mask parts of it forbid an ordinary user to mount
 * another. The old one does as well, except that it shows other process numbers than the lab's. */
static int mount_all(const struct cc_lab_init_args *args, struct cc_error *e)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return cc_fail(e, "making mounts private: %s", strerror(errno));
    CC_TRY(mount_tmpfs("/run", "mode=755", args->user, e));
    if (access("/dev/shm", F_OK) == 0)
        CC_TRY(mount_tmpfs("/dev/shm", "mode=1777", args->user, e));
    (void)mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
    if (mkdir(CC_LAB_NETNS, 0755) != 0 || mkdir(CC_LAB_FOLDER, 0755) != 0)
        return cc_fail(e, CC_LAB_FOLDER ": %s", strerror(errno));
    return CC_OK;
}

/* Writes the agent's script for mpirun. mpirun would cut the path of commcomp at a blank, so that
 * is quoted in the script. */
static int write_agent(const char *program, struct cc_error *e)
{
    static const char path[] = CC_LAB_FOLDER "/enter";
    FILE *f = fopen(path, "we");
    if (f == NULL)
        return cc_fail(e, "%s: %s", path, strerror(errno));
    fputs("#!/bin/sh\nexec '", f);
    for (const char *p = program; *p != '\0'; p++)
        fputs(*p == '\'' ? "'\\''" : (char[]){*p, '\0'}, f);
    fputs("' lab-enter \"$@\"\n", f);
    bool bad = ferror(f) != 0;
    if (fclose(f) != 0 || bad || chmod(path, 0755) != 0)
        return cc_fail(e, "%s: %s", path, strerror(errno));
    return CC_OK;
}

/* Maps the hosts' names to their control addresses, so that no name server is asked. */
static int write_hosts(int hosts, struct cc_error *e)
{
    static const char path[] = CC_LAB_FOLDER "/hosts";
    FILE *f = fopen(path, "we");
    if (f == NULL)
        return cc_fail(e, "%s: %s", path, strerror(errno));
    fputs("127.0.0.1 localhost\n" CC_LAB_SELF " lab\n", f);
    for (int i = 0; i < hosts; i++) {
        char address[CC_LAB_ADDRESS];
        cc_lab_control_address(i, address);
        fprintf(f, "%s " CC_LAB_HOST "\n", address, i);
    }
    bool bad = ferror(f) != 0;
    if (fclose(f) != 0 || bad)
        return cc_fail(e, "%s: %s", path, strerror(errno));
    if (access("/etc/hosts", F_OK) == 0 && mount(path, "/etc/hosts", NULL, MS_BIND, NULL) != 0)
        return cc_fail(e, "mounting over /etc/hosts: %s", strerror(errno));
    return CC_OK;
}

/* An ordinary user's PATH may lack the directories of ip, bridge and tc. */
static int set_environment(struct cc_error *e)
{
    static const char system[] = "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin";
    const char *path = getenv("PATH");
    char *both = NULL;
    if (asprintf(&both, "%s%s%s", path != NULL ? path : "", path != NULL ? ":" : "", system) == -1)
        return cc_fail(e, "out of memory");
    int bad = setenv("PATH", both, 1) | setenv("TMPDIR", CC_LAB_FOLDER, 1);
    free(both);
    return bad ? cc_fail(e, "out of memory") : CC_OK;
}

static int build(struct init *in, const struct cc_lab_init_args *args, struct cc_error *e)
{
    CC_TRY(leave_caller(in, e));
    if (args->user)
        CC_TRY(map_root(args, e));
    CC_TRY(mount_all(args, e));
    CC_TRY(set_environment(e));
    if (sethostname("lab", 3) != 0)
        return cc_fail(e, "naming the lab: %s", strerror(errno));
    CC_TRY(write_agent(args->program, e));
    CC_TRY(write_hosts(args->config->hosts, e));
    return cc_lab_net(args->config, e);
}

/* --- programs --- */

static void reap(struct init *in)
{
    int wait_status;
    pid_t pid;
    while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0)
        for (size_t i = 0; i < in->children; i++)
            if (in->child[i].pid == pid && !in->child[i].ended) {
                in->child[i].ended = true;
                in->child[i].wait_status = wait_status;
            }
}

/* The new process: becomes the program, or writes its errno to the pipe `failure`. */
_Noreturn static void exec_program(char *const argv[], const int fds[CC_LAB_ENDS],
                                   const sigset_t *mask, int failure)
{
    (void)setpgid(0, 0);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    if (dup2(fds[0], 0) != -1 && dup2(fds[1], 1) != -1 && dup2(fds[2], 2) != -1)
        execvp(argv[0], argv);
    int error = errno;
    (void)!write(failure, &error, sizeof error);
    _exit(127);
}

/* Starts a program and waits until it runs or has failed to: then the pipe is closed by exec, or
 * holds an errno. */
static int start_program(struct init *in, char *const argv[], const int fds[CC_LAB_ENDS], int *id,
                         struct cc_error *e)
{
    CC_TRY(CC_GROW(in->child, &in->capacity, in->children + 1, e));
    int failure[2];
    if (pipe2(failure, O_CLOEXEC) != 0)
        return cc_fail(e, "pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        exec_program(argv, fds, &in->mask, failure[1]);
    int error = errno;
    close(failure[1]);
    bool failed = pid == -1;
    if (!failed)
        failed = read(failure[0], &error, sizeof error) == sizeof error;
    close(failure[0]);
    if (failed)
        return cc_fail(e, "%s: %s", argv[0], strerror(error));
    *id = (int)in->children;
    in->child[in->children++] = (struct child){.pid = pid};
    return CC_OK;
}

/* --- serving --- */

/* Receives a request and the descriptors sent with it (-1 if none); false if the socket is closed.
 */
static bool receive_request(int socket, struct cc_lab_request *r, int fds[CC_LAB_ENDS])
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(CC_LAB_ENDS * sizeof(int))];
    } control;
    struct iovec part = {r, sizeof *r};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control.room};
    ssize_t n;
    do
        n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (n == -1 && errno == EINTR);
    if (n <= 0)
        return false;
    for (int i = 0; i < CC_LAB_ENDS; i++)
        fds[i] = -1;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head != NULL && head->cmsg_type == SCM_RIGHTS &&
        head->cmsg_len == CMSG_LEN(CC_LAB_ENDS * sizeof(int)))
        memcpy(fds, CMSG_DATA(head), CC_LAB_ENDS * sizeof(int));
    return cc_lab_receive(socket, (char *)r + n, sizeof *r - (size_t)n);
}

/* Receives the arguments of a SPAWN request and starts the program. */
static int serve_spawn(struct init *in, const struct cc_lab_request *r, const int fds[CC_LAB_ENDS],
                       int *id, struct cc_error *e)
{
    char *bytes = cc_alloc(r->bytes, e);
    char **argv = cc_alloc(((size_t)r->args + 1) * sizeof *argv, e);
    if (bytes == NULL || argv == NULL || !cc_lab_receive(in->socket, bytes, r->bytes))
        _exit(1); /* the place of the next request is lost */
    char *arg = bytes;
    for (uint32_t i = 0; i < r->args; i++) {
        argv[i] = arg;
        arg += strlen(arg) + 1;
    }
    argv[r->args] = NULL;
    int status =
        r->args > 0 ? start_program(in, argv, fds, id, e) : cc_fail(e, "no program to start");
    free(argv);
    free(bytes);
    return status;
}

static void serve(struct init *in, const struct cc_lab_request *r, const int fds[CC_LAB_ENDS],
                  struct cc_lab_answer *a)
{
    if ((r->op == CC_LAB_POLL || r->op == CC_LAB_KILL) &&
        (r->id < 0 || (size_t)r->id >= in->children)) {
        a->status = cc_fail(&a->e, "no such program in the lab: %d", r->id);
        return;
    }
    reap(in);
    switch (r->op) {
    case CC_LAB_SPAWN:
        a->status = serve_spawn(in, r, fds, &a->id, &a->e);
        break;
    case CC_LAB_POLL:
        a->ended = in->child[r->id].ended;
        a->wait_status = in->child[r->id].wait_status;
        break;
    case CC_LAB_KILL:
        if (!in->child[r->id].ended && kill(in->child[r->id].pid, r->signal) != 0)
            a->status = cc_fail(&a->e, "signal %d: %s", r->signal, strerror(errno));
        break;
    case CC_LAB_TRAFFIC:
        a->status = cc_lab_net_traffic(&a->traffic, &a->e);
        break;
    case CC_LAB_OPEN:
        break;
    }
}

/* Serves requests until the caller closes the socket; `child_signals` is a signalfd for SIGCHLD. */
static void serve_all(struct init *in, int child_signals)
{
    struct pollfd watched[] = {{.fd = in->socket, .events = POLLIN},
                               {.fd = child_signals, .events = POLLIN}};
    for (;;) {
        if (poll(watched, 2, -1) == -1 && errno != EINTR)
            return;
        struct signalfd_siginfo unused;
        if ((watched[1].revents & POLLIN) != 0 &&
            read(child_signals, &unused, sizeof unused) == (ssize_t)sizeof unused)
            reap(in);
        if ((watched[0].revents & (POLLIN | POLLHUP)) == 0)
            continue;
        struct cc_lab_request r;
        int fds[CC_LAB_ENDS];
        struct cc_lab_answer a = {.status = CC_OK};
        if (!receive_request(in->socket, &r, fds))
            return;
        serve(in, &r, fds, &a);
        for (int i = 0; i < CC_LAB_ENDS && fds[i] != -1; i++)
            close(fds[i]);
        if (!cc_lab_send(in->socket, &a, sizeof a))
            return;
    }
}

_Noreturn void cc_lab_init(const struct cc_lab_init_args *args)
{
    struct init in = {.socket = args->socket};
    follow_parent(in.socket);
    struct cc_lab_answer a = {.status = CC_OK};
    a.status = build(&in, args, &a.e);
    sigset_t sigchld;
    sigemptyset(&in.mask);
    sigemptyset(&sigchld);
    sigaddset(&sigchld, SIGCHLD);
    (void)sigprocmask(SIG_SETMASK, &sigchld, NULL);
    int child_signals = signalfd(-1, &sigchld, SFD_CLOEXEC);
    if (a.status == CC_OK && child_signals == -1)
        a.status = cc_fail(&a.e, "signalfd: %s", strerror(errno));
    if (cc_lab_send(in.socket, &a, sizeof a) && a.status == CC_OK)
        serve_all(&in, child_signals);
    _exit(0);
}
