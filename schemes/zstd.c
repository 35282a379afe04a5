/* zstd: the floats through the Zstandard library, a lossless yardstick for what general compression
 * with entropy coding can do with gradients.
 *
 * The payload is one frame that states its content size, which is checked before decoding. The
 * library's contexts are static ones in scratch memory, so that nothing is allocated; values
 * that are to be added are decoded to scratch memory, too. The bytes depend on the library's
 * version and build, never on the machine. */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "core/reduce.h"
#include "schemes/kernels/stream.h"
#include "schemes/scheme.h"

struct params {
    int64_t level;
};

static const struct cc_param table[] = {
    CC_PARAM_INT(struct params, level, 3, -131072, 22, "",
                 "compression level: higher is smaller and slower, below 0 is faster"),
    {.name = NULL},
};

static size_t bound(const void *params, const struct cc_shape *shape)
{
    (void)params;
    const size_t values = cc_float_bytes(shape->n), bytes = ZSTD_compressBound(values);
    return values == SIZE_MAX || ZSTD_isError(bytes) ? SIZE_MAX : bytes;
}

static size_t encoder_bytes(const struct params *p, size_t n)
{
    return ZSTD_estimateCCtxSize_usingCParams(ZSTD_getCParams((int)p->level, n * sizeof(float), 0));
}

/* Rounded up, so that what follows it in the scratch memory is aligned. */
static size_t decoder_bytes(void)
{
    return cc_align_up(ZSTD_estimateDCtxSize());
}

/* For the encoder, or for the decoder and the values that are added. */
static size_t scratch_bytes(const void *params, const struct cc_shape *shape)
{
    size_t encoder = encoder_bytes(params, shape->n);
    size_t decoder = decoder_bytes() + shape->n * sizeof(float);
    return encoder > decoder ? encoder : decoder;
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    const struct params *p = c->params;
    size_t n = c->shape.n;
    if (!cc_finite_bits(k_reduce()->absmax(x, n)))
        return cc_refuse(ctx, x, NULL, n, e);
    ZSTD_CCtx *zstd = ZSTD_initStaticCCtx(c->scratch, encoder_bytes(p, n));
    if (zstd == NULL)
        return cc_fail(e, "zstd: the library refuses its scratch memory");
    size_t bytes = ZSTD_compressCCtx(zstd, out, cap, x, n * sizeof(float), (int)p->level);
    if (ZSTD_isError(bytes))
        return cc_fail(e, "zstd: %s", ZSTD_getErrorName(bytes));
    *len = bytes;
    return CC_OK;
}

/* The header and the frame's length are checked before anything is decoded. */
static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    (void)ctx;
    size_t want = c->shape.n * sizeof(float);
    unsigned long long content = ZSTD_getFrameContentSize(in, len);
    if (content == ZSTD_CONTENTSIZE_ERROR)
        return cc_bad_payload(0, e, "no zstd frame begins here");
    if (content == ZSTD_CONTENTSIZE_UNKNOWN)
        return cc_bad_payload(0, e, "the zstd frame does not state its content size");
    if (content != want)
        return cc_bad_payload(0, e, "the zstd frame holds %llu bytes, not %zu", content, want);
    size_t frame = ZSTD_findFrameCompressedSize(in, len);
    if (ZSTD_isError(frame))
        return cc_bad_payload(len, e, "zstd: %s", ZSTD_getErrorName(frame));
    if (frame != len)
        return cc_bad_payload(frame, e, "the zstd frame ends here, but the payload has %zu bytes",
                              len);
    ZSTD_DCtx *zstd = ZSTD_initStaticDCtx(c->scratch, decoder_bytes());
    if (zstd == NULL)
        return cc_fail(e, "zstd: the library refuses its scratch memory");
    uint8_t *copy = (uint8_t *)c->scratch + decoder_bytes();
    void *to = scale == NULL ? (void *)y : copy;
    size_t bytes = ZSTD_decompressDCtx(zstd, to, want, in, len);
    if (ZSTD_isError(bytes))
        return cc_bad_payload(0, e, "zstd frame: %s", ZSTD_getErrorName(bytes));
    if (bytes != want)
        return cc_bad_payload(0, e, "the zstd frame held %zu bytes, not %zu", bytes, want);
    if (scale != NULL)
        k_stream()->add(copy, *scale, y, c->shape.n);
    return CC_OK;
}

const struct cc_scheme cc_scheme_zstd = {
    .id = "zstd",
    .title = "the Zstandard library, lossless",
    .reference = "Collet and Kucherawy, RFC 8878, 2021",
    .layout = "one zstd frame of the n x f32",
    .flags = 0,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .bound = bound,
    .scratch_bytes = scratch_bytes,
    .encode = encode,
    .decode = decode,
};
