#include "bench/memory.h"

#include <stdlib.h>

#include "core/cache.h"
#include "core/memory.h"

const struct k_memory *cc_memory_best(void)
{
#if defined(__x86_64__)
    if (cc_isa_has(CC_AVX512))
        return &k_memory_avx512;
    if (cc_isa_has(CC_AVX2))
        return &k_memory_avx2;
#endif
    return &k_memory_scalar;
}

bool cc_memory_limits(size_t values)
{
    return values >= 2 * cc_cache_bytes() / sizeof(float);
}

int cc_cooler_open(struct cc_cooler *c, struct cc_error *e)
{
    c->bytes = 2 * cc_cache_bytes() / CC_ALIGN * CC_ALIGN;
    c->other = cc_alloc0(c->bytes, e);
    return c->other != NULL ? CC_OK : CC_FAIL;
}

void cc_cooler_close(struct cc_cooler *c)
{
    free(c->other);
    *c = (struct cc_cooler){0};
}

void cc_cool(const struct cc_cooler *c)
{
    static const struct cc_loop how = {.block = 1 << 16};
    const struct cc_moves m = {.reads = 1, .stream = {c->other}, .stream_bytes = c->bytes};
    volatile unsigned sink = cc_memory_best()->move(&m, &how);
    (void)sink;
}
