/* The scheme contract. A scheme is one file that defines one `const struct cc_scheme`, and one line
 * in list.h. Everything else (command line, help, bench, container, tests, fuzzing) works from the
 * descriptor. */
#ifndef CC_SCHEMES_SCHEME_H
#define CC_SCHEMES_SCHEME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/param.h"
#include "core/random.h"
#include "core/tensor.h"

enum cc_scheme_flag {
    CC_LOSSY = 1,      /* what is decoded can differ from what was encoded */
    CC_STOCHASTIC = 2, /* draws random numbers */
    CC_FEEDBACK = 4,   /* keeps what it did not send in a residual, unless ef=0 */
    CC_UNBIASED = 8,   /* the expectation of what is decoded is what was encoded (with ef=0) */
    CC_SPARSE = 16,    /* the payload lists the values it keeps: decode_add need touch no others */
};

enum cc_payload_kind {
    CC_OPAQUE,  /* bytes that must be decoded */
    CC_SUM_F32, /* float32 that may be summed element by element by any allreduce */
    CC_PAIRS,   /* sorted index-value pairs */
};

/* One value of a sparse gradient. */
struct cc_index_value {
    uint32_t index;
    float value;
};

/* The size of a payload that is a set of index-value pairs: value_bits for each value of the tensor
 * (1 where a bitmap tells which are sent) and pair_bits for each pair, apart from a header of a few
 * bytes. pair_bits is 0 for payloads that are no set of pairs. */
struct cc_pair_cost {
    unsigned value_bits, pair_bits;
};

/* Which tensor of which message this is: all that random numbers depend on, and what error
 * messages name. */
struct cc_context {
    uint64_t seed;
    int64_t rank; /* -1: the server */
    enum cc_direction direction;
    uint64_t step;    /* counts from 0 */
    uint64_t tensor;  /* index in the step */
    uint64_t offset;  /* where x begins in the whole tensor, in values: an exchange may encode one
                         chunk, aligned to the scheme's bucket */
    const char *name; /* of the tensor, or NULL */
};

/* The least that encode must move through memory when the tensor is out of cache, as passes over
 * float32 streams of n values; the payload is written in the last pass. Two passes where a scale
 * must be known first. A stream that is updated is read and written in place. */
struct cc_traffic {
    unsigned passes;
    struct {
        unsigned reads, updates;
    } pass[2];
};

/* One pass that reads the gradient and updates `updates` streams of state. */
static inline struct cc_traffic cc_traffic_one(unsigned updates)
{
    return (struct cc_traffic){.passes = 1, .pass = {{.reads = 1, .updates = updates}}};
}

/* Two, where a scale over the whole tensor must be known first: the first reads the gradient and
 * the residual, if there is one, the second updates it. */
static inline struct cc_traffic cc_traffic_two(unsigned residuals)
{
    return (struct cc_traffic){
        .passes = 2,
        .pass = {{.reads = 1 + residuals}, {.reads = 1, .updates = residuals}},
    };
}

/* One instance of a scheme for one tensor. The caller owns all that it points to. */
struct cc_codec {
    const struct cc_scheme *scheme;
    const void *params; /* as described by scheme->params, checked */
    struct cc_shape shape;
    void *state;   /* state_bytes, aligned to 8 or more; flat and relocatable: it may be copied,
                      saved, restored. NULL when there is none, and for a codec that only decodes */
    void *scratch; /* scratch_bytes, aligned to CC_ALIGN, contents meaningless between calls: it may
                      be shared by codecs that do not work at the same time */
    int threads;   /* that one call may use; 0 and 1: the calling one alone. The payload, the state
                      and what is decoded do not depend on it, nor do the sizes */
};

struct cc_scheme {
    const char *id;        /* as on the command line */
    const char *title;     /* a few words */
    const char *reference; /* where it was published, and the section */
    const char *layout;    /* the payload in a line or two, for `commcomp schemes` */
    unsigned flags;        /* of enum cc_scheme_flag */
    enum cc_payload_kind kind;
    const struct cc_param *params; /* ends with a row without a name */
    size_t params_bytes;           /* size of the struct that the table describes */

