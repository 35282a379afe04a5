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

/* The most values that are sent. */
static size_t most_sent(const struct params *p, size_t n)
{
    return cc_select_most(density_at(p, 0), n, CC_SELECT_EXACT);
}

static size_t bound(const void *params, const struct cc_shape *shape)
{
    return cc_bytes_product(most_sent(params, shape->n), CC_PAIR_BYTES);
}

/* u, then v. */
static size_t state_bytes(const void *params, const struct cc_shape *shape)
{
    (void)params;
    return cc_bytes_product(shape->n, 2 * sizeof(float));
}

/* Scratch memory of the selection in its most demanding stage. */
static size_t select_bytes(const struct params *p, size_t n)
{
    size_t most = cc_select_scratch(p->density, n, CC_SELECT_EXACT);
    double d = FIRST_STAGE;
    for (int s = 0; p->warmup > 0 && s < STAGES; s++, d *= STAGE_FACTOR) {
        size_t bytes = cc_select_scratch(d, n, CC_SELECT_EXACT);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static size_t scratch_bytes(const void *params, const struct cc_shape *shape)
{
    return cc_select_pairs_scratch(select_bytes(params, shape->n), most_sent(params, shape->n),
                                   shape->n);
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
    float *u = c->state;
    const struct cc_selection_input from = {
        .gradient = x, .sum = u + n, .momentum = u, .factor = (float)p->momentum, .n = n};
    CC_TRY(cc_pairs_check(n, ctx, "dgc", "cut the tensor", e));
    return cc_select_pairs(&from, density_at(p, ctx->step), CC_SELECT_EXACT, c->threads, ctx,
                           c->scratch, select_bytes(p, n), most_sent(p, n), out, len, e);
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
    .decode = cc_pairs_decode,
    .pair_cost = cc_pairs_cost,
    .to_pairs = cc_pairs_read,
    .residual_at = residual_at,
};
