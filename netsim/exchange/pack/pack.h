/* Packs: the bytes that one rank encodes into one message. A pack has slices of tensors, each with
 * a codec and a state of its own, and puts their payloads one after the other behind a small head
 * (docs/wire.md). Jobs without data have virtual packs, which know how long everything is, and
 * neither read nor write any values or bytes. */
#ifndef CC_NETSIM_EXCHANGE_PACK_PACK_H
#define CC_NETSIM_EXCHANGE_PACK_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "netsim/job/job.h"
#include "schemes/spec.h"

/* A range of one tensor. A slice of the whole tensor keeps its shape; others are flat. */
struct cc_slice {
    size_t tensor;       /* its index in the job */
    size_t begin, count; /* values, from the tensor's beginning */
};

/* Finds the slices of the flat range [from, to) of the step, none of them empty. The caller frees
 * *out. */
int cc_slices(const struct cc_job *job, size_t from, size_t to, struct cc_slice **out,
              size_t *count, struct cc_error *e);
/* Where part `part` of `parts` of the range [from, to) begins, on a multiple of 512 values counted
 * from `from` (part == parts: at `to`). Exchanges and servers cut messages so. */
size_t cc_part_at(size_t from, size_t to, size_t part, size_t parts);

/* Finds the slices of a message that a server keeps: whole tensors, and its part of each range of
 * neighboring tensors that are cut over all servers. The first part goes to another server from
 * range to range, since cuts are at multiples of 512 values: of small tensors all but one part are
 * empty. The caller frees *out. */
int cc_kept_slices(const struct cc_job *job, const struct cc_message *m, int server,
                   struct cc_slice **out, size_t *count, struct cc_error *e);

/* The scheme of the second stage, which the caller frees. Exchanges with CC_X_DENSE_STAGE (SparCML,
 * section 5): QSGD with the job's bits; NULL if it sends floats. Those with CC_X_STAGES: the job's
 * `gather`; NULL if it has none, or the row sends gradients as they are, so that the second stage's
 * is the row's. */
int cc_second_spec(const struct cc_job *job, const struct cc_job_row *row, struct cc_spec **out,
                   struct cc_error *e);
/* The scheme inside hosts, which the caller frees: the job's `intra_scheme`, for exchanges with
 * CC_X_INSIDE; NULL if it has none, or the row sends gradients as they are, so that it is the
 * row's. */
int cc_inner_spec(const struct cc_job *job, const struct cc_job_row *row, struct cc_spec **out,
                  struct cc_error *e);

struct cc_size_index; /* netsim/exchange/pack/size_index.h */

/* The encoder of a pack: its rank and its scheme. The job, the row, its sizes and the specs must
 * outlive the pack. */
struct cc_pack_config {
    const struct cc_job *job;
    const struct cc_job_row *row;      /* has the costs of codecs; with data it may be NULL */
    const struct cc_size_index *sizes; /* the scheme's, without data; else NULL */
    const struct cc_spec *spec, *raw;  /* raw: of tensors that are raw */
    uint64_t seed;
    int64_t rank; /* whose random numbers are drawn: a worker's; of a group, those of its first
                     worker; -1: a server's */
    enum cc_direction direction;
    size_t origin;     /* the value of the flat step that x[0] and y[0] are, below; not 0 if only a
                          part of the step is at hand */
    bool decodes_only; /* the pack has no states */
    bool inner;        /* its costs are those inside hosts: it encodes, and is decoded onto sums */
    int workers;       /* how many workers' gradients are in the sum that is encoded; 0 and 1: only
                          those of `rank` */
};

struct cc_pack;

int cc_pack_make(const struct cc_pack_config *config, const struct cc_slice *slice, size_t slices,
                 struct cc_pack **out, struct cc_error *e);
void cc_pack_free(struct cc_pack *p); /* NULL is allowed */

/* The most bytes that encoding makes, head included. */
size_t cc_pack_bound(const struct cc_pack *p);
/* Virtual packs: the bytes, head included, that `rank` sends in this step for the same slices (of a
 * sum of several workers' gradients, `rank` does not matter). 0 for real packs. */
size_t cc_pack_size(const struct cc_pack *p, int64_t rank, uint64_t step);

