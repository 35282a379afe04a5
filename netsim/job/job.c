/* Questions that a job's members answer, the same on every rank. */
#include "netsim/job/job.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

#define MOST_VALUES ((size_t)1 << 40)

struct cc_job_choices cc_job_choices_of(const struct cc_job_row *row, size_t message)
{
    struct cc_job_choices c = {.item = row->choice};
    const struct cc_job_choice *end = row->choice + row->choices;
    while (c.item < end && c.item->message < message)
        c.item++;
    while (c.item + c.count < end && c.item[c.count].message == message)
        c.count++;
    return c;
}

enum cc_exchange cc_job_choose(const struct cc_job_choices *c, uint64_t pairs)
{
    size_t i = 0;
    while (i + 1 < c->count && (double)pairs > c->item[i].pairs)
        i++;
    return c->item[i].exchange;
}

bool cc_job_row_plain(const struct cc_job *job, const struct cc_job_row *row)
{
    return strcmp(row->scheme, cc_element_names[job->dtype]) == 0;
}

const char *cc_job_row_raw(const struct cc_job *job, const struct cc_job_row *row)
{
    return cc_element_names[row->reduction == CC_REDUCE_DECODED ? job->dtype : CC_ELEMENT_FP32];
}

bool cc_job_row_hops(const struct cc_job *job, const struct cc_job_row *row)
{
    return row->reduction != CC_REDUCE_SUM && job->via == CC_VIA_HOPS &&
           cc_exchange_has(job->exchange, CC_X_RECODES);
}

bool cc_job_row_merges(const struct cc_job *job, const struct cc_job_row *row)
{
    return row->reduction == CC_REDUCE_PAIRS && cc_exchange_has(job->exchange, CC_X_MERGES);
}

bool cc_job_row_adds(const struct cc_job *job, const struct cc_job_row *row)
{
    return !cc_job_row_hops(job, row) || cc_job_row_plain(job, row);
}

bool cc_job_row_silent(const struct cc_job *job, const struct cc_job_row *row,
                       const struct cc_message *m, uint64_t step)
{
    if ((step + 1) % row->period == 0)
        return false;
    for (size_t i = m->first; i <= m->last; i++)
        if (job->tensor[i].raw)
            return false;
    return true;
}

bool cc_job_row_skips(const struct cc_job *job, size_t i, uint64_t step)
{
    const size_t parts = job->training.local.parts;
    return parts > 1 && i != step % parts;
}

uint64_t cc_job_row_updates(const struct cc_job *job, const struct cc_job_row *row,
                            const struct cc_message *m, uint64_t step)
{
    /* With raw tensors it is sent in every step. */
    return step == 0 || !cc_job_row_silent(job, row, m, 0) ? step : step / row->period;
}

int cc_job_lay_out(struct cc_job *job, struct cc_error *e)
{
    size_t *offset = cc_alloc((job->tensors + 1) * sizeof *offset, e);
    if (offset == NULL)
        return CC_FAIL;
    offset[0] = 0;
    for (size_t i = 0; i < job->tensors; i++) {
        const size_t n = job->tensor[i].shape.n;
        if (n > MOST_VALUES - offset[i]) {
            free(offset);
            return cc_fail(e, "tensor '%.200s': a step of more than 2^40 values",
                           job->tensor[i].name);
        }
        offset[i + 1] = offset[i] + n;
    }
    free(job->offset);
    job->offset = offset;
    return CC_OK;
}

size_t cc_job_delayed(const struct cc_job *job, const struct cc_job_row *row, uint64_t ended)
{
    const struct cc_job_training *t = &job->training;
    if (job->mode != CC_PIPE || ended <= t->sync_steps || ended == row->steps)
        return 0;
    const uint64_t piped = ended - t->sync_steps;
    return piped < t->depth ? (size_t)piped : t->depth - 1;
}
