/* The scheme contract: how a gradient tensor becomes bytes and back.
 *
 * A scheme is one file that defines one `const struct cc_scheme`, and one line in list.h. Command
 * line, help, bench, container, models, exchanges, tests and fuzzing work from this descriptor;
 * none of them knows a scheme by name. A codec is a scheme with parameters for one tensor: the
 * caller provides its state, its scratch memory and all buffers.
 *
 * Sizes are in bytes and lengths in float32 values unless said otherwise. Functions that can fail
 * return CC_OK, or CC_FAIL with a message in *e (e may be NULL); none of them allocates or keeps a
 * pointer. Codecs with state and scratch memory of their own may be used by several threads at
 * once. docs/payloads.md defines the payloads byte by byte. */
#ifndef CC_SCHEMES_SCHEME_H
#define CC_SCHEMES_SCHEME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/error.h"
#include "core/exchange.h"
#include "core/param.h"
#include "core/random.h"
#include "core/tensor.h"

enum cc_scheme_flag {
    CC_LOSSY = 1,      /* decoded values can differ from encoded ones */
    CC_STOCHASTIC = 2, /* draws random numbers */
    CC_FEEDBACK = 4,   /* keeps the unsent part in a residual, unless ef=0 */
    CC_UNBIASED = 8,   /* the expectation of the decoded value is the encoded one (with ef=0, and
                          with rounding=random where that is a parameter) */
    CC_SPARSE = 16,    /* the payload names the values it keeps: adding it touches no others */
    CC_VERBATIM = 32,  /* CC_SUM_F32: the payload is the gradient itself, which an exchange that
                          sums floats can send without encoding it */
};

enum cc_payload_kind {
    CC_OPAQUE,  /* bytes that must be decoded */
    CC_SUM_F32, /* float32 that any allreduce may sum element by element */
    CC_PAIRS,   /* a set of index-value pairs, see to_pairs */
};

/* One value of a sparse gradient. */
struct cc_index_value {
    uint32_t index;
    float value;
};

/* The size of a payload that is a set of index-value pairs: value_bits for each value of the tensor
 * (1 where a bitmap tells which are sent) and pair_bits for each pair, apart from a header of a few
 * bytes; at least that, where parts have headers or pairs differ in length. pair_bits is 0 for
 * payloads that are not sets of pairs. */
struct cc_pair_cost {
    unsigned value_bits, pair_bits;
};

/* Identifies a tensor of a message. Random numbers depend on seed, rank, direction, step, tensor
 * and index only; error messages name the tensor. */
struct cc_context {
    uint64_t seed;
    int64_t rank; /* -1: the server */
    enum cc_direction direction;
    bool any;         /* NaN and infinity are passed on as they are, not refused: files of tensors
                         that are kept, by schemes that lose nothing; others still refuse them */
    uint64_t step;    /* counts from 0 */
    uint64_t tensor;  /* index in the step */
    uint64_t offset;  /* index of x[0] in the whole tensor: an exchange may encode one chunk, which
                         begins on a multiple of the scheme's bucket */
    const char *name; /* the tensor's, or NULL */
};

/* The least memory traffic of encode for a tensor that is not in the cache, in passes over streams
 * of n float32. The payload is written in the last pass. Schemes that need a scale of the whole
 * tensor first take two passes. An updated stream is read and written in place. */
struct cc_traffic {
    unsigned passes;
    struct {
        unsigned reads, updates;
    } pass[2];
};

/* One pass, which reads the gradient and updates `updates` streams of state. */
static inline struct cc_traffic cc_traffic_one(unsigned updates)
{
    return (struct cc_traffic){.passes = 1, .pass = {{.reads = 1, .updates = updates}}};
}

/* Two passes, for a scale of the whole tensor: the first reads the gradient and the residuals (0 or
 * 1), the second reads the gradient again and updates the residuals. */
static inline struct cc_traffic cc_traffic_two(unsigned residuals)
{
    return (struct cc_traffic){
        .passes = 2,
        .pass = {{.reads = 1 + residuals}, {.reads = 1, .updates = residuals}},
    };
}

/* A scheme with parameters for one tensor. The caller owns everything it points to. */
struct cc_codec {
    const struct cc_scheme *scheme;
    const void *params; /* as described by scheme->params, checked */
    struct cc_shape shape;
    void *state;   /* cc_state_bytes, aligned to 8 or more; flat and relocatable: may be copied,
                      saved and restored. NULL if that is 0, and for a codec that only decodes */
    void *scratch; /* cc_scratch_bytes, aligned to CC_ALIGN; contents mean nothing between calls, so
                      codecs that do not work at the same time may share it */
    int threads;   /* how many one call may use; 0 and 1: only the calling one. Payload, state,
                      decoded values and sizes do not depend on it */
    enum cc_element input; /* the type of gradients that cc_encode_from may get beside float32 */
};

