/* The systems' defaults. Sources:
 *
 * ddp: PyTorch's DistributedDataParallel (Li et al., VLDB 2020, section 3.2.3; reducer.hpp:
 * kDefaultBucketBytesCap 25 MiB, kDefaultFirstBucketBytes 1 MiB). Buckets are filled in the order
 * of the backward pass and summed by NCCL's ring. Their sizes are those of the gradients, whatever
 * a communication hook makes of them.
 *
 * horovod: docs/tensor-fusion.rst: a buffer of 64 MB, filled with what is to be sent.
 *
 * byteps: docs/env.md: BYTEPS_PARTITION_BYTES 4,096,000; docs/best-practice.md: as many servers as
 * workers; Jiang et al., OSDI 2020.
 *
 * 3lc: 3LC, section 2.1 and Figure 1: one parameter server; TensorFlow sends each tensor when it is
 * computed, and pulls in the order in which the next forward pass needs them.
 *
 * zero1, zero2, zero3: Rajbhandari et al., SC 2020, section 7; DeepSpeed, docs/config-json:
 * reduce_bucket_size and allgather_bucket_size of 5e8 values; parameters are gathered when the
 * optimizer is done. Stages 2 and 3 keep no whole gradients, and reduce in each micro-step.
 *
 * fsdp, hsdp: Zhao et al., VLDB 2023, section 4 and 3.2.2 (HYBRID_SHARD); a unit is a layer, as in
 * torchtitan.
 *
 * zeropp: Wang et al., ZeRO++, ICLR 2024: int8 parameters before the forward pass (qwZ), a second
 * copy in each host for the backward pass (hpZ), gradients reduced in two levels of int4 (qgZ).
 *
 * sdp4bit: Jia et al., SDP4Bit, NeurIPS 2024, in Megatron-LM's distributed optimizer: int4
 * differences of parameters, gathered beside the forward pass; gradients of int8 inside a host. */
#include "models/system.h"

/* Sizes as numbers and, from the same digits, in texts. */
#define MI                (1024.0 * 1024.0)
#define DDP_BUCKET        25
#define DDP_FIRST_BUCKET  1
#define HOROVOD_BUFFER    64
#define BYTEPS_PARTITION  4096000
#define DIGITS_OF(number) #number
#define DIGITS(number)    DIGITS_OF(number)
#define MI_TEXT(number)   DIGITS(number) " MiB"
#define DDP_MESSAGES      "buckets of " MI_TEXT(DDP_BUCKET)
#define BYTEPS_MESSAGES   "messages of 4 MB" /* BYTEPS_PARTITION */
#define ZERO_BUCKET       500000000          /* values */
#define ZERO_MESSAGES     "buckets of 500 M values"
#define LAYERS            "a layer at a time"

/* The exchange and the messages of systems with sharded states. */
#define SHARDED(fuse)                                                                              \
    .exchange = CC_RING, .mode = CC_OVERLAP, .pulls = CC_PULL_READY, .fuse_bytes = (fuse),         \
    .first_fuse_bytes = -1, .fuse_gradients = true, .in_turn = true

/* Collectives that several of them have. */
#define GATHER(time, group, payload)                                                               \
    {                                                                                              \
        .what = CC_MOVES_PARAMETERS, .op = CC_ALL_GATHER, .among = (group), .when = (time),        \
        .role = (payload)                                                                          \
    }
#define SCATTER(...)                                                                               \
    {                                                                                              \
        .what = CC_MOVES_GRADIENTS, .op = CC_REDUCE_SCATTER, .when = CC_WHEN_COMPUTED,             \
        .role = CC_ROLE_GRADIENT, __VA_ARGS__                                                      \
    }
/* Layers are gathered before each pass, and their gradients reduced as they come. */
#define BY_LAYER                                                                                   \
    {                                                                                              \
        {GATHER(CC_WHEN_FORWARD, CC_AMONG_ALL, CC_ROLE_WEIGHT),                                    \
         GATHER(CC_WHEN_BACKWARD, CC_AMONG_ALL, CC_ROLE_WEIGHT), SCATTER(.last = false)},          \
            3                                                                                      \
    }

