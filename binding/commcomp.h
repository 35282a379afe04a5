/* commcomp's codecs, containers and traces, for programs in C and C++ and for bindings of other
 * languages: opaque handles and plain types only. docs/library.md has examples.
 *
 *     char error[COMMCOMP_ERROR_BYTES];
 *     const size_t dims[] = {64, 3, 3, 3};
 *     struct commcomp_codec *codec;
 *     if (commcomp_codec_new("3lc:s=1.75", dims, 4, &codec, error) != COMMCOMP_OK)
 *         puts(error);
 *
 * A function that can fail returns COMMCOMP_OK, COMMCOMP_FAIL or COMMCOMP_USAGE (text that is
 * wrong, such as a scheme's parameter), and then writes a line that names the fault, its place and
 * the remedy to error[COMMCOMP_ERROR_BYTES]; `error` may be NULL. Results are set on success only.
 * Arrays belong to the caller, and the library keeps no pointer to them; those of float begin at a
 * multiple of 4 bytes, payloads anywhere. Sizes are in bytes, and lengths in float32 values.
 *
 * A handle is used by one thread at a time; different handles may be used by several threads at
 * once. A codec or a container that is in use by another thread answers a call that needs more than
 * its description with COMMCOMP_FAIL, at once, and nothing has changed. Threads that take turns
 * with a codec keep the turn from commcomp_codec_sender or commcomp_codec_tensor to the call that
 * these are for, and through all rounds of a step. A handle is released when no thread uses it:
 * this is not checked.
 *
 * libcommcomp has all but the reading of traces, which is in libcommcomp-traces. */
#ifndef CC_BINDING_COMMCOMP_H
#define CC_BINDING_COMMCOMP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum commcomp_status { COMMCOMP_OK = 0, COMMCOMP_FAIL = 1, COMMCOMP_USAGE = 2 };

enum { COMMCOMP_ERROR_BYTES = 512, COMMCOMP_MAX_DIMS = 8 };

/* A worker pushes gradients; the server sends what workers pull. */
enum commcomp_direction { COMMCOMP_PUSH = 0, COMMCOMP_PULL = 1 };

/* The version, with the commit behind it if the library was built in a git repository: "0.2.0
 * (0123abc)", as `commcomp --version` has it. */
const char *commcomp_version(void);

/* --- the catalogue --- */

/* Properties of a scheme. */
enum commcomp_flag {
    COMMCOMP_LOSSY = 1,      /* decoded values can differ from encoded ones */
    COMMCOMP_STOCHASTIC = 2, /* draws random numbers: each step needs its own number, and a decoder
                                must know who sends (commcomp_codec_sender) */
    COMMCOMP_FEEDBACK = 4,   /* keeps the unsent part in a residual, unless ef=0 */
    COMMCOMP_UNBIASED = 8, /* the expectation of a decoded value is the encoded one (with ef=0, and
                              with rounding=random where that is a parameter) */
    COMMCOMP_SPARSE = 16,  /* the payload names the values it keeps */
    COMMCOMP_VERBATIM = 32 /* the payload is the gradient itself */
};

enum commcomp_kind {
    COMMCOMP_OPAQUE,  /* bytes that must be decoded */
    COMMCOMP_SUM_F32, /* float32 that any allreduce may sum element by element */
    COMMCOMP_PAIRS    /* a set of index-value pairs */
};

/* The schemes, in the order of `commcomp schemes`; `scheme` is below their number. Texts live as
 * long as the library. Flags are of enum commcomp_flag, the kind is of enum commcomp_kind. */
size_t commcomp_schemes(void);
const char *commcomp_scheme_id(size_t scheme);
const char *commcomp_scheme_title(size_t scheme);
const char *commcomp_scheme_reference(size_t scheme); /* publication and section */
unsigned commcomp_scheme_flags(size_t scheme);
int commcomp_scheme_kind(size_t scheme);

/* The parameters of a scheme; `parameter` is below their number. The range ("1 <= s < 2") and the
 * default are printed to out[0, bytes), cut to that. */
size_t commcomp_parameters(size_t scheme);
const char *commcomp_parameter_name(size_t scheme, size_t parameter);
const char *commcomp_parameter_help(size_t scheme, size_t parameter);
void commcomp_parameter_range(size_t scheme, size_t parameter, char *out, size_t bytes);
void commcomp_parameter_default(size_t scheme, size_t parameter, char *out, size_t bytes);

/* --- codecs --- */

/* The types of values in memory and in files. */
enum commcomp_dtype { COMMCOMP_F32, COMMCOMP_F16, COMMCOMP_BF16, COMMCOMP_F64 };

/* A scheme with parameters for one tensor, with the state that it keeps from step to step. Payloads
 * are defined in docs/payloads.md. */
struct commcomp_codec;

/* Makes a codec of a scheme as on the command line ("3lc:s=1.75") and a row-major shape of ndim
 * dimensions (0: a scalar; at most COMMCOMP_MAX_DIMS). Most schemes only ask for the number of
 * values; powersgd needs the shape. All memory that it will use is allocated here, but for
 * gradients of 16 bits (commcomp_encode_from). Release *out with commcomp_codec_free, which accepts
 * NULL. */
