/* The lab's init: the first process in its PID namespace. It builds the lab. When it ends, for
 * whatever reason, the kernel kills all processes of the lab; and it ends when its parent does.
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
 * Then init answers, and does nothing more: orphaned processes of the lab become its children,
 * which the kernel reaps as their end is ignored. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netsim/lab/lab_impl.h"

/* --- building --- */

/* Has this process killed when its parent dies, and receives its first byte. If the parent died
 * before, the socket is closed and no byte comes. (getppid() cannot tell: it is 0 in a new PID
 * namespace.) */
static void follow_parent(int socket)
{
    char byte;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || !cc_lab_receive(socket, &byte, 1))
        _exit(1);
}

/* Drops what was inherited from the caller: its files but the socket, its terminal and session, and
 * its signal handlers. */
static int leave_caller(int *socket, struct cc_error *e)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null == -1 || dup2(null, 0) == -1)
        return cc_fail(e, "/dev/null: %s", strerror(errno));
    if (*socket != 3 && dup2(*socket, 3) == -1)
        return cc_fail(e, "dup: %s", strerror(errno));
    *socket = 3;
    closefrom(4);
    (void)fcntl(*socket, F_SETFD, FD_CLOEXEC);
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
    static const char path[] = CC_LAB_AGENT;
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

static int build(int *socket, const struct cc_lab_init_args *args, struct cc_error *e)
{
    CC_TRY(leave_caller(socket, e));
    if (args->user)
        CC_TRY(map_root(args, e));
    CC_TRY(mount_all(args, e));
    CC_TRY(cc_lab_environment(e));
    if (sethostname("lab", 3) != 0)
        return cc_fail(e, "naming the lab: %s", strerror(errno));
    CC_TRY(write_agent(args->program, e));
    CC_TRY(write_hosts(args->config->hosts, e));
    return cc_lab_net(args->config, e);
}

_Noreturn void cc_lab_init(const struct cc_lab_init_args *args)
{
    int socket = args->socket;
    sigset_t none;
    follow_parent(socket);
    struct cc_lab_answer a = {.status = CC_OK};
    a.status = build(&socket, args, &a.e);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGCHLD, SIG_IGN);
    if (!cc_lab_send(socket, &a, sizeof a) || a.status != CC_OK)
        _exit(0);
    for (;;)
        (void)pause();
}
