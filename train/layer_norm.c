/* Batch normalization (S. Ioffe and C. Szegedy, 2015), with the shortcut and the ReLU that may
 * follow it: y = max(scale (x - mean) / deviation + shift + side, 0). */
#include <math.h>

#include "train/build.h"
#include "train/kernels/norm.h"
#include "train/share.h"

/* Added to variances, and the weight of a batch in the running statistics, as in PyTorch. */
#define EPSILON  1e-5
#define MOMENTUM 0.1

struct norm {
    struct cc_layer layer;
    bool relu;
    /* Two sums of 16 channels for each image and group. */
    float *sums;
    /* One for each channel, in whole groups. */
    double *inverse; /* 1 / deviation */
    float *mean, *scale, *shift, *by_dy, *by_x, *plus;
};

static struct cc_norm_area area_of(const struct cc_act *a)
{
    return (struct cc_norm_area){a->height, a->width, cc_act_row(a)};
}

static float *sums_of(const struct norm *m, size_t image, size_t group)
{
    return m->sums + (image * cc_train_groups(m->layer.in->channels) + group) * 2 * CC_TRAIN_GROUP;
}

/* The first place of a group of channels. */
static size_t at(const struct cc_act *a, size_t image, size_t group)
{
    return image * cc_act_image(a) + group * cc_act_plane(a) + cc_act_at(a, 0, 0);
}

/* The first sums of a channel, or the second, over all images. */
static double sum_over_images(const struct norm *m, const struct cc_pass *p, size_t channel,
                              size_t which)
{
    const size_t group = channel / CC_TRAIN_GROUP, lane = channel % CC_TRAIN_GROUP;
    double sum = 0;
    for (size_t n = 0; n < p->count; n++)
        sum += (double)sums_of(m, n, group)[which * CC_TRAIN_GROUP + lane];
    return sum;
}

/* --- forward --- */

static void moments(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct norm *m = (const struct norm *)l;
    struct cc_norm_area area = area_of(l->in);
    (void)p;
    for (size_t n = from; n < to; n++)
        for (size_t g = 0; g < cc_train_groups(l->in->channels); g++) {
            float *sums = sums_of(m, n, g);
            k_norm()->moments(&area, l->in->value + at(l->in, n, g), sums, sums + CC_TRAIN_GROUP);
        }
}

/* Mean and variance of a channel: images' own are combined in order (T. Chan et al., 1979). */
static void combine(const struct norm *m, const struct cc_pass *p, size_t channel, double *mean,
                    double *variance)
{
    size_t group = channel / CC_TRAIN_GROUP, lane = channel % CC_TRAIN_GROUP;
    double places = (double)(m->layer.in->height * m->layer.in->width);
    double squares = 0;
    *mean = sum_over_images(m, p, channel, 0) / (places * (double)p->count);
    for (size_t n = 0; n < p->count; n++) {
        const float *sums = sums_of(m, n, group);
        double off = (double)sums[lane] / places - *mean;
        squares += (double)sums[CC_TRAIN_GROUP + lane] + places * off * off;
    }
    *variance = squares / (places * (double)p->count);
}

static void find_scales(struct norm *m, const struct cc_pass *p)
{
    size_t channels = m->layer.in->channels;
    const float *scale = p->weights + m->layer.offset[0], *shift = p->weights + m->layer.offset[1];
    double places = (double)(p->count * m->layer.in->height * m->layer.in->width);
    for (size_t c = 0; c < channels; c++) {
        double mean, variance;
        if (p->training) {
            float *running = p->stats + m->layer.stats + c;
            combine(m, p, c, &mean, &variance);
            double unbiased = places > 1 ? variance * places / (places - 1) : variance;
            running[0] += (float)(MOMENTUM * (mean - (double)running[0]));
            running[channels] += (float)(MOMENTUM * (unbiased - (double)running[channels]));
        } else {
            mean = (double)p->running[m->layer.stats + c];
            variance = (double)p->running[m->layer.stats + channels + c];
        }
        m->inverse[c] = 1 / sqrt(variance + EPSILON);
        m->mean[c] = (float)mean;
        m->scale[c] = (float)((double)scale[c] * m->inverse[c]);
        m->shift[c] = (float)((double)shift[c] - mean * (double)scale[c] * m->inverse[c]);
    }
}

