#include "core/cache.h"

#include <stdatomic.h>
#include <stdio.h>

/* The number at the beginning of a file about a cache; 0: there is none. */
static size_t read_number(int index, const char *name)
{
    char path[80];
    size_t number = 0;
    (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return 0;
    if (fscanf(f, "%zu", &number) != 1)
        number = 0;
    (void)fclose(f);
    return number;
}

/* The size of the largest cache of a level, or of all with level 0; 0: not known. */
static size_t read_cache_bytes(size_t level)
{
    /* Not sysconf: on some virtual machines it reports the cache of the whole host. */
    size_t most = 0;
    for (int i = 0; i < 8; i++) {
        const size_t bytes = read_number(i, "size") << 10;
        if (bytes > most && (level == 0 || read_number(i, "level") == level))
            most = bytes;
    }
    return most;
}

static atomic_size_t known;

size_t cc_cache_bytes(void)
{
    size_t bytes = atomic_load_explicit(&known, memory_order_relaxed);
    if (bytes == 0) {
        bytes = read_cache_bytes(0);
        bytes = bytes > 0 ? bytes : (size_t)32 << 20;
        atomic_store_explicit(&known, bytes, memory_order_relaxed);
    }
    return bytes;
}

size_t cc_cache_l2_bytes(void)
{
    const size_t bytes = read_cache_bytes(2);
    return bytes > 0 ? bytes : (size_t)512 << 10;
}

void cc_cache_force(size_t bytes)
{
    atomic_store_explicit(&known, bytes, memory_order_relaxed);
}

bool cc_use_nontemporal(size_t bytes)
{
    return bytes > cc_cache_bytes();
}

bool cc_pages_ahead = true;

#if defined(__x86_64__)
__attribute__((constructor)) static void find_pages_ahead(void)
{
    __builtin_cpu_init();
    cc_pages_ahead = !__builtin_cpu_is("amdfam19h");
}
#endif
