/* QSGD and Pipe-SGD: computation on GPUs and the exchange between them.
 *
 * QSGD, Table 1: speedup = (1 + m) / (1 + m (bits/32 + 1/bucket + codec)), m = communication over
 * computation. Section 5: speedup = 1 / (1 - share + share / gain).
 *
 * Pipe-SGD, in units of the computation, m = communication: D-Sync 1 + m (equation 2), PS-Sync
 * 1 + f m, Pipe-SGD max(1, m) (equation 4 with K = 2); with compression m becomes m / gain. */
#include <math.h>

#include "models/paper/paper_formula.h"

/* QSGD, Table 1: computation and communication add up (Figure 2 stacks them). Computation is
 * proportional to the net's multiply-additions, communication to its values. */
int cc_formula_gpu_sum(struct cc_paper_case *c, double *out, struct cc_error *e)
{
    const struct cc_net *net = c->row->net;
    if (net == NULL || !(net->compute > 0))
        return cc_fail(e, "it needs a net with its computation");
    if (cc_case_is(c, "values")) {
        *out = (double)net->values;
        return CC_OK;
    }
    double comm = cc_case(c, "value_cost") * (double)net->values / net->compute;
    double traffic = cc_case(c, "bits") / 32 + 1 / cc_case(c, "bucket");
    *out = (1 + comm) / (1 + comm * (traffic + cc_case(c, "codec")));
    return CC_OK;
}

/* QSGD, section 5: the overall speedup for a given gain in communication, and the gain that the
 * payload's size alone would give. */
int cc_formula_amdahl(struct cc_paper_case *c, double *out, struct cc_error *e)
{
    (void)e;
    if (cc_case_is(c, "comm_speedup")) {
        *out = 32 / (cc_case(c, "bits") + 32 / cc_case(c, "bucket"));
    } else {
        double share = cc_case(c, "comm_share");
        *out = 1 / (1 - share + share / cc_case(c, "comm_gain"));
    }
    return CC_OK;
}

/* Pipe-SGD: ratios of the step times above. */
int cc_formula_pipeline(struct cc_paper_case *c, double *out, struct cc_error *e)
{
    (void)e;
    double servers = cc_case(c, "ps_factor"), workers = cc_case(c, "workers");
    if (cc_case_is(c, "comm_ratio")) { /* push and pull of n bytes each, against equation 5 */
        *out = 2 * workers / (2 * (workers - 1) / workers);
        return CC_OK;
    }
    double comm = cc_case(c, cc_case_flag(c, "convex")         ? "convex_comm"
                             : cc_case_flag(c, "slow_to_gain") ? "low_comm"
                                                               : "high_comm");
    double small = comm / cc_case(c, "gain");
    double ps = 1 + servers * comm, sync = cc_pipe_sync(0, 1, comm);
    double pipe = cc_pipe_limited(0, 1, comm, 2), pipe_small = cc_pipe_limited(0, 1, small, 2);
    if (cc_case_is(c, "ps_sync"))
        *out = 1 - sync / ps;
    else if (cc_case_is(c, "sync_pipe"))
        *out = 1 - pipe / sync;
    else if (cc_case_is(c, "sync_pipe_small"))
        *out = 1 - pipe_small / cc_pipe_sync(0, 1, small);
    else
        *out = (cc_case_is(c, "over_ps") ? ps : sync) / pipe_small;
    return CC_OK;
}
