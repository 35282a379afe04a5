/* Payload sizes for jobs without data: the payloads that the job's ranks would make are encoded
 * once, before the job runs, and their lengths are written into the job. */
#ifndef CC_NETSIM_EXCHANGE_PACK_SIZES_H
#define CC_NETSIM_EXCHANGE_PACK_SIZES_H

#include "core/error.h"
#include "core/trace/trace.h"
#include "netsim/job/job.h"
#include "schemes/spec.h"

/* Steps of up to CC_SIZES_WHOLE values are encoded whole, and of larger ones a part of about
 * CC_SIZES_PART values stands for all (sizes_part.h). */
enum { CC_SIZES_WHOLE = 1 << 26, CC_SIZES_PART = 1 << 20 };

/* May be all zeros. */
struct cc_sizes_config {
    size_t whole;           /* in place of CC_SIZES_WHOLE; 0: that */
    struct cc_trace *trace; /* the job's, if the caller has it open; NULL: it is opened */
    const size_t *before;   /* for each row: steps before the job's first one, whose residuals and
                               other state the job's steps start from; NULL: none */
    /* Called every now and then with the share of the row that is done, in [0, 1]; true stops. */
    bool (*on_tick)(void *arg, size_t row, double done);
    void *arg;
};

/* Fills in the sizes of all rows whose schemes have code, and frees those that they have. Workers
 * have their own gradients, random numbers and residuals. Up to 16 workers' pushes, and the pulls,
 * are byte for byte what a run with data sends; further workers have the sizes of the first 16. The
 * sizes of sums that are encoded on their way are those of the first 2, 4, ... workers, and the
 * pairs of sums that are merged are means over all groups of 2, 4, ... of them. In a step with
 * too many values, a tensor has as many bytes a value as its part. Being stopped is an error. */
int cc_sizes_fill(struct cc_job *job, const struct cc_sizes_config *config, struct cc_error *e);

/* Tells whether all payloads of a scheme have the same length, whatever the gradients are; those of
 * a scheme without code have, as far as is known. */
int cc_sizes_fixed(const struct cc_spec *spec, bool *out, struct cc_error *e);

#endif
