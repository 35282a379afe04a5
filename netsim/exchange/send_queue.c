#include "netsim/exchange/send_queue.h"

#include "netsim/transport/data.h"
#include "netsim/transport/mpi_check.h"

static bool may_leave(const struct cc_send_queue *q, const struct cc_send *m)
{
    return q->count < CC_QUEUE_MESSAGES || q->bytes + m->len <= CC_QUEUE_BYTES;
}

static int post(struct cc_send_queue *q, struct cc_rank_state *s, const struct cc_send *m,
                struct cc_error *e)
{
    q->count++;
    q->bytes += m->len;
    cc_note_sent(s, (size_t)m->tag, m->peer, m->len);
    const double since = cc_runtime_now();
    const int code = MPI_Isend(cc_mpi_buffer(m->bytes), (int)m->len, MPI_BYTE, m->peer, m->tag,
                               s->comm, m->request);
    s->counters.send_s += cc_runtime_now() - since;
    return cc_mpi_check(code, "MPI_Isend", e);
}

int cc_send_queue_add(struct cc_send_queue *q, struct cc_rank_state *s, struct cc_send *m,
                      struct cc_error *e)
{
    if (q->first == NULL && may_leave(q, m))
        return post(q, s, m, e);
    m->next = NULL;
    if (q->first == NULL)
        q->first = m;
    else
        q->last->next = m;
    q->last = m;
    return CC_OK;
}

int cc_send_queue_done(struct cc_send_queue *q, struct cc_rank_state *s, const struct cc_send *m,
                       struct cc_error *e)
{
    q->count--;
    q->bytes -= m->len;
    while (q->first != NULL && may_leave(q, q->first)) {
        const struct cc_send *next = q->first;
        q->first = next->next;
        CC_TRY(post(q, s, next, e));
    }
    return CC_OK;
}
