/* The formulas behind published tables, with the inputs that each looks up; docs/papers.md lists
 * their assumptions. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "models/nccl.h"
#include "models/paper/paper_formula.h"
#include "models/system.h"

/* --- 3LC: lightweight and effective traffic compression for distributed machine learning --- */

/* Table 1 (speedups): time = compute and traffic, of which a share of the computation overlaps with
 * the traffic, in units of the baseline's traffic at 10 Mbit/s; a residue of the traffic is not
 * compressed. `averages`: the scheme also averages values, which takes time. */
static double step_time(struct cc_paper_case *c, double bits, bool averages)
{
    double compute = cc_case_number(c, "compute"), overlap = cc_case_number(c, "overlap");
    double residue = cc_case_number(c, "residue");
    double traffic = residue + (1 - residue) * bits / cc_case_number(c, "baseline_bits");
    double time = cc_step_beside(compute, overlap, traffic * 10 / cc_case_number(c, "mbps"));
    return averages ? time + cc_case_number(c, "averaging") : time;
}

static double shared_port(struct cc_paper_case *c)
{
    return step_time(c, cc_case_number(c, "baseline_bits"), false) /
           step_time(c, cc_case_number(c, "bits"), cc_case_flag(c, "averages"));
}

/* Table 2 (bits per value): bits = 8/5 (1 - q) (1 + q / (1 - q^14)), q = (1 - p)^5,
 * p = A (1 - s/2)^k. Five trits make a byte; the byte is 0 with probability q if a trit is nonzero
 * with probability p, independently; a run of L zero bytes becomes ceil(L/14) bytes. A trit is
 * nonzero where |x| >= s max/2. Without s, of base-3 alone. */
static double zero_runs(struct cc_paper_case *c)
{
    double bits = 8 / 5.;
    if (cc_case_has(c, "s")) {
        double p = cc_case_number(c, "tail") *
                   pow(1 - cc_case_number(c, "s") / 2, cc_case_number(c, "steepness"));
        double q = pow(1 - p, 5);
        bits = bits * (1 - q) * (1 + q / (1 - pow(q, 14)));
    }
    return cc_case_is(c, "ratio") ? 32 / bits : bits;
}

/* --- QSGD and Pipe-SGD: computation on GPUs and the exchange between them --- */

/* QSGD, Table 1: speedup = (1 + m) / (1 + m (bits/32 + 1/bucket + codec)), m = communication over
 * computation, which add up (Figure 2 stacks them). Computation is proportional to the net's
 * multiply-additions, communication to its values, which the table prints as whole millions. */
static double gpu_sum(struct cc_paper_case *c)
{
    const struct cc_net *net = c->row->net;
    if (net == NULL || !(net->compute > 0))
        return cc_case_failed(c, cc_fail(c->e, "it needs a net with its computation"));
    if (cc_case_is(c, "values"))
        return (double)net->values;
    if (cc_case_is(c, "whole_millions"))
        return floor((double)net->values / 1e6);
    double comm = cc_case_number(c, "value_cost") * (double)net->values / net->compute;
    double traffic = cc_case_number(c, "bits") / 32 + 1 / cc_case_number(c, "bucket");
    return (1 + comm) / (1 + comm * (traffic + cc_case_number(c, "codec")));
}

/* QSGD, section 5: the overall speedup for a given gain in communication, 1 / (1 - share + share /
 * gain), and the gain that the payload's size alone would give. */
static double amdahl(struct cc_paper_case *c)
{
    if (cc_case_is(c, "comm_speedup"))
        return 32 / (cc_case_number(c, "bits") + 32 / cc_case_number(c, "bucket"));
    double share = cc_case_number(c, "comm_share");
    return 1 / (1 - share + share / cc_case_number(c, "comm_gain"));
}

/* Pipe-SGD, in units of the computation, m = communication: D-Sync 1 + m (equation 2), PS-Sync
 * 1 + f m, Pipe-SGD max(1, m) (equation 4 with K = 2); with compression m becomes m / gain. */
