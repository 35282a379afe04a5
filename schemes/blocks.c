/* A tile of values is encoded while it is in the first-level cache: sum of gradient and residual,
 * largest magnitude and scale of each block, codes, and what they leave. Scales and codes of large
 * tensors are so written in one pass. Only a scale of the whole tensor takes a pass of its own. */
#include "schemes/blocks.h"

#include <string.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/reduce.h"
#include "core/tile.h"

/* The least block that a form may have, for arrays with an entry for each block of a tile. */
#define LEAST_BLOCK 16
#define TILE_BLOCKS (CC_TILE / LEAST_BLOCK)

const char *const cc_roundings[] = {"nearest", "random", NULL};

const struct cc_param cc_block_params[] = {
    CC_PARAM_CHOICE(struct cc_block_params, rounding, 1, cc_roundings,
                    "to the nearest code, or at random to one of the two around"),
    CC_PARAM_EF(0, "keep the rounding error for the next step"),
    {.name = NULL},
};

static const size_t scale_bytes[] = {[CC_SCALE_F32] = 4, [CC_SCALE_BF16] = 2, [CC_SCALE_E8M0] = 1};

static size_t block_count(const struct cc_block_form *f, size_t n)
{
    return f->block == 0 ? 1 : n / f->block + (n % f->block != 0);
}

static size_t code_bytes(const struct cc_block_form *f, size_t n)
{
    return f->bits == 8 ? n : n / 2 + n % 2;
}

/* Bytes before the codes. */
static size_t head_bytes(const struct cc_block_form *f, size_t n)
{
    return cc_bytes_product(block_count(f, n), scale_bytes[f->scale]);
}

size_t cc_blocks_bound(const struct cc_block_form *f, size_t n)
{
    return cc_bytes_sum(head_bytes(f, n), code_bytes(f, n));
}

/* --- scales --- */

/* A power of two by its biased exponent, which may be 0. */
static float of_exponent(uint32_t biased)
{
    return cc_bits_f32(biased == 0 ? 0x400000u : biased << 23);
}

/* The exponents of the scales of blocks by their largest magnitudes. To the nearest: that of the
 * magnitude less that of the largest number (OCP Microscaling, section 6.3), so that values may
 * exceed the largest number, and are limited. At random: the least one without such values. */
static void put_exponents(const struct cc_block_form *f, const uint32_t *restrict most,
                          size_t blocks, uint8_t *restrict out, float *restrict scale)
{
    const uint32_t fraction = 0x7fffffu, largest = cc_f32_bits(f->largest);
    const uint32_t exact = f->random ? largest & fraction : fraction;
    const int shift = 127 - (int)(largest >> 23);
    const int highest = (int)(cc_f32_bits(f->most_scale) >> 23);
    for (size_t i = 0; i < blocks; i++) {
        int b = (int)(most[i] >> 23) + shift + ((most[i] & fraction) > exact);
        b = b < highest ? b : highest;
        b = b > 0 ? b : 0;
        out[i] = (uint8_t)b;
        scale[i] = of_exponent((uint32_t)b);
    }
}

/* Writes the scales of blocks with values of up to `most`, the bits of magnitudes. A pass for each
 * step, so that compilers vectorize them. */
static void put_scales(const struct cc_block_form *f, const uint32_t *restrict most, size_t blocks,
                       uint8_t *restrict out, float *restrict scale)
{
    const float largest = f->largest, limit = f->most_scale;
    if (f->scale == CC_SCALE_E8M0) {
        put_exponents(f, most, blocks, out, scale);
        return;
    }
    for (size_t i = 0; i < blocks; i++)
        scale[i] = cc_bits_f32(most[i]) / largest;
    for (size_t i = 0; i < blocks && f->scale == CC_SCALE_BF16; i++)
        scale[i] = cc_bits_f32((cc_f32_bits(scale[i]) + 0xffffu) & 0xffff0000u);
    for (size_t i = 0; i < blocks; i++)
        scale[i] = scale[i] < limit ? scale[i] : limit;
    if (f->scale == CC_SCALE_F32)
        memcpy(out, scale, blocks * sizeof *scale);
    for (size_t i = 0; i < blocks && f->scale == CC_SCALE_BF16; i++)
        cc_put_u16(out + 2 * i, (uint16_t)(cc_f32_bits(scale[i]) >> 16));
}

