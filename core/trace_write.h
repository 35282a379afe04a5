/* Traces to files: one file a step and sender. */
#ifndef CC_CORE_TRACE_WRITE_H
#define CC_CORE_TRACE_WRITE_H

#include <stddef.h>

#include "core/contents.h"
#include "core/error.h"
#include "core/trace.h"

/* Writes one step to `path`. safetensors: all tensors as F32 in the trace's order, with the
 * metadata that cc_trace_open reads. npy and csv have one array and no metadata: the only tensor in
 * its shape, or else all tensors one after another as a flat array. CSV cannot hold values that are
 * not finite, nor an empty tensor. Drops the mappings of the step. */
int cc_trace_write_step(struct cc_trace *t, size_t stream, size_t step, enum cc_format format,
                        const char *path, struct cc_error *e);

/* Writes every step of every stream into a directory, which is made if it is missing and must not
 * hold tensor files already: as push-step000012-rank3.safetensors, pull-step000012.safetensors, so
 * that cc_trace_open finds the streams in every format. After each file of `total` it calls
 * `progress`, if not NULL. On failure the files so far remain. */
int cc_trace_write(struct cc_trace *t, enum cc_format format, const char *directory,
                   void (*progress)(void *context, size_t done, size_t total), void *context,
                   struct cc_error *e);

#endif
