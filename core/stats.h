/* Statistics of a few timings. */
#ifndef CC_CORE_STATS_H
#define CC_CORE_STATS_H

#include <stddef.h>

struct cc_stats {
    size_t count;
    size_t outliers; /* modified Z-score over 14.826, as hyperfine counts them */
    double median, mean, sd, min, max;
    double low, high; /* the quartiles: 25% and 75% of the samples are smaller */
};

/* Sorts the samples. All zero for count 0. Quartiles between two samples are interpolated. */
struct cc_stats cc_stats_of(double *samples, size_t count);

/* The distance of the quartiles relative to the median; 0 if that is 0. */
double cc_stats_spread(const struct cc_stats *s);
/* The standard error of the median relative to it, by the quartiles of a normal distribution. */
double cc_stats_median_error(const struct cc_stats *s);

#endif
