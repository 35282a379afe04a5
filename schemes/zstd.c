/* zstd: the floats through the Zstandard library, a lossless yardstick for what general compression
 * with entropy coding can do with gradients.
 *
 * The payload is one frame that states its content size, which is checked before decoding. Where
 * all values are of a shorter format than float32, as gradients of bf16 are, their words are
 * compressed, and a byte before the frame tells the format. The library's contexts are static ones
 * in scratch memory, so that nothing is allocated; what is not decoded in place is decoded to
 * scratch memory, too. The bytes depend on the library's version and build, never on the machine.
 */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "core/number.h"
#include "core/reduce.h"
#include "core/tile.h"
#include "schemes/kernels/stream.h"
#include "schemes/scheme.h"

struct params {
    int64_t level, type;
};

static const struct cc_param table[] = {
    CC_PARAM_INT(struct params, level, 3, -131072, 22, "",
                 "compression level: higher is smaller and slower, below 0 is faster"),
    CC_PARAM_CHOICE(struct params, type, 0, cc_number_choices, CC_NUMBER_TYPE_HELP),
    {.name = NULL},
};

static size_t bound(const void *params, const struct cc_shape *shape)
{
    (void)params;
    const size_t values = cc_float_bytes(shape->n), bytes = ZSTD_compressBound(values);
    return values == SIZE_MAX || ZSTD_isError(bytes) ? SIZE_MAX : cc_bytes_sum(bytes, 1);
}

/* The bytes of a context for any content up to n float32, rounded up, so that what follows is
 * aligned: contexts of shorter contents may be larger than those of longer ones. */
static size_t encoder_bytes(const struct params *p, size_t n)
{
    size_t most = 0;
    for (size_t each = 1; each <= sizeof(float); each *= 2) {
        const size_t bytes =
            ZSTD_estimateCCtxSize_usingCParams(ZSTD_getCParams((int)p->level, n * each, 0));
        most = bytes > most ? bytes : most;
    }
    return cc_align_up(most);
}

/* Rounded up, so that what follows it in the scratch memory is aligned. */
static size_t decoder_bytes(void)
{
    return cc_align_up(ZSTD_estimateDCtxSize());
}

/* For the encoder and words, or for the decoder and values that are not decoded in place. */
static size_t scratch_bytes(const void *params, const struct cc_shape *shape)
{
    size_t encoder = encoder_bytes(params, shape->n) + shape->n * sizeof(uint16_t);
    size_t decoder = decoder_bytes() + shape->n * sizeof(float);
    return encoder > decoder ? encoder : decoder;
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    const struct params *p = c->params;
    size_t n = c->shape.n;
    const bool any = cc_passes(c, ctx);
    if (!any && !cc_finite_bits(k_reduce()->absmax(x, n)))
        return cc_refuse(ctx, x, NULL, n, e);
    void *words = (uint8_t *)c->scratch + encoder_bytes(p, n);
    const enum cc_number type = cc_number_find(cc_number_chosen(p->type), x, n, any, words);
    const size_t head = type != CC_NUMBER_FP32;
    ZSTD_CCtx *zstd = ZSTD_initStaticCCtx(c->scratch, encoder_bytes(p, n));
    if (zstd == NULL)
        return cc_fail(e, "zstd: the library refuses its scratch memory");
    if (head > 0)
        out[0] = (uint8_t)type;
    size_t bytes = ZSTD_compressCCtx(zstd, out + head, cap - head, head > 0 ? words : x,
                                     n * cc_number_bytes[type], (int)p->level);
    if (ZSTD_isError(bytes))
        return cc_fail(e, "zstd: %s", ZSTD_getErrorName(bytes));
    *len = head + bytes;
    return CC_OK;
}

/* The header and the length of the frame in payload[at, len) are checked before anything is
 * decoded. */
static int check_frame(const uint8_t *in, size_t at, size_t len, size_t want, struct cc_error *e)
{
    unsigned long long content = ZSTD_getFrameContentSize(in + at, len - at);
    if (content == ZSTD_CONTENTSIZE_ERROR)
        return cc_bad_payload(at, e, "no zstd frame begins here");
    if (content == ZSTD_CONTENTSIZE_UNKNOWN)
        return cc_bad_payload(at, e, "the zstd frame does not state its content size");
    if (content != want)
        return cc_bad_payload(at, e, "the zstd frame holds %llu bytes, not %zu", content, want);
    size_t frame = ZSTD_findFrameCompressedSize(in + at, len - at);
    if (ZSTD_isError(frame))
        return cc_bad_payload(len, e, "zstd: %s", ZSTD_getErrorName(frame));
    if (frame != len - at)
        return cc_bad_payload(at + frame, e,
                              "the zstd frame ends here, but the payload has %zu bytes", len);
    return CC_OK;
}

/* Sets y to words of the type, or adds scale times them. */
static void give(enum cc_number type, const uint8_t *words, size_t n, const float *scale, float *y)
{
    float wide[CC_TILE];
    if (scale == NULL) {
        cc_number_widen(type, words, n, y);
        return;
    }
    for (size_t i = 0, m; i < n; i += m) {
        m = cc_smaller(n - i, CC_TILE);
        cc_number_widen(type, words + cc_number_bytes[type] * i, m, wide);
        k_stream()->add((const uint8_t *)wide, *scale, y + i, m);
    }
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    (void)ctx;
    const unsigned first = len > 0 ? (unsigned)cc_once(in[0]) : 0;
    const bool shorter = first > CC_NUMBER_FP32 && first < CC_NUMBERS;
    const enum cc_number type = shorter ? (enum cc_number)first : CC_NUMBER_FP32;
    const size_t at = shorter, want = c->shape.n * cc_number_bytes[type];
    CC_TRY(check_frame(in, at, len, want, e));
    ZSTD_DCtx *zstd = ZSTD_initStaticDCtx(c->scratch, decoder_bytes());
    if (zstd == NULL)
        return cc_fail(e, "zstd: the library refuses its scratch memory");
    uint8_t *copy = (uint8_t *)c->scratch + decoder_bytes();
    const bool in_place = scale == NULL && !shorter;
    void *to = in_place ? (void *)y : copy;
    size_t bytes = ZSTD_decompressDCtx(zstd, to, want, in + at, len - at);
    if (ZSTD_isError(bytes))
        return cc_bad_payload(at, e, "zstd frame: %s", ZSTD_getErrorName(bytes));
    if (bytes != want)
        return cc_bad_payload(at, e, "the zstd frame held %zu bytes, not %zu", bytes, want);
    if (!in_place)
        give(type, copy, c->shape.n, scale, y);
    return CC_OK;
}

const struct cc_scheme cc_scheme_zstd = {
    .id = "zstd",
    .title = "the Zstandard library, lossless",
    .reference = "Collet and Kucherawy, RFC 8878, 2021",
    .layout = "one zstd frame of the n values, before it the format if that is not f32",
    .flags = 0,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .bound = bound,
    .scratch_bytes = scratch_bytes,
    .encode = encode,
    .decode = decode,
};
