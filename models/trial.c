/* Means over seeds or within a training, and what follows from them.
 *
 * A change of the loss is a ratio of sums less 1. Over n blocks with sums x and y, whose ratio is
 * r, it has the variance n / (n - 1) sum (x - r y)^2 / (sum y)^2 (Cochran, Sampling Techniques,
 * section 6.3). */
#include "models/trial.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

/* Fewer blocks say little about their variance, more are shorter than what lasts from step to step.
 */
enum { BLOCKS = 10, SEEDS_FOR_T = 3 };

const char *const cc_trial_verdicts[] = {"keeps", "costs", "open", NULL};

static struct cc_trial_mean around(double mean, double half)
{
    return (struct cc_trial_mean){mean, mean - half, mean + half};
}

/* The mean of the seeds' own values, with Student's t. */
static struct cc_trial_mean mean_of_seeds(double sum, double squares, size_t seeds)
{
    const double n = (double)seeds, mean = sum / n;
    const double variance = fmax(0, (squares - n * mean * mean) / (n - 1));
    return around(mean, gsl_cdf_tdist_Pinv(0.975, n - 1) * sqrt(variance / n));
}

struct cc_trial_mean cc_trial_lost(const double *lost, size_t seeds, double fp32_accuracy,
                                   double test_samples)
{
    double sum = 0, squares = 0;
    if (seeds == 0)
        return around(NAN, NAN);
    for (size_t k = 0; k < seeds; k++) {
        sum += lost[k];
        squares += lost[k] * lost[k];
    }
    const double n = (double)seeds, mean = sum / n, z = gsl_cdf_ugaussian_Pinv(0.975);
    const double chance = CC_TRIAL_OTHER * (1 - fp32_accuracy) / test_samples;
    if (seeds >= SEEDS_FOR_T) {
        const struct cc_trial_mean m = mean_of_seeds(sum, squares, seeds);
        return around(mean, fmax(m.high - mean, z * sqrt(chance / n)));
    }
    return around(mean, z * sqrt((chance + pow(CC_TRIAL_VARIES * mean, 2)) / n));
}

/* --- losses --- */

static double sum_of(const double *loss, size_t from, size_t to)
{
    double sum = 0;
    for (size_t i = from; i < to; i++)
        sum += loss[i];
    return sum;
}

double cc_trial_loss(const double *loss, size_t from, size_t to)
{
    return sum_of(loss, from, to) / (double)(to - from);
}

static double change_of(const double *loss, const double *base, size_t from, size_t to)
{
    return sum_of(loss, from, to) / sum_of(base, from, to) - 1;
}

/* By blocks of steps, each with its steps of all seeds. */
static struct cc_trial_mean change_by_blocks(const double *const *loss, const double *const *base,
                                             size_t seeds, size_t from, size_t to)
{
    const size_t steps = to - from, blocks = steps < 2 * BLOCKS ? steps / 2 : BLOCKS;
    double x[BLOCKS] = {0}, y[BLOCKS] = {0}, all_x = 0, all_y = 0, squares = 0;
    for (size_t b = 0; b < blocks; b++) {
        const size_t first = from + steps * b / blocks, end = from + steps * (b + 1) / blocks;
        for (size_t k = 0; k < seeds; k++) {
            x[b] += sum_of(loss[k], first, end);
            y[b] += sum_of(base[k], first, end);
        }
        all_x += x[b];
        all_y += y[b];
    }
    const double n = (double)blocks, ratio = all_x / all_y;
    for (size_t b = 0; b < blocks; b++)
        squares += pow(x[b] - ratio * y[b], 2);
    return around(ratio - 1, gsl_cdf_ugaussian_Pinv(0.975) * CC_TRIAL_WIDER *
                                 sqrt(n / (n - 1) * squares) / all_y);
}

struct cc_trial_mean cc_trial_change(const double *const *loss, const double *const *base,
                                     size_t seeds, size_t from, size_t to)
{
    double sum = 0, squares = 0;
    bool known = to > from && seeds > 0;
    for (size_t k = 0; k < seeds && known; k++)
        known = sum_of(base[k], from, to) > 0;
    if (!known)
        return around(NAN, NAN);
    if (seeds < SEEDS_FOR_T)
        return change_by_blocks(loss, base, seeds, from, to);
    for (size_t k = 0; k < seeds; k++) {
        const double change = change_of(loss[k], base[k], from, to);
        sum += change;
        squares += change * change;
    }
    return mean_of_seeds(sum, squares, seeds);
}

size_t cc_trial_tail(size_t steps)
{
    return steps - steps / 3;
}

bool cc_trial_learns(const double *base, size_t steps)
{
    const size_t tail = cc_trial_tail(steps);
    return cc_trial_loss(base, tail, steps) < CC_TRIAL_LEARNS * base[0];
}

bool cc_trial_behind(const double *loss, const double *base, size_t done, size_t steps)
{
    const size_t from = done / 2;
    double most;
    if (done == 0 || done == steps)
        return false;
    if (done == steps / 4)
        most = CC_TRIAL_QUARTER;
    else if (done == steps / 2)
        most = CC_TRIAL_HALF;
    else
        return false;
    const double mean = cc_trial_loss(base, from, done);
    const double progress = base[0] - mean;
    return progress > 0 &&
           cc_trial_change(&loss, &base, 1, from, done).low * mean / progress > most;
}

enum cc_trial_verdict cc_trial_rule(const struct cc_trial_end *end, double limit)
{
    if (end->ended || end->lost.low > limit)
        return CC_TRIAL_COSTS;
    if (end->lost.high <= limit && !(end->biased && end->steps < CC_TRIAL_BIASED_STEPS))
        return CC_TRIAL_KEEPS;
    return CC_TRIAL_OPEN;
}
