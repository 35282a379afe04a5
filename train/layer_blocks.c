/* Layers between images, blocks and columns: the input, pooling, and flattening. */
#include <string.h>

#include "train/build.h"
#include "train/kernels/pool.h"

/* --- input --- */

static void input_images(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct cc_act *a = l->out;
    for (size_t n = from; n < to; n++)
        for (size_t c = 0; c < a->channels; c++)
            for (size_t y = 0; y < a->height; y++) {
                const float *in = p->images + ((n * a->channels + c) * a->height + y) * a->width;
                float *out = a->value + cc_act_channel(a, n, c) + cc_act_at(a, y, 0);
                for (size_t x = 0; x < a->width; x++)
                    out[x * CC_TRAIN_GROUP] = in[x];
            }
}

static const struct cc_layer_ops input_ops = {.forward_images = input_images};

struct cc_act *cc_layer_input_blocks(struct cc_build *b)
{
    const struct cc_model_config *c = &b->model->config;
    struct cc_act *out = cc_build_blocks(b, c->channels, c->height, c->width);
    (void)cc_build_layer(b, sizeof(struct cc_layer), &input_ops, NULL, out);
    return out;
}

/* --- the mean over an image's places --- */

static void mean_images(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct cc_act *a = l->in;
    float by = 1.0f / (float)(a->height * a->width);
    for (size_t n = from; n < to; n++)
        for (size_t c = 0; c < a->channels; c++) {
            const float *in = a->value + cc_act_channel(a, n, c);
            float sum = 0;
            for (size_t y = 0; y < a->height; y++)
                for (size_t x = 0; x < a->width; x++)
                    sum += in[cc_act_at(a, y, x)];
            l->out->value[c * p->stride + n] = sum * by;
        }
}

static void mean_images_back(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct cc_act *a = l->in;
    float by = 1.0f / (float)(a->height * a->width);
    for (size_t n = from; n < to; n++)
        for (size_t c = 0; c < a->channels; c++) {
            float *in = a->grad + cc_act_channel(a, n, c);
            for (size_t y = 0; y < a->height; y++)
                for (size_t x = 0; x < a->width; x++)
                    in[cc_act_at(a, y, x)] = l->out->grad[c * p->stride + n] * by;
        }
}

static const struct cc_layer_ops mean_ops = {.forward_images = mean_images,
                                             .backward_images = mean_images_back};

struct cc_act *cc_layer_mean(struct cc_build *b, struct cc_act *in)
{
    struct cc_act *out = cc_build_columns(b, in->channels, 1);
    (void)cc_build_layer(b, sizeof(struct cc_layer), &mean_ops, in, out);
    return out;
}

/* --- the largest of 2 x 2 places --- */

static void largest_images(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct cc_act *x = l->in, *y = l->out;
    (void)p;
    for (size_t n = from; n < to; n++)
        for (size_t g = 0; g < cc_train_groups(x->channels); g++)
            for (size_t r = 0; r < y->height; r++)
                k_pool()->largest(cc_act_group(x, n, g) + cc_act_at(x, 2 * r, 0), cc_act_row(x),
                                  y->width, cc_act_group(y, n, g) + cc_act_at(y, r, 0));
}

static void largest_images_back(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct cc_act *x = l->in, *y = l->out;
    (void)p;
    for (size_t n = from; n < to; n++)
        for (size_t g = 0; g < cc_train_groups(x->channels); g++) {
            size_t in = n * cc_act_image(x) + g * cc_act_plane(x);
            size_t out = n * cc_act_image(y) + g * cc_act_plane(y);
            /* An odd side's last row or column is in no square. */
            if (x->height % 2 == 1)
                memset(x->grad + in + cc_act_at(x, x->height - 1, 0), 0,
                       x->width * CC_TRAIN_GROUP * sizeof(float));
            for (size_t r = 0; r < y->height; r++) {
                size_t top = in + cc_act_at(x, 2 * r, 0), at = out + cc_act_at(y, r, 0);
                k_pool()->largest_back(x->value + top, cc_act_row(x), y->width, y->value + at,
                                       y->grad + at, x->grad + top);
                for (size_t k = 0; x->width % 2 == 1 && k < 2; k++)
                    memset(x->grad + in + cc_act_at(x, 2 * r + k, x->width - 1), 0,
                           CC_TRAIN_GROUP * sizeof(float));
            }
        }
}

static const struct cc_layer_ops largest_ops = {.forward_images = largest_images,
                                                .backward_images = largest_images_back};

struct cc_act *cc_layer_max_pool(struct cc_build *b, struct cc_act *in)
{
    struct cc_act *out = cc_build_blocks(b, in->channels, in->height / 2, in->width / 2);
    (void)cc_build_layer(b, sizeof(struct cc_layer), &largest_ops, in, out);
    return out;
}

/* --- blocks as columns: a feature for each channel and place, places fastest --- */

static void flatten_images(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct cc_act *a = l->in;
    for (size_t n = from; n < to; n++) {
        float *out = l->out->value + n;
        for (size_t c = 0; c < a->channels; c++) {
            const float *in = a->value + cc_act_channel(a, n, c);
            for (size_t y = 0; y < a->height; y++)
                for (size_t x = 0; x < a->width; x++, out += p->stride)
                    *out = in[cc_act_at(a, y, x)];
        }
    }
}

static void flatten_images_back(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct cc_act *a = l->in;
    for (size_t n = from; n < to; n++) {
        const float *out = l->out->grad + n;
        for (size_t c = 0; c < a->channels; c++) {
            float *in = a->grad + cc_act_channel(a, n, c);
            for (size_t y = 0; y < a->height; y++)
                for (size_t x = 0; x < a->width; x++, out += p->stride)
                    in[cc_act_at(a, y, x)] = *out;
        }
    }
}

static const struct cc_layer_ops flatten_ops = {.forward_images = flatten_images,
                                                .backward_images = flatten_images_back};

struct cc_act *cc_layer_flatten(struct cc_build *b, struct cc_act *in)
{
    struct cc_act *out = cc_build_columns(b, in->channels * in->height * in->width, 1);
    (void)cc_build_layer(b, sizeof(struct cc_layer), &flatten_ops, in, out);
    return out;
}
