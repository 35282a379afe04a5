/* A child is forked with two pipes for its output and a file in memory as its input: a file cannot
 * fill up while nobody reads, and needs no writer.
 *
 * A group is killed just before its leader is reaped: until then no other process can be given the
 * group's id. */
#include "netsim/launch/program.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/interrupt.h"
#include "core/memory.h"

int cc_program_file(const char *what, const char *text, size_t length, int *out, struct cc_error *e)
{
    int fd = memfd_create("commcomp", MFD_CLOEXEC);
    if (fd < 0)
        return cc_fail(e, "%s cannot be written to memory: %s", what, strerror(errno));
    for (size_t done = 0; done < length;) {
        ssize_t n = write(fd, text + done, length - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            int error = errno;
            (void)close(fd);
            return cc_fail(e, "%s (%zu bytes) cannot be written to memory: %s", what, length,
                           strerror(error));
        }
        done += (size_t)n;
    }
    (void)lseek(fd, 0, SEEK_SET);
    *out = fd;
    return CC_OK;
}

static bool write_text(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        (void)close(fd);
    return done;
}

/* Moves this process into a network namespace with a loopback; an ordinary user may do that in a
 * user namespace, where he stays the user that he is. False: some of it is forbidden. */
static bool enter_own_network(void)
{
    const uid_t uid = geteuid();
    const gid_t gid = getegid();
    char uids[64], gids[64];
    struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    if (unshare(CLONE_NEWNET) != 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
            return false;
        (void)snprintf(uids, sizeof uids, "%lu %lu 1", (unsigned long)uid, (unsigned long)uid);
        (void)snprintf(gids, sizeof gids, "%lu %lu 1", (unsigned long)gid, (unsigned long)gid);
        if (!write_text("/proc/self/setgroups", "deny") ||
            !write_text("/proc/self/uid_map", uids) || !write_text("/proc/self/gid_map", gids))
            return false;
    }
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool up = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &loopback) == 0;
    if (fd >= 0)
        (void)close(fd);
    return up;
}

/* Leaves the machine's network if another process finds that all of it can be done, as there is no
 * way back from a half. */
static void leave_network(void)
{
    int status = -1;
    const pid_t probe = fork();
    if (probe == 0)
        _exit(enter_own_network() ? 0 : 1);
    while (probe > 0 && waitpid(probe, &status, 0) == -1 && errno == EINTR)
        continue;
    if (probe > 0 && status == 0)
        (void)enter_own_network();
}

