/* topk: in each bucket the k values of largest magnitude. */
#include "core/memory.h"
#include "core/reduce.h"
#include "schemes/kernels/select.h"
#include "schemes/scheme.h"
#include "schemes/selection.h"

struct params {
    int64_t k, bucket, ef;
};

static const struct cc_param table[] = {
    CC_PARAM_INT(struct params, k, 16, 1, 65536, "values", "how many are sent of each bucket"),
    CC_PARAM_INT(struct params, bucket, 512, 1, 65536, "values", "values in a bucket"),
    CC_PARAM_FLAG(struct params, ef, 1, "error feedback: keep what was not sent in a residual"),
    {.name = NULL},
};

#define BUCKET_MOST 65536
#define ITEM_BYTES  6 /* u16 index, f32 value */

static int check(const void *params, struct cc_error *e)
{
    const struct params *p = params;
    if (p->k <= p->bucket)
        return CC_OK;
    return cc_usage(e, "k=%lld is more than a bucket of %lld holds; lower k or raise bucket",
                    (long long)p->k, (long long)p->bucket);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Payloads always have this size. */
static size_t bound(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    size_t bucket = (size_t)p->bucket, k = (size_t)p->k, bytes;
    if (!cc_mul(shape->n / bucket, ITEM_BYTES * k, &bytes) ||
        __builtin_add_overflow(bytes, ITEM_BYTES * smaller(shape->n % bucket, k), &bytes))
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

/* Writes the bucket's values that are marked: c indices, then c values. */
static void put(const float *x, const uint8_t *bits, size_t n, size_t c, uint8_t *out)
{
    uint32_t index[CC_SELECT_BLOCK + CC_SELECT_SLACK];
    float value[CC_SELECT_BLOCK + CC_SELECT_SLACK];
    uint8_t *values = out + sizeof(uint16_t) * c;
    for (size_t i = 0; i < n; i += CC_SELECT_BLOCK) {
        size_t m = smaller(n - i, CC_SELECT_BLOCK);
        size_t count = k_select()->indices(bits + i / 8, m, (uint32_t)i, index);
        k_select()->pack(x + i, bits + i / 8, m, value);
        for (size_t j = 0; j < count; j++)
            cc_put_u16(out + sizeof(uint16_t) * j, (uint16_t)index[j]);
        memcpy(values, value, sizeof(float) * count);
        out += sizeof(uint16_t) * count;
        values += sizeof(float) * count;
    }
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
    uint8_t bits[BUCKET_MOST / 8];
    float *residual = p->ef ? c->state : NULL;
    uint32_t threshold = 0;
    uint8_t *at = out;
    for (size_t i = 0; i < c->shape.n; i += (size_t)p->bucket) {
        size_t n = smaller(c->shape.n - i, (size_t)p->bucket), k = smaller((size_t)p->k, n), ties;
        const float *from = residual != NULL ? residual + i : x + i;
        uint32_t most = residual != NULL ? k_select()->add(x + i, residual + i, n)
                                         : k_reduce()->absmax(x + i, n);
        if (!cc_finite_bits(most))
            return cc_refuse_sum(ctx, x + i, from, i, n, e);
        threshold = cc_kth_cached(from, n, k, most, threshold, &ties);
        k_select()->mark(from, n, threshold, bits);
        if (ties != SIZE_MAX)
            cc_drop_ties(from, n, threshold, &ties, bits);
        put(from, bits, n, k, at);
        if (residual != NULL)
            k_select()->clear(bits, n, residual + i);
        at += ITEM_BYTES * k;
    }
    *len = (size_t)(at - out);
    return CC_OK;
}

/* What was sent of one bucket, read from `in`: y[index] = value, or += scale * value. */
static int decode_bucket(const uint8_t *in, size_t offset, size_t n, size_t k, const float *scale,
                         float *y, struct cc_error *e)
{
    const uint8_t *values = in + offset + sizeof(uint16_t) * k;
    size_t next = 0;
    for (size_t j = 0; j < k; j++) {
        size_t at = offset + sizeof(uint16_t) * j, index = cc_get_u16(in + at);
        if (index >= n)
            return cc_bad_payload(at, e, "index %zu is beyond the bucket's %zu values", index, n);
        if (index < next)
            return cc_bad_payload(at, e, "index %zu does not ascend: the one before is %zu", index,
                                  next - 1);
        float v = cc_get_f32(values + sizeof(float) * j);
        y[index] = scale != NULL ? cc_add_scaled(y[index], *scale, v) : v;
        next = index + 1;
    }
    return CC_OK;
}

static int decode_any(const struct cc_codec *c, const uint8_t *in, size_t len, const float *scale,
                      float *y, struct cc_error *e)
{
    const struct params *p = c->params;
    size_t want = bound(p, &c->shape), offset = 0;
    if (len != want)
        return cc_bad_length(len, want, e);
    for (size_t i = 0; i < c->shape.n; i += (size_t)p->bucket) {
        size_t n = smaller(c->shape.n - i, (size_t)p->bucket), k = smaller((size_t)p->k, n);
        if (scale == NULL)
            memset(y + i, 0, n * sizeof *y);
        if (decode_bucket(in, offset, n, k, scale, y + i, e) != CC_OK)
            return CC_FAIL;
        offset += ITEM_BYTES * k;
    }
    return CC_OK;
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, float *y, struct cc_error *e)
{
    (void)ctx;
    return decode_any(c, in, len, NULL, y, e);
}

static int decode_add(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                      size_t len, float scale, float *y, struct cc_error *e)
{
    (void)ctx;
    return decode_any(c, in, len, &scale, y, e);
}

const struct cc_scheme cc_scheme_topk = {
    .id = "topk",
    .title = "the k largest of each bucket",
    .reference = "Renggli et al., SparCML, SC 2019, section 6.1 (k = 16 of 512)",
    .layout = "per bucket: k x u16 index in the bucket, k x f32 value",
    .flags = CC_LOSSY | CC_FEEDBACK | CC_SPARSE,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .check = check,
    .bound = bound,
    .traffic = traffic,
    .state_bytes = state_bytes,
    .encode = encode,
    .decode = decode,
    .decode_add = decode_add,
};
