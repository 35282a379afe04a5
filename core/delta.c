#include "core/delta.h"

#include "core/bytes.h"
#include "core/element.h"

/* Words of a format: sign, exponent, mantissa. */
struct form {
    unsigned mantissa; /* bits */
    uint32_t field;    /* the exponent's bits */
    uint32_t finite;   /* exponents */
    uint32_t middle;   /* of them: that of 1 */
};

static const struct form forms[CC_NUMBERS] = {
    [CC_NUMBER_FP32] = {23, 255, 255, 127}, [CC_NUMBER_BF16] = {7, 255, 255, 127},
    [CC_NUMBER_FP16] = {10, 31, 31, 15},    [CC_NUMBER_E4M3] = {3, 15, 16, 7},
    [CC_NUMBER_E5M2] = {2, 31, 31, 15},
};

/* The word of a base, whose numbers may be larger than those of binary16. */
static inline uint32_t base_word(enum cc_number format, float x)
{
    return format == CC_NUMBER_FP16 ? cc_nearest_fp16(cc_f32_bits(x)) : cc_number_of(format, x);
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
    return ((a ^ b) & ~(f->field << f->mantissa)) | exponent << f->mantissa;
}

static inline uint32_t exponent_of(const struct form *f, uint32_t word)
{
    return word >> f->mantissa & f->field;
}

void cc_delta_make(enum cc_number format, const float *base, size_t n, float *x)
{
    const struct form *f = &forms[format];
    for (size_t i = 0; i < n; i++) {
        const uint32_t w = cc_number_of(format, x[i]), b = base_word(format, base[i]);
        const uint32_t below = exponent_of(f, b) % f->finite;
        const uint32_t e = (exponent_of(f, w) + f->middle + f->finite - below) % f->finite;
        if (exponent_of(f, w) < f->finite)
            x[i] = cc_number_value(format, swapped(f, with_exponent(f, w, b, e)));
    }
}

void cc_delta_undo(enum cc_number format, const float *base, size_t n, float *x)
{
    const struct form *f = &forms[format];
    for (size_t i = 0; i < n; i++) {
        const uint32_t d = swapped(f, cc_number_of(format, x[i])), b = base_word(format, base[i]);
        const uint32_t below = exponent_of(f, b) % f->finite;
        const uint32_t e = (exponent_of(f, d) + f->finite - f->middle + below) % f->finite;
        if (exponent_of(f, d) < f->finite)
            x[i] = cc_number_value(format, with_exponent(f, d, b, e));
    }
}
