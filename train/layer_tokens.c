/* Layers at the two ends of a language model: tokens, their embedding, the product with the same
 * matrix, and the cross entropy of every token. Each token is a column. */
#include <math.h>
#include <string.h>

#include "train/build.h"
#include "train/kernels/tokens.h"
#include "train/product.h"
#include "train/share.h"

/* --- tokens, as floats --- */

static void tokens_forward(struct cc_layer *l, const struct cc_pass *p)
{
    memcpy(l->out->value, p->images, p->count * sizeof *p->images);
}

static const struct cc_layer_ops tokens_ops = {.forward = tokens_forward};

struct cc_act *cc_layer_input_tokens(struct cc_build *b)
{
    struct cc_act *out = cc_build_columns(b, 1, 1);
    (void)cc_build_layer(b, sizeof(struct cc_layer), &tokens_ops, NULL, out);
    return out;
}

/* --- embedding --- */

struct embed {
    struct cc_layer layer;
    size_t context; /* 0: places have no vectors */
};

static size_t token_at(const struct cc_layer *l, size_t n)
{
    return (size_t)l->in->value[n];
}

/* Groups of 16 columns: of each feature, the values of 16 tokens. */
static void embed_columns(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const size_t width = l->out->channels, context = ((const struct embed *)l)->context;
    const float *vector = p->weights + l->offset[0];
    const float *place = context > 0 ? p->weights + l->offset[1] : NULL;
    for (size_t c = from * CC_TRAIN_GROUP; c < to * CC_TRAIN_GROUP; c++) {
        const float *x = vector + token_at(l, c < p->count ? c : 0) * width;
        const float *at = place != NULL ? place + c % context * width : NULL;
        for (size_t d = 0; d < width; d++)
            l->out->value[d * p->stride + c] = at != NULL ? x[d] + at[d] : x[d];
    }
}

static void embed_forward(struct cc_layer *l, const struct cc_pass *p)
{
    cc_share(l, p, cc_train_groups(p->count), 16 * l->out->channels, 1, embed_columns);
}

/* Adds to the gradient of the embedding, which has that of the output's product (tied, below). */
static void embed_backward(struct cc_layer *l, const struct cc_pass *p)
{
    const size_t width = l->out->channels, context = ((const struct embed *)l)->context;
    const size_t row = cc_train_groups(width) * CC_TRAIN_GROUP;
    float *vector = p->gradient + l->offset[0], *place = p->gradient + l->offset[1];
    k_dense()->transpose(l->out->grad, width, p->count, p->stride, p->scratch, row);
    for (size_t i = 0; i < context * width; i++)
        place[i] = 0;
    for (size_t n = 0; n < p->count; n++) {
        const float *from = p->scratch + n * row;
        float *to = vector + token_at(l, n) * width;
        for (size_t d = 0; d < width; d++)
            to[d] += from[d];
        for (size_t d = 0; context > 0 && d < width; d++)
            place[n % context * width + d] += from[d];
    }
}

static const struct cc_layer_ops embed_ops = {.forward = embed_forward, .backward = embed_backward};

struct cc_act *cc_layer_embed(struct cc_build *b, struct cc_act *in, size_t width, size_t context,
                              double bound)
{
    struct cc_act *out = cc_build_columns(b, width, 1);
    struct embed *l = cc_build_layer(b, sizeof *l, &embed_ops, in, out);
    if (l == NULL)
        return out;
    l->context = context;
    cc_build_tensor(b, "embed", ".weight", (const size_t[]){b->model->config.classes, width}, 2,
                    CC_TENSOR_WEIGHT, bound, 0);
    if (context > 0)
        cc_build_tensor(b, "position", ".weight", (const size_t[]){context, width}, 2,
                        CC_TENSOR_WEIGHT, bound, 0);
    cc_build_scratch(b, b->model->pass.stride * cc_train_groups(width) * CC_TRAIN_GROUP);
    return out;
}

/* --- the output's product, with the embedding's matrix: the first tensor of the net --- */

