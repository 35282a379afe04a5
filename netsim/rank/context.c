/* Ranks on machines have a copy of the job each; simulated ones, which share their memory, one. */
#include "netsim/rank/rank.h"

#include <stdlib.h>

#include "core/element.h"
#include "core/memory.h"
#include "netsim/exchange/pack/size_index.h"
#include "netsim/job/job.h"
#include "netsim/transport/mpi_calls.h"
#include "netsim/transport/runtime.h"

int cc_rank_report(struct cc_rank *r, const struct cc_report *what, struct cc_error *e)
{
    return r->rank == 0 ? cc_report_print(what, r->out, e) : CC_OK;
}

/* --- the job --- */

static int parse(const char *text, size_t length, struct cc_job *out, struct cc_error *e)
{
    CC_TRY(cc_job_parse(text, length, out, e));
    const int status = cc_job_schemes_add(out, e);
    if (status != CC_OK)
        cc_job_free(out);
    return status;
}

static int copy_job(struct cc_rank *r, const char *text, size_t length, struct cc_error *e)
{
    uint64_t bytes = length;
    char *received = NULL;
    int status = CC_OK;
    CC_TRY(cc_mpi_broadcast(r->comm, &bytes, 1, MPI_UINT64_T, e));
    if (r->rank != 0 && (received = cc_alloc(bytes, e)) == NULL)
        return CC_FAIL;
    void *buffer = r->rank != 0 ? received : (void *)(uintptr_t)text;
    CC_TRY_OUT(cc_mpi_broadcast(r->comm, buffer, bytes, MPI_BYTE, e));
    status = parse(buffer, (size_t)bytes, &r->job, e);
out:
    free(received);
    return status;
}

static struct {
    struct cc_job job;
    struct cc_size_index **sizes;
    struct cc_job_row stage[CC_STAGE_SIZES]; /* name their schemes, all of whose payloads have one
                                                size */
    int users;                               /* ranks */
} shared;

/* The message that tells a rank that the job is there. Its size is fixed, so that the clock, and
 * with it the last digits of all times, do not depend on the fields of a job. */
struct announcement {
    int *users; /* &shared.users: tells whether ranks share their globals */
    char padding[264 - sizeof(int *)];
};

static const char *const names[CC_STAGE_SIZES] = {"gather", "intra_scheme", "weights", "dtype"};

static int open_shared(int ranks, const char *text, size_t length, struct cc_error *e)
{
    bool costs_known = true;
    shared.users = ranks;
    CC_TRY(parse(text, length, &shared.job, e));
    const struct cc_job *job = &shared.job;
    const bool indexed = !job->data && job->kind == CC_JOB_REPLAY;
    if (indexed)
        CC_TRY(CC_NEW(shared.sizes, job->rows + CC_STAGE_SIZES, e));
    char *const plain = (char *)(uintptr_t)cc_element_names[job->dtype]; /* it is only read */
    char *const of_stage[CC_STAGE_SIZES] = {[CC_SIZES_SECOND] = job->gather,
                                            [CC_SIZES_INNER] = job->intra_scheme,
                                            [CC_SIZES_WEIGHTS] = job->sharded.weights,
                                            [CC_SIZES_PLAIN] =
                                                job->sharded.collectives > 0 ? plain : NULL};
    for (size_t i = 0; i < CC_STAGE_SIZES; i++) {
        char *const scheme = of_stage[i];
        shared.stage[i] =
            (struct cc_job_row){.scheme = scheme, .period = 1, .sizes = {.fixed = true}};
        if (indexed && scheme != NULL)
            CC_TRY_IN(cc_size_index_make(job, &shared.stage[i], &shared.sizes[job->rows + i], e), e,
                      "\"%s\"", names[i]);
    }
    for (size_t i = 0; i < job->rows; i++) {
        costs_known = costs_known && job->row[i].cost != NULL;
        if (indexed)
            CC_TRY_IN(cc_size_index_make(job, &job->row[i], &shared.sizes[i], e), e, "row %zu", i);
    }
    /* Reading it would dominate the simulation's own time. */
    cc_runtime_read_processor(!costs_known);
    return CC_OK;
}

static int share_job(struct cc_rank *r, const char *text, size_t length, struct cc_error *e)
{
    struct announcement message = {.users = &shared.users};
    (void)cc_runtime_speed(); /* those of all ranks are known before a row begins */
    if (r->rank == 0)
        CC_TRY(open_shared(r->ranks, text, length, e));
    else
        CC_TRY(cc_mpi_move(r->comm, 0, false, &message, sizeof message, MPI_BYTE, e));
    /* Not MPI_Bcast: SMPI would let every pair of ranks communicate first. */
    for (int i = 1; i < r->ranks && r->rank == 0; i++)
        CC_TRY(cc_mpi_move(r->comm, i, true, &message, sizeof message, MPI_BYTE, e));
    if (message.users != &shared.users)
        return cc_fail(e, "ranks do not share their memory: give smpirun -no-privatize");
    r->job = shared.job;
    r->sizes = shared.sizes;
    return CC_OK;
}

int cc_rank_take_job(struct cc_rank *r, const char *text, size_t length, struct cc_error *e)
{
    return cc_runtime_simulates() ? share_job(r, text, length, e) : copy_job(r, text, length, e);
}

void cc_rank_free_job(struct cc_rank *r)
{
    if (cc_runtime_simulates() && --shared.users > 0)
        return;
    for (size_t i = 0; r->sizes != NULL && i < r->job.rows + CC_STAGE_SIZES; i++)
        cc_size_index_free(r->sizes[i]);
    free(r->sizes);
    cc_job_free(&r->job);
}
