#include "netsim/launch/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/memory.h"

int cc_program_file(const char *what, const char *text, size_t length, int *out, struct cc_error *e)
{
    int fd = memfd_create("commcomp", MFD_CLOEXEC);
    if (fd < 0)
        return cc_fail(e, "%s cannot be written to memory: %s", what, strerror(errno));
    for (size_t at = 0; at < length;) {
        ssize_t wrote = write(fd, text + at, length - at);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0) {
            (void)cc_fail(e, "%s (%zu bytes) cannot be written to memory: %s", what, length,
                          strerror(errno));
            (void)close(fd);
            return CC_FAIL;
        }
        at += (size_t)wrote;
    }
    (void)lseek(fd, 0, SEEK_SET);
    *out = fd;
    return CC_OK;
}

/* Only what is safe after fork() in a program with threads. */
_Noreturn static void become(char *const argv[], int in, int out, int err, pid_t parent, bool group)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t none;
    sigemptyset(&plain.sa_mask);
    sigemptyset(&none);
    (void)sigaction(SIGPIPE, &plain, NULL);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (group)
        (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() == parent && dup2(in, 0) == 0 && dup2(out, 1) == 1 && dup2(err, 2) == 2)
        (void)execvp(argv[0], argv);
    _exit(127);
}

static int start_child(char *const argv[], int in, struct cc_program *p, struct cc_error *e)
{
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) != 0)
        return cc_fail(e, "%s cannot be started: %s", argv[0], strerror(errno));
    if (pipe2(err, O_CLOEXEC) != 0) {
        (void)cc_fail(e, "%s cannot be started: %s", argv[0], strerror(errno));
        (void)close(out[0]);
        (void)close(out[1]);
        return CC_FAIL;
    }
    pid_t self = getpid();
    p->pid = fork();
    if (p->pid == 0)
        become(argv, in, out[1], err[1], self, p->group);
    int reason = errno;
    /* Whoever comes first: the group is there when this function returns. */
    if (p->group && p->pid > 0)
        (void)setpgid(p->pid, p->pid);
    (void)close(out[1]);
    (void)close(err[1]);
    p->out = out[0];
    p->err = err[0];
    if (p->pid > 0)
        return CC_OK;
    cc_program_close(p);
    return cc_fail(e, "%s cannot be started: %s", argv[0], strerror(reason));
}

int cc_program_start(struct cc_lab *lab, char *const argv[], const char *text, size_t length,
                     bool group, struct cc_program *out, struct cc_error *e)
{
    int in;
    *out = (struct cc_program){.lab = lab, .group = group, .out = -1, .err = -1};
    if (cc_program_file("the job", text, length, &in, e) != CC_OK)
        return CC_FAIL;
    int status;
    if (lab == NULL) {
        status = start_child(argv, in, out, e);
    } else {
        status = cc_lab_spawn(lab, argv, in, &out->inside, e);
        if (status == CC_OK) {
            out->out = out->inside.out;
            out->err = out->inside.err;
        }
    }
    (void)close(in);
    if (status == CC_OK) {
        (void)fcntl(out->out, F_SETFL, O_NONBLOCK);
        (void)fcntl(out->err, F_SETFL, O_NONBLOCK);
    }
    return status;
}

/* Before it is waited for: until then no other process can have its number. */
static void end_group(const struct cc_program *p)
{
    siginfo_t end = {0};
    if (waitid(P_PID, (id_t)p->pid, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid == p->pid)
        (void)kill(-p->pid, SIGKILL);
}

int cc_program_poll(struct cc_program *p, struct cc_error *e)
{
    if (p->ended)
        return CC_OK;
    if (p->lab != NULL)
        return cc_lab_poll(p->lab, &p->inside, &p->ended, &p->status, e);
    if (p->group)
        end_group(p);
    pid_t got = waitpid(p->pid, &p->status, WNOHANG);
    if (got < 0 && errno != EINTR)
        return cc_fail(e, "process %ld cannot be waited for: %s", (long)p->pid, strerror(errno));
    p->ended = got == p->pid;
    return CC_OK;
}

static int send_signal(struct cc_program *p, int number, struct cc_error *e)
{
    if (p->lab != NULL)
        return cc_lab_kill(p->lab, &p->inside, number, e);
    if (kill(p->group ? -p->pid : p->pid, number) != 0)
        return cc_fail(e, "process %ld cannot be ended: %s", (long)p->pid, strerror(errno));
    return CC_OK;
}

/* Until it has ended or the time is over. */
static int wait_for(struct cc_program *p, double seconds, struct cc_error *e)
{
    double begin = cc_now();
    while (cc_program_poll(p, e) == CC_OK) {
        if (p->ended || cc_now() - begin >= seconds)
            return CC_OK;
        (void)usleep(10000);
    }
    return CC_FAIL;
}

int cc_program_stop(struct cc_program *p, double patience_s, struct cc_error *e)
{
    if (cc_program_poll(p, e) != CC_OK || p->ended)
        return p->ended ? CC_OK : CC_FAIL;
    if (send_signal(p, SIGTERM, e) != CC_OK || wait_for(p, patience_s, e) != CC_OK)
        return CC_FAIL;
    if (p->ended)
        return CC_OK;
    if (send_signal(p, SIGKILL, e) != CC_OK || wait_for(p, patience_s, e) != CC_OK)
        return CC_FAIL;
    return p->ended ? CC_OK : cc_fail(e, "process %ld does not end", (long)p->pid);
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
    char self[4096], *path;
    const size_t length = strlen(name) + 1, room = sizeof self - length;
    if (given != NULL && given[0] != '\0') {
        if ((path = realpath(given, NULL)) == NULL)
            cc_error_set(e, "%s: there is no file %s", variable, given);
        return path;
    }
    ssize_t n = readlink("/proc/self/exe", self, room);
    if (n <= 0 || (size_t)n == room) {
        cc_error_set(e, "where this program lies is not known: set %s to the path of %s", variable,
                     name);
        return NULL;
    }
    self[n] = '\0';
    char *slash = strrchr(self, '/');
    memcpy(slash + 1, name, length);
    if (access(self, X_OK) == 0)
        return cc_strdup(self, e);
    cc_error_set(e, "%s is missing: %s; or set %s", self, remedy, variable);
    return NULL;
}
