/* Little-endian numbers at any address, and the bits of floats. */
#ifndef CC_CORE_BYTES_H
#define CC_CORE_BYTES_H

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "commcomp runs on little-endian machines only: its formats are read and written in place"
#endif

#include <stdint.h>
#include <string.h>

/* Defines cc_put_NAME(p, v), which stores a number at p, and cc_get_NAME(p), which loads it. */
#define CC_NUMBER_AT(name, type)                                                                   \
    static inline void cc_put_##name(void *p, type v)                                              \
    {                                                                                              \
        memcpy(p, &v, sizeof v);                                                                   \
    }                                                                                              \
    static inline type cc_get_##name(const void *p)                                                \
    {                                                                                              \
        type v;                                                                                    \
        memcpy(&v, p, sizeof v);                                                                   \
        return v;                                                                                  \
    }
CC_NUMBER_AT(u16, uint16_t)
CC_NUMBER_AT(u32, uint32_t)
CC_NUMBER_AT(u64, uint64_t)
CC_NUMBER_AT(f32, float)
CC_NUMBER_AT(f64, double)

/* The same number, which compilers then do not read from memory again: for one that is checked
 * before it is used as an index, in memory that others may write. */
static inline uint64_t cc_once(uint64_t v)
{
    __asm__("" : "+r"(v));
    return v;
}

static inline uint32_t cc_f32_bits(float v)
{
    return cc_get_u32(&v);
}

static inline float cc_bits_f32(uint32_t v)
{
    return cc_get_f32(&v);
}

/* The bits of infinity: those of |v| are below this for every finite v. */
#define CC_F32_INF_BITS 0x7f800000u

static inline int cc_finite(float v)
{
    return (cc_f32_bits(v) & 0x7fffffffu) < CC_F32_INF_BITS;
}

#endif
