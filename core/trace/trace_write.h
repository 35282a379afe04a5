/* Writing traces: a file for each step and sender, and directories of them. */
#ifndef CC_CORE_TRACE_TRACE_WRITE_H
#define CC_CORE_TRACE_TRACE_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/format/tensorfile.h"
#include "core/trace/trace.h"

/* Writes one step of one stream to the file `path` (core/format/tensorfile.h), as float32 or in the
 * type that was set (cc_trace_set_element), with the `count`
 * pairs of metadata, or, if pairs is NULL, those of a trace: schema, direction, rank, step, order.
 * Releases the step. An interrupt is an error, and leaves no file. */
int cc_trace_write_step(struct cc_trace *t, size_t stream, size_t step, const char *path,
                        const struct cc_pair *pairs, size_t count, struct cc_error *e);

/* How steps become files, as cc_trace_write_step does. */
typedef int cc_write_step(struct cc_trace *t, size_t stream, size_t step, const char *path,
                          const struct cc_pair *pairs, size_t count, struct cc_error *e);

/* Fails unless the directory is missing or empty. */
int cc_trace_check_directory(const char *path, struct cc_error *e);

/* Writes all steps of all streams to a directory, which must not exist or be empty, as
 * push-step000012-rank3.safetensors and pull-step000012.safetensors, or by another function with
 * its suffix (write NULL: cc_trace_write_step). The directory appears when it is complete, or not
 * at all. Calls `progress`, if not NULL, after each file with the part that is done, in (0, 1].
 * *files and *bytes count what was written. */
int cc_trace_write(struct cc_trace *t, const char *directory, cc_write_step *write,
                   const char *suffix, void (*progress)(void *context, double done), void *context,
                   uint64_t *files, uint64_t *bytes, struct cc_error *e);

#endif
