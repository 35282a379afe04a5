/* Published shares of line rates. Bus bandwidths are those of nccl-tests' allreduce over rings,
 * where the bus bandwidth is what a port carries each way. */
#include "models/achieved.h"

/* Links of a lower latency are not the kernel's TCP. */
#define LONGEST_RDMA_S 25e-6

const struct cc_achieved cc_achieved_shares[] = {
    {"tcp", false, 0, 0.70, 0.95, 0.956,
     "high: 9.549 of 10 Gbit/s (docs/calibrate.md, headers as tc counts them); usual: 30.4 of 32 "
     "Gbit/s with a GPU a host, low: 22.4 with eight (NVIDIA/nccl issue 209, comment of "
     "2019-06-04)"},
    {"tcp-fast", false, 10e9, 0.54, 0.70, 0.97,
     "high: 31.0 of 32 Gbit/s with a GPU a host, usual: 22.4 with eight (NVIDIA/nccl issue 209, "
     "comment of 2019-06-04); low: 1.7 GB/s of 25 Gbit/s (NVIDIA/nccl-tests issue 83)"},
    {"tcp-100", false, 50e9, 0.32, 0.40, 0.48,
     "4 to 6 GB/s of 100 Gbit/s (NVIDIA/nccl issue 450); usual: their middle"},
    {"rdma", true, 0, 0.75, 0.96, 0.976,
     "high: 12.2 GB/s of 100 Gbit/s, \"as good as you can get\" (NVIDIA/nccl-tests issue 29); "
     "usual: 12 of 100 and 24 of 200 Gbit/s (issue 119); low: 600 of 800 Gbit/s, \"a bit low\" "
     "(NVIDIA/nccl issue 495)"},
    {.name = NULL},
};

const struct cc_achieved *cc_achieved_of_rate(bool rdma, double bw_bps)
{
    const struct cc_achieved *found = NULL;
    for (const struct cc_achieved *a = cc_achieved_shares; a->name != NULL; a++)
        if (a->rdma == rdma && (bw_bps > a->above_bps || found == NULL))
            found = a;
    return found;
}

const struct cc_achieved *cc_achieved_of(const struct cc_link *l)
{
    if (l->reduce_byte_s > 0 || l->overhead <= 0)
        return NULL;
    return cc_achieved_of_rate(l->latency_s < LONGEST_RDMA_S, l->bw_bps);
}

struct cc_link cc_achieved_link(const struct cc_link *l, double share)
{
    struct cc_link out = *l;
    out.bw_bps = l->bw_bps * share * (1 + l->overhead);
    return out;
}
