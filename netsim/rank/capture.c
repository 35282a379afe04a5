/* Captures gradients: what each worker pushes and what the servers send, before they are encoded,
 * in files of a trace. Every worker writes its own; rank 0 puts the servers' parts together. */
#include <stdlib.h>

#include "core/memory.h"
#include "core/trace/trace_step.h"
#include "netsim/rank/training.h"

static int write_flat(const struct cc_rank *r, struct cc_trace_sender sender, size_t step,
                      const float *x, struct cc_error *e)
{
    const struct cc_job *job = &r->job;
    struct cc_tensor_info *tensor;
    CC_TRY(CC_NEW(tensor, job->tensors, e));
    for (size_t i = 0; i < job->tensors; i++)
        tensor[i] =
            (struct cc_tensor_info){.name = job->tensor[i].name, .shape = job->tensor[i].shape};
    const int status =
        cc_trace_write_flat(job->training.capture, sender, step, tensor, job->tensors, x, e);
    free(tensor);
    return status;
}

static bool sends(const struct cc_rank_loop *l, size_t step)
{
    const struct cc_job_row *row = l->s.row;
    for (size_t i = 0; i < row->messages; i++)
        if (!cc_job_row_silent(l->s.job, row, &row->message[i], step))
            return true;
    return false;
}

static int capture_pull(struct cc_rank *r, size_t step, struct cc_error *e)
{
    const struct cc_source_learned own = cc_source_learned(r->source);
    float *pulled;
    CC_TRY(cc_alloc_floats(own.values, &pulled, e));
    int status = cc_rank_gather_servers(r, own.pulled, own.values, pulled, e);
    if (status == CC_OK && r->rank == 0)
        status = write_flat(r, (struct cc_trace_sender){CC_PULL, -1}, step, pulled, e);
    free(pulled);
    return status;
}

int cc_rank_capture(struct cc_rank *r, const struct cc_rank_loop *l, size_t step,
                    struct cc_error *e)
{
    const struct cc_job_training *t = &r->job.training;
    if (step < t->capture_from || step >= t->capture_to)
        return CC_OK;
    if (r->rank < r->job.workers)
        CC_TRY(write_flat(r, (struct cc_trace_sender){CC_PUSH, r->rank}, step,
                          cc_source_buffers(r->source, step).gradient, e));
    return r->job.servers > 0 && sends(l, step) ? capture_pull(r, step, e) : CC_OK;
}