static double pipeline(struct cc_paper_case *c)
{
    double servers = cc_case_number(c, "ps_factor"), workers = cc_case_number(c, "workers");
    if (cc_case_is(c, "comm_ratio")) { /* push and pull of n bytes each, against equation 5 */
        const double trees = 2 * ceil(log2(workers + 1)); /* reduce and broadcast, by n each */
        const double ports =
            cc_case_flag(c, "half_duplex") ? 2 : 1; /* a ring sends while it receives */
        return (cc_case_flag(c, "trees") ? trees : 2 * workers) /
               (ports * 2 * (workers - 1) / workers);
    }
    double comm = cc_case_number(c, cc_case_flag(c, "convex")         ? "convex_comm"
                                    : cc_case_flag(c, "slow_to_gain") ? "low_comm"
                                                                      : "high_comm");
    double small = comm / cc_case_number(c, "gain");
    double ps = 1 + servers * comm, sync = cc_pipe_sync(0, 1, comm);
    double pipe = cc_pipe_limited(0, 1, comm, 2), pipe_small = cc_pipe_limited(0, 1, small, 2);
    return cc_case_is(c, "ps_sync")           ? 1 - sync / ps
           : cc_case_is(c, "sync_pipe")       ? 1 - pipe / sync
           : cc_case_is(c, "sync_pipe_small") ? 1 - pipe_small / cc_pipe_sync(0, 1, small)
                                              : (cc_case_is(c, "over_ps") ? ps : sync) / pipe_small;
}

/* --- SparCML: high-performance sparse communication for machine learning --- */

/* All tables follow from the formulas of its exchanges (models/exchange_sparse.c), with
 * Rabenseifner's allreduce as the dense baseline. */
enum { VALUE_BITS = 32, PAIR_BITS = 64 };

static struct cc_cluster cluster_of(int workers, enum cc_union overlap, double dense_bits)
{
    return (struct cc_cluster){.workers = workers,
                               .overlap = overlap,
                               .wire = CC_WIRE_PAIRS,
                               .as_printed = true,
                               .dense_bits = dense_bits};
}

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
    return cc_case_has(c, which) ? cc_case_number(c, names[cc_case_whole(c, which)])
                                 : cc_case_number(c, which);
}

/* Table 2: a pass over the data is samples / (1000 P) exchanges. The computation, the same in both,
 * is the part of the baseline's pass that is not communication. */
static double sparse_pass(struct cc_paper_case *c)
{
    static const char *const networks[] = {"daint8_gbps", "daint32_gbps", "ib_gbps", "gige_gbps"};
    static const char *const latencies[] = {"daint_s", "daint_s", "ib_s", "gige_s"};
    static const char *const datasets[] = {"webspam_pairs", "url_pairs"};
    const struct cc_cluster cluster =
        cluster_of(cc_case_whole(c, "workers"), CC_UNION_SAME, VALUE_BITS);
    const struct cc_link link = {.bw_bps = 1e9 * pick(c, "network", networks),
                                 .latency_s = pick(c, "network", latencies)};
    double n = cc_case_number(c, "values"), pairs = pick(c, "dataset", datasets);
    double steps = cc_case_number(c, "samples") / (cc_case_number(c, "batch") * cluster.workers);
    double dense = steps * comm(CC_RABENSEIFNER, &cluster, &link, n, VALUE_BITS, 0);
    double sparse = steps * comm(cc_case_number(c, "split") > 0 ? CC_SSAR_SPLIT : CC_SSAR_RECDOUBLE,
                                 &cluster, &link, n, VALUE_BITS, pairs);
    sparse += steps * 1e-9 * cc_case_number(c, "pass_ns") * n;
    if (cc_case_is(c, "speedup"))
        return (cc_case_number(c, "compute_s") + dense) / (cc_case_number(c, "compute_s") + sparse);
    return cc_case_is(c, "dense_s") ? dense : cc_case_is(c, "sparse_s") ? sparse : dense / sparse;
}

/* Table 3: the baseline's communication is given; low precision scales it by the ratio of the
 * formulas, and a codec takes a time for each value of each exchange of a pass, if that is known.
 */
