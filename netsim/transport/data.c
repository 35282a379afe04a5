#include "netsim/transport/data.h"

#include "core/memory.h"
#include "netsim/transport/runtime.h"

int cc_data_alloc(const struct cc_job *job, size_t bytes, uint8_t **out, struct cc_error *e)
{
    *out = job->data ? cc_alloc(bytes, e) : NULL;
    return *out == NULL && job->data ? CC_FAIL : CC_OK;
}

void *cc_mpi_buffer(const uint8_t *bytes)
{
    return bytes != NULL ? (void *)bytes : cc_runtime_scratch();
}
