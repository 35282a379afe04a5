/* Gathers what all ranks measured of a row on rank 0. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/stats.h"
#include "netsim/exchange/pack/clocks.h"
#include "netsim/rank/accounting.h"
#include "netsim/rank/rank.h"
#include "netsim/transport/mpi_calls.h"
#include "netsim/transport/runtime.h"

/* --- times and bytes --- */

/* A figure of the report: a value of each rank, reduced over the ranks, over `per`. A time that is
 * a sum of differences, which rounding may leave below 0, is 0 then. */
struct figure {
    double *to, value, per;
};

static int put_figures(const struct cc_rank *r, const struct figure *f, size_t count, MPI_Op op,
                       struct cc_error *e)
{
    enum { MOST = 16 };
    double list[MOST];
    for (size_t i = 0; i < count; i++)
        list[i] = f[i].value;
    CC_TRY(cc_mpi_reduce(r->comm, list, count, MPI_DOUBLE, op, e));
    for (size_t i = 0; i < count; i++)
        *f[i].to = list[i] > 0 ? list[i] / f[i].per : 0;
    return CC_OK;
}

/* Bytes that all ranks have handed to MPI, in the counted steps and before. */
struct given {
    double counted, before;
};

static int put_means(const struct cc_rank *r, const struct cc_rank_loop *l, struct given *given,
                     struct cc_report_row *out, struct cc_error *e)
{
    const struct cc_counters *t = &l->s.counters;
    const double *times = t->phase_s, *work = t->work_s;
    const bool bulk = cc_job_bulk(&r->job), serves = l->s.server;
    const double n = (double)out->steps, pushes = n * r->job.workers, pulls = bulk ? n : pushes;
    const double payload = (double)t->payload_bytes, head = (double)t->head_bytes;
    double compute_s, sends, sent_s;
    const struct figure largest[] = {{&out->compute_s, times[CC_PHASE_COMPUTE], n},
                                     {&out->update_s, times[CC_PHASE_UPDATE], n},
                                     {&out->encode_s, work[CC_PHASE_ENCODE], n},
                                     {&out->hop_s, work[CC_PHASE_HOP], n},
                                     {&out->server_s, work[CC_PHASE_SERVER], n},
                                     {&out->decode_s, work[CC_PHASE_DECODE], n},
                                     {&out->wait_s, serves ? 0 : times[CC_PHASE_WAIT], n},
                                     {&out->busy_s, serves ? 0 : l->busy_s, n},
                                     {&out->messages, (double)t->messages, n},
                                     {&out->given_bytes, (double)t->sent_bytes, n},
                                     {&out->kept_values, (double)t->kept, n}};
    const struct figure sums[] = {
        {&out->push_bytes, serves ? 0 : payload, pushes},
        {&out->push_head_bytes, serves ? 0 : head, pushes},
        {&out->pull_bytes, serves ? payload : (double)t->gathered_bytes, pulls},
        {&out->pull_head_bytes, serves ? head : 0, pulls},
        {&given->counted, (double)t->sent_bytes, 1},
        {&given->before, (double)l->uncounted_bytes, 1},
        {&sent_s, t->send_s, 1},
        {&sends, (double)t->messages, 1},
        {&out->exposed_s, serves ? 0 : times[CC_PHASE_WAIT], pushes},
        {&compute_s, serves ? 0 : times[CC_PHASE_COMPUTE], pushes}};
    CC_TRY(put_figures(r, largest, sizeof largest / sizeof *largest, MPI_MAX, e));
    CC_TRY(put_figures(r, sums, sizeof sums / sizeof *sums, MPI_SUM, e));
    out->message_s = sends > 0 ? sent_s / sends : 0;
    if (!bulk)
        out->compute_s = compute_s;
    return CC_OK;
}

/* Where hosts have several ranks, replaces the bytes and messages of the rank that sends most by
 * those of the host that sends most. */
