/* known: a plugin whose errors follow from whole numbers by hand. It delivers a gradient as it is
 * but for a share that is lost: of values that are odd, with odd=1, one half; with grow=1 a
 * thirty-second more in each 32 steps. state=1 gives it a state, which means nothing, so that its
 * errors have to settle. */
#include "floats.h"

struct params {
    int64_t odd, grow, state;
};
static const struct cc_param table[] = {
    CC_PARAM_INT(struct params, odd, 0, 0, 1, "", "whether odd values are halved"),
    CC_PARAM_INT(struct params, grow, 0, 0, 1, "", "whether more is lost in later steps"),
    CC_PARAM_INT(struct params, state, 0, 0, 1, "", "whether there is a state"),
    {.name = NULL}};

static size_t state_bytes(const void *p, const struct cc_shape *s)
{
    return ((const struct params *)p)->state != 0 ? 4 * s->n : 0;
}

static float delivered(const struct params *p, uint64_t step, float g)
{
    const float lost = p->grow != 0 ? (float)(step / 32 % 32 + 1) / 32 : 0;
    const bool odd = fmodf(g, 2) != 0;
    return g * (1 - lost) * (p->odd != 0 && odd ? 0.5F : 1);
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    for (size_t i = 0; i < c->shape.n; i++) {
        if (!isfinite(x[i]))
            return cc_refuse(ctx, x, NULL, c->shape.n, e);
        const float u = delivered(c->params, ctx->step, x[i]);
        memcpy(out + 4 * i, &u, 4);
    }
    *len = 4 * c->shape.n;
    return (void)cap, CC_OK;
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    return (void)ctx, floats_decode(c, in, len, scale, y, e);
}

static const struct cc_scheme known = {.id = "known",
                                       .title = "floats with known errors",
                                       .reference = "tests/witness/errors.sh",
                                       .layout = "f32 of the values",
                                       .flags = CC_LOSSY,
                                       .kind = CC_OPAQUE,
                                       .params = table,
                                       .params_bytes = sizeof(struct params),
                                       .bound = floats_bound,
                                       .state_bytes = state_bytes,
                                       .encode = encode,
                                       .decode = decode};
CC_PLUGIN(known)
