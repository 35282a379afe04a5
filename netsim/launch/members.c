/* Members are found in /proc, by the mark in the environment that they began with: whatever group,
 * session or parent they have by then, and wherever mpirun started them. Only they are ever
 * signalled (is_member).
 *
 * The keeper is a child in a session of its own. It reads a pipe whose other end only this process
 * has: a byte says that the run has been closed; the end of the pipe, that this process is gone.
 * Then mpirun, which gets SIGTERM at that moment (program.c), has GRACE_S to end its ranks, also
 * those on other hosts, and what is left is killed. */
#include "netsim/launch/members.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/memory.h"

#define GRACE_S    2.0
#define KILL_S     5.0   /* for killed processes to end */
#define LOOK_US    20000 /* between looking whether they have */
#define ROOM_BYTES 65536 /* that the folder has room for, at least */

/* --- processes --- */

static FILE *open_of(pid_t pid, const char *name)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
    return fopen(path, "re");
}

/* Whether the process began with the mark in its environment, and is not this one. Sets *rank, if
 * rank is not NULL, to Open MPI's number of it, or -1. */
static bool is_member(pid_t pid, const char *mark, int *rank)
{
    static const char variable[] = CC_MARK_VARIABLE "=", of_rank[] = "OMPI_COMM_WORLD_RANK=";
    bool found = false;
    char *text = NULL;
    size_t capacity = 0;
    if (pid <= 1 || pid == getpid() || strlen(mark) != CC_MARK_DIGITS)
        return false;
    FILE *f = open_of(pid, "environ");
    if (rank != NULL)
        *rank = -1;
    while (f != NULL && getdelim(&text, &capacity, 0, f) > 0) {
        found = found || (strncmp(text, variable, sizeof variable - 1) == 0 &&
                          strcmp(text + sizeof variable - 1, mark) == 0);
        if (rank != NULL && strncmp(text, of_rank, sizeof of_rank - 1) == 0)
            *rank = atoi(text + sizeof of_rank - 1);
    }
    free(text);
    if (f != NULL)
        (void)fclose(f);
    return found;
}

/* The next process of /proc; 0 at the end. */
static pid_t next_process(DIR *d)
{
    for (struct dirent *f; (f = readdir(d)) != NULL;)
        if (isdigit((unsigned char)f->d_name[0]))
            return (pid_t)strtol(f->d_name, NULL, 10);
    return 0;
}

/* Sends a signal to all members, 0 to none; returns how many there are. */
static size_t signal_members(const char *mark, int number)
{
    size_t count = 0;
    DIR *d = opendir("/proc");
    for (pid_t pid; d != NULL && (pid = next_process(d)) != 0;)
        if (is_member(pid, mark, NULL)) {
            count++;
            if (number != 0)
                (void)kill(pid, number);
        }
    if (d != NULL)
        (void)closedir(d);
    return count;
}

/* Sends the signal, or 0, until no member is left or the time is up. */
static void end_members(const char *mark, int number, double seconds)
{
    const double begin = cc_now();
    while (signal_members(mark, number) > 0 && cc_now() - begin < seconds)
        (void)usleep(LOOK_US);
}

/* The state of a process: 'T' if it is stopped; 0: it is gone. The program's name, in parentheses,
 * may hold anything, so the state is what follows the last parenthesis. */
static char state_of(pid_t pid)
{
    char text[512] = "", state = 0;
    FILE *f = open_of(pid, "stat");
    if (f == NULL)
        return 0;
    const size_t n = fread(text, 1, sizeof text - 1, f);
    (void)fclose(f);
    const char *end = n > 0 ? strrchr(text, ')') : NULL;
    return end != NULL && sscanf(end + 1, " %c", &state) == 1 ? state : 0;
}

