/* The first process inside the lab: builds it, starts programs, reaps what ends. Whatever happens
 * to it or to its parent, the kernel kills all that runs in the lab when it is gone. */
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
#include "netsim/lab/lab_inside.h"

struct child {
    pid_t pid;
    bool ended;
    int wait_status;
};

struct init {
    int socket;
    struct child *child; /* by id */
    size_t children, capacity;
    sigset_t before; /* the signal mask that programs get */
};

/* --- building --- */

/* Ends this process with its parent. The parent may have died before the order was given: then
 * nobody is left at the other end of the socket to say that it begins. (In a new PID namespace
 * getppid() says nothing.) */
static void follow_parent(int socket)
{
    struct cc_lab_request r;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || !cc_lab_receive(socket, &r, sizeof r))
        _exit(1);
}

/* Nothing of the caller's stays: neither its files, nor its terminal, nor what it does on signals.
 */
static int settle(struct init *in, struct cc_error *e)
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

static int become_root(const struct cc_lab_init_args *b, struct cc_error *e)
{
    char line[64];
    int status = cc_lab_write("/proc/self/setgroups", "deny", e);
    if (status == CC_OK) {
        (void)snprintf(line, sizeof line, "0 %lu 1", (unsigned long)b->uid);
        status = cc_lab_write("/proc/self/uid_map", line, e);
    }
    if (status == CC_OK) {
        (void)snprintf(line, sizeof line, "0 %lu 1", (unsigned long)b->gid);
        status = cc_lab_write("/proc/self/gid_map", line, e);
    }
    if (status != CC_OK)
        cc_lab_forbidden(e, "user namespaces", EPERM);
    return status;
}

static int mount_tmpfs(const char *path, const char *options, bool user, struct cc_error *e)
{
    if (mount("commcomp", path, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0)
        return CC_OK;
    if (!user)
        return cc_fail(e, "mounting a tmpfs on %s: %s; does a container forbid it?", path,
                       strerror(errno));
    cc_lab_forbidden(e, "mounts", errno);
    return CC_FAIL;
}

/* All that is written in the lab lies in its memory. /proc shows its processes where that is
 * allowed; in containers that mask parts of /proc an ordinary user may not mount another: then it
 * goes on with the old one, where only the numbers of processes are not the lab's own. */
static int mount_all(const struct cc_lab_init_args *b, struct cc_error *e)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return cc_fail(e, "making mounts private: %s", strerror(errno));
    int status = mount_tmpfs("/run", "mode=755", b->user, e);
    if (status == CC_OK && access("/dev/shm", F_OK) == 0)
        status = mount_tmpfs("/dev/shm", "mode=1777", b->user, e);
    if (status != CC_OK)
        return status;
    (void)mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
    if (mkdir(CC_LAB_NETNS, 0755) != 0 || mkdir(CC_LAB_FOLDER, 0755) != 0)
        return cc_fail(e, CC_LAB_FOLDER ": %s", strerror(errno));
    return CC_OK;
}

/* The script that mpirun calls: the path of the program may hold spaces, which mpirun would take
 * for the end of it. */
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

/* The hosts' names mean their control addresses, so that no one asks a name server. */
static int write_names(int hosts, struct cc_error *e)
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

/* Programs of the system may lie where an ordinary user's PATH does not lead. */
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

static int build(struct init *in, const struct cc_lab_init_args *b, struct cc_error *e)
{
    int status = settle(in, e);
    if (status == CC_OK && b->user)
        status = become_root(b, e);
    if (status == CC_OK)
        status = mount_all(b, e);
    if (status == CC_OK)
        status = set_environment(e);
    if (status == CC_OK && sethostname("lab", 3) != 0)
        status = cc_fail(e, "naming the lab: %s", strerror(errno));
    if (status == CC_OK)
        status = write_agent(b->program, e);
    if (status == CC_OK)
        status = write_names(b->config->hosts, e);
    if (status == CC_OK)
        status = cc_lab_net(b->config, e);
    return status;
}

/* --- children --- */

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

/* In the new process. Its error number goes into the pipe `told`, if it cannot become the program.
 */
