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
#elif defined(__aarch64__)
    if (cc_isa_has(CC_NEON))
        return &k_memory_neon;
#endif
    return &k_memory_scalar;
}

bool cc_memory_limits(size_t values)
{
    return values >= 2 * cc_cache_bytes() / sizeof(float);
}

size_t cc_l2_values(void)
{
    return cc_cache_l2_bytes() / 8 / sizeof(float);
}

int cc_cache_flush_open(struct cc_cache_flush *c, struct cc_error *e)
{
    c->bytes = 2 * cc_cache_bytes() / CC_ALIGN * CC_ALIGN;
    return CC_NEW(c->buffer, c->bytes, e);
}

void cc_cache_flush_close(struct cc_cache_flush *c)
{
    free(c->buffer);
    *c = (struct cc_cache_flush){0};
}

void cc_cache_flush_run(const struct cc_cache_flush *c)
{
    static const struct cc_copy_loop config = {.block = 1 << 16};
    const struct cc_moves m = {.reads = 1, .stream = {c->buffer}, .stream_bytes = c->bytes};
    volatile unsigned sink = cc_memory_best()->move(&m, &config);
    (void)sink;
}
