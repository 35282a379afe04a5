/* trunc16: the upper half of a binary32, the lower cut off. */
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
    return cc_half_encode(&k_half()->trunc16, c, ctx, x, out, len, e);
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, float *y, struct cc_error *e)
{
    (void)ctx;
    return cc_half_decode(&k_half()->trunc16, c, in, len, y, e);
}

static int decode_add(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                      size_t len, float scale, float *y, struct cc_error *e)
{
    (void)ctx;
    return cc_half_decode_add(&k_half()->trunc16, c, in, len, scale, y, e);
}

const struct cc_scheme cc_scheme_trunc16 = {
    .id = "trunc16",
    .title = "bfloat16, truncated",
    .reference = "Li et al. 2018, Pipe-SGD, section 3.2",
    .layout = "n x u16: upper half of binary32, the lower cut off",
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
