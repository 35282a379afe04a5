/* ps: parameter servers (Li et al., Scaling Distributed Machine Learning with the Parameter Server,
 * OSDI 2014), with shared compression of the pull (Lim et al., 3LC, MLSys 2019, section 3).
 *
 * Each server keeps some tensors, or its part of tensors that are cut over all servers. A worker
 * encodes its part of a message for every server that keeps any of it (the push), and sends it; the
 * server adds the workers' pushes in the order of the ranks, encodes the mean once (the pull), and
 * sends the same bytes to all workers, which decode them onto their models.
 *
 * A lane is the path to one peer: a worker has one for each server that keeps a part of the
 * message, a server has one for each worker. A worker's lane has packs of its own for push and
 * pull; a server's lanes share one of each, and the encoded pull. One MPI message each way: a push
 * or a pull is not cut into blocks. Those to one peer leave in order (send_queue.h). The server
 * posts receives for all pushes at once, but adds one per test, so that other messages make
 * progress.
 *
 * Pulls leave when they are ready, or, where the job orders them forward, once all messages of the
 * step are summed: those of the first layers first, as the next forward pass needs them. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/mpi/exchange/exchange.h"
#include "netsim/mpi/exchange/message_pack.h"
#include "netsim/mpi/exchange/send_queue.h"
#include "netsim/mpi/runtime/data.h"
#include "netsim/mpi/runtime/mpi_check.h"

struct lane {
    int peer;
    uint8_t *in;
    size_t in_len;
    bool here; /* this step's push, or pull, has arrived */
    /* In a server, all lanes use those of lane 0. */
    struct cc_pack *push, *pull;
    uint8_t *out;
    struct cc_send send; /* of this step */
};

struct ps {
    struct cc_rank_state *s;
    const struct cc_job_message *m;
    int tag;
    struct lane *lane;
    size_t lanes;
    struct cc_requests requests; /* the receives of lane 0, 1, ..., then the sends */
    int *finished;               /* indices of complete requests: room for 2 * lanes */
    size_t pending;              /* requests that are not complete */
    bool silent;                 /* this step sends nothing */

    /* Servers only: */
    struct cc_slice *slice;
    size_t slices, origin;
    float *sum;   /* from value `origin` of the step on; NULL without data */
    size_t added; /* pushes in the sum */
    size_t out_len;
    bool arrived, pulled; /* in this step: all pushes are in the sum; the pull has been sent */
};

static size_t first_value(const struct ps *p, const struct cc_slice *slice)
{
    return p->s->job->offset[slice->tensor] + slice->begin;
}

/* --- opening --- */

static int make_pack(const struct ps *p, enum cc_direction direction, bool decodes_only,
                     const struct cc_slice *slice, size_t slices, struct cc_pack **out,
                     struct cc_error *e)
{
    const struct cc_pack_config config = {.job = p->s->job,
                                          .row = p->s->row,
                                          .sizes = p->s->sizes,
                                          .spec = direction == CC_PULL ? p->s->pull : p->s->spec,
                                          .raw = p->s->raw,
                                          .seed = p->s->job->seed,
                                          .rank = direction == CC_PULL || p->s->server ? -1
                                                                                       : p->s->rank,
                                          .direction = direction,
                                          .origin = p->origin,
                                          .decodes_only = decodes_only};
    return cc_rank_pack_make(p->s, &config, slice, slices, out, e);
}

