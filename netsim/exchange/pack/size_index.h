/* Size indexes: how long the payloads of a row are where nothing is encoded (jobs without data). An
 * index has the sizes of whole tensors as sums from the first tensor on, so that any range of the
 * step takes two lookups; one index serves all ranks. */
#ifndef CC_NETSIM_EXCHANGE_PACK_SIZE_INDEX_H
#define CC_NETSIM_EXCHANGE_PACK_SIZE_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/random.h"
#include "netsim/job/job.h"

struct cc_size_index;

/* Bytes of a number as LEB128: seven bits a byte. */
static inline size_t cc_leb_bytes(size_t v)
{
    size_t bytes = 1;
    while (v >>= 7)
        bytes++;
    return bytes;
}

/* Makes an index of the row's sizes. Payloads that are longer than the scheme's bound are an error.
 * The job's tensors, offsets and rows must stay where they are until it is freed. */
int cc_size_index_make(const struct cc_job *job, const struct cc_job_row *row,
                       struct cc_size_index **out, struct cc_error *e);
void cc_size_index_free(struct cc_size_index *index);

/* The values [from, to) of the flat step, at least one, and the tensors of the first and the last
 * value. */
struct cc_value_range {
    size_t from, to;
    uint32_t first, last;
};

/* The values of a range that are in tensor i, which may be none. */
static inline struct cc_value_range cc_range_in_tensor(const struct cc_value_range *range,
                                                       const size_t *offset, uint32_t i)
{
    const size_t from = range->from > offset[i] ? range->from : offset[i];
    const size_t to = range->to < offset[i + 1] ? range->to : offset[i + 1];
    return (struct cc_value_range){from, to > from ? to : from, i, i};
}

/* The tensor that a value of the flat step is in, or, of the step's end, the number of tensors. */
size_t cc_tensor_at(const size_t *offset, size_t tensors, size_t value);

/* Which payloads: pushes of a worker, sums of several workers' gradients, or pulls. */
struct cc_payload_id {
    enum cc_direction direction;
    int workers;  /* in the sum; 0 and 1: no sum */
    int64_t rank; /* the worker, unless it is a sum or a pull */
};

struct cc_payload_size {
    size_t payload; /* bytes */
    size_t table;   /* bytes of the table of their lengths in a pack's head */
    size_t shorter; /* how many payloads are shorter than their bounds */
};

/* Adds the size of a range's payloads in a step, or, if `id` is NULL, the most that it can be. A
 * part of a tensor has its part of the tensor's bytes. */
void cc_size_index_add(const struct cc_size_index *index, const struct cc_payload_id *id,
                       uint64_t step, const struct cc_value_range *range,
                       struct cc_payload_size *sum);

/* Where pairs are merged: the number that the sum of `workers` workers' gradients has among the
 * values [from, to) of the flat step, rounded to a whole number. Those of 1, 2, 4, ... workers, up
 * to 16, were counted; a part of a tensor has its part of them. Other numbers follow as in
 * cc_unions_growth: the sets of more workers meet among as many indices as in the last doubling
 * that was counted. Where only one worker's gradients were at hand, indices are taken as
 * uniform. */
size_t cc_size_index_pairs(const struct cc_size_index *index, int workers, uint64_t step,
                           size_t from, size_t to);

/* As cc_pack_rounds: the rounds over an allreduce of floats; and the bytes of one round. */
size_t cc_size_index_rounds(const struct cc_size_index *index, const struct cc_value_range *range);
size_t cc_size_index_round_bytes(const struct cc_size_index *index, size_t round, uint64_t step,
                                 const struct cc_value_range *range);

#endif
