#include "schemes/kernels/int8.h"

#include "core/bytes.h"
#include "core/tile.h"

/* x / divisor rounded to the nearest integer, ties to even, limited to [-127, 127]. The quotient is
 * below 200 (above 127 only where scales are subnormal), so adding 1.5 * 2^23 rounds it and leaves
 * the integer in the low bits. */
static inline int32_t rounded(float x, float divisor)
{
    const float rounder = 0x1.8p23f;
    int32_t q = (int32_t)(cc_f32_bits(x / divisor + rounder) - cc_f32_bits(rounder));
    q = q < 127 ? q : 127;
    return q > -127 ? q : -127;
}

static void quantize(const float *restrict x, float divisor, uint8_t *restrict out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)rounded(x[i], divisor);
}

static inline void quantize_ef_page(const float *restrict x, float *restrict r, float divisor,
                                    float scale, uint8_t *restrict out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float v = x[i] + r[i];
        int32_t q = rounded(v, divisor);
        float decoded = (float)q * scale;
        out[i] = (uint8_t)q;
        r[i] = v - decoded;
    }
}

static void quantize_ef(const float *restrict x, float *restrict r, float divisor, float scale,
                        uint8_t *restrict out, size_t n)
{
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < CC_PAGE_VALUES ? n - i : CC_PAGE_VALUES;
        cc_next_page(x + i);
        cc_next_page(r + i);
        cc_next_page(out + i);
        quantize_ef_page(x + i, r + i, divisor, scale, out + i, m);
    }
}

static int load(const uint8_t *restrict in, float scale, float *restrict y, size_t n)
{
    uint8_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        bad |= in[i] == 0x80;
        y[i] = (float)(int8_t)in[i] * scale;
    }
    return bad;
}

static inline int add_page(const uint8_t *restrict in, float scale, float factor, float *restrict y,
                           size_t n)
{
    uint8_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        bad |= in[i] == 0x80;
        float decoded = (float)(int8_t)in[i] * scale;
        float product = factor * decoded;
        y[i] += product;
    }
    return bad;
}

static int add(const uint8_t *restrict in, float scale, float factor, float *restrict y, size_t n)
{
    int bad = 0;
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < CC_PAGE_VALUES ? n - i : CC_PAGE_VALUES;
        cc_next_page(in + i);
        cc_next_page(y + i);
        bad |= add_page(in + i, scale, factor, y + i, m);
    }
    return bad;
}

const struct k_int8 CC_K(k_int8) = {
    .quantize = quantize,
    .quantize_ef = quantize_ef,
    .load = load,
    .add = add,
};
