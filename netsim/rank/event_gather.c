/* Each rank turns its log into a report, on a clock that begins with the first event of any worker,
 * and sends it to rank 0; transfers are numbered so that both ends of one have the same number. */
#include "netsim/rank/rank.h"

#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "netsim/transport/mpi_calls.h"

/* The most events of one rank, and of all ranks: they may be in one process, and their timeline is
 * one file. */
enum { MOST = 100000, MOST_OF_ALL = 2000000 };

struct cc_event_log *cc_event_gather_open(const struct cc_rank *r, size_t row,
                                          struct cc_event_log *m)
{
    const size_t share = MOST_OF_ALL / (size_t)r->ranks;
    *m =
        (struct cc_event_log){.most = share < MOST ? share : MOST, .first = r->job.row[row].warmup};
    return r->job.events ? m : NULL;
}

/* --- this rank's --- */

/* Finds the time that is reported as 0: when the first worker began the first counted step. If the
 * ranks are on several machines, whose clocks differ, each rank's time since the row's barrier
 * stands for it. */
static int find_zero(struct cc_rank *r, const struct cc_rank_loop *l, double *zero,
                     struct cc_error *e)
{
    const struct cc_event_log *m = l->s.events;
    const double own = l->one_clock ? 0 : l->began;
    double first = l->began + l->start[m->first];
    if (m->other.count > 0)
        first = fmin(first, m->other.at[0].begin);
    if (m->codec.count > 0)
        first = fmin(first, m->codec.at[0].begin);
    /* A server begins by waiting for a worker: it does not count. */
    first = l->s.server ? (double)HUGE_VAL : first - own;
    CC_TRY(cc_mpi_allreduce(r->comm, &first, 1, MPI_DOUBLE, MPI_MIN, e));
    *zero = own + first;
    return CC_OK;
}

static double since(double zero, double t)
{
    return fmax(0, t - zero);
}

/* Merges both lists of spans into one, ordered by their beginnings. */
static void merge(const struct cc_event_log *m, double zero, struct cc_report_events *out)
{
    size_t a = 0, b = 0;
    while (a < m->codec.count || b < m->other.count) {
        const bool codec = b == m->other.count ||
                           (a < m->codec.count && m->codec.at[a].begin < m->other.at[b].begin);
        struct cc_span p = codec ? m->codec.at[a++] : m->other.at[b++];
        p.begin = since(zero, p.begin);
        p.end = since(zero, p.end);
        if (p.end > p.begin)
            out->span[out->spans++] = p;
    }
}

static int compare_flows(const void *a, const void *b)
{
    const struct cc_flow_event *p = *(const struct cc_flow_event *const *)a;
    const struct cc_flow_event *q = *(const struct cc_flow_event *const *)b;
    if (p->received != q->received)
        return p->received ? 1 : -1;
    if (p->peer != q->peer)
        return p->peer < q->peer ? -1 : 1;
    if (p->message != q->message)
        return p->message < q->message ? -1 : 1;
    return p < q ? -1 : p > q;
}

/* Numbers the transfers of each message between two ranks: they arrive in the order in which they
 * leave, so both ends find the same numbers. */
static int number_flows(struct cc_report_events *out, struct cc_error *e)
{
    struct cc_flow_event **order;
    CC_TRY(CC_NEW(order, out->flows, e));
    for (size_t i = 0; i < out->flows; i++)
        order[i] = &out->flow[i];
    qsort(order, out->flows, sizeof(struct cc_flow_event *), compare_flows);
    for (size_t i = 0; i < out->flows; i++) {
        const struct cc_flow_event *last = i > 0 ? order[i - 1] : NULL;
        const bool next = last != NULL && last->received == order[i]->received &&
                          last->peer == order[i]->peer && last->message == order[i]->message;
        order[i]->number = next ? last->number + 1 : 0;
    }
    free(order);
    return CC_OK;
}

