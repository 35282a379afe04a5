/* Text that a language model goes on with. */
#ifndef CC_TRAIN_GENERATE_H
#define CC_TRAIN_GENERATE_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

struct cc_generate_config {
    const char *net;      /* as in train/gpt.h */
    const float *weights; /* a flat step of the net's parameters */
    size_t values;        /* of them, which must be the net's */
    double temperature;   /* that divides outputs before softmax; 0: always the likeliest byte */
    uint64_t seed;
};

/* Writes `count` bytes that follow the prompt's `prompted` bytes, 1 or more. The net sees as many
 * bytes before each as its context has. The same config, prompt and count give the same bytes. */
int cc_generate(const struct cc_generate_config *config, const uint8_t *prompt, size_t prompted,
                uint8_t *out, size_t count, struct cc_error *e);

#endif
