/* SparCML: high-performance sparse communication for machine learning. All tables follow from the
 * formulas of its exchanges (models/exchange_sparse.c), with Rabenseifner's allreduce as the dense
 * baseline. */
#include <math.h>
#include <stdbool.h>

#include "models/paper/paper_formula.h"

enum { VALUE_BITS = 32, PAIR_BITS = 64 };

/* Time of an exchange of n values: as pairs if there are any, else dense with `bits` each. */
static double comm(enum cc_exchange x, const struct cc_cluster *cluster, const struct cc_link *link,
                   double n, double bits, double pairs)
{
    struct cc_payload_cost m = {.values = n, .pairs = pairs};
    struct cc_cost cost;
    m.push_bytes = (pairs > 0 ? pairs * PAIR_BITS : n * bits) / 8;
    cc_exchange_cost(x, &m, pairs > 0 ? CC_REDUCE_PAIRS : CC_REDUCE_SUM, cluster, link, 1, 1,
                     &cost);
    return cc_cost_comm(&cost);
}

static double pick(struct cc_paper_case *c, const char *which, const char *const *names)
{
    return cc_case_has(c, which) ? cc_case(c, names[cc_case_whole(c, which)]) : cc_case(c, which);
}

/* Table 2: a pass over the data is samples / (1000 P) exchanges. The computation, the same in both,
 * is the part of the baseline's pass that is not communication. */
int cc_formula_sparse_pass(struct cc_paper_case *c, double *out, struct cc_error *e)
{
    static const char *const networks[] = {"daint8_gbps", "daint32_gbps", "ib_gbps", "gige_gbps"};
    static const char *const latencies[] = {"daint_s", "daint_s", "ib_s", "gige_s"};
    static const char *const datasets[] = {"webspam_pairs", "url_pairs"};
    (void)e;
    struct cc_cluster cluster = {.workers = cc_case_whole(c, "workers"),
                                 .overlap = CC_UNION_SAME,
                                 .wire = CC_WIRE_PAIRS,
                                 .as_printed = true,
                                 .dense_bits = VALUE_BITS};
    struct cc_link link = {.bw_bps = 1e9 * pick(c, "network", networks),
                           .latency_s = pick(c, "network", latencies)};
    double n = cc_case(c, "values"), pairs = pick(c, "dataset", datasets);
    double steps = cc_case(c, "samples") / (cc_case(c, "batch") * cluster.workers);
    double dense = steps * comm(CC_RABENSEIFNER, &cluster, &link, n, VALUE_BITS, 0);
    double sparse = steps * comm(cc_case(c, "split") > 0 ? CC_SSAR_SPLIT : CC_SSAR_RECDOUBLE,
                                 &cluster, &link, n, VALUE_BITS, pairs);
    sparse += steps * 1e-9 * cc_case(c, "pass_ns") * n;
    if (cc_case_is(c, "dense_s"))
        *out = dense;
    else if (cc_case_is(c, "sparse_s"))
        *out = sparse;
    else if (cc_case_is(c, "comm_speedup"))
        *out = dense / sparse;
    else
        *out = (cc_case(c, "compute_s") + dense) / (cc_case(c, "compute_s") + sparse);
    return CC_OK;
}

/* Table 3: the baseline's communication is given; low precision scales it by the ratio of the
 * formulas. */
int cc_formula_low_precision(struct cc_paper_case *c, double *out, struct cc_error *e)
{
    if (c->row->net == NULL)
        return cc_fail(e, "it needs a net");
    double n = (double)c->row->net->values, bits = cc_case(c, "bits") + 32 / cc_case(c, "bucket");
    struct cc_cluster cluster = {.workers = cc_case_whole(c, "workers"),
                                 .overlap = CC_UNION_EXPECTED,
                                 .wire = CC_WIRE_PAIRS,
                                 .as_printed = true,
                                 .dense_bits = bits};
    struct cc_link link = {.bw_bps = 1e9 * cc_case(c, "gbps"),
                           .latency_s = cc_case(c, "latency_s")};
    double dense = comm(CC_RABENSEIFNER, &cluster, &link, n, VALUE_BITS, 0);
    double small = cc_case_has(c, "top")
                       ? comm(CC_DSAR_SPLIT, &cluster, &link, n, 0, n * cc_case(c, "top"))
                       : comm(CC_RABENSEIFNER, &cluster, &link, n, bits, 0);
    double total = cc_case(c, "dense_min"), share = cc_case(c, "dense_comm_min");
    *out = cc_case_is(c, "comm_speedup") ? dense / small
                                         : total / (total - share + share * small / dense);
    return CC_OK;
}

double cc_paper_sparcml_s(enum cc_exchange x, int workers, const struct cc_link *link, double n,
                          double pairs)
{
    const struct cc_cluster cluster = {.workers = workers,
                                       .overlap = CC_UNION_EXPECTED,
                                       .wire = CC_WIRE_PAIRS,
                                       .as_printed = true,
                                       .dense_bits = VALUE_BITS};
    return comm(x, &cluster, link, n, VALUE_BITS, pairs);
}

/* Figure 4: the algorithms' times, and 1 if their order is the one that the text states, else 0. */
int cc_formula_sparse_order(struct cc_paper_case *c, double *out, struct cc_error *e)
{
    (void)e;
    const struct cc_link link = {.bw_bps = 1e9 * cc_case(c, "gbps"),
                                 .latency_s = cc_case(c, "latency_s")};
    const int workers = cc_case_whole(c, "workers");
    const double n = cc_case(c, "values"), pairs = n * cc_case(c, "density");
    const double doubling = cc_paper_sparcml_s(CC_SSAR_RECDOUBLE, workers, &link, n, pairs);
    const double split = cc_paper_sparcml_s(CC_SSAR_SPLIT, workers, &link, n, pairs);
    const double dense_split = cc_paper_sparcml_s(CC_DSAR_SPLIT, workers, &link, n, pairs);
    const double dense = cc_paper_sparcml_s(CC_RABENSEIFNER, workers, &link, n, 0);
    if (cc_case_is(c, "doubling_ms"))
        *out = 1e3 * doubling;
    else if (cc_case_is(c, "split_ms"))
        *out = 1e3 * split;
    else if (cc_case_is(c, "dsar_ms"))
        *out = 1e3 * dense_split;
    else if (cc_case_is(c, "dense_ms"))
        *out = 1e3 * dense;
    else if (cc_case_is(c, "doubling_fastest"))
        *out = doubling < fmin(split, dense_split);
    else if (cc_case_is(c, "split_over_dsar"))
        *out = split < dense_split;
    else
        *out = fmin(fmin(doubling, split), dense_split) < dense;
    return CC_OK;
}
