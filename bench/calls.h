/* The calls whose speed is measured (encode, decode, decode_add), and the memory they work in.
 * Tensors are measured in groups; each call of a whole group lies between two readings of the
 * clock. */
#ifndef CC_BENCH_CALLS_H
#define CC_BENCH_CALLS_H

#include "bench/config.h"
#include "bench/memory.h"

enum cc_call { CC_ENCODE, CC_DECODE, CC_DECODE_ADD, CC_CALLS };

/* "encode", "decode", "decode_add". */
extern const char *const cc_call_names[CC_CALLS];

/* Values between two readings of the clock, for steps of `values` values: 128 Ki. Where a step
 * stays in the second-level cache, and that is its limit, 1 Mi: the first of them come from further
 * away, since other codecs and the loops of the limits were timed before. */
size_t cc_batch_values(size_t values);

/* Tensors that are timed together, about 2 Mi values: enough that reading the clock costs nothing,
 * few enough that their memory stays small. A larger tensor is a group of its own.
 *
 * A group of fewer values than cc_batch_values is timed over several steps at once, which together
 * have that many values, or which are 1,024. The gradients of these steps (different ones, if the
 * trace has enough steps, as far as they take a quarter of the second-level cache) lie side by side
 * and stay in the cache, as do their payloads; all are decoded into the same buffer.
 */
struct cc_group {
    size_t first, count, values; /* tensors [first, first + count), and their values in a step */
    uint64_t *step;              /* by scheme: steps encoded so far */
};

/* A cell is one tensor in one of the steps that are timed together. */
struct cc_calls {
    const struct cc_bench_config *config;
    struct cc_codec_set *codecs; /* one per scheme: with states, without scratch and payload */
    struct cc_group *group;
    size_t groups, tensors;
    enum cc_element type;          /* of the gradients, which encode reads as they are stored */
    uint8_t *load;                 /* the gradients of a batch */
    float *wide, *decoded;         /* a gradient before it is rounded to 16 bits; decoded values */
    uint8_t *payload, *scratch;    /* used by all schemes in turn */
    size_t thread_scratch;         /* bytes per thread, when threads share out the tensors */
    const void **x;                /* by cell: the gradient */
    size_t *payload_at, *len;      /* by cell: where its payload lies, and its length */
    size_t *value_at;              /* by tensor: where its decoded values lie */
    uint64_t *slot_step;           /* by slot: the running step that was encoded last */
    struct cc_cache_flush flush;   /* empty unless some group is too large for the cache */
    const struct cc_group *loaded; /* the group in x, with loaded_slots steps from loaded_step on */
    size_t loaded_step, loaded_slots;
    struct cc_error *thread_error; /* one per thread */
};

/* Fails if the states of all schemes, which are alive at once, do not fit into memory.
 * cc_calls_open checks this too; a caller that measures errors first wants to know before that. */
int cc_calls_check(const struct cc_bench_config *config, struct cc_error *e);

/* per_tensor: every tensor is a group of its own. On failure *w is empty. */
int cc_calls_open(const struct cc_bench_config *config, bool per_tensor, struct cc_calls *w,
                  struct cc_error *e);
void cc_calls_close(struct cc_calls *w);

/* Called when a step is decoded, with the values of a tensor of the group. */
typedef void cc_on_decoded(void *arg, size_t tensor, const float *decoded);

/* Times at least one period of a scheme over a group: adds the seconds per step of each call to
 * seconds[], and the payload bytes per step to *bytes. on_decoded (or NULL) is called once or more,
 * outside the timing. If the codec fails, the scheme is given up and the result is CC_OK. */
int cc_calls_group(struct cc_calls *w, size_t scheme, size_t group, double seconds[CC_CALLS],
                   double *bytes, cc_on_decoded *on_decoded, void *arg, struct cc_error *e);

#endif
