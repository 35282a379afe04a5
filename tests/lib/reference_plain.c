/* Schemes that send something for every value: casts, 8 bits, 1 bit. */
#include "tests/lib/reference_rows.h"

#include <math.h>
#include <stdlib.h>

static double round_to_even(double v)
{
    double below = floor(v), rest = v - below;
    if (rest > 0.5 || (rest == 0.5 && fmod(below, 2) != 0))
        return below + 1;
    return below;
}

/* --- fp32 --- */

static void fp32_encode(struct ref *r, const struct cc_context *ctx, const float *x,
                        struct ref_out *out)
{
    (void)ctx;
    for (size_t i = 0; i < r->shape.n; i++)
        put_f32(out, x[i]);
}

static bool fp32_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                        float *y)
{
    (void)ctx;
    for (size_t i = 0; i < r->shape.n; i++)
        y[i] = get_f32(in);
    return get_end(in);
}

/* --- fp16, bf16, trunc16 --- */

/* The codes of binary16 magnitudes count up through the values in order: 1,024 of them to a binade,
 * and the subnormals are spaced like the binade above them. */
static unsigned half_of(float x)
{
    double quantum = 0x1p-24, a = fabs((double)x);
    unsigned binade = 0;
    for (; a >= 2048 * quantum; quantum *= 2)
        binade++;
    unsigned code = binade * 1024 + (unsigned)round_to_even(a / quantum);
    if (code > 0x7bff)
        code = 0x7bff;
    return signbit(x) ? code | 0x8000 : code;
}

static float of_half(unsigned code)
{
    unsigned e = code >> 10 & 31, m = code & 1023;
    float sign = (code & 0x8000) != 0 ? -1.0f : 1.0f;
    if (e == 31)
        return m == 0 ? sign * INFINITY : NAN;
    if (e == 0)
        return sign * (float)m * 0x1p-24f;
    return sign * ldexpf((float)(1024 + m), (int)e - 25);
}

static unsigned bfloat_of(float x)
{
    uint32_t upper = bits_of(x) >> 16, lower = bits_of(x) & 0xffff;
    if (lower > 0x8000 || (lower == 0x8000 && upper % 2 == 1))
        upper++;
    if ((upper & 0x7fff) > 0x7f7f)
        upper = (upper & 0x8000) | 0x7f7f;
    return upper;
}

static float of_upper(unsigned code)
{
    return float_of((uint32_t)code << 16);
}

static unsigned upper_of(float x)
{
    return bits_of(x) >> 16;
}

static void cast_encode(const struct ref *r, const float *x, struct ref_out *out,
                        unsigned (*of)(float))
{
    for (size_t i = 0; i < r->shape.n; i++)
        put_u16(out, of(x[i]));
}

static void fp16_encode(struct ref *r, const struct cc_context *ctx, const float *x,
                        struct ref_out *out)
{
    (void)ctx;
    cast_encode(r, x, out, half_of);
}

static void bf16_encode(struct ref *r, const struct cc_context *ctx, const float *x,
                        struct ref_out *out)
{
    if (setting_is(r->spec, "rounding", "nearest")) {
        cast_encode(r, x, out, bfloat_of);
        return;
    }
    for (size_t i = 0; i < r->shape.n; i++) {
        /* Up with the probability of the part of a unit that is cut off, of which there are 2^16.
         */
        const unsigned low = upper_of(x[i]) & 0x7fffu, draw = (unsigned)(unit_at(ctx, i) * 65536);
        const double down = (double)of_upper(low), unit = (double)of_upper(low + 1) - down;
        const double part = low == 0x7f7f ? 0 : (fabs((double)x[i]) - down) / unit * 65536;
        put_u16(out, low + ((double)draw >= 65536 - part) + (upper_of(x[i]) & 0x8000u));
    }
}

static void trunc16_encode(struct ref *r, const struct cc_context *ctx, const float *x,
                           struct ref_out *out)
{
    (void)ctx;
    cast_encode(r, x, out, upper_of);
}

static bool fp16_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                        float *y)
{
    (void)ctx;
    for (size_t i = 0; i < r->shape.n; i++)
        y[i] = of_half(get_u16(in));
    return get_end(in);
}

static bool upper_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                         float *y)
{
    (void)ctx;
    for (size_t i = 0; i < r->shape.n; i++)
        y[i] = of_upper(get_u16(in));
    return get_end(in);
}

/* --- natural --- */

static void natural_encode(struct ref *r, const struct cc_context *ctx, const float *x,
                           struct ref_out *out)
{
    const size_t n = r->shape.n;
    uint32_t *sign = ref_room(n, sizeof *sign);
    for (size_t i = 0; i < n; i++)
        sign[i] = x[i] < 0;
    put_codes(out, sign, n, 1);
    free(sign);
    for (size_t i = 0; i < n; i++) {
        const uint32_t b = bits_of(x[i]) >> 23 & 255, f = bits_of(x[i]) & 0x7fffff;
        const uint32_t draw = ref_random(ctx, ctx->rank, 0, ctx->offset + i) >> 9;
        unsigned e = draw < f ? b + 1 : b;
        put_u8(out, e == 255 ? 254 : e);
    }
}

