/* Layers inside a language model's blocks: causal attention, rotary positions, and the units of the
 * multilayer perceptron. Each token is a column, and a sample's tokens are `context` columns in a
 * row.
 *
 * Attention keeps scores by columns: column i has those of query i, row j that of key j. Products
 * run over blocks of BLOCK queries and leave out the keys behind each block, and softmax writes
 * zeros for those behind the query in it. */
#include <math.h>
#include <string.h>

#include "train/build.h"
#include "train/kernels/tokens.h"
#include "train/math.h"
#include "train/product.h"
#include "train/share.h"

/* Larger blocks compute more scores that are then left out, smaller ones run more products. */
#define BLOCK ((size_t)32)

/* --- causal attention (A. Vaswani et al., 2017, section 3.2.3) --- */

struct causal {
    struct cc_layer layer;
    size_t heads, context;
    float *likely; /* [batch][heads][context][context], keys first */
};

/* A sample's head: rows of `features`, p->stride apart. */
struct head {
    size_t features, context, row;
    const float *q, *k, *v;
    float *likely;
};

static size_t row_at(const struct cc_layer *l, const struct cc_pass *p, size_t unit, size_t part)
{
    const struct causal *m = (const struct causal *)l;
    const size_t features = l->out->channels, each = features / m->heads;
    return (part * features + unit % m->heads * each) * p->stride + unit / m->heads * m->context;
}

static struct head head_of(const struct cc_layer *l, const struct cc_pass *p, size_t unit)
{
    const struct causal *m = (const struct causal *)l;
    return (struct head){.features = l->out->channels / m->heads,
                         .context = m->context,
                         .row = p->stride,
                         .q = l->in->value + row_at(l, p, unit, 0),
                         .k = l->in->value + row_at(l, p, unit, 1),
                         .v = l->in->value + row_at(l, p, unit, 2),
                         .likely = m->likely + unit * m->context * m->context};
}

static void run(const struct cc_product *p)
{
    k_dense()->product(p, 0, p->rows);
}

static size_t block_end(size_t from, size_t context)
{
    return from + BLOCK < context ? from + BLOCK : context;
}

static float scale_of(const struct head *h)
{
    return 1.0f / sqrtf((float)h->features);
}

/* out[j][i] = the sum over features of x at j and y at i, for i from the block of j on. */
static void pairs(const struct head *h, const float *x, const float *y, float *out)
{
    for (size_t j = 0; j < h->context; j += BLOCK)
        run(&(struct cc_product){.rows = block_end(j, h->context) - j,
                                 .cols = h->context - j,
                                 .depth = h->features,
                                 .a = x + j,
                                 .a_row = 1,
                                 .a_col = h->row,
                                 .b = y + j,
                                 .b_row = h->row,
                                 .c = out + j * h->context + j,
                                 .c_row = h->context});
}

/* out at i = the sum over keys j of x at j times by[j][i]. */
static void over_keys(const struct head *h, const float *x, const float *by, float *out)
{
    for (size_t i = 0; i < h->context; i += BLOCK)
        run(&(struct cc_product){.rows = h->features,
                                 .cols = block_end(i, h->context) - i,
                                 .depth = block_end(i, h->context),
                                 .a = x,
                                 .a_row = h->row,
                                 .a_col = 1,
                                 .b = by + i,
                                 .b_row = h->context,
                                 .c = out + i,
                                 .c_row = h->row});
}

/* out at j = the sum over queries i of x at i times by[j][i]. Room for two transposed heads. */
static void over_queries(const struct head *h, const float *x, const float *by, float *room,
                         float *out)
{
    const size_t row = cc_train_groups(h->features) * CC_TRAIN_GROUP, all = h->context;
    float *sums = room + all * row;
    k_dense()->transpose(x, h->features, all, h->row, room, row);
    for (size_t j = 0; j < all; j += BLOCK)
        run(&(struct cc_product){.rows = block_end(j, all) - j,
                                 .cols = h->features,
                                 .depth = all - j,
                                 .a = by + j * all + j,
                                 .a_row = all,
                                 .a_col = 1,
                                 .b = room + j * row,
                                 .b_row = row,
                                 .c = sums + j * row,
                                 .c_row = row});
    k_dense()->transpose(sums, all, h->features, row, out, h->row);
}