static double low_precision(struct cc_paper_case *c)
{
    double n = (double)c->row->net->values,
           bits = cc_case_number(c, "bits") + 32 / cc_case_number(c, "bucket");
    const struct cc_cluster cluster =
        cluster_of(cc_case_whole(c, "workers"), CC_UNION_EXPECTED, bits);
    const struct cc_link link = {.bw_bps = 1e9 * cc_case_number(c, "gbps"),
                                 .latency_s = cc_case_number(c, "latency_s")};
    double dense = comm(CC_RABENSEIFNER, &cluster, &link, n, VALUE_BITS, 0);
    double small = cc_case_has(c, "top")
                       ? comm(CC_DSAR_SPLIT, &cluster, &link, n, 0, n * cc_case_number(c, "top"))
                       : comm(CC_RABENSEIFNER, &cluster, &link, n, bits, 0);
    double total = cc_case_number(c, "dense_min"), share = cc_case_number(c, "dense_comm_min");
    double now = share * small / dense;
    if (cc_case_has(c, "codec_ns"))
        now += 1e-9 / 60 * cc_case_number(c, "codec_ns") * n * cc_case_number(c, "samples") /
               cc_case_number(c, "batch");
    return cc_case_is(c, "comm_speedup") ? share / now : total / (total - share + now);
}

/* Spark, section 6: a step gathers the dense vectors of all executors at the driver, whose port
 * they share, and broadcasts one along a tree; scheduling and serializing take a fixed time. The
 * ratio is one of two times that the text gives. */
static double driver(struct cc_paper_case *c)
{
    if (cc_case_is(c, "ratio"))
        return cc_case_number(c, "of") / cc_case_number(c, "over");
    const double workers = cc_case_whole(c, "workers");
    const double bytes = cc_case_number(c, "values") * cc_case_number(c, "value_bytes");
    const double moved = (workers + log2(workers)) * bytes / (1e9 / 8 * cc_case_number(c, "gbps"));
    return cc_case_number(c, "samples") / (cc_case_number(c, "batch") * workers) *
           (cc_case_number(c, "fixed_s") + moved);
}

double cc_paper_sparcml_s(enum cc_exchange x, int workers, const struct cc_link *link, double n,
                          double pairs)
{
    const struct cc_cluster cluster = cluster_of(workers, CC_UNION_EXPECTED, VALUE_BITS);
    return comm(x, &cluster, link, n, VALUE_BITS, pairs);
}

/* Figure 4: the algorithms' times, and 1 if their order is the one that the text states, else 0. */
static double sparse_order(struct cc_paper_case *c)
{
    const struct cc_link link = {.bw_bps = 1e9 * cc_case_number(c, "gbps"),
                                 .latency_s = cc_case_number(c, "latency_s")};
    const int workers = cc_case_whole(c, "workers");
    const double n = cc_case_number(c, "values"), pairs = n * cc_case_number(c, "density");
    const double doubling = cc_paper_sparcml_s(CC_SSAR_RECDOUBLE, workers, &link, n, pairs);
    const double split = cc_paper_sparcml_s(CC_SSAR_SPLIT, workers, &link, n, pairs);
    const double dense_split = cc_paper_sparcml_s(CC_DSAR_SPLIT, workers, &link, n, pairs);
    const double dense = cc_paper_sparcml_s(CC_RABENSEIFNER, workers, &link, n, 0);
    return cc_case_is(c, "doubling_ms")        ? 1e3 * doubling
           : cc_case_is(c, "split_ms")         ? 1e3 * split
           : cc_case_is(c, "dsar_ms")          ? 1e3 * dense_split
           : cc_case_is(c, "dense_ms")         ? 1e3 * dense
           : cc_case_is(c, "doubling_fastest") ? doubling < fmin(split, dense_split)
           : cc_case_is(c, "split_over_dsar")  ? split < dense_split
                                               : fmin(fmin(doubling, split), dense_split) < dense;
}

/* --- predictions by models/predict.h --- */

