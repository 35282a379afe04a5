/* Measured trainings: by how much many accelerators are faster than few, by the formulas of
 * `model`.
 *
 * A row is a system, with what its source says of one accelerator, or of the fewest that it has
 * measured: samples a second, batch, hosts and links. The step of W workers is that of the formulas
 * over links of which the usual share is achieved (models/achieved.h), and what a step takes that
 * depends on neither network nor batch: host_ms, as soon as several accelerators work together
 * (kernels of collectives beside those of the net, hooks, input for all of them), and update_ms,
 * once in a step of several micro-batches. */
#include <string.h>

#include "models/achieved.h"
#include "models/paper/paper_formula.h"
#include "models/system.h"

/* An input that need not be there. */
static double number_or(struct cc_paper_case *c, const char *name, double otherwise)
{
    return cc_case_has(c, name) ? cc_case_number(c, name) : otherwise;
}

/* The formulas' setting for so many workers. */
static int setting_of(struct cc_paper_case *c, int workers, struct cc_setting *s)
{
    size_t system = 0;
    int per_host = cc_case_whole(c, "per_host");
    const double port = 1e9 * cc_case_number(c, "gbps");
    while (cc_system_names[system] != NULL &&
           (c->row->system == NULL || strcmp(cc_system_names[system], c->row->system) != 0))
        system++;
    if (cc_system_names[system] == NULL)
        return cc_fail(c->e, "\"system\" must be one of --system");
    while (workers % per_host != 0) /* hosts are alike */
        per_host--;
    cc_setting_defaults(c->row->net, s);
    s->cluster.workers = workers;
    s->cluster.intra.bw_bps = 8e9 * cc_case_number(c, "nvlink_gb_per_s");
    s->cluster.intra.latency_s = CC_INTRA_LATENCY;
    s->link.bw_bps = port * cc_achieved_of_rate(cc_case_flag(c, "rdma"), port)->usual;
    s->link.overhead = 0;
    cc_system_apply(&cc_systems[system], s);
    /* With a server on each worker's host, a host is one worker. */
    s->cluster.per_host = s->cluster.colocated ? 1 : per_host;
    return CC_OK;
}

/* The time of a step of W workers, of `micro` micro-batches of `micro_s` each, of which only the
 * last one's gradients are sent. */
static double step_of(struct cc_paper_case *c, int workers, double micro, double micro_s)
{
    struct cc_setting s;
    const double bits = cc_case_number(c, "bits");
    struct cc_codec_model m = cc_codec_model_given("x", CC_REDUCE_SUM, bits, 0, 0, 0);
    const double update_s = 1e-3 * number_or(c, "update_ms", 0);
    const double host_s = 1e-3 * number_or(c, "host_ms", 0);
    if (workers < 2)
        return micro * micro_s + update_s;
    const int status = setting_of(c, workers, &s);
    if (status != CC_OK)
        return cc_case_failed(c, status);
    m.verbatim = bits == 32;
    s.timing.compute_s = micro_s;
    return (micro - 1) * micro_s + cc_case_step_s(c, &s, &m) + host_s + update_s;
}

/* The same of a net that the program does not have, of which only the size is known: all is sent
 * after the last micro-batch, in a ring over the hosts' ports. */
static double step_of_size(struct cc_paper_case *c, int workers, double micro, double micro_s)
{
    const int per_host = cc_case_whole(c, "per_host"), hosts = workers / per_host;
    const double port = 1e9 * cc_case_number(c, "gbps");
    const double bytes = 1e6 * cc_case_number(c, "million_values") * cc_case_number(c, "bits") / 8;
    const double share = cc_achieved_of_rate(cc_case_flag(c, "rdma"), port)->usual;
    const double exchange_s = hosts > 1 ? 2 * (1 - 1.0 / workers) * bytes * 8 / (port * share) : 0;
    return micro * micro_s + exchange_s + 1e-3 * cc_case_number(c, "update_ms");
}

double cc_paper_training(struct cc_paper_case *c)
{
    const bool sized = c->row->net == NULL;
    double (*const step)(struct cc_paper_case *, int, double, double) =
        sized ? step_of_size : step_of;
    const int workers = cc_case_whole(c, "workers");
    const double base = number_or(c, "base_workers", 1);
    const double base_micro = number_or(c, "base_accumulate", 1);
    const double micro =
        cc_case_flag(c, "constant_batch") ? base_micro * base / workers : base_micro;
    const double base_s = base_micro * cc_case_number(c, "batch") / cc_case_number(c, "per_s");
    /* A micro-batch takes what the base's step leaves for it. */
    const double once_s = sized ? step_of_size(c, (int)base, base_micro, 0) : 0;
    const double step_s = step(c, workers, micro, (base_s - once_s) / base_micro);
    const double speedup = workers * micro * base_s / (base * base_micro * step_s);
    return cc_case_is(c, "efficiency") ? 100 * base * speedup / workers : speedup;
}