/* The child after fork(), which leaves the C library in order whatever threads the parent has. */
_Noreturn static void exec_child(const struct cc_program_way *way, char *const argv[], int in,
                                 int out, int err, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    cc_signals_of_writes(SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (way->group)
        (void)setpgid(0, 0);
    if (way->no_network)
        leave_network();
    const bool member = way->members == NULL || cc_members_enter(way->members);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    /* With another parent than expected, ours died before prctl(). In a lab it is 0, and init dies
     * with it. */
    if (member && (getppid() == parent || getppid() == 0) && dup2(in, 0) == 0 &&
        dup2(out, 1) == 1 && dup2(err, 2) == 2)
        (void)execvp(argv[0], argv);
    (void)dprintf(err, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static int start_child(const struct cc_program_way *way, char *const argv[], int in,
                       struct cc_program *p, struct cc_error *e)
{
    int out[2] = {-1, -1}, err[2] = {-1, -1}, error = 0;
    pid_t self = getpid();
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0 ||
        (p->pid = way->lab != NULL ? cc_lab_fork(way->lab) : fork()) < 0)
        error = errno;
    else if (p->pid == 0)
        exec_child(way, argv, in, out[1], err[1], self);
    /* Also done by the child: the group must exist whichever of the two runs first. */
    if (error == 0 && p->group)
        (void)setpgid(p->pid, p->pid);
    if (out[1] >= 0)
        (void)close(out[1]);
    if (err[1] >= 0)
        (void)close(err[1]);
    p->out = out[0];
    p->err = err[0];
    if (error == 0)
        return CC_OK;
    cc_program_close(p);
    return cc_fail(e, "%s cannot be started: %s", argv[0], strerror(error));
}

int cc_program_start(const struct cc_program_way *way, char *const argv[], const char *text,
                     size_t length, struct cc_program *out, struct cc_error *e)
{
    int in, status = CC_OK;
    *out = (struct cc_program){.group = way->group, .out = -1, .err = -1};
    CC_TRY(cc_program_file("the job", text, length, &in, e));
    CC_TRY_OUT(start_child(way, argv, in, out, e));
    (void)fcntl(out->out, F_SETFL, O_NONBLOCK);
    (void)fcntl(out->err, F_SETFL, O_NONBLOCK);
out:
    (void)close(in);
    return status;
}

/* If the leader has ended, kills the rest of its group. Called before the leader is reaped. */
static void kill_group_of_ended(const struct cc_program *p)
{
    siginfo_t end = {0};
    if (p->pid > 1 && waitid(P_PID, (id_t)p->pid, &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        end.si_pid == p->pid)
        (void)kill(-p->pid, SIGKILL);
}

int cc_program_poll(struct cc_program *p, struct cc_error *e)
{
    if (p->ended)
        return CC_OK;
    if (p->group)
        kill_group_of_ended(p);
    pid_t got = waitpid(p->pid, &p->status, WNOHANG);
    if (got < 0 && errno != EINTR)
        return cc_fail(e, "process %ld cannot be waited for: %s", (long)p->pid, strerror(errno));
    p->ended = got == p->pid;
    return CC_OK;
}

/* A program that is stopped goes on, or it could not act on the signal. */
static int send_signal(struct cc_program *p, int number, struct cc_error *e)
{
    const pid_t to = p->group ? -p->pid : p->pid;
    if (p->pid <= 1 || kill(to, number) != 0)
        return cc_fail(e, "process %ld cannot be ended: %s", (long)p->pid, strerror(errno));
    (void)kill(to, SIGCONT);
    return CC_OK;
}

/* Waits until it has ended or the time is up. */
static int wait_for_end(struct cc_program *p, double seconds, struct cc_error *e)
{
    double begin = cc_now();
    for (;;) {
        CC_TRY(cc_program_poll(p, e));
        if (p->ended || cc_now() - begin >= seconds)
            return CC_OK;
        (void)usleep(10000);
    }
}

int cc_program_stop(struct cc_program *p, double timeout_s, struct cc_error *e)
{
    static const int signals[] = {SIGTERM, SIGKILL};
    CC_TRY(cc_program_poll(p, e));
    for (size_t i = 0; i < sizeof signals / sizeof signals[0] && !p->ended; i++) {
        CC_TRY(send_signal(p, signals[i], e));
        CC_TRY(wait_for_end(p, timeout_s, e));
    }
    return p->ended ? CC_OK : cc_fail(e, "process %ld does not end", (long)p->pid);
}

int cc_program_read(int *fd, struct cc_output *o, bool *more, struct cc_error *e)
{
    ssize_t n;
    CC_TRY(CC_GROW(o->text, &o->capacity, o->length + 65536, e));
    do
        n = read(*fd, o->text + o->length, o->capacity - o->length);
    while (n < 0 && errno == EINTR);
    *more = n > 0;
    o->length += n > 0 ? (size_t)n : 0;
    if (n == 0 || (n < 0 && errno != EAGAIN)) {
        (void)close(*fd);
        *fd = -1;
    }
    return CC_OK;
}

void cc_program_await(const struct cc_program *p, double seconds)
{
    /* poll() ignores negative descriptors. */
    struct pollfd streams[2] = {{.fd = p->out, .events = POLLIN}, {.fd = p->err, .events = POLLIN}};
    (void)poll(streams, 2, (int)(1e3 * seconds));
}

void cc_program_close(struct cc_program *p)
{
    if (p->out >= 0)
        (void)close(p->out);
    if (p->err >= 0)
        (void)close(p->err);
    p->out = p->err = -1;
}

char *cc_program_beside(const char *name, const char *variable, const char *remedy,
                        struct cc_error *e)
{
    const char *given = getenv(variable);
    char *path = realpath(given != NULL && given[0] != '\0' ? given : "/proc/self/exe", NULL);
    if (given != NULL && given[0] != '\0') {
        if (path == NULL)
            cc_error_set(e, "%s: there is no file %s", variable, given);
        return path;
    }
    char *self = path;
    if (self == NULL ||
        asprintf(&path, "%.*s/%s", (int)(strrchr(self, '/') - self), self, name) < 0)
        path = NULL;
    free(self);
    if (path == NULL)
        cc_error_set(e, "where this program lies is not known: set %s to the path of %s", variable,
                     name);
    if (path == NULL || access(path, X_OK) == 0)
        return path;
    if (errno == EACCES)
        (void)cc_program_check(path, remedy, e);
    else
        cc_error_set(e, "%s is missing: %s; or set %s", path, remedy, variable);
    free(path);
    return NULL;
}

int cc_program_check(const char *path, const char *remedy, struct cc_error *e)
{
    if (access(path, X_OK) == 0)
        return CC_OK;
    if (errno == EACCES)
        return cc_fail(e,
                       "%s: you may not execute it: check its permissions (chmod +x), and those "
                       "of the folders that it is in",
                       path);
    return cc_fail(e, "%s: %s; %s", path, strerror(errno), remedy);
}

void cc_exit_text(int status, char *out, size_t size)
{
    if (WIFSIGNALED(status))
        (void)snprintf(out, size, "was killed by signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    else
        (void)snprintf(out, size, "ended with exit code %d", WEXITSTATUS(status));
}
