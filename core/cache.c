#include "core/cache.h"

#include <stdatomic.h>
#include <stdio.h>

static size_t read_cache_bytes(void)
{
    /* Not sysconf: on some virtual machines it reports the cache of the whole host. */
    size_t most = 0;
    for (int level = 0; level < 8; level++) {
        char path[80];
        size_t kilobytes = 0;
        (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", level);
        FILE *f = fopen(path, "r");
        if (f == NULL)
            continue;
        if (fscanf(f, "%zuK", &kilobytes) == 1 && kilobytes << 10 > most)
            most = kilobytes << 10;
        (void)fclose(f);
    }
    return most > 0 ? most : (size_t)32 << 20;
}

static atomic_size_t known;

size_t cc_cache_bytes(void)
{
    size_t bytes = atomic_load_explicit(&known, memory_order_relaxed);
    if (bytes == 0) {
        bytes = read_cache_bytes();
        atomic_store_explicit(&known, bytes, memory_order_relaxed);
    }
    return bytes;
}

void cc_cache_force(size_t bytes)
{
    atomic_store_explicit(&known, bytes, memory_order_relaxed);
}

bool cc_use_nontemporal(size_t bytes)
{
    return bytes > cc_cache_bytes();
}
