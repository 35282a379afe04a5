/* Messages that may not leave yet wait in a list, in order. */
#include "netsim/exchange/send_queue.h"

static bool may_leave(const struct cc_send_queue *q, const struct cc_send *m)
{
    return q->count < CC_QUEUE_MESSAGES || q->bytes + m->parcel.bytes <= CC_QUEUE_BYTES;
}

static int post(struct cc_send_queue *q, struct cc_rank_state *s, const struct cc_send *m,
                struct cc_error *e)
{
    q->count++;
    q->bytes += m->parcel.bytes;
    cc_note_sent(s, (size_t)m->parcel.tag, m->parcel.peer, m->parcel.bytes);
    const double since = cc_transport_now(s->transport);
    const int status = cc_requests_send(m->requests, m->request, &m->parcel, e);
    s->counters.send_s += cc_transport_now(s->transport) - since;
    return status;
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
    q->bytes -= m->parcel.bytes;
    while (q->first != NULL && may_leave(q, q->first)) {
        const struct cc_send *next = q->first;
        q->first = next->next;
        CC_TRY(post(q, s, next, e));
    }
    return CC_OK;
}
