/* qsgd: stochastic levels of a norm per bucket, in codes of fixed width or Elias-coded. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/reduce.h"
#include "schemes/kernels/elias.h"
#include "schemes/kernels/qsgd.h"
#include "schemes/scheme.h"

#define HEADER sizeof(float)

/* Levels of fixed codes are worked on in pieces of this many: in the cache, and whole bytes. */
#define PIECE 2048

enum { NORM_MAX, NORM_L2 };
enum { CODE_FIXED, CODE_ELIAS };
static const char *const norms[] = {"max", "l2", NULL};
static const char *const codes[] = {"fixed", "elias", NULL};

struct params {
    int64_t bits, levels, bucket, norm, code;
};

static const struct cc_param table[] = {
    CC_PARAM_INT(struct params, bits, 4, 2, 16, "bits",
                 "levels -s .. s with s = 2^(bits-1) - 1, unless levels says s"),
    CC_PARAM_INT(struct params, levels, 0, 0, 32767, "", "s itself; 0: from bits"),
    CC_PARAM_INT(struct params, bucket, 512, 0, 1 << 30, "values",
                 "values that share a norm; 0: the whole tensor"),
    CC_PARAM_CHOICE(struct params, norm, NORM_MAX, norms,
                    "what a level is a fraction of: largest magnitude or 2-norm"),
    CC_PARAM_CHOICE(struct params, code, CODE_FIXED, codes,
                    "how levels become bits: fixed width, or Elias omega of the nonzero ones"),
    {.name = NULL},
};

static int top_level(const struct params *p)
{
    return p->levels != 0 ? (int)p->levels : (1 << (p->bits - 1)) - 1;
}

/* Of a fixed code: ceil(log2(2 s + 1)). */
static unsigned code_width(const struct params *p)
{
    return 32 - (unsigned)__builtin_clz(2u * (unsigned)top_level(p));
}

static size_t bucket_values(const struct params *p, size_t n)
{
    return p->bucket == 0 || (uint64_t)p->bucket > n ? n : (size_t)p->bucket;
}

static size_t fixed_bytes(const struct params *p, size_t values)
{
    return HEADER + (values * code_width(p) + 7) / 8;
}

/* At most: every level is s. */
static size_t elias_bytes(const struct params *p, size_t values)
{
    size_t level_bits = cc_omega(1).len + 1 + cc_omega((uint64_t)top_level(p)).len;
    return HEADER + (cc_omega(values + 1).len + values * level_bits + 7) / 8;
}

static size_t total_bytes(const struct params *p, size_t n,
                          size_t (*bytes)(const struct params *, size_t))
{
    size_t values = bucket_values(p, n), rest = n % values;
    return n / values * bytes(p, values) + (rest > 0 ? bytes(p, rest) : 0);
}

static size_t bound(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    if (shape->n >= CC_OMEGA_MAX)
        return SIZE_MAX;
    if (shape->n == 0)
        return 0;
    if (p->code == CODE_FIXED)
        return total_bytes(p, shape->n, fixed_bytes);
    return total_bytes(p, shape->n, elias_bytes) + 8; /* the bit writer's room */
}

/* The levels of one bucket, before and after Elias coding. */
static size_t scratch_bytes(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    if (p->code == CODE_FIXED || shape->n == 0)
        return 0;
    size_t values = bucket_values(p, shape->n), bytes = SIZE_MAX;
    if (values < CC_OMEGA_MAX)
        bytes = (values + CC_LEVEL_GROUP - 1) / CC_LEVEL_GROUP * CC_LEVEL_GROUP * sizeof(int16_t);
    return bytes;
}

/* The norm of a bucket; false if a value is not finite. */
static bool norm_of(const struct params *p, const float *x, size_t n, float *norm)
{
    if (p->norm == NORM_MAX) {
        uint32_t bits = k_reduce()->absmax(x, n);
        *norm = cc_bits_f32(bits);
        return cc_finite_bits(bits);
    }
    double sum = k_reduce()->sum_sq(x, n), root = sqrt(sum);
    *norm = root < (double)FLT_MAX ? (float)root : FLT_MAX;
    return isfinite(sum);
}

/* The random numbers of a call: the key changes every 2^32 indices. */
struct draws {
    const struct cc_context *ctx;
    struct cc_key key;
    uint64_t upper;
};

