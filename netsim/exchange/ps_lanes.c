/* Opening lanes, their messages each way, and the packs in them. Completed requests are taken once
 * a test; a send that completes lets the queue to that peer go on. */
#include "netsim/exchange/ps_lanes.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/exchange/data.h"

/* The messages to one peer. */
struct cc_send_queue {
    struct cc_lane *first, *last; /* waiting, in order */
    size_t count, bytes;          /* under way */
};

size_t cc_lanes_value(const struct cc_lanes *p, const struct cc_slice *slice)
{
    return p->head.s->job->offset[slice->tensor] + slice->begin;
}

/* --- opening --- */

/* Workers encode pushes and servers pulls; the others only decode them. */
static int make_pack(const struct cc_lanes *p, enum cc_direction direction, int64_t rank,
                     const struct cc_slice *slice, size_t slices, struct cc_pack **out,
                     struct cc_error *e)
{
    const struct cc_rank_state *s = p->head.s;
    const struct cc_pack_config config = {.spec = direction == CC_PULL ? s->pull : s->spec,
                                          .seed = s->job->seed,
                                          .rank = rank,
                                          .direction = direction,
                                          .origin = p->origin,
                                          .decodes_only = (direction == CC_PUSH) == s->server};
    return cc_rank_pack_make(s, config, slice, slices, out, e);
}

int cc_lanes_pack(const struct cc_lanes *p, enum cc_direction direction, int64_t rank,
                  struct cc_pack **out, struct cc_error *e)
{
    return make_pack(p, direction, rank, p->slice, p->slices, out, e);
}

/* Whether a message may have more bytes than MPI counts in an int. */
static bool is_large(const struct cc_pack *c, size_t head)
{
    return head + cc_pack_bound(c) > INT_MAX;
}

/* Checks the largest message of a pack; without data any length can be sent. */
static int make_buffer(const struct cc_lanes *p, const struct cc_pack *c, size_t head,
                       uint8_t **out, struct cc_error *e)
{
    const struct cc_message *m = p->head.message;
    const size_t bytes = head + cc_pack_bound(c);
    if (p->head.s->job->data && is_large(c, head))
        return cc_fail(e,
                       "tensors %zu to %zu: up to %zu bytes to one server, and a message can have "
                       "%d; cut the step into more messages, or take more servers",
                       m->first, m->last, bytes, INT_MAX);
    return p->head.s->job->data ? CC_NEW(*out, bytes, e) : CC_OK;
}

int cc_lanes_outbox(const struct cc_lanes *p, struct cc_lane *l, struct cc_error *e)
{
    const struct cc_rank_state *s = p->head.s;
    return p->shares ? cc_room_alloc(s, p->head.index, s->server ? s->rank : l->peer,
                                     cc_pack_bound(l->encoder), &l->out, e)
                     : make_buffer(p, l->encoder, p->out_head, &l->out, e);
}

int cc_lanes_inbox(struct cc_lanes *p, struct cc_lane *l, struct cc_error *e)
{
    if (p->head.s->transport->ops->lends)
        return CC_OK;
    CC_TRY(make_buffer(p, l->decoder, p->in_head, &l->room, e));
    l->in = l->room;
    return CC_OK;
}

int cc_lanes_check_memory(const struct cc_lanes *p, size_t bytes, struct cc_error *e)
{
    return p->head.s->job->data
               ? cc_memory_check(bytes, "a server's sums and buffers for pushes", e)
               : CC_OK;
}

/* The queues are shared by all messages of the row; the first one makes them. */
static int open_lanes(struct cc_lanes *p, int most, struct cc_error *e)
{
    struct cc_rank_state *s = p->head.s;
    p->shares = s->shared != NULL && s->job->data && cc_job_bulk(s->job);
    if (s->queue_users++ == 0)
        CC_TRY(CC_NEW(s->queue, (size_t)most, e));
    CC_TRY(CC_NEW(p->lane, (size_t)most, e));
    return CC_NEW(p->finished, 2 * (size_t)most, e);
}

/* A worker's lane to a server, if that keeps any of the message. */
static int open_lane(struct cc_lanes *p, int server, struct cc_error *e)
{
    const struct cc_rank_state *s = p->head.s;
    int status = CC_OK;
    struct cc_slice *slice = NULL;
    size_t slices;
    CC_TRY_OUT(cc_kept_slices(s->job, p->head.message, server, &slice, &slices, e));
    if (slices == 0)
        goto out;
    struct cc_lane *l = &p->lane[p->lanes++];
    *l = (struct cc_lane){.peer = s->job->workers + server, .of = p};
    CC_TRY_OUT(make_pack(p, CC_PUSH, s->rank, slice, slices, &l->encoder, e));
    CC_TRY_OUT(make_pack(p, CC_PULL, -1, slice, slices, &l->decoder, e));
    CC_TRY_OUT(cc_lanes_outbox(p, l, e));
    CC_TRY_OUT(cc_lanes_inbox(p, l, e));
out:
    free(slice);
    return status;
}