static struct cc_setting setting_of(struct cc_paper_case *c, const char *workers)
{
    struct cc_setting s;
    cc_setting_defaults(c->row->net, &s);
    s.cluster.workers = cc_case_whole(c, workers);
    s.link.bw_bps = 1e9 * cc_case_number(c, "gbps");
    s.link.latency_s = cc_case_number(c, "latency_s");
    s.link.overhead = cc_case_number(c, "overhead");
    return s;
}

/* --- the thesis on the modularized parameter server --- */

/* Table 1.1: the values or bits that a worker generates. */
static double traffic(struct cc_paper_case *c)
{
    const double values = (double)c->row->net->values;
    return cc_case_is(c, "bps") ? values * 32 * cc_case_number(c, "steps_per_s") : values;
}

/* Bytes that the busiest server gets from one machine, headers included. */
static double busiest(const struct cc_net *net, enum cc_placement placement, int servers,
                      double header, double *imbalance, struct cc_error *e)
{
    double *size = NULL, most = NAN;
    size_t *order = NULL;
    int *server = NULL;
    if (CC_NEW(size, net->count + 2 * (size_t)servers, e) == CC_OK &&
        CC_NEW(order, net->count, e) == CC_OK && CC_NEW(server, net->count, e) == CC_OK) {
        double *load = size + net->count, *bytes = load + servers;
        for (size_t i = 0; i < net->count; i++)
            size[i] = (double)net->tensors[i].shape.n;
        cc_place(placement, size, net->count, servers, server, load, order);
        *imbalance = cc_imbalance(load, servers);
        for (int s = 0; s < servers; s++)
            bytes[s] = 4 * load[s] + (placement == CC_SPLIT ? (double)net->count * header : 0);
        for (size_t i = 0; i < net->count && placement != CC_SPLIT; i++)
            bytes[server[i]] += header;
        most = bytes[0];
        for (int s = 1; s < servers; s++)
            most = fmax(most, bytes[s]);
    }
    free(size);
    free(order);
    free(server);
    return most;
}

/* Placement strategies, figures 5.1 to 5.3: 1 if a statement of the text about them holds, else 0.
 */
static double placement(struct cc_paper_case *c)
{
    double bytes[3], imbalance[3] = {1, 1, 1}; /* by placement */
    for (int i = 0; i < 3; i++) {
        bytes[i] = busiest(c->row->net, (enum cc_placement)i, cc_case_whole(c, "machines"),
                           cc_case_number(c, "message_bytes"), &imbalance[i], c->e);
        if (isnan(bytes[i]))
            return cc_case_failed(c, CC_FAIL);
    }
    return cc_case_is(c, "split_slowest")
               ? bytes[CC_SPLIT] > fmax(bytes[CC_ROUND_ROBIN], bytes[CC_LPT])
           : cc_case_is(c, "split_fastest")
               ? bytes[CC_SPLIT] < fmin(bytes[CC_ROUND_ROBIN], bytes[CC_LPT])
           : cc_case_is(c, "lpt_faster") ? bytes[CC_LPT] < bytes[CC_ROUND_ROBIN]
                                         : imbalance[CC_LPT] < imbalance[CC_ROUND_ROBIN];
}

/* Figure 5.4 as the text quotes it: wait-free against traditional backpropagation, and all
 * techniques together against one machine. */
static double combined(struct cc_paper_case *c)
{
    struct cc_setting s = setting_of(c, "machines");
    const bool all = cc_case_is(c, "speedup");
    const struct cc_codec_model m = cc_codec_model_given(
        "fp32", CC_REDUCE_DECODED, all ? cc_case_number(c, "top_bits") : 32, 0, 0, 0);
    s.cluster.servers = s.cluster.workers;
    s.cluster.colocated = true;
    s.placement = CC_LPT;
    s.timing.compute_s = 1 / cc_case_number(c, "steps_per_s");
    const double one_by_one =
        all ? s.cluster.workers * s.timing.compute_s : cc_case_step_s(c, &s, &m);
    s.timing.mode = CC_OVERLAP;
    return one_by_one / cc_case_step_s(c, &s, &m);
}

/* --- Agarwal et al., On the utility of gradient compression (MLSys 2022) --- */

