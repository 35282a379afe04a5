#include "core/stats.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of_sorted(const double *x, size_t n)
{
    return n % 2 == 1 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

/* The median of |x - centre| for sorted x: merges from the middle outwards. */
static double median_deviation(const double *x, size_t n, double centre)
{
    size_t below = 0, taken = 0;
    while (below < n && x[below] <= centre)
        below++;
    size_t above = below; /* x[below - 1] and x[above] are the nearest on each side */
    double last = 0, before = 0;
    while (taken < n / 2 + 1) {
        double down = below > 0 ? centre - x[below - 1] : INFINITY;
        double up = above < n ? x[above] - centre : INFINITY;
        before = last;
        if (down <= up) {
            last = down;
            below--;
        } else {
            last = up;
            above++;
        }
        taken++;
    }
    return n % 2 == 1 ? last : 0.5 * (before + last);
}

struct cc_stats cc_stats_of(double *samples, size_t count)
{
    struct cc_stats s = {.count = count};
    if (count == 0)
        return s;
    qsort(samples, count, sizeof *samples, compare);
    s.min = samples[0];
    s.max = samples[count - 1];
    s.median = median_of_sorted(samples, count);
    for (size_t i = 0; i < count; i++)
        s.mean += samples[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        s.sd += (samples[i] - s.mean) * (samples[i] - s.mean);
    s.sd = count > 1 ? sqrt(s.sd / (double)(count - 1)) : 0;
    double deviation = median_deviation(samples, count, s.median);
    for (size_t i = 0; i < count && deviation > 0; i++)
        s.outliers += 0.6745 * fabs(samples[i] - s.median) / deviation > 14.826;
    return s;
}