/* The number of this interface, which plugins are built with (schemes/plugin.h): another one for
 * every change of a struct that a plugin shares with the program. */
#define CC_SCHEME_ABI 5

struct cc_scheme {
    const char *id;        /* as on the command line */
    const char *title;     /* a few words */
    const char *reference; /* publication and section */
    const char *layout;    /* the payload in a line or two, for `commcomp schemes` */
    unsigned flags;        /* bits of enum cc_scheme_flag */
    enum cc_payload_kind kind;
    const struct cc_param *params; /* ends with a row without a name */
    size_t params_bytes;           /* size of the struct that the table describes */

    /* The parameter that is a magnitude in the gradient's own unit, so that size and error hold
     * only for gradients of the same scale; NULL: none. */
    const char *absolute_param;

    /* The momentum that the scheme itself applies to the gradients, in place of the optimizer's:
     * what it sends adds up to the gradients with that momentum. NULL: none. */
    double (*momentum)(const void *params);

    /* Checks combinations of parameters that the table's ranges cannot; returns CC_OK or CC_USAGE.
     * NULL: every combination is valid. */
    int (*check)(const void *params, struct cc_error *e);
    /* After how many steps the pattern of empty and non-empty payloads repeats, at least 1. NULL:
     * 1, every step sends. */
    size_t (*period)(const void *params);

    /* The largest payload, the state and the scratch memory of a tensor, in bytes; SIZE_MAX if that
     * overflows. The state has a multiple of 4 bytes. The scratch memory serves encode, decode,
     * to_pairs and rounds. state_bytes and scratch_bytes may be NULL: none. */
    size_t (*bound)(const void *params, const struct cc_shape *shape);
    size_t (*state_bytes)(const void *params, const struct cc_shape *shape);
    size_t (*scratch_bytes)(const void *params, const struct cc_shape *shape);

    /* Whether the dimensions of the tensor, and not only its number of values, decide the payload:
     * every payload that is sent then has exactly bound bytes, and sizes and errors measured on
     * flat tensors do not carry over. NULL: no. */
    bool (*sized_by_shape)(const void *params);

    /* Memory traffic of encode, for the roofline of `bench`. NULL: memory does not limit it. */
    struct cc_traffic (*traffic)(const void *params);

    /* Sets a state to that of a new tensor. NULL: all bytes zero. */
    void (*init)(const struct cc_codec *c);

    /* Encodes shape.n values to out[0, cap), cap >= bound, and sets *len <= bound. x and out do not
     * overlap; nothing outside the buffers is read or written. Refuses NaN and infinity, also in
     * gradient + residual, naming tensor and index (cc_refuse), unless ctx->any says otherwise
     * (cc_passes); the state is then unspecified. If
     * others write to x meanwhile, this holds all the same, and what is encoded is any mixture. */
    int (*encode)(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e);
    /* In place of encode, for a scheme that widens gradients of 16 bits as it reads them: the same
     * for values of any type. Payload, state and messages are those of the values widened to
     * float32; state is float32 whatever the type. NULL: encode, for which cc_encode_from widens
     * the gradient into scratch memory. */
    int (*encode_from)(const struct cc_codec *c, const struct cc_context *ctx, struct cc_elements x,
                       uint8_t *out, size_t cap, size_t *len, struct cc_error *e);
    /* Whether, with these parameters, encode_from is for float32 alone. NULL: never. */
    bool (*widens)(const void *params);
    /* Decodes a payload of len bytes: sets y[0, shape.n) to the decoded values if scale is NULL,
     * and otherwise adds *scale * decoded, with one float multiplication and one float addition a
     * value (cc_add_scaled). Values that a sparse payload leaves out need not be added: y + 0 is y
     * except for the sign of zero. The payload is untrusted: any bytes either decode or give an
     * error that names the offset, and y is then unspecified, also if others write to the payload
     * meanwhile. Touches no state. */
    int (*decode)(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e);

    /* Payloads as index-value pairs (the sparse streams of SparCML, section 3), for exchanges that
     * merge them without decoding: what they cost, and how to read them. Both NULL for schemes
     * whose payloads are never sets of pairs; a wrapper asks the scheme inside. */
    struct cc_pair_cost (*pair_cost)(const void *params);
    /* Writes the pairs of a payload to out[0, cap) and sets *count. Indices ascend strictly and
     * count from base; base + shape.n is at most 2^32. Zeros with the pairs' values in their places
     * are exactly the decoded tensor. Refuses everything that decode refuses, and payloads of more
     * than cap pairs; out is then unspecified. A payload of encode has at most cc_pairs_bound
     * pairs. Touches no state. */
    int (*to_pairs)(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                    size_t len, uint32_t base, struct cc_index_value *out, size_t cap,
                    size_t *count, struct cc_error *e);

