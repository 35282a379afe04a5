/* Payloads that must be decoded to be added: at every hop, what comes is decoded onto what is
 * there, and the sum is encoded before it goes on. The whole sum of a chunk is encoded by one rank,
 * and that payload goes to all the others as it is, so that all decode the same. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "netsim/mpi/runtime/data.h"
#include "netsim/mpi/exchange/chunks.h"
#include "netsim/mpi/exchange/block_stream.h"
#include "netsim/mpi/exchange/reduction.h"

/* A message is a u64, the bytes that follow, and a crate; or, if it is of several chunks that are
 * only passed on, the crates of all, each after its own such number. */

struct chunk {
    const uint8_t *at; /* its payload, once it is here; NULL without data */
    size_t len;
    bool here, applied;
};

struct round_state {
    struct cc_range sent;    /* values */
    struct cc_pack *encoder; /* of partial sums that it sends; NULL */
    struct cc_pack *decoder; /* of those that come; NULL */
    bool first;              /* the first encoding of these values */
    uint8_t *out, *in;       /* in: of its own only in the rounds that pass on */
    size_t out_room, in_room;
    struct cc_transfer send, recv;
};

struct hops {
    const struct cc_reduction_ops *way;
    struct cc_rank_state *rank_state;
    const struct cc_job_message *message;
    struct cc_schedule plan;
    struct cc_range range;
    struct cc_chunks *all;
    struct chunk *chunk; /* of all, in this step */
    struct round_state *round_state;
    struct cc_pack *owner; /* encodes the chunk that is its own; NULL */
    bool owner_first;
    uint8_t *own;        /* what it made of it, after its size */
    uint8_t *partial[2]; /* where partial sums come in, in turns */
    float *sum;          /* of the range: own values and those that came; NULL without data */
    bool begun;          /* sum has the own values */
    size_t at;           /* the turn */
    struct cc_block_stream out, in;
    bool over;
};

/* --- encoding, adding, decoding --- */

static const float *values_of(const struct hops *x)
{
    return x->begun ? x->sum : CC_OFFSET_OR_NULL(x->rank_state->gradient, x->range.from);
}

static void put_size(uint8_t *out, size_t bytes)
{
    if (out != NULL)
        cc_put_u64(out, bytes);
}

static int encode(struct hops *x, struct cc_pack *c, bool first, uint8_t *out, size_t *len,
                  struct cc_error *e)
{
    const enum cc_phase phase = x->begun ? CC_PHASE_HOP : CC_PHASE_ENCODE;
    int status = cc_reduction_encode(x->rank_state, c, values_of(x), phase, first,
                                     CC_OFFSET_OR_NULL(out, CC_SIZE_BYTES), len, e);
    if (status == CC_OK)
        put_size(out, *len);
    return status;
}

/* The own values, before the first addition to them. */
static void begin_sum(struct hops *x)
{
    if (!x->begun && x->sum != NULL)
        memcpy(x->sum, x->rank_state->gradient + x->range.from,
               (x->range.to - x->range.from) * sizeof *x->sum);
    x->begun = true;
}

/* A partial sum has come. Where the same values went the other way at the same time, both sides add
 * what they sent, as the other decodes it, in the same order. */
static int add(struct hops *x, const struct round_state *t, const struct cc_round *r,
               struct cc_error *e)
{
    const uint64_t step = x->rank_state->step;
    const uint8_t *came = CC_OFFSET_OR_NULL(t->recv.at, CC_SIZE_BYTES);
    const size_t n = t->recv.bytes - CC_SIZE_BYTES;
    const struct cc_work_timer since = cc_work_begin();
    double cost_s = cc_pack_cost(t->decoder, CC_PACK_ADD);
    int status;
    if (r->sends > 0 && r->send == r->recv) {
        const uint8_t *mine = CC_OFFSET_OR_NULL(t->out, CC_SIZE_BYTES),
                      *low = r->upper ? came : mine;
        const uint8_t *high = r->upper ? mine : came;
        const size_t m = t->send.bytes - CC_SIZE_BYTES;
        x->begun = true;
        cost_s += cc_pack_cost(t->decoder, CC_PACK_DECODE);
        status = cc_pack_decode(t->decoder, step, low, r->upper ? n : m, x->sum, e);
        if (status == CC_OK)
            status = cc_pack_decode_add(t->decoder, step, high, r->upper ? m : n, 1, x->sum, e);
    } else {
        begin_sum(x);
        status = cc_pack_decode_add(t->decoder, step, came, n, 1, x->sum, e);
    }
    cc_charge(x->rank_state, CC_PHASE_HOP, since, cost_s);
    return status;
}

