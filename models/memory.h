/* Memory of a training's states on a worker: parameters, gradients, the optimizer's moments, the
 * residuals of compression. Activations, buffers of a library and fragmentation come on top and are
 * not known here: states that do not fit rule a plan out, and states that fit prove nothing.
 *
 * Bytes a parameter and the sharding of states: S. Rajbhandari, J. Rasley, O. Ruwase, Y. He, ZeRO:
 * Memory Optimizations Toward Training Trillion Parameter Models, SC 2020, sections 3.1 and 5. */
#ifndef CC_MODELS_MEMORY_H
#define CC_MODELS_MEMORY_H

#include <stdbool.h>

#include "models/device.h"
#include "models/net.h"

/* The optimizer, by the moments that it keeps of every parameter, as float32. */
enum cc_optimizer_moments {
    CC_MOMENTS_NONE,     /* plain SGD */
    CC_MOMENTS_MOMENTUM, /* SGD with momentum: 1 */
    CC_MOMENTS_ADAM      /* Adam, AdamW: 2 */
};

/* Which states are divided among the workers of a group; each level adds to the one before. */
enum cc_sharding {
    CC_SHARDING_NONE,      /* DDP: every worker has everything */
    CC_SHARDING_OPTIMIZER, /* ZeRO-1 */
    CC_SHARDING_GRADIENTS, /* ZeRO-2 */
    CC_SHARDING_PARAMETERS /* ZeRO-3, FSDP */
};

struct cc_memory_plan {
    double type_bytes; /* of a parameter and of its gradient as the passes have them: 4, or 2 in
                          mixed precision, which also keeps a float32 copy of the parameters */
    enum cc_optimizer_moments moments;
    enum cc_sharding sharding;
    int group; /* workers that states are divided among; at least 1 */
    double
        residuals; /* of compression: float32 values kept for each gradient; 0 without feedback */
};

/* Bytes on one worker. The float32 copy of the parameters counts as the optimizer's. */
struct cc_memory {
    double parameters, gradients, optimizer, residuals, total;
};

/* Returns the states of a worker that trains so many parameters. */
struct cc_memory cc_memory_states(double parameters, const struct cc_memory_plan *plan);

/* The least sharding, from the plan's own on, whose states fit so many bytes; false: none does. */
bool cc_memory_least_sharding(double parameters, const struct cc_memory_plan *plan, double bytes,
                              enum cc_sharding *out);

/* Bytes of a device's memory, as it is sold: a program has a little less. */
static inline double cc_device_memory_bytes(const struct cc_device *d)
{
    return 1e9 * d->memory_gb;
}

#endif
