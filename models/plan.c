/* The deployments, and the search over the sizes of their messages. Sources:
 *
 * DDP, its hooks and no_sync: PyTorch, torch/nn/parallel/distributed.py, where bucket_cap_mb sets
 * the size of all buckets, and torch/distributed/algorithms/ddp_comm_hooks. The hook of commcomp:
 * docs/pytorch.md; its codecs run on the host and its payloads are gathered.
 *
 * torchft: torchft/collectives.py, allreduce_quantized: fp8, an all-to-all, one encoding of the
 * sums, an all-gather; for NCCL alone.
 *
 * Horovod: hvd.Compression has none and fp16. BytePS: byteps.torch with Compression.fp16.
 *
 * ZeRO and FSDP: system.c. ZeRO++: DeepSpeed, docs/_tutorials/zeropp.md: zero_quantized_weights,
 * zero_hpz_partition_size, zero_quantized_gradients. */
#include "models/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MI (1024.0 * 1024.0)

#define SUMS " powersgd randk local "

const struct cc_deployment cc_deployments[CC_DEPLOYMENTS] = {
    {.id = CC_BY_DDP,
     .name = "ddp",
     .text = "PyTorch's DDP",
     .system = CC_SYSTEM_DDP,
     .exchange = CC_EXCHANGE_COUNT,
     .schemes = " fp32 bf16 fp16 ",
     .sizes = true},
    {.id = CC_BY_POWERSGD,
     .name = "powersgd-hook",
     .text = "DDP's PowerSGD hook",
     .system = CC_SYSTEM_DDP,
     .exchange = CC_EXCHANGE_COUNT,
     .schemes = " powersgd ",
     .sizes = true},
    {.id = CC_BY_GATHER,
     .name = "gather-hook",
     .text = "commcomp's hook in DDP",
     .system = CC_SYSTEM_DDP,
     .exchange = CC_ALLGATHER,
     .except = SUMS,
     .on_host = true,
     .sizes = true},
    {.id = CC_BY_SUMS,
     .name = "sum-hook",
     .text = "commcomp's hook in DDP",
     .system = CC_SYSTEM_DDP,
     .exchange = CC_RING,
     .schemes = SUMS,
     .on_host = true,
     .sizes = true},
    {.id = CC_BY_TORCHFT,
     .name = "torchft",
     .text = "torchft's quantized all-reduce",
     .system = CC_SYSTEM_DDP,
     .exchange = CC_TWOSHOT,
     .schemes = " fp8 ",
     .needs_device = true,
     .sizes = true},
    {.id = CC_BY_ACCUMULATING,
     .name = "no-sync",
     .text = "DDP's no_sync",
     .system = CC_SYSTEM_DDP,
     .exchange = CC_EXCHANGE_COUNT,
     .schemes = " local ",
     .sizes = true},
    {.id = CC_BY_HOROVOD,
     .name = "horovod",
     .text = "Horovod",
     .system = CC_SYSTEM_HOROVOD,
     .exchange = CC_EXCHANGE_COUNT,
     .schemes = " fp32 fp16 ",
     .sizes = true},
    {.id = CC_BY_BYTEPS,
     .name = "byteps",
     .text = "BytePS",
     .system = CC_SYSTEM_BYTEPS,
     .exchange = CC_PS,
     .schemes = " fp32 fp16 ",
     .sizes = true},
    {.id = CC_BY_ZERO1,
     .name = "zero1",
     .text = "DeepSpeed's ZeRO-1",
     .system = CC_SYSTEM_ZERO1,
     .exchange = CC_EXCHANGE_COUNT,
     .schemes = "",
     .needs_device = true,
     .sizes = true},
    {.id = CC_BY_ZERO2,
     .name = "zero2",
     .text = "DeepSpeed's ZeRO-2",
     .system = CC_SYSTEM_ZERO2,
     .exchange = CC_EXCHANGE_COUNT,
     .schemes = "",
     .needs_device = true,
     .sizes = true},
    {.id = CC_BY_FSDP,
     .name = "fsdp",
     .text = "PyTorch's FSDP",
     .system = CC_SYSTEM_FSDP,
     .exchange = CC_EXCHANGE_COUNT,
     .schemes = "",
     .needs_device = true},
    {.id = CC_BY_HSDP,
     .name = "hsdp",
     .text = "PyTorch's FSDP inside hosts",
     .system = CC_SYSTEM_HSDP,
     .exchange = CC_EXCHANGE_COUNT,
     .schemes = "",
     .needs_device = true},
    {.id = CC_BY_ZEROPP,
     .name = "zeropp",
     .text = "DeepSpeed's ZeRO++",
     .system = CC_SYSTEM_ZEROPP,
     .exchange = CC_EXCHANGE_COUNT,
     .schemes = " int4 ",
     .needs_device = true},
    {.id = CC_BY_SDP4BIT,
     .name = "sdp4bit",
     .text = "SDP4Bit's collectives",
     .system = CC_SYSTEM_SDP4BIT,
     .exchange = CC_EXCHANGE_COUNT,
     .schemes = " int4 ",
     .needs_device = true},
    {.id = CC_BY_OWN, .name = "own", .text = "commcomp's own ranks"},
};

