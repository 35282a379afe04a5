/* Ledgers: what a row's payloads weigh where nothing is encoded (jobs without data). Sums from the
 * first tensor on, so that any stretch of the step is two differences; one ledger a row, whatever
 * the number of ranks. */
#ifndef CC_NETSIM_LEDGER_H
#define CC_NETSIM_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/random.h"
#include "netsim/job.h"

struct cc_ledger;

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
int cc_ledger_make(const struct cc_job *job, const struct cc_job_row *row, struct cc_ledger **out,
                   struct cc_error *e);
void cc_ledger_free(struct cc_ledger *l);

/* Values of the flat step, at least one, and the tensors that the first and the last are of. */
struct cc_stretch {
    size_t from, to;
    uint32_t first, last;
};

/* Whose payloads. */
struct cc_payloads {
    enum cc_direction direction;
    int workers;  /* of how many workers' gradients they are the sum; 0 and 1: of its own */
    int64_t rank; /* then, the worker */
};

struct cc_weight {
    size_t payload; /* bytes */
    size_t table;   /* bytes of a crate's table of their lengths */
    size_t shorter; /* so many are shorter than their bounds */
};

/* What a step sends of a stretch; the most that any does. */
struct cc_weight cc_ledger_weigh(const struct cc_ledger *l, const struct cc_payloads *of,
                                 uint64_t step, const struct cc_stretch *s);
struct cc_weight cc_ledger_bound(const struct cc_ledger *l, const struct cc_stretch *s);

/* As of crates: rounds over an allreduce of floats, and the bytes of one. */
size_t cc_ledger_rounds(const struct cc_ledger *l, const struct cc_stretch *s);
size_t cc_ledger_round(const struct cc_ledger *l, size_t round, uint64_t step,
                       const struct cc_stretch *s);

#endif