static struct draws draws_at(const struct cc_context *ctx, uint64_t index)
{
    return (struct draws){ctx, cc_context_key(ctx, index, 0), index >> 32};
}

/* Values first .. first + n - 1 of the call, all of one bucket. */
static size_t quantize(const struct params *p, struct draws *d, const float *x, size_t first,
                       size_t n, float norm, int16_t *levels)
{
    size_t count = 0;
    for (size_t i = 0; i < n;) {
        uint64_t index = d->ctx->offset + first + i;
        uint64_t left = (UINT64_C(1) << 32) - (uint32_t)index;
        size_t m = n - i < left ? n - i : (size_t)left;
        if (index >> 32 != d->upper)
            *d = draws_at(d->ctx, index);
        count += k_qsgd()->quantize(x + first + i, norm, top_level(p), d->key, (uint32_t)index,
                                    levels + i, m);
        i += m;
    }
    return count;
}

static uint8_t *encode_fixed(const struct params *p, struct draws *d, const float *x, size_t first,
                             size_t n, float norm, uint8_t *out)
{
    unsigned width = code_width(p);
    if (norm == 0) {
        memset(out, 0, fixed_bytes(p, n) - HEADER);
        return out + fixed_bytes(p, n) - HEADER;
    }
    for (size_t i = 0; i < n; i += PIECE) {
        int16_t levels[PIECE];
        size_t m = n - i < PIECE ? n - i : PIECE;
        (void)quantize(p, d, x, first + i, m, norm, levels);
        k_qsgd()->pack(levels, width, out, m);
        out += (m * width + 7) / 8;
    }
    return out;
}

static uint8_t *encode_elias(const struct params *p, struct draws *d, const float *x, size_t first,
                             size_t n, float norm, int16_t *levels, uint8_t *out)
{
    if (norm == 0)
        return out;
    size_t count = quantize(p, d, x, first, n, norm, levels);
    for (size_t i = n; i % CC_LEVEL_GROUP != 0; i++)
        levels[i] = 0;
    return k_elias()->put(levels, n, count, out);
}

static struct cc_traffic traffic(const void *params)
{
    const struct params *p = params;
    return p->bucket == 0 ? cc_traffic_two(0) : cc_traffic_one(0);
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    const struct params *p = c->params;
    size_t n = c->shape.n, values = bucket_values(p, n);
    struct draws d = draws_at(ctx, ctx->offset);
    uint8_t *at = out;
    for (size_t i = 0; i < n; i += values) {
        size_t m = n - i < values ? n - i : values;
        float norm;
        if (!norm_of(p, x + i, m, &norm))
            return cc_refuse(ctx, x, NULL, n, e);
        cc_put_f32(at, norm);
        at += HEADER;
        if (p->code == CODE_FIXED)
            at = encode_fixed(p, &d, x, i, m, norm, at);
        else
            at = encode_elias(p, &d, x, i, m, norm, c->scratch, at);
    }
    *len = (size_t)(at - out);
    return CC_OK;
}

/* Where decoded values go: they are stored, or scaled and added. */
struct target {
    float *y;
    const float *scale; /* NULL: stored */
};

static int put_values(const struct target *t, const int16_t *levels, float norm, int s,
                      size_t first, size_t n)
{
    if (t->scale == NULL)
        return k_qsgd()->load(levels, norm, s, t->y + first, n);
    return k_qsgd()->add(levels, norm, s, *t->scale, t->y + first, n);
}

static int bad_norm(float norm, size_t offset, struct cc_error *e)
{
    return cc_bad_payload(offset, e, "the norm of a bucket is %g", (double)norm);
}