static void apply(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct norm *m = (const struct norm *)l;
    struct cc_norm_area area = area_of(l->in);
    const struct cc_act *side = l->side;
    (void)p;
    for (size_t n = from; n < to; n++)
        for (size_t g = 0; g < cc_train_groups(l->in->channels); g++) {
            struct cc_norm_side more = {NULL, 0, 0};
            if (side != NULL && g < cc_train_groups(side->channels)) {
                size_t step = side->width == l->in->width ? 1 : 2;
                more = (struct cc_norm_side){side->value + at(side, n, g), step * cc_act_row(side),
                                             step * CC_TRAIN_GROUP};
            }
            size_t lane = g * CC_TRAIN_GROUP;
            k_norm()->apply(&area, l->in->value + at(l->in, n, g), m->scale + lane, m->shift + lane,
                            &more, m->relu, l->out->value + at(l->out, n, g));
        }
}

static void norm_forward(struct cc_layer *l, const struct cc_pass *p)
{
    size_t cost = cc_act_image(l->in);
    if (p->training)
        cc_share(l, p, p->count, cost, 1, moments);
    find_scales((struct norm *)l, p);
    cc_share(l, p, p->count, cost, 1, apply);
}

/* --- backward --- */

/* The side's gradient is that of the output: all of it, or at every second place and in the
 * channels that the side has. */
static void side_gradient(const struct cc_layer *l, size_t image)
{
    const struct cc_act *side = l->side, *out = l->out;
    size_t step = side->width == out->width ? 1 : 2;
    for (size_t g = 0; g < cc_train_groups(side->channels); g++)
        for (size_t y = 0; y < side->height; y++) {
            float *to = side->grad + at(side, image, g) + y * cc_act_row(side);
            const float *from = out->grad + at(out, image, g) + y / step * cc_act_row(out);
            for (size_t x = 0; x < side->width; x++)
                for (size_t c = 0; c < CC_TRAIN_GROUP; c++) {
                    float here =
                        y % step == 0 && x % step == 0 ? from[x / step * CC_TRAIN_GROUP + c] : 0.0f;
                    float *value = to + x * CC_TRAIN_GROUP + c;
                    *value = l->side_adds ? *value + here : here;
                }
        }
}

static void back_sums(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct norm *m = (const struct norm *)l;
    struct cc_norm_area area = area_of(l->in);
    (void)p;
    for (size_t n = from; n < to; n++) {
        for (size_t g = 0; g < cc_train_groups(l->in->channels); g++) {
            float *sums = sums_of(m, n, g);
            k_norm()->back_sums(&area, l->in->value + at(l->in, n, g), m->mean + g * CC_TRAIN_GROUP,
                                l->out->value + at(l->out, n, g), m->relu,
                                l->out->grad + at(l->out, n, g), sums, sums + CC_TRAIN_GROUP);
        }
        if (l->side != NULL && !l->side_shares)
            side_gradient(l, n);
    }
}

static void back(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct norm *m = (const struct norm *)l;
    struct cc_norm_area area = area_of(l->in);
    (void)p;
    for (size_t n = from; n < to; n++)
        for (size_t g = 0; g < cc_train_groups(l->in->channels); g++) {
            size_t lane = g * CC_TRAIN_GROUP;
            k_norm()->back(&area, l->in->value + at(l->in, n, g), m->mean + lane,
                           l->out->grad + at(l->out, n, g), m->by_dy + lane, m->by_x + lane,
                           m->plus + lane, l->in->grad + at(l->in, n, g));
        }
}

/* With the normalized x^ = (x - mean) / deviation and N places:
 * dx = scale / deviation (dy - sum(dy) / N - x^ sum(dy x^) / N). */
