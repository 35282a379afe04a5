#include <math.h>

#include "core/bytes.h"
#include "schemes/exponent_block.h"

/* How many values have each exponent, of those of each type; the last symbol is +0. */
struct counts {
    size_t of[CC_EXPONENT_FP16 + 1][257];
};

static unsigned symbol_of(enum cc_exponent_type type, float v, uint16_t word)
{
    if (cc_f32_bits(v) == 0)
        return 256;
    return type == CC_EXPONENT_FP16 ? word >> 10 & 31u : cc_f32_bits(v) >> 23 & 255u;
}

/* Counts a block, which has one type. */
static void count_block(enum cc_exponent_type type, const float *x, size_t n, struct counts *c)
{
    uint16_t words[CC_EXPONENT_BLOCK] = {0};
    type = cc_exponent_type_of(type, x, n, words);
    for (size_t i = 0; i < n; i++)
        c->of[type][symbol_of(type, x[i], words[i])]++;
}

double cc_exponent_entropy(enum cc_exponent_type type, const float *x, size_t n)
{
    static const double rest[] = {
        [CC_EXPONENT_FP32] = 24, [CC_EXPONENT_BF16] = 8, [CC_EXPONENT_FP16] = 11};
    struct counts c = {{{0}}};
    double bits = 0;
    for (size_t i = 0; i < n; i += CC_EXPONENT_BLOCK)
        count_block(type, x + i, cc_smaller(n - i, CC_EXPONENT_BLOCK), &c);
    for (size_t t = 0; t <= CC_EXPONENT_FP16; t++) {
        double all = 0;
        for (size_t s = 0; s <= 256; s++)
            all += (double)c.of[t][s];
        for (size_t s = 0; s <= 256; s++) {
            const double count = (double)c.of[t][s];
            if (count > 0)
                bits += count * (log2(all / count) + (s < 256 ? rest[t] : 0));
        }
    }
    return bits;
}
