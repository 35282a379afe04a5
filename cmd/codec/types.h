/* The types in which a tensor file stored its values, kept in a container so that `decode` gives
 * back a file of the same: a pair of its metadata (docs/container.md). */
#ifndef CC_CMD_CODEC_TYPES_H
#define CC_CMD_CODEC_TYPES_H

#include "core/format/compressed.h"
#include "core/trace/trace.h"

/* Appends the pair, if a tensor of the file is bf16 or fp16. The pairs are as
 * cc_tensor_file_metadata returns them. Fails if they have that key already. */
int cc_types_add(const struct cc_trace *t, struct cc_pair **pairs, size_t *count,
                 struct cc_error *e);

/* Sets types[tensor_count] to what the container's pair says, CC_F32 without one, and
 * pairs[pair_count] to the other pairs but that of a base, which remain the container's; *count:
 * how many these are.
 */
int cc_types_take(const struct cc_container *file, enum cc_dtype *types, struct cc_pair *pairs,
                  size_t *count, struct cc_error *e);

#endif
