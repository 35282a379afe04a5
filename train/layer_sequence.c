/* Layers on sequences of columns: the input, positions, layer normalization, attention, sums, and
 * what makes one column of a sequence. */
#include <string.h>

#include "train/build.h"
#include "train/kernels/sequence.h"
#include "train/product.h"
#include "train/share.h"

/* --- input: an image's rows are the places, with a feature for each channel and column --- */

struct input {
    struct cc_layer layer;
    size_t channels;
};

static void input_forward(struct cc_layer *l, const struct cc_pass *p)
{
    size_t channels = ((const struct input *)l)->channels, width = l->out->channels / channels;
    size_t places = l->out->places, row = places * p->stride;
    for (size_t n = 0; n < p->count; n++)
        for (size_t c = 0; c < channels; c++)
            for (size_t y = 0; y < places; y++)
                for (size_t x = 0; x < width; x++)
                    l->out->value[(c * width + x) * row + y * p->stride + n] =
                        p->images[((n * channels + c) * places + y) * width + x];
}

static const struct cc_layer_ops input_ops = {.forward = input_forward};

struct cc_act *cc_layer_input_rows(struct cc_build *b)
{
    const struct cc_model_config *c = &b->model->config;
    struct cc_act *out = cc_build_columns(b, c->channels * c->width, c->height);
    struct input *l = cc_build_layer(b, sizeof *l, &input_ops, NULL, out);
    if (l != NULL)
        l->channels = c->channels;
    return out;
}

/* --- positions: a vector for each place is added, in place --- */

static void position_forward(struct cc_layer *l, const struct cc_pass *p)
{
    const struct cc_act *a = l->out;
    for (size_t d = 0; d < a->channels; d++)
        for (size_t t = 0; t < a->places; t++) {
            float plus = p->weights[l->offset[0] + t * a->channels + d];
            float *x = a->value + (d * a->places + t) * p->stride;
            for (size_t n = 0; n < p->stride; n++)
                x[n] += plus;
        }
}

static void position_backward(struct cc_layer *l, const struct cc_pass *p)
{
    const struct cc_act *a = l->out;
    for (size_t d = 0; d < a->channels; d++)
        for (size_t t = 0; t < a->places; t++)
            p->gradient[l->offset[0] + t * a->channels + d] =
                k_dense()->sum(a->grad + (d * a->places + t) * p->stride, p->stride);
}

static const struct cc_layer_ops position_ops = {.forward = position_forward,
                                                 .backward = position_backward};

struct cc_act *cc_layer_position(struct cc_build *b, const char *name, struct cc_act *in)
{
    if (cc_build_layer(b, sizeof(struct cc_layer), &position_ops, in, in) == NULL)
        return in;
    cc_build_tensor(b, name, ".weight", (const size_t[]){in->places, in->channels}, 2,
                    CC_TENSOR_WEIGHT, 0.03, 0);
    return in;
}

/* --- layer normalization --- */

struct norm {
    struct cc_layer layer;
    float *mean, *inverse; /* by column */
};

static void norm_columns(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct norm *m = (const struct norm *)l;
    for (size_t c = from * CC_TRAIN_GROUP; c < to * CC_TRAIN_GROUP; c += CC_TRAIN_GROUP)
        k_sequence()->norm(l->in->value + c, l->in->channels, l->in->places * p->stride,
                           p->weights + l->offset[0],
                           l->tensors > 1 ? p->weights + l->offset[1] : NULL, m->mean + c,
                           m->inverse + c, l->out->value + c);
}

static void norm_columns_back(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct norm *m = (const struct norm *)l;
    for (size_t c = from * CC_TRAIN_GROUP; c < to * CC_TRAIN_GROUP; c += CC_TRAIN_GROUP)
        k_sequence()->norm_back(l->in->value + c, l->in->channels, l->in->places * p->stride,
                                p->weights + l->offset[0], m->mean + c, m->inverse + c,
                                l->out->grad + c, l->in_adds, l->in->grad + c);
}

/* The columns that are there, in whole groups. */
static size_t norm_count(const struct cc_layer *l, const struct cc_pass *p)
{
    return l->in->places > 1 ? l->in->places * p->stride : cc_pass_columns(p);
}

static void norm_forward(struct cc_layer *l, const struct cc_pass *p)
{
    cc_share(l, p, norm_count(l, p) / CC_TRAIN_GROUP, 64 * l->in->channels, 1, norm_columns);
}

