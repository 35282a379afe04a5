/* Opening lanes, their messages each way, and the packs in them. Completed requests are taken once
 * a test; a send that completes lets the queue to that peer go on (send_queue.h). */
#include "netsim/exchange/ps_lanes.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/exchange/data.h"

size_t cc_lanes_value(const struct cc_lanes *p, const struct cc_slice *slice)
{
    return p->s->job->offset[slice->tensor] + slice->begin;
}

/* --- opening --- */

static int make_pack(const struct cc_lanes *p, enum cc_direction direction, int64_t rank,
                     bool decodes_only, const struct cc_slice *slice, size_t slices,
                     struct cc_pack **out, struct cc_error *e)
{
    const struct cc_pack_config config = {.job = p->s->job,
                                          .row = p->s->row,
                                          .sizes = p->s->sizes,
                                          .spec = direction == CC_PULL ? p->s->pull : p->s->spec,
                                          .raw = p->s->raw,
                                          .seed = p->s->job->seed,
                                          .rank = rank,
                                          .direction = direction,
                                          .origin = p->origin,
                                          .decodes_only = decodes_only};
    return cc_rank_pack_make(p->s, &config, slice, slices, out, e);
}

int cc_lanes_pack(const struct cc_lanes *p, enum cc_direction direction, int64_t rank,
                  bool decodes_only, struct cc_pack **out, struct cc_error *e)
{
    return make_pack(p, direction, rank, decodes_only, p->slice, p->slices, out, e);
}

/* MPI counts bytes as ints. */
int cc_lanes_buffer(const struct cc_lanes *p, const struct cc_pack *c, size_t head, uint8_t **out,
                    struct cc_error *e)
{
    size_t bytes = head + cc_pack_bound(c);
    if (bytes > INT_MAX)
        return cc_fail(e,
                       "tensors %zu to %zu: up to %zu bytes to one server, and a message can have "
                       "%d; cut the step into more messages, or take more servers",
                       p->m->first, p->m->last, bytes, INT_MAX);
    int status = cc_data_alloc(p->s->job, bytes, out, e);
    if (*out != NULL)
        memset(*out, 0, bytes);
    return status;
}

int cc_lanes_outbox(const struct cc_lanes *p, const struct cc_pack *c, size_t head, int server,
                    uint8_t **out, struct cc_error *e)
{
    return p->shares ? cc_room_alloc(p->s, (size_t)p->tag, server, cc_pack_bound(c), out, e)
                     : cc_lanes_buffer(p, c, head, out, e);
}

int cc_lanes_inbox(struct cc_lanes *p, size_t lane, const struct cc_pack *c, size_t head,
                   struct cc_error *e)
{
    struct cc_lane *l = &p->lane[lane];
    if (p->s->transport->ops->lends)
        return CC_OK;
    CC_TRY(cc_lanes_buffer(p, c, head, &l->room, e));
    l->in = l->room;
    return CC_OK;
}

int cc_lanes_check_memory(const struct cc_lanes *p, size_t bytes, struct cc_error *e)
{
    return p->s->job->data ? cc_memory_check(bytes, "a server's sums and buffers for pushes", e)
                           : CC_OK;
}

/* The queues are shared by all messages of the row; the first one makes them. */
static int open_queues(struct cc_rank_state *s, struct cc_error *e)
{
    const int peers = s->server ? s->job->workers : s->job->servers;
    if (s->queue == NULL)
        s->queue = cc_alloc0((size_t)peers * sizeof *s->queue, e);
    return s->queue != NULL ? CC_OK : CC_FAIL;
}

static int open_lanes(struct cc_lanes *p, struct cc_rank_state *s, const struct cc_message *m,
                      size_t index, size_t most, struct cc_error *e)
{
    p->s = s;
    p->m = m;
    p->tag = (int)index;
    p->shares = s->shared != NULL && s->job->data && cc_job_bulk(s->job);
    s->queue_users++;
    CC_TRY(open_queues(s, e));
    p->lane = cc_alloc0(most * sizeof *p->lane, e);
    p->finished = cc_alloc(2 * most * sizeof *p->finished, e);
    return p->lane != NULL && p->finished != NULL ? CC_OK : CC_FAIL;
}

