/* Settings of predictions: defaults and checks. */
#include <math.h>

#include "models/predict.h"

enum { MOST_WORKERS = 1000000, MOST_SIMULATED = 10000, MOST_COLOCATED = 16 };

/* Limits within which results stay finite and meaningful. */
#define LEAST_BPS  1e-3
#define MOST_BPS   1e18
#define MOST_S     1e9
#define MOST_BYTES 1e12
#define MOST_SPEED 1e9

void cc_setting_defaults(const struct cc_net *net, struct cc_setting *out)
{
    *out = (struct cc_setting){
        .net = net,
        .dtype = net->dtype,
        .link = {.latency_s = CC_LINK_LATENCY, .overhead = CC_LINK_OVERHEAD},
        .exchange = CC_PS,
        .cluster = {.workers = 10,
                    .servers = 1,
                    .per_host = 1,
                    .dense_bits = 32,
                    .merge_byte_s = CC_MERGE_BYTE_S},
        .codec_speed = 1,
        .timing = {.compute_s = net->compute_s,
                   .forward_share = CC_FORWARD_SHARE,
                   .fuse_bytes = -1,
                   .first_fuse_bytes = -1,
                   .depth = 2,
                   .spread = 0.2,
                   .seed = 1},
    };
}

static int check_link(const struct cc_link *l, struct cc_error *e)
{
    if (!(l->bw_bps >= LEAST_BPS) || l->bw_bps > MOST_BPS)
        return cc_usage(e, "--bw: the bandwidth must be above zero: from %g to %g bits per second",
                        LEAST_BPS, MOST_BPS);
    if (!(l->message_s >= 0) || l->message_s > MOST_S)
        return cc_usage(e, "--message-cost: a time from 0 to %g s", MOST_S);
    if (!(l->latency_s >= 0) || l->latency_s > MOST_S)
        return cc_usage(e, "--latency: a latency is a time from 0 to %g s", MOST_S);
    if (!(l->overhead >= 0) || !(l->message_bytes >= 0))
        return cc_usage(e, "--overhead: headers cannot be negative");
    if (!(l->burst_bytes >= 0) || l->burst_bytes > MOST_BYTES)
        return cc_usage(e, "--burst: from 0 to %g bytes", MOST_BYTES);
    return CC_OK;
}

static int check_operation(const struct cc_setting *s, struct cc_error *e)
{
    const struct cc_cluster *c = &s->cluster;
    char with[96];
    if (c->chunks > 1 && cc_exchange_has(s->exchange, CC_X_RECODES) &&
        (c->op != CC_ALLREDUCE || c->via == CC_VIA_ALLGATHER))
        return cc_usage(e, "--chunks is of an allreduce that encodes on its way: leave out --%s",
                        c->op != CC_ALLREDUCE ? "op" : "via allgather");
    if (c->op == CC_ALLREDUCE)
        return CC_OK;
    cc_exchange_list(CC_X_HALVES, with, sizeof with);
    if (!cc_exchange_has(s->exchange, CC_X_HALVES))
        return cc_usage(e, "--op %s: of the exchanges, %s have it, and %s has not",
                        cc_operation_names[c->op], with, cc_exchange_names[s->exchange]);
    if (c->via == CC_VIA_ALLGATHER)
        return cc_usage(e, "--op %s: --via allgather is of an allreduce: leave out either",
                        cc_operation_names[c->op]);
    if (c->op == CC_ALL_GATHER && c->intra_scheme != NULL)
        return cc_usage(e, "--intra-scheme: an all-gather reduces nothing: leave it out");
    if (c->op == CC_REDUCE_SCATTER && c->gather != NULL)
        return cc_usage(e, "--gather-scheme: a reduce-scatter gathers nothing: leave it out");
    return CC_OK;
}

static int check_hosts(const struct cc_cluster *c, struct cc_error *e)
{
    const int per_host = cc_cluster_per_host(c);
    const bool room = per_host <= c->workers; /* otherwise said below */
    if (room && c->sites > 1 && c->sites > cc_cluster_hosts(c))
        return cc_usage(e, "--sites %d: each needs a %s, and there are %d", c->sites,
                        per_host > 1 ? "host" : "worker", cc_cluster_hosts(c));
    if (c->sites > 1 && (!(c->wan_bps >= LEAST_BPS) || c->wan_bps > MOST_BPS))
        return cc_usage(e, "--wan-bw: from %g to %g bits per second", LEAST_BPS, MOST_BPS);
    if (c->sites > 1 && (!(c->wan_latency_s >= 0) || c->wan_latency_s > MOST_S))
        return cc_usage(e, "--wan-latency: a time from 0 to %g s", MOST_S);
    if (c->nics > per_host)
        return cc_usage(e,
                        "--nics %d: each worker uses one interface of its host, and --per-host is "
                        "%d",
                        c->nics, per_host);
    if (per_host == 1)
        return CC_OK;
    if (per_host > c->workers)
        return cc_usage(e, "--per-host %d: a host has more accelerators than there are workers, %d",
                        per_host, c->workers);
    if (c->workers % per_host != 0)
        return cc_usage(e,
                        "--per-host %d: %d workers leave a host part empty; take %d or %d workers",
                        per_host, c->workers, c->workers - c->workers % per_host,
                        c->workers - c->workers % per_host + per_host);
    if (c->colocated)
        return cc_usage(e,
                        "--colocate places a server beside every worker, and with --per-host %d "
                        "servers are on hosts of their own: leave out either",
                        per_host);
    if (!(c->intra.bw_bps >= LEAST_BPS) || c->intra.bw_bps > MOST_BPS)
        return cc_usage(e, "--intra-bw: from %g to %g bits per second", LEAST_BPS, MOST_BPS);
    if (!(c->intra.latency_s >= 0) || c->intra.latency_s > MOST_S)
        return cc_usage(e, "--intra-latency: a latency is a time from 0 to %g s", MOST_S);
    return CC_OK;
}

