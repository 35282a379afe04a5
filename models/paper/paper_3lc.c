/* 3LC: lightweight and effective traffic compression for distributed machine learning.
 *
 * Table 1 (speedups): time = compute and traffic, of which a share of the computation overlaps with
 * the traffic, in units of the baseline's traffic at 10 Mbit/s; a residue of the traffic is not
 * compressed.
 *
 * Table 2 (bits per value): bits = 8/5 (1 - q) (1 + q / (1 - q^14)), q = (1 - p)^5,
 * p = A (1 - s/2)^k. Five trits make a byte; the byte is 0 with probability q if a trit is nonzero
 * with probability p, independently; a run of L zero bytes becomes ceil(L/14) bytes. A trit is
 * nonzero where |x| >= s max/2. */
#include <math.h>

#include "models/paper/paper_formula.h"

/* Table 1: a step's time. `averages`: the scheme also averages values, which takes time. */
static double step_time(struct cc_paper_case *c, double bits, int averages)
{
    double compute = cc_case(c, "compute"), overlap = cc_case(c, "overlap");
    double residue = cc_case(c, "residue");
    double traffic = residue + (1 - residue) * bits / cc_case(c, "baseline_bits");
    double time = cc_step_beside(compute, overlap, traffic * 10 / cc_case(c, "mbps"));
    return averages ? time + cc_case(c, "averaging") : time;
}

int cc_formula_shared_port(struct cc_paper_case *c, double *out, struct cc_error *e)
{
    (void)e;
    *out = step_time(c, cc_case(c, "baseline_bits"), 0) /
           step_time(c, cc_case(c, "bits"), cc_case_flag(c, "averages"));
    return CC_OK;
}

/* Table 2: bits per value with zero-run encoding of parameter s; without s, of base-3 alone. */
static double zero_run_bits(struct cc_paper_case *c)
{
    double base = 8 / 5.;
    if (!cc_case_has(c, "s"))
        return base;
    double p = cc_case(c, "tail") * pow(1 - cc_case(c, "s") / 2, cc_case(c, "steepness"));
    double q = pow(1 - p, 5);
    return base * (1 - q) * (1 + q / (1 - pow(q, 14)));
}

int cc_formula_zero_runs(struct cc_paper_case *c, double *out, struct cc_error *e)
{
    (void)e;
    double bits = zero_run_bits(c);
    *out = cc_case_is(c, "ratio") ? 32 / bits : bits;
    return CC_OK;
}
