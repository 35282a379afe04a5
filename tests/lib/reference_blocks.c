/* Schemes with a scale for each block and a small number for each value: int8, fp8, mxfp4, int4.
 * The numbers of a format stand in a table, from the definition of its bits; encoding searches it.
 */
#include "tests/lib/reference_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NUMBERS = 128, MX_BLOCK = 32 };

/* The magnitudes of a format by their codes, ascending. */
struct numbers {
    double of[MOST_NUMBERS];
    unsigned count;
    unsigned fraction_bits, width;
    double least_normal;
};

static struct numbers floats(unsigned width, unsigned fraction_bits, int bias, unsigned count)
{
    struct numbers t = {.count = count, .fraction_bits = fraction_bits, .width = width};
    const unsigned per_binade = 1u << fraction_bits;
    for (unsigned code = 0; code < count; code++) {
        const unsigned exponent = code / per_binade, fraction = code % per_binade;
        const double part = (double)fraction / per_binade;
        t.of[code] = exponent == 0 ? ldexp(part, 1 - bias) : ldexp(1 + part, (int)exponent - bias);
    }
    t.least_normal = ldexp(1, 1 - bias);
    return t;
}

static struct numbers numbers_of(const struct ref *r)
{
    if (!setting_has(r->spec, "format"))
        return floats(4, 1, 1, 8);
    if (setting_is(r->spec, "format", "e2m1"))
        return floats(4, 1, 1, 8);
    if (setting_is(r->spec, "format", "e3m0"))
        return floats(4, 0, 3, 8);
    return setting_is(r->spec, "format", "e4m3") ? floats(8, 3, 7, 0x7f) : floats(8, 2, 15, 0x7c);
}

static unsigned nearest_code(const struct numbers *t, double a)
{
    unsigned c = 0;
    while (c + 1 < t->count && t->of[c + 1] <= a)
        c++;
    if (c + 1 == t->count)
        return c;
    const double below = a - t->of[c], above = t->of[c + 1] - a;
    return above < below || (above == below && c % 2 == 1) ? c + 1 : c;
}

static unsigned random_code(const struct numbers *t, float v, uint32_t draw, float u)
{
    const float a = fabsf(v);
    unsigned c = 0;
    if ((double)a < t->least_normal) {
        const double of_quantum = (double)a / t->of[1];
        c = (unsigned)floor(of_quantum);
        c += (double)u < of_quantum - c;
    } else {
        while (c + 1 < t->count && t->of[c + 1] <= (double)a)
            c++;
        if (c + 1 == t->count)
            return c;
        /* The bits of the fraction that the format has no room for, and as many of the draw. */
        const unsigned drop = 23 - t->fraction_bits;
        const double share = ((double)a - t->of[c]) / (t->of[c + 1] - t->of[c]);
        const double drawn = ldexp((double)(draw >> (32 - drop)), -(int)drop);
        c += share + drawn >= 1;
    }
    return c < t->count ? c : t->count - 1;
}

static unsigned code_of(const struct numbers *t, const struct ref *r, const struct cc_context *ctx,
                        size_t i, float v)
{
    const unsigned c =
        setting_is(r->spec, "rounding", "nearest")
            ? nearest_code(t, fabs((double)v))
            : random_code(t, v, ref_random(ctx, ctx->rank, 0, ctx->offset + i), unit_at(ctx, i));
    return signbit(v) ? c | 1u << (t->width - 1) : c;
}

static float number_of(const struct numbers *t, unsigned code, struct ref_in *in)
{
    const unsigned sign = 1u << (t->width - 1), c = code & (sign - 1);
    if (c >= t->count) {
        in->bad = true;
        return 0;
    }
    return (float)(code & sign ? -t->of[c] : t->of[c]);
}

/* --- rotations --- */

static size_t group_of(const struct ref *r)
{
    return (size_t)setting_int(r->spec, "hadamard");
}

/* The matrix of 2 m rows is [H H; H -H], H that of m rows. */
static void rotate_group(float *x, size_t h)
{
    const size_t m = h / 2;
    if (h == 1)
        return;
    rotate_group(x, m);
    rotate_group(x + m, m);
    for (size_t i = 0; i < m; i++) {
        const float a = x[i], b = x[i + m];
        x[i] = a + b;
        x[i + m] = a - b;
    }
}

/* The sign that a value has before the rotation, and gets back behind it. */
static float sign_of(const struct ref *r, size_t i)
{
    uint32_t v = (uint32_t)(i % 512) + (uint32_t)setting_int(r->spec, "flip");
    if (setting_int(r->spec, "flip") == 0)
        return 1;
    v = (v ^ v >> 16) * 0x21f0aaadu;
    v = (v ^ v >> 15 ^ (uint32_t)setting_int(r->spec, "flip")) * 0xd35a2d97u;
    return (v ^ v >> 15) >= 0x80000000u ? -1 : 1;
}