enum cc_pack_op {
    CC_PACK_ENCODE,
    CC_PACK_DECODE,
    CC_PACK_ADD, /* decode onto a sum */
    CC_PACK_OPS
};
/* The seconds that this takes for all values, by the row's costs; NAN if it has none. */
double cc_pack_cost(const struct cc_pack *p, enum cc_pack_op op);

/* x and y are flat steps from `origin` on; a pack touches the values of its slices only. Virtual
 * packs accept NULL for x, y, in and out. */

/* Encodes into out[0, bound): *len bytes, of which the first *head are not payload. Where an
 * encoder refuses the values, here and in the rounds below, the status is CC_DIVERGED. */
int cc_pack_encode(struct cc_pack *p, uint64_t step, const float *x, uint8_t *out, size_t *len,
                   size_t *head, struct cc_error *e);
/* Adds the payload bytes that were encoded last, of the whole pack or of a round, to those of their
 * tensors: tensor_bytes[job->tensors]. */
void cc_pack_count(const struct cc_pack *p, uint64_t *tensor_bytes);
/* Decodes in[0, len), which may be any bytes: those that no encoder makes are an error, after which
 * y is undefined in the pack's slices. */
int cc_pack_decode(const struct cc_pack *p, uint64_t step, const uint8_t *in, size_t len, float *y,
                   struct cc_error *e);
/* Reads this rank's own payload, as it was encoded, as pairs (cc_to_pairs), whose indices count
 * from `origin`, below 2^32; tensors that travel raw as their values that are not 0. out has room
 * for cc_pack_pairs_bound pairs. Real packs only. */
int cc_pack_to_pairs(const struct cc_pack *p, uint64_t step, const uint8_t *in, size_t len,
                     struct cc_index_value *out, size_t *count, struct cc_error *e);
/* Gives pairs back to the codecs that have sent them (cc_give_back), sorted, with indices as above:
 * only for slices whose schemes take values back. Real packs only. */
void cc_pack_give_back(struct cc_pack *p, const struct cc_index_value *pair, size_t count);
/* The most pairs that cc_pack_to_pairs writes; 0 for virtual packs. */
size_t cc_pack_pairs_bound(const struct cc_pack *p);
/* y += scale * decoded. */
int cc_pack_decode_add(const struct cc_pack *p, uint64_t step, const uint8_t *in, size_t len,
                       float scale, float *y, struct cc_error *e);

/* Packs in the order in which they were made; the list does not own them. Zero-initialized: empty.
 */
struct cc_pack_list {
    struct cc_pack **pack;
    size_t count, capacity;
};
int cc_pack_list_add(struct cc_pack_list *l, struct cc_pack *p, struct cc_error *e);
void cc_pack_list_free(struct cc_pack_list *l);

/* The state of the codec of a slice, which consists of floats; may be saved, and restored in a pack
 * that was made alike. */
struct cc_pack_state {
    struct cc_slice slice;
    float *value;
    size_t count;
};
/* The state of the i-th slice that has one; false beyond the last one, and for virtual packs. */
bool cc_pack_state(const struct cc_pack *p, size_t i, struct cc_pack_state *out);

/* Over an allreduce of floats (schemes/scheme.h): in each round every worker encodes; the bytes,
 * which are floats, are summed over all workers; and every worker absorbs the sum before the next
 * round. Nothing has a head: all workers have the same number of bytes. */

/* The number of rounds; 0: some slices cannot be summed. */
size_t cc_pack_rounds(const struct cc_pack *p);
/* Whether the pack has one round, whose floats are x's own, in their order: a rank can then send
 * them from x, and need not encode. */
bool cc_pack_verbatim(const struct cc_pack *p);
/* Encodes into out[0, bound), which is aligned to floats. *len may be 0: there is nothing to sum.
 */
int cc_pack_encode_round(struct cc_pack *p, uint64_t step, size_t round, const float *x,
                         uint8_t *out, size_t *len, struct cc_error *e);
/* Absorbs the round's sum in[0, len); scale * sum is the mean. The slices that this round completes
 * are decoded: y += mean. */
int cc_pack_absorb(struct cc_pack *p, uint64_t step, size_t round, const uint8_t *in, size_t len,
                   float scale, float *y, struct cc_error *e);

#endif