static int put_hosts(struct cc_rank *r, const struct cc_rank_loop *l, struct cc_report_row *out,
                     struct cc_error *e)
{
    const size_t hosts = (size_t)cc_job_hosts(&r->job);
    const size_t own = (size_t)cc_job_host(&r->job, r->rank);
    if (!r->job.colocated && cc_job_per_host(&r->job) == 1)
        return CC_OK;
    double *list;
    CC_TRY(CC_NEW(list, 3 * hosts, e));
    list[own] = (double)l->s.counters.sent_bytes;
    list[hosts + own] = (double)l->s.counters.messages;
    list[2 * hosts + own] = (double)l->s.counters.intra_bytes;
    const int status = cc_mpi_reduce(r->comm, list, 3 * hosts, MPI_DOUBLE, MPI_SUM, e);
    for (size_t i = 0; i < hosts; i++) {
        out->given_bytes = fmax(out->given_bytes, list[i] / (double)out->steps);
        out->messages = fmax(out->messages, list[hosts + i] / (double)out->steps);
        if (!r->job.colocated)
            out->intra_bytes = fmax(out->intra_bytes, list[2 * hosts + i] / (double)out->steps);
    }
    free(list);
    return status;
}

/* By step, those of the worker for which it is the largest; a time's negative gives the earliest.
 */
enum { END, START, CORE, LATE, READY, ENCODED, TIMES };

/* The median time by which the first worker woke too late for a counted step: what waking takes
 * where no other rank has the core. */
static void put_waking(const struct cc_rank_loop *l, double *late, struct cc_report_row *out)
{
    for (size_t i = l->from; i < l->to; i++)
        late[i] = -late[i];
    out->waking_s = cc_stats_of(late + l->from, out->steps).median;
}

/* With more ranks than cores, workers that become ready together encode in turn. So the encoding of
 * the first message is taken to last from the first worker's beginning to the last one's end,
 * instead of the time `own` that the slowest worker takes for its own. */
static void add_queue(const struct cc_rank_loop *l, const double *ready, const double *encoded,
                      double own, struct cc_report_row *out)
{
    double queue = 0;
    for (size_t i = l->from; i < l->to; i++)
        queue += encoded[i] + ready[i];
    /* Nobody takes turns where nothing is encoded. */
    if (out->encode_s > 0)
        out->encode_s += (queue - own) / (double)out->steps;
}

/* How long ranks waited for a core in the counted steps, and how many cores other programs had
 * meanwhile, which is known where all ranks are on one machine. `most`: by step, the rank that
 * waited longest. */
static int put_cores(const struct cc_rank *r, const struct cc_rank_loop *l, const double *most,
                     struct cc_report_row *out, struct cc_error *e)
{
    enum { RAN, WAITED, PARTS };
    const double machine_s = cc_runtime_machine_ran_s(), took_s = cc_runtime_now() - l->counting_at;
    double sum[PARTS] = {[RAN] = cc_runtime_core_time().ran_s - l->counting_core.ran_s};
    for (size_t i = l->from; i < l->to; i++) {
        sum[WAITED] += l->core_wait[i] / (double)out->steps;
        out->core_wait_s += most[i] / (double)out->steps;
    }
    CC_TRY(cc_mpi_reduce(r->comm, sum, PARTS, MPI_DOUBLE, MPI_SUM, e));
    out->core_wait_all_s = sum[WAITED];
    if (l->one_clock && machine_s >= 0 && took_s > 0)
        out->other_cores = fmax(0, machine_s - l->counting_machine_s - sum[RAN]) / took_s;
    return CC_OK;
}

/* In lockstep, a step takes as long as its slowest worker: from when the first worker begins it, if
 * they have one clock. Otherwise it lasts from when the last worker ended the step before until the
 * last worker ends it. Ranks that sleep while they wait are on one machine, and share a clock. */
