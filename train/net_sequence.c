/* Nets that read an image row by row: an LSTM whose last output is classified, and a transformer
 * (A. Vaswani et al., Attention is all you need, 2017) of two encoder blocks with 4 heads, which
 * normalize before each part and add its result, and whose mean output is classified. */
#include <stdio.h>

#include "train/build.h"
#include "train/kernels/sequence.h"

#define HEADS  4
#define BLOCKS 2

static bool parse(struct cc_build *b, const char *net, const char *rest, size_t multiple,
                  size_t *width)
{
    if (cc_build_width(rest, width) && *width % multiple == 0)
        return true;
    b->status = cc_usage(b->e, "%s%s: expected a width of 1 to 9999 units%s, as in %s:width=64",
                         net, rest, multiple > 1 ? " that is a multiple of 4" : "", net);
    return false;
}

void cc_family_lstm(struct cc_build *b, const char *rest)
{
    size_t units = 128;
    if (!parse(b, "lstm", rest, 1, &units))
        return;
    struct cc_act *x = cc_layer_lstm(b, "lstm", cc_layer_input_rows(b), units);
    cc_layer_loss(b,
                  cc_layer_dense(b, "fc", cc_layer_last_place(b, x), b->model->config.classes, 1));
}

/* x + f(normalized x). */
static struct cc_act *block(struct cc_build *b, size_t i, struct cc_act *x, size_t width)
{
    char name[3][48];
    const char *const parts[2][3] = {{"norm1", "self_attn.in_proj", "self_attn.out_proj"},
                                     {"norm2", "linear1", "linear2"}};
    for (int k = 0; k < 2; k++) {
        for (int j = 0; j < 3; j++)
            (void)snprintf(name[j], sizeof name[j], "layers.%zu.%s", i, parts[k][j]);
        struct cc_act *y = cc_layer_layer_norm(b, name[0], x);
        if (k == 0)
            y = cc_layer_attention(b, cc_layer_dense(b, name[1], y, 3 * width, 1), HEADS);
        else
            y = cc_layer_relu(b, cc_layer_dense(b, name[1], y, 4 * width, 2));
        x = cc_layer_sum(b, cc_layer_dense(b, name[2], y, width, 1), x);
    }
    return x;
}

void cc_family_transformer(struct cc_build *b, const char *rest)
{
    size_t width = 64;
    if (!parse(b, "transformer", rest, HEADS, &width))
        return;
    if (b->model->config.height > CC_ATTENTION_PLACES) {
        b->status =
            cc_usage(b->e, "transformer: images of %zu rows are too high: it takes up to %d",
                     b->model->config.height, CC_ATTENTION_PLACES);
        return;
    }
    struct cc_act *x = cc_layer_dense(b, "embed", cc_layer_input_rows(b), width, 1);
    x = cc_layer_position(b, "position", x);
    for (size_t i = 0; i < BLOCKS; i++)
        x = block(b, i, x, width);
    x = cc_layer_mean_place(b, cc_layer_layer_norm(b, "norm", x));
    cc_layer_loss(b, cc_layer_dense(b, "fc", x, b->model->config.classes, 1));
}