int commcomp_codec_new(const char *scheme, const size_t *dims, int ndim,
                       struct commcomp_codec **out, char *error);
void commcomp_codec_free(struct commcomp_codec *c);

/* The canonical name: the id, then the parameters that differ from their defaults. */
const char *commcomp_codec_name(const struct commcomp_codec *c);
size_t commcomp_codec_values(const struct commcomp_codec *c);
unsigned commcomp_codec_flags(const struct commcomp_codec *c);
int commcomp_codec_kind(const struct commcomp_codec *c);
/* 1 if what is not sent is kept and added to the next gradient, else 0. */
int commcomp_codec_has_feedback(const struct commcomp_codec *c);
/* After how many steps the pattern of empty and non-empty payloads repeats: 1, every step sends. */
size_t commcomp_codec_period(const struct commcomp_codec *c);
/* The size of the largest payload. */
size_t commcomp_codec_bound(const struct commcomp_codec *c);

/* Sets the sender of the tensor. Payloads of schemes that draw random numbers depend on it, so a
 * decoder must be told the same. A new codec has seed 1, rank 0, direction COMMCOMP_PUSH, tensor 0:
 * the defaults of `commcomp encode`. rank is -1 for the server. */
int commcomp_codec_sender(struct commcomp_codec *c, uint64_t seed, int64_t rank, int direction,
                          char *error);
/* The tensor's index in its step, which random numbers also depend on, and its name for messages,
 * which is copied; NULL: none. */
int commcomp_codec_tensor(struct commcomp_codec *c, uint64_t index, const char *name, char *error);
/* The number of threads that one call may use, at least 1. A new codec has 1. Results do not depend
 * on it. */
int commcomp_codec_threads(struct commcomp_codec *c, int threads, char *error);

/* Encodes the tensor's values x, all of which must be finite, as those of this step (from 0) to
 * payload[0, room), where room is at least the bound; *bytes is the payload's size. x and payload
 * do not overlap. After a failure, but for that of a codec in use, the state is unspecified: reset
 * or restore it. */
int commcomp_encode(struct commcomp_codec *c, uint64_t step, const float *x, void *payload,
                    size_t room, size_t *bytes, char *error);
/* The same for values of a dtype of enum commcomp_dtype but float64: the payload and the state are
 * those of the values widened to float32, and most schemes read them without widening a copy first.
 * The first call with a dtype may allocate memory. */
int commcomp_encode_from(struct commcomp_codec *c, uint64_t step, int dtype, const void *x,
                         void *payload, size_t room, size_t *bytes, char *error);
/* Decodes a payload to y, which has room for the tensor's values. Any bytes either decode or give
 * an error, and y is then unspecified. The codec's state is neither used nor changed, so that one
 * codec may decode the payloads of all ranks, one after the other, also if it encodes. */
int commcomp_decode(struct commcomp_codec *c, uint64_t step, const void *payload, size_t bytes,
                    float *y, char *error);
/* y += scale * the decoded values. */
int commcomp_decode_add(struct commcomp_codec *c, uint64_t step, const void *payload, size_t bytes,
                        float scale, float *y, char *error);

/* The number of allreduces of floats that a step takes instead of exchanging payloads: 1 for
 * schemes of the kind COMMCOMP_SUM_F32, 2 for powersgd, 0 if payloads must be decoded. In each
 * round every worker encodes floats, an allreduce sums them element by element, and every worker
 * absorbs the sum before the next round; calls in another order, or of a round that there is not,
 * are refused with COMMCOMP_USAGE and change nothing. */
size_t commcomp_rounds(const struct commcomp_codec *c);
/* The size of a round: a multiple of 4, possibly 0, which needs no allreduce. */
size_t commcomp_round_bytes(const struct commcomp_codec *c, size_t round);
/* As commcomp_encode; x is the same in all rounds of a step. *bytes is the round's size, or 0 in a
 * step that sends nothing. */
int commcomp_encode_round(struct commcomp_codec *c, uint64_t step, size_t round, const float *x,
                          void *payload, size_t room, size_t *bytes, char *error);
/* Absorbs the sum of all workers' floats of a round; scale * sum is their mean. In the last round
 * y += the decoded mean. */
int commcomp_absorb(struct commcomp_codec *c, uint64_t step, size_t round, const void *sum,
                    size_t bytes, float scale, float *y, char *error);

/* The state: residual, momentum, and what else the scheme keeps. Reset sets it to that of a new
 * tensor, and fails only if the codec is in use. A saved state says to which scheme and shape it
 * belongs and has a checksum; restore refuses one that is damaged or of another codec, and then
 * leaves the state as it was. After both, rounds begin with 0. */
int commcomp_reset(struct commcomp_codec *c);
size_t commcomp_state_bytes(const struct commcomp_codec *c); /* the size of a saved state */
int commcomp_state_save(const struct commcomp_codec *c, void *out, size_t room, char *error);
int commcomp_state_restore(struct commcomp_codec *c, const void *state, size_t bytes, char *error);

