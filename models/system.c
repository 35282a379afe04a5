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
 * computed, and pulls in the order in which the next forward pass needs them. */
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
};

const char *const cc_system_names[] = {"ps", "ddp", "horovod", "byteps", "3lc", NULL};

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
}