    /* Where in the state the residual begins, in bytes from its beginning: shape.n floats, to which
     * values that were sent in vain may be added again (cc_give_back). SIZE_MAX: these parameters
     * keep none. NULL: the scheme has none. */
    size_t (*residual_at)(const void *params, const struct cc_shape *shape);

    /* Rounds, for a scheme that can use an allreduce of floats although its payload cannot be
     * summed (PowerSGD, algorithms 1 and 2). In each round every worker encodes floats, an
     * allreduce sums them element by element, and every worker absorbs the sum before the next
     * round. All NULL for schemes that cannot, and for CC_SUM_F32, whose payload is the only round
     * (cc_sum_rounds). */
    size_t (*rounds)(const void *params); /* 0: none with these parameters */
    /* The bytes of a round: a multiple of 4, at most bound, possibly 0. In a step that sends
     * nothing (see period) all rounds have 0 bytes. */
    size_t (*round_bytes)(const void *params, const struct cc_shape *shape, size_t round);
    /* As encode, with round_bytes instead of bound, for the rounds in order. x is the same in all
     * rounds of a step. The state carries everything that the next call needs. */
    int (*encode_round)(const struct cc_codec *c, const struct cc_context *ctx, size_t round,
                        const float *x, uint8_t *out, size_t cap, size_t *len, struct cc_error *e);
    /* Absorbs the sum of all workers' floats of a round; scale * sum is their mean. In the last
     * round that has any bytes, y += the decoded mean, and the residual becomes this worker's
     * unsent part. Equal input gives every worker the same mean and the same state except for the
     * residual. The sum is untrusted as in decode; after an error state and y are unspecified. */
    int (*absorb)(const struct cc_codec *c, const struct cc_context *ctx, size_t round,
                  const uint8_t *in, size_t len, float scale, float *y, struct cc_error *e);

    /* The bits that n values have at least by the model of values which the scheme codes: the
     * entropy of what it codes, by its frequencies in these values, and the size of what it leaves
     * as it is. For bench, which shows how near the payload comes; a code that adapts within the
     * tensor may do better. NULL: none. */
    double (*entropy)(const void *params, const float *x, size_t n);
};

/* The catalogue in the order of list.h, then the schemes that were added; ends with NULL. */
extern const struct cc_scheme *const *const cc_schemes;

/* The scheme of that id, or NULL. */
const struct cc_scheme *cc_scheme_find(const char *id);

/* Adds a scheme, which must outlive the process's use of it, to the catalogue. Fails, and says why,
 * if its descriptor is incomplete or contradicts itself, or another scheme has its id. A scheme
 * that is there already stays. Not while other threads use the catalogue. */
int cc_scheme_add(const struct cc_scheme *s, struct cc_error *e);

/* Whether the scheme has code. A scheme that only a profile describes has no encode and no decode,
 * and cc_encode and cc_decode refuse it. */
static inline bool cc_scheme_runs(const struct cc_scheme *s)
{
    return s->encode != NULL || s->encode_from != NULL;
}

/* --- what others ask: the descriptor with defaults for NULL functions --- */

/* Bytes; 0 for an empty tensor. SIZE_MAX on overflow. */
size_t cc_state_bytes(const struct cc_codec *c);
size_t cc_scratch_bytes(const struct cc_codec *c);
size_t cc_bound(const struct cc_codec *c);
/* Bits of the codec's shape; NAN without a model. */
double cc_entropy_bits(const struct cc_codec *c, const float *x);
/* Steps, at least 1. */
size_t cc_period(const struct cc_scheme *s, const void *params);
/* In [0, 1). */
double cc_own_momentum(const struct cc_scheme *s, const void *params);

/* pair_bits is 0 if payloads are not sets of pairs. */
struct cc_pair_cost cc_pair_cost(const struct cc_scheme *s, const void *params);
/* The largest number of pairs in a payload of this codec, at most n; 0 if payloads are not sets of
 * pairs. */
size_t cc_pairs_bound(const struct cc_codec *c);
bool cc_sized_by_shape(const struct cc_scheme *s, const void *params);
/* Whether values that were sent in vain can be given back to the codec: it keeps a residual. */
bool cc_takes_back(const struct cc_scheme *s, const void *params);

/* The number of sums of floats that a step takes over an allreduce; 0: payloads must be decoded. */
size_t cc_sum_rounds(const struct cc_scheme *s, const void *params);
/* How payloads can be reduced: as floats if they can be summed, even if they can be read as pairs.
 */
enum cc_reduction cc_reduction(const struct cc_scheme *s, const void *params);
/* Bytes of a round; 0 beyond the scheme's rounds. */
size_t cc_round_bytes(const struct cc_codec *c, size_t round);

/* --- using a codec: the only way for everyone but the schemes themselves --- */

/* Sets the state to that of a new tensor. */
void cc_codec_reset(const struct cc_codec *c);