/* Reads scales; false if one is none. */
static bool get_scales(const struct cc_block_form *f, const uint8_t *in, size_t blocks, float *out)
{
    unsigned bad = 0;
    if (f->scale == CC_SCALE_E8M0) {
        for (size_t i = 0; i < blocks; i++) {
            const uint8_t b = *(const volatile uint8_t *)(in + i);
            out[i] = of_exponent(b);
            bad |= b == 255;
        }
        return bad == 0;
    }
    for (size_t i = 0; i < blocks; i++) {
        const float scale = f->scale == CC_SCALE_BF16
                                ? cc_bits_f32((uint32_t)cc_get_u16(in + 2 * i) << 16)
                                : cc_get_f32(in + 4 * i);
        bad |= !cc_finite(scale) | !(scale >= 0);
        out[i] = scale;
    }
    return bad == 0;
}

/* With a scale of 0 all values are tiny: they are divided by 1, and decode to 0 in any case. */
static float divisor_of(float scale)
{
    return scale > 0 ? scale : 1.0f;
}

/* --- encoding --- */

struct encoding {
    const struct cc_block_form *form;
    const struct cc_context *ctx;
    const float *x;
    float *r;
    uint8_t *scales, *codes;
    size_t n;
    float scale;       /* the tensor's, if form->block is 0 */
    struct cc_key key; /* for the random numbers from ctx->offset on */
};

/* The codes of m values, the first with this index in the tensor. */
static void put_random(const struct encoding *w, uint64_t index, const float *v, size_t m,
                       size_t block, const float *divisor, uint8_t *codes)
{
    const struct k_block_codes *k = w->form->codes;
    const uint64_t same_key = cc_same_key(index);
    uint8_t other[CC_TILE];
    k->random(v, m, block, divisor, cc_context_key_near(w->ctx, w->key, index), (uint32_t)index,
              codes);
    if (m <= same_key)
        return;
    k->random(v, m, block, divisor, cc_context_key_near(w->ctx, w->key, index + same_key),
              (uint32_t)index, other);
    memcpy(codes + same_key, other + same_key, m - same_key);
}

/* Encodes the m values from index i on, m at most CC_TILE, to `out`; false if they are not finite.
 */
static bool encode_tile(const struct encoding *w, size_t i, size_t m, uint8_t *out)
{
    const struct cc_block_form *f = w->form;
    const size_t block = f->block == 0 ? CC_TILE : f->block, blocks = (m + block - 1) / block;
    float sum[CC_TILE], scale[TILE_BLOCKS] = {w->scale}, divisor[TILE_BLOCKS];
    uint32_t most[TILE_BLOCKS];
    uint8_t byte[CC_TILE], *codes = f->bits == 8 ? out : byte;
    const float *v = w->x + i;
    if (w->r != NULL) {
        k_blocks()->sum(v, w->r + i, sum, m);
        v = sum;
    }
    if (f->block != 0) {
        if (!cc_finite_bits(k_blocks()->absmax(v, m, block, most)))
            return false;
        put_scales(f, most, blocks, w->scales + i / block * scale_bytes[f->scale], scale);
    }
    for (size_t b = 0; b < blocks; b++)
        divisor[b] = divisor_of(scale[b]);
    if (f->random)
        put_random(w, w->ctx->offset + i, v, m, block, divisor, codes);
    else
        f->codes->nearest(v, m, block, divisor, codes);
    if (w->r != NULL)
        f->codes->rest(v, codes, m, block, scale, w->r + i);
    if (f->bits == 4)
        k_blocks()->join(codes, m, out);
    return true;
}

/* Returns whether a value is not finite. */
static size_t encode_range(void *arg, size_t first, size_t end)
{
    const struct encoding *w = arg;
    const struct cc_block_form *f = w->form;
    bool finite = true;
    struct cc_sink sink;
    cc_sink_open(&sink, w->codes + code_bytes(f, first), w->n * sizeof(float));
    for (size_t i = first, m; i < end && finite; i += m) {
        m = end - i < CC_TILE ? end - i : CC_TILE;
        cc_sink_ahead(&sink, w->x + i, m * sizeof(float));
        finite = encode_tile(w, i, m, cc_sink_room(&sink));
        cc_sink_put(&sink, code_bytes(f, m));
    }
    cc_sink_close(&sink);
    return !finite;
}

int cc_blocks_encode(const struct cc_block_form *f, const struct cc_codec *c,
                     const struct cc_context *ctx, const float *x, float *r, uint8_t *out,
                     size_t *len, struct cc_error *e)
{
    const size_t n = c->shape.n, head = head_bytes(f, n);
    struct encoding w = {.form = f,
                         .ctx = ctx,
                         .x = x,
                         .r = r,
                         .scales = out,
                         .codes = out + head,
                         .n = n,
                         .key = cc_context_key(ctx, ctx->offset, 0)};
    if (f->block == 0) {
        const uint32_t most = cc_absmax(x, r, n, c->threads);
        if (!cc_finite_bits(most))
            return cc_refuse(ctx, x, r, n, e);
        put_scales(f, &most, 1, out, &w.scale);
    }
    if (cc_parallel_values(c->threads, n, CC_TILE, encode_range, &w) != 0)
        return cc_refuse(ctx, x, r, n, e);
    *len = head + code_bytes(f, n);
    return CC_OK;
}

