/* The files of `commcomp encode` (container.h) as tensor files: their tensors, in the types that
 * they were stored in. Payloads are decoded elsewhere, as schemes do (core/trace/trace_decoder.h).
 */
#ifndef CC_CORE_FORMAT_COMPRESSED_H
#define CC_CORE_FORMAT_COMPRESSED_H

#include <stddef.h>
#include <stdint.h>

#include "core/format/container.h"
#include "core/format/contents.h"

/* The pair of metadata that has these types, a line each (docs/container.md). */
#define CC_TYPES_KEY "commcomp.types"

/* Its word for a type; that of float32 for types that it has none for. */
const char *cc_types_word(enum cc_dtype type);

/* Sets types[tensor_count] to what the pair says, CC_F32 without it. */
int cc_container_types(const struct cc_container *file, enum cc_dtype *types, struct cc_error *e);

/* The pair that a file has which was encoded beside a base (docs/container.md): the checksum of
 * that. */
#define CC_BASE_KEY "commcomp.base"

/* Its value; NULL: there is none. */
const char *cc_container_base(const struct cc_container *file);
/* Fails if there is one, for readers that have no base. */
int cc_container_no_base(const struct cc_container *file, struct cc_error *e);

/* As cc_contents_parse, of a whole file. `offset` is the tensor's index, dtype the type that it was
 * stored in. */
int cc_compressed_parse(const uint8_t *bytes, size_t size, struct cc_contents *out,
                        struct cc_error *e);

#endif