static void put_signs(const struct ref *r, float *x)
{
    const size_t h = group_of(r);
    for (size_t i = 0; h > 0 && i < r->shape.n / h * h; i++)
        x[i] *= sign_of(r, i);
}

static void rotate(const struct ref *r, float *x)
{
    const size_t h = group_of(r);
    for (size_t at = 0; h > 0 && at + h <= r->shape.n; at += h) {
        for (size_t i = at; i < at + h; i++)
            x[i] *= (float)(1 / sqrt((double)h));
        rotate_group(x + at, h);
    }
}

static float *rotated(const struct ref *r, const float *x)
{
    float *copy = ref_room(r->shape.n, sizeof *copy);
    memcpy(copy, x, r->shape.n * sizeof *copy);
    put_signs(r, copy);
    rotate(r, copy);
    return copy;
}

static bool rotation_overflows(const struct ref *r, const struct cc_context *ctx, const float *x)
{
    (void)ctx;
    float *copy = rotated(r, x);
    bool all = true;
    for (size_t i = 0; i < r->shape.n; i++)
        all = all && is_finite(copy[i]);
    free(copy);
    return !all;
}

/* The page's limit of scales, by that without a rotation. */
static float limit_of(const struct ref *r, float limit)
{
    const size_t h = group_of(r);
    return h == 0 ? limit : limit / ldexpf(1, (ilogb((double)h) + 1) / 2);
}

/* --- int8 --- */

static size_t block_of(const struct ref *r)
{
    const size_t block = (size_t)setting_int(r->spec, "block");
    return block == 0 ? r->shape.n : block;
}

static void int8_encode(struct ref *r, const struct cc_context *ctx, const float *given,
                        struct ref_out *out)
{
    (void)ctx;
    const float most = limit_of(r, 0x1.020406p+121f);
    const size_t n = r->shape.n, block = block_of(r);
    float *x = rotated(r, given), *scale = ref_room(n, sizeof *scale);
    for (size_t at = 0; at < n; at += block) {
        const float s = largest_magnitude(x + at, smaller(block, n - at)) / 127.0f;
        scale[at / block] = s > most ? most : s;
        put_f32(out, scale[at / block]);
    }
    for (size_t i = 0; i < n; i++) {
        const float s = scale[i / block], quotient = s > 0 ? x[i] / s : 0;
        const double q = nearbyint((double)quotient);
        put_u8(out, (unsigned)(int)(q > 127 ? 127 : q < -127 ? -127 : q) & 255);
    }
    free(scale);
    free(x);
}

static bool int8_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                        float *y)
{
    (void)ctx;
    const size_t n = r->shape.n, block = block_of(r);
    float *scale = ref_room(n, sizeof *scale);
    for (size_t at = 0; at < n; at += block)
        scale[at / block] = get_scale(in);
    for (size_t i = 0; i < n; i++) {
        const int code = (int)get_u8(in), q = code > 127 ? code - 256 : code;
        in->bad |= q == -128;
        y[i] = (float)q * scale[i / block];
    }
    rotate(r, y);
    put_signs(r, y);
    free(scale);
    return get_end(in);
}

/* --- fp8 --- */

static void fp8_encode(struct ref *r, const struct cc_context *ctx, const float *given,
                       struct ref_out *out)
{
    float *x = rotated(r, given);
    const struct numbers t = numbers_of(r);
    const float largest = (float)t.of[t.count - 1];
    const float most = limit_of(r, largest == 448.0f ? 0x1.249248p+119f : 0x1.249248p+112f);
    const size_t n = r->shape.n, block = block_of(r);
    float *scale = ref_room(n, sizeof *scale);
    for (size_t at = 0; at < n; at += block) {
        const float s = largest_magnitude(x + at, smaller(block, n - at)) / largest;
        scale[at / block] = s > most ? most : s;
        put_f32(out, scale[at / block]);
    }
    for (size_t i = 0; i < n; i++) {
        const float s = scale[i / block];
        put_u8(out, code_of(&t, r, ctx, i, s > 0 ? x[i] / s : x[i]));
    }
    free(x);
    free(scale);
}

static bool fp8_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                       float *y)
{
    (void)ctx;
    const struct numbers t = numbers_of(r);
    const size_t n = r->shape.n, block = block_of(r);
    float *scale = ref_room(n, sizeof *scale);
    for (size_t at = 0; at < n; at += block)
        scale[at / block] = get_scale(in);
    for (size_t i = 0; i < n; i++)
        y[i] = number_of(&t, get_u8(in), in) * scale[i / block];
    rotate(r, y);
    put_signs(r, y);
    free(scale);
    return get_end(in);
}

/* --- mxfp4, fp4 --- */

static size_t scaled_together(const struct ref *r)
{
    return setting_has(r->spec, "block") ? (size_t)setting_int(r->spec, "block") : MX_BLOCK;
}

