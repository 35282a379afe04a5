/* The safetensors format: u64 length of the header, a JSON header, the tensors' bytes. Read
 * strictly, written as a stream. */
#ifndef CC_CORE_FORMAT_SAFETENSORS_H
#define CC_CORE_FORMAT_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/file.h"
#include "core/format/contents.h"
#include "core/tensor.h"

/* For cc_contents_head. */
size_t cc_safetensors_head(const uint8_t *first, size_t file_size);

/* For cc_contents_parse. *out is empty at first; the caller frees it, also after a failure. */
int cc_safetensors_parse(const uint8_t *bytes, size_t size, struct cc_contents *out,
                         struct cc_error *e);

/* The same for callers that need shapes only: accepts tensors whose values cannot be loaded. */
int cc_safetensors_shapes(const uint8_t *bytes, size_t size, struct cc_contents *out,
                          struct cc_error *e);

struct cc_safetensors_writer {
    struct cc_outfile out;
    size_t left; /* bytes of values still to come */
};

/* Begins a file of `count` tensors, stored in this order, with distinct names in UTF-8, of the
 * types up to CC_F8_E5M2 each (NULL: all CC_F32), and `pairs` metadata pairs.
 * cc_safetensors_bytes then takes all values, tensor after tensor, any number at a time. After a
 * successful begin, call exactly one of commit and abort; the file appears with commit, which fails
 * if values are missing. */
int cc_safetensors_begin(struct cc_safetensors_writer *w, const char *path,
                         const struct cc_tensor_info *tensors, const enum cc_dtype *dtypes,
                         size_t count, const struct cc_pair *metadata, size_t pairs,
                         struct cc_error *e);
int cc_safetensors_bytes(struct cc_safetensors_writer *w, const void *values, size_t bytes,
                         struct cc_error *e);
int cc_safetensors_commit(struct cc_safetensors_writer *w, struct cc_error *e);
void cc_safetensors_abort(struct cc_safetensors_writer *w);

/* --- for the reader and the writer --- */

#define CC_SAFETENSORS_HEADER                                                                      \
    100000000                     /* bytes of the largest, as the format's own reader has it */
#define CC_SAFETENSORS_LENGTH   8 /* bytes of the number before the header */
#define CC_SAFETENSORS_METADATA "__metadata__"

/* The dtypes that are known; ends with a row without a name. */
struct cc_safetensors_dtype {
    const char *name;
    enum cc_dtype dtype;
};
extern const struct cc_safetensors_dtype cc_safetensors_dtypes[];

#endif
