/* States of mixed precision with Adam take 2 + 2 + 12 bytes a parameter (ZeRO, section 3.1):
 * parameter and gradient of 16 bits; and a float32 copy of the parameter and two moments. */
#include "models/memory.h"

#include <stddef.h>

struct cc_memory cc_memory_states(double parameters, const struct cc_memory_plan *plan)
{
    const double group = plan->group > 1 ? plan->group : 1;
    const double copy = plan->type_bytes < sizeof(float) ? sizeof(float) : 0;
    struct cc_memory m = {.parameters = parameters * plan->type_bytes,
                          .gradients = parameters * plan->type_bytes,
                          .optimizer = parameters * (copy + sizeof(float) * (double)plan->moments),
                          .residuals = parameters * sizeof(float) * plan->residuals};
    if (plan->sharding >= CC_SHARDING_OPTIMIZER)
        m.optimizer /= group;
    if (plan->sharding >= CC_SHARDING_GRADIENTS)
        m.gradients /= group;
    if (plan->sharding >= CC_SHARDING_PARAMETERS)
        m.parameters /= group;
    m.total = m.parameters + m.gradients + m.optimizer + m.residuals;
    return m;
}

bool cc_memory_least_sharding(double parameters, const struct cc_memory_plan *plan, double bytes,
                              enum cc_sharding *out)
{
    struct cc_memory_plan p = *plan;
    for (; p.sharding <= CC_SHARDING_PARAMETERS; p.sharding++)
        if (cc_memory_states(parameters, &p).total <= bytes) {
            *out = p.sharding;
            return true;
        }
    return false;
}
