/* Sharded states: each worker keeps the main parameters and the optimizer's state of a part of the
 * values alone, and updates these by their mean gradient; what all workers compute with is a copy
 * of the parameters, which they gather. ZeRO-1 and -2 (Rajbhandari et al., ZeRO: Memory
 * optimizations toward training trillion parameter models, 2020, sections 5.1 and 5.2).
 *
 * Gathered are the main parameters, or their differences to the copy, as a codec encodes them
 * (Jia et al., SDP4Bit, 2024, quantization on weight differences): w~ <- w~ + C(w - w~). Whatever C
 * withholds is in the next difference, so that the copy follows the main parameters; of parameters
 * that are encoded themselves, updates below half a step of the code are lost. */
#ifndef CC_TRAIN_SHARD_H
#define CC_TRAIN_SHARD_H

#include "train/learner.h"

/* The values [from, to) of the flat step. */
struct cc_shard_part {
    size_t from, to;
};

struct cc_shard {
    struct cc_learner_config config; /* its clip is not used: the caller knows the norm of all */
    struct cc_shard_part *part;      /* ascending */
    size_t parts, values;            /* values of all parts */
    float *weights, *state;          /* of the parts, one behind the other */
};

/* Takes the parts and the initial parameters, a flat step, which it copies; NULL: zeros. Parts that
 * touch become one. Close it also after an error; all zeros are nothing to close. */
int cc_shard_open(struct cc_shard *s, const struct cc_learner_config *config,
                  const struct cc_shard_part *part, size_t parts, const float *weights,
                  struct cc_error *e);
void cc_shard_close(struct cc_shard *s);

/* Updates the main parameters [from, to), which lie in one part, by their mean gradient, which
 * begins with value `from`, and replaces it by what is gathered: the main parameters, or their
 * differences to `copy`, a flat step. step, updates: as cc_learner_update. */
void cc_shard_update(struct cc_shard *s, size_t from, size_t to, uint64_t step, uint64_t updates,
                     float *gradient, const float *copy, bool differences);

/* Writes the main parameters to a flat step, and the optimizer's state to one that is as long as
 * that of all values (cc_optimizer_state); values of other workers stay. And back. */
void cc_shard_get(const struct cc_shard *s, float *weights, float *state);
void cc_shard_set(struct cc_shard *s, const float *weights, const float *state);

#endif