/* Decodes the chunks whose payloads are here onto the model. */
static int apply(struct hops *x, size_t first, size_t count, struct cc_error *e)
{
    struct cc_rank_state *s = x->rank_state;
    const struct cc_work_timer since = cc_work_begin();
    float *model = CC_OFFSET_OR_NULL(s->model, x->range.from);
    double cost_s = 0;
    int status = CC_OK;
    for (size_t i = first; i < first + count && status == CC_OK; i++) {
        struct chunk *c = &x->chunk[i];
        const struct cc_chunk *k = &x->all->chunk[i];
        if (!c->here || c->applied || k->bound == 0)
            continue;
        c->applied = true;
        cost_s += cc_pack_cost(k->decoder, CC_PACK_DECODE);
        status = cc_pack_decode_add(k->decoder, s->step, c->at, c->len,
                                    1.0f / (float)s->job->workers, model, e);
    }
    cc_charge(s, CC_PHASE_DECODE, since, cost_s);
    return status;
}

/* --- rounds --- */

/* How long the payload of chunk i is, which comes at `at` of a message, after that number. */
static uint64_t length_at(const struct hops *x, const struct round_state *t, size_t at, size_t i)
{
    return t->recv.at != NULL ? cc_get_u64(t->recv.at + at)
                              : cc_chunks_bytes(x->all, x->rank_state->step)[i];
}

/* Without data: what comes in turn k. */
static size_t to_come(const struct hops *x, size_t k)
{
    const struct cc_round *r = &x->plan.round[k];
    const uint64_t step = x->rank_state->step;
    if (x->round_state[k].decoder != NULL)
        return CC_SIZE_BYTES + cc_pack_size(x->round_state[k].decoder, r->from, step);
    const size_t *sent = cc_chunks_bytes(x->all, step);
    size_t bytes = r->recvs == 1 ? 0 : CC_SIZE_BYTES;
    for (size_t i = r->recv; i < r->recv + r->recvs; i++)
        bytes += CC_SIZE_BYTES + sent[i];
    return bytes;
}

/* Finds the payloads in a message of whole sums. */
static int keep(struct hops *x, const struct round_state *t, const struct cc_round *r,
                struct cc_error *e)
{
    size_t at = r->recvs == 1 ? 0 : CC_SIZE_BYTES;
    for (size_t i = r->recv; i < r->recv + r->recvs; i++) {
        const size_t left = t->recv.bytes - at;
        uint64_t n = left >= CC_SIZE_BYTES ? length_at(x, t, at, i) : 0;
        if (left < CC_SIZE_BYTES || n > left - CC_SIZE_BYTES)
            return cc_fail(e, "the message ends within chunk %zu", i);
        at += CC_SIZE_BYTES;
        x->chunk[i].at = CC_OFFSET_OR_NULL(t->recv.at, at);
        x->chunk[i].len = n;
        x->chunk[i].here = true;
        at += n;
    }
    return CC_OK;
}

/* Gathers several payloads in one message; one stands behind its size already. */
static size_t pass_on(const struct hops *x, struct round_state *t, const struct cc_round *r)
{
    size_t at = CC_SIZE_BYTES;
    if (r->sends == 1) {
        const struct chunk *c = &x->chunk[r->send];
        if (c->at != NULL)
            memcpy(&t->send.at, &(const uint8_t *){c->at - CC_SIZE_BYTES}, sizeof t->send.at);
        return CC_SIZE_BYTES + c->len;
    }
    for (size_t i = r->send; i < r->send + r->sends; i++) {
        const struct chunk *c = &x->chunk[i];
        put_size(CC_OFFSET_OR_NULL(t->out, at), c->len);
        if (c->len > 0 && c->at != NULL)
            memcpy(t->out + at + CC_SIZE_BYTES, c->at, c->len);
        at += CC_SIZE_BYTES + c->len;
    }
    put_size(t->out, at - CC_SIZE_BYTES);
    t->send.at = t->out;
    return at;
}