static void norm_backward(struct cc_layer *l, const struct cc_pass *p)
{
    const struct norm *m = (const struct norm *)l;
    const size_t row = l->in->places * p->stride, count = norm_count(l, p);
    for (size_t d = 0; d < l->in->channels; d++) {
        const float *dy = l->out->grad + d * row;
        p->gradient[l->offset[0] + d] =
            k_sequence()->norm_product(l->in->value + d * row, m->mean, m->inverse, dy, count);
        if (l->tensors > 1)
            p->gradient[l->offset[1] + d] = k_dense()->sum(dy, count);
    }
    cc_share(l, p, count / CC_TRAIN_GROUP, 64 * l->in->channels, 1, norm_columns_back);
}

static const struct cc_layer_ops norm_ops = {
    .forward = norm_forward, .backward = norm_backward, .adds = true};

struct cc_act *cc_layer_scale_norm(struct cc_build *b, const char *name, struct cc_act *in)
{
    struct cc_act *out = cc_build_columns(b, in->channels, in->places);
    struct norm *m = cc_build_layer(b, sizeof *m, &norm_ops, in, out);
    size_t columns = in->places * b->model->pass.stride;
    if (m == NULL)
        return out;
    m->mean = cc_build_memory(b, columns, sizeof(float));
    m->inverse = cc_build_memory(b, columns, sizeof(float));
    cc_build_tensor(b, name, ".weight", &in->channels, 1, CC_TENSOR_SCALE, 0, 1);
    return out;
}

struct cc_act *cc_layer_layer_norm(struct cc_build *b, const char *name, struct cc_act *in)
{
    struct cc_act *out = cc_layer_scale_norm(b, name, in);
    if (b->status == CC_OK)
        cc_build_tensor(b, name, ".bias", &in->channels, 1, CC_TENSOR_BIAS, 0, 0);
    return out;
}

/* --- attention (A. Vaswani et al., 2017), of all places to all --- */

struct attention {
    struct cc_layer layer;
    size_t heads;
    float *likely; /* for each head and 16 images */
};

/* Head and images of a unit of work; `part` 0 to 2: queries, keys or values. */
static size_t rows_at(const struct cc_layer *l, const struct cc_pass *p, size_t unit, size_t part)
{
    size_t groups = p->stride / CC_TRAIN_GROUP, head = unit / groups;
    size_t features = l->out->channels, each = features / ((const struct attention *)l)->heads;
    return (part * features + head * each) * l->in->places * p->stride +
           unit % groups * CC_TRAIN_GROUP;
}

static struct cc_attention unit_of(const struct cc_layer *l, const struct cc_pass *p, size_t unit)
{
    const struct attention *m = (const struct attention *)l;
    size_t places = l->in->places;
    return (struct cc_attention){.features = l->out->channels / m->heads,
                                 .places = places,
                                 .stride = p->stride,
                                 .row = places * p->stride,
                                 .q = l->in->value + rows_at(l, p, unit, 0),
                                 .k = l->in->value + rows_at(l, p, unit, 1),
                                 .v = l->in->value + rows_at(l, p, unit, 2),
                                 .likely = m->likely + unit * places * places * CC_TRAIN_GROUP,
                                 .out = l->out->value + rows_at(l, p, unit, 0)};
}

static void attention_units(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    for (size_t u = from; u < to; u++) {
        struct cc_attention a = unit_of(l, p, u);
        k_sequence()->attention(&a);
    }
}

static void attention_units_back(struct cc_layer *l, const struct cc_pass *p, size_t from,
                                 size_t to)
{
    for (size_t u = from; u < to; u++) {
        struct cc_attention a = unit_of(l, p, u);
        k_sequence()->attention_back(
            &a, l->out->grad + rows_at(l, p, u, 0), l->in->grad + rows_at(l, p, u, 0),
            l->in->grad + rows_at(l, p, u, 1), l->in->grad + rows_at(l, p, u, 2));
    }
}

static void attention_run(struct cc_layer *l, const struct cc_pass *p,
                          void (*work)(struct cc_layer *, const struct cc_pass *, size_t, size_t))
{
    size_t units = ((const struct attention *)l)->heads * p->stride / CC_TRAIN_GROUP;
    size_t places = l->in->places;
    cc_share(l, p, units, 64 * places * places * l->out->channels, 1, work);
}

