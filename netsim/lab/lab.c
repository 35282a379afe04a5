/* The lab's init process, and the caller's side, which starts init, forks into the lab, and ends
 * it.
 *
 * init must be the first process of the new PID namespace and a child of the caller. It is cloned
 * with raw system calls, which the C library does not know about; in a program with threads the
 * clone may then hold locks of the library that nobody releases. So the caller first forks a
 * spawner: fork() leaves the library in order in the new process. The spawner clones init with
 * CLONE_PARENT, which makes it the caller's child, reports the outcome, and ends. Programs in the
 * lab are started in the same way, by a spawner that has entered the lab.
 *
 * Killing init is enough to end a lab: the kernel then kills every process of its PID namespace,
 * and with the last of them the other namespaces and their links vanish. init ends when its parent
 * does.
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
#include "netsim/lab/lab.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/sched.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/open_files.h"
#include "netsim/lab/lab_impl.h"

enum { OPEN_FILES = 16 };   /* ip's, beside one for each link */
enum { MOST_HOSTS = 1000 }; /* a Linux bridge has 1,024 ports */

/* How long the lab's first process may take to begin; to open the lab, a second more for each
 * HOSTS_PER_S hosts, which is several times what it takes on a slow machine. */
enum { ANSWER_S = 20, HOSTS_PER_S = 5 };

struct cc_lab {
    struct cc_lab_config config; /* without defaults to fill in */
    char *congestion;
    char *program; /* this one, for its command lab-enter */
    bool user;     /* init is root of a user namespace, */
    uid_t uid;     /* mapped to these ids outside */
    gid_t gid;
    pid_t init;
};