static void post(struct hops *x, size_t k)
{
    if (k >= x->plan.rounds)
        return;
    struct round_state *t = &x->round_state[k];
    const struct cc_round *r = &x->plan.round[k];
    const bool known = !x->rank_state->job->data && t->in_room > 0;
    const size_t bytes = known ? to_come(x, k) : t->in_room;
    t->recv = (struct cc_transfer){.peer = r->from,
                                   .at = t->in != NULL ? t->in : x->partial[k % 2],
                                   .bytes = bytes,
                                   .ready = bytes,
                                   .sized = bytes > 0,
                                   .needs_clear = r->needs_clear};
    cc_block_stream_add(&x->in, &t->recv);
}

/* Encodes the sum that is its own. */
static int finish_own(struct hops *x, struct cc_error *e)
{
    struct chunk *c = &x->chunk[x->plan.own];
    if (x->owner == NULL || x->at != x->plan.reduces)
        return CC_OK;
    c->at = CC_OFFSET_OR_NULL(x->own, CC_SIZE_BYTES);
    c->here = true;
    return encode(x, x->owner, x->owner_first, x->own, &c->len, e);
}

/* Sends what the turn sends. Its receive was posted with the turn before; now the next one's is. */
static int begin_turn(struct hops *x, struct cc_error *e)
{
    int status = finish_own(x, e);
    if (status != CC_OK || x->at == x->plan.rounds)
        return status;
    struct round_state *t = &x->round_state[x->at];
    const struct cc_round *r = &x->plan.round[x->at];
    t->send = (struct cc_transfer){
        .peer = r->to, .at = t->out, .sized = true, .needs_clear = r->needs_clear};
    if (t->encoder != NULL) {
        size_t n;
        status = encode(x, t->encoder, t->first, t->out, &n, e);
        if (status != CC_OK)
            return status;
        t->send.bytes = CC_SIZE_BYTES + n;
    } else if (t->out_room > 0) {
        t->send.bytes = pass_on(x, t, r);
    }
    t->send.ready = t->send.bytes;
    cc_block_stream_add(&x->out, &t->send);
    post(x, x->at + 1);
    return CC_OK;
}

static int go(struct hops *x, bool *moved, struct cc_error *e)
{
    int status = cc_block_stream_go(&x->in, moved, e);
    return status == CC_OK ? cc_block_stream_go(&x->out, moved, e) : status;
}

/* The turn's message is here: on to the next turn, and then, while that is under way, what is known
 * goes onto the model. */
static int end_turn(struct hops *x, struct cc_error *e)
{
    const struct round_state *t = &x->round_state[x->at];
    const struct cc_round *r = &x->plan.round[x->at];
    const bool reduces = x->at < x->plan.reduces;
    bool moved;
    int status = CC_OK;
    if (t->in_room > 0)
        status = reduces ? add(x, t, r, e) : keep(x, t, r, e);
    if (status != CC_OK) {
        cc_error_in(e, "from rank %d", r->from);
        return status;
    }
    x->at++;
    status = begin_turn(x, e);
    if (status == CC_OK)
        status = go(x, &moved, e);
    if (status == CC_OK && x->at == x->plan.reduces && x->owner != NULL)
        status = apply(x, x->plan.own, 1, e);
    if (status == CC_OK && !reduces)
        status = apply(x, r->recv, r->recvs, e);
    return status;
}

/* Sums that all have alike without encoding them once more. No codec: rows with costs have none for
 * it. */
static void apply_sum(struct hops *x)
{
    const struct cc_work_timer since = cc_work_begin();
    const float scale = 1.0f / (float)x->rank_state->job->workers;
    float *y = CC_OFFSET_OR_NULL(x->rank_state->model, x->range.from);
    for (size_t i = 0; y != NULL && i < x->range.to - x->range.from; i++)
        y[i] = cc_add_scaled(y[i], scale, x->sum[i]);
    cc_charge(x->rank_state, CC_PHASE_DECODE, since,
              x->rank_state->row->cost != NULL ? 0 : (double)NAN);
}

static int hops_test(void *of, bool *done, struct cc_error *e)
{
    struct hops *x = of;
    bool moved = !x->over;
    while (moved) {
        moved = false;
        int status = go(x, &moved, e);
        if (status == CC_OK && x->at < x->plan.rounds &&
            cc_transfer_complete(&x->round_state[x->at].recv)) {
            status = end_turn(x, e);
            moved = true;
        }
        if (status != CC_OK)
            return status;
    }
    if (!x->over && x->at == x->plan.rounds && cc_block_stream_idle(&x->out)) {
        x->over = true;
        if (!x->plan.owns && x->plan.reduces == x->plan.rounds)
            apply_sum(x);
    }
    *done = x->over;
    return CC_OK;
}