/* A zeroed buffer for a pack. MPI counts bytes as ints. */
static int alloc_buffer(const struct ps *p, const struct cc_pack *c, uint8_t **out,
                        struct cc_error *e)
{
    size_t bytes = cc_pack_bound(c);
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

static int open_lanes(struct ps *p, size_t most, struct cc_error *e)
{
    p->lane = cc_alloc0(most * sizeof *p->lane, e);
    p->finished = cc_alloc(2 * most * sizeof *p->finished, e);
    return p->lane != NULL && p->finished != NULL ? CC_OK : CC_FAIL;
}

/* A worker's lane to a server, if that keeps any of the message. */
static int open_lane(struct ps *p, int server, struct cc_error *e)
{
    int status = CC_OK;
    struct cc_slice *slice = NULL;
    size_t slices;
    CC_TRY_OUT(cc_kept_slices(p->s->job, p->m, server, &slice, &slices, e));
    if (slices == 0)
        goto out;
    struct lane *l = &p->lane[p->lanes++];
    l->peer = p->s->job->workers + server;
    CC_TRY_OUT(make_pack(p, CC_PUSH, false, slice, slices, &l->push, e));
    CC_TRY_OUT(make_pack(p, CC_PULL, true, slice, slices, &l->pull, e));
    CC_TRY_OUT(alloc_buffer(p, l->push, &l->out, e));
    CC_TRY_OUT(alloc_buffer(p, l->pull, &l->in, e));
out:
    free(slice);
    return status;
}

static int open_worker(struct ps *p, struct cc_error *e)
{
    CC_TRY(open_lanes(p, (size_t)p->s->job->servers, e));
    for (int i = 0; i < p->s->job->servers; i++)
        CC_TRY(open_lane(p, i, e));
    return cc_requests_open(&p->s->waits, 2 * p->lanes, &p->requests, e);
}

/* Allocates the sum, and a buffer for each worker's push, so that all pushes can be under way.
 * Zeroing them takes their memory now: servers on the same host, and further messages, see what is
 * left. */
static int alloc_server_buffers(struct ps *p, struct cc_error *e)
{
    const struct cc_slice *last = &p->slice[p->slices - 1];
    size_t values = first_value(p, last) + last->count - p->origin, bytes;
    if (!cc_mul(p->lanes, cc_pack_bound(p->lane[0].push), &bytes))
        return cc_fail(e, "buffers for the pushes of %zu workers", p->lanes);
    if (p->s->job->data && cc_memory_check(bytes + values * sizeof(float),
                                           "a server's sums and buffers for pushes", e) != CC_OK)
        return CC_FAIL;
    if (p->s->job->data && (p->sum = cc_alloc0(values * sizeof *p->sum, e)) == NULL)
        return CC_FAIL;
    CC_TRY(alloc_buffer(p, p->lane[0].pull, &p->lane[0].out, e));
    for (size_t k = 0; k < p->lanes; k++)
        CC_TRY(alloc_buffer(p, p->lane[0].push, &p->lane[k].in, e));
    return CC_OK;
}

static int open_server(struct ps *p, struct cc_error *e)
{
    const struct cc_job *job = p->s->job;
    CC_TRY(open_lanes(p, (size_t)job->workers, e));
    CC_TRY(cc_kept_slices(job, p->m, p->s->rank - job->workers, &p->slice, &p->slices, e));
    if (p->slices == 0)
        return CC_OK;
    p->lanes = (size_t)job->workers;
    p->origin = first_value(p, &p->slice[0]);
    for (size_t i = 0; i < p->lanes; i++)
        p->lane[i].peer = (int)i;
    struct lane *own = &p->lane[0];
    CC_TRY(make_pack(p, CC_PUSH, true, p->slice, p->slices, &own->push, e));
    CC_TRY(make_pack(p, CC_PULL, false, p->slice, p->slices, &own->pull, e));
    CC_TRY(cc_requests_open(&p->s->waits, 2 * p->lanes, &p->requests, e));
    return alloc_server_buffers(p, e);
}

static void ps_close(void *x)
{
    struct ps *p = x;
    cc_requests_close(&p->requests);
    for (size_t i = 0; i < p->lanes; i++) {
        free(p->lane[i].in);
        free(p->lane[i].out);
        cc_pack_free(p->lane[i].push);
        cc_pack_free(p->lane[i].pull);
    }
    free(p->lane);
    free(p->finished);
    free(p->slice);
    free(p->sum);
    if (--p->s->queue_users == 0) {
        free(p->s->queue);
        p->s->queue = NULL;
    }
    free(p);
}

/* The queues are shared by all messages of the row; the first one makes them. */
static int open_queues(struct cc_rank_state *s, struct cc_error *e)
{
    const int peers = s->server ? s->job->workers : s->job->servers;
    if (s->queue == NULL)
        s->queue = cc_alloc0((size_t)peers * sizeof *s->queue, e);
    return s->queue != NULL ? CC_OK : CC_FAIL;
}

static int ps_open(struct cc_rank_state *s, const struct cc_job_message *m, size_t index,
                   void **out, struct cc_error *e)
{
    struct ps *p = cc_alloc0(sizeof *p, e);
    if (p == NULL)
        return CC_FAIL;
    p->s = s;
    p->m = m;
    p->tag = (int)index;
    s->queue_users++;
    int status = open_queues(s, e);
    if (status == CC_OK)
        status = s->server ? open_server(p, e) : open_worker(p, e);
    if (status == CC_OK)
        *out = p;
    else
        ps_close(p);
    return status;
}

/* --- both --- */

static int receive(struct ps *p, size_t i, const struct cc_pack *c, struct cc_error *e)
{
    struct lane *l = &p->lane[i];
    l->here = false;
    p->pending++;
    return cc_mpi_check(MPI_Irecv(cc_mpi_buffer(l->in), (int)cc_pack_bound(c), MPI_BYTE, l->peer,
                                  p->tag, p->s->comm, &p->requests.request[i]),
                        "MPI_Irecv", e);
}

static struct cc_send_queue *queue_to(const struct ps *p, const struct lane *l)
{
    return &p->s->queue[p->s->server ? l->peer : l->peer - p->s->job->workers];
}

static int send(struct ps *p, size_t i, const uint8_t *bytes, size_t len, struct cc_error *e)
{
    const struct cc_job *job = p->s->job;
    struct lane *l = &p->lane[i];
    p->pending++;
    if (cc_job_host(job, l->peer) != cc_job_host(job, p->s->rank)) {
        p->s->counters.sent_bytes += len;
        p->s->counters.messages++;
    }
    l->send = (struct cc_send){.request = &p->requests.request[p->lanes + i],
                               .bytes = bytes,
                               .len = len,
                               .peer = l->peer,
                               .tag = p->tag};
    return cc_send_queue_add(queue_to(p, l), p->s, &l->send, e);
}

/* Takes note of completed requests; *received: how many receives stand at the front of p->finished.
 */
static int take_complete(struct ps *p, int *received, struct cc_error *e)
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
            const struct lane *l = &p->lane[which - p->lanes];
            CC_TRY(cc_send_queue_done(queue_to(p, l), p->s, &l->send, e));
            continue;
        }
        int bytes;
        (void)MPI_Get_count(&p->requests.status[i], MPI_BYTE, &bytes);
        p->lane[which].in_len = (size_t)bytes;
        p->lane[which].here = true;
        cc_note_received(p->s, (size_t)p->tag, p->lane[which].peer, (size_t)bytes);
        p->finished[(*received)++] = (int)which;
    }
    return CC_OK;
}

