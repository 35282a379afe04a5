/* NCCL's collectives by its own model (models/nccl.h): floats are summed by an allreduce, payloads
 * that cannot be summed are gathered. The link between hosts is the host's; the name of the link
 * inside tells the generation and the kind. */
#include <math.h>
#include <string.h>

#include "models/exchange_formula.h"
#include "models/exchange_nccl.h"

bool cc_nccl_is_nvlink(const struct cc_link *intra)
{
    return strncmp(intra->name, "pcie", strlen("pcie")) != 0 && strcmp(intra->name, "shm") != 0 &&
           strcmp(intra->name, CC_LINK_MEMORY) != 0;
}

struct cc_nccl_cluster cc_nccl_of_cluster(const struct cc_cluster *c, const struct cc_link *l)
{
    const int per_host = cc_cluster_per_host(c), hosts = cc_cluster_hosts(c);
    struct cc_nccl_cluster n = {.ranks = c->workers,
                                .hosts = hosts > 1 ? hosts : 1,
                                .generation = CC_NCCL_AMPERE,
                                .nvlink = true,
                                .intra = INFINITY,
                                .inter = cc_cluster_nics(c) / cc_link_byte_s(l),
                                .inter_latency_s = l->latency_s};
    if (c->sites > 1) { /* a ring goes once from each site to the next */
        n.inter = fmin(n.inter, c->wan_bps / 8 / (1 + l->overhead));
        n.inter_latency_s += c->wan_latency_s;
    }
    if (per_host == 1)
        return n;
    if (strcmp(c->intra.name, "nvlink4") == 0)
        n.generation = CC_NCCL_HOPPER;
    n.nvlink = cc_nccl_is_nvlink(&c->intra);
    /* NCCL's constants are those of the link's own latency; another one changes all of them. */
    const double usual = cc_link_intra_latency(&c->intra);
    n.intra_scale = usual > 0 && c->intra.latency_s > 0 ? c->intra.latency_s / usual : 1;
    n.switched = n.generation == CC_NCCL_HOPPER;
    n.intra = n.nvlink ? cc_nccl_nvlink_rate(n.generation, c->intra.bw_bps / 8)
                       : 1 / cc_link_byte_s(&c->intra);
    return n;
}

static void cost(const struct cc_exchange_case *k, struct cc_cost *c)
{
    const struct cc_payload_cost *m = k->message;
    const struct cc_nccl_cluster n = cc_nccl_of_cluster(k->cluster, k->link);
    const bool sums = k->reduction == CC_REDUCE_SUM || m->verbatim == m->values;
    const bool half = k->cluster->op != CC_ALLREDUCE;
    const enum cc_operation op = sums || half ? k->cluster->op : CC_ALL_GATHER;
    const double bytes = sums || half ? m->push_bytes : n.ranks * m->push_bytes;
    const struct cc_nccl_choice is = cc_nccl_choose(&n, op, bytes);
    c->push_latency_s = is.latency_s;
    c->push_transfer_s = is.transfer_s;
    c->rounds = c->messages = 1;
    /* Round a ring every accelerator sends as much, the last one of each host to the next host. */
    const double each = cc_nccl_bus_factor(op, n.ranks) * bytes, local = (double)n.ranks / n.hosts;
    c->intra_bytes = (local - (n.hosts > 1)) * each * (1 + k->cluster->intra.overhead);
    if (n.hosts > 1)
        c->wire_bytes = each * (1 + k->link->overhead);
    if (sums) {
        cc_encode_once(k, c);
    } else if (half) {
        c->encode_s = m->push_encode_s / n.ranks;
        c->decode_s = m->push_decode_s;
    } else {
        c->encode_s = m->push_encode_s;
        c->decode_s = n.ranks * m->push_add_s;
    }
}

const struct cc_exchange_model cc_exchange_model_nccl = {.cost = cost};