static void tied_forward(struct cc_layer *l, const struct cc_pass *p)
{
    const struct cc_product y = {.rows = l->out->channels,
                                 .cols = cc_pass_columns(p),
                                 .depth = l->in->channels,
                                 .a = p->weights,
                                 .a_row = l->in->channels,
                                 .a_col = 1,
                                 .b = l->in->value,
                                 .b_row = p->stride,
                                 .c = l->out->value,
                                 .c_row = p->stride};
    cc_product_run(&y, p->threads);
}

static void tied_backward(struct cc_layer *l, const struct cc_pass *p)
{
    struct cc_columns c = {
        .in = l->in->channels, .out = l->out->channels, .count = p->count, .row = p->stride};
    cc_product_weights(&c, l->out->grad, l->in->value, p->scratch, p->gradient, p->threads);
    c.count = cc_pass_columns(p);
    cc_product_input(&c, p->weights, l->out->grad, l->in->grad, l->in_adds, p->threads);
}

static const struct cc_layer_ops tied_ops = {
    .forward = tied_forward, .backward = tied_backward, .adds = true};

struct cc_act *cc_layer_tied(struct cc_build *b, struct cc_act *in, size_t out)
{
    struct cc_act *act = cc_build_columns(b, out, 1);
    (void)cc_build_layer(b, sizeof(struct cc_layer), &tied_ops, in, act);
    b->model->layout.tied = 1;
    return act;
}

/* --- loss --- */

struct loss {
    struct cc_layer layer;
    float *top, *sum; /* by column, as the kernel has them */
    int32_t *best;
};

static void loss_columns(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct loss *m = (const struct loss *)l;
    for (size_t c = from * CC_TRAIN_GROUP; c < to * CC_TRAIN_GROUP; c += CC_TRAIN_GROUP)
        k_tokens()->entropy(l->in->value + c, p->stride, l->in->channels, m->top + c, m->best + c,
                            m->sum + c);
}

static void loss_forward(struct cc_layer *l, const struct cc_pass *p)
{
    const struct loss *m = (const struct loss *)l;
    struct cc_model_score score = {0};
    cc_share(l, p, cc_train_groups(p->count), 256 * l->in->channels, 1, loss_columns);
    for (size_t n = 0; n < p->count; n++) {
        const double out = (double)l->in->value[(size_t)p->labels[n] * p->stride + n];
        score.loss += log((double)m->sum[n]) - (out - (double)m->top[n]);
        score.correct += m->best[n] == p->labels[n];
    }
    score.loss /= (double)p->count;
    *p->score = score;
}

static void loss_columns_back(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct loss *m = (const struct loss *)l;
    const float by = 1.0f / (float)p->count;
    for (size_t c = from * CC_TRAIN_GROUP; c < to * CC_TRAIN_GROUP; c += CC_TRAIN_GROUP) {
        k_tokens()->entropy_back(l->in->value + c, p->stride, l->in->channels, m->top + c,
                                 m->sum + c, by, l->in->grad + c);
        for (size_t n = c; n < c + CC_TRAIN_GROUP; n++)
            l->in->grad[(size_t)p->labels[n] * p->stride + n] -= by;
    }
}

/* A context is whole groups of columns, so that every column that is computed has a token. */
static void loss_backward(struct cc_layer *l, const struct cc_pass *p)
{
    cc_share(l, p, cc_train_groups(p->count), 256 * l->in->channels, 1, loss_columns_back);
}

static const struct cc_layer_ops loss_ops = {.forward = loss_forward, .backward = loss_backward};

void cc_layer_token_loss(struct cc_build *b, struct cc_act *in)
{
    struct loss *l = cc_build_layer(b, sizeof *l, &loss_ops, in, NULL);
    if (l == NULL)
        return;
    l->top = cc_build_memory(b, b->model->pass.stride, sizeof *l->top);
    l->sum = cc_build_memory(b, b->model->pass.stride, sizeof *l->sum);
    l->best = cc_build_memory(b, b->model->pass.stride, sizeof *l->best);
}
