/* Crates: what one rank encodes into one message. A crate is a list of pieces (stretches of
 * tensors, each with a codec and a state of its own) and packs their payloads one after the other
 * behind a small head. No MPI here. */
#ifndef CC_NETSIM_MESSAGE_PACK_H
#define CC_NETSIM_MESSAGE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "netsim/job/job.h"
#include "schemes/spec.h"

/* A stretch of a tensor; whole tensors keep their shape, others are flat. */
struct cc_slice {
    size_t tensor;       /* of the job */
    size_t begin, count; /* values, from the tensor's beginning */
};

/* The pieces of the flat range [from, to) of the step. *out is to be freed. */
int cc_slices(const struct cc_job *job, size_t from, size_t to, struct cc_slice **out,
              size_t *count, struct cc_error *e);
/* Where part `part` of `parts` of the range [from, to) begins, on a multiple of 512 values counted
 * from `from` (part == parts: at `to`): how exchanges and servers cut a message. */
size_t cc_part_at(size_t from, size_t to, size_t part, size_t parts);

struct cc_size_index; /* netsim/message/size_index.h */

/* Who encodes, and by which scheme. */
struct cc_pack_config {
    const struct cc_job *job;
    const struct cc_job_row *row; /* what the work costs; without data, what payloads weigh. NULL,
                                     with data: nobody says */
    const struct cc_size_index *sizes; /* the row's, without data; else NULL */
    const struct cc_spec *spec, *raw;  /* raw: fp32, for tensors that are raw; both must outlive the
                                          crate */
    uint64_t seed;
    int64_t rank; /* whose random numbers: a worker's, of a group its first one's, -1 a server */
    enum cc_direction direction;
    size_t origin; /* which value of the flat step x[0] and y[0] are below: 0, or more where only a
                      range of it is at hand */
    bool decodes_only; /* no state */
    int workers;       /* of how many workers' gradients it is the sum that is encoded; 0 and 1: of
                          those of `rank` alone */
};

struct cc_pack;

int cc_pack_make(const struct cc_pack_config *config, const struct cc_slice *slice, size_t slices,
                 struct cc_pack **out, struct cc_error *e);
void cc_pack_free(struct cc_pack *c);

size_t cc_pack_bound(const struct cc_pack *c); /* the most bytes, head included */
/* Without data: the bytes, head included, that are sent in this step of what `rank` encodes of the
 * same pieces, or a sum of several ranks. 0 with data: nobody knows before. */
size_t cc_pack_size(const struct cc_pack *c, int64_t rank, uint64_t step);

/* Without data, encoding says how long everything is and writes nothing, and decoding does nothing:
 * x, y, in and out are not looked at. */

enum cc_pack_op {
    CC_PACK_ENCODE,
    CC_PACK_DECODE,
    CC_PACK_ADD, /* decoding onto a sum */
    CC_PACK_OPS
};
/* Seconds that this takes on all values, as the row says; NAN if it does not. */
double cc_pack_cost(const struct cc_pack *c, enum cc_pack_op op);

/* x and y are flat steps, from `origin` on: the values of all of the job's tensors, of which the
 * crate touches its pieces only. */

/* Encodes into out[0, bound); *len bytes, of which *head are not payload. */
int cc_pack_encode(struct cc_pack *of, uint64_t step, const float *x, uint8_t *out, size_t *len,
                   size_t *head, struct cc_error *e);
/* Adds the payloads' bytes, or the round's, as encoded last, to those of their tensors. */
void cc_pack_count(const struct cc_pack *of, uint64_t *tensor_bytes);
/* Any bytes either decode or give an error. */
int cc_pack_decode(const struct cc_pack *of, uint64_t step, const uint8_t *in, size_t len, float *y,
                   struct cc_error *e);
/* y += scale * decoded. */
int cc_pack_decode_add(const struct cc_pack *of, uint64_t step, const uint8_t *in, size_t len,
                       float scale, float *y, struct cc_error *e);

/* Over an allreduce of floats: in each round everyone encodes, the bytes, which are floats, are
 * summed over all, and everyone absorbs the sum before the next round (schemes/scheme.h). No heads:
 * how many bytes there are is the same for all. */

/* How many rounds; 0: some pieces must be decoded. */
size_t cc_pack_rounds(const struct cc_pack *of);
/* Into out[0, bound), aligned to floats; *len may be 0: then there is nothing to sum. */
int cc_pack_encode_round(struct cc_pack *of, uint64_t step, size_t round, const float *x,
                         uint8_t *out, size_t *len, struct cc_error *e);
/* y += the decoded mean of those pieces that this round completes; scale * sum is the mean. */
int cc_pack_absorb(struct cc_pack *of, uint64_t step, size_t round, const uint8_t *in, size_t len,
                   float scale, float *y, struct cc_error *e);

#endif
