/* Local steps: a worker trains on parameters of its own, and what is exchanged is how far they have
 * moved from the ones that all workers share, in place of a gradient. An outer optimizer, which is
 * a learner (learner.h), applies the mean of these differences to the shared parameters.
 *
 * A. Douillard et al., DiLoCo: Distributed low-communication training of language models, 2023,
 * algorithm 1; A. Douillard et al., Streaming DiLoCo with overlapping communication, 2025,
 * algorithm 2, in which the parts of the net are exchanged in turn. With one local step, or with
 * the mean as it is, this is federated averaging (McMahan et al., AISTATS 2017). */
#ifndef CC_TRAIN_LOCAL_STEPS_H
#define CC_TRAIN_LOCAL_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train/learner.h"
#include "train/task.h"

/* An exchange is made after every `steps` local steps, and moves one part of the net; the parts
 * take turns. */
struct cc_local_config {
    size_t steps; /* 0: there are none; gradients are exchanged */
    size_t parts;
    /* A worker takes the results of an exchange after `delay` of the next `steps` steps, beside
     * which the exchange goes on. 0: it waits. */
    size_t delay;
    double mix;                /* with a delay: the share of its own parameters that it keeps */
    struct cc_optimizer outer; /* CC_SGD: with momentum, Nesterov's, or the mean as it is */
    double outer_rate;
    /* Workers that send in an exchange, drawn for each; 0: all. The others keep their difference,
     * times `beta` in each exchange, and send it with the next: kept = beta kept + difference. */
    size_t quorum;
    double beta;
    bool median; /* what each worker sends is scaled to the median norm of those that send */
};

/* The local steps of a training, for any of its workers. */
struct cc_local_steps {
    struct cc_local_config config;
    struct cc_learner_config inner; /* its schedule counts local steps */
};

/* The learner of the shared parameters. */
struct cc_learner_config cc_local_outer(const struct cc_local_config *c,
                                        const struct cc_model_layout *layout, int threads);

/* Whether a worker sends in an exchange, which counts from 0: `quorum` of the workers do. */
bool cc_local_sends(const struct cc_local_config *c, uint64_t seed, uint64_t exchange,
                    size_t worker, size_t workers);

/* Floats that a worker keeps: its parameters, then the state of its optimizer, which lasts from one
 * exchange to the next, and with a quorum the difference that it has not sent. They begin as the
 * shared parameters, and zeros. */
size_t cc_local_floats(const struct cc_local_steps *l);

/* One step of a worker on its own parameters. `step` counts all its local steps from 0; `gradient`
 * is room for a flat step. */
struct cc_model_score cc_local_step(const struct cc_local_steps *l, struct cc_task *task,
                                    size_t step, size_t worker, float *own, float *stats,
                                    float *gradient);

/* Writes the worker's difference for the values [from, to): shared less own parameters. `out` is a
 * flat step. */
void cc_local_difference(size_t from, size_t to, const float *shared, const float *own, float *out);

/* With a quorum: adds to a worker's difference what it has kept of those before, times beta; if it
 * does not send, it keeps the sum, and `difference`, a flat step, becomes zeros. */
void cc_local_keep(const struct cc_local_steps *l, bool sends, float *own, float *difference);

/* The worker takes the shared parameters of the values [from, to), or mixes them with its own. */
void cc_local_take(const struct cc_local_steps *l, size_t from, size_t to, const float *shared,
                   float *own);

#endif
