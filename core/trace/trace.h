/* Traces: recorded or synthetic gradients. A trace has streams, a stream has steps, and a step has
 * one float32 tensor for each entry of the trace's table of tensors: what one sender (a worker, or
 * the server) sends at once. cc_trace_open reads traces from files; core/trace/synth.h draws them
 * from a distribution; both are read by the functions below. Values are read or drawn when they
 * are loaded, so a trace may be larger than memory.
 *
 * Indices (stream, step, tensor) count from 0 and must be below the counts that the trace reports;
 * this is not checked. Functions that only ask never fail. */
#ifndef CC_CORE_TRACE_TRACE_H
#define CC_CORE_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/tensor.h"

#define CC_TRACE_SCHEMA "commcomp-trace/1" /* the value of the metadata key `schema` */

struct cc_trace;

/* The sender of a stream: worker `rank` that pushes, or the server (rank -1) whose pulls are
 * recorded. */
struct cc_trace_sender {
    enum cc_direction direction;
    int64_t rank;
};

/* Opens a file (.safetensors, .npy, .npz, .csv), "-" for the standard input, or a directory of
 * files; others in it are ignored. The headers of all files are read and checked; values are read
 * later, except those of CSV files.
 *
 * The metadata keys `direction`, `rank` and `step` assign each file to a stream and a step; what
 * they leave open is taken from names like push-step000012-rank3.npy; a file without either is a
 * push of rank 0, and steps without numbers are in the order of their names (step9 before step10).
 * The tensors are in the order of the metadata key `order`, else in that of their data in the file.
 *
 * Errors: a path that cannot be read, a damaged header, a directory without such files, two files
 * of the same step, files whose tensors differ in name, shape or order, no tensors at all. Sets
 * *out on success only; the caller releases it with cc_trace_close. */
int cc_trace_open(const char *path, struct cc_trace **out, struct cc_error *e);

/* Number of streams, at least 1. They are sorted: pushes by rank, then pulls. */
size_t cc_trace_streams(const struct cc_trace *t);
struct cc_trace_sender cc_trace_stream(const struct cc_trace *t, size_t stream);
/* Writes "push 3", or "pull". */
void cc_trace_stream_name(const struct cc_trace *t, size_t stream, char *out, size_t cap);

/* Number of steps of a stream, at least 1; streams may differ. */
size_t cc_trace_steps(const struct cc_trace *t, size_t stream);
/* The number that the metadata gives the step, else its index. Numbers increase, with gaps. */
uint64_t cc_trace_step_number(const struct cc_trace *t, size_t stream, size_t step);

/* Number of steps that trace_check.h has left out of all streams, and sets *numbers, unless it is
 * NULL, to their numbers, increasing; the trace owns them. */
size_t cc_trace_skipped(const struct cc_trace *t, const uint64_t **numbers);

/* Number of tensors of every step, at least 1. */
size_t cc_trace_tensors(const struct cc_trace *t);
/* Name and shape, owned by the trace; a shape may have no values. */
const struct cc_tensor_info *cc_trace_tensor(const struct cc_trace *t, size_t tensor);
/* Values of one step, all tensors together. */
size_t cc_trace_values(const struct cc_trace *t);
/* Values of the largest tensor: the size of a buffer that cc_trace_load can use for all of them. */
size_t cc_trace_largest(const struct cc_trace *t);

/* The name for output: the path, or "synthetic:laplace:resnet110". Owned by the trace. */
const char *cc_trace_name(const struct cc_trace *t);
/* Whether its values are drawn from a distribution (synth.h). */
bool cc_trace_drawn(const struct cc_trace *t);

/* Sets x, which has room for the tensor's values, to those of one step. Values that are NaN or
 * infinite are passed through.
 *
 * Errors: the file cannot be read, has changed since the trace was opened, or (CSV) holds something
 * that is not a number; x is then unspecified. May be called by several threads at once. */
int cc_trace_load(struct cc_trace *t, size_t stream, size_t step, size_t tensor, float *x,
                  struct cc_error *e);
/* The same for the first n values of the tensor; no more are drawn or converted, where possible. */
int cc_trace_load_first(struct cc_trace *t, size_t stream, size_t step, size_t tensor, size_t n,
                        float *x, struct cc_error *e);

/* Releases the trace and all that it owns; NULL is allowed. */
void cc_trace_close(struct cc_trace *t);

#endif
