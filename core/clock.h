/* The clock of all measurements. */
#ifndef CC_CORE_CLOCK_H
#define CC_CORE_CLOCK_H

#include <time.h>

/* Seconds of the monotonic clock since an arbitrary point. */
static inline double cc_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds that this thread has run on a processor: unlike cc_now, without those in which others
 * had it. */
static inline double cc_thread_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
