/* Bandwidths that a compute utilization takes, in tables of trainings with local steps. */
#include <math.h>
#include <string.h>

#include "models/paper/paper_formula.h"

/* The points of the tables' grid: equal ratios from the lowest bandwidth to the highest. */
struct grid {
    double low, ratio, last;
};

static struct grid grid_of(double low, double high, double points)
{
    return (struct grid){.low = low, .ratio = log(high / low) / (points - 1), .last = points - 1};
}

/* The place of a bandwidth on the grid, counted from 0; between points if it is. */
static double place(const struct grid *g, double gbps)
{
    return log(gbps / g->low) / g->ratio;
}

/* The first point from this bandwidth on; the last one, if it is beyond. */
static double first_from(const struct grid *g, double gbps)
{
    const double at = fmin(g->last, fmax(0, ceil(place(g, gbps) - 1e-9)));
    return g->low * exp(at * g->ratio);
}

/* From CU = E s / (E s + max(0, b / B - t)), t being the time that hides: the least B. */
double cc_paper_utilization(struct cc_paper_case *c)
{
    const double step_s = cc_case_number(c, "compute_s"), cu = cc_case_number(c, "cu");
    const double part = cc_case_flag(c, "divided")
                            ? cc_case_number(c, "fragment_layers") / cc_case_number(c, "layers")
                            : 1;
    const double every = part * cc_case_number(c, "every");
    const double gbits = part * cc_case_number(c, "billions") * cc_case_number(c, "bits") *
                         cc_case_number(c, "share");
    const double hides_s = (cc_case_number(c, "hidden") + cc_case_number(c, "delay")) * step_s;
    const struct grid g = grid_of(cc_case_number(c, "grid_low"), cc_case_number(c, "grid_high"),
                                  cc_case_whole(c, "grid_points"));
    return first_from(&g, gbits / (every * step_s * (1 / cu - 1) + hides_s));
}

bool cc_paper_on_grid(const struct cc_paper *p, size_t *equal, size_t *near)
{
    *equal = *near = 0;
    if (strcmp(p->formula, CC_PAPER_UTILIZATION) != 0)
        return false;
    const struct grid g =
        grid_of(cc_paper_constant_value(p, "grid_low"), cc_paper_constant_value(p, "grid_high"),
                cc_paper_constant_value(p, "grid_points"));
    for (size_t i = 0; i < p->rows; i++)
        for (size_t k = 0; k < p->columns; k++) {
            /* Figures are printed with one digit after the point: the nearest point is meant. */
            const double off =
                round(place(&g, p->row[i].model[k])) - round(place(&g, p->row[i].figure[k]));
            *equal += off == 0;
            *near += fabs(off) <= 1; /* false of figures that are not there */
        }
    return true;
}
