/* The calls whose speed is measured, and the memory they work in: groups of tensors, whose values
 * are loaded, encoded, decoded and decoded-and-added, each between two readings of the clock. */
#ifndef CC_BENCH_CALLS_H
#define CC_BENCH_CALLS_H

#include "bench/memory.h"
#include "bench/config.h"

enum cc_call { CC_ENCODE, CC_DECODE, CC_DECODE_ADD, CC_CALLS };

/* "encode", "decode", "decode_add". */
extern const char *const cc_call_names[CC_CALLS];

/* Tensors are timed in groups of about 2 Mi values, so that the clock costs nothing and the memory
 * stays small; a larger tensor is a group of its own.
 *
 * A group of few values is timed over many steps at once: so many that they have 128 Ki values
 * together. Their gradients (different ones, as far as the trace has so many steps) lie side by
 * side and stay in the cache, as do their payloads; all are decoded into the same place. */
struct cc_group {
    size_t first, count, values;
    uint64_t *step; /* running step, one a scheme */
};

struct cc_calls {
    const struct cc_bench_config *plan;
    struct cc_codec_set *codecs; /* one a scheme */
    struct cc_group *group;
    size_t groups, tensors;
    float *load, *decoded;
    uint8_t *payload, *scratch;
    size_t shared_scratch; /* for each thread, when tensors are shared among them */
    const float **x;       /* by tensor and step: its values */
    size_t *at, *len;      /* by tensor and step: where its payload lies, and how long it is */
    size_t *value_at;      /* by tensor: where its decoded values lie */
    uint64_t *of_step;     /* by step: the running number of the one encoded last */
    struct cc_cache_flush flush;   /* empty if no group is too large for the cache */
    const struct cc_group *loaded; /* of which x holds loaded_slots steps from loaded_step on */
    size_t loaded_step, loaded_slots;
    struct cc_error *failed; /* one a thread */
};

/* Whether memory suffices: the states of all schemes are alive at once. cc_calls_open checks it
 * too, but who measures errors before wants to know earlier. */
int cc_calls_check(const struct cc_bench_config *p, struct cc_error *e);

/* per_tensor: every tensor is a group of its own. */
int cc_calls_open(const struct cc_bench_config *p, bool per_tensor, struct cc_calls *out,
                  struct cc_error *e);
void cc_calls_close(struct cc_calls *w);

/* Forgets the values that are loaded, and with them the trace's mappings. */
void cc_calls_release(struct cc_calls *w);

/* One period or more of a scheme over a group: adds the seconds a step of each call to seconds[],
 * and the payload bytes a step to *bytes. A codec's failure gives the scheme up. With `look` it is
 * called (once or more) when a step is decoded, with the values of a tensor of the group. */
typedef void cc_on_decoded(void *arg, size_t tensor, const float *decoded);
int cc_calls_group(struct cc_calls *w, size_t scheme, size_t group, double seconds[CC_CALLS],
                   double *bytes, cc_on_decoded *on_decoded, void *arg, struct cc_error *e);

#endif