/* A worker's lane to a server, if that keeps any of the message. */
static int open_lane(struct cc_lanes *p, int server, struct cc_error *e)
{
    int status = CC_OK;
    struct cc_slice *slice = NULL;
    size_t slices;
    CC_TRY_OUT(cc_kept_slices(p->s->job, p->m, server, &slice, &slices, e));
    if (slices == 0)
        goto out;
    struct cc_lane *l = &p->lane[p->lanes++];
    l->peer = p->s->job->workers + server;
    CC_TRY_OUT(make_pack(p, CC_PUSH, p->s->rank, false, slice, slices, &l->push, e));
    CC_TRY_OUT(make_pack(p, CC_PULL, -1, true, slice, slices, &l->pull, e));
    CC_TRY_OUT(cc_lanes_outbox(p, l->push, p->push_head, l->peer, &l->out, e));
    CC_TRY_OUT(cc_lanes_inbox(p, p->lanes - 1, l->pull, p->pull_head, e));
out:
    free(slice);
    return status;
}

int cc_lanes_open_worker(struct cc_lanes *p, struct cc_rank_state *s, const struct cc_message *m,
                         size_t index, struct cc_error *e)
{
    CC_TRY(open_lanes(p, s, m, index, (size_t)s->job->servers, e));
    for (int i = 0; i < s->job->servers; i++)
        CC_TRY(open_lane(p, i, e));
    return cc_requests_open(s->transport, 2 * p->lanes, &p->requests, e);
}

int cc_lanes_open_server(struct cc_lanes *p, struct cc_rank_state *s, const struct cc_message *m,
                         size_t index, struct cc_error *e)
{
    const size_t workers = (size_t)s->job->workers;
    CC_TRY(open_lanes(p, s, m, index, workers, e));
    CC_TRY(cc_kept_slices(s->job, m, s->rank - s->job->workers, &p->slice, &p->slices, e));
    if (p->slices == 0)
        return CC_OK;
    const struct cc_slice *last = &p->slice[p->slices - 1];
    p->lanes = workers;
    p->origin = cc_lanes_value(p, &p->slice[0]);
    p->values = cc_lanes_value(p, last) + last->count - p->origin;
    for (size_t i = 0; i < p->lanes; i++)
        p->lane[i].peer = (int)i;
    return cc_requests_open(s->transport, 2 * p->lanes, &p->requests, e);
}

static void free_lane(struct cc_lanes *p, size_t i)
{
    const struct cc_lane *l = &p->lane[i];
    const bool last = i + 1 == p->lanes;
    free(l->room);
    if (!p->shares)
        free(l->out);
    if (last || p->lane[i + 1].push != l->push)
        cc_pack_free(l->push);
    if (last || p->lane[i + 1].pull != l->pull)
        cc_pack_free(l->pull);
}

void cc_lanes_close(struct cc_lanes *p)
{
    cc_requests_close(&p->requests);
    for (size_t i = 0; i < p->lanes; i++)
        free_lane(p, i);
    free(p->lane);
    free(p->finished);
    free(p->slice);
    if (p->s != NULL && --p->s->queue_users == 0) {
        free(p->s->queue);
        p->s->queue = NULL;
    }
}

/* --- messages --- */

int cc_lanes_receive(struct cc_lanes *p, size_t lane, const struct cc_pack *c, size_t head,
                     struct cc_error *e)
{
    struct cc_lane *l = &p->lane[lane];
    l->here = false;
    p->pending++;
    const struct cc_parcel parcel = {
        .at = l->room, .bytes = head + cc_pack_bound(c), .peer = l->peer, .tag = p->tag};
    return cc_requests_receive(&p->requests, lane, &parcel, e);
}

static struct cc_send_queue *queue_to(const struct cc_lanes *p, const struct cc_lane *l)
{
    return &p->s->queue[p->s->server ? l->peer : l->peer - p->s->job->workers];
}

