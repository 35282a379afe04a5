/* The points of a line: sorted, and one for each group. */
#include <math.h>
#include <stdlib.h>

#include "results/plot_impl.h"

/* By x; points of a group, whose x may differ, stay together. */
static int by_group(const void *a, const void *b)
{
    const double x = ((const struct cc_point *)a)->group, y = ((const struct cc_point *)b)->group;
    return (x > y) - (x < y);
}

bool cc_points_order(struct cc_points *p, bool averages, size_t *first, size_t *second)
{
    size_t n = 0, averaged = 1;
    if (p->count > 1)
        qsort(p->point, p->count, sizeof *p->point, by_group);
    for (size_t i = 0; i < p->count; i++) {
        const struct cc_point *of = &p->point[i];
        if (n == 0 || of->group != p->point[n - 1].group) {
            p->point[n++] = *of;
            averaged = 1;
            continue;
        }
        struct cc_point *mean = &p->point[n - 1];
        *first = mean->row;
        *second = of->row;
        if (!averages)
            return false;
        averaged++;
        mean->x += (of->x - mean->x) / (double)averaged;
        mean->y += (of->y - mean->y) / (double)averaged;
        mean->lo = fmin(mean->lo, of->lo);
        mean->hi = fmax(mean->hi, of->hi);
    }
    p->count = n;
    return true;
}