/* Reads a text of /proc up to a line's end; "" if there is none. */
static void read_text(pid_t pid, const char *name, char *out, size_t size)
{
    FILE *f = open_of(pid, name);
    const size_t n = f != NULL ? fread(out, 1, size - 1, f) : 0;
    if (f != NULL)
        (void)fclose(f);
    out[n] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

/* The name that the system keeps has at most 15 bytes; the command line has all of it. */
static void name_member(struct cc_stopped *s, int rank)
{
    char name[40], command[PATH_MAX];
    read_text(s->pid, "comm", name, sizeof name);
    read_text(s->pid, "cmdline", command, sizeof command);
    const char *slash = strrchr(command, '/'), *base = slash != NULL ? slash + 1 : command;
    if (strncmp(name, base, strlen(name)) != 0)
        base = name;
    (void)snprintf(s->name, sizeof s->name, rank >= 0 ? "%.40s of rank %d" : "%.40s", base, rank);
}

static bool is_stopped_member(const struct cc_members *m, pid_t pid, struct cc_stopped *out)
{
    int rank;
    if (state_of(pid) != 'T' || !is_member(pid, m->mark, &rank))
        return false;
    out->pid = pid;
    name_member(out, rank);
    return true;
}

void cc_members_stopped(const struct cc_members *m, struct cc_stopped *out)
{
    if (out->pid != 0 && is_stopped_member(m, out->pid, out))
        return;
    out->pid = 0;
    DIR *d = opendir("/proc");
    for (pid_t pid; d != NULL && out->pid == 0 && (pid = next_process(d)) != 0;)
        (void)is_stopped_member(m, pid, out);
    if (d != NULL)
        (void)closedir(d);
}

/* --- files --- */

static int remove_entry(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s;
    (void)kind;
    (void)at;
    (void)remove(path);
    return 0;
}

static void remove_folder(const char *path)
{
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The run's folders in /dev/shm; their ranks remove them unless they are killed. */
static void remove_shared(const char *mark)
{
    char begin[80], path[PATH_MAX];
    (void)snprintf(begin, sizeof begin, CC_MARK_PREFIX "%s-", mark);
    DIR *d = opendir(CC_MARK_SHM);
    for (struct dirent *f; d != NULL && (f = readdir(d)) != NULL;)
        if (strncmp(f->d_name, begin, strlen(begin)) == 0) {
            struct stat s;
            (void)snprintf(path, sizeof path, CC_MARK_SHM "/%s", f->d_name);
            /* Others can read the mark there, and make folders of that name. */
            if (lstat(path, &s) == 0 && s.st_uid == geteuid())
                remove_folder(path);
        }
    if (d != NULL)
        (void)closedir(d);
}

static void remove_files(const struct cc_members *m)
{
    remove_shared(m->mark);
    if (m->folder[0] != '\0')
        remove_folder(m->folder);
}

/* --- the keeper --- */

_Noreturn static void keep(const struct cc_members *m, int in)
{
    char byte;
    ssize_t n;
    (void)setsid();
    (void)prctl(PR_SET_NAME, "commcomp-keep");
    const int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++)
        (void)dup2(null, i);
    (void)dup2(in, 3);
    closefrom(4);
    (void)chdir("/");
    do
        n = read(3, &byte, 1);
    while (n < 0 && errno == EINTR);
    if (n == 0) {
        end_members(m->mark, 0, GRACE_S);
        end_members(m->mark, SIGKILL, KILL_S);
        remove_files(m);
    }
    _exit(0);
}

static int start_keeper(struct cc_members *m, struct cc_error *e)
{
    sigset_t all, before;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return cc_fail(e, "no pipe: %s", strerror(errno));
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    const pid_t pid = fork();
    if (pid == 0)
        keep(m, ends[0]);
    const int error = errno;
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    (void)close(ends[0]);
    if (pid < 0) {
        (void)close(ends[1]);
        return cc_fail(e, "no process can be started: %s", strerror(error));
    }
    m->keeper = pid;
    m->hold = ends[1];
    return CC_OK;
}

/* It may be stopped, so it is killed. */
static void end_keeper(struct cc_members *m)
{
    if (m->keeper <= 1)
        return;
    (void)!write(m->hold, "", 1);
    (void)kill(m->keeper, SIGKILL);
    while (waitpid(m->keeper, NULL, 0) == -1 && errno == EINTR)
        continue;
    (void)close(m->hold);
}

/* --- opening and closing --- */

static int draw_mark(struct cc_members *m, struct cc_error *e)
{
    unsigned char bytes[CC_MARK_DIGITS / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return cc_fail(e, "the system gives no random bytes: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(m->mark + 2 * i, 3, "%02x", bytes[i]);
    return CC_OK;
}

/* The folder's path, which does not depend on the working directory. */
static int name_folder(struct cc_members *m, struct cc_error *e)
{
    const char *given = getenv("TMPDIR");
    const char *base = given != NULL && given[0] != '\0' ? given : "/tmp";
    char *path = realpath(base, NULL);
    if (path == NULL)
        return cc_fail(e, "%s: %s: set TMPDIR to a folder for temporary files", base,
                       strerror(errno));
    const int n = asprintf(&m->folder, "%s/" CC_MARK_PREFIX "%.8s", path, m->mark);
    free(path);
    if (n < 0)
        m->folder = NULL;
    return n >= 0 ? CC_OK : cc_fail(e, "out of memory");
}

/* Makes it, and sees to it that there is room for Open MPI's files, whose own messages about a full
 * disk do not name it. */
static int make_folder(struct cc_members *m, struct cc_error *e)
{
    char path[PATH_MAX];
    int error = 0;
    if (mkdir(m->folder, 0700) != 0) {
        cc_error_set(e, "%s: %s: set TMPDIR to a folder for temporary files", m->folder,
                     strerror(errno));
        m->folder[0] = '\0'; /* it is not ours */
        return CC_FAIL;
    }
    (void)snprintf(path, sizeof path, "%s/room", m->folder);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        error = errno;
    else
        do
            error = posix_fallocate(fd, 0, ROOM_BYTES);
        while (error == EINTR);
    if (fd >= 0)
        (void)close(fd);
    (void)unlink(path);
    return error == 0 ? CC_OK
                      : cc_fail(e, "%s: %s: set TMPDIR to a folder with room for temporary files",
                                m->folder, strerror(error));
}

int cc_members_open(struct cc_members *m, bool files, struct cc_error *e)
{
    int status = CC_OK;
    *m = (struct cc_members){.keeper = -1, .hold = -1};
    CC_TRY(draw_mark(m, e));
    if (!files)
        return CC_OK;
    CC_TRY(name_folder(m, e));
    CC_TRY_OUT(start_keeper(m, e));
    CC_TRY_OUT(make_folder(m, e));
out:
    if (status != CC_OK)
        cc_members_close(m);
    return status;
}

void cc_members_close(struct cc_members *m)
{
    if (m->folder != NULL) {
        end_members(m->mark, SIGKILL, KILL_S);
        remove_files(m);
        end_keeper(m);
        free(m->folder);
    }
    *m = (struct cc_members){.keeper = -1, .hold = -1};
}

bool cc_members_enter(const struct cc_members *m)
{
    return setenv(CC_MARK_VARIABLE, m->mark, 1) == 0 &&
           (m->folder == NULL || setenv("TMPDIR", m->folder, 1) == 0);
}