/* Each setting's step with a scheme against the same with DistributedDataParallel.
 *
 * The baseline is DDP as system.h has it. A scheme works after the backward pass, on the whole
 * gradient: its step is computation, encoding, exchange and decoding one after the other. Low-rank
 * factors are summed in a ring, twice; what cannot be summed is gathered by all workers. */

/* Bytes of the factors of a tensor as a matrix of its first dimension and the others; a vector is
 * sent as it is. */
static double factor_bytes(const void *arg, const struct cc_shape *shape)
{
    const double rank = *(const double *)arg, n = (double)shape->n;
    const double rows = shape->ndim > 1 ? (double)shape->dim[0] : n;
    return 4 * fmin(n, rank * (rows + n / rows));
}

/* DDP's step / that of the scheme of the row. codec_scale: 0 for a codec that takes no time. */
static double speedup(struct cc_paper_case *c, double codec_scale)
{
    struct cc_codec_model raw = cc_codec_model_given("fp32", CC_REDUCE_SUM, 32, 0, 0, 0);
    raw.verbatim = true;
    if (c->row->net == NULL)
        return cc_case_failed(c, cc_fail(c->e, "it needs a net"));
    struct cc_setting s = setting_of(c, "workers");
    s.timing.compute_s = cc_case_number(c, "batch") / cc_case_number(c, "samples_per_s");
    const double ns =
        codec_scale * 1e6 * cc_case_number(c, "codec_ms") / cc_case_number(c, "codec_values");
    const double index = cc_case_number(c, "index_bits");
    cc_system_apply(&cc_systems[CC_SYSTEM_DDP], &s);
    const double ddp = cc_case_step_s(c, &s, &raw);
    s.timing.mode = CC_SEQUENTIAL;
    s.timing.fuse_bytes = s.timing.first_fuse_bytes = -1;
    struct cc_codec_model m = cc_codec_model_given("x", CC_REDUCE_DECODED, 32, ns, 0, 0);
    double rank;
    s.exchange = CC_ALLGATHER;
    if (cc_case_has(c, "rank")) {
        rank = cc_case_number(c, "rank");
        m.shape_bytes = factor_bytes;
        m.shape_arg = &rank;
        m.reduction = CC_REDUCE_SUM;
        m.sum_rounds = 2;
        s.exchange = CC_RING;
    } else {
        const double bits = cc_case_has(c, "top") ? cc_case_number(c, "top") * (32 + index)
                                                  : cc_case_number(c, "bits");
        m.push_point.bits_per_value = m.pull_point.bits_per_value = bits;
    }
    return ddp / cc_case_step_s(c, &s, &m);
}

/* Counts the table's settings, of a batch if the row has one; those that gain, with codecs that
 * take codec_scale times as long if the row has that; or those that would with codecs that take no
 * time.
 */
static double count(struct cc_paper_case *c)
{
    const struct cc_paper *p = c->paper;
    const double given = cc_case_has(c, "codec_scale") ? cc_case_number(c, "codec_scale") : 1;
    const double scale = cc_case_is(c, "gains_free") ? 0 : given;
    double found = 0;
    for (size_t r = 0; r < p->rows; r++)
        for (size_t k = 0; k < p->columns; k++) {
            struct cc_paper_case one = *c;
            one.row = &p->row[r];
            one.column = &p->column[k];
            if (one.row->net == NULL || !cc_case_is(&one, "speedup") ||
                (cc_case_has(c, "batch") &&
                 cc_case_number(c, "batch") != cc_case_number(&one, "batch")))
                continue;
            const double gain = speedup(&one, scale);
            if (one.status != CC_OK)
                return cc_case_failed(c, one.status);
            found += cc_case_is(c, "settings") || gain > 1;
        }
    return found;
}

static double utility(struct cc_paper_case *c)
{
    return cc_case_is(c, "speedup") ? speedup(c, 1) : count(c);
}

/* --- SDP4Bit: 4-bit communication in sharded data parallelism --- */

/* Bytes that the codecs of one value read and write in an accelerator's memory: with a kernel for
 * each operation, and with those between two transfers fused. Inside a host each of G accelerators
 * rotates and encodes all values in a byte each, decodes and adds its part of G shards; between n
 * hosts that part in half a byte each. */