/* Encodes, and counts unless the step is silent: then only the residual grows. */
static int encode(struct ps *p, struct cc_pack *c, const float *x, enum cc_phase phase,
                  uint8_t *out, size_t *len, struct cc_error *e)
{
    struct cc_counters *t = &p->s->counters;
    size_t head;
    const struct cc_work_timer since = cc_work_begin();
    int status = cc_pack_encode(c, p->s->step, x, out, len, &head, e);
    cc_charge(p->s, phase, since, cc_pack_cost(c, CC_PACK_ENCODE));
    if (status != CC_OK || p->silent)
        return status;
    t->payload_bytes += *len - head;
    t->head_bytes += head;
    if (t->tensor_bytes != NULL)
        cc_pack_count(c, t->tensor_bytes);
    return CC_OK;
}

static int decode_add(struct ps *p, const struct cc_pack *c, const struct lane *from, float scale,
                      float *y, enum cc_phase phase, struct cc_error *e)
{
    const enum cc_pack_op op = p->s->server ? CC_PACK_ADD : CC_PACK_DECODE;
    const struct cc_work_timer since = cc_work_begin();
    int status = cc_pack_decode_add(c, p->s->step, from->in, from->in_len, scale, y, e);
    cc_charge(p->s, phase, since, cc_pack_cost(c, op));
    if (status != CC_OK)
        cc_error_in(e, "what rank %d sent", from->peer);
    return status;
}

/* --- workers --- */

static int start_worker(struct ps *p, struct cc_error *e)
{
    for (size_t i = 0; i < p->lanes && !p->silent; i++)
        CC_TRY(receive(p, i, p->lane[i].pull, e));
    for (size_t i = 0; i < p->lanes; i++) {
        struct lane *l = &p->lane[i];
        size_t len;
        CC_TRY(encode(p, l->push, p->s->gradient, CC_PHASE_ENCODE, l->out, &len, e));
        if (!p->silent)
            CC_TRY(send(p, i, l->out, len, e));
    }
    return CC_OK;
}

static int test_worker(struct ps *p, bool *done, struct cc_error *e)
{
    int received;
    CC_TRY(take_complete(p, &received, e));
    for (int i = 0; i < received; i++) {
        const struct lane *l = &p->lane[p->finished[i]];
        CC_TRY(decode_add(p, l->pull, l, 1, p->s->model, CC_PHASE_DECODE, e));
    }
    *done = p->pending == 0;
    return CC_OK;
}