static void causal_units(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    for (size_t u = from; u < to; u++) {
        const struct head h = head_of(l, p, u);
        pairs(&h, h.k, h.q, h.likely);
        for (size_t i = 0; i < h.context; i += CC_TRAIN_GROUP)
            k_tokens()->softmax(h.likely + i, h.context, block_end(i / BLOCK * BLOCK, h.context), i,
                                scale_of(&h));
        over_keys(&h, h.v, h.likely, l->out->value + row_at(l, p, u, 0));
    }
}

/* Floats of scratch for a unit: gradients of the scores, and two transposed heads. */
static size_t room_of(const struct causal *m)
{
    const size_t features = m->layer.out->channels / m->heads;
    return m->context * m->context + 2 * m->context * cc_train_groups(features) * CC_TRAIN_GROUP;
}

static void causal_units_back(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    float *slope = p->scratch + from * room_of((const struct causal *)l);
    for (size_t u = from; u < to; u++) {
        const struct head h = head_of(l, p, u);
        const float *dout = l->out->grad + row_at(l, p, u, 0);
        float *room = slope + h.context * h.context;
        pairs(&h, h.v, dout, slope);
        for (size_t i = 0; i < h.context; i += CC_TRAIN_GROUP)
            k_tokens()->softmax_back(h.likely + i, slope + i, h.context,
                                     block_end(i / BLOCK * BLOCK, h.context), scale_of(&h));
        over_keys(&h, h.k, slope, l->in->grad + row_at(l, p, u, 0));
        over_queries(&h, h.q, slope, room, l->in->grad + row_at(l, p, u, 1));
        over_queries(&h, dout, h.likely, room, l->in->grad + row_at(l, p, u, 2));
    }
}

static void causal_run(struct cc_layer *l, const struct cc_pass *p,
                       void (*work)(struct cc_layer *, const struct cc_pass *, size_t, size_t))
{
    const struct causal *m = (const struct causal *)l;
    cc_share(l, p, p->count / m->context * m->heads,
             m->context * m->context * l->out->channels / m->heads, 1, work);
}

static void causal_forward(struct cc_layer *l, const struct cc_pass *p)
{
    causal_run(l, p, causal_units);
}

static void causal_backward(struct cc_layer *l, const struct cc_pass *p)
{
    causal_run(l, p, causal_units_back);
}

static const struct cc_layer_ops causal_ops = {.forward = causal_forward,
                                               .backward = causal_backward};

struct cc_act *cc_layer_causal(struct cc_build *b, struct cc_act *in, size_t heads, size_t context)
{
    struct cc_act *out = cc_build_columns(b, in->channels / 3, 1);
    struct causal *m = cc_build_layer(b, sizeof *m, &causal_ops, in, out);
    if (m == NULL)
        return out;
    m->heads = heads;
    m->context = context;
    const size_t units = b->model->config.batch * heads;
    m->likely = cc_build_memory(b, units * context * context, sizeof(float));
    cc_build_scratch(b, units * room_of(m));
    return out;
}

/* --- rotary positions: pairs of features of queries and keys turn by place x 10000^(-2 i / n),
 * where the pair i of a head's n features is (i, i + n / 2) --- */

struct rotate {
    struct cc_layer layer;
    size_t heads, context;
    float *cosine, *sine, *back; /* [n / 2][context]; back: the sines of the opposite angles */
};

static void turn_pairs(const struct cc_layer *l, const struct cc_pass *p, float *x,
                       const float *sine)
{
    const struct rotate *m = (const struct rotate *)l;
    const size_t width = l->in->channels / 3, half = width / m->heads / 2;
    for (size_t pair = 0; pair < width; pair++) { /* those of queries, then of keys */
        float *first = x + (pair / half * 2 * half + pair % half) * p->stride;
        const size_t angle = pair % half * m->context;
        for (size_t n = 0; n < p->count; n += m->context)
            k_tokens()->turn(first + n, first + half * p->stride + n, m->cosine + angle,
                             sine + angle, m->context);
    }
}

static void rotate_forward(struct cc_layer *l, const struct cc_pass *p)
{
    turn_pairs(l, p, l->out->value, ((const struct rotate *)l)->sine);
}