/* --- containers: the files of `commcomp encode` and `decode`, docs/container.md --- */

/* Writes a file of `tensors` tensors, each of which add encodes from a fresh residual, in order.
 * The file appears with finish, which releases w in any case; abandon releases w without a file and
 * accepts NULL. */
struct commcomp_container_writer;
int commcomp_container_begin(const char *path, const char *scheme, uint64_t seed, int64_t rank,
                             int direction, uint64_t step, size_t tensors,
                             struct commcomp_container_writer **out, char *error);
int commcomp_container_add(struct commcomp_container_writer *w, const char *name,
                           const size_t *dims, int ndim, const float *x, char *error);
int commcomp_container_finish(struct commcomp_container_writer *w, char *error);
void commcomp_container_abandon(struct commcomp_container_writer *w);

/* Reads a file and checks it. A file that claims more values than max_values is refused; 0: 2^26,
 * or 4,096 for each of its bytes if that is more. Close accepts NULL. */
struct commcomp_container;
int commcomp_container_open(const char *path, uint64_t max_values, struct commcomp_container **out,
                            char *error);
void commcomp_container_close(struct commcomp_container *c);
const char *commcomp_container_scheme(const struct commcomp_container *c); /* canonical */
uint64_t commcomp_container_seed(const struct commcomp_container *c);
int64_t commcomp_container_rank(const struct commcomp_container *c);
int commcomp_container_direction(const struct commcomp_container *c);
uint64_t commcomp_container_step(const struct commcomp_container *c);
/* The tensors; `tensor` is below their number. shape writes the dimensions and returns how many
 * there are. The payload lives as long as the container. */
size_t commcomp_container_tensors(const struct commcomp_container *c);
const char *commcomp_container_name(const struct commcomp_container *c, size_t tensor);
int commcomp_container_shape(const struct commcomp_container *c, size_t tensor,
                             size_t dims[COMMCOMP_MAX_DIMS]);
const void *commcomp_container_payload(const struct commcomp_container *c, size_t tensor,
                                       size_t *bytes);
/* Decodes a tensor to y, which has room for its values. */
int commcomp_container_decode(struct commcomp_container *c, size_t tensor, float *y, char *error);

/* --- traces: recorded gradients, docs/traces.md --- */

/* Writes steps of one sender or several to a directory, which is made if it is missing, as
 * safetensors files that `commcomp --trace` reads: the tensors are declared once, in order, and
 * then each step takes the values of each, as `bytes` bytes of its dtype. A step's file appears
 * with end_step; one that is there already is not replaced. Several processes may write to one
 * directory. Free, which accepts NULL, leaves no file of a step that has not ended. */
struct commcomp_trace_writer;
int commcomp_trace_writer_new(const char *directory, struct commcomp_trace_writer **out,
                              char *error);
int commcomp_trace_writer_tensor(struct commcomp_trace_writer *w, const char *name,
                                 const size_t *dims, int ndim, int dtype, char *error);
int commcomp_trace_writer_step(struct commcomp_trace_writer *w, int direction, int64_t rank,
                               uint64_t step, char *error);
int commcomp_trace_writer_values(struct commcomp_trace_writer *w, const void *values, size_t bytes,
                                 char *error);
int commcomp_trace_writer_end_step(struct commcomp_trace_writer *w, char *error);
void commcomp_trace_writer_free(struct commcomp_trace_writer *w);

/* --- libcommcomp-traces: reading them --- */

/* Opens a file (.safetensors, .npy, .npz, .csv) or a directory of them. Close accepts NULL. */
struct commcomp_trace;
int commcomp_trace_open(const char *path, struct commcomp_trace **out, char *error);
void commcomp_trace_close(struct commcomp_trace *t);

/* A trace has streams, one for each sender: pushes by rank, then pulls (rank -1). Streams have
 * steps, and every step has the same tensors. Indices are below the numbers that these functions
 * return. Texts live as long as the trace. */
size_t commcomp_trace_streams(const struct commcomp_trace *t);
int commcomp_trace_direction(const struct commcomp_trace *t, size_t stream);
int64_t commcomp_trace_rank(const struct commcomp_trace *t, size_t stream);
size_t commcomp_trace_steps(const struct commcomp_trace *t, size_t stream);
uint64_t commcomp_trace_step_number(const struct commcomp_trace *t, size_t stream, size_t step);
size_t commcomp_trace_tensors(const struct commcomp_trace *t);
const char *commcomp_trace_name(const struct commcomp_trace *t, size_t tensor);
int commcomp_trace_shape(const struct commcomp_trace *t, size_t tensor,
                         size_t dims[COMMCOMP_MAX_DIMS]);
/* Sets x to the values of a tensor, as float32; values that are not finite are passed through. */
int commcomp_trace_load(struct commcomp_trace *t, size_t stream, size_t step, size_t tensor,
                        float *x, char *error);

#ifdef __cplusplus
}
#endif

#endif