    /* The parameter that is a magnitude in the gradient's own unit, so that size and error hold
     * only for gradients of the same scale; NULL: none. */
    const char *absolute_param;

    /* Checks that involve several parameters; NULL when the table's ranges say it all. */
    int (*check)(const void *params, struct cc_error *e);
    /* After how many steps the pattern of payloads repeats; NULL: every step sends. */
    size_t (*period)(const void *params);

    /* The largest payload for this shape, the size of the state, and of the scratch memory for
     * encode and both decodes. state_bytes and scratch_bytes may be NULL: none. bound returns
     * SIZE_MAX when the size overflows. */
    size_t (*bound)(const void *params, const struct cc_shape *shape);
    size_t (*state_bytes)(const void *params, const struct cc_shape *shape);
    size_t (*scratch_bytes)(const void *params, const struct cc_shape *shape);

    /* Whether the dimensions of the tensor, and not only its number of values, decide the payload:
     * every payload that is sent then has exactly bound bytes, and sizes and errors measured on
     * flat tensors do not carry over. NULL: no. */
    bool (*sized_by_shape)(const void *params);

    /* What encode must move at least, for the roofline of `bench`; NULL: memory is not its limit.
     */
    struct cc_traffic (*traffic)(const void *params);

    /* Sets the state to its beginning; NULL: all bytes zero. */
    void (*init)(const struct cc_codec *c);

    /* Encodes shape.n values into out[0, cap), cap >= bound, and sets *len <= bound. Allocates
     * nothing, and never reads or writes beyond the buffers. Refuses NaN and infinity, also in
     * gradient + residual, with the tensor's name and index (cc_refuse); the state is then
     * unspecified. x and out do not overlap. */
    int (*encode)(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e);
    /* Decodes a payload of len bytes into y[0, shape.n). Any bytes either decode or give an error
     * that names the offset; y is then unspecified. Touches no state. */
    int (*decode)(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, float *y, struct cc_error *e);
    /* y += scale * decoded: one float multiplication, one float addition a value. What a sparse
     * payload did not send may be left out: y + 0 is y, but for the sign of a zero. */
    int (*decode_add)(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                      size_t len, float scale, float *y, struct cc_error *e);

    /* Payloads as index-value pairs, for exchanges that merge them without decoding: what they
     * cost, and how to read them. Both NULL for schemes whose payloads are never sets of pairs;
     * wrappers ask inside. */
    struct cc_pair_cost (*pair_cost)(const void *params);
    /* Writes the pairs of a payload to out[0, cap), in ascending order of their indices, and sets
     * *count. The indices are strictly ascending, from base on: base + shape.n is at most 2^32. Set
     * to these values, zeros become exactly what decode gives. What decode refuses is refused
     * here, too, and so is a payload of more than cap pairs; out is then unspecified. A
     * payload of encode has at most cc_pairs_bound pairs. Allocates nothing and touches no state.
     */
    int (*to_pairs)(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                    size_t len, uint32_t base, struct cc_index_value *out, size_t cap,
                    size_t *count, struct cc_error *e);

    /* Rounds: what workers do who share an allreduce of floats, where a scheme can use sums, but
     * not of its payloads as they are. In each round everyone encodes floats, which are summed
     * element by element, and absorbs the sum before the next round begins. NULL for schemes that
     * cannot, and for those of CC_SUM_F32: their payload is the only round (cc_sum_rounds). */
    size_t (*rounds)(const void *params); /* how many, 0: none after all; wrappers ask inside */
    /* The bytes of a round, a multiple of 4, at most bound; may be 0. A step in which nothing is
     * sent has 0 bytes in all rounds (see period). */
    size_t (*round_bytes)(const void *params, const struct cc_shape *shape, size_t round);
    /* As encode, with round_bytes in the place of bound, for the rounds in order. x is the same in
     * all rounds of a step. What the next call needs is kept in the state. */
    int (*encode_round)(const struct cc_codec *c, const struct cc_context *ctx, size_t round,
                        const float *x, uint8_t *out, size_t cap, size_t *len, struct cc_error *e);
    /* Takes in the sum of what everyone encoded in this round; scale * sum is their mean. In the
     * last round that has any bytes, y += the mean that is decoded, and the residual becomes what
     * this worker did not get across. The same bits in give the same state, but for the residual,
     * and the same mean on every worker. Any bytes are either absorbed or give an error that names
     * the offset; state and y are then unspecified. */
    int (*absorb)(const struct cc_codec *c, const struct cc_context *ctx, size_t round,
                  const uint8_t *in, size_t len, float scale, float *y, struct cc_error *e);
};

