/* How traces read compressed files: schemes decode them, which this room does not know, so programs
 * that link both say so once. */
#ifndef CC_CORE_TRACE_TRACE_DECODER_H
#define CC_CORE_TRACE_TRACE_DECODER_H

#include "core/format/container.h"
#include "core/infile.h"

/* Sets x to the values of a tensor of the file; any bytes decode or give an error. */
typedef int cc_trace_decoder(const struct cc_container *file, size_t tensor, float *x,
                             struct cc_error *e);

/* Before the first trace is opened. Without it, compressed files are refused when they are read. */
void cc_trace_decode_by(cc_trace_decoder *decoder);

/* --- for trace_files.c --- */

/* A compressed file in memory, kept for its other tensors. Zero-initialized: none. */
struct cc_held_file {
    size_t index; /* the file's, of the caller */
    struct cc_bytes data;
    struct cc_container container;
    bool open;
};

/* Sets x to the first n of the `all` values of a tensor of file number `index`, which is read
 * unless it is held. Messages begin with the path. */
int cc_held_load(struct cc_held_file *h, size_t index, const struct cc_infile *in, const char *path,
                 size_t tensor, size_t all, size_t n, float *x, struct cc_error *e);
void cc_held_close(struct cc_held_file *h);

#endif
