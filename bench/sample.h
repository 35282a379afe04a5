/* A sample of a trace's tensors for measuring errors, with the gradients of its first steps in
 * memory, and passes over these steps that are uncorrelated. */
#ifndef CC_BENCH_SAMPLE_H
#define CC_BENCH_SAMPLE_H

#include "bench/config.h"

/* A tensor, or its first rows. As a matrix it has the first dimension as rows. */
struct cc_sample_piece {
    size_t tensor;         /* its index in the trace */
    struct cc_shape shape; /* with fewer rows than the tensor's, if that is too large */
    size_t rows, columns;
    double weight; /* how many tensors it stands for */
    float *x;      /* [steps][shape.n]; NULL: not kept */
};

struct cc_sample {
    struct cc_sample_piece *piece;
    size_t count, steps, values; /* values: of all pieces in a step */
    float *buffer;               /* one piece, where gradients are not kept */
};

/* Which tensors are taken: all, if they have at most `values` values together; otherwise about as
 * many as have that, at equal distances in the net's order, from the matrices and from the vectors
 * apart, as their gradients differ, and those with more than `largest` values without their last
 * rows. */
struct cc_sample_limits {
    size_t values, largest;
    size_t steps; /* at most the trace's */
    size_t kept;  /* bytes of gradients: beyond that, they are loaded whenever they are asked for */
};

/* Opens the sample of config's stream. *out is to be freed also after a failure. */
int cc_sample_open(const struct cc_bench_config *config, const struct cc_sample_limits *limits,
                   struct cc_sample *out, struct cc_error *e);
void cc_sample_free(struct cc_sample *s);

/* Whether the codec of any piece keeps a state under this scheme. */
bool cc_sample_has_state(const struct cc_bench_config *config, size_t scheme,
                         const struct cc_sample *s);

/* The gradient of a piece at step `step` modulo its steps, as it is. *x is valid until the next
 * call. */
int cc_sample_step(const struct cc_bench_config *config, struct cc_sample *s,
                   const struct cc_sample_piece *p, size_t step, const float **x,
                   struct cc_error *e);

/* The gradient of a piece, all of which are kept, at running step `step`: that of step mod steps.
 * In each pass but the first the rows and the columns have random signs of their own, by the seed:
 * the piece keeps magnitudes and singular values, and passes are uncorrelated. sign[rows + columns]
 * belongs to the piece and is filled when a pass begins: its first step must be asked for before
 * its others. */
void cc_sample_gradient(const struct cc_sample *s, const struct cc_sample_piece *p, uint64_t seed,
                        uint64_t step, float *sign, float *out);

#endif
