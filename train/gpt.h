/* Language models: decoder-only transformers on bytes (A. Radford et al., Language models are
 * unsupervised multitask learners, 2019), which normalize before each part and have no biases. A
 * sample is a run of `context` bytes, and at each of them the net predicts the next one; so a
 * sample has as many labels. The embedding is also the matrix of the output.
 *
 * The net's text is "gpt" or "gpt:layers=2,width=64,heads=2,context=64", in which each key may be
 * left out. */
#ifndef CC_TRAIN_GPT_H
#define CC_TRAIN_GPT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

enum { CC_GPT_TOKENS = 256 }; /* bytes */

struct cc_gpt {
    size_t layers, width, heads, context;
    bool rotary; /* positions turn queries and keys (J. Su et al., RoFormer, 2021); otherwise each
                    has a vector that is learned */
    bool swiglu; /* the gated unit of N. Shazeer, GLU variants improve transformer, 2020, with about
                    as many parameters; otherwise GELU, by its tanh form */
};

/* Whether a net's text names one. */
bool cc_gpt_is(const char *net);

/* Parses it; what is wrong is CC_USAGE. The width is a multiple of 8 x heads, the context of 16. */
int cc_gpt_parse(const char *net, struct cc_gpt *out, struct cc_error *e);

#endif
