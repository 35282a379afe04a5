/* A tile of values is encoded while it is in the first-level cache: sum of gradient and residual,
 * rotation, largest magnitude and scale of each block, codes, and what they leave. Scales and codes
 * of large tensors are so written in one pass. A block that is larger than a tile is gone through
 * twice; only a scale of the whole tensor takes a pass of its own. */
#include "schemes/blocks.h"

#include <string.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/random.h"
#include "core/reduce.h"
#include "core/tile.h"
#include "schemes/kernels/stream.h"

/* The least block that a form may have, for arrays with an entry for each block of a tile. */
#define LEAST_BLOCK 16
#define TILE_BLOCKS (CC_TILE / LEAST_BLOCK)

const char *const cc_roundings[] = {"nearest", "random", NULL};

const struct cc_param cc_block_params[] = {
    CC_PARAMS_ROUNDING(struct cc_block_params, 1),
    {.name = NULL},
};

static bool is_power(int64_t v, int64_t least, int64_t most)
{
    return v >= least && v <= most && (v & (v - 1)) == 0;
}

int cc_blocks_check(int64_t block, int64_t most, bool whole, int64_t hadamard, int64_t flip,
                    struct cc_error *e)
{
    if (!is_power(block, LEAST_BLOCK, most) && !(whole && block == 0))
        return cc_usage(e, "block=%lld: a power of two from %d to %lld%s", (long long)block,
                        LEAST_BLOCK, (long long)most, whole ? ", or 0" : "");
    if (!is_power(hadamard, K_HADAMARD_LEAST, K_HADAMARD_MOST) && hadamard != 0)
        return cc_usage(e, "hadamard=%lld: a power of two from %d to %d, or 0", (long long)hadamard,
                        K_HADAMARD_LEAST, K_HADAMARD_MOST);
    if (flip != 0 && hadamard == 0)
        return cc_usage(
            e, "flip=%lld: signs are drawn for values that are rotated: give hadamard=32, too",
            (long long)flip);
    return CC_OK;
}

/* --- rotation --- */

/* Groups lie in one tile, as signs do that repeat in each. */
_Static_assert(CC_TILE == K_HADAMARD_MOST, "a tile is the largest group");

/* The signs of a tile's values, if the form has any. docs/payloads.md. */
static void make_signs(const struct cc_block_form *f, float sign[CC_TILE])
{
    const struct cc_key key = {f->flip, f->flip};
    for (uint32_t i = 0; i < CC_TILE && f->flip != 0; i++)
        sign[i] = cc_random(key, i) >> 31 != 0 ? -1.0f : 1.0f;
}

static void turn(const struct cc_block_form *f, const float *sign, const float *x, float *y,
                 size_t m)
{
    if (f->flip != 0)
        k_hadamard()->rotate_signed(x, y, m, f->hadamard, sign);
    else
        k_hadamard()->rotate(x, y, m, f->hadamard);
}

static void turn_back(const struct cc_block_form *f, const float *sign, float *y, size_t m)
{
    if (f->flip != 0)
        k_hadamard()->rotate_back(y, y, m, f->hadamard, sign);
    else
        k_hadamard()->rotate(y, y, m, f->hadamard);
}

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

/* The largest scale. A rotation makes values larger by up to the root of its group's size: decoded
 * ones stay finite with a scale that is smaller by the power of two from there on. */
static float scale_limit(const struct cc_block_form *f)
{
    float limit = f->most_scale;
    for (size_t h = 1; h < f->hadamard; h *= 4)
        limit /= 2;
    return limit;
}

/* The exponents of the scales of blocks by their largest magnitudes. To the nearest: that of the
 * magnitude less that of the largest number (OCP Microscaling, section 6.3), so that values may
 * exceed the largest number, and are limited; if that is a power of two, only while it is the
 * nearest. At random: the least one without such values. */
