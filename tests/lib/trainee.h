/* A model with parameters and a batch, for the tests of train/. */
#ifndef CC_TESTS_LIB_TRAINEE_H
#define CC_TESTS_LIB_TRAINEE_H

#include "tests/lib/plain_net.h"
#include "train/model.h"

struct trainee {
    struct cc_model_config config;
    struct cc_model *model;
    const struct cc_model_layout *layout;
    size_t count; /* images of the batch */
    float *weights, *stats, *gradient, *images;
    int32_t *labels;
};

/* Opens the net and draws a batch of config.batch images, or of texts; fails the test if it cannot.
 * Parameters are the initial ones, and a little noise, so that none is 0. */
struct trainee trainee_open(const struct cc_model_config *config);
void trainee_close(struct trainee *t);

/* One forward and backward pass. */
struct cc_model_score trainee_pass(struct trainee *t);

/* Fails the test unless the gradients and statistics of a pass are the same, bit by bit, on every
 * instruction set of this machine and with 1, 2 and 3 threads. */
void trainee_same_bits(const struct cc_model_config *config);

/* Fails the test unless a pass of one image gives the same gradients whether or not one of the
 * whole batch, and an evaluation, were before it. */
void trainee_leaves_nothing(const struct cc_model_config *config);

/* Fails the test unless loss and gradients are those of `loss`, which computes it with parameters
 * in double; gradients by central differences at up to `probes` places of each tensor. */
typedef double trainee_loss(const struct trainee *t, const double *weights);
void trainee_gradients(const struct cc_model_config *config, trainee_loss *loss, size_t probes);

#endif
