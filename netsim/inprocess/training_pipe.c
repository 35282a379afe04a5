/* Pipe-SGD (Li et al., NeurIPS 2018, Algorithm 1) in one process: with K steps under way, step t is
 * computed with parameters to which the results of the steps up to t - K have been applied, where
 * synchronous steps have those up to t - 1. Here the exchange of a step ends within it, and its
 * result waits for K - 1 steps.
 *
 * The first steps may be synchronous, as in the paper's section 4, where deep nets begin without
 * the pipeline. After the last step everything is applied, so that trainings of any K have as many
 * updates: the paper's algorithm ends with the last K results unused. The result of step t is
 * applied with the learning rate of step t. */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/inprocess/training_impl.h"

int cc_training_pipe_open(struct cc_training *s, struct cc_error *e)
{
    const size_t waiting = s->config->depth - 1;
    if (s->config->mode != CC_PIPE)
        return CC_OK;
    s->delayed = cc_alloc0(waiting * sizeof *s->delayed, e);
    if (s->delayed == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < waiting; i++)
        CC_TRY(cc_alloc_floats(s->values, &s->delayed[i], e));
    return CC_OK;
}

void cc_training_pipe_close(struct cc_training *s)
{
    for (size_t i = 0; s->delayed != NULL && i + 1 < s->config->depth; i++)
        free(s->delayed[i]);
    free(s->delayed);
}

void cc_training_pipe_step(struct cc_training *s)
{
    const uint64_t step = s->log.step, ended = step + 1;
    const uint64_t until = ended - cc_job_delayed(&s->job, s->job.row, ended);
    const size_t waiting = s->config->depth - 1;
    for (; s->applied < until && s->applied < step; s->applied++)
        cc_training_apply(s, s->applied, s->delayed[s->applied % waiting]);
    if (s->applied < until)
        cc_training_apply(s, s->applied++, s->mean);
    else
        memcpy(s->delayed[step % waiting], s->mean, s->values * sizeof *s->mean);
}