int cc_lanes_open_worker(struct cc_lanes *p, struct cc_error *e)
{
    const int servers = p->head.s->job->servers;
    CC_TRY(open_lanes(p, servers, e));
    for (int i = 0; i < servers; i++)
        CC_TRY(open_lane(p, i, e));
    return cc_requests_open(p->head.s->transport, 2 * p->lanes, &p->requests, e);
}

int cc_lanes_open_server(struct cc_lanes *p, struct cc_error *e)
{
    const struct cc_rank_state *s = p->head.s;
    const int workers = s->job->workers;
    CC_TRY(open_lanes(p, workers, e));
    CC_TRY(cc_kept_slices(s->job, p->head.message, s->rank - workers, &p->slice, &p->slices, e));
    if (p->slices == 0)
        return CC_OK;
    const struct cc_slice *last = &p->slice[p->slices - 1];
    p->lanes = (size_t)workers;
    p->origin = cc_lanes_value(p, &p->slice[0]);
    p->values = cc_lanes_value(p, last) + last->count - p->origin;
    for (int i = 0; i < workers; i++)
        p->lane[i] = (struct cc_lane){.peer = i, .of = p};
    return cc_requests_open(s->transport, 2 * p->lanes, &p->requests, e);
}

static void free_lane(struct cc_lanes *p, size_t i)
{
    const struct cc_lane *l = &p->lane[i];
    const bool last = i + 1 == p->lanes;
    free(l->room);
    if (!p->shares)
        free(l->out);
    if (last || p->lane[i + 1].encoder != l->encoder)
        cc_pack_free(l->encoder);
    if (last || p->lane[i + 1].decoder != l->decoder)
        cc_pack_free(l->decoder);
}

void cc_lanes_close(struct cc_lanes *p)
{
    struct cc_rank_state *s = p->head.s;
    cc_requests_close(&p->requests);
    for (size_t i = 0; i < p->lanes; i++)
        free_lane(p, i);
    free(p->lane);
    free(p->finished);
    free(p->slice);
    if (--s->queue_users == 0) {
        free(s->queue);
        s->queue = NULL;
    }
}

/* --- messages --- */

int cc_lanes_receive(struct cc_lanes *p, size_t lane, struct cc_error *e)
{
    struct cc_lane *l = &p->lane[lane];
    l->here = false;
    p->pending++;
    const struct cc_parcel parcel = {.at = l->room,
                                     .bytes = p->in_head + cc_pack_bound(l->decoder),
                                     .peer = l->peer,
                                     .tag = (int)p->head.index};
    return cc_requests_begin(&p->requests, lane, &parcel, false, e);
}

static struct cc_send_queue *queue_to(const struct cc_lane *l)
{
    const struct cc_rank_state *s = l->of->head.s;
    return &s->queue[s->server ? l->peer : l->peer - s->job->workers];
}

static bool may_leave(const struct cc_send_queue *q, const struct cc_lane *l)
{
    return q->count < CC_QUEUE_MESSAGES || q->bytes + l->parcel.bytes <= CC_QUEUE_BYTES;
}

static int post(struct cc_send_queue *q, const struct cc_lane *l, struct cc_error *e)
{
    struct cc_lanes *p = l->of;
    struct cc_rank_state *s = p->head.s;
    q->count++;
    q->bytes += l->parcel.bytes;
    cc_note_transfer(s, false, p->head.index, l->peer, l->parcel.bytes);
    const double since = cc_transport_now(s->transport);
    const size_t request = p->lanes + (size_t)(l - p->lane);
    const int status = cc_requests_begin(&p->requests, request, &l->parcel, true, e);
    s->counters.send_s += cc_transport_now(s->transport) - since;
    return status;
}