/* These call the functions of struct cc_scheme, see there, and handle what is common to all: an
 * empty tensor has an empty payload, and less room than the bound is refused before anything is
 * written. A scheme's own functions may rely on n >= 1. */
int cc_encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x, uint8_t *out,
              size_t cap, size_t *len, struct cc_error *e);
/* The same for values of the type c->input, or float32. */
int cc_encode_from(const struct cc_codec *c, const struct cc_context *ctx, struct cc_elements x,
                   uint8_t *out, size_t cap, size_t *len, struct cc_error *e);
int cc_decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in, size_t len,
              float *y, struct cc_error *e);
int cc_decode_add(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, float scale, float *y, struct cc_error *e);

/* Also fails for schemes whose payloads are not sets of pairs, and if base + n exceeds 2^32. */
int cc_to_pairs(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                size_t len, uint32_t base, struct cc_index_value *out, size_t cap, size_t *count,
                struct cc_error *e);

/* Adds values that were sent in vain to the residual, which sends them again with later gradients.
 * The pairs' indices count from base and lie in the tensor. Only for codecs with a state of which
 * cc_takes_back holds. */
void cc_give_back(const struct cc_codec *c, uint32_t base, const struct cc_index_value *pair,
                  size_t count);

/* Rounds beyond the scheme's own are empty, so that codecs of several schemes can share a number of
 * rounds. Fails for schemes without rounds. */
int cc_encode_round(const struct cc_codec *c, const struct cc_context *ctx, size_t round,
                    const float *x, uint8_t *out, size_t cap, size_t *len, struct cc_error *e);
int cc_absorb(const struct cc_codec *c, const struct cc_context *ctx, size_t round,
              const uint8_t *in, size_t len, float scale, float *y, struct cc_error *e);

/* --- for the schemes' own use --- */

/* The key of the random numbers of elements whose index in the whole tensor has the same upper 32
 * bits as `index`; `stream` separates independent draws. docs/payloads.md, Random numbers. */
struct cc_key cc_context_key(const struct cc_context *ctx, uint64_t index, uint64_t stream);

/* The same of stream 0, where `first` is the key of the index ctx->offset, which most others share.
 */
static inline struct cc_key cc_context_key_near(const struct cc_context *ctx, struct cc_key first,
                                                uint64_t index)
{
    return index >> 32 == ctx->offset >> 32 ? first : cc_context_key(ctx, index, 0);
}

/* Returns CC_FAIL with a message that names the tensor and the first index at which x, or x + r if
 * r is not NULL, is not finite; if all are, that a sum overflowed or that x changes meanwhile. The
 * message counts indices from ctx->offset. */
int cc_refuse(const struct cc_context *ctx, const float *x, const float *r, size_t n,
              struct cc_error *e);
int cc_refuse_from(const struct cc_context *ctx, struct cc_elements x, const float *r, size_t n,
                   struct cc_error *e);

/* The scheme's own encode, whichever it has, without the checks of cc_encode_from: for what wraps a
 * scheme. x is float32 unless the scheme reads other types. */
static inline int cc_scheme_encode(const struct cc_codec *c, const struct cc_context *ctx,
                                   struct cc_elements x, uint8_t *out, size_t cap, size_t *len,
                                   struct cc_error *e)
{
    return c->scheme->encode_from != NULL
               ? c->scheme->encode_from(c, ctx, x, out, cap, len, e)
               : c->scheme->encode(c, ctx, (const float *)x.at, out, cap, len, e);
}

/* Whether the scheme passes on what is not finite: asked to, and losing nothing. */
static inline bool cc_passes(const struct cc_codec *c, const struct cc_context *ctx)
{
    return ctx->any && (c->scheme->flags & CC_LOSSY) == 0;
}

/* CC_FAIL: a payload that gave a fault gives none when it is read again. */
int cc_changed_payload(struct cc_error *e);

/* CC_FAIL: a payload of len bytes instead of `want`. */
int cc_bad_length(size_t len, size_t want, struct cc_error *e);

/* For to_pairs: CC_FAIL if a payload has more pairs than there is room for, otherwise CC_OK. */
int cc_check_pairs_room(size_t count, size_t cap, struct cc_error *e);

/* Writes the message "payload, byte OFFSET: " and the text, and is CC_FAIL: a macro, so that
 * compilers and analyzers know the value. */
#define cc_bad_payload(offset, e, ...) (cc_payload_error(offset, e, __VA_ARGS__), (int)CC_FAIL)
void cc_payload_error(size_t offset, struct cc_error *e, const char *fmt, ...) CC_PRINTF(3, 4);

/* Adds one decoded value to y, so that every scheme rounds alike. */
static inline float cc_add_scaled(float y, float scale, float v)
{
    float product = scale * v;
    return y + product;
}

#endif
