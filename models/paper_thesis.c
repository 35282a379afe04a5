/* The thesis on the modularized parameter server (see docs/papers.md). */
#include <math.h>
#include <stdbool.h>

#include "models/paper_formula.h"

/* Table 1.1: what a worker generates. */
int cc_formula_traffic(struct cc_paper_case *c, double *out, struct cc_error *e)
{
    if (c->row->net == NULL)
        return cc_fail(e, "it needs a net");
    *out = (double)c->row->net->values;
    if (cc_case_is(c, "bps"))
        *out *= 32 * cc_case(c, "steps_per_s");
    return CC_OK;
}

/* Its cluster: machines that are worker and server at once, each variable a message. */
static void set_cluster(struct cc_paper_case *c, struct cc_setting *s)
{
    cc_setting_defaults(c->row->net, s);
    s->link.bw_bps = 1e9 * cc_case(c, "gbps");
    s->link.latency_s = cc_case(c, "latency_s");
    s->link.overhead = cc_case(c, "overhead");
    s->link.message_bytes = cc_case(c, "message_bytes");
    s->cluster.workers = s->cluster.servers = (int)cc_case(c, "machines");
    s->placement = CC_LPT;
    s->timing.compute_s = 0;
    s->timing.fuse_bytes = 0;
}

static int predict(struct cc_paper_case *c, const struct cc_setting *s, double bits,
                   struct cc_prediction *out, struct cc_error *e)
{
    struct cc_coder coder = cc_coder_given("fp32", CC_REDUCE_DECODED, bits, 0, 0, 0);
    struct cc_parcels parcels;
    if (cc_parcels_make(s->net, &coder, &coder, 0, &parcels, e) != CC_OK)
        return CC_FAIL;
    int status = cc_predict(c->predictor, s, &parcels, out, e);
    cc_parcels_free(&parcels);
    return status;
}

/* Figures 5.1 to 5.3: whether what the text says of the strategies comes out. */
int cc_formula_placement(struct cc_paper_case *c, double *out, struct cc_error *e)
{
    struct cc_setting s;
    struct cc_prediction p[3]; /* by placement */
    if (c->row->net == NULL)
        return cc_fail(e, "it needs a net");
    set_cluster(c, &s);
    for (int i = 0; i < 3; i++) {
        s.placement = (enum cc_placement)i;
        int status = predict(c, &s, 32, &p[i], e);
        if (status != CC_OK)
            return status;
    }
    double split = p[CC_SPLIT].comm_s, turn = p[CC_ROUND_ROBIN].comm_s, lpt = p[CC_LPT].comm_s;
    if (cc_case_is(c, "split_slowest"))
        *out = split > fmax(turn, lpt);
    else if (cc_case_is(c, "split_fastest"))
        *out = split < fmin(turn, lpt);
    else if (cc_case_is(c, "lpt_faster"))
        *out = lpt < turn;
    else
        *out = p[CC_ROUND_ROBIN].imbalance > p[CC_LPT].imbalance;
    return CC_OK;
}

/* Figure 5.4 as the text quotes it: wait-free against traditional backpropagation, and all
 * techniques together against one machine. */
int cc_formula_combined(struct cc_paper_case *c, double *out, struct cc_error *e)
{
    struct cc_setting s;
    struct cc_prediction before, after;
    if (c->row->net == NULL)
        return cc_fail(e, "it needs a net");
    set_cluster(c, &s);
    s.timing.compute_s = 1 / cc_case(c, "steps_per_s");
    bool all = cc_case_is(c, "speedup");
    int status = predict(c, &s, 32, &before, e);
    s.timing.mode = CC_OVERLAP;
    s.timing.fuse_bytes = -1;
    if (status == CC_OK)
        status = predict(c, &s, all ? cc_case(c, "top_bits") : 32, &after, e);
    if (status != CC_OK)
        return status;
    *out =
        all ? s.cluster.workers * s.timing.compute_s / after.step_s : before.step_s / after.step_s;
    return CC_OK;
}
