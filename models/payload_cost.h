/* Parcels: what the tensors of a net become under a scheme, in bytes and in codec time. models/
 * knows no scheme: a coder says what it needs of one. */
#ifndef CC_MODELS_PAYLOAD_COST_H
#define CC_MODELS_PAYLOAD_COST_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "models/net.h"
#include "models/profile.h"

/* What an exchange may do with payloads on their way. */
enum cc_reduction {
    CC_REDUCE_DECODED, /* nothing: they must be decoded to be added */
    CC_REDUCE_SUM,     /* floats that any allreduce may sum */
    CC_REDUCE_PAIRS    /* index-value pairs that may be merged */
};

/* What the models know of a scheme. */
struct cc_codec_model {
    const char *scheme; /* canonical name, for messages; owned by the caller */
    enum cc_reduction reduction;
    /* Sizes and times of pushes and pulls: from a profile, or the same figures at every size where
     * the profile is NULL (point.values is then ignored). Means over whole periods. */
    const struct cc_profile_codec *push, *pull;
    struct cc_profile_point push_point, pull_point;
    /* Where the tensor's shape alone decides the payload's bytes, and not as a profile of flat
     * tensors has it (low-rank factors): that, and its argument. Otherwise NULL. */
    double (*shape_bytes)(const void *arg, const struct cc_shape *shape);
    const void *shape_arg;
    size_t period; /* sends in one step of so many (local steps); 0 counts as 1 */
    /* CC_REDUCE_SUM: how many sums after one another a payload needs (low-rank factors: the second
     * comes of the first); 0 counts as 1. */
    size_t sum_rounds;
    /* CC_REDUCE_PAIRS: a payload of n values and k pairs has value_bits n + pair_bits k bits. */
    double value_bits, pair_bits;
};

/* The same figures at every size, for both directions. */
struct cc_codec_model cc_codec_model_given(const char *scheme, enum cc_reduction reduction,
                                           double bits_per_value, double encode_ns,
                                           double decode_ns, double decode_add_ns);
/* From a profile, for both directions; CC_FAIL names the scheme and what the profile holds. The
 * coder points into the profile. */
int cc_codec_model_profiled(const struct cc_profile *p, const char *scheme,
                            enum cc_reduction reduction, struct cc_codec_model *out,
                            struct cc_error *e);

/* A tensor, or several together: bytes of a step's payload, seconds of codec work in that step.
 * Sums of parcels are parcels. */
struct cc_payload_cost {
    double values;
    double push_bytes, pull_bytes;
    double pairs;                                    /* in the push; 0 unless CC_REDUCE_PAIRS */
    double push_encode_s, push_decode_s, push_add_s; /* add: decoding onto a sum */
    double pull_encode_s, pull_decode_s;
};

/* Of all tensors of a net, in its order: in the step that sends, and in the period - 1 quiet ones,
 * in which tensors are encoded but only those that travel raw are sent. */
struct cc_step_payloads {
    struct cc_payload_cost *each, total;
    struct cc_payload_cost *silent, silent_total;
    double *planned; /* pushed bytes by which steps are cut into messages */
    size_t count, period, sum_rounds;
    enum cc_reduction reduction;
    const char *scheme; /* as the coder has it */
    bool measured;      /* codec times are those below, not the parcels' */
    struct cc_codec_times {
        double encode_s; /* of a worker, before the first byte leaves */
        double hop_s;    /* on the way: decoding, adding, encoding, adding floats */
        double server_s; /* of the busiest server */
        double decode_s; /* of a worker, after the last byte */
    } codec;             /* per step on the critical path, means over whole periods */
};

/* Which tensors travel as fp32 whatever the scheme: those with fewer than min_size values, and of
 * the rest, from the largest to the smallest, each that still fits, until all of them together have
 * `share` of the values. size[] is in values; *is: the share that they have. */
int cc_raw_tensors(const double *size, size_t count, size_t min_size, double share, bool *raw,
                   double *is, struct cc_error *e);

/* Tensors that are raw travel under `floats` (fp32); raw may be NULL: none. *out is set on success
 * only; free it with cc_step_payloads_free. */
int cc_step_payloads_make(const struct cc_net *net, const struct cc_codec_model *codec_model,
                          const struct cc_codec_model *floats, const bool *raw,
                          struct cc_step_payloads *out, struct cc_error *e);
void cc_step_payloads_free(struct cc_step_payloads *p);

/* What a run of the same parcels has measured, per step, means over whole periods. */
struct cc_measured {
    double push_bytes, pull_bytes;           /* payload of a worker's push; of all servers' pulls */
    double push_head_bytes, pull_head_bytes; /* beside it, in steps that send */
    const double *tensor_push, *tensor_pull; /* payload by tensor; NULL: by their sizes */
    struct cc_codec_times codec;
};

/* Parcels of the sizes and codec times that were measured, cut into the same messages as `planned`,
 * which the prediction was made from. */
int cc_step_payloads_measured(const struct cc_net *net, const struct cc_step_payloads *planned,
                              const bool *raw, const struct cc_measured *m,
                              struct cc_step_payloads *out, struct cc_error *e);

void cc_payload_cost_add(struct cc_payload_cost *sum, const struct cc_payload_cost *p);

#endif