static int fill_report(const struct cc_rank *r, const struct cc_rank_loop *l, double zero,
                       struct cc_report_events *out, struct cc_error *e)
{
    const struct cc_event_log *m = l->s.events;
    out->rank = r->rank;
    out->left_out = m->left_out;
    out->first_step = m->first;
    out->flows = m->flows;
    out->steps = cc_rank_loop_steps(l) - m->first;
    CC_TRY(CC_NEW(out->span, m->codec.count + m->other.count, e));
    CC_TRY(CC_NEW(out->flow, out->flows, e));
    CC_TRY(CC_NEW(out->step, out->steps, e));
    merge(m, zero, out);
    for (size_t i = 0; i < out->flows; i++) {
        out->flow[i] = m->flow[i];
        out->flow[i].at = since(zero, m->flow[i].at);
    }
    for (size_t i = 0; i < out->steps; i++)
        out->step[i] = (struct cc_step_span){since(zero, l->began + l->start[m->first + i]),
                                             since(zero, l->began + l->end[m->first + i])};
    return number_flows(out, e);
}

/* --- to rank 0 --- */

/* The header that a rank sends before its lists. */
enum { LEFT_OUT, SPANS, FLOWS, STEPS, COUNTS };

/* Sends bytes to the peer, or receives them. */
static int transfer(struct cc_rank *r, int peer, bool sends, void *at, size_t bytes,
                    struct cc_error *e)
{
    return cc_mpi_move(r->comm, peer, sends, at, bytes, MPI_BYTE, e);
}

/* Sends this rank's events once rank 0 asks for them, or asks another rank for its own. */
static int transfer_events(struct cc_rank *r, int peer, bool sends, struct cc_report_events *m,
                           struct cc_error *e)
{
    char request = 0;
    uint64_t count[COUNTS] = {m->left_out, m->spans, m->flows, m->steps};
    CC_TRY(transfer(r, peer, !sends, &request, sizeof request, e));
    CC_TRY(transfer(r, peer, sends, count, sizeof count, e));
    if (!sends) {
        m->rank = peer;
        m->left_out = (size_t)count[LEFT_OUT];
        m->spans = (size_t)count[SPANS];
        m->flows = (size_t)count[FLOWS];
        m->steps = (size_t)count[STEPS];
        CC_TRY(CC_NEW(m->span, m->spans, e));
        CC_TRY(CC_NEW(m->flow, m->flows, e));
        CC_TRY(CC_NEW(m->step, m->steps, e));
    }
    CC_TRY(transfer(r, peer, sends, m->span, m->spans * sizeof *m->span, e));
    CC_TRY(transfer(r, peer, sends, m->flow, m->flows * sizeof *m->flow, e));
    return transfer(r, peer, sends, m->step, m->steps * sizeof *m->step, e);
}

static int report_others(struct cc_rank *r, size_t row, size_t first_step, struct cc_error *e)
{
    int status = CC_OK;
    for (int i = 1; i < r->ranks && status == CC_OK; i++) {
        struct cc_report what = {.kind = CC_REPORT_EVENTS,
                                 .events = {.row = row, .first_step = first_step}};
        status = transfer_events(r, i, false, &what.events, e);
        if (status == CC_OK)
            status = cc_rank_report(r, &what, e);
        cc_report_free(&what);
    }
    return status;
}

int cc_event_gather(struct cc_rank *r, size_t row, const struct cc_rank_loop *l, struct cc_error *e)
{
    int status = CC_OK;
    double zero;
    struct cc_report own = {.kind = CC_REPORT_EVENTS, .events = {.row = row}};
    if (l->s.events == NULL)
        return CC_OK;
    CC_TRY_OUT(find_zero(r, l, &zero, e));
    CC_TRY_OUT(fill_report(r, l, zero, &own.events, e));
    CC_TRY_OUT(r->rank == 0 ? cc_rank_report(r, &own, e)
                            : transfer_events(r, 0, true, &own.events, e));
    if (r->rank == 0)
        CC_TRY_OUT(report_others(r, row, own.events.first_step, e));
out:
    cc_report_free(&own);
    return status;
}
