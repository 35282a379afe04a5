/* fp16: IEEE binary16, to the nearest, saturating. */
#include "schemes/half.h"

struct params {
    char none;
};

static const struct cc_param table[] = {{.name = NULL}};

static struct cc_traffic traffic(const void *params)
{
    (void)params;
    return cc_traffic_one(0);
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    return cc_half_encode(&k_half()->fp16, c, ctx, x, out, len, e);
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, float *y, struct cc_error *e)
{
    (void)ctx;
    return cc_half_decode(&k_half()->fp16, c, in, len, y, e);
}

static int decode_add(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                      size_t len, float scale, float *y, struct cc_error *e)
{
    (void)ctx;
    return cc_half_decode_add(&k_half()->fp16, c, in, len, scale, y, e);
}

const struct cc_scheme cc_scheme_fp16 = {
    .id = "fp16",
    .title = "16-bit IEEE floats",
    .reference = "IEEE 754-2008, binary16",
    .layout = "n x u16: binary16, nearest even, saturating at 65504",
    .flags = CC_LOSSY,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .bound = cc_half_bound,
    .traffic = traffic,
    .encode = encode,
    .decode = decode,
    .decode_add = decode_add,
};
