/* What a bench measures, and the codecs of one scheme for a whole step. */
#ifndef CC_BENCH_CONFIG_H
#define CC_BENCH_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/trace/trace.h"
#include "schemes/spec.h"

struct cc_bench_config {
    struct cc_trace *trace;
    size_t stream;
    const struct cc_spec_list *schemes;
    const struct cc_spec *raw; /* fp32, for tensors under min_size */
    size_t min_size;           /* in values; smaller tensors travel as fp32; */
    const bool *raw_tensor;    /* and so do these, unless it is NULL */
    size_t steps;              /* of the trace, at most as many as it has */
    uint64_t seed;
    int threads;
    struct cc_error *failed; /* one a scheme: why it was given up, or empty; the others go on */
    /* Called between pieces of work with the share done of the phase; may be NULL. */
    void (*progress)(void *arg, const char *phase, double done);
    void *progress_arg;
};

/* The scheme that a tensor travels under. */
const struct cc_spec *cc_bench_spec(const struct cc_bench_config *p, size_t scheme, size_t tensor);

/* A codec for a tensor, without memory of its own. */
struct cc_codec cc_bench_codec(const struct cc_bench_config *p, size_t scheme, size_t tensor);

/* How many steps one pass takes under this scheme: whole periods, at least one. Step i of a pass is
 * step i mod plan->steps of the trace. */
size_t cc_bench_steps(const struct cc_bench_config *p, size_t scheme);

/* Whether the scheme was given up. */
bool cc_bench_failed(const struct cc_bench_config *p, size_t scheme);

/* Puts the trace, the stream, the trace's own step and the scheme before a message. */
void cc_bench_error_in(const struct cc_bench_config *p, size_t step, const char *scheme,
                       struct cc_error *e);

/* "push 0" or "pull". */
void cc_bench_stream_name(const struct cc_bench_config *p, char *out, size_t cap);

/* The context of tensor `tensor` at running step `step` (counted over all passes). */
struct cc_context cc_bench_context(const struct cc_bench_config *p, size_t tensor, uint64_t step);

/* The codecs of one scheme for every tensor, each with its state; no scratch memory. */
struct cc_codec_set {
    const struct cc_bench_config *plan;
    size_t scheme;
    struct cc_codec *codec; /* one a tensor; scratch is NULL */
    uint8_t *states;
    size_t state_bytes, scratch_bytes; /* of all states; of the largest scratch */
    uint64_t step;                     /* running step, for the caller to count */
};

int cc_codec_set_open(const struct cc_bench_config *p, size_t scheme, struct cc_codec_set *out,
                      struct cc_error *e);
void cc_codec_set_close(struct cc_codec_set *b);

#endif
