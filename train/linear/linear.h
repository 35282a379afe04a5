/* Linear models as a task computes them (task.h): gradients of a batch of sparse rows, or the steps
 * of coordinate descent. */
#ifndef CC_TRAIN_LINEAR_LINEAR_H
#define CC_TRAIN_LINEAR_LINEAR_H

#include "train/linear/objective.h"

extern const char *const cc_linear_names[]; /* by enum cc_linear_loss; ends with NULL */

/* Whether a net is a linear model. */
bool cc_linear_is(const char *net);

struct cc_linear_config {
    const char *net;            /* one of cc_linear_names */
    const struct cc_data *data; /* sparse rows; must outlive the model */
    size_t workers, batch;      /* rows of a worker in a step */
    size_t coordinates;         /* a worker's in a step of coordinate descent; 0: gradients */
    double l2;
    uint64_t seed;
    int threads;
};

struct cc_linear;

/* Refuses data of more than two classes, and coordinate descent on a loss that has no second
 * derivative. Close with cc_linear_close, which NULL is allowed for. */
int cc_linear_open(const struct cc_linear_config *config, struct cc_linear **out,
                   struct cc_error *e);
void cc_linear_close(struct cc_linear *l);

/* One tensor, "weight", a value for each feature, which begins as zeros. Belongs to the model. */
const struct cc_model_layout *cc_linear_layout(const struct cc_linear *l);

/* Steps of a pass over the coordinates; 0 without coordinate descent. */
size_t cc_linear_pass(const struct cc_linear *l);

/* The parts of a worker's step: begins with its rows, which must stay until the last one; computes
 * their loss; and writes the gradient of their mean loss, without l2, which is left to the
 * optimizer's decay, so that the gradient is as sparse as the rows; or the changes of coordinate
 * descent (coordinates.h). */
void cc_linear_begin(struct cc_linear *l, size_t step, size_t worker, const uint32_t *row);
void cc_linear_forward(struct cc_linear *l, const float *weights);
struct cc_model_score cc_linear_score(const struct cc_linear *l);
void cc_linear_backward(struct cc_linear *l, const float *weights, float *gradient);

/* The score on all test rows, without l2. */
struct cc_model_score cc_linear_test(const struct cc_linear *l, const float *weights);
/* F(w) of all training rows. */
double cc_linear_train_value(const struct cc_linear *l, const float *weights);

#endif