/* --- servers --- */

static int start_server(struct ps *p, struct cc_error *e)
{
    p->added = 0;
    p->arrived = p->pulled = false;
    if (p->silent)
        return CC_OK;
    for (size_t i = 0; i < p->slices && p->sum != NULL; i++)
        memset(p->sum + (first_value(p, &p->slice[i]) - p->origin), 0,
               p->slice[i].count * sizeof *p->sum);
    for (size_t i = 0; i < p->lanes; i++)
        CC_TRY(receive(p, i, p->lane[0].push, e));
    return CC_OK;
}

/* Adds the next push in the order of ranks, if it is there. */
static int add_next(struct ps *p, struct cc_error *e)
{
    const struct lane *own = &p->lane[0];
    if (p->added == p->lanes || !p->lane[p->added].here)
        return CC_OK;
    const float scale = (float)(1.0 / p->s->job->workers);
    p->s->waits.more = true;
    return decode_add(p, own->push, &p->lane[p->added++], scale, p->sum, CC_PHASE_SERVER, e);
}

/* Has the mean turned into what the workers pull, one range of values after the other. */
static int serve(struct ps *p, struct cc_error *e)
{
    const struct cc_rank_state *s = p->s;
    const struct cc_work_timer since = cc_work_begin();
    for (size_t i = 0, next; i < p->slices; i = next) {
        const size_t from = first_value(p, &p->slice[i]);
        size_t to = from + p->slice[i].count;
        for (next = i + 1; next < p->slices && first_value(p, &p->slice[next]) == to; next++)
            to += p->slice[next].count;
        CC_TRY(s->serve(s->serve_arg, s->step, from, to, p->sum + (from - p->origin), e));
    }
    cc_charge_update(p->s, since, s->job->training.emulated ? 0 : (double)NAN);
    return CC_OK;
}

/* All pushes are in the sum: encodes the pull. */
static int end_pushes(struct ps *p, struct cc_error *e)
{
    const struct lane *own = &p->lane[0];
    p->arrived = p->s->waits.more = true;
    p->s->round_state.arrived++;
    if (p->lanes == 0 || p->silent)
        return CC_OK;
    if (p->s->serve != NULL)
        CC_TRY(serve(p, e));
    return encode(p, own->pull, p->sum, CC_PHASE_SERVER, own->out, &p->out_len, e);
}

/* Whether the pull may leave: forward pulls wait for all pushes of the step, and for the pulls of
 * the layers before theirs. */
static bool may_pull(const struct ps *p)
{
    const size_t messages = p->s->row->messages;
    return p->s->job->pulls == CC_PULL_READY ||
           (p->s->round_state.arrived == messages &&
            p->s->round_state.pulled == messages - 1 - (size_t)p->tag);
}

static int send_pull(struct ps *p, struct cc_error *e)
{
    p->pulled = p->s->waits.more = true;
    if (++p->s->round_state.pulled == p->s->row->messages)
        p->s->round_state.arrived = p->s->round_state.pulled = 0;
    for (size_t i = 0; i < p->lanes && !p->silent; i++)
        CC_TRY(send(p, i, p->lane[0].out, p->out_len, e));
    return CC_OK;
}

static int test_server(struct ps *p, bool *done, struct cc_error *e)
{
    int received;
    CC_TRY(take_complete(p, &received, e));
    if (!p->silent)
        CC_TRY(add_next(p, e));
    if (!p->arrived && (p->silent || p->added == p->lanes))
        CC_TRY(end_pushes(p, e));
    if (p->arrived && !p->pulled && may_pull(p))
        CC_TRY(send_pull(p, e));
    *done = p->pulled && p->pending == 0;
    return CC_OK;
}

/* --- operations --- */

static int ps_start(void *x, struct cc_error *e)
{
    struct ps *p = x;
    p->silent = cc_silent(p->s, p->m);
    return p->s->server ? start_server(p, e) : start_worker(p, e);
}

static int ps_test(void *x, bool *done, struct cc_error *e)
{
    struct ps *p = x;
    return p->s->server ? test_server(p, done, e) : test_worker(p, done, e);
}

const struct cc_exchange_ops cc_exchange_ops_ps = {
    .open = ps_open, .start = ps_start, .test = ps_test, .close = ps_close};
