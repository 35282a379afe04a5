/* A base model, beside which `encode --base` and `decode --base` take a file's values
 * (core/delta.h), and the pair of a container's metadata that tells it (docs/container.md). */
#ifndef CC_CMD_CODEC_BASE_H
#define CC_CMD_CODEC_BASE_H

#include "core/element.h"
#include "core/format/container.h"
#include "core/trace/trace.h"

/* The base's values of one tensor after another. Zero-initialized: none. */
struct cc_base {
    const char *path;
    struct cc_trace *trace; /* NULL: there is no base */
    float *x;               /* room for its largest tensor */
    uint32_t crc; /* of the values of the tensors that it is the base of, in their order */
    bool only;    /* that is one tensor */
};

/* Opens the file of the base of `count` tensors; sets its checksum. Fails unless it has a tensor of
 * each name and shape; if only one is there and wanted, names do not matter. */
int cc_base_open(const char *path, const struct cc_tensor_info *const *tensors, size_t count,
                 struct cc_base *out, struct cc_error *e);
void cc_base_close(struct cc_base *b);

/* Replaces x, the values of a tensor of the format, by their differences from the base's; or the
 * reverse. */
int cc_base_make(struct cc_base *b, const struct cc_tensor_info *tensor, enum cc_number format,
                 float *x, struct cc_error *e);
int cc_base_undo(struct cc_base *b, const struct cc_tensor_info *tensor, enum cc_number format,
                 float *x, struct cc_error *e);

/* Appends the pair. The pairs are as cc_tensor_file_metadata returns them. */
int cc_base_add(const struct cc_base *b, struct cc_pair **pairs, size_t *count, struct cc_error *e);

/* Whether the base is the one that the container names, or both lack one. */
int cc_base_check(const struct cc_base *b, const struct cc_container *file, struct cc_error *e);

#endif
