#include "tests/lib/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *grown(void *list, size_t bytes)
{
    void *more = realloc(list, bytes);
    if (more == NULL) {
        fprintf(stderr, "no memory for a job\n");
        exit(1);
    }
    return more;
}

void jobs_add(struct cc_job *job, const struct cc_shape *shape, bool raw)
{
    size_t i = job->tensors++;
    char name[24];
    (void)snprintf(name, sizeof name, "t%zu", i);
    job->tensor = grown(job->tensor, job->tensors * sizeof *job->tensor);
    job->offset = grown(job->offset, (job->tensors + 1) * sizeof *job->offset);
    job->tensor[i] = (struct cc_job_tensor){.shape = *shape, .raw = raw};
    job->tensor[i].name = memcpy(grown(NULL, sizeof name), name, sizeof name);
    if (i == 0) {
        job->offset[0] = 0;
        job->data = job->rendezvous = true;
    }
    job->offset[i + 1] = job->offset[i] + shape->n;
}

void jobs_add_flat(struct cc_job *job, size_t n, bool raw)
{
    struct cc_shape shape = cc_shape_flat(n);
    jobs_add(job, &shape, raw);
}

void jobs_free(struct cc_job *job)
{
    for (size_t i = 0; i < job->tensors; i++)
        free(job->tensor[i].name);
    free(job->tensor);
    free(job->offset);
    *job = (struct cc_job){0};
}

size_t jobs_choices(const struct cc_job *job, const struct cc_message *message, size_t messages,
                    struct cc_job_choice *out)
{
    static const struct {
        double density;
        enum cc_exchange exchange;
    } all[JOBS_CHOICES] = {{0.01, CC_SSAR_RECDOUBLE},
                           {0.05, CC_SSAR_RABENSEIFNER},
                           {0.2, CC_SSAR_SPLIT},
                           {0.3, CC_DSAR_SPLIT},
                           {1, CC_SSAR_SPLIT}};
    size_t count = 0;
    for (size_t i = 0; i < messages; i++) {
        const size_t values = job->offset[message[i].last + 1] - job->offset[message[i].first];
        for (size_t k = 0; k < JOBS_CHOICES; k++)
            out[count++] = (struct cc_job_choice){i, all[k].density * (double)values * job->workers,
                                                  all[k].exchange};
    }
    return count;
}
