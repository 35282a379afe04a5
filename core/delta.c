#include "core/delta.h"

#include "core/bytes.h"

/* Words of a type: sign, exponent, mantissa. */
struct form {
    unsigned mantissa; /* bits */
    uint32_t finite;   /* exponents */
    uint32_t middle;   /* of them: that of 1 */
};

static const struct form forms[CC_ELEMENTS] = {
    [CC_ELEMENT_FP32] = {23, 255, 127},
    [CC_ELEMENT_BF16] = {7, 255, 127},
    [CC_ELEMENT_FP16] = {10, 31, 15},
};

static inline uint32_t word_of(enum cc_element type, float x)
{
    const uint32_t bits = cc_f32_bits(x);
    if (type == CC_ELEMENT_FP16)
        return cc_nearest_fp16(bits);
    return type == CC_ELEMENT_BF16 ? bits >> 16 : bits;
}

static inline float value_of(enum cc_element type, uint32_t word)
{
    if (type == CC_ELEMENT_FP16)
        return cc_from_fp16((uint16_t)word);
    return type == CC_ELEMENT_BF16 ? cc_from_bf16((uint16_t)word) : cc_bits_f32(word);
}

/* The word of 1, which equal words would become, and that of 0 change their places. */
static inline uint32_t swapped(const struct form *f, uint32_t word)
{
    const uint32_t one = f->middle << f->mantissa;
    return word == one ? 0 : word == 0 ? one : word;
}

/* Sign and mantissa of a xor b, with the exponent. */
static inline uint32_t with_exponent(const struct form *f, uint32_t a, uint32_t b,
                                     uint32_t exponent)
{
    const uint32_t field = (f->finite) << f->mantissa;
    return ((a ^ b) & ~field) | exponent << f->mantissa;
}

static inline uint32_t exponent_of(const struct form *f, uint32_t word)
{
    return word >> f->mantissa & f->finite;
}

void cc_delta_make(enum cc_element type, const float *base, size_t n, float *x)
{
    const struct form *f = &forms[type];
    for (size_t i = 0; i < n; i++) {
        const uint32_t w = word_of(type, x[i]), b = word_of(type, base[i]);
        const uint32_t below = exponent_of(f, b) % f->finite;
        const uint32_t e = (exponent_of(f, w) + f->middle + f->finite - below) % f->finite;
        x[i] = value_of(type, swapped(f, with_exponent(f, w, b, e)));
    }
}

void cc_delta_undo(enum cc_element type, const float *base, size_t n, float *x)
{
    const struct form *f = &forms[type];
    for (size_t i = 0; i < n; i++) {
        const uint32_t d = swapped(f, word_of(type, x[i])), b = word_of(type, base[i]);
        const uint32_t below = exponent_of(f, b) % f->finite;
        const uint32_t e = (exponent_of(f, d) + f->finite - f->middle + below) % f->finite;
        x[i] = value_of(type, with_exponent(f, d, b, e));
    }
}
