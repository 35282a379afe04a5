#include "netsim/inprocess/training_arrays.h"

#include <stdio.h>

int cc_training_add_copy(struct cc_checkpoint *c, const struct cc_job *job, const char *copy,
                         float *values, struct cc_error *e)
{
    for (size_t i = 0; i < job->tensors; i++)
        CC_TRY(cc_checkpoint_add(c, job->tensor[i].shape, values + job->offset[i], e, "%s.%s", copy,
                                 job->tensor[i].name));
    return CC_OK;
}

int cc_training_add_delayed(struct cc_checkpoint *c, const struct cc_job *job, size_t n,
                            float *values, struct cc_error *e)
{
    char copy[32];
    (void)snprintf(copy, sizeof copy, "delayed.%zu", n);
    return cc_training_add_copy(c, job, copy, values, e);
}

int cc_training_add_state(struct cc_checkpoint *c, const struct cc_job *job, int rank, size_t pack,
                          const struct cc_pack_state *state, struct cc_error *e)
{
    return cc_checkpoint_add(c, cc_shape_flat(state->count), state->value, e, "codec.%d.%zu.%s.%zu",
                             rank, pack, job->tensor[state->slice.tensor].name, state->slice.begin);
}
