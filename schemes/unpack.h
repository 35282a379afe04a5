/* Decoding tensors of compressed files. */
#ifndef CC_SCHEMES_UNPACK_H
#define CC_SCHEMES_UNPACK_H

#include "core/format/container.h"
#include "schemes/scheme.h"

/* The context in which a tensor of the file was encoded. */
struct cc_context cc_unpack_context(const struct cc_container *file, size_t tensor);

/* Sets x to the values of a tensor of the file, which are numbers of its type. Fails if the
 * catalogue lacks its scheme, and if the payload cannot be decoded; messages name the tensor. A
 * cc_trace_decoder. */
int cc_unpack(const struct cc_container *file, size_t tensor, float *x, struct cc_error *e);

#endif
