/* The configuration of a bench: which gradients and schemes are measured, and how. Also the codecs
 * and contexts that follow from it. */
#ifndef CC_BENCH_CONFIG_H
#define CC_BENCH_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/trace/trace.h"
#include "schemes/codec_set.h"

struct cc_bench_config {
    struct cc_trace *trace;
    size_t stream; /* its index in the trace */
    const struct cc_spec_list *schemes;
    const struct cc_spec *raw; /* for tensors under min_size: fp32, or the trace's type */
    size_t min_size;           /* in values; smaller tensors travel so */
    const bool *raw_tensor;    /* by tensor: true if it does as well; may be NULL */
    size_t steps; /* the number of the trace's steps that are used, from its first on */
    uint64_t seed;
    int threads; /* one: speeds are of the time that it runs on a processor, so that it does not
                    count when others have it */
    struct cc_error *failed; /* one per scheme: why it was given up, or empty; the others go on */
    /* Called now and then with the share of the phase that is done; may be NULL. */
    void (*progress)(void *arg, const char *phase, double done);
    void *progress_arg;
};

/* The scheme that a tensor travels under: scheme number `scheme`, or raw. */
const struct cc_spec *cc_bench_spec(const struct cc_bench_config *config, size_t scheme,
                                    size_t tensor);

/* The codec of a tensor, without memory, for gradients of the trace's type. */
struct cc_codec_item cc_bench_codec(const struct cc_bench_config *config, size_t scheme,
                                    size_t tensor);

/* The codecs of all tensors under one scheme, item[t] for tensor t. To be freed with
 * cc_codec_set_free; on failure *out is empty. */
int cc_bench_codecs(const struct cc_bench_config *config, size_t scheme,
                    const struct cc_codec_memory *memory, struct cc_codec_set *out,
                    struct cc_error *e);

/* The steps of one pass under this scheme: whole periods, at least one. Step i of a pass uses the
 * gradients of step i mod config->steps of the trace. */
size_t cc_bench_steps(const struct cc_bench_config *config, size_t scheme);

/* Whether the scheme was given up. */
bool cc_bench_failed(const struct cc_bench_config *config, size_t scheme);

/* Prefixes a message with the trace, the stream, the step's number in the trace and the scheme. */
void cc_bench_error_in(const struct cc_bench_config *config, size_t step, const char *scheme,
                       struct cc_error *e);

/* Calls work(arg, s) for every scheme s, for as many at a time as there are threads, at most
 * `most`, and reports the progress of this phase. Their results must not depend on the order.
 * After an interrupt, the rest are left out. */
void cc_bench_each_scheme(const struct cc_bench_config *config, int most, const char *phase,
                          void (*work)(void *arg, size_t scheme), void *arg);

/* The context of a tensor at running step `step`, which counts over all passes. */
struct cc_context cc_bench_context(const struct cc_bench_config *config, size_t tensor,
                                   uint64_t step);

#endif
