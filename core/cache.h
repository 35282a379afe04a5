/* The machine's caches, for loops that must decide whether to write past them. */
#ifndef CC_CORE_CACHE_H
#define CC_CORE_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the largest cache; 32 MiB if the system does not tell. Read once. */
size_t cc_cache_bytes(void);

/* For tests, not while a codec runs: from now on it is this; 0: what the system tells. */
void cc_cache_force(size_t bytes);

/* Whether so many bytes are better written past the cache (non-temporal stores): they would not
 * stay in it until somebody reads them. The same bytes either way. */
bool cc_write_past(size_t bytes);

#endif
