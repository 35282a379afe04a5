/* Tensors: a name, a shape, and float32 values somewhere. */
#ifndef CC_CORE_TENSOR_H
#define CC_CORE_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#define CC_MAX_DIMS 8

/* Row-major; a scalar has ndim 0 and n 1. n is the product of dim[], checked for overflow. */
struct cc_shape {
    size_t n;
    size_t dim[CC_MAX_DIMS];
    int ndim;
};

/* A flat shape of n values. */
static inline struct cc_shape cc_shape_flat(size_t n)
{
    return (struct cc_shape){.n = n, .dim = {n}, .ndim = 1};
}

/* A tensor without its values. */
struct cc_tensor_info {
    const char *name; /* owned by whoever made the list */
    struct cc_shape shape;
};

/* The dimensions that are not 0 multiply to this at most. */
#define CC_MAX_VALUES ((size_t)1 << 58)

/* Fails when ndim is out of range or the dimensions are too large. */
int cc_shape_make(const size_t *dim, int ndim, struct cc_shape *out, struct cc_error *e);

/* "64x3x3x3" (also "1728", and "" for a scalar) to a shape and back. */
int cc_shape_parse(const char *text, struct cc_shape *out, struct cc_error *e);
void cc_shape_print(const struct cc_shape *shape, char *out, size_t cap);

/* A name must not be empty, have control characters, or be __metadata__, so that every format can
 * hold it. */
int cc_tensor_name_check(const char *name, struct cc_error *e);

enum cc_direction { CC_PUSH = 0, CC_PULL = 1 };

#endif
