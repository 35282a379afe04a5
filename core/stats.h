/* Statistics of a few timings. */
#ifndef CC_CORE_STATS_H
#define CC_CORE_STATS_H

#include <stddef.h>

struct cc_stats {
    size_t count;
    size_t outliers; /* modified Z-score over 14.826, as hyperfine counts them */
    double median, mean, sd, min, max;
};

/* Sorts the samples. All zero for count 0. */
struct cc_stats cc_stats_of(double *samples, size_t count);

#endif
