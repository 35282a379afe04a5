/* Local steps, as the formulas see them: workers make several steps on parameters of their own
 * between two exchanges. train/local_steps.h trains so, and has the sources. */
#ifndef CC_MODELS_LOCAL_STEPS_H
#define CC_MODELS_LOCAL_STEPS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "models/net.h"

struct cc_setting;

/* An exchange follows every `steps` steps and moves one of `parts` parts of the net, which take
 * turns: each is exchanged after every steps * parts. */
struct cc_local_timing {
    size_t steps; /* 0: gradients are exchanged in every step */
    size_t parts;
    size_t delay; /* CC_OVERLAP: the steps that are made beside an exchange; otherwise without
                     effect */
};

/* The first tensor of the part whose last one is left - 1. Parts have about as many values each,
 * whole tensors, from the end of the net; left is net->count or the first tensor of another part.
 */
size_t cc_local_part(const struct cc_net *net, size_t parts, size_t left);

/* Whether the net is cut by parts, and not by the sizes of messages. */
bool cc_local_cuts(const struct cc_setting *s);

/* CC_USAGE if local steps do not go with the rest of a setting; and where no formula has them. */
int cc_local_check(const struct cc_setting *s, struct cc_error *e);
int cc_local_check_formula(const struct cc_setting *s, struct cc_error *e);

#endif