/* The catalogue, in its order; ends with NULL. */
extern const struct cc_scheme *const cc_schemes[];

/* NULL if there is none of that id. */
const struct cc_scheme *cc_scheme_find(const char *id);

/* Sizes with the NULL functions filled in. */
size_t cc_state_bytes(const struct cc_codec *c);
size_t cc_scratch_bytes(const struct cc_codec *c);
size_t cc_bound(const struct cc_codec *c);
size_t cc_period(const struct cc_scheme *s, const void *params);

/* pair_bits is 0 if payloads are no sets of pairs. */
struct cc_pair_cost cc_pair_cost(const struct cc_scheme *s, const void *params);
/* The largest number of pairs in a payload of this codec, at most n; 0 if payloads are no sets of
 * pairs. */
size_t cc_pairs_bound(const struct cc_codec *c);
bool cc_sized_by_shape(const struct cc_scheme *s, const void *params);

/* How many sums of floats one step takes over an allreduce; 0: its payloads must be decoded. */
size_t cc_sum_rounds(const struct cc_scheme *s, const void *params);
/* 0 in rounds that the scheme does not have. */
size_t cc_round_bytes(const struct cc_codec *c, size_t round);

/* Sets the state to its beginning. */
void cc_codec_reset(const struct cc_codec *c);

/* How everyone but the schemes themselves calls a codec. These settle what is the same for all: an
 * empty tensor has an empty payload, and cap must be at least the bound. A scheme's own functions
 * may rely on n >= 1. */
int cc_encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x, uint8_t *out,
              size_t cap, size_t *len, struct cc_error *e);
int cc_decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in, size_t len,
              float *y, struct cc_error *e);
int cc_decode_add(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, float scale, float *y, struct cc_error *e);

/* Reads a payload as pairs (see to_pairs above). Fails for schemes whose payloads are no sets of
 * pairs, and where base + n exceeds 2^32. */
int cc_to_pairs(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                size_t len, uint32_t base, struct cc_index_value *out, size_t cap, size_t *count,
                struct cc_error *e);

/* The same for rounds. Rounds beyond the scheme's own are empty, so that codecs of several schemes
 * go through the same number of them; a scheme without any is an error. */
int cc_encode_round(const struct cc_codec *c, const struct cc_context *ctx, size_t round,
                    const float *x, uint8_t *out, size_t cap, size_t *len, struct cc_error *e);
int cc_absorb(const struct cc_codec *c, const struct cc_context *ctx, size_t round,
              const uint8_t *in, size_t len, float scale, float *y, struct cc_error *e);

/* --- for the schemes' own use --- */

/* The random numbers of one encode call: key for the element at `index` of the whole tensor (the
 * key holds for all indices with the same upper 32 bits). `stream` tells independent draws apart.
 */
struct cc_key cc_context_key(const struct cc_context *ctx, uint64_t index, uint64_t stream);

/* Finds the first value that is not finite in x (+ r if not NULL), says so with the tensor's name
 * and the index, and returns CC_FAIL. */
int cc_refuse(const struct cc_context *ctx, const float *x, const float *r, size_t n,
              struct cc_error *e);

/* A payload that is not `want` bytes long. */
int cc_bad_length(size_t len, size_t want, struct cc_error *e);

/* For to_pairs: CC_FAIL where a payload has more pairs than there is room for. */
int cc_check_pairs_room(size_t count, size_t cap, struct cc_error *e);

/* CC_FAIL with "byte OFFSET: " and the text. */
int cc_bad_payload(size_t offset, struct cc_error *e, const char *fmt, ...) CC_PRINTF(3, 4);

/* decode_add for a float that was already decoded, so that every scheme rounds alike. */
static inline float cc_add_scaled(float y, float scale, float v)
{
    float product = scale * v;
    return y + product;
}

#endif
