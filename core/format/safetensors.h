/* The safetensors format: u64 length of the header, a JSON header, the tensors' bytes. Read
 * strictly, written as a stream. */
#ifndef CC_CORE_FORMAT_SAFETENSORS_H
#define CC_CORE_FORMAT_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "core/format/contents.h"
#include "core/error.h"
#include "core/file.h"
#include "core/tensor.h"

/* For cc_contents_parse: see there. *out is empty at first, and the caller's to free even on
 * failure. */
int cc_safetensors_parse(const uint8_t *bytes, size_t size, struct cc_contents *out,
                         struct cc_error *e);

/* The same for who needs shapes alone: admits tensors whose values cannot be loaded. */
int cc_safetensors_shapes(const uint8_t *bytes, size_t size, struct cc_contents *out,
                          struct cc_error *e);

struct cc_safetensors_writer {
    struct cc_outfile out;
    size_t left; /* values still to come */
};

/* Writes the header of `count` float32 tensors with distinct names in UTF-8, stored in this order,
 * and `pairs` metadata pairs. Then all values follow, tensor after tensor, in pieces of any size.
 * Exactly one of commit and abort follows a successful begin. The file appears with the commit. */
int cc_safetensors_begin(struct cc_safetensors_writer *w, const char *path,
                         const struct cc_tensor_info *tensors, size_t count,
                         const struct cc_pair *metadata, size_t pairs, struct cc_error *e);
int cc_safetensors_values(struct cc_safetensors_writer *w, const float *x, size_t n,
                          struct cc_error *e);
int cc_safetensors_commit(struct cc_safetensors_writer *w, struct cc_error *e);
void cc_safetensors_abort(struct cc_safetensors_writer *w);

#endif
