/* NCCL's collectives by its own model (models/nccl.h): floats are summed by an allreduce, payloads
 * that cannot be summed are gathered. The link between hosts is the host's; the names nvlink4,
 * nvlink3 and those of PCIe tell the generation and the kind of the link inside. */
#include <math.h>
#include <string.h>

#include "models/exchange_formula.h"
#include "models/exchange_nccl.h"

struct cc_nccl_cluster cc_nccl_of_cluster(const struct cc_cluster *c, const struct cc_link *l)
{
    const int per_host = cc_cluster_per_host(c), hosts = cc_cluster_hosts(c);
    struct cc_nccl_cluster n = {.ranks = c->workers,
                                .hosts = hosts > 1 ? hosts : 1,
                                .generation = CC_NCCL_AMPERE,
                                .nvlink = true,
                                .intra = INFINITY,
                                .inter = 1 / cc_link_byte_s(l),
                                .inter_latency_s = l->latency_s};
    if (c->sites > 1) { /* a ring goes once from each site to the next */
        n.inter = fmin(n.inter, c->wan_bps / 8 / (1 + l->overhead));
        n.inter_latency_s += c->wan_latency_s;
    }
    if (per_host == 1)
        return n;
    if (strcmp(c->intra.name, "nvlink4") == 0)
        n.generation = CC_NCCL_HOPPER;
    n.nvlink = strncmp(c->intra.name, "nvlink", strlen("nvlink")) == 0;
    n.switched = n.generation == CC_NCCL_HOPPER;
    n.intra = n.nvlink ? cc_nccl_nvlink_rate(n.generation, c->intra.bw_bps / 8)
                       : 1 / cc_link_byte_s(&c->intra);
    return n;
}

static void cost(const struct cc_exchange_case *k, struct cc_cost *c)
{
    const struct cc_payload_cost *m = k->message;
    const struct cc_nccl_cluster n = cc_nccl_of_cluster(k->cluster, k->link);
    const bool sums = k->reduction == CC_REDUCE_SUM;
    const enum cc_operation op = sums ? CC_ALLREDUCE : CC_ALL_GATHER;
    const double bytes = sums ? m->push_bytes : n.ranks * m->push_bytes;
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
    } else {
        c->encode_s = m->push_encode_s;
        c->decode_s = n.ranks * m->push_add_s;
    }
}

const struct cc_exchange_model cc_exchange_model_nccl = {.cost = cost};
