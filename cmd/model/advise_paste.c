/* The lines that deploy a plan, and the command that checks its step. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/model/advise.h"
#include "core/param.h"
#include "models/local_steps.h"
#include "models/sharded.h"

#define HOOKS "from torch.distributed.algorithms.ddp_comm_hooks import "

/* The lines of a deployment: %S is the scheme, %P its first parameter or the default's, %B and %R
 * what sets the size of buckets, %N and %G the hosts and their workers, %Q ZeRO++'s gradients. */
static const char *const lines[CC_DEPLOYMENTS][4] = {
    [CC_BY_POWERSGD] = {HOOKS "powerSGD_hook as p", "ddp = DDP(model%B)",
                        "state = p.PowerSGDState(None, matrix_approximation_rank=%P)",
                        "ddp.register_comm_hook(state, p.powerSGD_hook)"},
    [CC_BY_GATHER] = {"import commcomp.torch", "ddp = DDP(model%B)",
                      "state = commcomp.torch.State(\"%S\", model=ddp)",
                      "ddp.register_comm_hook(state, commcomp.torch.hook)"},
    [CC_BY_SUMS] = {"import commcomp.torch", "ddp = DDP(model%B)",
                    "state = commcomp.torch.State(\"%S\", model=ddp)",
                    "ddp.register_comm_hook(state, commcomp.torch.hook)"},
    [CC_BY_TORCHFT] = {"from torchft.collectives import allreduce_quantized  # fp8, over NCCL",
                       "def hook(_, b):  # in DDP(model%B)",
                       "    w = allreduce_quantized([b.buffer()], ReduceOp.AVG, group)",
                       "    return w.get_future().then(lambda _: b.buffer())"},
    [CC_BY_ACCUMULATING] = {"for i, batch in enumerate(batches):  # DDP(model%B)",
                            "    last = i % %P == %P - 1",
                            "    with nullcontext() if last else ddp.no_sync(): "
                            "loss(batch).backward()",
                            "    if last: optimizer.step(); optimizer.zero_grad()"},
    [CC_BY_ZERO1] = {"config = {\"bf16\": {\"enabled\": True},",
                     "          \"zero_optimization\": {\"stage\": 1%R}}",
                     "deepspeed.initialize(model=model, config=config)"},
    [CC_BY_ZERO2] = {"config = {\"bf16\": {\"enabled\": True},",
                     "          \"zero_optimization\": {\"stage\": 2%R}}",
                     "deepspeed.initialize(model=model, config=config)"},
    [CC_BY_FSDP] = {"from torch.distributed.fsdp import fully_shard, MixedPrecisionPolicy",
                    "for layer in model.layers:",
                    "    fully_shard(layer, mp_policy=MixedPrecisionPolicy(torch.bfloat16))",
                    "fully_shard(model)"},
    [CC_BY_HSDP] =
        {"from torch.distributed.fsdp import fully_shard, MixedPrecisionPolicy",
         "mesh = init_device_mesh(\"cuda\", (%N, %G), mesh_dim_names=(\"dp\", \"shard\"))",
         "for layer in [*model.layers, model]: fully_shard(layer, mesh=mesh,",
         "    mp_policy=MixedPrecisionPolicy(torch.bfloat16))"},
    [CC_BY_ZEROPP] =
        {"config = {\"bf16\": {\"enabled\": True}, \"zero_optimization\": {\"stage\": 3,",
         "          \"zero_quantized_weights\": True, \"zero_hpz_partition_size\": %G%Q}}",
         "deepspeed.initialize(model=model, config=config)"},
};

/* A cast by DDP's own hooks, or none. */
static const char *const casts[4] = {
    HOOKS "default_hooks", "ddp = DDP(model%B)",
    "ddp.register_comm_hook(None, default_hooks.%S_compress_hook)"};
static const char *const plain[4] = {"ddp = DDP(model%B)"};
static const char *const horovod[4] = {
    "hvd.DistributedOptimizer(optimizer, compression=hvd.Compression.%S)%H"};
static const char *const byteps[4] = {
    "bps.DistributedOptimizer(optimizer, compression=bps.Compression.%S)"};

static const char *const *lines_of(const struct advise *a, const struct candidate *c)
{
    switch (c->plan.by->id) {
    case CC_BY_DDP:
        return cc_advise_is_baseline(a, c) ? plain : casts;
    case CC_BY_HOROVOD:
        return horovod;
    case CC_BY_BYTEPS:
        return byteps;
    default:
        return lines[c->plan.by->id];
    }
}

/* The text of the scheme's first number, given or by default. */
static void parameter_text(const struct cc_spec *s, char out[32])
{
    out[0] = '\0';
    for (const struct cc_param *p = s->scheme->params; p->name != NULL; p++)
        if (p->type == CC_INT) {
            cc_param_print(p, s->params, out, 32);
            return;
        }
}

