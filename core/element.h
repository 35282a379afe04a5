/* The types that gradients have: float32, and the two of 16 bits that trainings keep them in.
 * Codecs and sums compute in float32; values of 16 bits are widened, which is exact, as they are
 * read. Apart from enum cc_dtype (core/format/contents.h), which is what files may store. */
#ifndef CC_CORE_ELEMENT_H
#define CC_CORE_ELEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "core/bytes.h"
#include "core/isa.h"

/* name, text, bytes: every type, once. */
#define CC_ELEMENT_LIST(X)                                                                         \
    X(FP32, "fp32", 4)                                                                             \
    X(BF16, "bf16", 2)                                                                             \
    X(FP16, "fp16", 2)

enum cc_element {
#define X(name, text, bytes) CC_ELEMENT_##name,
    CC_ELEMENT_LIST(X)
#undef X
        CC_ELEMENTS
};

extern const char *const cc_element_names[]; /* by the type; ends with NULL */
extern const size_t cc_element_bytes[CC_ELEMENTS];

/* Values of a type, at an address that is a multiple of its size. */
struct cc_elements {
    const void *at;
    enum cc_element type;
};

static inline struct cc_elements cc_elements_f32(const float *x)
{
    return (struct cc_elements){x, CC_ELEMENT_FP32};
}

/* The bytes of n values. */
static inline size_t cc_elements_bytes(struct cc_elements x, size_t n)
{
    return n * cc_element_bytes[x.type];
}

/* The values from index i on. */
static inline struct cc_elements cc_elements_from(struct cc_elements x, size_t i)
{
    return (struct cc_elements){(const char *)x.at + cc_elements_bytes(x, i), x.type};
}

/* Sets out[0, n) to the values as float32, bit for bit, NaN included. */
void cc_widen(struct cc_elements x, size_t n, float *out);

/* Writes x[0, n) in the type: to the nearest, ties to even, and beyond the largest finite number to
 * that. Infinity stays infinite, and NaN stays one. */
void cc_narrow(enum cc_element type, const float *x, size_t n, void *out);

/* Rounds values to the type, in place. */
void cc_element_round(enum cc_element type, float *x, size_t n);

/* The n values from index i on as float32: where they are, if they are float32, else widened into
 * `room`, which has space for n. */
static inline const float *cc_elements_read(struct cc_elements x, size_t i, size_t n, float *room)
{
    if (x.type == CC_ELEMENT_FP32)
        return (const float *)x.at + i;
    cc_widen(cc_elements_from(x, i), n, room);
    return room;
}

/* The bits of the bf16 nearest to the number with these bits, ties to even; beyond the largest
 * finite one, that. */
static inline uint16_t cc_nearest_bf16(uint32_t bits)
{
    const uint32_t mag = bits & 0x7fffffffu;
    uint32_t upper = (mag + 0x7fffu + (mag >> 16 & 1u)) >> 16;
    upper = upper < 0x7f7fu ? upper : 0x7f7fu;
    return (uint16_t)(upper | (bits >> 16 & 0x8000u));
}

/* The same for fp16, whose largest number is 65504. Normal results by adding half a unit and moving
 * the exponent's field; smaller ones, below 2^-14, by adding 0.5, whose last place is 2^-24. */
static inline uint16_t cc_nearest_fp16(uint32_t bits)
{
    const uint32_t sign = bits >> 16 & 0x8000u, all = bits & 0x7fffffffu;
    const uint32_t mag = all < 0x477fe000u ? all : 0x477fe000u;
    const uint32_t small = cc_f32_bits(cc_bits_f32(mag) + 0.5f) - 0x3f000000u;
    const uint32_t normal = (mag + 0xfffu + (mag >> 13 & 1u) - (112u << 23)) >> 13;
    return (uint16_t)(sign | (mag < 0x38800000u ? small : normal));
}

static inline float cc_from_bf16(uint16_t half)
{
    return cc_bits_f32((uint32_t)half << 16);
}

/* Numbers below 2^-14 as what their fraction adds to that: no operand is subnormal, as machines
 * take a hundred times as long for those. */
static inline float cc_from_fp16(uint16_t half)
{
    const uint32_t mag = (uint32_t)(half & 0x7fff) << 13, exponent = half & 0x7c00u;
    const uint32_t small = cc_f32_bits(cc_bits_f32(mag + (113u << 23)) - 0x1p-14f);
    const uint32_t large = mag + (exponent == 0x7c00 ? 224u << 23 : 112u << 23);
    return cc_bits_f32((exponent == 0 ? small : large) | (uint32_t)(half & 0x8000) << 16);
}

/* Value i of x as float32. For loops whose type is a constant: a kernel is written once, in a
 * function that CC_EACH_ELEMENT makes a copy of for each type. */
static inline __attribute__((always_inline)) float cc_element_at(const void *x, size_t i,
                                                                 enum cc_element type)
{
    if (type == CC_ELEMENT_BF16)
        return cc_from_bf16(((const uint16_t *)x)[i]);
    if (type == CC_ELEMENT_FP16)
        return cc_from_fp16(((const uint16_t *)x)[i]);
    return ((const float *)x)[i];
}
#define CC_EACH_ELEMENT static inline __attribute__((always_inline))

/* The loops of cc_widen and cc_narrow. */
struct k_element {
    void (*from_bf16)(const uint16_t *x, size_t n, float *out);
    void (*from_fp16)(const uint16_t *x, size_t n, float *out);
    void (*to_bf16)(const float *x, size_t n, uint16_t *out);
    void (*to_fp16)(const float *x, size_t n, uint16_t *out);
};
CC_KERNELS(k_element)

#endif