static int put_steps(struct cc_rank *r, const struct cc_rank_loop *l, struct cc_report_row *out,
                     struct cc_error *e)
{
    const size_t all = l->to, before = l->from;
    const bool together = cc_rank_loop_lockstep(l), sleeps = l->s.job->yield_when_idle && together;
    const double zero = together && l->one_clock ? l->began : 0;
    double *list;
    CC_TRY(CC_NEW(out->step_s, out->steps, e));
    CC_TRY(CC_NEW(list, TIMES * all + 1, e));
    const double *end = list, *start = list + START * all;
    double *own = list + TIMES * all;
    for (size_t i = 0; i < all; i++) {
        const double times[TIMES] = {[END] = together && !l->one_clock ? l->end[i] - l->start[i]
                                                                       : zero + l->end[i],
                                     [START] = -(zero + l->start[i]),
                                     [LATE] = -l->late[i],
                                     [READY] = -l->ready[i],
                                     [ENCODED] = l->encoded[i]};
        for (size_t k = 0; k < TIMES; k++)
            list[k * all + i] = l->s.server ? -HUGE_VAL : times[k];
        list[CORE * all + i] = l->core_wait[i]; /* servers are ranks, too */
        *own += l->s.server || i < before ? 0 : l->encoded[i] - l->ready[i];
    }
    const size_t count = sleeps ? TIMES * all + 1 : LATE * all;
    int status = cc_mpi_reduce(r->comm, list, count, MPI_DOUBLE, MPI_MAX, e);
    for (size_t i = before; i < all; i++) {
        double since = i > 0 ? end[i - 1] : 0;
        if (together)
            since = l->one_clock ? -start[i] : 0;
        out->step_s[i - before] = end[i] - since;
    }
    if (status == CC_OK)
        status = put_cores(r, l, list + CORE * all, out, e);
    if (sleeps) {
        put_waking(l, list + LATE * all, out);
        add_queue(l, list + READY * all, list + ENCODED * all, *own, out);
    }
    free(list);
    return status;
}

/* --- steps that are not bulk synchronous --- */

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

/* Sets the time of a worker's step, as means over the workers; how many updates a second they make
 * together, and for how long a step is held back by the bound. */
static int put_stale_steps(struct cc_rank *r, const struct cc_rank_loop *l,
                           struct cc_report_row *out, struct cc_error *e)
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

int cc_rank_ages(struct cc_rank *r, const struct cc_rank_loop *l, uint64_t **out,
                 struct cc_error *e)
{
    CC_TRY(CC_NEW(*out, CC_CLOCKS_AGES, e));
    memcpy(*out, l->s.staleness.age, CC_CLOCKS_AGES * sizeof **out);
    return cc_mpi_reduce(r->comm, *out, CC_CLOCKS_AGES, MPI_UINT64_T, MPI_SUM, e);
}

/* The updates by their staleness, as a list that ends with the last one that is not 0. */
static int put_ages(struct cc_rank *r, const struct cc_rank_loop *l, struct cc_report_row *out,
                    struct cc_error *e)
{
    int status = CC_OK;
    uint64_t *age;
    CC_TRY_OUT(cc_rank_ages(r, l, &age, e));
    for (size_t i = 0; i < CC_CLOCKS_AGES; i++)
        out->ages = age[i] > 0 ? i + 1 : out->ages;
    CC_TRY_OUT(CC_NEW(out->age, out->ages, e));
    for (size_t i = 0; i < out->ages; i++)
        out->age[i] = (double)age[i];
out:
    free(age);
    return status;
}

/* --- tensors --- */

/* Sums bytes by tensor, pushes and pulls in one list. */
static int put_tensors(struct cc_rank *r, const struct cc_rank_loop *l, struct cc_report_row *out,
                       struct cc_error *e)
{
    const size_t n = r->job.tensors;
    const double pulls = (double)out->steps * (cc_job_bulk(&r->job) ? 1 : r->job.workers);
    double *bytes;
    CC_TRY(CC_NEW(out->tensor_bytes, n, e));
    CC_TRY(CC_NEW(out->tensor_pull_bytes, n, e));
    CC_TRY(CC_NEW(bytes, 2 * n, e));
    out->tensors = n;
    for (size_t i = 0; i < n; i++)
        bytes[l->s.server ? n + i : i] = (double)l->s.counters.tensor_bytes[i];
    int status = cc_mpi_reduce(r->comm, bytes, 2 * n, MPI_DOUBLE, MPI_SUM, e);
    for (size_t i = 0; i < n; i++) {
        out->tensor_bytes[i] = bytes[i] / (double)out->steps / r->job.workers;
        out->tensor_pull_bytes[i] = bytes[n + i] / pulls;
    }
    free(bytes);
    return status;
}

/* --- collectives --- */

static int put_collectives(struct cc_rank *r, const struct cc_rank_loop *l,
                           struct cc_report_row *out, struct cc_error *e)
{
    if (l->queues == NULL)
        return CC_OK;
    const size_t n = (size_t)l->queues->list.count;
    CC_TRY(CC_NEW(out->collective_s, n, e));
    out->collectives = n;
    memcpy(out->collective_s, l->queues->collective_s, n * sizeof *out->collective_s);
    const int status = cc_mpi_reduce(r->comm, out->collective_s, n, MPI_DOUBLE, MPI_SUM, e);
    for (size_t i = 0; i < n; i++)
        out->collective_s[i] /= (double)out->steps * r->job.workers;
    return status;
}