/* Encodes each of the own values once. */
static int start_quiet(struct hops *x, struct cc_error *e)
{
    int status = CC_OK;
    size_t n;
    for (size_t k = 0; k < x->plan.reduces && status == CC_OK; k++)
        if (x->round_state[k].encoder != NULL && x->round_state[k].first)
            status = encode(x, x->round_state[k].encoder, true, x->round_state[k].out, &n, e);
    if (status == CC_OK && x->owner != NULL && x->owner_first)
        status = encode(x, x->owner, true, x->own, &n, e);
    x->over = true;
    return status;
}

static int hops_start(void *of, struct cc_error *e)
{
    struct hops *x = of;
    bool moved;
    x->at = 0;
    x->begun = false;
    if (cc_silent(x->rank_state, x->message))
        return start_quiet(x, e);
    x->over = false;
    for (size_t i = 0; i < x->plan.chunks; i++) {
        x->chunk[i].at = NULL;
        x->chunk[i].len = 0;
        x->chunk[i].here = x->chunk[i].applied = false;
    }
    post(x, 0);
    int status = begin_turn(x, e);
    if (status == CC_OK)
        status = go(x, &moved, e);
    if (status == CC_OK && x->plan.reduces == 0 && x->owner != NULL)
        status = apply(x, x->plan.own, 1, e);
    return status;
}

/* --- making --- */

static struct cc_range range_of(const struct hops *x, size_t first, size_t count)
{
    return cc_chunks_range(x->range, x->plan.chunks, first, count);
}

static bool empty(struct cc_range r)
{
    return r.from == r.to;
}

/* `of`: how many workers' gradients what is encoded is the sum of. */
static int make_coder(const struct hops *x, struct cc_range r, int64_t who, uint64_t salt, int of,
                      bool decodes_only, struct cc_pack **out, struct cc_error *e)
{
    const struct cc_pack_config config = {.seed = x->rank_state->job->seed + salt,
                                          .rank = who,
                                          .workers = of,
                                          .decodes_only = decodes_only};
    return cc_reduction_pack(x->rank_state, r, x->range.from, config, out, e);
}

/* A round in which partial sums move. */
static int make_reducing(struct hops *x, size_t k, size_t *most, struct cc_error *e)
{
    const struct cc_round *r = &x->plan.round[k];
    struct round_state *t = &x->round_state[k];
    const struct cc_range out = range_of(x, r->send, r->sends), in = range_of(x, r->recv, r->recvs);
    int status = CC_OK;
    t->first = true;
    for (size_t j = 0; j < k; j++)
        t->first &= x->round_state[j].sent.to <= out.from || x->round_state[j].sent.from >= out.to;
    t->sent = out;
    if (!empty(out)) {
        status = make_coder(x, out, r->who, r->salt, r->sent_of, false, &t->encoder, e);
        if (status != CC_OK)
            return status;
        t->out_room = CC_SIZE_BYTES + cc_pack_bound(t->encoder);
        status = cc_data_alloc(x->rank_state->job, t->out_room, &t->out, e);
    }
    if (!empty(in) && status == CC_OK) {
        status = make_coder(x, in, r->who, r->salt, r->come_of, true, &t->decoder, e);
        if (status != CC_OK)
            return status;
        t->in_room = CC_SIZE_BYTES + cc_pack_bound(t->decoder);
        *most = t->in_room > *most ? t->in_room : *most;
    }
    return status;
}

/* The room for a message of whole sums; none if there are no values. */
static size_t room_of(const struct hops *x, size_t first, size_t count)
{
    size_t bytes = count == 1 ? 0 : CC_SIZE_BYTES;
    if (empty(range_of(x, first, count)))
        return 0;
    for (size_t i = first; i < first + count; i++)
        bytes += CC_SIZE_BYTES + x->all->chunk[i].bound;
    return bytes;
}