_Noreturn static void become(char *const argv[], const int fds[CC_LAB_ENDS], const sigset_t *mask,
                             int told)
{
    (void)setpgid(0, 0);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    if (dup2(fds[0], 0) != -1 && dup2(fds[1], 1) != -1 && dup2(fds[2], 2) != -1)
        execvp(argv[0], argv);
    int error = errno;
    (void)!write(told, &error, sizeof error);
    _exit(127);
}

static int start(struct init *in, char *const argv[], const int fds[CC_LAB_ENDS], int *id,
                 struct cc_error *e)
{
    if (cc_grow((void **)&in->child, &in->capacity, in->children + 1, sizeof *in->child, e) !=
        CC_OK)
        return CC_FAIL;
    int tell[2];
    if (pipe2(tell, O_CLOEXEC) != 0)
        return cc_fail(e, "pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        become(argv, fds, &in->before, tell[1]);
    int error = errno;
    close(tell[1]);
    bool failed = pid == -1;
    if (!failed)
        failed = read(tell[0], &error, sizeof error) == sizeof error;
    close(tell[0]);
    if (failed)
        return cc_fail(e, "%s: %s", argv[0], strerror(error));
    *id = (int)in->children;
    in->child[in->children++] = (struct child){.pid = pid};
    return CC_OK;
}

/* --- serving --- */

/* The next request, and the descriptors that came with it (else -1). */
static bool next(int socket, struct cc_lab_request *r, int fds[CC_LAB_ENDS])
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

static int spawn(struct init *in, const struct cc_lab_request *r, const int fds[CC_LAB_ENDS],
                 int *id, struct cc_error *e)
{
    char *bytes = cc_alloc(r->bytes, e);
    char **argv = cc_alloc(((size_t)r->words + 1) * sizeof *argv, e);
    if (bytes == NULL || argv == NULL || !cc_lab_receive(in->socket, bytes, r->bytes))
        _exit(1); /* the words can no longer be told from the next request */
    char *word = bytes;
    for (uint32_t i = 0; i < r->words; i++) {
        argv[i] = word;
        word += strlen(word) + 1;
    }
    argv[r->words] = NULL;
    int status = r->words > 0 ? start(in, argv, fds, id, e) : cc_fail(e, "no program to start");
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
        a->status = spawn(in, r, fds, &a->id, &a->e);
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

/* Until the caller closes its end. */
static void serve_all(struct init *in, int children_end)
{
    struct pollfd watched[] = {{.fd = in->socket, .events = POLLIN},
                               {.fd = children_end, .events = POLLIN}};
    for (;;) {
        if (poll(watched, 2, -1) == -1 && errno != EINTR)
            return;
        struct signalfd_siginfo unused;
        if ((watched[1].revents & POLLIN) != 0 &&
            read(children_end, &unused, sizeof unused) == (ssize_t)sizeof unused)
            reap(in);
        if ((watched[0].revents & (POLLIN | POLLHUP)) == 0)
            continue;
        struct cc_lab_request r;
        int fds[CC_LAB_ENDS];
        struct cc_lab_answer a = {.status = CC_OK};
        if (!next(in->socket, &r, fds))
            return;
        serve(in, &r, fds, &a);
        for (int i = 0; i < CC_LAB_ENDS && fds[i] != -1; i++)
            close(fds[i]);
        if (!cc_lab_send(in->socket, &a, sizeof a))
            return;
    }
}

_Noreturn void cc_lab_init(const struct cc_lab_init_args *init_args)
{
    struct init in = {.socket = init_args->socket};
    follow_parent(in.socket);
    struct cc_lab_answer a = {.status = CC_OK};
    a.status = build(&in, init_args, &a.e);
    sigset_t ends;
    sigemptyset(&in.before);
    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    (void)sigprocmask(SIG_SETMASK, &ends, NULL);
    int children_end = signalfd(-1, &ends, SFD_CLOEXEC);
    if (a.status == CC_OK && children_end == -1)
        a.status = cc_fail(&a.e, "signalfd: %s", strerror(errno));
    if (cc_lab_send(in.socket, &a, sizeof a) && a.status == CC_OK)
        serve_all(&in, children_end);
    _exit(0);
}
