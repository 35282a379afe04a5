#include "bench/load.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/memory.h"
#include "core/stats.h"

enum { COPY_BYTES = 2 << 20, COPIES = 9 };

/* "some avg10=1.23 ...": per cent of the last ten seconds. */
static int read_pressure(double *out)
{
    FILE *f = fopen("/proc/pressure/cpu", "re");
    if (f == NULL)
        return 0;
    const int found = fscanf(f, "some avg10=%lf", out);
    (void)fclose(f);
    *out /= 100;
    return found == 1;
}

double cc_load_waiting(void)
{
    double share = 0;
    long running = 0, processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (read_pressure(&share))
        return share;
    FILE *f = fopen("/proc/loadavg", "re");
    if (f == NULL)
        return 0;
    const int found = fscanf(f, "%*f %*f %*f %ld/", &running);
    (void)fclose(f);
    return found == 1 && running > processors ? 1 - (double)processors / (double)running : 0;
}

/* GB/s of a fixed loop that copies 2 MiB, in time on the processor: the median of some runs, in
 * about a millisecond. It falls when something else uses the caches, the memory or the other half
 * of the core. 0 without memory. */
static double copy_speed(void)
{
    double seconds[COPIES];
    unsigned char *buffer = cc_alloc(2 * (size_t)COPY_BYTES, NULL);
    if (buffer == NULL)
        return 0;
    memset(buffer, 1, 2 * (size_t)COPY_BYTES);
    for (int i = 0; i < COPIES; i++) {
        const double begin = cc_thread_now();
        memcpy(buffer + COPY_BYTES, buffer, COPY_BYTES);
        buffer[i] = buffer[COPY_BYTES + i + 1]; /* so that no copy can be left out */
        seconds[i] = cc_thread_now() - begin;
    }
    free(buffer);
    return 1e-9 * COPY_BYTES / cc_stats_of(seconds, COPIES).median;
}

double cc_load_now(double *best_copy)
{
    const double waiting = cc_load_waiting(), copy = copy_speed();
    *best_copy = fmax(*best_copy, copy);
    return *best_copy > 0 ? fmax(waiting, 1 - copy / *best_copy) : waiting;
}