const struct cc_system cc_systems[CC_SYSTEM_COUNT] = {
    [CC_SYSTEM_PS] = {.name = "ps",
                      .title = "a parameter server and sequential steps, as in 3LC's Table 1",
                      .exchange = CC_PS,
                      .mode = CC_SEQUENTIAL,
                      .pulls = CC_PULL_READY,
                      .fuse_bytes = -1,
                      .first_fuse_bytes = -1},
    [CC_SYSTEM_DDP] = {.name = "ddp",
                       .title =
                           "PyTorch's DistributedDataParallel: a ring, overlapped, " DDP_MESSAGES
                           ", the first of " MI_TEXT(DDP_FIRST_BUCKET),
                       .exchange = CC_RING,
                       .mode = CC_OVERLAP,
                       .pulls = CC_PULL_READY,
                       .fuse_bytes = DDP_BUCKET * MI,
                       .first_fuse_bytes = DDP_FIRST_BUCKET * MI,
                       .messages = DDP_MESSAGES,
                       .fuse_gradients = true,
                       .in_turn = true},
    [CC_SYSTEM_HOROVOD] = {.name = "horovod",
                           .title = "Horovod: a ring, overlapped, tensors fused to " MI_TEXT(
                               HOROVOD_BUFFER),
                           .exchange = CC_RING,
                           .mode = CC_OVERLAP,
                           .pulls = CC_PULL_READY,
                           .fuse_bytes = HOROVOD_BUFFER * MI,
                           .messages = "messages of " MI_TEXT(HOROVOD_BUFFER),
                           .first_fuse_bytes = -1,
                           .in_turn = true},
    [CC_SYSTEM_BYTEPS] =
        {.name = "byteps",
         .title = "BytePS: a server on each worker's host, overlapped, " BYTEPS_MESSAGES,
         .exchange = CC_PS,
         .mode = CC_OVERLAP,
         .pulls = CC_PULL_READY,
         .fuse_bytes = BYTEPS_PARTITION,
         .messages = BYTEPS_MESSAGES,
         .first_fuse_bytes = -1,
         .fuse_gradients = true,
         .server_per_worker = true,
         .colocated = true},
    [CC_SYSTEM_3LC] = {.name = "3lc",
                       .title =
                           "3LC's TensorFlow: a parameter server, overlapped tensor by tensor, "
                           "pulls in forward order",
                       .exchange = CC_PS,
                       .mode = CC_OVERLAP,
                       .pulls = CC_PULL_FORWARD,
                       .fuse_bytes = -1,
                       .first_fuse_bytes = -1},
    [CC_SYSTEM_ZERO1] = {.name = "zero1",
                         .title = "ZeRO-1: the optimizer's states are divided; " ZERO_MESSAGES,
                         SHARDED(4.0 * ZERO_BUCKET),
                         .collectives = {{GATHER(CC_WHEN_UPDATED, CC_AMONG_ALL, CC_ROLE_WEIGHT),
                                          SCATTER(.last = true)},
                                         2},
                         .messages = ZERO_MESSAGES,
                         .sharding = CC_SHARDING_OPTIMIZER,
                         .keeps_gradients = true},
    [CC_SYSTEM_ZERO2] = {.name = "zero2",
                         .title = "ZeRO-2: gradients are divided, too; " ZERO_MESSAGES,
                         SHARDED(4.0 * ZERO_BUCKET),
                         .collectives = {{GATHER(CC_WHEN_UPDATED, CC_AMONG_ALL, CC_ROLE_WEIGHT),
                                          SCATTER(.last = false)},
                                         2},
                         .messages = ZERO_MESSAGES,
                         .sharding = CC_SHARDING_GRADIENTS},
    [CC_SYSTEM_ZERO3] = {.name = "zero3",
                         .title = "ZeRO-3: parameters are divided, too, and gathered " LAYERS,
                         SHARDED(-1),
                         .collectives = BY_LAYER,
                         .messages = LAYERS,
                         .sharding = CC_SHARDING_PARAMETERS},
    [CC_SYSTEM_FSDP] = {.name = "fsdp",
                        .title = "PyTorch's FullyShardedDataParallel: all states are divided, and "
                                 "parameters gathered " LAYERS,
                        SHARDED(-1),
                        .collectives = BY_LAYER,
                        .messages = LAYERS,
                        .sharding = CC_SHARDING_PARAMETERS,
                        .keeps_gradients = true},
    [CC_SYSTEM_HSDP] =
        {.name = "hsdp",
         .title = "FSDP inside each host, and an allreduce of gradients across hosts, " LAYERS,
         SHARDED(-1),
         .collectives = {{GATHER(CC_WHEN_FORWARD, CC_AMONG_HOST, CC_ROLE_WEIGHT),
                          GATHER(CC_WHEN_BACKWARD, CC_AMONG_HOST, CC_ROLE_WEIGHT),
                          SCATTER(.among = CC_AMONG_HOST),
                          {.what = CC_MOVES_GRADIENTS,
                           .op = CC_ALLREDUCE,
                           .among = CC_AMONG_HOSTS,
                           .when = CC_WHEN_COMPUTED,
                           .role = CC_ROLE_GRADIENT,
                           .follows = true}},
                         4},
         .messages = LAYERS,
         .sharding = CC_SHARDING_PARAMETERS,
         .in_host = true,
         .keeps_gradients = true},
    [CC_SYSTEM_ZEROPP] = {.name = "zeropp",
                          .title = "ZeRO++: int8 parameters, a second copy in each host, gradients "
                                   "in two levels, " LAYERS,
                          SHARDED(-1),
                          .collectives = {{GATHER(CC_WHEN_FORWARD, CC_AMONG_ALL, CC_ROLE_WEIGHT),
                                           GATHER(CC_WHEN_BACKWARD, CC_AMONG_HOST, CC_ROLE_PLAIN),
                                           SCATTER(.levels = true)},
                                          3},
                          .messages = LAYERS,
                          .sharding = CC_SHARDING_PARAMETERS,
                          .secondary = true,
                          .weight_scheme = "int8"},
    [CC_SYSTEM_SDP4BIT] =
        {.name = "sdp4bit",
         .title = "SDP4Bit: int4 differences of parameters, gradients in two levels, " LAYERS,
         SHARDED(-1),
         .collectives = {{{.what = CC_MOVES_DIFFERENCES,
                           .op = CC_ALL_GATHER,
                           .among = CC_AMONG_ALL,
                           .when = CC_WHEN_UPDATED,
                           .role = CC_ROLE_WEIGHT,
                           .ahead = true},
                          SCATTER(.levels = true, .last = true)},
                         2},
         .messages = LAYERS,
         .sharding = CC_SHARDING_OPTIMIZER,
         .keeps_gradients = true,
         .weight_scheme = "int4",
         .intra_scheme = "int8"},
};

const char *const cc_system_names[] = {"ps",     "ddp",     "horovod", "byteps", "3lc",
                                       "zero1",  "zero2",   "zero3",   "fsdp",   "hsdp",
                                       "zeropp", "sdp4bit", NULL};

void cc_system_apply(const struct cc_system *system, struct cc_setting *s)
{
    s->system = system;
    s->exchange = system->exchange;
    s->cluster.servers = system->server_per_worker ? s->cluster.workers : 1;
    s->cluster.colocated = system->colocated;
    s->placement = CC_SPLIT;
    s->timing.mode = system->mode;
    s->timing.pulls = system->pulls;
    s->timing.fuse_bytes = system->fuse_bytes;
    s->timing.first_fuse_bytes = system->first_fuse_bytes;
    s->timing.fuse_gradients = system->fuse_gradients;
    s->timing.in_turn = system->in_turn;
    s->sharded.collectives = system->collectives;
}
