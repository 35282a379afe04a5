/* The compressed file: the payloads of one step's tensors under one scheme, and all that decoding
 * them needs. docs/container.md has it byte by byte. */
#ifndef CC_CORE_FORMAT_CONTAINER_H
#define CC_CORE_FORMAT_CONTAINER_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/tensor.h"
#include "core/format/tensorfile.h"

enum { CC_CONTAINER_VERSION = 1, CC_CONTAINER_SCHEME = 192 };

/* What holds for all tensors. */
struct cc_container_head {
    char scheme[CC_CONTAINER_SCHEME]; /* the canonical name */
    uint64_t seed;
    int64_t rank; /* -1: the server */
    enum cc_direction direction;
    uint64_t step;
    const struct cc_pair *pairs; /* the tensor file's metadata, given back by decode */
    size_t pair_count;
};

struct cc_container_tensor {
    const char *name;
    struct cc_shape shape;
    const uint8_t *payload; /* in the bytes that were read */
    size_t payload_bytes;
    size_t offset; /* where the payload begins in the file */
};

struct cc_container {
    struct cc_container_head head;
    const struct cc_container_tensor *tensors; /* a tensor's index here is that of its context */
    size_t tensor_count;
};

/* Reads a whole file that lies in memory (or is mapped), which must outlive *out. Everything but
 * the payloads' insides is checked, the checksums included, and whatever is wrong is named with its
 * offset and its tensor. The scheme's name is text to this function. */
int cc_container_read(const void *data, size_t bytes, struct cc_container *out, struct cc_error *e);
void cc_container_free(struct cc_container *c);

/* Writes a file tensor by tensor; nothing is at `path` until finish. */
struct cc_container_writer;
int cc_container_begin(const char *path, const struct cc_container_head *head, size_t tensor_count,
                       struct cc_container_writer **out, struct cc_error *e);
int cc_container_add(struct cc_container_writer *w, const char *name, const struct cc_shape *shape,
                     const uint8_t *payload, size_t payload_bytes, struct cc_error *e);
/* Completes the file, of *bytes bytes. An error if tensors are missing. Frees w in any case. */
int cc_container_finish(struct cc_container_writer *w, uint64_t *bytes, struct cc_error *e);
/* Gives up: no file appears. NULL is fine. */
void cc_container_abandon(struct cc_container_writer *w);

#endif
