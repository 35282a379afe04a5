/* Tensors: names and shapes of arrays of float32 values, which are stored elsewhere. */
#ifndef CC_CORE_TENSOR_H
#define CC_CORE_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* The most dimensions of a tensor. */
#define CC_MAX_DIMS 8

/* A shape, row-major: dim[0] varies slowest. A scalar has ndim 0 and n 1. Unused dim[] are 0. */
struct cc_shape {
    size_t n; /* number of values: the product of dim[0..ndim) */
    size_t dim[CC_MAX_DIMS];
    int ndim;
};

/* The shape of one dimension of n values. */
static inline struct cc_shape cc_shape_flat(size_t n)
{
    return (struct cc_shape){.n = n, .dim = {n}, .ndim = 1};
}

/* A tensor without its values. */
struct cc_tensor_info {
    const char *name; /* belongs to the owner of the struct */
    struct cc_shape shape;
};

/* A message of a step: the tensors first .. last, by their place in the net, travel together. */
struct cc_message {
    size_t first, last;
};

/* The most values of a tensor: dimensions that are not 0 multiply to no more. */
#define CC_MAX_VALUES ((size_t)1 << 58)

/* Makes the shape of ndim dimensions; fails if ndim is not 0 .. CC_MAX_DIMS, or there are more than
 * CC_MAX_VALUES values. */
int cc_shape_make(const size_t *dim, int ndim, struct cc_shape *out, struct cc_error *e);

/* Parses "64x3x3x3", "1728", or "" for a scalar; anything else is a usage error. Printing gives the
 * same text, cut to cap bytes; 192 are enough for any shape. */
int cc_shape_parse(const char *text, struct cc_shape *out, struct cc_error *e);
void cc_shape_print(const struct cc_shape *shape, char *out, size_t cap);

/* Fails if a file format could not hold the name: it must not be empty, have control characters, or
 * be __metadata__. */
int cc_tensor_name_check(const char *name, struct cc_error *e);

/* The direction of a transfer: a worker pushes gradients, the server sends what workers pull. */
enum cc_direction { CC_PUSH = 0, CC_PULL = 1 };
extern const char *const cc_direction_names[]; /* ends with NULL */

#endif
