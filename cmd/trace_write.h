/* Writing traces: a file for each step and sender, and directories of them. */
#ifndef CC_CMD_TRACE_WRITE_H
#define CC_CMD_TRACE_WRITE_H

#include "cmd/command.h"
#include "cmd/progress.h"
#include "core/tensorfile.h"
#include "core/trace.h"

/* One step of one stream to the file `path`, with these metadata, or, if pairs is NULL, those of a
 * trace: schema, direction, rank, step, order. */
int cc_trace_write_step(struct cc_trace *t, size_t stream, size_t step, const char *path,
                        const struct cc_pair *pairs, size_t count, struct cc_error *e);

/* All steps of all streams to a directory that does not exist yet or is empty. It appears when it
 * is complete. *files and *bytes say what was written. */
int cc_trace_write(struct cc_trace *t, const char *directory, struct cc_progress *progress,
                   uint64_t *files, uint64_t *bytes, struct cc_error *e);

#endif
