/* zfp: the floats through the zfp library with a bound on the error, tolerance * max|x|.
 *
 * The payload is the bound as f32, then a zfp stream of the values as a one-dimensional array; a
 * bound of 0 stands for a tensor of zeros, without a stream. The library reads and writes whole
 * words without looking where the stream ends, so streams pass through an aligned and padded copy
 * in scratch memory. Tensors with tiny bounds are scaled up first, as the library's conversion to
 * integers would overflow. The library allocates the few words of its bit stream itself.
 *
 * The bytes depend on how the library was built: the stream is padded to its word (8 bits in
 * Debian's, 64 by default), and ZFP_ROUNDING_MODE changes bits. A payload that does not end on a
 * word of the decoder's library is refused.
 *
 * Source: Lindstrom, Fixed-Rate Compressed Floating-Point Arrays, TVCG 2014. */
#include <float.h>
#include <string.h>
#include <zfp.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "core/reduce.h"
#include "schemes/kernels/stream.h"
#include "schemes/scheme.h"

/* Below about 2^-97 the library's conversion to integers overflows, so tensors with an error bound
 * under TINY are multiplied by UP before they are encoded, and divided by it when decoded. */
#define TINY 0x1p-60f
#define UP   0x1p64f

/* Bytes that the library may read beyond the stream. */
#define PADDING 64

struct params {
    double tolerance;
};

static const struct cc_param table[] = {
    CC_PARAM_REAL(struct params, tolerance, 0.01, 1e-8, 1, "",
                  "largest error, as a fraction of the largest magnitude"),
    {.name = NULL},
};

/* Used instead of zfp_field_1d(), which allocates. */
static zfp_field field(const float *x, size_t n)
{
    return (zfp_field){.type = zfp_type_float, .nx = n, .data = (void *)(uintptr_t)x};
}

/* The largest stream, which does not depend on the tolerance; 0: too large for the library. */
static size_t stream_bytes(size_t n)
{
    zfp_stream zfp = {.exec = {.policy = zfp_exec_serial}};
    (void)zfp_stream_set_accuracy(&zfp, 1.0);
    zfp_field f = field(NULL, n);
    return n > SIZE_MAX / 16 ? 0 : zfp_stream_maximum_size(&zfp, &f);
}

static size_t bound(const void *params, const struct cc_shape *shape)
{
    (void)params;
    size_t stream = stream_bytes(shape->n);
    return stream == 0 ? SIZE_MAX : sizeof(float) + stream;
}

/* Rounded up, so that what follows it in the scratch memory is aligned. */
static size_t buffer_bytes(size_t n)
{
    return cc_align_up(stream_bytes(n) + PADDING);
}

/* For the aligned copy of the stream, then the scaled values, or those that are added. */
static size_t scratch_bytes(const void *params, const struct cc_shape *shape)
{
    (void)params;
    return buffer_bytes(shape->n) + shape->n * sizeof(float);
}

static float *scratch_values(const struct cc_codec *c)
{
    return (float *)(void *)((char *)c->scratch + buffer_bytes(c->shape.n));
}

/* Runs the library over the stream in scratch memory; returns the bytes used, or 0 if it fails. */
static size_t process_stream(const struct cc_codec *c, float t, const float *values,
                             size_t (*work)(zfp_stream *, zfp_field *))
{
    bitstream *bits = stream_open(c->scratch, buffer_bytes(c->shape.n));
    if (bits == NULL)
        return 0;
    zfp_stream zfp = {.stream = bits, .exec = {.policy = zfp_exec_serial}};
    (void)zfp_stream_set_accuracy(&zfp, (double)(t < TINY ? t * UP : t));
    zfp_field f = field(values, c->shape.n);
    size_t bytes = work(&zfp, &f);
    stream_close(bits);
    return bytes;
}

static size_t compress(zfp_stream *zfp, zfp_field *f)
{
    return zfp_compress(zfp, f);
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    const struct params *p = c->params;
    uint32_t absmax = k_reduce()->absmax(x, c->shape.n);
    if (!cc_finite_bits(absmax))
        return cc_refuse(ctx, x, NULL, c->shape.n, e);
    float t = (float)p->tolerance * cc_bits_f32(absmax);
    cc_put_f32(out, t);
    *len = sizeof t;
    if (t > 0) {
        float *up = scratch_values(c);
        for (size_t i = 0; t < TINY && i < c->shape.n; i++)
            up[i] = x[i] * UP;
        size_t bytes = process_stream(c, t, t < TINY ? up : x, compress);
        if (bytes == 0)
            return cc_fail(e, "zfp: the library could not encode %zu values", c->shape.n);
        memcpy(out + sizeof t, c->scratch, bytes);
        *len += bytes;
    }
    return CC_OK;
}

/* Scales back, and limits values to finite ones: the error bound may take the largest floats
 * beyond. */
static void scale_back(float *y, float scale, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float v = y[i] * scale;
        y[i] = v > FLT_MAX ? FLT_MAX : v < -FLT_MAX ? -FLT_MAX : v;
    }
}

/* Sets y to the decoded values. */
static int decode_to(const struct cc_codec *c, const uint8_t *in, size_t len, float *y,
                     struct cc_error *e)
{
    size_t n = c->shape.n, most = bound(c->params, &c->shape);
    if (len < sizeof(float) || len > most)
        return cc_bad_length(len, len > most ? most : sizeof(float), e);
    float t = cc_get_f32(in);
    if (!cc_finite(t) || t < 0)
        return cc_bad_payload(0, e, "the tolerance is %g", (double)t);
    if (t == 0) {
        memset(y, 0, n * sizeof(float));
        return len == sizeof t ? CC_OK : cc_bad_length(len, sizeof t, e);
    }
    size_t bytes = len - sizeof t;
    memcpy(c->scratch, in + sizeof t, bytes);
    memset((char *)c->scratch + bytes, 0, buffer_bytes(n) - bytes);
    size_t used = process_stream(c, t, y, zfp_decompress);
    if (used != bytes)
        return cc_bad_payload(len < sizeof t + used ? len : sizeof t + used, e,
                              "the zfp stream has %zu bytes, not %zu", bytes, used);
    scale_back(y, t < TINY ? 1 / UP : 1, n);
    return CC_OK;
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    (void)ctx;
    float *values = scale == NULL ? y : scratch_values(c);
    CC_TRY(decode_to(c, in, len, values, e));
    if (scale != NULL)
        k_stream()->add((const uint8_t *)values, *scale, y, c->shape.n);
    return CC_OK;
}

const struct cc_scheme cc_scheme_zfp = {
    .id = "zfp",
    .title = "the zfp library, bounded error",
    .reference = "Lindstrom, Fixed-Rate Compressed Floating-Point Arrays, TVCG 2014",
    .layout = "f32 tolerance; if it is not 0, a zfp stream of the n x f32",
    .flags = CC_LOSSY,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .bound = bound,
    .scratch_bytes = scratch_bytes,
    .encode = encode,
    .decode = decode,
};
