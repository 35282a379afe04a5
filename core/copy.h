/* Copies with non-temporal stores, for output that is not read soon. A plain store to a line that
 * is not in cache first reads the line from memory; computing a block in the first-level cache and
 * copying it out by `nontemporal` avoids that read. */
#ifndef CC_CORE_COPY_H
#define CC_CORE_COPY_H

#include <stddef.h>

#include "core/isa.h"

struct k_copy {
    /* Copies with non-temporal stores if the instruction set has them, else with plain ones. Any
     * alignment, no overlap. Other threads may read the bytes only after this thread's `fence`. */
    void (*nontemporal)(void *restrict to, const void *restrict from, size_t bytes);
    void (*fence)(void);
};
CC_KERNELS(k_copy)

#endif
