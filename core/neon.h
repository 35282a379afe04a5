/* Stores of aarch64 for which C has no expression. */
#ifndef CC_CORE_NEON_H
#define CC_CORE_NEON_H

#if defined(__ARM_NEON)
#include <arm_neon.h>

/* Writes 32 bytes around the cache. No fence is needed: these are ordered as all stores are. */
static inline void cc_neon_stream(void *to, uint8x16_t a, uint8x16_t b)
{
    __asm__("stnp %q1, %q2, %0" : "=Q"(*(uint8_t(*)[32])to) : "w"(a), "w"(b));
}
#endif

#endif
