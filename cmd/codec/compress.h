/* Steps of a trace as compressed files, which all commands read as traces (`trace convert
 * --compress`). */
#ifndef CC_CMD_CODEC_COMPRESS_H
#define CC_CMD_CODEC_COMPRESS_H

#include "core/trace/trace_write.h"

/* Writes the step as `commcomp encode` does, with the scheme CC_COMPRESS_SCHEME, which loses
 * nothing: values come back as they are, in their types. A cc_write_step. */
#define CC_COMPRESS_SCHEME "exponent"
int cc_compress_step(struct cc_trace *t, size_t stream, size_t step, const char *path,
                     const struct cc_pair *pairs, size_t count, struct cc_error *e);

#endif
