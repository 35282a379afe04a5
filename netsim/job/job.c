#include "netsim/job/job.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/file.h"
#include "core/memory.h"
#include "core/memory_text.h"
#include "netsim/job/job_table.h"

#define MOST_VALUES ((size_t)1 << 40)

void cc_job_sizes_free(struct cc_job_sizes *s)
{
    cc_fields_free(&cc_sizes_table, s);
    *s = (struct cc_job_sizes){0};
}

void cc_job_free(struct cc_job *job)
{
    cc_fields_free(&cc_job_table, job);
    free(job->offset);
    *job = (struct cc_job){0};
}

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

bool cc_job_row_hops(const struct cc_job *job, const struct cc_job_row *row)
{
    return row->reduction != CC_REDUCE_SUM && job->via == CC_VIA_HOPS &&
           cc_exchange_has(job->exchange, CC_X_RECODES);
}

bool cc_job_row_merges(const struct cc_job *job, const struct cc_job_row *row)
{
    return row->reduction == CC_REDUCE_PAIRS && cc_exchange_has(job->exchange, CC_X_MERGES);
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
    const size_t parts = job->training.local_parts;
    return parts > 1 && i != step % parts;
}

const struct cc_message *cc_job_message_of(const struct cc_job *job, const struct cc_job_row *row,
                                           size_t value)
{
    const struct cc_message *m = row->message;
    while (job->offset[m->first] > value) /* they go from the end of the net */
        m++;
    return m;
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

static int parse_root(const cJSON *root, void *out, struct cc_error *e)
{
    struct cc_job job = *(const struct cc_job *)cc_job_table.defaults;
    CC_TRY(cc_json_schema(root, CC_JOB_SCHEMA, "see docs/job.md", e));
    const int status = cc_fields_parse(&cc_job_table, root, &job, e);
    if (status == CC_OK)
        *(struct cc_job *)out = job;
    else
        cc_job_free(&job);
    return status;
}

int cc_job_parse(const char *text, size_t length, struct cc_job *out, struct cc_error *e)
{
    return cc_json_parse_as(text, length, parse_root, out, e);
}

char *cc_job_text(const struct cc_job *job, struct cc_error *e)
{
    struct cc_memory_text t;
    if (cc_memory_text_begin(&t, "a job", e) != CC_OK)
        return NULL;
    const int status = cc_fields_write(&cc_job_table, job, CC_JOB_SCHEMA, true, t.f, e);
    if (cc_memory_text_end(&t, "a job", status == CC_OK ? e : NULL) == CC_OK && status == CC_OK)
        return t.text;
    free(t.text);
    return NULL;
}

int cc_job_write(const struct cc_job *job, const char *path, struct cc_error *e)
{
    struct cc_outfile o;
    int status;
    char *text = cc_job_text(job, e);
    if (text == NULL)
        return CC_FAIL;
    CC_TRY_OUT(cc_file_create(&o, path, e));
    (void)fputs(text, o.f);
    status = cc_file_commit(&o, e);
out:
    free(text);
    return status;
}
