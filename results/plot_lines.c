/* The points of a line: sorted, and one for each group; which lines coincide; and the Pareto front
 * of points. */
#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
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

/* Whether two lines of a panel are within a hundredth of the axis at each point. */
static bool coincide(const struct cc_figure *f, const struct cc_points *a,
                     const struct cc_points *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const double x = cc_axis_share(&f->x, a->point[i].x) - cc_axis_share(&f->x, b->point[i].x);
        const double y = cc_axis_share(&f->y, a->point[i].y) - cc_axis_share(&f->y, b->point[i].y);
        if (fabs(x) > 0.003 || fabs(y) > 0.01)
            return false;
    }
    return true;
}

static bool same_line(const struct cc_figure *f, size_t a, size_t b)
{
    for (size_t i = 0; i < f->panels; i++)
        if (!coincide(f, &f->panel[i].of[a], &f->panel[i].of[b]))
            return false;
    return true;
}

int cc_lines_group(const struct cc_figure *f, size_t **leader, size_t **style, struct cc_error *e)
{
    size_t styles = 0;
    *leader = cc_alloc0(f->series_count * sizeof **leader, e);
    *style = cc_alloc0(f->series_count * sizeof **style, e);
    if (*leader == NULL || *style == NULL)
        return CC_FAIL;
    for (size_t k = 0; k < f->series_count; k++) {
        size_t first = 0;
        while (first < k && (f->shape != CC_LINES || f->bands || (*leader)[first] != first ||
                             !same_line(f, first, k)))
            first++;
        (*leader)[k] = first;
        (*style)[k] = first < k ? (*style)[first] : styles++;
    }
    return CC_OK;
}

size_t cc_panel_points(const struct cc_figure *f, size_t panel)
{
    size_t n = 0;
    for (size_t k = 0; k < f->series_count; k++)
        n += f->panel[panel].of[k].count;
    return n;
}

size_t cc_pareto_front(const struct cc_figure *f, size_t panel, struct cc_point *out)
{
    const struct cc_panel *p = &f->panel[panel];
    double x = -INFINITY, y = -INFINITY;
    for (size_t n = 0;; n++) { /* the next one to the right that is higher */
        const struct cc_point *next = NULL;
        for (size_t k = 0; k < f->series_count; k++)
            for (size_t i = 0; i < p->of[k].count; i++) {
                const struct cc_point *at = &p->of[k].point[i];
                if (at->y > y && at->x >= x &&
                    (next == NULL || at->x < next->x || (at->x == next->x && at->y > next->y)))
                    next = at;
            }
        if (next == NULL)
            return n;
        x = next->x;
        y = next->y;
        out[n] = *next;
    }
}
