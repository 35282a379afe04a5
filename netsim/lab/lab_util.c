/* Used by both sides of the lab: complete sends and receives over the socket, the environment of
 * its processes, writing to files of /proc, and the message for namespaces or mounts that the
 * system forbids. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netsim/lab/lab_impl.h"

bool cc_lab_move(int socket, bool sends, void *bytes, size_t size)
{
    char *p = bytes;
    while (size > 0) {
        ssize_t n = sends ? send(socket, p, size, MSG_NOSIGNAL) : recv(socket, p, size, 0);
        if (n == -1 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        size -= (size_t)n;
    }
    return true;
}

/* An ordinary user's PATH may lack the directories of ip, bridge and tc. */
int cc_lab_environment(struct cc_error *e)
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

/* The new process: becomes the tool, or prints why not. */
_Noreturn static void exec_tool(char *const argv[], const char *netns, int in, int out)
{
    int fd = netns != NULL ? open(netns, O_RDONLY | O_CLOEXEC) : -1;
    if (netns != NULL && (fd == -1 || setns(fd, CLONE_NEWNET) != 0)) {
        (void)dprintf(out, "entering %s: %s", netns, strerror(errno));
        _exit(1);
    }
    if (dup2(in, 0) != -1 && dup2(out, 1) != -1 && dup2(out, 2) != -1)
        (void)execvp(argv[0], argv);
    (void)dprintf(out, "%s", strerror(errno));
    _exit(127);
}

int cc_lab_tool(char *const argv[], const char *netns, int in, char *out, size_t size, int *status,
                struct cc_error *e)
{
    int output = memfd_create("output", MFD_CLOEXEC);
    pid_t pid = output != -1 ? fork() : -1;
    if (pid == 0)
        exec_tool(argv, netns, in, output);
    int error = errno;
    while (pid != -1 && waitpid(pid, status, 0) == -1 && errno == EINTR)
        continue;
    ssize_t n = pid != -1 ? pread(output, out, size - 1, 0) : 0;
    out[n > 0 ? n : 0] = '\0';
    if (output != -1)
        close(output);
    return pid != -1 ? CC_OK : cc_fail(e, "starting %s: %s", argv[0], strerror(error));
}

int cc_lab_write(const char *path, const char *text, struct cc_error *e)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t n = fd != -1 ? write(fd, text, strlen(text)) : -1;
    int error = errno;
    if (fd != -1)
        close(fd);
    return n == (ssize_t)strlen(text) ? CC_OK : cc_fail(e, "%s: %s", path, strerror(error));
}

/* Reads the number in a file of /proc/sys; -1 if the file is missing. */
static long read_setting(const char *path)
{
    char text[32] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1)
        return -1;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    long value;
    return n > 0 && sscanf(text, "%ld", &value) == 1 ? value : -1;
}

void cc_lab_explain_refusal(struct cc_error *e, const char *what, int error)
{
    static const struct {
        const char *path, *name;
        long bad, good;
    } settings[] = {
        {"/proc/sys/user/max_user_namespaces", "user.max_user_namespaces", 0, 10000},
        {"/proc/sys/kernel/unprivileged_userns_clone", "kernel.unprivileged_userns_clone", 0, 1},
        {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
         "kernel.apparmor_restrict_unprivileged_userns", 1, 0},
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        if (read_setting(settings[i].path) == settings[i].bad) {
            cc_error_set(
                e,
                "this system lets only root make one (%s is %ld): run as root, or set that to %ld "
                "with sysctl (%s: %s)",
                settings[i].name, settings[i].bad, settings[i].good, what, strerror(error));
            return;
        }
    if (error == ENOSPC)
        cc_error_set(e,
                     "too many namespaces: raise user.max_net_namespaces and its like with sysctl, "
                     "or try again when those of ended labs are gone (%s: %s)",
                     what, strerror(error));
    else if (error == EINVAL || error == ENOSYS)
        cc_error_set(e,
                     "this kernel lacks some of PID, mount, network, UTS, IPC and user namespaces "
                     "(%s: %s)",
                     what, strerror(error));
    else
        cc_error_set(e,
                     "a container, sandbox or security module forbids it: run as root outside it, "
                     "or allow user namespaces and mounts in it (%s: %s)",
                     what, strerror(error));
}