/* --- interfaces --- */

/* The byte counts of one rank's interface. */
struct interface {
    uint64_t network, sent, received;
};

/* Counts each interface once; `scale` converts the total to bytes per counted step. */
static void put_interfaces(const struct interface *all, int ranks, double scale,
                           struct cc_report_row *out)
{
    out->total_sent_bytes = 0;
    for (int i = 0; i < ranks; i++) {
        const double sent = (double)all[i].sent * scale;
        bool again = false;
        for (int j = 0; j < i && all[i].network != 0 && !again; j++)
            again = all[j].network == all[i].network;
        if (!again)
            out->total_sent_bytes += sent;
        if (i == 0 || sent > out->sent_bytes) {
            out->sent_bytes = sent;
            out->received_bytes = (double)all[i].received * scale;
        }
    }
}

/* Where counting begins apart from the steps before it, the interfaces were read then. Otherwise
 * some bytes of a step are still in buffers when the next one begins. There the interfaces are read
 * around all steps, and the counted ones are taken to have the share that they have of the bytes
 * handed to MPI. */
static int gather_interfaces(struct cc_rank *r, const struct cc_rank_loop *l,
                             const struct cc_row_measures *m, const struct given *given,
                             struct cc_report_row *out, struct cc_error *e)
{
    const double all_given = given->counted + given->before;
    struct interface *all;
    double part = 1;
    out->sent_bytes = out->received_bytes = out->total_sent_bytes = -1;
    if (r->job.device == NULL)
        return CC_OK;
    const struct interface own = {.network = cc_host_id_here().network,
                                  .sent = m->after->sent - m->before->sent,
                                  .received = m->after->received - m->before->received};
    const int status = CC_MPI_GATHER(r->comm, &own, 1, all, e);
    if (!cc_rank_loop_counts_apart(l))
        part = all_given > 0 ? given->counted / all_given : (double)out->steps / (double)l->to;
    if (status == CC_OK && r->rank == 0)
        put_interfaces(all, r->ranks, part / (double)out->steps, out);
    free(all);
    return status;
}

/* --- all --- */

static int gather(struct cc_rank *r, const struct cc_rank_loop *l, const struct cc_row_measures *m,
                  struct cc_report_row *out, struct cc_error *e)
{
    struct given given;
    CC_TRY(put_means(r, l, &given, out, e));
    CC_TRY(put_hosts(r, l, out, e));
    CC_TRY(gather_interfaces(r, l, m, &given, out, e));
    if (r->rank == 0)
        out->peak_bytes = (double)cc_runtime_peak_bytes();
    out->other_cores = -1;
    CC_TRY(cc_chosen_text(l, &out->chose, e));
    if (!cc_job_bulk(&r->job)) {
        CC_TRY(put_stale_steps(r, l, out, e));
        CC_TRY(put_ages(r, l, out, e));
        return put_tensors(r, l, out, e);
    }
    CC_TRY(put_steps(r, l, out, e));
    CC_TRY(put_collectives(r, l, out, e));
    return put_tensors(r, l, out, e);
}

/* Copies the errors of what was applied, which all workers know. */
static int put_errors(const struct cc_applied_error *x, struct cc_report_row *out,
                      struct cc_error *e)
{
    if (x == NULL)
        return CC_OK;
    CC_TRY(CC_NEW(out->applied_error, CC_APPLIED_WINDOWS, e));
    memcpy(out->applied_error, x->error, sizeof x->error);
    out->applied_errors = CC_APPLIED_WINDOWS;
    return CC_OK;
}

int cc_rank_results(struct cc_rank *r, size_t row, const struct cc_rank_loop *l,
                    const struct cc_row_measures *m, struct cc_report *out, struct cc_error *e)
{
    *out =
        (struct cc_report){.kind = CC_REPORT_ROW, .result = {.row = row, .steps = l->to - l->from}};
    CC_TRY(gather(r, l, m, &out->result, e));
    CC_TRY(put_errors(m->error, &out->result, e));
    return cc_rank_report(r, out, e);
}