int cc_lanes_send(struct cc_lanes *p, size_t lane, const uint8_t *bytes, size_t len,
                  struct cc_error *e)
{
    const struct cc_job *job = p->s->job;
    struct cc_lane *l = &p->lane[lane];
    p->pending++;
    l->sends = true;
    if (cc_job_host(job, l->peer) != cc_job_host(job, p->s->rank)) {
        p->s->counters.sent_bytes += len;
        p->s->counters.messages++;
    }
    /* A message that is sent is only read. */
    l->send = (struct cc_send){.requests = &p->requests,
                               .request = p->lanes + lane,
                               .parcel = {.at = (uint8_t *)(uintptr_t)bytes,
                                          .bytes = len,
                                          .peer = l->peer,
                                          .tag = p->tag,
                                          .head = p->s->server ? p->pull_head : p->push_head,
                                          .payload = p->payload}};
    return cc_send_queue_add(queue_to(p, l), p->s, &l->send, e);
}

int cc_lanes_take(struct cc_lanes *p, int *received, struct cc_error *e)
{
    int count = 0;
    *received = 0;
    if (p->pending == 0)
        return CC_OK;
    if (cc_requests_some(&p->requests, &count, p->finished, e) != CC_OK)
        return CC_FAIL;
    for (int i = 0; i < count; i++) {
        const size_t which = (size_t)p->finished[i];
        p->pending--;
        if (which >= p->lanes) {
            struct cc_lane *l = &p->lane[which - p->lanes];
            l->sends = false;
            CC_TRY(cc_send_queue_done(queue_to(p, l), p->s, &l->send, e));
            continue;
        }
        const size_t bytes = cc_requests_bytes(&p->requests, (size_t)i);
        p->lane[which].in_len = bytes;
        p->lane[which].here = true;
        if (p->s->transport->ops->lends)
            p->lane[which].in = cc_requests_lent(&p->requests, which);
        cc_note_received(p->s, (size_t)p->tag, p->lane[which].peer, bytes);
        p->finished[(*received)++] = (int)which;
    }
    return CC_OK;
}

/* --- packs --- */

int cc_lanes_encode(struct cc_lanes *p, struct cc_pack *c, const float *x, enum cc_phase phase,
                    size_t head, uint8_t *out, size_t *len, struct cc_error *e)
{
    struct cc_counters *t = &p->s->counters;
    size_t pack_head;
    const struct cc_work_timer since = cc_work_begin(p->s->transport);
    int status = cc_pack_encode(c, p->s->step, x, CC_OFFSET_OR_NULL(out, head), len, &pack_head, e);
    cc_charge(p->s, phase, since, cc_pack_cost(c, CC_PACK_ENCODE));
    if (status == CC_OK && !p->silent) {
        p->payload = *len - pack_head;
        t->payload_bytes += p->payload;
        t->head_bytes += head + pack_head;
        if (t->tensor_bytes != NULL)
            cc_pack_count(c, t->tensor_bytes);
    }
    *len += head;
    return status;
}

int cc_lanes_decode_add(struct cc_lanes *p, const struct cc_pack *c, const struct cc_lane *from,
                        size_t head, float scale, float *y, enum cc_phase phase, struct cc_error *e)
{
    const enum cc_pack_op op = p->s->server ? CC_PACK_ADD : CC_PACK_DECODE;
    const struct cc_work_timer since = cc_work_begin(p->s->transport);
    int status = cc_pack_decode_add(c, p->s->step, CC_OFFSET_OR_NULL(from->in, head),
                                    from->in_len - head, scale, y, e);
    cc_charge(p->s, phase, since, cc_pack_cost(c, op));
    if (status != CC_OK)
        cc_error_in(e, "what rank %d sent", from->peer);
    return status;
}

int cc_lanes_serve(struct cc_lanes *p, uint64_t updates, float *mean, struct cc_error *e)
{
    const struct cc_rank_state *s = p->s;
    const struct cc_work_timer since = cc_work_begin(s->transport);
    for (size_t i = 0, next; i < p->slices; i = next) {
        const size_t from = cc_lanes_value(p, &p->slice[i]);
        size_t to = from + p->slice[i].count;
        for (next = i + 1; next < p->slices && cc_lanes_value(p, &p->slice[next]) == to; next++)
            to += p->slice[next].count;
        CC_TRY(s->serve(s->serve_arg, s->step, updates, from, to, mean + (from - p->origin), e));
    }
    cc_charge_update(p->s, since, s->job->training.emulated ? 0 : (double)NAN);
    return CC_OK;
}