int cc_lanes_send(struct cc_lanes *p, size_t lane, uint8_t *bytes, size_t len, struct cc_error *e)
{
    struct cc_rank_state *s = p->head.s;
    struct cc_lane *l = &p->lane[lane];
    struct cc_send_queue *q = queue_to(l);
    p->pending++;
    l->sends = true;
    cc_count_sent(s, l->peer, len);
    l->parcel = (struct cc_parcel){.at = bytes,
                                   .bytes = len,
                                   .peer = l->peer,
                                   .tag = (int)p->head.index,
                                   .head = p->out_head,
                                   .payload = p->payload};
    if (q->first == NULL && may_leave(q, l))
        return post(q, l, e);
    l->next = NULL;
    if (q->first == NULL)
        q->first = l;
    else
        q->last->next = l;
    q->last = l;
    return CC_OK;
}

/* A message that was under way is complete: sends those that may leave now. */
static int end_send(struct cc_lane *l, struct cc_error *e)
{
    struct cc_send_queue *q = queue_to(l);
    l->sends = false;
    q->count--;
    q->bytes -= l->parcel.bytes;
    while (q->first != NULL && may_leave(q, q->first)) {
        const struct cc_lane *next = q->first;
        q->first = next->next;
        CC_TRY(post(q, next, e));
    }
    return CC_OK;
}

/* The length of message number i of those that have just arrived. */
static size_t arrived_bytes(const struct cc_lanes *p, const struct cc_lane *l, size_t i)
{
    const struct cc_rank_state *s = p->head.s;
    if (s->job->data || !is_large(l->decoder, p->in_head))
        return cc_requests_bytes(&p->requests, i);
    return p->in_head + cc_pack_size(l->decoder, l->peer, s->step);
}

int cc_lanes_take(struct cc_lanes *p, int *received, struct cc_error *e)
{
    int count = 0;
    *received = 0;
    if (p->pending == 0)
        return CC_OK;
    CC_TRY(cc_requests_some(&p->requests, &count, p->finished, e));
    for (int i = 0; i < count; i++) {
        const size_t which = (size_t)p->finished[i];
        p->pending--;
        if (which >= p->lanes) {
            CC_TRY(end_send(&p->lane[which - p->lanes], e));
            continue;
        }
        struct cc_lane *l = &p->lane[which];
        l->in_len = arrived_bytes(p, l, (size_t)i);
        l->here = true;
        if (p->head.s->transport->ops->lends)
            l->in = cc_requests_lent(&p->requests, which);
        cc_note_transfer(p->head.s, true, p->head.index, l->peer, l->in_len);
        p->finished[(*received)++] = (int)which;
    }
    return CC_OK;
}

/* --- packs --- */

int cc_lanes_encode(struct cc_lanes *p, const struct cc_lane *l, const float *x, size_t *len,
                    struct cc_error *e)
{
    struct cc_rank_state *s = p->head.s;
    const uint64_t before = s->counters.payload_bytes;
    CC_TRY(cc_message_encode(s, l->encoder, x, s->server ? CC_PHASE_SERVER : CC_PHASE_ENCODE,
                             !p->silent, CC_OFFSET_OR_NULL(l->out, p->out_head), len, e));
    p->payload = s->counters.payload_bytes - before;
    s->counters.head_bytes += p->silent ? 0 : p->out_head;
    *len += p->out_head;
    return CC_OK;
}

int cc_lanes_decode_add(struct cc_lanes *p, const struct cc_lane *l, float scale, float *y,
                        struct cc_error *e)
{
    struct cc_rank_state *s = p->head.s;
    CC_TRY_IN(cc_message_decode_add(s, l->decoder, s->server ? CC_PACK_ADD : CC_PACK_DECODE,
                                    s->server ? CC_PHASE_SERVER : CC_PHASE_DECODE,
                                    CC_OFFSET_OR_NULL(l->in, p->in_head), l->in_len - p->in_head,
                                    scale, y, e),
              e, "what rank %d sent", l->peer);
    return CC_OK;
}

int cc_lanes_serve(struct cc_lanes *p, uint64_t updates, float *mean, struct cc_error *e)
{
    struct cc_rank_state *s = p->head.s;
    const struct cc_work_timer since = cc_work_begin(s->transport);
    for (size_t i = 0, next; i < p->slices; i = next) {
        const size_t from = cc_lanes_value(p, &p->slice[i]);
        size_t to = from + p->slice[i].count;
        for (next = i + 1; next < p->slices && cc_lanes_value(p, &p->slice[next]) == to; next++)
            to += p->slice[next].count;
        CC_TRY(s->serve(s->serve_arg, s->step, updates, from, to, mean + (from - p->origin), e));
    }
    cc_charge_update(s, since, s->job->training.emulated ? 0 : (double)NAN);
    return CC_OK;
}
