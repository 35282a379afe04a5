/* Writing files of tensors in the format that their name says: .safetensors, or, for a single
 * tensor, .npy or .csv; a pipe or device without such a name gets safetensors. Values come tensor
 * by tensor, so the file may be larger than memory. */
#ifndef CC_CORE_FORMAT_TENSORFILE_H
#define CC_CORE_FORMAT_TENSORFILE_H

#include <stddef.h>

#include "core/error.h"
#include "core/format/contents.h"
#include "core/tensor.h"

struct cc_tensor_file;

/* Whether the format of this path can hold `count` tensors; a usage error if not. */
int cc_tensor_file_check(const char *path, size_t count, struct cc_error *e);

/* Begins a file of `count` tensors with distinct names in UTF-8; .npy and .csv keep neither names
 * nor metadata. dtypes: of each tensor one up to CC_F8_E5M2 but CC_F64; NULL: all are CC_F32. Other
 * files than .safetensors have none of these but CC_F16, and CSV only decimals: such values are
 * stored as float32, which has them all. tensors[] and dtypes[] must live until commit or abort;
 * call exactly one of them. */
int cc_tensor_file_begin(const char *path, const struct cc_tensor_info *tensors,
                         const enum cc_dtype *dtypes, size_t count, const struct cc_pair *metadata,
                         size_t pairs, struct cc_tensor_file **out, struct cc_error *e);
/* All values of the next tensor. CSV holds neither an empty tensor nor values that are not finite:
 * begin and put refuse them. A value that is not a number of the tensor's dtype is refused, too. */
int cc_tensor_file_put(struct cc_tensor_file *w, const float *x, struct cc_error *e);
/* Completes the file, which appears, or fails. */
int cc_tensor_file_commit(struct cc_tensor_file *w, struct cc_error *e);
/* Releases w without a file; NULL is allowed. */
void cc_tensor_file_abort(struct cc_tensor_file *w);

/* Reads the metadata of a tensor file, or of a compressed one; .npy and .csv files have none.
 * Release *out with cc_pairs_free. */
int cc_tensor_file_metadata(const char *path, struct cc_pair **out, size_t *count,
                            struct cc_error *e);

#endif
