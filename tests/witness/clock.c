/* A clock for `bench` that a plugin sets: preloaded, so that the program takes its times from here.
 * A call of the plugin advances it by the time that the call should take, and a real second counts
 * as a millisecond, so that loops which wait for time to pass end, and a busy machine changes no
 * speed. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

enum { SLOWER = 1000 };

static atomic_int_fast64_t advanced;

void witness_advance(int64_t nanoseconds);
void witness_advance(int64_t nanoseconds)
{
    atomic_fetch_add(&advanced, nanoseconds);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    static int (*real)(clockid_t, struct timespec *);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    if (real(clock, t) != 0)
        return -1;
    if (clock != CLOCK_MONOTONIC && clock != CLOCK_THREAD_CPUTIME_ID)
        return 0;
    const int64_t ns =
        (1000000000 * (int64_t)t->tv_sec + t->tv_nsec) / SLOWER + atomic_load(&advanced);
    *t = (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    return 0;
}
