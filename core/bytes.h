/* Little-endian numbers at any address, and the bits of floats. */
#ifndef CC_CORE_BYTES_H
#define CC_CORE_BYTES_H

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "commcomp runs on little-endian machines only: its formats are read and written in place"
#endif

#include <stdint.h>
#include <string.h>

static inline void cc_put_u16(void *p, uint16_t v)
{
    memcpy(p, &v, sizeof v);
}

static inline void cc_put_u32(void *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
}

static inline void cc_put_u64(void *p, uint64_t v)
{
    memcpy(p, &v, sizeof v);
}

static inline void cc_put_f32(void *p, float v)
{
    memcpy(p, &v, sizeof v);
}

static inline uint16_t cc_get_u16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint32_t cc_get_u32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t cc_get_u64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline float cc_get_f32(const void *p)
{
    float v;
    memcpy(&v, p, sizeof v);
    return v;
}

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
