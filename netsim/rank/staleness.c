#include "netsim/rank/rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/exchange/pack/clocks.h"
#include "netsim/transport/mpi_calls.h"

/* This worker's updates in its steps, by whole steps; 0 on servers. */
static double updates_of(const struct cc_rank_loop *l)
{
    const double parts = (double)l->s.staleness.parts;
    return parts > 0 ? (double)l->s.staleness.pushes / parts * (double)(l->to - l->from) : 0;
}

/* The longest of this server's messages: the time of a step for which the bound held pulls back,
 * the mean over the workers. */
static double held_of(const struct cc_rank_loop *l)
{
    double most = 0;
    for (size_t i = 0; i < l->s.row->messages; i++)
        most = fmax(most, l->s.staleness.held_s[i]);
    return most / (double)(l->to - l->from) / l->s.job->workers;
}

int cc_rank_stale_steps(struct cc_rank *r, const struct cc_rank_loop *l, struct cc_report_row *out,
                        struct cc_error *e)
{
    const size_t n = l->to - l->from;
    int status = CC_OK;
    double held = held_of(l);
    double *list;
    CC_TRY(CC_NEW(out->step_s, n, e));
    CC_TRY(CC_NEW(list, n + 2, e));
    for (size_t i = 0; i < n && !l->s.server; i++)
        list[i] = l->end[l->from + i] - l->start[l->from + i];
    const double took = l->end[l->to - 1] - l->start[l->from];
    list[n] = updates_of(l);
    list[n + 1] = took > 0 ? list[n] / took : 0;
    CC_TRY_OUT(cc_mpi_reduce(r->comm, list, n + 2, MPI_DOUBLE, MPI_SUM, e));
    CC_TRY_OUT(cc_mpi_reduce(r->comm, &held, 1, MPI_DOUBLE, MPI_MAX, e));
    for (size_t i = 0; i < n; i++)
        out->step_s[i] = list[i] / r->job.workers;
    out->updates = list[n] / (double)n;
    out->updates_per_s = list[n + 1];
    out->held_s = held;
out:
    free(list);
    return status;
}

int cc_rank_ages(struct cc_rank *r, const struct cc_rank_loop *l, uint64_t *age, struct cc_error *e)
{
    memcpy(age, l->s.staleness.age, CC_CLOCKS_AGES * sizeof *age);
    return cc_mpi_reduce(r->comm, age, CC_CLOCKS_AGES, MPI_UINT64_T, MPI_SUM, e);
}

int cc_rank_stale_ages(struct cc_rank *r, const struct cc_rank_loop *l, struct cc_report_row *out,
                       struct cc_error *e)
{
    int status = CC_OK;
    uint64_t *age;
    CC_TRY(CC_NEW(age, CC_CLOCKS_AGES, e));
    CC_TRY_OUT(cc_rank_ages(r, l, age, e));
    for (size_t i = 0; i < CC_CLOCKS_AGES; i++)
        out->ages = age[i] > 0 ? i + 1 : out->ages;
    CC_TRY_OUT(CC_NEW(out->age, out->ages, e));
    for (size_t i = 0; i < out->ages; i++)
        out->age[i] = (double)age[i];
out:
    free(age);
    return status;
}
