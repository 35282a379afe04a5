/* Files of checkpoints: named arrays of floats and texts, in a safetensors file with checksums. The
 * arrays are tensors of F32, which other programs read too; the texts are its metadata:
 *
 *     schema         commcomp-checkpoint/3
 *     values_crc32   of each tensor's bytes, in the order of the file
 *     (any)          the caller's texts
 *     texts_crc32    of "key\nvalue\n" of all texts before it
 *
 * A file is replaced as a whole, so that whoever dies while it is written leaves the one before. */
#ifndef CC_NETSIM_INPROCESS_CHECKPOINT_H
#define CC_NETSIM_INPROCESS_CHECKPOINT_H

#include "core/error.h"
#include "core/format/contents.h"
#include "core/tensor.h"

/* Zero-initialized: empty. The values belong to the caller, the names to the list. */
struct cc_checkpoint {
    struct cc_tensor_info *info;
    float **values;
    size_t count, info_capacity, values_capacity;
};

/* Appends an array; its name is made of the format. Arrays without values are left out. */
int cc_checkpoint_add(struct cc_checkpoint *c, struct cc_shape shape, float *values,
                      struct cc_error *e, const char *format, ...) CC_PRINTF(5, 6);
void cc_checkpoint_free(struct cc_checkpoint *c);

/* Writes the file. */
int cc_checkpoint_write(const struct cc_checkpoint *c, const char *path,
                        const struct cc_pair *texts, size_t count, struct cc_error *e);

/* A checkpoint that is read: first its texts, whose checksum has been compared, ... */
struct cc_checkpoint_file {
    const char *path; /* the caller's */
    struct cc_infile file;
    struct cc_contents contents;
};
int cc_checkpoint_open(const char *path, struct cc_checkpoint_file *out, struct cc_error *e);
void cc_checkpoint_close(struct cc_checkpoint_file *f);
/* A text that must be there; NULL with a message. */
const char *cc_checkpoint_text(const struct cc_checkpoint_file *f, const char *key,
                               struct cc_error *e);
/* ... then the values of all arrays in c, which must be those of the file, by name, shape and
 * order. A checksum that does not fit is an error that names the tensor and its place; the values
 * are then unspecified. */
int cc_checkpoint_load(const struct cc_checkpoint_file *f, const struct cc_checkpoint *c,
                       struct cc_error *e);

#endif
