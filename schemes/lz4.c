/* lz4: the floats through the LZ4 library, a fast lossless yardstick for what general compression
 * can do with gradients (little: mantissas are noise).
 *
 * The library takes blocks of less than 2 GiB, so the tensor is cut into blocks of 4 MiB, each sent
 * as u32 compressed size and an LZ4 block. The upper byte of the size is the format of the block's
 * values: their words are compressed, as those of bf16 are where gradients have that. Scratch
 * memory holds the encoder's table and a copy of the block, as the library reads beyond its input
 * when others write to it meanwhile; a block that is to be added is decoded there, too. The bytes
 * depend on the library's version, never on the machine. */
#include <lz4.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "core/number.h"
#include "core/reduce.h"
#include "core/tile.h"
#include "schemes/kernels/stream.h"
#include "schemes/scheme.h"

#define BLOCK ((size_t)1 << 20) /* values: 4 MiB */

/* Bits of a block's size, which LZ4_compressBound(4 MiB) has at most. */
#define SIZE_BITS 24

struct params {
    int64_t level, type;
};

static const struct cc_param table[] = {
    CC_PARAM_INT(struct params, level, 1, 1, 65537, "",
                 "the library's acceleration: higher is faster and larger"),
    CC_PARAM_CHOICE(struct params, type, 0, cc_number_choices, CC_NUMBER_TYPE_HELP),
    {.name = NULL},
};

static size_t block_bound(size_t values)
{
    return sizeof(uint32_t) + (size_t)LZ4_compressBound((int)(values * sizeof(float)));
}

static size_t bound(const void *params, const struct cc_shape *shape)
{
    (void)params;
    const size_t tail = shape->n % BLOCK;
    return cc_bytes_sum(cc_bytes_product(shape->n / BLOCK, block_bound(BLOCK)),
                        tail > 0 ? block_bound(tail) : 0);
}

/* The offset of the copied block, after the encoder's table. */
static size_t copy_at(void)
{
    return cc_align_up((size_t)LZ4_sizeofState());
}

/* The words of a block lie behind its copy. */
static size_t scratch_bytes(const void *params, const struct cc_shape *shape)
{
    (void)params;
    return copy_at() + cc_smaller(shape->n, BLOCK) * (sizeof(float) + sizeof(uint16_t));
}

/* Copies a block and returns its largest bits of |x|: in pieces, which are then still in the
 * cache. */
static uint32_t copy_block(const float *x, size_t n, float *to)
{
    uint32_t most = 0;
    for (size_t i = 0, m; i < n; i += m) {
        m = n - i < CC_TILE ? n - i : CC_TILE;
        memcpy(to + i, x + i, m * sizeof *x);
        const uint32_t bits = k_reduce()->absmax(to + i, m);
        most = bits > most ? bits : most;
    }
    return most;
}

/* Encodes m values, of which the codec has a copy, and returns the bytes; 0: the library refuses.
 */
static size_t encode_block(const struct cc_codec *c, float *copy, size_t m, bool any, uint8_t *to)
{
    const struct params *p = c->params;
    void *const words = copy + cc_smaller(c->shape.n, BLOCK);
    const enum cc_number type = cc_number_find(cc_number_chosen(p->type), copy, m, any, words);
    const int size = (int)(m * cc_number_bytes[type]);
    const void *const from = type == CC_NUMBER_FP32 ? (void *)copy : words;
    const int bytes = LZ4_compress_fast_extState(c->scratch, from, (char *)to + sizeof(uint32_t),
                                                 size, LZ4_compressBound(size), (int)p->level);
    if (bytes <= 0)
        return 0;
    cc_put_u32(to, (uint32_t)bytes | (uint32_t)type << SIZE_BITS);
    return sizeof(uint32_t) + (size_t)bytes;
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    const bool any = cc_passes(c, ctx);
    size_t n = c->shape.n;
    uint8_t *to = out;
    float *copy = (float *)(void *)((char *)c->scratch + copy_at());
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t m = cc_smaller(n - i, BLOCK);
        if (!cc_finite_bits(copy_block(x + i, m, copy)) && !any)
            return cc_refuse(ctx, x, NULL, n, e);
        const size_t bytes = encode_block(c, copy, m, any, to);
        if (bytes == 0)
            return cc_fail(e, "lz4: the library refuses the block at index %zu",
                           (size_t)ctx->offset + i);
        to += bytes;
    }
    *len = (size_t)(to - out);
    return CC_OK;
}

/* Decodes the m values of the block at *at and moves *at behind it. Sets y, or adds scale times
 * them. */
static int decode_block(const struct cc_codec *c, const uint8_t *in, size_t len, size_t *at,
                        size_t m, const float *scale, float *y, struct cc_error *e)
{
    if (len - *at < sizeof(uint32_t))
        return cc_bad_payload(len, e, "the payload ends in the size of an LZ4 block");
    const uint32_t word = (uint32_t)cc_once(cc_get_u32(in + *at));
    const size_t bytes = word & ((1u << SIZE_BITS) - 1), type = word >> SIZE_BITS;
    if (type >= CC_NUMBERS)
        return cc_bad_payload(*at + 3, e, "%zu is not a format of values", type);
    const size_t want = m * cc_number_bytes[type];
    if (bytes > len - *at - sizeof(uint32_t))
        return cc_bad_payload(*at, e, "an LZ4 block of %zu bytes, but only %zu follow", bytes,
                              len - *at - sizeof(uint32_t));
    if (bytes > (size_t)LZ4_compressBound((int)want))
        return cc_bad_payload(*at, e, "an LZ4 block of %zu bytes is too large for %zu values",
                              bytes, m);
    *at += sizeof(uint32_t);
    float *const values = scale == NULL ? y : c->scratch;
    void *const words = type == CC_NUMBER_FP32 ? (void *)values : (float *)c->scratch + m;
    int got = LZ4_decompress_safe((const char *)in + *at, words, (int)bytes, (int)want);
    if (got < 0 || (size_t)got != want)
        return cc_bad_payload(*at, e, "the LZ4 block does not decode to %zu values", m);
    if (type != CC_NUMBER_FP32)
        cc_number_widen((enum cc_number)type, words, m, values);
    if (scale != NULL)
        k_stream()->add(c->scratch, *scale, y, m);
    *at += bytes;
    return CC_OK;
}

static int check_end(size_t at, size_t len, struct cc_error *e)
{
    return at == len ? CC_OK
                     : cc_bad_payload(at, e, "%zu bytes follow the last LZ4 block", len - at);
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    (void)ctx;
    size_t n = c->shape.n, at = 0;
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t m = cc_smaller(n - i, BLOCK);
        CC_TRY(decode_block(c, in, len, &at, m, scale, y + i, e));
    }
    return check_end(at, len, e);
}

const struct cc_scheme cc_scheme_lz4 = {
    .id = "lz4",
    .title = "the LZ4 library, lossless",
    .reference = "Collet, LZ4 block format, 2011",
    .layout = "per 4 MiB of values: u32 compressed size and format, an LZ4 block",
    .flags = 0,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .bound = bound,
    .scratch_bytes = scratch_bytes,
    .encode = encode,
    .decode = decode,
};
