/* Variance-reduced SGD on logistic regression, by workers that send vectors (D. Alistarh et al.,
 * QSGD, NIPS 2017, section 3.3, after R. Johnson and T. Zhang, SVRG, 2013). Epoch p begins at y;
 * the workers' parts of the full gradient are put together as they are. In each of its T steps,
 * from x = y on, every worker draws rows j from all rows and sends
 *
 *   F'_j(x) - F'_j(y) + F'(y),   F_j(w) = loss of row j + l2/2 |w|^2,
 *
 * quantized by whatever scheme; x moves by -rate times the mean over the workers. The mean of the
 * T points x from which steps were made is the next epoch's y.
 *
 * Gradients of rows are computed in double. */
#ifndef CC_TRAIN_LINEAR_SVRG_H
#define CC_TRAIN_LINEAR_SVRG_H

#include "train/linear/objective.h"

/* The smoothness L of every F_j, max |x_j|^2 / 4 + l2, and the convexity l of F, at least l2. */
struct cc_svrg_constants {
    double smooth, convex;
};
struct cc_svrg_constants cc_svrg_constants(const struct cc_linear_objective *f);

/* Writes a worker's part of F'(w): workers / n times the sum of F'_j over its rows, every worker
 * having about as many of them; the mean over the workers is F'(w). `room` has a double for each
 * feature. */
void cc_svrg_part(const struct cc_linear_objective *f, size_t worker, size_t workers,
                  const float *w, double *room, float *out);

/* Draws `count` of n rows, uniformly with replacement, for a worker in a step. */
void cc_svrg_draw(uint64_t seed, uint64_t step, size_t worker, size_t n, size_t count,
                  uint32_t *row);

/* Writes the vector of the mean over the rows, full being F'(y). Returns their score at x. */
struct cc_model_score cc_svrg_vector(const struct cc_linear_objective *f, const uint32_t *row,
                                     size_t count, const float *x, const float *y,
                                     const float *full, double *room, float *out);

#endif
