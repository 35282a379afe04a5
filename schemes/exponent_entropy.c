#include <math.h>

#include "core/bytes.h"
#include "schemes/exponent_block.h"

/* How many values have each exponent, of those of each type; the last symbol is +0. */
struct counts {
    size_t of[CC_NUMBERS][257];
};

/* Bits of a word below its exponent. */
static const unsigned mantissa[CC_NUMBERS] = {[CC_NUMBER_FP32] = 23,
                                              [CC_NUMBER_BF16] = 7,
                                              [CC_NUMBER_FP16] = 10,
                                              [CC_NUMBER_E4M3] = 3,
                                              [CC_NUMBER_E5M2] = 2};

static unsigned symbol_of(enum cc_number type, float v)
{
    const unsigned bits = 8 * (unsigned)cc_number_bytes[type] - 1 - mantissa[type];
    return cc_f32_bits(v) == 0 ? 256 : cc_number_of(type, v) >> mantissa[type] & ((1u << bits) - 1);
}

/* Counts a block, which has one type. */
static void count_block(enum cc_number type, const float *x, size_t n, struct counts *c)
{
    uint16_t words[CC_EXPONENT_BLOCK];
    type = cc_number_find(type, x, n, false, words);
    for (size_t i = 0; i < n; i++)
        c->of[type][symbol_of(type, x[i])]++;
}

double cc_exponent_entropy(enum cc_number type, const float *x, size_t n)
{
    struct counts c = {{{0}}};
    double bits = 0;
    for (size_t i = 0; i < n; i += CC_EXPONENT_BLOCK)
        count_block(type, x + i, cc_smaller(n - i, CC_EXPONENT_BLOCK), &c);
    for (size_t t = 0; t < CC_NUMBERS; t++) {
        double all = 0;
        for (size_t s = 0; s <= 256; s++)
            all += (double)c.of[t][s];
        for (size_t s = 0; s <= 256; s++) {
            const double count = (double)c.of[t][s];
            if (count > 0)
                bits += count * (log2(all / count) + (s < 256 ? mantissa[t] + 1 : 0));
        }
    }
    return bits;
}
