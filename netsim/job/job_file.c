/* Jobs as JSON, by the table of their fields, which also tells what to free. */
#include <stdio.h>
#include <stdlib.h>

#include "core/memory_text.h"
#include "netsim/job/job_table.h"

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
    return cc_memory_text_end(&t, status, e) == CC_OK ? t.text : NULL;
}