/* Replaces the %X of a line. */
static void fill(const struct advise *a, const struct candidate *c, const char *line, char *out,
                 size_t cap)
{
    const struct cc_spec *spec = a->forecast.schemes->item[c->scheme];
    const bool none = cc_advise_is_baseline(a, c) && c->plan.by->id != CC_BY_GATHER;
    char bucket[48] = "", elements[48] = "", parameter[32];
    size_t n = 0;
    parameter_text(spec, parameter);
    if (c->plan.fuse_bytes > 0)
        (void)snprintf(bucket, sizeof bucket, ", bucket_cap_mb=%.4g",
                       c->plan.fuse_bytes / (1024 * 1024));
    if (c->plan.fuse_bytes > 0)
        (void)snprintf(elements, sizeof elements, ", \"reduce_bucket_size\": %.3g",
                       c->plan.fuse_bytes / 4);
    const char *quantized = none ? "" : ", \"zero_quantized_gradients\": True";
    char hosts[16], per_host[16];
    (void)snprintf(hosts, sizeof hosts, "%d", cc_cluster_hosts(&c->s.cluster));
    (void)snprintf(per_host, sizeof per_host, "%d", cc_cluster_per_host(&c->s.cluster));
    for (; *line != '\0' && n + 80 < cap; line++) {
        const char *with = *line != '%'     ? NULL
                           : line[1] == 'S' ? (none ? "none" : spec->name)
                           : line[1] == 'P' ? parameter
                           : line[1] == 'B' ? bucket
                           : line[1] == 'R' ? elements
                           : line[1] == 'N' ? hosts
                           : line[1] == 'G' ? per_host
                           : line[1] == 'Q' ? quantized
                                            : NULL;
        if (with == NULL) {
            out[n++] = *line;
            continue;
        }
        n += (size_t)snprintf(out + n, cap - n, "%s", with);
        line++;
    }
    out[n] = '\0';
}

/* --- the command that checks --- */

/* Appends the options of the command line that simulations take, too. */
static void add_given(const struct advise *a, char *out, size_t cap)
{
    static const char *const taken[] = {
        "net",           "values",       "trace",         "bw",           "bw-up",
        "bw-down",       "latency",      "overhead",      "calibration",  "workers",
        "per-host",      "intra-bw",     "intra-latency", "sites",        "wan-bw",
        "wan-latency",   "profile",      "dtype",         "min-size",     "codec-speed",
        "nics",          "local-steps",  "stream-parts",  "stream-delay", "accumulate",
        "weight-scheme", "intra-scheme", "gather-scheme"};
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        const char *value =
            cc_option_find(&a->args->options, taken[i], strlen(taken[i])) != SIZE_MAX
                ? cc_arg(a->args, taken[i])
                : NULL;
        const size_t n = strlen(out);
        if (value != NULL)
            (void)snprintf(out + n, cap - n, " --%s %s", taken[i], value);
    }
}

/* "commcomp sim ...", of the candidate's scheme and, where the same exchange carries both, the
 * baseline. Ranks in a simulation have no NCCL, whose ring is a ring, and no accelerators: codecs
 * that run on those take no time there. */
static int note_check(struct advise *a, const struct ranking *r, const struct candidate *c,
                      struct cc_error *e)
{
    const struct cc_timing *t = &c->s.timing;
    const enum cc_exchange x = c->s.exchange == CC_NCCL ? CC_RING : c->s.exchange;
    const char *base = cc_forecast_baseline(&a->forecast);
    const char *scheme = cc_forecast_scheme(&a->forecast, c->scheme);
    const bool both = c->plan.by->id != CC_BY_GATHER && strcmp(base, scheme) != 0;
    const bool device = a->forecast.profile_args.device != NULL && !c->plan.by->on_host;
    char line[900] = "commcomp sim";
    if (c->s.exchange == CC_NCCL && c->s.cluster.nics > 1)
        return cc_record_note_at(a->record, CC_NOTE_FIRST, e,
                                 "No simulation checks it: NCCL's rings use all interfaces of a "
                                 "host, a simulated ring one");
    add_given(a, line, sizeof line);
    size_t n = strlen(line);
    if (r->s->timing.compute_s > 0)
        n += (size_t)snprintf(line + n, sizeof line - n, " --compute %.4gms",
                              1e3 * r->s->timing.compute_s);
    n += (size_t)snprintf(line + n, sizeof line - n, " --system %s", c->s.system->name);
    n += (size_t)snprintf(line + n, sizeof line - n, " --exchange %s", cc_exchange_names[x]);
    if (c->plan.by->id == CC_BY_OWN && t->mode != CC_SEQUENTIAL)
        n += (size_t)snprintf(line + n, sizeof line - n, " --mode %s", cc_step_names[t->mode]);
    const bool fuses = c->plan.fuse_bytes > 0 || (c->plan.by->id == CC_BY_OWN &&
                                                  t->fuse_bytes > 0 && isfinite(t->fuse_bytes));
    if (fuses && !cc_local_cuts(&c->s))
        n += (size_t)snprintf(line + n, sizeof line - n, " --fuse %.0f", t->fuse_bytes);
    if (r->s->net->values > 100000000)
        n += (size_t)snprintf(line + n, sizeof line - n, " --data off");
    if (device)
        n += (size_t)snprintf(line + n, sizeof line - n, " --codec-time none");
    (void)snprintf(line + n, sizeof line - n, " --scheme %s%s%s", both ? base : "", both ? "," : "",
                   scheme);
    return cc_record_note_at(a->record, CC_NOTE_FIRST, e, "%s: %s",
                             device ? "Check it, without the time of codecs" : "Check it", line);
}

int cc_advise_paste(struct advise *a, const struct ranking *r, const struct candidate *c,
                    struct cc_error *e)
{
    char line[320];
    const char *const *of = c->plan.by->id != CC_BY_OWN ? lines_of(a, c) : NULL;
    for (size_t i = 0; of != NULL && i < 4 && of[i] != NULL; i++) {
        fill(a, c, of[i], line, sizeof line);
        CC_TRY(cc_record_note_at(a->record, CC_NOTE_CODE, e, "    %s", line));
    }
    return note_check(a, r, c, e);
}
