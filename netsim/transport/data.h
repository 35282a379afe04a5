/* Buffers that exist only in jobs with data. A simulation without data has no gradients, no model,
 * no sums and no payloads: NULL stands in their place, and MPI is given the runtime's scratch
 * memory, whose content nobody reads. */
#ifndef CC_NETSIM_TRANSPORT_DATA_H
#define CC_NETSIM_TRANSPORT_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "netsim/job/job.h"

/* &list[i], or NULL without data. */
#define CC_OFFSET_OR_NULL(list, i) ((list) != NULL ? (list) + (i) : NULL)

/* *out: a buffer of that many bytes, to be freed; NULL without data. */
int cc_data_alloc(const struct cc_job *job, size_t bytes, uint8_t **out, struct cc_error *e);

/* The address to hand to MPI for a buffer that may be NULL. MPI must only read it if it is sent. */
void *cc_mpi_buffer(const uint8_t *bytes);

#endif