static int decode_fixed(const struct cc_codec *c, const uint8_t *in, size_t len,
                        const struct target *t, struct cc_error *e)
{
    const struct params *p = c->params;
    size_t n = c->shape.n, values = bucket_values(p, n), want = total_bytes(p, n, fixed_bytes);
    unsigned width = code_width(p);
    const uint8_t *at = in;
    int s = top_level(p);
    if (len != want)
        return cc_bad_length(len, want, e);
    for (size_t i = 0; i < n; i += values) {
        size_t end = n - i < values ? n : i + values;
        float norm = cc_get_f32(at);
        if (!cc_finite(norm) || norm < 0)
            return bad_norm(norm, (size_t)(at - in), e);
        at += HEADER;
        for (size_t first = i; first < end; first += PIECE) {
            int16_t levels[PIECE];
            size_t m = end - first < PIECE ? end - first : PIECE, j = 0;
            k_qsgd()->unpack(at, width, levels, m);
            if (put_values(t, levels, norm, s, first, m)) {
                while (levels[j] >= -s && levels[j] <= s)
                    j++;
                return cc_bad_payload((size_t)(at - in) + j * width / 8, e,
                                      "a code of %d, with levels from %d to %d", levels[j], -s, s);
            }
            at += (m * width + 7) / 8;
        }
    }
    return CC_OK;
}

/* Names the byte that holds the last bit read. */
static int elias_fault(enum cc_elias_fault fault, const uint8_t *in, const struct cc_bit_reader *r,
                       struct cc_error *e)
{
    static const char *const text[] = {
        [CC_ELIAS_END] = "the payload ends within a bucket, or holds an impossible code",
        [CC_ELIAS_COUNT] = "a bucket with more nonzero levels than values",
        [CC_ELIAS_POSITION] = "a level beyond the end of its bucket",
        [CC_ELIAS_LEVEL] = "a level above the highest",
        [CC_ELIAS_PADDING] = "a padding bit is set",
    };
    size_t bits_read = 8 * (size_t)(r->p - in) - r->have;
    return cc_bad_payload((bits_read - 1) / 8, e, "%s", text[fault]);
}

static int decode_elias(const struct cc_codec *c, const uint8_t *in, size_t len,
                        const struct target *t, struct cc_error *e)
{
    const struct params *p = c->params;
    size_t n = c->shape.n, values = bucket_values(p, n);
    int16_t *levels = c->scratch;
    int s = top_level(p);
    struct cc_bit_reader r = {.p = in, .end = in + len};
    for (size_t i = 0; i < n; i += values) {
        size_t m = n - i < values ? n - i : values, offset = (size_t)(r.p - in);
        if (len - offset < HEADER)
            return cc_bad_payload(len, e, "the payload ends before its last bucket");
        float norm = cc_get_f32(r.p);
        if (!cc_finite(norm) || norm < 0)
            return bad_norm(norm, offset, e);
        r.p += HEADER;
        if (norm == 0) {
            memset(levels, 0, m * sizeof *levels);
        } else {
            enum cc_elias_fault fault = k_elias()->get(&r, m, s, levels);
            if (fault != CC_ELIAS_OK)
                return elias_fault(fault, in, &r, e);
        }
        (void)put_values(t, levels, norm, s, i, m);
    }
    if (r.p != r.end)
        return cc_bad_payload((size_t)(r.p - in), e, "%zu bytes after the last bucket",
                              (size_t)(r.end - r.p));
    return CC_OK;
}

static int decode_any(const struct cc_codec *c, const uint8_t *in, size_t len,
                      const struct target *t, struct cc_error *e)
{
    const struct params *p = c->params;
    return p->code == CODE_FIXED ? decode_fixed(c, in, len, t, e) : decode_elias(c, in, len, t, e);
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, float *y, struct cc_error *e)
{
    (void)ctx;
    return decode_any(c, in, len, &(struct target){.y = y, .scale = NULL}, e);
}

static int decode_add(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                      size_t len, float scale, float *y, struct cc_error *e)
{
    (void)ctx;
    return decode_any(c, in, len, &(struct target){.y = y, .scale = &scale}, e);
}

const struct cc_scheme cc_scheme_qsgd = {
    .id = "qsgd",
    .title = "stochastic levels",
    .reference = "Alistarh et al. 2017, QSGD, section 3.1; buckets and the max norm: section 4",
    .layout = "per bucket: f32 norm, then codes of fixed width; or Elias omega of the count of "
              "nonzero levels, and of distance, sign, level of each",
    .flags = CC_LOSSY | CC_STOCHASTIC | CC_UNBIASED,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .bound = bound,
    .traffic = traffic,
    .scratch_bytes = scratch_bytes,
    .encode = encode,
    .decode = decode,
    .decode_add = decode_add,
};