static double codec_bytes(double accelerators, double hosts, bool fused)
{
    const double fp32 = 4, inside = 1, between = 0.5, part = 1 / accelerators, shard = part / hosts;
    const double rotate = 2 * fp32, encode = fp32 + inside, decode = inside + fp32;
    const double sum = fp32 + fp32 * part, encode_part = (fp32 + between) * part;
    const double decode_part = encode_part, sum_part = fp32 * part + fp32 * shard;
    return fused ? encode + (inside + between * part) + (between * part + fp32 * shard)
                 : rotate + encode + decode + sum + encode_part + decode_part + sum_part +
                       2 * fp32 * shard;
}

/* Table 4: milliseconds of a step's gradient communication. In full precision NCCL's reduce-scatter
 * (models/nccl.h). Quantized, the slower of the transfers inside and between hosts, beside which
 * fused codecs run; what kernels of their own read and write beyond these takes time besides. */
static double two_level(struct cc_paper_case *c)
{
    const double values = cc_case_number(c, "values"), hosts = cc_case_whole(c, "hosts"),
                 per = cc_case_whole(c, "per_host");
    const double port = 1e9 / 8 * cc_case_number(c, "gbps"),
                 inside = 1e9 * cc_case_number(c, "nvlink_gb_per_s");
    const struct cc_nccl_cluster cluster = {.ranks = (int)(hosts * per),
                                            .hosts = (int)hosts,
                                            .generation = CC_NCCL_AMPERE,
                                            .nvlink = true,
                                            .intra = cc_nccl_nvlink_rate(CC_NCCL_AMPERE, inside),
                                            .inter = port};
    if (!cc_case_flag(c, "quantized")) {
        const struct cc_nccl_choice t = cc_nccl_choose(&cluster, CC_REDUCE_SCATTER, 4 * values);
        return 1e3 * (t.latency_s + t.transfer_s);
    }
    const double scale = cc_case_number(c, "scale_bits");
    const double intra =
        (per - 1) / per * values * (8 + scale / cc_case_number(c, "intra_group")) / 8;
    const double inter =
        (hosts - 1) / hosts * values * (4 + scale / cc_case_number(c, "inter_group")) / 8;
    const double more =
        codec_bytes(per, hosts, cc_case_flag(c, "fused")) - codec_bytes(per, hosts, true);
    const double memory =
        1e12 * cc_case_number(c, "memory_tb_per_s") * cc_case_number(c, "memory_share");
    return 1e3 * (fmax(intra / cluster.intra, inter / port) + more * values / memory);
}

/* --- QuickReduce --- */

/* Microseconds of a two-shot allreduce, each half of which sends (P - 1) / P of the payload: a
 * base, that of codecs, the link, and codecs by value. Or the least size at which the row's payload
 * is faster than fp16. */
static double two_shot_us(struct cc_paper_case *c)
{
    const double part = 2 * (1 - 1.0 / cc_case_whole(c, "workers")),
                 bits = cc_case_number(c, "bits");
    const double byte_us = 1e-3 / cc_case_number(c, "link_gb_per_s"),
                 value_us = 1e-6 * cc_case_number(c, "codec_ps");
    if (cc_case_is(c, "pays_from_kib")) {
        const double gain = part * (16 - bits) / 8 * byte_us - value_us;
        return gain > 0 ? cc_case_number(c, "codec_us") / gain * 2 / 1024 : NAN;
    }
    const double values = cc_case_number(c, "bytes") / 2;
    const double codec =
        cc_case_flag(c, "quantized") ? cc_case_number(c, "codec_us") + values * value_us : 0;
    return cc_case_number(c, "base_us") + codec + part * values * bits / 8 * byte_us;
}

/* --- all of them --- */

/* Workers of an exchange; a net's are bounded in the same way (setting.c). */
enum { MOST_WORKERS = 1000000 };
#define MOST 1e30

/* Counts; numbers; amounts from 0; amounts above it, by which something is divided; shares of a
 * whole. Numbers that become part of a link or a time are wider than the bounds of setting.c. */
