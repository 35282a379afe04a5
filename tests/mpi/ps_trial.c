#include "tests/mpi/ps_trial.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"
#include "tests/lib/data.h"
#include "tests/lib/jobs.h"
#include "tests/lib/settings.h"

const char *const ps_layouts[] = {"split", "whole", "mixed"};

void ps_die(const struct ps_trial *t, const char *what)
{
    fprintf(stderr, "rank %d, %d workers, %d servers, %s, %s: %s\n", t->rank, t->job.workers,
            t->job.servers, t->setting, ps_layouts[t->layout], what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

void *ps_room(const struct ps_trial *t, size_t bytes)
{
    void *p = cc_alloc0(bytes, NULL);
    if (p == NULL)
        ps_die(t, "no memory");
    return p;
}

void ps_fail_on(const struct ps_trial *t, int status, const struct cc_error *e)
{
    if (status != CC_OK)
        ps_die(t, e->text);
}

static void add_message(struct ps_trial *t, size_t first, size_t last)
{
    t->message[t->row.messages++] = (struct cc_message){first, last};
}

static void lay_out(struct ps_trial *t)
{
    const struct cc_shape matrix = {.n = 12 * 15, .dim = {12, 15}, .ndim = 2};
    jobs_add_flat(&t->job, 700, false);
    jobs_add_flat(&t->job, 0, false);
    jobs_add_flat(&t->job, 30, true);
    jobs_add(&t->job, &matrix, false);
    jobs_add_flat(&t->job, 5777, false);
    jobs_add_flat(&t->job, 9, true);
    jobs_add_flat(&t->job, 2049, false);
    jobs_add_flat(&t->job, 1, false);
    add_message(t, 7, 7);
    add_message(t, 3, 6);
    add_message(t, 2, 2);
    add_message(t, 0, 1);
    for (size_t i = 0; i < t->job.tensors; i++) {
        const int whole = (int)((i * 7 + 2) % (size_t)t->job.servers);
        t->job.tensor[i].server =
            t->layout == SPLIT || (t->layout == MIXED && i % 3 != 0) ? -1 : whole;
    }
}

void ps_open(struct ps_trial *t)
{
    t->spec = setting_open(t->setting);
    t->raw = setting_open("fp32");
    t->row.period = cc_period(t->spec->scheme, t->spec->params);
    t->row.message = t->message;
    t->job.seed = 42;
    t->job.rendezvous = true;
    lay_out(t);
    t->values = cc_job_values(&t->job);
    t->after = ps_room(t, STEPS * t->values * sizeof *t->after);
}

void ps_close(struct ps_trial *t)
{
    free(t->after);
    cc_spec_free(t->spec);
    cc_spec_free(t->raw);
    jobs_free(&t->job);
}

void ps_gradient(const struct ps_trial *t, int worker, size_t step, float *x)
{
    const enum data_kind kinds[] = {DATA_LAPLACE, DATA_MODERATE, DATA_GAUSSIAN, DATA_TIES,
                                    DATA_ZEROS};
    const enum data_kind kind = step == 0 ? DATA_LAPLACE : kinds[(step + (size_t)worker) % 5];
    data_fill(kind, 1000 * step + (uint64_t)worker, x, t->values);
}

void ps_model(const struct ps_trial *t, float *model)
{
    for (size_t i = 0; i < t->values; i++)
        model[i] = (float)(i % 7);
}
