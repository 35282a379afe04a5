#include "core/unions.h"

#include <math.h>

/* The number of indices, in units of one set, among which the sets of the doubling from 2^i to
 * 2^(i + 1) meet; infinite where they do not meet. */
static double meeting(const struct cc_unions *u, size_t i)
{
    const double one = u->size[0], a = u->size[i] / one, both = u->size[i + 1] / one;
    return 2 * a > both ? a * a / (2 * a - both) : (double)INFINITY;
}

static double together(double a, double b, double among)
{
    return a + b - a * b / among;
}

double cc_unions_growth(const struct cc_unions *u, int m)
{
    size_t level = 0;
    double all;
    int sets = 1;
    if (u->points < 2 || !(u->size[0] > 0))
        return m;
    while (2 * sets <= m && level + 1 < u->points) {
        sets *= 2;
        level++;
    }
    all = u->size[level] / u->size[0];
    const double among = meeting(u, level + 1 < u->points ? level : level - 1);
    for (; 2 * sets <= m; sets *= 2)
        all = together(all, all, among);
    return m > sets ? together(all, cc_unions_growth(u, m - sets), among) : all;
}

void cc_unions_take(uint64_t *set, const float *x, size_t n, size_t sets, struct cc_unions *u)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0)
            (void)cc_index_add(set, i);
    if (u->points == CC_UNION_POINTS || sets != (size_t)1 << u->points)
        return;
    size_t count = 0;
    for (size_t i = 0; i < (n + 63) / 64; i++)
        count += (size_t)__builtin_popcountll(set[i]);
    u->size[u->points++] = (double)count;
}
