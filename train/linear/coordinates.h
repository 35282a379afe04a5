/* Stochastic coordinate descent for logistic regression, by several workers at a time (J. Liu and
 * S. Wright, Asynchronous stochastic coordinate descent: parallelism and convergence properties,
 * 2015, which SparCML's section 6 follows; synchronous here). The features are cut into as many
 * equal slices as there are workers. In each step, every worker takes the next `count` coordinates
 * of its slice, which is shuffled again for each pass, and finds for each of them by itself the
 * change
 *
 *   -F'_j / L_j,   L_j = 1/(4 n) sum over rows i of x_ij^2 + l2,
 *
 * which L_j, a bound of F''_j, makes a descent. All workers' changes are then applied at once.
 *
 * Products of rows with the parameters are kept from step to step: those that changed coordinates
 * have are brought up to date by the parameters that the caller has. */
#ifndef CC_TRAIN_LINEAR_COORDINATES_H
#define CC_TRAIN_LINEAR_COORDINATES_H

#include "train/linear/objective.h"

struct cc_coordinates;

/* `f` must outlive it. Fails if a slice has fewer coordinates than a step takes. Close it with
 * cc_coordinates_close, which NULL is allowed for. */
int cc_coordinates_open(const struct cc_linear_objective *f, size_t workers, size_t count,
                        uint64_t seed, struct cc_coordinates **out, struct cc_error *e);
void cc_coordinates_close(struct cc_coordinates *c);

/* The steps of a pass over all coordinates; those that do not fill a step are left out of it. */
size_t cc_coordinates_steps(const struct cc_coordinates *c);

/* Brings the products up to date with w, at the beginning of a step, in which all workers have the
 * same w. It is quick if only coordinates of the step before have changed, as w says after steps
 * that follow each other; otherwise all rows are multiplied. */
void cc_coordinates_update(struct cc_coordinates *c, size_t step, const float *w);

/* The mean loss of `count` rows, without l2, and their hits, by the products. */
struct cc_model_score cc_coordinates_score(const struct cc_coordinates *c, const uint32_t *row,
                                           size_t count);

/* Writes the changes of a worker's coordinates in a step, times -workers: the optimizer subtracts
 * the mean over the workers, times the rate. All other values become 0. */
void cc_coordinates_gradient(struct cc_coordinates *c, size_t step, size_t worker, const float *w,
                             float *gradient);

#endif
