/* Copies that leave the cache alone, for output that nobody reads soon. A kernel that computes a
 * piece in the first-level cache and copies it out with `past` spares the memory the read that a
 * plain store to a line not in cache begins with. */
#ifndef CC_CORE_COPY_H
#define CC_CORE_COPY_H

#include <stddef.h>

#include "core/isa.h"

struct k_copy {
    /* Copies with non-temporal stores where the machine has them; any alignment, no overlap. Other
     * threads see the bytes after `fence`. */
    void (*nontemporal)(void *restrict to, const void *restrict from, size_t bytes);
    void (*fence)(void);
};
CC_KERNELS(k_copy)

#endif