static void attention_forward(struct cc_layer *l, const struct cc_pass *p)
{
    attention_run(l, p, attention_units);
}

static void attention_backward(struct cc_layer *l, const struct cc_pass *p)
{
    attention_run(l, p, attention_units_back);
}

static const struct cc_layer_ops attention_ops = {.forward = attention_forward,
                                                  .backward = attention_backward};

struct cc_act *cc_layer_attention(struct cc_build *b, struct cc_act *in, size_t heads)
{
    struct cc_act *out = cc_build_columns(b, in->channels / 3, in->places);
    struct attention *m = cc_build_layer(b, sizeof *m, &attention_ops, in, out);
    if (m == NULL)
        return out;
    m->heads = heads;
    m->likely =
        cc_build_memory(b, heads * in->places * in->places * b->model->pass.stride, sizeof(float));
    return out;
}

/* --- sums: in + side --- */

static void sum_forward(struct cc_layer *l, const struct cc_pass *p)
{
    (void)p;
    for (size_t i = 0; i < l->out->size; i++)
        l->out->value[i] = l->in->value[i] + l->side->value[i];
}

/* The side's gradient is the output's own array. */
static void sum_backward(struct cc_layer *l, const struct cc_pass *p)
{
    (void)p;
    memcpy(l->in->grad, l->out->grad, l->out->size * sizeof(float));
}

static const struct cc_layer_ops sum_ops = {.forward = sum_forward, .backward = sum_backward};

struct cc_act *cc_layer_sum(struct cc_build *b, struct cc_act *in, struct cc_act *side)
{
    struct cc_act *out = cc_build_columns(b, in->channels, in->places);
    struct cc_layer *l = cc_build_layer(b, sizeof *l, &sum_ops, in, out);
    if (l != NULL)
        l->side = side;
    return out;
}

/* --- one column of a sequence: the last place, or the mean over places --- */

static void last_forward(struct cc_layer *l, const struct cc_pass *p)
{
    size_t row = l->in->places * p->stride;
    for (size_t d = 0; d < l->in->channels; d++)
        memcpy(l->out->value + d * p->stride, l->in->value + (d + 1) * row - p->stride,
               p->stride * sizeof(float));
}

static void last_backward(struct cc_layer *l, const struct cc_pass *p)
{
    size_t row = l->in->places * p->stride;
    memset(l->in->grad, 0, l->in->size * sizeof(float));
    for (size_t d = 0; d < l->in->channels; d++)
        memcpy(l->in->grad + (d + 1) * row - p->stride, l->out->grad + d * p->stride,
               cc_pass_columns(p) * sizeof(float));
}

static const struct cc_layer_ops last_ops = {.forward = last_forward, .backward = last_backward};

static void average_forward(struct cc_layer *l, const struct cc_pass *p)
{
    float by = 1.0f / (float)l->in->places;
    for (size_t d = 0; d < l->in->channels; d++) {
        const float *x = l->in->value + d * l->in->places * p->stride;
        for (size_t n = 0; n < p->stride; n++) {
            float sum = 0;
            for (size_t t = 0; t < l->in->places; t++)
                sum += x[t * p->stride + n];
            l->out->value[d * p->stride + n] = sum * by;
        }
    }
}

static void average_backward(struct cc_layer *l, const struct cc_pass *p)
{
    float by = 1.0f / (float)l->in->places;
    for (size_t d = 0; d < l->in->channels; d++)
        for (size_t t = 0; t < l->in->places; t++)
            for (size_t n = 0; n < p->stride; n++)
                l->in->grad[(d * l->in->places + t) * p->stride + n] =
                    n < p->count ? l->out->grad[d * p->stride + n] * by : 0;
}

static const struct cc_layer_ops average_ops = {.forward = average_forward,
                                                .backward = average_backward};

static struct cc_act *one_place(struct cc_build *b, const struct cc_layer_ops *ops,
                                struct cc_act *in)
{
    struct cc_act *out = cc_build_columns(b, in->channels, 1);
    (void)cc_build_layer(b, sizeof(struct cc_layer), ops, in, out);
    return out;
}

struct cc_act *cc_layer_last_place(struct cc_build *b, struct cc_act *in)
{
    return one_place(b, &last_ops, in);
}

struct cc_act *cc_layer_mean_place(struct cc_build *b, struct cc_act *in)
{
    return one_place(b, &average_ops, in);
}