/* A round in which whole sums are passed on. */
static int make_passing(struct hops *x, size_t k, struct cc_error *e)
{
    const struct cc_round *r = &x->plan.round[k];
    struct round_state *t = &x->round_state[k];
    t->out_room = room_of(x, r->send, r->sends);
    t->in_room = room_of(x, r->recv, r->recvs);
    int status = CC_OK;
    if (t->in_room > 0)
        status = cc_data_alloc(x->rank_state->job, t->in_room, &t->in, e);
    if (t->out_room > 0 && r->sends > 1 && status == CC_OK)
        status = cc_data_alloc(x->rank_state->job, t->out_room, &t->out, e);
    return status;
}

static int make_chunks(struct hops *x, struct cc_error *e)
{
    x->chunk = cc_alloc0(x->plan.chunks * sizeof *x->chunk, e);
    return x->chunk != NULL ? cc_chunks_open(x->rank_state, x->message, &x->plan, &x->all, e)
                            : CC_FAIL;
}

static int make_owner(struct hops *x, struct cc_error *e)
{
    const struct cc_range r = range_of(x, x->plan.own, 1);
    if (!x->plan.owns || empty(r))
        return CC_OK;
    int status = make_coder(x, r, x->plan.who, x->plan.salt, x->rank_state->job->workers, false,
                            &x->owner, e);
    if (status != CC_OK)
        return status;
    x->owner_first = true;
    for (size_t j = 0; j < x->plan.reduces; j++)
        x->owner_first &=
            x->round_state[j].sent.to <= r.from || x->round_state[j].sent.from >= r.to;
    return cc_data_alloc(x->rank_state->job, CC_SIZE_BYTES + cc_pack_bound(x->owner), &x->own, e);
}

static int make_sum(struct hops *x, struct cc_error *e)
{
    if (!x->rank_state->job->data)
        return CC_OK;
    x->sum = cc_alloc((x->range.to - x->range.from) * sizeof *x->sum, e);
    return x->sum != NULL ? CC_OK : CC_FAIL;
}

static int make(struct hops *x, struct cc_error *e)
{
    size_t most = 0;
    x->round_state = cc_alloc0(x->plan.rounds * sizeof *x->round_state, e);
    int status = x->round_state != NULL ? make_sum(x, e) : CC_FAIL;
    if (status == CC_OK)
        status = make_chunks(x, e);
    for (size_t k = 0; k < x->plan.reduces && status == CC_OK; k++)
        status = make_reducing(x, k, &most, e);
    for (size_t k = x->plan.reduces; k < x->plan.rounds && status == CC_OK; k++)
        status = make_passing(x, k, e);
    if (status == CC_OK)
        status = make_owner(x, e);
    for (int i = 0; i < 2 && status == CC_OK; i++)
        status = cc_data_alloc(x->rank_state->job, most, &x->partial[i], e);
    return status;
}

static void hops_close(void *of)
{
    struct hops *x = of;
    cc_block_stream_close(&x->out);
    cc_block_stream_close(&x->in);
    for (size_t k = 0; k < x->plan.rounds && x->round_state != NULL; k++) {
        cc_pack_free(x->round_state[k].encoder);
        cc_pack_free(x->round_state[k].decoder);
        free(x->round_state[k].out);
        free(x->round_state[k].in);
    }
    cc_chunks_close(x->all);
    cc_pack_free(x->owner);
    free(x->own);
    free(x->partial[0]);
    free(x->partial[1]);
    free(x->sum);
    free(x->chunk);
    free(x->round_state);
    free(x->plan.round);
    free(x);
}

static const struct cc_reduction_ops hops_way = {hops_start, hops_test, hops_close};

int cc_reduce_recode_open(struct cc_rank_state *s, const struct cc_job_message *m, size_t index,
                          struct cc_schedule *plan, void **out, struct cc_error *e)
{
    struct hops *x = cc_alloc0(sizeof *x, e);
    if (x == NULL) {
        free(plan->round);
        return CC_FAIL;
    }
    *x = (struct hops){.way = &hops_way,
                       .rank_state = s,
                       .message = m,
                       .plan = *plan,
                       .range = cc_message_range(s, m),
                       .over = true};
    int status = cc_block_stream_open(&x->out, s, index, true, e);
    if (status == CC_OK)
        status = cc_block_stream_open(&x->in, s, index, false, e);
    if (status == CC_OK)
        status = make(x, e);
    if (status == CC_OK)
        *out = x;
    else
        hops_close(x);
    return status;
}