static void put_exponents(const struct cc_block_form *f, float limit, const uint32_t *restrict most,
                          size_t blocks, uint8_t *restrict out, float *restrict scale)
{
    const uint32_t fraction = 0x7fffffu, largest = cc_f32_bits(f->largest);
    const uint32_t half = (largest & fraction) == 0 ? 0x400000u : fraction;
    const uint32_t exact = f->random ? largest & fraction : half;
    const int shift = 127 - (int)(largest >> 23);
    const int highest = (int)(cc_f32_bits(limit) >> 23);
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
    const float largest = f->largest, limit = scale_limit(f);
    if (f->scale == CC_SCALE_E8M0) {
        put_exponents(f, limit, most, blocks, out, scale);
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
    struct cc_elements x;
    float *r;
    uint8_t *scales, *codes;
    size_t n;
    float scale;       /* the tensor's, if form->block is 0 */
    struct cc_key key; /* for the random numbers from ctx->offset on */
    float sign[CC_TILE];
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

/* Whether a tile has one scale, that of a larger block or of the tensor. */
static bool has_one_scale(const struct cc_block_form *f)
{
    return f->block == 0 || f->block > CC_TILE;
}

/* The m values from index i on, m at most CC_TILE, as codes take them: the gradient, of which `sum`
 * is room for a copy, plus the residual, which is then in `sum`; or in `turned` what they are
 * rotated to. */
static const float *values_at(const struct encoding *w, size_t i, size_t m, float *sum,
                              float *turned)
{
    const float *v = sum;
    if (w->r != NULL)
        k_blocks()->sum[w->x.type](cc_elements_from(w->x, i).at, w->r + i, sum, m);
    else
        v = cc_elements_read(w->x, i, m, sum);
    if (w->form->hadamard == 0)
        return v;
    turn(w->form, w->sign, v, turned, m);
    return turned;
}

/* The largest bits of a magnitude of values [first, end). */
static size_t most_range(void *arg, size_t first, size_t end)
{
    const struct encoding *w = arg;
    float sum[CC_TILE], turned[CC_TILE];
    uint32_t most = 0;
    for (size_t i = first, m; i < end; i += m) {
        uint32_t one;
        m = end - i < CC_TILE ? end - i : CC_TILE;
        (void)k_blocks()->absmax(values_at(w, i, m, sum, turned), m, CC_TILE, &one);
        most = one > most ? one : most;
    }
    return most;
}

/* Writes the scale of the block that begins with index i, larger than a tile; false if its values
 * are not finite. */
static bool put_large(struct encoding *w, size_t i, float *scale)
{
    const struct cc_block_form *f = w->form;
    const uint32_t most = (uint32_t)most_range(w, i, w->n - i < f->block ? w->n : i + f->block);
    if (!cc_finite_bits(most))
        return false;
    put_scales(f, &most, 1, w->scales + i / f->block * scale_bytes[f->scale], scale);
    return true;
}

/* The rest that the codes of the m values from index i on leave of `sum`, which they were rotated
 * from. */
static void keep_rest(const struct encoding *w, size_t i, size_t m, const float *sum,
                      const uint8_t *codes, size_t block, const float *scale)
{
    float back[CC_TILE];
    (void)w->form->codes->load(codes, m, block, scale, back);
    turn_back(w->form, w->sign, back, m);
    for (size_t k = 0; k < m; k++)
        w->r[i + k] = sum[k] - back[k];
}

/* Encodes the m values from index i on, m at most CC_TILE, to `out`; false if they are not finite.
 * one: the scale, where the tile has one. */
static bool encode_tile(const struct encoding *w, size_t i, size_t m, float one, uint8_t *out)
{
    const struct cc_block_form *f = w->form;
    const size_t block = has_one_scale(f) ? CC_TILE : f->block, blocks = (m + block - 1) / block;
    float sum[CC_TILE], turned[CC_TILE], scale[TILE_BLOCKS] = {one}, divisor[TILE_BLOCKS];
    uint32_t most[TILE_BLOCKS];
    uint8_t byte[CC_TILE], *codes = f->bits == 8 ? out : byte;
    const float *v = values_at(w, i, m, sum, turned);
    if (!has_one_scale(f)) {
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
    if (w->r != NULL && f->hadamard == 0)
        f->codes->rest(v, codes, m, block, scale, w->r + i);
    else if (w->r != NULL)
        keep_rest(w, i, m, sum, codes, block, scale);
    if (f->bits == 4)
        k_blocks()->join(codes, m, out);
    return true;
}

/* Returns whether a value is not finite. */
static size_t encode_range(void *arg, size_t first, size_t end)
{
    struct encoding *w = arg;
    const struct cc_block_form *f = w->form;
    float scale = w->scale;
    bool finite = true;
    struct cc_sink sink;
    cc_sink_open(&sink, w->codes + code_bytes(f, first), cc_elements_bytes(w->x, w->n));
    for (size_t i = first, m; i < end && finite; i += m) {
        m = end - i < CC_TILE ? end - i : CC_TILE;
        cc_sink_ahead(&sink, cc_elements_from(w->x, i).at, cc_elements_bytes(w->x, m));
        if (f->block > CC_TILE && i % f->block == 0)
            finite = put_large(w, i, &scale);
        finite = finite && encode_tile(w, i, m, scale, cc_sink_room(&sink));
        cc_sink_put(&sink, code_bytes(f, m));
    }
    cc_sink_close(&sink);
    return !finite;
}

int cc_blocks_encode(const struct cc_block_form *f, const struct cc_codec *c,
                     const struct cc_context *ctx, struct cc_elements x, float *r, uint8_t *out,
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
    make_signs(f, w.sign);
    if (f->block == 0) {
        const uint32_t most =
            f->hadamard == 0 ? cc_absmax_from(x, r, n, c->threads)
                             : (uint32_t)cc_parallel_values(c->threads, n, CC_TILE, most_range, &w);
        if (!cc_finite_bits(most))
            return cc_refuse_from(ctx, x, r, n, e);
        put_scales(f, &most, 1, out, &w.scale);
    }
    const size_t multiple = f->block > CC_TILE ? f->block : CC_TILE;
    if (cc_parallel_values(c->threads, n, multiple, encode_range, &w) != 0)
        return cc_refuse_from(ctx, x, r, n, e);
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
    float sign[CC_TILE];
};

/* Decodes the m values from index i on, m at most CC_TILE, to y or onto it. False if a scale or
 * code is not used. */
static bool decode_tile(const struct decoding *w, size_t i, size_t m, float *y)
{
    const struct cc_block_form *f = w->form;
    const size_t block = has_one_scale(f) ? CC_TILE : f->block, bytes = scale_bytes[f->scale];
    const uint8_t *codes = w->codes + code_bytes(f, i);
    const uint8_t *scales = w->scales + (f->block == 0 ? 0 : i / f->block * bytes);
    uint8_t byte[CC_TILE];
    float scale[TILE_BLOCKS], turned[CC_TILE];
    const bool good = get_scales(f, scales, (m + block - 1) / block, scale);
    if (f->bits == 4) {
        k_blocks()->split(codes, m, byte);
        codes = byte;
    }
    if (f->hadamard == 0)
        return (w->factor != NULL ? f->codes->add(codes, m, block, scale, *w->factor, y)
                                  : f->codes->load(codes, m, block, scale, y)) == 0 &&
               good;
    float *to = w->factor != NULL ? turned : y;
    const int bad = f->codes->load(codes, m, block, scale, to);
    turn_back(f, w->sign, to, m);
    if (w->factor != NULL)
        k_stream()->add((const uint8_t *)turned, *w->factor, y, m);
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
    make_signs(f, w.sign);
    const bool bad = cc_parallel_values(c->threads, n, CC_TILE,
                                        factor == NULL ? load_range : add_range, &w) != 0;
    return bad ? refuse(f, n, in, e) : CC_OK;
}