static void rotate_backward(struct cc_layer *l, const struct cc_pass *p)
{
    turn_pairs(l, p, l->out->grad, ((const struct rotate *)l)->back);
}

static const struct cc_layer_ops rotate_ops = {.forward = rotate_forward,
                                               .backward = rotate_backward};

/* cos(x) for x from 0 on. */
static double cosine_of(double x)
{
    const double turns = x * 0.15915494309189535, part = 2 * (turns - floor(turns));
    return cc_train_cos_pi(part > 1 ? 2 - part : part);
}

struct cc_act *cc_layer_rotate(struct cc_build *b, struct cc_act *in, size_t heads, size_t context)
{
    struct rotate *m = cc_build_layer(b, sizeof *m, &rotate_ops, in, in);
    const size_t half = in->channels / 3 / heads / 2;
    if (m == NULL)
        return in;
    m->heads = heads;
    m->context = context;
    m->cosine = cc_build_memory(b, half * context, sizeof(float));
    m->sine = cc_build_memory(b, half * context, sizeof(float));
    m->back = cc_build_memory(b, half * context, sizeof(float));
    for (size_t i = 0; m->back != NULL && i < half * context; i++) {
        const size_t pair = i / context, place = i % context;
        const double power = (double)pair / (double)half;
        const double angle = (double)place * cc_train_exp(-9.210340371976184 * power);
        m->cosine[i] = (float)cosine_of(angle);
        m->sine[i] = (float)cosine_of(angle + 4.71238898038469); /* 3 pi / 2 */
        m->back[i] = -m->sine[i];
    }
    return in;
}

/* --- the perceptron's units --- */

static void gelu_rows(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    for (size_t d = from; d < to; d++)
        k_tokens()->gelu(l->in->value + d * p->stride, l->out->value + d * p->stride,
                         cc_pass_columns(p));
}

static void gelu_rows_back(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    for (size_t d = from; d < to; d++)
        k_tokens()->gelu_back(l->in->value + d * p->stride, l->out->grad + d * p->stride,
                              l->in->grad + d * p->stride, cc_pass_columns(p));
}

static void gelu_forward(struct cc_layer *l, const struct cc_pass *p)
{
    cc_share(l, p, l->out->channels, 16 * p->count, 1, gelu_rows);
}

static void gelu_backward(struct cc_layer *l, const struct cc_pass *p)
{
    cc_share(l, p, l->out->channels, 16 * p->count, 1, gelu_rows_back);
}

static const struct cc_layer_ops gelu_ops = {.forward = gelu_forward, .backward = gelu_backward};

struct cc_act *cc_layer_gelu(struct cc_build *b, struct cc_act *in)
{
    struct cc_act *out = cc_build_columns(b, in->channels, 1);
    (void)cc_build_layer(b, sizeof(struct cc_layer), &gelu_ops, in, out);
    return out;
}

static void swiglu_rows(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const size_t half = l->out->channels * p->stride;
    for (size_t d = from; d < to; d++) {
        const float *gate = l->in->value + d * p->stride;
        k_tokens()->swiglu(gate, gate + half, l->out->value + d * p->stride, cc_pass_columns(p));
    }
}

static void swiglu_rows_back(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const size_t half = l->out->channels * p->stride;
    for (size_t d = from; d < to; d++) {
        const float *gate = l->in->value + d * p->stride;
        float *slope = l->in->grad + d * p->stride;
        k_tokens()->swiglu_back(gate, gate + half, l->out->grad + d * p->stride, slope,
                                slope + half, cc_pass_columns(p));
    }
}

static void swiglu_forward(struct cc_layer *l, const struct cc_pass *p)
{
    cc_share(l, p, l->out->channels, 16 * p->count, 1, swiglu_rows);
}

static void swiglu_backward(struct cc_layer *l, const struct cc_pass *p)
{
    cc_share(l, p, l->out->channels, 16 * p->count, 1, swiglu_rows_back);
}

static const struct cc_layer_ops swiglu_ops = {.forward = swiglu_forward,
                                               .backward = swiglu_backward};

struct cc_act *cc_layer_swiglu(struct cc_build *b, struct cc_act *in)
{
    struct cc_act *out = cc_build_columns(b, in->channels / 2, 1);
    (void)cc_build_layer(b, sizeof(struct cc_layer), &swiglu_ops, in, out);
    return out;
}
