/* Jobs of a part of a step: of each kind of tensors, by shape, a piece of one stands for all, so
 * that the payload sizes of any number of values are found in little memory. */
#ifndef CC_NETSIM_EXCHANGE_PACK_SIZES_PART_H
#define CC_NETSIM_EXCHANGE_PACK_SIZES_PART_H

#include "core/error.h"
#include "netsim/job/job.h"

struct cc_sizes_part {
    struct cc_job job; /* whose tensors are pieces; all but those belongs to the whole job */
    size_t *origin;    /* [job.tensors]: the tensor of the whole job that a piece is of */
    size_t *piece;     /* [tensors of the whole job]: the piece that stands for it */
};

/* Makes the part of a job, of at most about `values` values. A piece has the first rows of its
 * tensor if gradients are captured ones; of drawn ones rows and columns are fewer alike, so that
 * the piece has factors of both. *out is to be freed also after a failure. */
int cc_sizes_part_make(const struct cc_job *whole, bool captured, size_t values,
                       struct cc_sizes_part *out, struct cc_error *e);
void cc_sizes_part_free(struct cc_sizes_part *p);

/* Replaces the tables of a row, which are of the pieces, by those of the whole job's tensors: each
 * has as many bytes or pairs a value as its piece. A payload as long as its bound stays so. */
int cc_sizes_part_expand(const struct cc_sizes_part *p, const struct cc_job *whole,
                         struct cc_job_row *row, struct cc_error *e);

#endif