static int check_cluster(const struct cc_setting *s, struct cc_error *e)
{
    const struct cc_cluster *c = &s->cluster;
    if (c->workers < 1 || c->workers > MOST_WORKERS)
        return cc_usage(e, "--workers: from 1 to %d", MOST_WORKERS);
    if (c->servers < 1 || c->servers > CC_MOST_SERVERS)
        return cc_usage(e, "--servers: from 1 to %d", CC_MOST_SERVERS);
    if (c->colocated && c->servers > c->workers)
        return cc_usage(e,
                        "--colocate: %d servers on the hosts of %d workers: no more servers than "
                        "workers",
                        c->servers, c->workers);
    if (c->colocated && s->timing.mode == CC_OVERLAP && s->placement != CC_SPLIT &&
        c->servers > MOST_COLOCATED)
        return cc_usage(e,
                        "--colocate with --placement %s: each host is followed by itself in an "
                        "overlapped step, at most %d servers; more with --placement split",
                        cc_placement_names[s->placement], MOST_COLOCATED);
    CC_TRY(check_hosts(c, e));
    CC_TRY(check_operation(s, e));
    if (!(c->dense_bits > 0) || c->dense_bits > 32)
        return cc_usage(e, "--dense-bits: above 0 and at most 32");
    if (!(c->keep >= 0) || c->keep >= 1)
        return cc_usage(e, "--keep: a share of the values above 0 and below 1, or their number");
    if (c->keep > 0 && c->dense_bits < 32 && cc_exchange_has(s->exchange, CC_X_DENSE_STAGE))
        return cc_usage(e,
                        "--keep gives back whatever is left out of a sum, and nothing gives back "
                        "the error of --dense-bits %g: leave out either",
                        c->dense_bits);
    if (!(c->reduce_byte_s >= 0))
        return cc_usage(e, "adding a byte cannot take a negative time");
    return CC_OK;
}

static int check_consistency(const struct cc_setting *s, struct cc_error *e)
{
    const struct cc_timing *t = &s->timing;
    const char *name = cc_consistency_names[t->consistency];
    if (!(t->spread >= 0) || t->spread > 100)
        return cc_usage(e, "--spread: from 0 to 100");
    if (t->straggler == CC_UNIFORM && t->spread > 0.577)
        return cc_usage(e,
                        "--spread %g: a uniform factor of mean 1 has at most 0.577 (above, it "
                        "would be negative)",
                        t->spread);
    if (t->consistency == CC_BULK)
        return CC_OK;
    if (t->staleness < 0)
        return cc_usage(e, "--staleness: from 0 on");
    if (!cc_exchange_has(s->exchange, CC_X_SERVERS))
        return cc_usage(
            e, "--consistency %s needs a server that answers at any time: --exchange ps", name);
    if (t->mode == CC_PIPE)
        return cc_usage(e, "--consistency %s: in --mode pipe all workers are in the same step",
                        name);
    if (t->pulls == CC_PULL_FORWARD)
        return cc_usage(e,
                        "--pulls forward orders the pulls of a step, and servers that do not wait "
                        "for all workers have none: leave it out with --consistency %s",
                        name);
    return CC_OK;
}

int cc_setting_check_formula(const struct cc_setting *s, struct cc_error *e)
{
    const struct cc_timing *t = &s->timing;
    const char *name = cc_consistency_names[t->consistency];
    CC_TRY(cc_local_check_formula(s, e));
    if (t->consistency == CC_BULK)
        return CC_OK;
    if (s->cluster.colocated)
        return cc_usage(e, "--consistency %s is modelled with servers on hosts of their own", name);
    if (cc_cluster_two_classes(&s->cluster))
        return cc_usage(e, "--consistency %s is modelled with links of one class", name);
    if (t->mode != CC_SEQUENTIAL)
        return cc_usage(e, "--consistency %s is modelled with --mode sequential only", name);
    if (s->cluster.workers > MOST_SIMULATED)
        return cc_usage(e, "--consistency %s: each worker is simulated, at most %d", name,
                        MOST_SIMULATED);
    return CC_OK;
}

int cc_setting_check(const struct cc_setting *s, struct cc_error *e)
{
    const struct cc_timing *t = &s->timing;
    CC_TRY(check_link(&s->link, e));
    CC_TRY(check_cluster(s, e));
    if (!(t->compute_s >= 0) || t->compute_s > MOST_S || !(t->update_s >= 0) ||
        t->update_s > MOST_S || !(t->sync_s >= 0) || t->sync_s > MOST_S)
        return cc_usage(e, "--compute, --update and --sync are times from 0 to %g s", MOST_S);
    if (!(t->forward_share >= 0) || t->forward_share > 1)
        return cc_usage(e, "--forward: the forward pass' share of the compute time, from 0 to 1");
    if (!(t->hidden_share >= 0) || t->hidden_share > 1)
        return cc_usage(e, "--hidden: a share of the compute time, from 0 to 1");
    if (t->hidden_share > 0 && (t->mode != CC_SEQUENTIAL || t->consistency != CC_BULK))
        return cc_usage(e, "--hidden goes with --mode sequential and --consistency bulk only");
    if (!(s->codec_speed > 0) || s->codec_speed > MOST_SPEED)
        return cc_usage(e, "--codec-speed: a factor above 0, at most %g", MOST_SPEED);
    if (t->depth < 1)
        return cc_usage(e, "--depth: Pipe-SGD's K is at least 1");
    CC_TRY(cc_local_check(s, e));
    return check_consistency(s, e);
}