static bool natural_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                           float *y)
{
    (void)ctx;
    const size_t n = r->shape.n;
    uint32_t *sign = ref_room(n, sizeof *sign);
    get_codes(in, sign, n, 1);
    for (size_t i = 0; i < n; i++) {
        const unsigned e = get_u8(in);
        if (e == 255)
            in->bad = true;
        y[i] = e == 0 ? 0 : ldexpf(sign[i] != 0 ? -1.0f : 1.0f, (int)e - 127);
    }
    free(sign);
    return get_end(in);
}

/* --- signsgd, efsign, mqe1bit --- */

static void put_signs(struct ref_out *out, const float *x, size_t n)
{
    uint32_t *bit = ref_room(n, sizeof *bit);
    for (size_t i = 0; i < n; i++)
        bit[i] = x[i] >= 0;
    put_codes(out, bit, n, 1);
    free(bit);
}

static size_t block_of(const struct ref *r)
{
    size_t block = (size_t)setting_int(r->spec, "block");
    return block == 0 ? r->shape.n : block;
}

static void signsgd_encode(struct ref *r, const struct cc_context *ctx, const float *x,
                           struct ref_out *out)
{
    (void)ctx;
    const size_t n = r->shape.n, block = block_of(r);
    for (size_t at = 0; at < n; at += block) {
        const size_t m = smaller(block, n - at);
        put_signs(out, x + at, m);
        put_f32(out, (float)(tree_sum(x + at, m, term_magnitude) / (double)m));
    }
}

static bool signsgd_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                           float *y)
{
    (void)ctx;
    const size_t n = r->shape.n, block = block_of(r);
    uint32_t *bit = ref_room(n, sizeof *bit);
    for (size_t at = 0; at < n; at += block) {
        const size_t m = smaller(block, n - at);
        get_codes(in, bit, m, 1);
        const float mean = get_scale(in);
        for (size_t i = 0; i < m; i++)
            y[at + i] = bit[i] != 0 ? mean : -mean;
    }
    free(bit);
    return get_end(in);
}

static double term_negative(float v)
{
    return v < 0 ? (double)v : 0;
}

static double term_nonnegative(float v)
{
    return v >= 0 ? (double)v : 0;
}

static void mqe1bit_encode(struct ref *r, const struct cc_context *ctx, const float *x,
                           struct ref_out *out)
{
    (void)ctx;
    const size_t n = r->shape.n, block = block_of(r);
    for (size_t at = 0; at < n; at += block) {
        const size_t m = smaller(block, n - at);
        size_t negative = 0;
        for (size_t i = 0; i < m; i++)
            negative += x[at + i] < 0;
        const double below = tree_sum(x + at, m, term_negative);
        const double above = tree_sum(x + at, m, term_nonnegative);
        put_f32(out, negative == 0 ? 0 : (float)(below / (double)negative));
        put_f32(out, negative == m ? 0 : (float)(above / (double)(m - negative)));
        put_signs(out, x + at, m);
    }
}

static bool mqe1bit_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                           float *y)
{
    (void)ctx;
    const size_t n = r->shape.n, block = block_of(r);
    uint32_t *bit = ref_room(n, sizeof *bit);
    for (size_t at = 0; at < n; at += block) {
        const size_t m = smaller(block, n - at);
        const float below = get_f32(in), above = get_f32(in);
        if (!is_finite(below) || !is_finite(above) || below > 0 || above < 0)
            in->bad = true;
        get_codes(in, bit, m, 1);
        for (size_t i = 0; i < m; i++)
            y[at + i] = bit[i] != 0 ? above : below;
    }
    free(bit);
    return get_end(in);
}

const struct ref_row ref_rows_plain[] = {
    {.id = "fp32", .encode = fp32_encode, .decode = fp32_decode},
    {.id = "fp16", .encode = fp16_encode, .decode = fp16_decode},
    {.id = "bf16", .encode = bf16_encode, .decode = upper_decode},
    {.id = "trunc16", .encode = trunc16_encode, .decode = upper_decode},
    {.id = "natural", .encode = natural_encode, .decode = natural_decode},
    {.id = "signsgd", .encode = signsgd_encode, .decode = signsgd_decode},
    {.id = "efsign", .feedback = ALWAYS, .encode = signsgd_encode, .decode = signsgd_decode},
    {.id = "mqe1bit", .feedback = IF_EF, .encode = mqe1bit_encode, .decode = mqe1bit_decode},
    {.id = NULL},
};
