/* threshold: a fixed step for each value that has reached it. */
#include "core/memory.h"
#include "core/reduce.h"
#include "schemes/kernels/select.h"
#include "schemes/pairs.h"
#include "schemes/scheme.h"
#include "schemes/selection.h"

struct params {
    double tau;
    int64_t ef;
};

static const struct cc_param table[] = {
    CC_PARAM_REAL(struct params, tau, 0.01, 1e-37, 1e37, "",
                  "the magnitude from which a value is sent, and as which"),
    CC_PARAM_FLAG(struct params, ef, 1, "error feedback: keep what was not sent in a residual"),
    {.name = NULL},
};

#define VALUES_MOST (UINT64_C(1) << 31)
#define CODE_BYTES  4
#define HEAD_BYTES  4

static size_t bound(const void *params, const struct cc_shape *shape)
{
    (void)params;
    size_t bytes;
    if (!cc_mul(shape->n, CODE_BYTES, &bytes) || __builtin_add_overflow(bytes, HEAD_BYTES, &bytes))
        return SIZE_MAX;
    return bytes;
}

static size_t state_bytes(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    size_t bytes;
    if (!p->ef)
        return 0;
    return cc_mul(shape->n, sizeof(float), &bytes) ? bytes : SIZE_MAX;
}

/* The codes of the block x[0, n), which begins at index `begin`; returns how many. */
static size_t put(const float *x, size_t begin, size_t n, float tau, uint8_t *out)
{
    uint8_t bits[CC_SELECT_BLOCK / 8];
    uint32_t index[CC_SELECT_BLOCK + CC_SELECT_SLACK];
    float value[CC_SELECT_BLOCK + CC_SELECT_SLACK];
    size_t count = k_select()->mark(x, n, cc_f32_bits(tau), bits);
    if (count == 0)
        return 0;
    k_select()->indices(bits, n, (uint32_t)begin, index);
    k_select()->pack(x, bits, n, value);
    for (size_t j = 0; j < count; j++)
        cc_put_u32(out + CODE_BYTES * j, 2 * index[j] + (cc_f32_bits(value[j]) >> 31));
    return count;
}

static struct cc_traffic traffic(const void *params)
{
    const struct params *p = params;
    return cc_traffic_one(p->ef != 0);
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    const struct params *p = c->params;
    float tau = (float)p->tau;
    float *residual = p->ef ? c->state : NULL;
    if (c->shape.n > VALUES_MOST)
        return cc_fail(e, "tensor '%s': threshold has indices for 2^31 values only; cut the tensor",
                       ctx->name != NULL ? ctx->name : "?");
    uint8_t *at = out + HEAD_BYTES;
    cc_put_f32(out, tau);
    for (size_t i = 0; i < c->shape.n; i += CC_SELECT_BLOCK) {
        size_t n = c->shape.n - i < CC_SELECT_BLOCK ? c->shape.n - i : CC_SELECT_BLOCK;
        const float *from = residual != NULL ? residual + i : x + i;
        uint32_t most = residual != NULL ? k_select()->add(x + i, residual + i, n)
                                         : k_reduce()->absmax(x + i, n);
        if (!cc_finite_bits(most))
            return cc_refuse_sum(ctx, x + i, from, i, n, e);
        at += CODE_BYTES * put(from, i, n, tau, at);
        if (residual != NULL)
            k_select()->shrink(residual + i, n, tau);
    }
    *len = (size_t)(at - out);
    return CC_OK;
}

static int check_head(const uint8_t *in, size_t len, float *tau, struct cc_error *e)
{
    if (len < HEAD_BYTES)
        return cc_bad_payload(len, e, "the payload ends in its threshold");
    *tau = cc_get_f32(in);
    if (!cc_finite(*tau) || *tau < 0)
        return cc_bad_payload(0, e, "the threshold is %g; it must be finite and not negative",
                              (double)*tau);
    if (len % CODE_BYTES != 0)
        return cc_bad_payload(len - len % CODE_BYTES, e,
                              "the payload has %zu bytes, which are no whole codes of %d", len,
                              CODE_BYTES);
    return CC_OK;
}

/* A branch on the sign would be mispredicted half the time. */
static float step(float tau, uint32_t code)
{
    return cc_bits_f32(cc_f32_bits(tau) ^ code << 31);
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, float *y, struct cc_error *e)
{
    (void)ctx;
    float tau = 0, block[CC_SELECT_BLOCK];
    size_t n = c->shape.n, at = HEAD_BYTES, next = 0;
    bool past = cc_past_cache(y, n);
    if (check_head(in, len, &tau, e) != CC_OK)
        return CC_FAIL;
    for (size_t begin = 0; begin < n; begin += CC_SELECT_BLOCK) {
        size_t m = n - begin < CC_SELECT_BLOCK ? n - begin : CC_SELECT_BLOCK;
        memset(block, 0, m * sizeof *block);
        for (; at < len; at += CODE_BYTES) {
            uint32_t code = cc_get_u32(in + at), index = code >> 1;
            if (index >= begin + m)
                break;
            if (index < next)
                return cc_pairs_bad_index(at, index, next, n, e);
            block[index - begin] = step(tau, code);
            next = (size_t)index + 1;
        }
        cc_put_block(block, m, past, y + begin);
    }
    cc_past_cache_done();
    return at == len ? CC_OK : cc_pairs_bad_index(at, cc_get_u32(in + at) >> 1, next, n, e);
}

static int decode_add(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                      size_t len, float scale, float *y, struct cc_error *e)
{
    (void)ctx;
    float tau = 0;
    size_t n = c->shape.n, next = 0;
    if (check_head(in, len, &tau, e) != CC_OK)
        return CC_FAIL;
    for (size_t at = HEAD_BYTES; at < len; at += CODE_BYTES) {
        uint32_t code = cc_get_u32(in + at), index = code >> 1;
        if (index < next || index >= n)
            return cc_pairs_bad_index(at, index, next, n, e);
        y[index] = cc_add_scaled(y[index], scale, step(tau, code));
        next = (size_t)index + 1;
    }
    return CC_OK;
}

const struct cc_scheme cc_scheme_threshold = {
    .id = "threshold",
    .title = "fixed-threshold quantization",
    .reference = "Strom, Scalable Distributed DNN Training Using Commodity GPU Cloud Computing, "
                 "Interspeech 2015, section 3",
    .layout = "f32 tau, then u32 = 2 x index + sign (1 = negative) for each value that reaches it",
    .flags = CC_LOSSY | CC_FEEDBACK | CC_SPARSE,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .bound = bound,
    .traffic = traffic,
    .state_bytes = state_bytes,
    .encode = encode,
    .decode = decode,
    .decode_add = decode_add,
};
