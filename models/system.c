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

#define MI (1024.0 * 1024.0)

const struct cc_system cc_systems[CC_SYSTEM_COUNT] = {
    [CC_SYSTEM_PS] = {.name = "ps",
                      .title = "a parameter server and sequential steps, as in 3LC's Table 1",
                      .exchange = CC_PS,
                      .mode = CC_SEQUENTIAL,
                      .pulls = CC_PULL_READY,
                      .fuse_bytes = -1,
                      .first_fuse_bytes = -1},
    [CC_SYSTEM_DDP] = {.name = "ddp",
                       .title = "PyTorch's DistributedDataParallel: a ring, overlapped, buckets of "
                                "25 MiB, the first of 1 MiB",
                       .exchange = CC_RING,
                       .mode = CC_OVERLAP,
                       .pulls = CC_PULL_READY,
                       .fuse_bytes = 25 * MI,
                       .first_fuse_bytes = 1 * MI,
                       .fuse_gradients = true},
    [CC_SYSTEM_HOROVOD] = {.name = "horovod",
                           .title = "Horovod: a ring, overlapped, tensors fused to 64 MiB",
                           .exchange = CC_RING,
                           .mode = CC_OVERLAP,
                           .pulls = CC_PULL_READY,
                           .fuse_bytes = 64 * MI,
                           .first_fuse_bytes = -1},
    [CC_SYSTEM_BYTEPS] = {.name = "byteps",
                          .title =
                              "BytePS: a server on each worker's host, overlapped, 4 MB messages",
                          .exchange = CC_PS,
                          .mode = CC_OVERLAP,
                          .pulls = CC_PULL_READY,
                          .fuse_bytes = 4096000,
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
}
