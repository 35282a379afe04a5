/* The size of the machine's caches, by which loops choose between plain and non-temporal stores. */
#ifndef CC_CORE_CACHE_H
#define CC_CORE_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the largest cache; 32 MiB if the system does not report it. Read once, then constant. */
size_t cc_cache_bytes(void);

/* Bytes of a core's second-level cache; 512 KiB if the system does not report it. */
size_t cc_cache_l2_bytes(void);

/* Sets the size for tests, while no codec runs; 0 returns to what the system reports. */
void cc_cache_force(size_t bytes);

/* Whether a loop that moves this many bytes should use non-temporal stores: its output would be
 * evicted from the cache before it is read. The bytes written are the same. */
bool cc_use_nontemporal(size_t bytes);

/* Whether loops gain by prefetching the next page of what they read (core/tile.h). False on AMD's
 * family 19h, Zen 3 and Zen 4; true on all others. Set before main. */
extern bool cc_pages_ahead;

#endif
