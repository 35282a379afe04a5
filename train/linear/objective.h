/* The objectives of linear models on sparse rows, of two classes:
 *
 *   F(w) = 1/n sum over rows i of loss(y_i x_i w) + l2/2 |w|^2,
 *
 * where y_i is -1 for class 0 and +1 for class 1, and
 *
 *   logreg  loss(m) = log(1 + exp(-m))
 *   svm     loss(m) = max(0, 1 - m), whose slope at m = 1 is taken as 0
 *
 * The model has no intercept. All results are the same on every instruction set and with any number
 * of threads. */
#ifndef CC_TRAIN_LINEAR_OBJECTIVE_H
#define CC_TRAIN_LINEAR_OBJECTIVE_H

#include "train/data/data.h"
#include "train/model.h"

enum cc_linear_loss { CC_LOGISTIC, CC_HINGE };

struct cc_linear_objective {
    enum cc_linear_loss loss;
    const struct cc_samples *samples; /* sparse rows with classes 0 and 1 */
    size_t features;
    double l2;
};

/* The loss of a row with the product z = x_i w, and its slope, the derivative by z. */
struct cc_linear_point {
    double loss, slope;
};
struct cc_linear_point cc_linear_point(enum cc_linear_loss loss, double z, unsigned class);

/* A sample's product with w; and its point there, whose loss and hit are added to a score. */
double cc_linear_product(const struct cc_linear_objective *f, size_t sample, const float *w);
struct cc_linear_point cc_linear_take(const struct cc_linear_objective *f, size_t sample, double z,
                                      struct cc_model_score *sum);

/* Writes the slopes of `count` rows at w; row[i] is the sample of the i-th, or with NULL sample i.
 * Returns their mean loss, without l2, and their hits: a row is taken for class 1 where its product
 * is above 0. */
struct cc_model_score cc_linear_slopes(const struct cc_linear_objective *f, const uint32_t *row,
                                       size_t count, const float *w, float *slope);

/* Adds scale x slope[i] x (row i) to `sum` for all of them, in order: the gradient of their mean
 * loss, without l2, with a scale of 1 / count. */
void cc_linear_add(const struct cc_linear_objective *f, const uint32_t *row, size_t count,
                   float scale, const float *slope, float *sum);

/* The mean loss of all rows, without l2, and their hits. */
struct cc_model_score cc_linear_score_all(const struct cc_linear_objective *f, const float *w,
                                          int threads);

/* F(w). */
double cc_linear_value(const struct cc_linear_objective *f, const float *w, int threads);

#endif