/* Sent by init once the lab is open, or cannot be. */
struct answer {
    int status; /* enum cc_status */
    struct cc_error e;
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

/* --- processes in other namespaces --- */

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

/* Forks into new namespaces; the new process is a child of this process's parent. A raw system
 * call, as the C library's clone() needs a new stack. */
static pid_t fork_into(unsigned long namespaces)
{
    return (pid_t)syscall(SYS_clone, namespaces | CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
}

/* Like fork(), by a spawner, which fork_there() has fork once more. -1 with errno ESRCH: the
 * spawner died, or was stopped. */
static pid_t fork_by_spawner(struct cc_lab *lab, pid_t (*fork_there)(struct cc_lab *lab))
{
    struct {
        pid_t pid;
        int error;
        bool user;
    } got = {.pid = -1, .error = ESRCH, .user = lab->user};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    pid_t spawner = fork();
    if (spawner == 0) {
        got.pid = fork_there(lab);
        if (got.pid == 0)
            return 0;
        got.error = errno;
        got.user = lab->user; /* as fork_init() has set it */
        (void)cc_lab_move(ends[1], true, &got, sizeof got);
        _exit(0);
    }
    if (spawner == -1)
        got.error = errno;
    close(ends[1]);
    set_deadline(ends[0], ANSWER_S);
    if (spawner != -1) {
        if (!cc_lab_move(ends[0], false, &got, sizeof got))
            (void)kill(spawner, SIGKILL); /* it may be stopped */
        wait_for(spawner);
    }
    close(ends[0]);
    lab->user = got.user;
    errno = got.error;
    return got.pid;
}

/* Forks into the lab's namespaces, which are made for init. */
static pid_t fork_init(struct cc_lab *lab)
{
    const unsigned long own =
        CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC;
    pid_t pid = -1;
    errno = EPERM;
    /* Root needs no user namespace, except as root of a container without the capabilities. */
    if (lab->uid == 0)
        pid = fork_into(own);
    if (pid == -1 && (lab->uid != 0 || errno == EPERM)) {
        lab->user = true;
        pid = fork_into(own | CLONE_NEWUSER);
    }
    return pid;
}

/* Moves this process into the lab: its namespaces, the user's first, as it gives the right to enter
 * the others; its environment, and the present folder under the name that it has there, too. Then
 * forks, as only a new process is in the lab's PID namespace. */
static pid_t fork_program(struct cc_lab *lab)
{
    static const char *const names[] = {"user", "mnt", "pid", "net", "uts", "ipc"};
    enum { KINDS = sizeof names / sizeof names[0] };
    char path[PATH_MAX];
    int fd[KINDS];
    for (int i = !lab->user; i < KINDS; i++) {
        (void)snprintf(path, sizeof path, "/proc/%ld/ns/%s", (long)lab->init, names[i]);
        fd[i] = open(path, O_RDONLY | O_CLOEXEC);
    }
    const bool named = getcwd(path, sizeof path) != NULL;
    for (int i = !lab->user; i < KINDS; i++)
        if (setns(fd[i], 0) != 0)
            return -1;
    if (named)
        (void)!chdir(path);
    return cc_lab_environment(NULL) == CC_OK ? fork_into(0) : -1;
}

pid_t cc_lab_fork(struct cc_lab *lab)
{
    const pid_t pid = fork_by_spawner(lab, fork_program);
    if (pid == 0)
        (void)setsid();
    return pid;
}

/* --- init --- */

/* Has this process killed when its parent dies, and receives its first byte. If the parent died
 * before, the socket is closed and no byte comes. (getppid() cannot tell: it is 0 in a new PID
 * namespace.) */
static void follow_parent(int socket)
{
    char byte;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || !cc_lab_move(socket, false, &byte, 1))
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

static int map_root(uid_t user, gid_t group, struct cc_error *e)
{
    char uid_map[64], gid_map[64];
    int status = CC_OK;
    (void)snprintf(uid_map, sizeof uid_map, "0 %lu 1", (unsigned long)user);
    (void)snprintf(gid_map, sizeof gid_map, "0 %lu 1", (unsigned long)group);
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
static int mount_all(const struct cc_lab *lab, struct cc_error *e)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return cc_fail(e, "making mounts private: %s", strerror(errno));
    CC_TRY(mount_tmpfs("/run", "mode=755", lab->user, e));
    if (access("/dev/shm", F_OK) == 0)
        CC_TRY(mount_tmpfs("/dev/shm", "mode=1777", lab->user, e));
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

static int build_lab(int *socket, const struct cc_lab *lab, struct cc_error *e)
{
    CC_TRY(leave_caller(socket, e));
    if (lab->user)
        CC_TRY(map_root(lab->uid, lab->gid, e));
    CC_TRY(mount_all(lab, e));
    CC_TRY(cc_lab_environment(e));
    if (sethostname("lab", 3) != 0)
        return cc_fail(e, "naming the lab: %s", strerror(errno));
    CC_TRY(write_agent(lab->program, e));
    CC_TRY(write_hosts(lab->config.hosts, e));
    return cc_lab_net(&lab->config, e);
}

/* Builds the lab once it has received a byte, answers, and reaps processes until it is killed. */
_Noreturn static void run_init(const struct cc_lab *lab, int socket)
{
    sigset_t none;
    follow_parent(socket);
    struct answer a = {.status = CC_OK};
    a.status = build_lab(&socket, lab, &a.e);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGCHLD, SIG_IGN);
    if (!cc_lab_move(socket, true, &a, sizeof a) || a.status != CC_OK)
        _exit(0);
    for (;;)
        (void)pause();
}

/* --- opening --- */

/* Starts init, to which *socket then leads. */
static int start_init(struct cc_lab *lab, int *socket, struct cc_error *e)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return cc_fail(e, "socketpair: %s", strerror(errno));
    lab->init = fork_by_spawner(lab, fork_init);
    if (lab->init == 0) {
        close(ends[0]);
        run_init(lab, ends[1]);
    }
    int error = errno;
    close(ends[1]);
    *socket = ends[0];
    if (lab->init != -1)
        return CC_OK;
    if (error == ESRCH)
        return cc_fail(e, "the lab's first process died, or was stopped");
    if (error == EAGAIN)
        return cc_fail(e, "fork: %s", strerror(error));
    cc_lab_explain_refusal(e, "namespaces", error);
    return CC_FAIL;
}

/* The links of all hosts, with those of the control network; for each, ip opens a file. */
static size_t links_of(const struct cc_lab_config *c)
{
    const int more = c->nics > 1 ? c->nics - 1 : 0;
    return 2 * (size_t)c->hosts + (size_t)more * (size_t)c->nic_hosts;
}

/* Copies the configuration with defaults filled in, and checks it. */
static int set_config(struct cc_lab *lab, const struct cc_lab_config *config, struct cc_error *e)
{
    lab->config = *config;
    lab->uid = geteuid();
    lab->gid = getegid();
    if (config->hosts < 1 || config->hosts > MOST_HOSTS)
        return cc_fail(e, "a lab of %d hosts: it can have 1 to %d", config->hosts, (int)MOST_HOSTS);
    if (links_of(config) > 2 * MOST_HOSTS)
        return cc_fail(e, "a lab of %d hosts with %d interfaces: a bridge has %d ports; take fewer",
                       config->nic_hosts, config->nics, (int)MOST_HOSTS);
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
    lab->program = realpath("/proc/self/exe", NULL);
    return lab->program != NULL
               ? CC_OK
               : cc_fail(e, "/proc/self/exe: %s; is /proc mounted?", strerror(errno));
}

/* Has init build the lab. */
static int build(const struct cc_lab *lab, int socket, struct cc_error *e)
{
    const int seconds = ANSWER_S + lab->config.hosts / HOSTS_PER_S;
    struct answer a;
    set_deadline(socket, seconds);
    (void)cc_lab_move(socket, true, (char[]){0}, 1); /* a failure shows in the missing answer */
    errno = 0;
    if (cc_lab_move(socket, false, &a, sizeof a)) {
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
    CC_TRY_OUT(cc_open_files_need("ip", OPEN_FILES + links_of(config), e));
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

/* Sums the counters of the bridge's ends of the data links (lab_net.c), where both directions of
 * each link pass; init is in their network namespace. */
int cc_lab_traffic(const struct cc_lab *lab, uint64_t *bytes, struct cc_error *e)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%ld/net/dev", (long)lab->init);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return cc_fail(e, "%s: %s: has the lab's first process died?", path, strerror(errno));
    char line[512];
    uint64_t sum = 0;
    while (fgets(line, sizeof line, f) != NULL) {
        const char *counts = strstr(line, "-" CC_LAB_DEVICE);
        uint64_t received, sent;
        counts = counts != NULL ? strchr(counts, ':') : NULL;
        if (line[strspn(line, " ")] == 'h' && counts != NULL &&
            sscanf(counts, ": %" SCNu64 " %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &received,
                   &sent) == 2)
            sum += received + sent;
    }
    (void)fclose(f);
    *bytes = sum;
    return CC_OK;
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
