/* Jobs: any bytes either parse to a job that ranks can rely on or are refused with a reason. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "netsim/job/job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int right)
{
    if (!right)
        abort();
}

static void check_row(const struct cc_job *job, const struct cc_job_row *r)
{
    check(r->period >= 1 && r->steps >= 1 && r->steps % r->period == 0 &&
          r->warmup % r->period == 0 && r->scheme[0] != '\0');
    size_t left = job->tensors;
    for (size_t i = 0; i < r->messages; i++) {
        check(r->message[i].last == left - 1 && r->message[i].first <= r->message[i].last);
        left = r->message[i].first;
    }
    check(left == 0);
}

/* Checks the properties of jobs without data that ranks rely on. */
static void check_sizes(const struct cc_job *job, const struct cc_job_row *r)
{
    const struct cc_job_sizes *s = &r->sizes;
    check(r->cost != NULL && job->exchange != CC_MPI);
    for (size_t i = 0; i < job->tensors; i++)
        check(r->cost[i].encode_s >= 0 && r->cost[i].pull_decode_s >= 0);
    if (s->fixed)
        return;
    check(s->workers >= 1 && s->steps >= 1 && s->steps % r->period == 0);
    uint64_t sum = s->push[s->workers * s->steps * job->tensors - 1];
    check((s->pull != NULL) == (job->servers > 0));
    sum += s->pull != NULL ? s->pull[s->steps * job->tensors - 1] : 0;
    check((s->hop != NULL) == (s->sums > 0));
    sum += s->hop != NULL ? s->hop[s->sums * s->steps * job->tensors - 1] : 0;
    check(sum <= 3 * (uint64_t)UINT32_MAX);
}

static void check_replay(const struct cc_job *job)
{
    double share = 0;
    size_t values = 0;
    for (size_t i = 0; i < job->tensors; i++) {
        const struct cc_job_tensor *t = &job->tensor[i];
        check(job->offset[i] == values);
        values += t->shape.n;
        share += t->share;
        check(t->share >= 0 && t->share <= 1);
        check(t->server == 0 || (t->server >= -1 && t->server < job->servers));
    }
    check(values == cc_job_values(job) && fabs(share - 1) <= 1e-6);
    check((job->servers > 0) == (job->exchange == CC_PS));
    check(job->training.net != NULL || job->trace_steps >= 1);
    check(job->slow == NULL || job->slow_steps >= 1);
    for (size_t i = 0; job->slow != NULL && i < (size_t)job->workers * job->slow_steps; i++)
        check(job->slow[i] >= 0);
    for (size_t i = 0; i < job->rows; i++)
        check_row(job, &job->row[i]);
    check(job->block_bytes % 4 == 0);
    for (size_t i = 0; i < job->rows && !job->data; i++)
        check_sizes(job, &job->row[i]);
}

/* A written job reads back as one that is written to the same bytes. */
static void check_text(const struct cc_job *job)
{
    struct cc_job again;
    struct cc_error e = {""};
    char *text = cc_job_text(job, &e);
    check(text != NULL && cc_job_parse(text, strlen(text), &again, &e) == CC_OK);
    char *second = cc_job_text(&again, &e);
    check(second != NULL && strcmp(text, second) == 0);
    free(text);
    free(second);
    cc_job_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cc_job job;
    struct cc_error e = {""};
    if (cc_job_parse((const char *)data, size, &job, &e) != CC_OK) {
        check(e.text[0] != '\0'); /* a refusal without a reason */
        return 0;
    }
    check(job.workers >= 1 && job.servers >= 0);
    if (job.kind == CC_JOB_REPLAY)
        check_replay(&job);
    else
        check(job.workers >= 2 && job.sizes >= 1 && job.repeats >= 1);
    check_text(&job);
    cc_job_free(&job);
    return 0;
}