/* --- decoding --- */

struct decoding {
    const struct cc_block_form *form;
    const uint8_t *scales, *codes;
    const float *factor;
    float *y;
    size_t n;
};

/* Decodes the m values from index i on, m at most CC_TILE, to y or onto it. False if a scale or
 * code is not used. */
static bool decode_tile(const struct decoding *w, size_t i, size_t m, float *y)
{
    const struct cc_block_form *f = w->form;
    const size_t block = f->block == 0 ? CC_TILE : f->block, bytes = scale_bytes[f->scale];
    const uint8_t *codes = w->codes + code_bytes(f, i);
    const uint8_t *scales = w->scales + (f->block == 0 ? 0 : i / block * bytes);
    uint8_t byte[CC_TILE];
    float scale[TILE_BLOCKS];
    const bool good = get_scales(f, scales, (m + block - 1) / block, scale);
    if (f->bits == 4) {
        k_blocks()->split(codes, m, byte);
        codes = byte;
    }
    const int bad = w->factor != NULL ? f->codes->add(codes, m, block, scale, *w->factor, y)
                                      : f->codes->load(codes, m, block, scale, y);
    return good && bad == 0;
}

static size_t load_range(void *arg, size_t first, size_t end)
{
    const struct decoding *w = arg;
    bool good = true;
    struct cc_sink sink;
    cc_sink_open(&sink, w->y + first, w->n * sizeof(float));
    for (size_t i = first, m; i < end; i += m) {
        m = end - i < CC_TILE ? end - i : CC_TILE;
        cc_sink_ahead(&sink, w->codes + code_bytes(w->form, i), code_bytes(w->form, m));
        good &= decode_tile(w, i, m, cc_sink_room(&sink));
        cc_sink_put(&sink, m * sizeof(float));
    }
    cc_sink_close(&sink);
    return !good;
}

static size_t add_range(void *arg, size_t first, size_t end)
{
    const struct decoding *w = arg;
    bool good = true;
    for (size_t i = first, m; i < end; i += m) {
        m = end - i < CC_TILE ? end - i : CC_TILE;
        cc_next_page(w->codes + code_bytes(w->form, i));
        cc_next_page(w->y + i);
        good &= decode_tile(w, i, m, w->y + i);
    }
    return !good;
}

/* Names the first scale or code that is not used. */
static int refuse(const struct cc_block_form *f, size_t n, const uint8_t *in, struct cc_error *e)
{
    const size_t bytes = scale_bytes[f->scale], head = head_bytes(f, n);
    float scale;
    for (size_t b = 0; b < block_count(f, n); b++)
        if (!get_scales(f, in + b * bytes, 1, &scale))
            return f->scale == CC_SCALE_E8M0
                       ? cc_bad_payload(b * bytes, e, "the scale's exponent 255 is not used")
                       : cc_bad_payload(b * bytes, e, "the scale is %g", (double)scale);
    for (size_t i = 0; i < n; i++) {
        const unsigned byte = in[head + i * f->bits / 8];
        const unsigned code = f->bits == 8 ? byte : byte >> (i % 2 != 0 ? 4 : 0) & 15;
        uint8_t one = (uint8_t)code;
        if (f->codes->load(&one, 1, 1, &(float){1}, &scale) != 0)
            return cc_bad_payload(head + code_bytes(f, i + 1) - 1, e, "the code %#x is not used",
                                  code);
    }
    return cc_changed_payload(e);
}

int cc_blocks_decode(const struct cc_block_form *f, const struct cc_codec *c, const uint8_t *in,
                     size_t len, const float *factor, float *y, struct cc_error *e)
{
    const size_t n = c->shape.n, want = cc_blocks_bound(f, n);
    if (len != want)
        return cc_bad_length(len, want, e);
    struct decoding w = {
        .form = f, .scales = in, .codes = in + head_bytes(f, n), .factor = factor, .y = y, .n = n};
    const bool bad = cc_parallel_values(c->threads, n, CC_TILE,
                                        factor == NULL ? load_range : add_range, &w) != 0;
    return bad ? refuse(f, n, in, e) : CC_OK;
}