#define INPUT(n, kind, lo, hi)                                                                     \
    {                                                                                              \
        .name = n, .type = kind, .min = lo, .max = hi                                              \
    }
#define WHOLE(n, lo, hi) INPUT(n, CC_INT, lo, hi)
#define SPAN(n, lo, hi)  INPUT(n, CC_REAL, lo, hi)
#define REAL(n)          INPUT(n, CC_REAL, 0, MOST)
#define ABOVE(n)         INPUT(n, CC_REAL, 1 / MOST, MOST)
#define SHARE(n)         INPUT(n, CC_REAL, 0, 1)
#define FLAG(n)          INPUT(n, CC_INT, 0, 1)
#define INPUTS(...)      ((const struct cc_param[]){__VA_ARGS__, {.name = NULL}})
#define QUANTITIES(...)  ((const char *const[]){__VA_ARGS__, NULL})

const struct cc_paper_formula cc_paper_formulas[] = {
    {"shared-port", shared_port, false, QUANTITIES("speedup"),
     INPUTS(ABOVE("baseline_bits"), REAL("bits"), ABOVE("mbps"), REAL("compute"), SHARE("overlap"),
            SHARE("residue"), REAL("averaging"), FLAG("averages"))},
    {"zero-runs", zero_runs, false, QUANTITIES("ratio", "bits"),
     INPUTS(SPAN("s", 0, 2), SHARE("tail"), REAL("steepness"))},
    {"traffic", traffic, true, QUANTITIES("values", "bps"), INPUTS(REAL("steps_per_s"))},
    {"gpu-sum", gpu_sum, false, QUANTITIES("values", "whole_millions", "speedup"),
     INPUTS(REAL("bits"), ABOVE("bucket"), REAL("value_cost"), REAL("codec"))},
    {"amdahl", amdahl, false, QUANTITIES("comm_speedup", "speedup"),
     INPUTS(REAL("bits"), ABOVE("bucket"), SHARE("comm_share"), ABOVE("comm_gain"))},
    {"pipeline", pipeline, false,
     QUANTITIES("ps_sync", "sync_pipe", "sync_pipe_small", "speedup", "over_ps", "comm_ratio"),
     INPUTS(WHOLE("workers", 1, MOST_WORKERS), REAL("ps_factor"), ABOVE("gain"), FLAG("convex"),
            FLAG("slow_to_gain"), FLAG("half_duplex"), FLAG("trees"), REAL("convex_comm"),
            REAL("low_comm"), REAL("high_comm"))},
    {"sparse-pass", sparse_pass, false,
     QUANTITIES("dense_s", "sparse_s", "comm_speedup", "speedup"),
     INPUTS(WHOLE("workers", 1, MOST_WORKERS), WHOLE("network", 0, 3), FLAG("dataset"),
            FLAG("split"), REAL("values"), REAL("samples"), REAL("compute_s"), ABOVE("batch"),
            REAL("daint_s"), REAL("ib_s"), REAL("gige_s"), ABOVE("daint8_gbps"),
            ABOVE("daint32_gbps"), ABOVE("ib_gbps"), ABOVE("gige_gbps"), REAL("webspam_pairs"),
            REAL("url_pairs"), REAL("pass_ns"))},
    {"low-precision", low_precision, true, QUANTITIES("comm_speedup", "speedup"),
     INPUTS(WHOLE("workers", 1, MOST_WORKERS), REAL("bits"), ABOVE("bucket"), ABOVE("gbps"),
            REAL("latency_s"), SHARE("top"), ABOVE("dense_min"), ABOVE("dense_comm_min"),
            REAL("codec_ns"), REAL("samples"), ABOVE("batch"))},
    {"driver", driver, false, QUANTITIES("comm_s", "ratio"),
     INPUTS(WHOLE("workers", 1, MOST_WORKERS), REAL("values"), REAL("value_bytes"), REAL("samples"),
            ABOVE("batch"), ABOVE("gbps"), REAL("fixed_s"), ABOVE("of"), ABOVE("over"))},
    {"sparse-order", sparse_order, false,
     QUANTITIES("doubling_fastest", "split_over_dsar", "sparse_faster", "doubling_ms", "split_ms",
                "dsar_ms", "dense_ms"),
     INPUTS(WHOLE("workers", 1, MOST_WORKERS), ABOVE("gbps"), REAL("latency_s"), ABOVE("values"),
            SHARE("density"))},
    {"utility", utility, false, QUANTITIES("speedup", "settings", "gains", "gains_free"),
     INPUTS(WHOLE("workers", 1, MOST_WORKERS), SPAN("gbps", 1e-9, 1e8), SPAN("latency_s", 0, 1e6),
            SPAN("overhead", 0, 1e6), SPAN("samples_per_s", 1e-3, 1e9), SPAN("batch", 1e-6, 1e6),
            WHOLE("rank", 1, 1 << 20), SPAN("top", 1e-9, 1), SPAN("bits", 1e-9, 64),
            SPAN("index_bits", 0, 64), SPAN("codec_ms", 0, 1e6), SPAN("codec_scale", 0, 1e6),
            SPAN("codec_values", 1, 1e12))},
    {"two-level", two_level, false, QUANTITIES("ms"),
     INPUTS(SPAN("values", 1, 1e15), WHOLE("hosts", 2, 100000), WHOLE("per_host", 2, 1024),
            ABOVE("gbps"), ABOVE("nvlink_gb_per_s"), REAL("scale_bits"), ABOVE("intra_group"),
            ABOVE("inter_group"), ABOVE("memory_tb_per_s"), SPAN("memory_share", 0.01, 1),
            FLAG("quantized"), FLAG("fused"))},
    {"two-shot", two_shot_us, false, QUANTITIES("us", "pays_from_kib"),
     INPUTS(WHOLE("workers", 2, MOST_WORKERS), SPAN("bits", 0, 64), ABOVE("bytes"),
            ABOVE("link_gb_per_s"), REAL("base_us"), REAL("codec_us"), REAL("codec_ps"),
            FLAG("quantized"))},
    {"placement", placement, true,
     QUANTITIES("split_slowest", "split_fastest", "lpt_faster", "lpt_more_even"),
     INPUTS(WHOLE("machines", 1, CC_MOST_SERVERS), REAL("message_bytes"))},
    {"combined", combined, true, QUANTITIES("overlap_gain", "speedup"),
     INPUTS(WHOLE("machines", 2, CC_MOST_SERVERS), SPAN("gbps", 1e-9, 1e8),
            SPAN("latency_s", 0, 1e6), SPAN("overhead", 0, 1e6), SPAN("steps_per_s", 1e-6, 1e6),
            REAL("top_bits"))},
    {CC_PAPER_UTILIZATION, cc_paper_utilization, false, QUANTITIES("gbps"),
     INPUTS(ABOVE("billions"), WHOLE("layers", 1, 100000), ABOVE("compute_s"),
            WHOLE("every", 1, 1 << 30), FLAG("divided"), REAL("delay"), ABOVE("share"),
            SPAN("cu", 1e-6, 1 - 1e-9), ABOVE("bits"), REAL("hidden"),
            WHOLE("fragment_layers", 1, 100000), SPAN("grid_low", 1e-9, 1e9),
            SPAN("grid_high", 1e-9, 1e9), WHOLE("grid_points", 2, 1000000))},
    {"training", cc_paper_training, false, QUANTITIES("speedup", "efficiency"),
     INPUTS(WHOLE("workers", 1, MOST_WORKERS), WHOLE("base_workers", 1, MOST_WORKERS),
            WHOLE("per_host", 1, 1024), SPAN("gbps", 1e-9, 1e8), FLAG("rdma"),
            SPAN("nvlink_gb_per_s", 1e-3, 1e6), SPAN("batch", 1e-6, 1e6), SPAN("per_s", 1e-6, 1e9),
            SPAN("bits", 1, 64), SPAN("host_ms", 0, 1e6), SPAN("update_ms", 0, 1e6),
            FLAG("constant_batch"), WHOLE("base_accumulate", 1, 1 << 20),
            SPAN("million_values", 0, 1e9))},
    {.name = NULL},
};
