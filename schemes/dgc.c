/* dgc: the values of largest magnitude of an accumulated momentum.
 *
 * The state is two tensors, u (momentum) and v (accumulated momentum). Each step
 *     u = momentum u + gradient,   v = v + u,
 * then the k = ceil(density n) largest |v| are sent as (u32 index, f32 value) in order of index
 * (pairs.h), and both u and v become 0 there: an unsent value keeps building up, with the momentum
 * it would have had (momentum correction), and a sent one starts afresh (momentum factor masking).
 *
 * Update and selection are one pass where a sample gives a threshold to start from, see
 * selection.c. In the first `warmup` steps the density falls from 25% by a factor of 4 in each of
 * five stages, but never below `density`.
 *
 * Source: Lin et al., Deep Gradient Compression, ICLR 2018, section 3. Gradient clipping is left to
 * the training program. */
#include "core/memory.h"
#include "schemes/pairs.h"
#include "schemes/scheme.h"
#include "schemes/selection.h"

struct params {
    double density, momentum;
    int64_t warmup;
};

static const struct cc_param table[] = {
    CC_PARAM_REAL(struct params, density, 0.001, 0, 1, "", "the share of the values that is sent",
                  .min_open = true),
    CC_PARAM_REAL(struct params, momentum, 0.9, 0, 1, "", "the momentum before the selection",
                  .max_open = true),
    CC_PARAM_INT(struct params, warmup, 0, 0, 1e12, "steps",
                 "steps in which the density falls from 25% in five stages"),
    {.name = NULL},
};

#define STAGES       5
#define FIRST_STAGE  0.25
#define STAGE_FACTOR 0.25

static double density_at(const struct params *p, uint64_t step)
{
    if (step >= (uint64_t)p->warmup)
        return p->density;
    double d = FIRST_STAGE;
    for (uint64_t s = STAGES * step / (uint64_t)p->warmup; s > 0; s--)
        d *= STAGE_FACTOR;
    return d > p->density ? d : p->density;
}

static double momentum(const void *params)
{
    const struct params *p = params;
    return p->momentum;
}

static double most_dense(const struct params *p)
{
    return density_at(p, 0);
}

static size_t bound(const void *params, const struct cc_shape *shape)
{
    size_t bytes;
    size_t most = cc_select_most(most_dense(params), shape->n, CC_SELECT_EXACT);
    return cc_mul(most, CC_PAIR_BYTES, &bytes) ? bytes : SIZE_MAX;
}

/* u, then v. */
static size_t state_bytes(const void *params, const struct cc_shape *shape)
{
    (void)params;
    size_t bytes;
    return cc_mul(shape->n, 2 * sizeof(float), &bytes) ? bytes : SIZE_MAX;
}

/* Scratch memory holds that of the selection in its most demanding stage, the values, then the
 * bitmap. The offset of the values. */
static size_t values_at(const struct params *p, size_t n)
{
    size_t most = cc_select_scratch(p->density, n, CC_SELECT_EXACT);
    double d = FIRST_STAGE;
    for (int s = 0; p->warmup > 0 && s < STAGES; s++, d *= STAGE_FACTOR) {
        size_t bytes = cc_select_scratch(d, n, CC_SELECT_EXACT);
        most = bytes > most ? bytes : most;
    }
    if (most > SIZE_MAX - CC_ALIGN)
        return SIZE_MAX;
    return cc_align_up(most);
}

static size_t scratch_bytes(const void *params, const struct cc_shape *shape)
{
    const struct params *p = params;
    size_t bytes = values_at(p, shape->n), values;
    size_t most = cc_select_most(most_dense(p), shape->n, CC_SELECT_EXACT);
    if (!cc_mul(most, sizeof(float), &values) || __builtin_add_overflow(bytes, values, &bytes) ||
        __builtin_add_overflow(bytes, shape->n / 8 + 1, &bytes))
        return SIZE_MAX;
    return bytes;
}

/* Values that are given back belong to v, as values that have not been sent yet. Their u stays 0:
 * their momentum starts afresh, as that of sent values. */
static size_t residual_at(const void *params, const struct cc_shape *shape)
{
    (void)params;
    return shape->n * sizeof(float);
}

static struct cc_traffic traffic(const void *params)
{
    const struct params *p = params;
    struct cc_traffic t = cc_traffic_one(2);
    if (p->density > 1.0 / CC_SELECT_FEW) {
        t.passes = 2;
        t.pass[1].updates = 1; /* the sum */
    }
    return t;
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    const struct params *p = c->params;
    size_t n = c->shape.n;
    if (n > CC_PAIRS_MOST)
        return cc_fail(e, "tensor '%s': dgc has indices for 2^32 values only; cut the tensor",
                       ctx->name != NULL ? ctx->name : "?");
    float *u = c->state;
    struct cc_selection_input from = {
        .gradient = x, .sum = u + n, .momentum = u, .factor = (float)p->momentum, .n = n};
    uint8_t *values = (uint8_t *)c->scratch + values_at(p, n);
    size_t most = cc_select_most(most_dense(p), n, CC_SELECT_EXACT);
    struct cc_selection to = {.bits = values + sizeof(float) * most, .values = values};
    double density = density_at(p, ctx->step);
    CC_TRY(cc_select(&from, density, CC_SELECT_EXACT, c->threads, ctx, c->scratch, &to, e));
    cc_pairs_put(to.bits, n, to.values, out);
    *len = CC_PAIR_BYTES * to.count;
    return CC_OK;
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    (void)ctx;
    struct cc_indexed pairs = {.payload = in, .end = len, .n = c->shape.n};
    return cc_indexed_decode(&pairs, c->threads, scale, y, e);
}

static struct cc_pair_cost pair_cost(const void *params)
{
    (void)params;
    return (struct cc_pair_cost){.pair_bits = 8 * CC_PAIR_BYTES};
}

static int to_pairs(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                    size_t len, uint32_t base, struct cc_index_value *out, size_t cap,
                    size_t *count, struct cc_error *e)
{
    (void)ctx;
    struct cc_indexed pairs = {.payload = in, .end = len, .n = c->shape.n};
    return cc_indexed_to_pairs(&pairs, base, out, cap, count, e);
}

const struct cc_scheme cc_scheme_dgc = {
    .id = "dgc",
    .title = "deep gradient compression",
    .reference = "Lin et al., Deep Gradient Compression, ICLR 2018, section 3",
    .layout = "(u32 index, f32 value) for each value that is sent",
    .flags = CC_LOSSY | CC_FEEDBACK | CC_SPARSE,
    .kind = CC_PAIRS,
    .params = table,
    .params_bytes = sizeof(struct params),
    .momentum = momentum,
    .bound = bound,
    .traffic = traffic,
    .state_bytes = state_bytes,
    .scratch_bytes = scratch_bytes,
    .encode = encode,
    .decode = decode,
    .pair_cost = pair_cost,
    .to_pairs = to_pairs,
    .residual_at = residual_at,
};
