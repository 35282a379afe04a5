/* The watcher of a rank. mpirun's daemon starts a program on its host; that one forks, the child
 * becomes the rank, and the parent, the watcher, waits for it. So the end of a rank is known from
 * the system, whatever its peers make of their lost connections, and before mpirun learns of any of
 * it:
 *
 * - A signal has ended the rank, and it was not the watcher who passed it on: the watcher reports
 *   that, and ends by the same signal.
 * - The rank has given up, as Open MPI makes a process do that has lost a connection: the watcher
 *   ends with the same exit code, but HOLD_S later. mpirun ends the other ranks as soon as it
 * learns of a failure, and by then the report of a rank that was killed has come.
 * - mpirun ends the run: the watcher passes its signals on, and leaves when the rank does. A
 * watcher that is killed takes the rank with it.
 *
 * The rank leads a process group, so that signals to the watcher's group come by way of the
 * watcher. */
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "netsim/lab/mark.h"
#include "netsim/transport/runtime.h"

/* The time for a report to be written, and passed on by mpirun's daemon, on a busy machine. It is
 * added to the end of runs that fail. */
#define HOLD_S 2

/* Waits until the rank has ended, and passes signals on to it. Returns whether one of them asked it
 * to end; *status is as from wait(). */
static bool wait_for(pid_t rank, const sigset_t *signals, int *status)
{
    bool told = false;
    while (waitpid(rank, status, WNOHANG) != rank) {
        const int s = sigwaitinfo(signals, NULL);
        if (s <= 0 || s == SIGCHLD)
            continue;
        told = told || s == SIGTERM || s == SIGINT || s == SIGHUP || s == SIGQUIT;
        (void)kill(rank, s);
    }
    return told;
}

/* Ends this process as the rank has ended; after a failure, once HOLD_S have passed or a signal
 * asks for it. */
_Noreturn static void end_as(int status, bool told, const sigset_t *signals)
{
    sigset_t others = *signals;
    (void)sigdelset(&others, SIGCHLD); /* may be left from the rank's end */
    if (WIFSIGNALED(status)) {
        sigset_t one;
        (void)sigemptyset(&one);
        (void)sigaddset(&one, WTERMSIG(status));
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* the rank has written one */
        (void)signal(WTERMSIG(status), SIG_DFL);
        (void)raise(WTERMSIG(status));
        (void)sigprocmask(SIG_UNBLOCK, &one, NULL);
    }
    if (WEXITSTATUS(status) != 0 && !told)
        (void)sigtimedwait(&others, NULL, &(struct timespec){.tv_sec = HOLD_S});
    _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

/* Makes a folder for the memory that the rank shares, with the run's mark in its name, and has Open
 * MPI use it, unless the user names another. A rank that is killed leaves its files there. Returns
 * whether there is one; otherwise Open MPI's default holds. */
static bool make_shared(char *path, size_t size)
{
    static const char parameter[] = "OMPI_MCA_btl_vader_backing_directory";
    const char *mark = getenv(CC_MARK_VARIABLE);
    if (mark == NULL || strlen(mark) != CC_MARK_DIGITS || getenv(parameter) != NULL)
        return false;
    (void)snprintf(path, size, CC_MARK_SHM "/" CC_MARK_PREFIX "%s-%ld", mark, (long)getpid());
    return mkdir(path, 0700) == 0 && setenv(parameter, path, 1) == 0;
}

static void remove_shared(const char *path)
{
    char file[PATH_MAX];
    DIR *d = opendir(path);
    for (struct dirent *f; d != NULL && (f = readdir(d)) != NULL;) {
        (void)snprintf(file, sizeof file, "%s/%s", path, f->d_name);
        (void)unlink(file);
    }
    if (d != NULL)
        (void)closedir(d);
    (void)rmdir(path);
}

/* shared: the rank's folder, or NULL. */
_Noreturn static void watch(pid_t process, int rank, const char *shared, cc_killed_report *killed,
                            const sigset_t *signals)
{
    int status;
    (void)prctl(PR_SET_NAME, "commcomp-watch");
    (void)close(STDIN_FILENO);
    const bool told = wait_for(process, signals, &status);
    if (shared != NULL)
        remove_shared(shared);
    if (WIFSIGNALED(status) && !told)
        killed(rank, (size_t)process, WTERMSIG(status));
    end_as(status, told, signals);
}

void cc_runtime_watch(cc_killed_report *killed)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    const pid_t watcher = getpid();
    sigset_t signals, before;
    char shared[100];
    if (rank == NULL)
        return;
    const bool shares = make_shared(shared, sizeof shared);
    (void)signal(SIGCHLD, SIG_DFL); /* ignored, it would not come */
    (void)sigfillset(&signals);
    (void)sigprocmask(SIG_SETMASK, &signals, &before);
    const pid_t process = fork();
    if (process > 0)
        watch(process, atoi(rank), shares ? shared : NULL, killed, &signals);
    if (process == 0) {
        (void)setpgid(0, 0);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != watcher)
            _exit(1);
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}