static void mxfp4_encode(struct ref *r, const struct cc_context *ctx, const float *given,
                         struct ref_out *out)
{
    float *x = rotated(r, given);
    const struct numbers t = numbers_of(r);
    const double top = t.of[t.count - 1];
    const int highest = ilogb((double)limit_of(r, top == 6 ? 0x1p125f : 0x1p123f));
    const size_t n = r->shape.n, block = scaled_together(r);
    const bool random = setting_is(r->spec, "rounding", "random");
    uint32_t *code = ref_room(n, sizeof *code);
    for (size_t at = 0; at < n; at += block) {
        const size_t m = smaller(block, n - at);
        const double most = (double)largest_magnitude(x + at, m);
        int e = most == 0 ? -127 : ilogb(most) - ilogb(top);
        if (e < -127)
            e = -127;
        if (random ? most > ldexp(top, e) : top == 16 && most > ldexp(24, e))
            e++;
        if (e > highest)
            e = highest;
        put_u8(out, (unsigned)(e + 127));
        for (size_t i = at; i < at + m; i++)
            code[i] = code_of(&t, r, ctx, i, (float)ldexp((double)x[i], -e));
    }
    put_codes(out, code, n, 4);
    free(x);
    free(code);
}

static bool mxfp4_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                         float *y)
{
    (void)ctx;
    const struct numbers t = numbers_of(r);
    const size_t n = r->shape.n, block = scaled_together(r);
    uint32_t *code = ref_room(n, sizeof *code);
    unsigned *exponent = ref_room(n, sizeof *exponent);
    for (size_t at = 0; at < n; at += block) {
        exponent[at / block] = get_u8(in);
        in->bad |= exponent[at / block] == 255;
    }
    get_codes(in, code, n, 4);
    for (size_t i = 0; i < n; i++)
        y[i] = ldexpf(number_of(&t, code[i], in), (int)exponent[i / block] - 127);
    rotate(r, y);
    put_signs(r, y);
    free(code);
    free(exponent);
    return get_end(in);
}

/* --- int4 --- */

static void int4_encode(struct ref *r, const struct cc_context *ctx, const float *given,
                        struct ref_out *out)
{
    const size_t n = r->shape.n, block = block_of(r);
    const float most = limit_of(r, 0x1.24p+125f);
    float *x = rotated(r, given);
    uint32_t *code = ref_room(n, sizeof *code);
    for (size_t at = 0; at < n; at += block) {
        const size_t m = smaller(block, n - at);
        const float quotient = largest_magnitude(x + at, m) / 7.0f;
        uint32_t upper = bits_of(quotient) >> 16;
        if ((bits_of(quotient) & 0xffff) != 0)
            upper++;
        if (float_of(upper << 16) > most)
            upper = bits_of(most) >> 16;
        const float scale = float_of(upper << 16);
        put_u16(out, upper);
        for (size_t i = at; i < at + m; i++) {
            const float v = scale > 0 ? x[i] / scale : x[i];
            double q = (double)(v > 7 ? 7 : v < -7 ? -7 : v);
            if (setting_is(r->spec, "rounding", "nearest"))
                q = nearbyint(q);
            else
                q = floor(q) + ((double)unit_at(ctx, i) < q - floor(q));
            code[i] = (uint32_t)(int)q & 15;
        }
    }
    put_codes(out, code, n, 4);
    free(x);
    free(code);
}

static bool int4_decode(const struct ref *r, const struct cc_context *ctx, struct ref_in *in,
                        float *y)
{
    (void)ctx;
    const size_t n = r->shape.n, block = block_of(r);
    uint32_t *code = ref_room(n, sizeof *code);
    float *scale = ref_room(n, sizeof *scale);
    for (size_t at = 0; at < n; at += block) {
        const float s = float_of((uint32_t)get_u16(in) << 16);
        in->bad |= !is_finite(s) || s < 0;
        scale[at / block] = s;
    }
    get_codes(in, code, n, 4);
    for (size_t i = 0; i < n; i++) {
        const int q = code[i] < 8 ? (int)code[i] : (int)code[i] - 16;
        in->bad |= q == -8;
        y[i] = (float)q * scale[i / block];
    }
    rotate(r, y);
    put_signs(r, y);
    free(code);
    free(scale);
    return get_end(in);
}

#define ROW(scheme)                                                                                \
    {                                                                                              \
        .id = #scheme, .feedback = IF_EF, .encode = scheme##_encode, .decode = scheme##_decode,    \
        .overflows = rotation_overflows                                                            \
    }

#define FP4                                                                                        \
    {                                                                                              \
        .id = "fp4", .feedback = IF_EF, .encode = mxfp4_encode, .decode = mxfp4_decode,            \
        .overflows = rotation_overflows                                                            \
    }

const struct ref_row ref_rows_blocks[] = {ROW(int8), ROW(fp8),  ROW(mxfp4),
                                          FP4,       ROW(int4), {.id = NULL}};
