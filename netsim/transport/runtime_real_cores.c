/* Cores as the kernel counts them: how long this rank has had one, how long it has waited for one,
 * and how long all programs of the machine together have had one. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "netsim/transport/runtime.h"

/* Reads the beginning of a file of /proc, which is kept open: a reading is one system call of about
 * a microsecond. Returns false if the kernel has no such file. */
static bool read_again(int *fd, const char *path, char *text, size_t cap)
{
    if (*fd == 0)
        *fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = *fd > 0 ? pread(*fd, text, cap - 1, 0) : -1;
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

struct cc_core_time cc_runtime_core_time(void)
{
    static int fd;
    char text[96];
    unsigned long long ran = 0, waited = 0;
    if (!read_again(&fd, "/proc/thread-self/schedstat", text, sizeof text) ||
        sscanf(text, "%llu %llu", &ran, &waited) != 2)
        return (struct cc_core_time){0};
    return (struct cc_core_time){.ran_s = 1e-9 * (double)ran, .waited_s = 1e-9 * (double)waited};
}

/* Time in interrupts is left out: packets of the ranks' own messages cause most of it. */
double cc_runtime_machine_ran_s(void)
{
    static int fd;
    char text[160];
    unsigned long long user = 0, nice = 0, system = 0;
    const long ticks = sysconf(_SC_CLK_TCK);
    if (!read_again(&fd, "/proc/stat", text, sizeof text) || ticks <= 0 ||
        sscanf(text, "cpu %llu %llu %llu", &user, &nice, &system) != 3)
        return -1;
    return (double)(user + nice + system) / (double)ticks;
}
