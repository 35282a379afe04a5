/* Layers between images, blocks and columns: the input, pooling, and flattening. */
#include <string.h>

#include "train/build.h"
#include "train/share.h"

/* --- input --- */

static void input_images(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to)
{
    const struct cc_act *a = l->out;
    for (size_t n = from; n < to; n++)
        for (size_t c = 0; c < a->channels; c++)
            for (size_t y = 0; y < a->height; y++) {
                const float *in = p->images + ((n * a->channels + c) * a->height + y) * a->width;
                float *out = a->value + n * cc_act_image(a) + c / CC_TRAIN_GROUP * cc_act_plane(a) +
                             cc_act_at(a, y, 0) + c % CC_TRAIN_GROUP;
                for (size_t x = 0; x < a->width; x++)
                    out[x * CC_TRAIN_GROUP] = in[x];
            }
}

static void input_forward(struct cc_layer *l, const struct cc_pass *p)
{
    cc_share(l, p, p->count, cc_act_image(l->out), 1, input_images);
}

static const struct cc_layer_ops input_ops = {.forward = input_forward};

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
            const float *in = a->value + n * cc_act_image(a) +
                              c / CC_TRAIN_GROUP * cc_act_plane(a) + c % CC_TRAIN_GROUP;
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
            float *in = a->grad + n * cc_act_image(a) + c / CC_TRAIN_GROUP * cc_act_plane(a) +
                        c % CC_TRAIN_GROUP;
            for (size_t y = 0; y < a->height; y++)
                for (size_t x = 0; x < a->width; x++)
                    in[cc_act_at(a, y, x)] = l->out->grad[c * p->stride + n] * by;
        }
}

static void mean_forward(struct cc_layer *l, const struct cc_pass *p)
{
    cc_share(l, p, p->count, cc_act_image(l->in), 1, mean_images);
}

static void mean_backward(struct cc_layer *l, const struct cc_pass *p)
{
    cc_share(l, p, p->count, cc_act_image(l->in), 1, mean_images_back);
}

static const struct cc_layer_ops mean_ops = {mean_forward, mean_backward};

struct cc_act *cc_layer_mean(struct cc_build *b, struct cc_act *in)
{
    if (in == NULL)
        return NULL;
    struct cc_act *out = cc_build_columns(b, in->channels, 1);
    (void)cc_build_layer(b, sizeof(struct cc_layer), &mean_ops, in, out);
    return out;
}
