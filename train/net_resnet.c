/* Residual nets for small images: K. He et al., Deep residual learning for image recognition, 2016,
 * section 4.2, with shortcuts without parameters: where the channels double and the sides halve, a
 * shortcut passes on every second place, and new channels get zeros. Tensors are named as in the
 * nets of `commcomp nets`. */
#include <stdio.h>
#include <stdlib.h>

#include "train/build.h"

/* "20", "8:width=32": depth 6 n + 2, and the channels of the first stage. */
static bool parse(const char *rest, size_t *blocks, size_t *width)
{
    char *end = NULL;
    unsigned long depth = rest[0] >= '1' && rest[0] <= '9' ? strtoul(rest, &end, 10) : 0;
    if (depth < 8 || depth > 1202 || depth % 6 != 2)
        return false;
    *blocks = (depth - 2) / 6;
    *width = 16;
    return cc_build_width(end, width);
}

void cc_family_resnet(struct cc_build *b, const char *rest)
{
    size_t blocks = 0, width = 0;
    char conv[32], norm[32];
    if (!parse(rest, &blocks, &width)) {
        b->status = cc_usage(b->e,
                             "resnet%s: expected a depth of 6 n + 2 from 8 to 1202, and perhaps a "
                             "width of 1 to 9999 channels, as in resnet20 and resnet8:width=32",
                             rest);
        return;
    }
    if (b->model->config.height < 4 || b->model->config.width < 4) {
        b->status = cc_usage(b->e,
                             "resnet%s: images of %zu x %zu are too small: it halves their "
                             "sides twice, so they must be 4 x 4 or larger",
                             rest, b->model->config.height, b->model->config.width);
        return;
    }
    struct cc_act *x = cc_layer_conv(b, "conv1", cc_layer_input_blocks(b), width, 1);
    x = cc_layer_norm(b, "bn1", x, NULL, true);
    for (size_t i = 0; i < 3 * blocks; i++) {
        size_t stage = i / blocks, stride = stage > 0 && i % blocks == 0 ? 2 : 1;
        struct cc_act *y = x;
        for (int k = 1; k <= 2; k++) {
            (void)snprintf(conv, sizeof conv, "layers.%zu.c%d", i, k);
            (void)snprintf(norm, sizeof norm, "layers.%zu.b%d", i, k);
            y = cc_layer_conv(b, conv, y, width << stage, k == 1 ? stride : 1);
            y = cc_layer_norm(b, norm, y, k == 2 ? x : NULL, true);
        }
        x = y;
    }
    cc_layer_loss(b, cc_layer_dense(b, "fc", cc_layer_mean(b, x), b->model->config.classes, 1));
}
