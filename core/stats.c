#include "core/stats.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>

struct cc_stats cc_stats_of(double *samples, size_t count)
{
    struct cc_stats s = {.count = count};
    if (count == 0)
        return s;
    gsl_sort(samples, 1, count);
    s.min = samples[0];
    s.max = samples[count - 1];
    s.median = gsl_stats_median_from_sorted_data(samples, 1, count);
    s.low = gsl_stats_quantile_from_sorted_data(samples, 1, count, 0.25);
    s.high = gsl_stats_quantile_from_sorted_data(samples, 1, count, 0.75);
    s.mean = gsl_stats_mean(samples, 1, count);
    s.sd = count > 1 ? gsl_stats_sd_m(samples, 1, count, s.mean) : 0;
    double *work = malloc(count * sizeof *work);
    double mad = work == NULL ? 0 : gsl_stats_mad0(samples, 1, count, work);
    for (size_t i = 0; i < count && mad > 0; i++)
        s.outliers += 0.6745 * fabs(samples[i] - s.median) / mad > 14.826;
    free(work);
    return s;
}

double cc_stats_spread(const struct cc_stats *s)
{
    return s->median > 0 ? (s->high - s->low) / s->median : 0;
}

double cc_stats_median_error(const struct cc_stats *s)
{
    /* The median's standard error is sqrt(pi / 2) sigma / sqrt(n), and the quartiles of a normal
     * distribution are 1.349 sigma apart. */
    return s->count > 0 ? 1.2533 / 1.349 * cc_stats_spread(s) / sqrt((double)s->count) : 0;
}