static bool is_in(const char *list, const char *id)
{
    char word[80];
    const int length = snprintf(word, sizeof word, " %s ", id);
    return length < (int)sizeof word && strstr(list, word) != NULL;
}

enum cc_exchange cc_plan_library(const struct cc_setting *s)
{
    return s->cluster.accelerated ? CC_NCCL : CC_RING;
}

bool cc_plan_takes(const struct cc_deployment *d, const char *id, bool plain)
{
    if (d->id == CC_BY_OWN)
        return true;
    if (plain)
        return d->id == CC_BY_DDP || d->id == CC_BY_HOROVOD || d->id == CC_BY_BYTEPS ||
               cc_plan_sharding(d) != CC_SHARDING_NONE;
    return d->schemes != NULL ? is_in(d->schemes, id) : d->except == NULL || !is_in(d->except, id);
}

void cc_plan_apply(const struct cc_advice_plan *plan, const struct cc_setting *s,
                   struct cc_setting *out)
{
    const struct cc_deployment *d = plan->by;
    const struct cc_setting given = *s;
    *out = given;
    if (d->id == CC_BY_OWN)
        return;
    cc_system_apply(&cc_systems[d->system], out);
    out->exchange = d->exchange != CC_EXCHANGE_COUNT ? d->exchange : cc_plan_library(&given);
    if (!cc_exchange_has(out->exchange, CC_X_SERVERS)) {
        out->cluster.servers = 1;
        out->cluster.colocated = false;
    }
    out->cluster.keep = 0;
    out->cluster.gather = NULL;
    out->cluster.chunks = 1;
    if (plan->fuse_bytes > 0)
        cc_plan_resize(&out->timing, plan->fuse_bytes);
}

/* --- the sizes of messages --- */

double cc_plan_size(size_t i)
{
    return MI * round(100 * pow(2, (double)i / 2 - 2)) / 100;
}

void cc_plan_resize(struct cc_timing *t, double fuse_bytes)
{
    t->fuse_bytes = fuse_bytes;
    t->first_fuse_bytes = -1;
}

/* Then so many sizes are tried on each side of the best one, up to half-way beyond its neighbours:
 * how tensors fill messages makes steps jump. */
enum { NEAR = 8, MOST_SIZES = CC_PLAN_SIZES + 2 * NEAR + 1 };

/* Another size has to be so many times as fast as the deployment's own, and of those that are so
 * close to the fastest, the nearest to its own is taken: the formulas have no cost of their own for
 * a message but its latency. */
#define WORTH_A_SIZE 1.01
#define AS_FAST      1.005

struct search {
    struct cc_predictor *p;
    const struct cc_setting *s;
    const struct cc_step_payloads *payloads;
    const struct cc_deployment *by;
    double bytes[MOST_SIZES];
    struct cc_prediction step[MOST_SIZES];
    size_t count, best;
};

static int try_size(struct search *q, double bytes, struct cc_prediction *step, struct cc_error *e)
{
    const struct cc_advice_plan plan = {q->by, bytes};
    struct cc_setting there;
    cc_plan_apply(&plan, q->s, &there);
    return cc_predict(q->p, &there, q->payloads, step, e);
}

static int add_size(struct search *q, double bytes, struct cc_error *e)
{
    CC_TRY(try_size(q, bytes, &q->step[q->count], e));
    q->bytes[q->count] = bytes;
    if (q->step[q->count].step_s < q->step[q->best].step_s)
        q->best = q->count;
    q->count++;
    return CC_OK;
}

/* Tries all sizes up to the first that takes the whole net. */
static int try_sizes(struct search *q, double own, struct cc_error *e)
{
    const double most = 4 * (double)q->s->net->values;
    for (size_t i = 0; i < CC_PLAN_SIZES && (i == 0 || cc_plan_size(i - 1) < most); i++)
        CC_TRY(add_size(q, cc_plan_size(i), e));
    const double about = q->bytes[q->best] / MI;
    for (int k = -NEAR; k <= NEAR; k++)
        CC_TRY(add_size(q, MI * round(100 * about * pow(2, (double)k / (2 * NEAR))) / 100, e));
    const double limit = AS_FAST * q->step[q->best].step_s;
    for (size_t i = 0; i < q->count; i++)
        if (q->step[i].step_s <= limit &&
            fabs(log(q->bytes[i] / own)) < fabs(log(q->bytes[q->best] / own)))
            q->best = i;
    return CC_OK;
}

int cc_plan_best(struct cc_predictor *p, const struct cc_setting *s,
                 const struct cc_step_payloads *payloads, const struct cc_deployment *by,
                 struct cc_advice_plan *out, struct cc_prediction *step, struct cc_error *e)
{
    struct search q = {.p = p, .s = s, .payloads = payloads, .by = by};
    *out = (struct cc_advice_plan){by, 0};
    CC_TRY(try_size(&q, 0, step, e));
    if (!by->sizes)
        return CC_OK;
    CC_TRY(try_sizes(&q, cc_systems[by->system].fuse_bytes, e));
    if (q.step[q.best].step_s * WORTH_A_SIZE >= step->step_s)
        return CC_OK;
    out->fuse_bytes = q.bytes[q.best];
    *step = q.step[q.best];
    return CC_OK;
}