static void norm_backward(struct cc_layer *l, const struct cc_pass *p)
{
    const struct norm *m = (const struct norm *)l;
    size_t cost = cc_act_image(l->in);
    double places = (double)(p->count * l->in->height * l->in->width);
    cc_share(l, p, p->count, cost, 1, back_sums);
    for (size_t c = 0; c < l->in->channels; c++) {
        double sum = sum_over_images(m, p, c, 0), product = sum_over_images(m, p, c, 1);
        double inverse = m->inverse[c];
        double scale = (double)p->weights[l->offset[0] + c] * inverse;
        p->gradient[l->offset[0] + c] = (float)(product * inverse);
        p->gradient[l->offset[1] + c] = (float)sum;
        m->by_dy[c] = (float)scale;
        m->by_x[c] = (float)(-scale * inverse * inverse * product / places);
        m->plus[c] = (float)(-scale * sum / places);
    }
    cc_share(l, p, p->count, cost, 1, back);
}

static const struct cc_layer_ops norm_ops = {.forward = norm_forward, .backward = norm_backward};

struct cc_act *cc_layer_norm(struct cc_build *b, const char *name, struct cc_act *in,
                             struct cc_act *side, bool relu)
{
    struct cc_act *out = cc_build_blocks(b, in->channels, in->height, in->width);
    struct norm *m = cc_build_layer(b, sizeof *m, &norm_ops, in, out);
    size_t groups = cc_train_groups(in->channels), lanes = groups * CC_TRAIN_GROUP;
    if (m == NULL)
        return out;
    m->layer.side = side;
    m->relu = relu;
    m->sums = cc_build_memory(b, b->model->config.batch * lanes * 2, sizeof(float));
    m->inverse = cc_build_memory(b, lanes, sizeof(double));
    float **constants[] = {&m->mean, &m->scale, &m->shift, &m->by_dy, &m->by_x, &m->plus};
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++)
        *constants[i] = cc_build_memory(b, lanes, sizeof(float));
    cc_build_tensor(b, name, ".weight", &in->channels, 1, CC_TENSOR_SCALE, 0, 1);
    cc_build_tensor(b, name, ".bias", &in->channels, 1, CC_TENSOR_BIAS, 0, 0);
    cc_build_stats(b, in->channels);
    return out;
}

/* --- bias: a normalization whose mean is 0 and whose scale is 1 --- */

static void bias_forward(struct cc_layer *l, const struct cc_pass *p)
{
    const struct norm *m = (const struct norm *)l;
    for (size_t c = 0; c < l->in->channels; c++)
        m->shift[c] = p->weights[l->offset[0] + c];
    cc_share(l, p, p->count, cc_act_image(l->in), 1, apply);
}

/* The gradient of the input is that of the output where that was above 0, in the same array. */
static void bias_backward(struct cc_layer *l, const struct cc_pass *p)
{
    const struct norm *m = (const struct norm *)l;
    cc_share(l, p, p->count, cc_act_image(l->in), 1, back_sums);
    for (size_t c = 0; c < l->in->channels; c++)
        p->gradient[l->offset[0] + c] = (float)sum_over_images(m, p, c, 0);
}

static const struct cc_layer_ops bias_ops = {.forward = bias_forward, .backward = bias_backward};

struct cc_act *cc_layer_bias(struct cc_build *b, const char *name, struct cc_act *in)
{
    struct norm *m = cc_build_layer(b, sizeof *m, &bias_ops, in, in);
    if (m == NULL)
        return in;
    size_t lanes = cc_train_groups(in->channels) * CC_TRAIN_GROUP;
    m->relu = true;
    m->sums = cc_build_memory(b, b->model->config.batch * lanes * 2, sizeof(float));
    float **constants[] = {&m->mean, &m->scale, &m->shift};
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++)
        *constants[i] = cc_build_memory(b, lanes, sizeof(float));
    for (size_t i = 0; m->scale != NULL && i < lanes; i++)
        m->scale[i] = 1;
    cc_build_tensor(b, name, ".bias", &in->channels, 1, CC_TENSOR_BIAS, 0, 0);
    return in;
}
