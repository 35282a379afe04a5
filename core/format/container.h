/* The compressed file: the payloads of one step's tensors under one scheme, with everything that
 * decoding them needs. docs/container.md specifies it byte by byte. */
#ifndef CC_CORE_FORMAT_CONTAINER_H
#define CC_CORE_FORMAT_CONTAINER_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/format/tensorfile.h"
#include "core/tensor.h"

enum { CC_CONTAINER_VERSION = 1, CC_CONTAINER_SCHEME = 192 };

/* The fields that all tensors share. */
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
    const uint8_t *payload; /* points into the bytes that were read */
    size_t payload_bytes;
    size_t offset; /* where the payload begins in the file */
};

struct cc_container {
    struct cc_container_head head;
    const struct cc_container_tensor *tensors; /* a tensor's index here is that of its context */
    size_t tensor_count;
};

/* Reads a whole file in memory, which must outlive *out. Any bytes either parse or give an error
 * that names the offset and the tensor; checksums are verified. The scheme's name is not
 * interpreted, and the payloads are not decoded. *out is set on success only, and released with
 * cc_container_free. */
int cc_container_read(const void *data, size_t bytes, struct cc_container *out, struct cc_error *e);
void cc_container_free(struct cc_container *c);

/* The most values that a file of `bytes` bytes may claim to hold, lest a small file from elsewhere
 * fill memory and disk: 2^26 (256 MiB of float32), or 4,096 for each byte if that is more. */
uint64_t cc_container_limit(uint64_t bytes);
/* Fails if a file of `bytes` bytes claims more values than the limit. `remedy` ends the message,
 * before the number of values: "decode with --max-values". */
int cc_container_check(const struct cc_container *c, uint64_t bytes, uint64_t limit,
                       const char *remedy, struct cc_error *e);

/* Writes a file tensor by tensor; it appears at `path` with finish. */
struct cc_container_writer;
int cc_container_begin(const char *path, const struct cc_container_head *head, size_t tensor_count,
                       struct cc_container_writer **out, struct cc_error *e);
int cc_container_add(struct cc_container_writer *w, const char *name, const struct cc_shape *shape,
                     const uint8_t *payload, size_t payload_bytes, struct cc_error *e);
/* Completes the file, whose size is *bytes. Fails if tensors are missing. Releases w in any case.
 */
int cc_container_finish(struct cc_container_writer *w, uint64_t *bytes, struct cc_error *e);
/* Releases w without a file; NULL is allowed. */
void cc_container_abandon(struct cc_container_writer *w);

#endif
