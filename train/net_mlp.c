/* Perceptrons: mlp:500-500 has two hidden layers of 500 units; mlp has none. */
#include <stdio.h>
#include <stdlib.h>

#include "train/build.h"

void cc_family_mlp(struct cc_build *b, const char *rest)
{
    struct cc_act *act = cc_layer_input_columns(b);
    char name[24];
    unsigned layer = 1;
    for (const char *at = rest; *at != '\0'; layer++) {
        unsigned long width = 0;
        char *end = NULL;
        if (*at == (at == rest ? ':' : '-') && at[1] >= '1' && at[1] <= '9')
            width = strtoul(at + 1, &end, 10);
        if (width == 0 || width > 1000000) {
            b->status =
                cc_usage(b->e, "mlp%s: expected widths of 1 to 1000000, as in mlp:500-500", rest);
            return;
        }
        (void)snprintf(name, sizeof name, "fc%u", layer);
        act = cc_layer_relu(b, cc_layer_dense(b, name, act, width, 2));
        at = end;
    }
    (void)snprintf(name, sizeof name, "fc%u", layer);
    cc_layer_loss(b, cc_layer_dense(b, name, act, b->model->config.classes, 1));
}
