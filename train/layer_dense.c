/* Layers on columns: the input, dense layers, ReLU, and the loss. */
#include <math.h>
#include <string.h>

#include "train/build.h"
#include "train/math.h"
#include "train/product.h"

/* --- input --- */

static void input_forward(struct cc_layer *l, const struct cc_pass *p)
{
    size_t features = l->out->channels;
    k_dense()->transpose(p->images, p->count, features, features, l->out->value, p->stride);
}

static const struct cc_layer_ops input_ops = {.forward = input_forward};

struct cc_act *cc_layer_input_columns(struct cc_build *b)
{
    const struct cc_model_config *c = &b->model->config;
    struct cc_act *out = cc_build_columns(b, c->channels * c->height * c->width, 1);
    (void)cc_build_layer(b, sizeof(struct cc_layer), &input_ops, NULL, out);
    return out;
}

/* --- dense --- */

/* Columns that are computed, and those over which weights' gradients are summed. */
static size_t columns(const struct cc_act *a, const struct cc_pass *p)
{
    return a->places > 1 ? a->places * p->stride : cc_pass_columns(p);
}

static size_t summed_columns(const struct cc_act *a, const struct cc_pass *p)
{
    return a->places > 1 ? a->places * p->stride : p->count;
}

static void dense_forward(struct cc_layer *l, const struct cc_pass *p)
{
    struct cc_product y = {.rows = l->out->channels,
                           .cols = columns(l->in, p),
                           .depth = l->in->channels,
                           .a = p->weights + l->offset[0],
                           .a_row = l->in->channels,
                           .a_col = 1,
                           .b = l->in->value,
                           .b_row = l->in->places * p->stride,
                           .c = l->out->value,
                           .c_row = l->in->places * p->stride,
                           .bias = l->tensors > 1 ? p->weights + l->offset[1] : NULL};
    cc_product_run(&y, p->threads);
}

static void dense_backward(struct cc_layer *l, const struct cc_pass *p)
{
    size_t in = l->in->channels, out = l->out->channels, row = l->in->places * p->stride;
    struct cc_columns c = {.in = in, .out = out, .count = summed_columns(l->in, p), .row = row};
    cc_product_weights(&c, l->out->grad, l->in->value, p->scratch, p->gradient + l->offset[0],
                       p->threads);
    for (size_t o = 0; o < out && l->tensors > 1; o++)
        p->gradient[l->offset[1] + o] = k_dense()->sum(l->out->grad + o * row, c.count);
    c.count = columns(l->in, p);
    if (l->in_wanted)
        cc_product_input(&c, p->weights + l->offset[0], l->out->grad, l->in->grad, l->in_adds,
                         p->threads);
}

static const struct cc_layer_ops dense_ops = {
    .forward = dense_forward, .backward = dense_backward, .adds = true};

struct cc_act *cc_layer_product(struct cc_build *b, const char *name, struct cc_act *in, size_t out,
                                double gain)
{
    struct cc_act *act = cc_build_columns(b, out, in->places);
    double bound = sqrt(3 * gain / (double)in->channels); /* for the variance gain / in */
    if (cc_build_layer(b, sizeof(struct cc_layer), &dense_ops, in, act) == NULL)
        return act;
    cc_build_tensor(b, name, ".weight", (const size_t[]){out, in->channels}, 2, CC_TENSOR_WEIGHT,
                    bound, 0);
    cc_build_scratch(b, in->places * b->model->pass.stride * cc_train_groups(in->channels) *
                            CC_TRAIN_GROUP);
    return act;
}

struct cc_act *cc_layer_dense(struct cc_build *b, const char *name, struct cc_act *in, size_t out,
                              double gain)
{
    struct cc_act *act = cc_layer_product(b, name, in, out, gain);
    if (b->status == CC_OK)
        cc_build_tensor(b, name, ".bias", &out, 1, CC_TENSOR_BIAS, 0, 0);
    return act;
}

/* --- relu --- */

static void relu_forward(struct cc_layer *l, const struct cc_pass *p)
{
    (void)p;
    k_dense()->relu(l->out->value, l->out->size);
}

static void relu_backward(struct cc_layer *l, const struct cc_pass *p)
{
    (void)p;
    k_dense()->relu_back(l->out->value, l->out->grad, l->out->size);
}

static const struct cc_layer_ops relu_ops = {.forward = relu_forward, .backward = relu_backward};

struct cc_act *cc_layer_relu(struct cc_build *b, struct cc_act *in)
{
    (void)cc_build_layer(b, sizeof(struct cc_layer), &relu_ops, in, in);
    return in;
}

/* --- loss --- */

struct loss {
    struct cc_layer layer;
    double *top, *sum; /* by image: the largest output; the sum of exp(output - top) */
};

static void loss_forward(struct cc_layer *l, const struct cc_pass *p)
{
    const struct loss *loss = (const struct loss *)l;
    struct cc_model_score score = {0};
    for (size_t n = 0; n < p->count; n++) {
        const float *out = l->in->value + n;
        size_t best = 0, label = (size_t)p->labels[n];
        double sum = 0;
        for (size_t c = 1; c < l->in->channels; c++)
            best = out[c * p->stride] > out[best * p->stride] ? c : best;
        double top = (double)out[best * p->stride];
        for (size_t c = 0; c < l->in->channels; c++)
            sum += cc_train_exp((double)out[c * p->stride] - top);
        loss->top[n] = top;
        loss->sum[n] = sum;
        score.loss += log(sum) - ((double)out[label * p->stride] - top);
        score.correct += best == label;
    }
    score.loss /= (double)p->count;
    *p->score = score;
}

static void loss_backward(struct cc_layer *l, const struct cc_pass *p)
{
    const struct loss *loss = (const struct loss *)l;
    memset(l->in->grad, 0, l->in->size * sizeof(float));
    for (size_t n = 0; n < p->count; n++)
        for (size_t c = 0; c < l->in->channels; c++) {
            double out = (double)l->in->value[c * p->stride + n];
            double likely = cc_train_exp(out - loss->top[n]) / loss->sum[n];
            double is = c == (size_t)p->labels[n] ? 1 : 0;
            l->in->grad[c * p->stride + n] = (float)((likely - is) / (double)p->count);
        }
}

static const struct cc_layer_ops loss_ops = {.forward = loss_forward, .backward = loss_backward};

void cc_layer_loss(struct cc_build *b, struct cc_act *in)
{
    struct loss *l = cc_build_layer(b, sizeof *l, &loss_ops, in, NULL);
    if (l == NULL)
        return;
    l->top = cc_build_memory(b, b->model->config.batch, sizeof *l->top);
    l->sum = cc_build_memory(b, b->model->config.batch, sizeof *l->sum);
}
