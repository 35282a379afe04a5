#include "netsim/inprocess/training_arrays.h"

#include <stdio.h>

/* Adds a copy of the parameters, a flat step; NULL: there is none. */
static int add_copy(struct cc_checkpoint *c, const struct cc_job *job, const char *copy,
                    float *values, struct cc_error *e)
{
    for (size_t i = 0; i < job->tensors && values != NULL; i++)
        CC_TRY(cc_checkpoint_add(c, job->tensor[i].shape, values + job->offset[i], e, "%s.%s", copy,
                                 job->tensor[i].name));
    return CC_OK;
}

int cc_training_add_arrays(struct cc_checkpoint *c, const struct cc_job *job,
                           const struct cc_training_arrays *a, struct cc_error *e)
{
    const size_t workers = (size_t)job->workers, values = cc_job_values(job);
    const struct {
        const char *name;
        float *value;
        size_t count;
    } flat[] = {{"optimizer", a->optimizer, a->optimizer_count},
                {"statistics", a->stats, workers * a->stat_count},
                {"workers", a->own, workers * a->own_count},
                {"unsent", a->unsent, a->unsent != NULL ? values : 0}};
    char copy[32];
    CC_TRY(add_copy(c, job, "weights", a->weights, e));
    CC_TRY(add_copy(c, job, "server", a->server, e));
    for (size_t i = 0; i < sizeof flat / sizeof *flat; i++)
        CC_TRY(cc_checkpoint_add(c, cc_shape_flat(flat[i].count), flat[i].value, e, "%s",
                                 flat[i].name));
    for (size_t i = 0; i < a->delayed_count; i++) {
        (void)snprintf(copy, sizeof copy, "delayed.%zu", i);
        CC_TRY(add_copy(c, job, copy, a->delayed[i], e));
    }
    return CC_OK;
}

int cc_training_add_state(struct cc_checkpoint *c, const struct cc_job *job, int rank, size_t pack,
                          const struct cc_pack_state *state, struct cc_error *e)
{
    return cc_checkpoint_add(c, cc_shape_flat(state->count), state->value, e, "codec.%d.%zu.%s.%zu",
                             rank, pack, job->tensor[state->slice.tensor].name, state->slice.begin);
}
