/* Ledgers: what a row's payloads weigh where nothing is encoded (jobs without data). Sums from the
 * first tensor on, so that any stretch of the step is two differences; one ledger a row, whatever
 * the number of ranks. */
#ifndef CC_NETSIM_MESSAGE_SIZE_INDEX_H
#define CC_NETSIM_MESSAGE_SIZE_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/random.h"
#include "netsim/job/job.h"

struct cc_size_index;

/* Of a number as LEB128. */
static inline size_t cc_leb_bytes(size_t v)
{
    size_t bytes = 1;
    while (v >>= 7)
        bytes++;
    return bytes;
}

/* From the row's sizes. Refuses payloads that are longer than the scheme can make them. The job's
 * tensors and rows must stay where they are. */
int cc_size_index_make(const struct cc_job *job, const struct cc_job_row *row,
                       struct cc_size_index **out, struct cc_error *e);
void cc_size_index_free(struct cc_size_index *l);

/* Those of all rows of a job without data; of a job with data, *out is NULL. */
int cc_size_indexes_make(const struct cc_job *job, struct cc_size_index ***out, struct cc_error *e);
void cc_size_indexes_free(struct cc_size_index **list, size_t rows);

/* Values of the flat step, at least one, and the tensors that the first and the last are of. */
struct cc_value_range {
    size_t from, to;
    uint32_t first, last;
};

/* Whose payloads. */
struct cc_payload_id {
    enum cc_direction direction;
    int workers;  /* of how many workers' gradients they are the sum; 0 and 1: of its own */
    int64_t rank; /* then, the worker */
};

struct cc_payload_size {
    size_t payload; /* bytes */
    size_t table;   /* bytes of a crate's table of their lengths */
    size_t shorter; /* so many are shorter than their bounds */
};

/* What a step sends of a stretch; the most that any does. */
struct cc_payload_size cc_size_index_lookup(const struct cc_size_index *l,
                                            const struct cc_payload_id *of, uint64_t step,
                                            const struct cc_value_range *s);
struct cc_payload_size cc_size_index_bound(const struct cc_size_index *l,
                                           const struct cc_value_range *s);

/* As of crates: rounds over an allreduce of floats, and the bytes of one. */
size_t cc_size_index_rounds(const struct cc_size_index *l, const struct cc_value_range *s);
size_t cc_size_index_round_bytes(const struct cc_size_index *l, size_t round, uint64_t step,
                                 const struct cc_value_range *s);

#endif
