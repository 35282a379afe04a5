/* The file of one step of a sender, as a trace's directory has it: its name, its metadata, its
 * tensors. Needs no reader of files. */
#ifndef CC_CORE_TRACE_TRACE_STEP_H
#define CC_CORE_TRACE_TRACE_STEP_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/format/safetensors.h"
#include "core/trace/trace.h"

/* The metadata: schema, direction, rank, step, order. */
struct cc_step_pairs {
    char number[24], rank[24];
    char *order; /* the tensors' names, one a line; to be freed */
    struct cc_pair pair[5];
};

int cc_step_pairs_make(struct cc_trace_sender s, uint64_t step,
                       const struct cc_tensor_info *tensors, size_t count,
                       struct cc_step_pairs *out, struct cc_error *e);

/* The path, to be freed: push-step000012-rank3.safetensors or pull-step000012.safetensors in the
 * directory, or with another suffix. */
#define CC_STEP_SUFFIX ".safetensors"
int cc_step_path(const char *directory, struct cc_trace_sender s, uint64_t step, const char *suffix,
                 char **out, struct cc_error *e);

/* Begins the file, as cc_safetensors_begin does. */
int cc_step_begin(const char *directory, struct cc_trace_sender s, uint64_t step,
                  const struct cc_tensor_info *tensors, const enum cc_dtype *dtypes, size_t count,
                  struct cc_safetensors_writer *w, struct cc_error *e);

/* Writes the whole file. x: the values of all tensors, one after the other. */
int cc_trace_write_flat(const char *directory, struct cc_trace_sender s, uint64_t step,
                        const struct cc_tensor_info *tensors, size_t count, const float *x,
                        struct cc_error *e);

#endif
