/* AlexNet for small images: the five convolutions of A. Krizhevsky, One weird trick for
 * parallelizing convolutional neural networks, 2014, with 3 x 3 taps and three halvings of the
 * sides, then three dense layers, which have most of the parameters. convnet has 64, 192, 384, 256
 * and 256 channels and 1,024 units; convnet:width=32 half as many. Tensors are named as in the net
 * alexnet of `commcomp nets`. */
#include "train/build.h"

void cc_family_convnet(struct cc_build *b, const char *rest)
{
    static const struct {
        const char *name;
        size_t width; /* in the net's own */
        bool halved;  /* its output */
    } convs[] = {{"features.0", 2, true},
                 {"features.3", 6, true},
                 {"features.6", 12, false},
                 {"features.8", 8, false},
                 {"features.10", 8, true}};
    const struct cc_model_config *config = &b->model->config;
    size_t width = 64;
    if (!cc_build_width(rest, &width) || width % 2 != 0) {
        b->status = cc_usage(b->e,
                             "convnet%s: expected an even width of 2 to 9998 channels, as in "
                             "convnet:width=32",
                             rest);
        return;
    }
    if (config->height < 8 || config->width < 8) {
        b->status = cc_usage(b->e,
                             "convnet%s: images of %zu x %zu are too small: it halves their "
                             "sides three times, so they must be 8 x 8 or larger",
                             rest, config->height, config->width);
        return;
    }
    struct cc_act *x = cc_layer_input_blocks(b);
    for (size_t i = 0; i < sizeof convs / sizeof convs[0]; i++) {
        x = cc_layer_conv(b, convs[i].name, x, convs[i].width * width / 2, 1);
        x = cc_layer_bias(b, convs[i].name, x);
        x = convs[i].halved ? cc_layer_max_pool(b, x) : x;
    }
    x = cc_layer_flatten(b, x);
    x = cc_layer_relu(b, cc_layer_dense(b, "classifier.1", x, width * 16, 2));
    x = cc_layer_relu(b, cc_layer_dense(b, "classifier.4", x, width * 16, 2));
    cc_layer_loss(b, cc_layer_dense(b, "classifier.6", x, config->classes, 1));
}
