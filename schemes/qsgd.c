/* qsgd: stochastic quantization to levels of a bucket's norm.
 *
 * The tensor is cut into buckets, each with its norm: the largest magnitude (as in the paper's
 * experiments) or the 2-norm (as in its theory). |x| / norm lies between two of the s + 1 levels 0,
 * 1/s, .., 1 and becomes one of them at random, so that the expectation is x. Levels with their
 * signs are the integers -s .. s.
 *
 * Two codes. Fixed width (qsgd_fixed.c): ceil(log2(2s + 1)) bits a level; buckets have known
 * places, so that threads share them in both directions. Elias (qsgd_elias.c): number of nonzero
 * levels, then for each its distance from the last, sign and magnitude as Elias omega codes;
 * smaller where most levels are zero (2-norm, few levels, large buckets), but decoded serially.
 *
 * No state: rounding is unbiased. Random numbers depend on the element's index in the whole tensor.
 *
 * Source: Alistarh et al., QSGD, NIPS 2017, section 3.1 (quantization, Elias coding); section 4
 * (buckets, largest magnitude). */
#include "schemes/qsgd.h"

#include "core/cache.h"
#include "schemes/kernels/elias_code.h"

enum { NORM_MAX, NORM_L2 };
enum { CODE_FIXED, CODE_ELIAS };
static const char *const norms[] = {"max", "l2", NULL};
static const char *const codes[] = {"fixed", "elias", NULL};

struct params {
    int64_t bits, levels, bucket, norm, code;
};

static const struct cc_param table[] = {
    CC_PARAM_INT(struct params, bits, 4, 2, 16, "bits",
                 "levels -s .. s with s = 2^(bits-1) - 1, unless levels gives s"),
    CC_PARAM_INT(struct params, levels, 0, 0, 32767, "", "s itself; 0: from bits"),
    CC_PARAM_INT(struct params, bucket, 512, 0, 1 << 30, "values",
                 "values that share a norm; 0: the whole tensor"),
    CC_PARAM_CHOICE(struct params, norm, NORM_MAX, norms,
                    "what a level is a fraction of: largest magnitude or 2-norm"),
    CC_PARAM_CHOICE(struct params, code, CODE_FIXED, codes,
                    "how levels become bits: fixed width, or Elias omega of the nonzero ones"),
    {.name = NULL},
};

static struct cc_qsgd_form form_of(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    bool whole = p->bucket == 0 || (uint64_t)p->bucket > shape->n;
    struct cc_qsgd_form f = {.bucket = whole ? shape->n : (size_t)p->bucket,
                             .l2 = p->norm == NORM_L2};
    f.s = p->levels != 0 ? (int)p->levels : (1 << (p->bits - 1)) - 1;
    f.width = 32 - (unsigned)__builtin_clz(2u * (unsigned)f.s); /* ceil(log2(2 s + 1)) */
    return f;
}

static size_t bound(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    if (shape->n >= CC_OMEGA_MAX)
        return SIZE_MAX;
    if (shape->n == 0)
        return 0;
    struct cc_qsgd_form f = form_of(params, shape);
    if (p->code == CODE_FIXED)
        return cc_qsgd_total_bytes(&f, shape->n, cc_qsgd_fixed_bytes);
    return cc_qsgd_total_bytes(&f, shape->n, cc_qsgd_elias_bytes) +
           cc_qsgd_elias_room(&f, shape->n);
}

static size_t scratch_bytes(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    if (p->code == CODE_FIXED || shape->n == 0)
        return 0;
    struct cc_qsgd_form f = form_of(params, shape);
    return shape->n < CC_OMEGA_MAX ? cc_qsgd_elias_scratch(&f, shape->n) : SIZE_MAX;
}

static struct cc_traffic traffic(const void *params)
{
    const struct params *p = params;
    return p->bucket == 0 ? cc_traffic_two(0) : cc_traffic_one(0);
}

/* The Elias code reads a bucket, which may be the tensor, more than once. */
static bool widens(const void *params)
{
    return ((const struct params *)params)->code == CODE_ELIAS;
}

static int encode_from(const struct cc_codec *c, const struct cc_context *ctx, struct cc_elements x,
                       uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    const struct params *p = c->params;
    struct cc_qsgd_form f = form_of(p, &c->shape);
    return p->code == CODE_FIXED ? cc_qsgd_fixed_encode(&f, c, ctx, x, out, len, e)
                                 : cc_qsgd_elias_encode(&f, c, ctx, x.at, out, len, e);
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    (void)ctx;
    const struct params *p = c->params;
    const struct cc_qsgd_form f = form_of(p, &c->shape);
    const struct cc_qsgd_use use = {.add = scale != NULL,
                                    .scale = scale != NULL ? *scale : 0,
                                    .nontemporal = scale == NULL &&
                                                   cc_use_nontemporal(c->shape.n * sizeof *y)};
    return p->code == CODE_FIXED ? cc_qsgd_fixed_decode(&f, c, in, len, &use, y, e)
                                 : cc_qsgd_elias_decode(&f, c, in, len, &use, y, e);
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
    .encode_from = encode_from,
    .widens = widens,
    .decode = decode,
};
