/* The reduction of index-value pairs (SparCML, sections 3 and 4): received streams are added to
 * this rank's, value by value; the sums are streams again (pair_stream.h), exact but for the
 * rounding of each addition.
 *
 * Messages. A u64, the number of bytes that follow, and a stream of the chunks that the round
 * moves. In rounds that only pass whole sums on, a message of several chunks is a u64 and then, for
 * each chunk, a u64 and its stream.
 *
 * Rounds. All receives are posted at the start, each into its own buffer, so that messages may come
 * in any order. A round's message leaves as soon as what it has to contain is there (begin_ready):
 * the earlier rounds that receive some of its values have been added, or its chunks are complete.
 *
 * Sums. Rounds that receive the same values one after the other, and between which none of these
 * are sent, are one group (the whole first stage of the split): they are added together, when all
 * are there, in the order of the ranks, this rank's own among them. So a sum never depends on what
 * arrives first. Where two ranks exchange the same values (recursive doubling), both get the same
 * bits, since a + b = b + a.
 *
 * The result is applied from where it is: a received stream from its buffer, this rank's own sum
 * from memory. dsar-split sends all values of a chunk, as floats or, with dense_bits below 32, as
 * QSGD quantizes them; its owner, too, then applies what the others decode. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "netsim/message/pair_stream.h"
#include "netsim/mpi/exchange/block_stream.h"
#include "netsim/mpi/exchange/message_pack.h"
#include "netsim/mpi/exchange/chunks.h"
#include "netsim/mpi/exchange/reduction.h"
#include "netsim/mpi/runtime/data.h"
#include "schemes/spec.h"

/* The whole sum of a chunk in this step. */
struct chunk {
    struct cc_stream_range range;
    size_t bound;      /* bytes of its stream; 0: it has no values, and nothing is sent for it */
    const uint8_t *at; /* its stream, behind its length */
    size_t len;
    bool here, applied;
    struct cc_stream_view view;
    struct cc_pack *decoder; /* quantized: of all its values */
};

struct round_state {
    struct cc_stream_range sent, received;
    size_t pairs; /* the most that are received in a round that reduces */
    uint8_t *out, *in;
    size_t out_capacity, in_capacity;
    struct cc_transfer send, recv;
    struct cc_stream_view view;
    bool taken; /* what was received has been checked */
};

/* Rounds first .. end - 1, which are added at once. */
struct group {
    size_t first, end;
};

struct reduce_merge {
    const struct cc_reduction_ops *ops;
    struct cc_rank_state *rank_state;
    const struct cc_job_message *message;
    struct cc_schedule schedule;
    struct cc_range range;
    uint32_t tag;
    struct cc_pack *pack; /* this rank's gradient */
    uint8_t *payload;
    size_t most; /* pairs of a gradient */
    struct cc_stream own;
    struct cc_stream sum[2]; /* of even and odd groups */
    void *sum_memory[2];
    const struct cc_stream *held;
    struct round_state *round_state;
    struct chunk *chunk;
    struct group *group;
    size_t groups;
    struct cc_stream_part *part;
    void *scratch;
    uint8_t *whole; /* the message of the chunk that this rank owns; NULL: nobody needs it */
    struct cc_pack *quantizer;
    float *values; /* of that chunk, for the quantizer */
    uint64_t sent; /* pairs of all gradients in `held` */
    size_t added;  /* groups */
    size_t begun;  /* rounds whose message has left */
    struct cc_block_stream out, in;
    bool has_sum; /* this rank ends with the whole sum of schedule.own_chunk */
    bool over;
};

static bool overlap(struct cc_stream_range a, struct cc_stream_range b)
{
    return a.from < b.to && b.from < a.to;
}

static size_t length(struct cc_stream_range r)
{
    return r.to - r.from;
}

static struct cc_stream_range chunk_values(const struct reduce_merge *x, size_t first, size_t count)
{
    const struct cc_range r = cc_chunks_range(x->range, x->schedule.chunks, first, count);
    return (struct cc_stream_range){(uint32_t)(r.from - x->range.from),
                                    (uint32_t)(r.to - x->range.from)};
}

/* Whether every value of a chunk is sent, whatever its sum is. */
static bool sends_dense(const struct reduce_merge *x)
{
    return x->rank_state->job->exchange == CC_DSAR_SPLIT;
}

/* --- what ranks must agree on --- */

/* The exchange in the lowest byte, and a hash of the scheme (FNV-1a). */
static uint32_t make_tag(const struct cc_rank_state *s)
{
    uint32_t hash = 2166136261u;
    for (const char *p = s->spec->name; *p != '\0'; p++)
        hash = (hash ^ (uint8_t)*p) * 16777619u;
    return hash << 8 | (uint32_t)s->job->exchange;
}

static int check_tag(const struct reduce_merge *x, int rank, uint32_t tag, struct cc_error *e)
{
    const struct cc_rank_state *s = x->rank_state;
    const uint32_t exchange = tag & 0xff;
    if (tag == x->tag)
        return CC_OK;
    if (exchange != (x->tag & 0xff))
        return cc_fail(e, "rank %d exchanges by %s, this rank by %s", rank,
                       exchange < CC_EXCHANGE_COUNT ? cc_exchange_names[exchange] : "another way",
                       cc_exchange_names[s->job->exchange]);
    return cc_fail(e, "rank %d sends another scheme than this rank's, %s", rank, s->spec->name);
}

/* --- adding --- */

static double reduce_cost_s(const struct cc_rank_state *s, size_t bytes)
{
    return s->row->cost != NULL ? s->job->reduce_byte_s * (double)bytes : (double)NAN;
}

/* Checks what round k has received. */
static int take_received(struct reduce_merge *x, size_t k, struct cc_error *e)
{
    struct round_state *t = &x->round_state[k];
    const int from = x->schedule.round[k].from;
    t->taken = true;
    if (t->in_capacity == 0)
        return CC_OK;
    const uint8_t *in = t->recv.at + CC_SIZE_BYTES;
    const size_t len = t->recv.bytes - CC_SIZE_BYTES;
    if (len >= CC_STREAM_HEAD)
        CC_TRY(check_tag(x, from, cc_get_u32(in + 4), e));
    int status = cc_stream_open(in, len, t->received, t->pairs, &t->view, e);
    if (status == CC_OK && t->view.kind == CC_STREAM_PACK)
        status = cc_fail(e, "a pack, where pairs are added");
    if (status != CC_OK)
        cc_error_in(e, "from rank %d", from);
    return status;
}

/* Adds the group's streams in the order of the ranks. */
static int add_group(struct reduce_merge *x, const struct group *g, struct cc_error *e)
{
    struct cc_rank_state *s = x->rank_state;
    const struct cc_stream_range range = x->round_state[g->first].received;
    struct cc_stream *to = &x->sum[x->added % 2];
    size_t parts = 0, bytes = 0;
    for (size_t k = g->first; k < g->end; k++)
        if (!x->round_state[k].taken)
            CC_TRY(take_received(x, k, e));
    x->added++;
    if (length(range) == 0)
        return CC_OK;
    const struct cc_work_timer since = cc_work_begin();
    for (int rank = 0; rank < s->job->workers; rank++) {
        if (rank == s->rank) {
            x->part[parts++] = (struct cc_stream_part){.own = x->held};
            continue;
        }
        for (size_t k = g->first; k < g->end; k++)
            if (x->schedule.round[k].from == rank) {
                x->part[parts++] = (struct cc_stream_part){.received = &x->round_state[k].view};
                x->sent += x->round_state[k].view.head.sent;
                bytes += x->round_state[k].recv.bytes;
            }
    }
    cc_stream_sum(x->part, parts, range, x->scratch, to);
    x->held = to;
    cc_charge(s, CC_PHASE_HOP, since, reduce_cost_s(s, bytes));
    return CC_OK;
}

/* --- whole sums --- */

static int open_chunk(const struct reduce_merge *x, struct chunk *c, int from, struct cc_error *e)
{
    if (c->len >= CC_STREAM_HEAD)
        CC_TRY(check_tag(x, from, cc_get_u32(c->at + 4), e));
    int status = cc_stream_open(c->at, c->len, c->range, length(c->range), &c->view, e);
    if (status == CC_OK && (c->view.kind == CC_STREAM_PACK) != (c->decoder != NULL))
        status = cc_fail(e, "a sum that is %squantized", c->decoder != NULL ? "not " : "");
    if (status != CC_OK)
        cc_error_in(e, "from rank %d", from);
    return status;
}

/* Finds the streams in the message that round k has received. */
static int keep_received(struct reduce_merge *x, size_t k, struct cc_error *e)
{
    struct round_state *t = &x->round_state[k];
    const struct cc_round *r = &x->schedule.round[k];
    size_t at = r->recv_count == 1 ? 0 : CC_SIZE_BYTES;
    t->taken = true;
    for (size_t i = r->recv_first; i < r->recv_first + r->recv_count && t->in_capacity > 0; i++) {
        struct chunk *c = &x->chunk[i];
        const size_t left = t->recv.bytes - at;
        const uint64_t n = left >= CC_SIZE_BYTES ? cc_get_u64(t->recv.at + at) : 0;
        if (c->bound == 0)
            continue;
        if (left < CC_SIZE_BYTES || n > left - CC_SIZE_BYTES || (n % 4 != 0 && r->recv_count > 1))
            return cc_fail(e, "from rank %d: the message ends within chunk %zu", r->from, i);
        c->at = t->recv.at + at + CC_SIZE_BYTES;
        c->len = n;
        c->here = true;
        at += CC_SIZE_BYTES + n;
        CC_TRY(open_chunk(x, c, r->from, e));
    }
    return CC_OK;
}

/* Makes the message of the chunks that a round passes on. A single stream is sent from where it
 * is. */
static void pack_chunks(const struct reduce_merge *x, struct round_state *t,
                        const struct cc_round *r)
{
    size_t at = CC_SIZE_BYTES;
    if (r->send_count == 1) {
        const struct chunk *c = &x->chunk[r->send_first];
        memcpy(&t->send.at, &(const uint8_t *){c->at - CC_SIZE_BYTES}, sizeof t->send.at);
        t->send.bytes = CC_SIZE_BYTES + c->len;
        return;
    }
    for (size_t i = r->send_first; i < r->send_first + r->send_count; i++) {
        const struct chunk *c = &x->chunk[i];
        if (c->bound == 0)
            continue;
        cc_put_u64(t->out + at, c->len);
        memcpy(t->out + at + CC_SIZE_BYTES, c->at, c->len);
        at += CC_SIZE_BYTES + c->len;
    }
    cc_put_u64(t->out, at - CC_SIZE_BYTES);
    t->send.at = t->out;
    t->send.bytes = at;
}

/* Encodes all values of the own chunk by the second scheme. */
static int quantize(struct reduce_merge *x, struct chunk *c, uint8_t *out, size_t *len,
                    struct cc_error *e)
{
    size_t head;
    cc_stream_expand(x->held, c->range, x->values);
    cc_put_u32(out, CC_STREAM_PACK);
    cc_put_u32(out + 4, x->tag);
    cc_put_u32(out + 8, (uint32_t)length(c->range));
    cc_put_u32(out + 12, (uint32_t)length(c->range));
    cc_put_u64(out + 16, x->sent);
    CC_TRY(cc_pack_encode(x->quantizer, x->rank_state->step, x->values, out + CC_STREAM_HEAD, len,
                          &head, e));
    *len += CC_STREAM_HEAD;
    return CC_OK;
}

/* Encodes this rank's whole sum, for the others. */
static int encode_own(struct reduce_merge *x, struct cc_error *e)
{
    struct cc_rank_state *s = x->rank_state;
    struct chunk *c = &x->chunk[x->schedule.own_chunk];
    uint8_t *out = x->whole + CC_SIZE_BYTES;
    const struct cc_work_timer since = cc_work_begin();
    struct cc_stream_head head = {.tag = x->tag, .sent = x->sent};
    if (x->quantizer != NULL)
        CC_TRY(quantize(x, c, out, &c->len, e));
    else
        c->len = cc_stream_encode(x->held, c->range, s->job->wire, sends_dense(x), &head,
                                  x->scratch, out);
    cc_put_u64(x->whole, c->len);
    c->at = out;
    c->here = true;
    cc_charge(s, CC_PHASE_HOP, since, reduce_cost_s(s, c->len));
    return x->quantizer != NULL ? open_chunk(x, c, s->rank, e) : CC_OK;
}

/* --- the mean --- */

/* What decoding `r` costs: its part of the message's. */
static double apply_cost_s(const struct reduce_merge *x, struct cc_stream_range r)
{
    const size_t n = x->range.to - x->range.from;
    return n > 0 ? cc_pack_cost(x->pack, CC_PACK_ADD) * (double)length(r) / (double)n : 0;
}

/* Adds a chunk's mean to the model. `held`: this rank has it in memory, not as it is sent. */
static int apply(struct reduce_merge *x, struct chunk *c, bool held, struct cc_error *e)
{
    struct cc_rank_state *s = x->rank_state;
    const struct cc_work_timer since = cc_work_begin();
    const float scale = 1.0f / (float)s->job->workers;
    float *y = s->model + x->range.from;
    int status = CC_OK;
    c->applied = true;
    if (c->decoder != NULL)
        status =
            cc_pack_decode_add(c->decoder, s->step, c->view.pack, c->view.pack_bytes, scale, y, e);
    else if (held)
        cc_stream_apply(x->held, scale, y);
    else
        cc_stream_view_apply(&c->view, scale, y);
    cc_charge(s, CC_PHASE_DECODE, since, apply_cost_s(x, c->range));
    return status;
}

/* Applies the chunks that are here. */
static int apply_chunks(struct reduce_merge *x, struct cc_error *e)
{
    for (size_t i = 0; i < x->schedule.chunks; i++) {
        struct chunk *c = &x->chunk[i];
        if (c->here && !c->applied && c->bound > 0)
            CC_TRY(apply(x, c, x->has_sum && i == x->schedule.own_chunk, e));
    }
    return CC_OK;
}

/* --- rounds --- */

/* Whether what round k sends is there. */
static bool is_ready(const struct reduce_merge *x, size_t k)
{
    const struct cc_round *r = &x->schedule.round[k];
    for (size_t i = r->send_first; i < r->send_first + r->send_count; i++)
        if (k >= x->schedule.reduce_rounds && !x->chunk[i].here && x->chunk[i].bound > 0)
            return false;
    for (size_t g = x->added; g < x->groups && k < x->schedule.reduce_rounds; g++)
        if (x->group[g].first < k &&
            overlap(x->round_state[x->group[g].first].received, x->round_state[k].sent))
            return false;
    return true;
}

/* Encodes a part of what this rank has. */
static void encode_part(struct reduce_merge *x, struct round_state *t)
{
    struct cc_rank_state *s = x->rank_state;
    const struct cc_work_timer since = cc_work_begin();
    struct cc_stream_head head = {.tag = x->tag, .sent = x->sent};
    const size_t n = cc_stream_encode(x->held, t->sent, s->job->wire, false, &head, x->scratch,
                                      t->out + CC_SIZE_BYTES);
    cc_put_u64(t->out, n);
    t->send.at = t->out;
    t->send.bytes = CC_SIZE_BYTES + n;
    cc_charge(s, x->added > 0 ? CC_PHASE_HOP : CC_PHASE_ENCODE, since, 0 * reduce_cost_s(s, n));
}

/* Ranks that do not agree on exchange, scheme or values do not agree on lengths either, which MPI
 * or the block stream finds first. If the head of the message is there, it tells why. */
static void explain(const struct reduce_merge *x, struct cc_error *e)
{
    size_t k = 0;
    while (k < x->schedule.rounds && cc_transfer_complete(&x->round_state[k].recv))
        k++;
    if (k == x->schedule.rounds || x->round_state[k].recv.posted < CC_SIZE_BYTES + CC_STREAM_HEAD ||
        x->schedule.round[k].recv_count != 1)
        return;
    const uint8_t *head = x->round_state[k].in + CC_SIZE_BYTES;
    const int from = x->schedule.round[k].from;
    const size_t n = length(chunk_values(x, x->schedule.round[k].recv_first, 1));
    const uint32_t values = cc_get_u32(head + 8);
    if (check_tag(x, from, cc_get_u32(head + 4), e) == CC_OK && values != n)
        (void)cc_fail(e, "from rank %d: a stream of %lu values where %zu are expected", from,
                      (unsigned long)values, n);
}

static int progress(struct reduce_merge *x, bool *moved, struct cc_error *e)
{
    const int status = cc_block_stream_progress(&x->in, moved, e);
    if (status != CC_OK) {
        explain(x, e);
        return status;
    }
    return cc_block_stream_progress(&x->out, moved, e);
}

/* Begins the rounds whose messages can be made by now. */
static int begin_ready(struct reduce_merge *x, bool *moved, struct cc_error *e)
{
    while (x->begun < x->schedule.rounds && is_ready(x, x->begun)) {
        struct round_state *t = &x->round_state[x->begun];
        const struct cc_round *r = &x->schedule.round[x->begun];
        t->send = (struct cc_transfer){.peer = r->to, .sized = true, .needs_clear = r->needs_clear};
        if (t->out_capacity > 0 && x->begun < x->schedule.reduce_rounds)
            encode_part(x, t);
        else if (t->out_capacity > 0)
            pack_chunks(x, t, r);
        t->send.ready = t->send.bytes;
        cc_block_stream_add(&x->out, &t->send);
        x->begun++;
        CC_TRY(progress(x, moved, e));
        *moved = true;
    }
    return CC_OK;
}

/* After the last group: the own chunk is complete. */
static int end_sums(struct reduce_merge *x, struct cc_error *e)
{
    struct chunk *c = &x->chunk[x->schedule.own_chunk];
    if (!x->has_sum || c->here || x->added < x->groups)
        return CC_OK;
    if (x->whole != NULL)
        CC_TRY(encode_own(x, e));
    c->here = true;
    return CC_OK;
}

/* Adds the groups that are complete. */
static int add_groups(struct reduce_merge *x, bool *moved, struct cc_error *e)
{
    while (x->added < x->groups) {
        const struct group *g = &x->group[x->added];
        if (x->begun < g->end)
            return CC_OK;
        for (size_t k = g->first; k < g->end; k++)
            if (!cc_transfer_complete(&x->round_state[k].recv))
                return CC_OK;
        CC_TRY(add_group(x, g, e));
        *moved = true;
    }
    return end_sums(x, e);
}

static int keep_complete(struct reduce_merge *x, bool *moved, struct cc_error *e)
{
    for (size_t k = x->schedule.reduce_rounds; k < x->schedule.rounds; k++) {
        struct round_state *t = &x->round_state[k];
        if (t->taken || !cc_transfer_complete(&t->recv))
            continue;
        CC_TRY(keep_received(x, k, e));
        *moved = true;
    }
    return CC_OK;
}

/* --- operations --- */

static void post_receives(struct reduce_merge *x)
{
    for (size_t k = 0; k < x->schedule.rounds; k++) {
        struct round_state *t = &x->round_state[k];
        const struct cc_round *r = &x->schedule.round[k];
        t->taken = false;
        t->recv = (struct cc_transfer){.peer = r->from,
                                       .at = t->in,
                                       .bytes = t->in_capacity,
                                       .ready = t->in_capacity,
                                       .sized = t->in_capacity > 0,
                                       .needs_clear = r->needs_clear};
        cc_block_stream_add(&x->in, &t->recv);
    }
}

static int encode_gradient(struct reduce_merge *x, struct cc_error *e)
{
    struct cc_rank_state *s = x->rank_state;
    size_t len;
    CC_TRY(cc_message_encode(s, x->pack, s->gradient + x->range.from, CC_PHASE_ENCODE, true,
                             x->payload, &len, e));
    const struct cc_work_timer since = cc_work_begin();
    CC_TRY(cc_pack_to_pairs(x->pack, s->step, x->payload, len, x->own.pair, &x->own.count, e));
    cc_charge(s, CC_PHASE_ENCODE, since, 0 * reduce_cost_s(s, 0));
    x->held = &x->own;
    x->sent = x->own.count;
    return CC_OK;
}

static int reduce_merge_start(void *of, struct cc_error *e)
{
    struct reduce_merge *x = of;
    CC_TRY(encode_gradient(x, e));
    x->over = cc_silent(x->rank_state, x->message);
    if (x->over)
        return CC_OK;
    x->added = x->begun = 0;
    for (size_t i = 0; i < x->schedule.chunks; i++)
        x->chunk[i].here = x->chunk[i].applied = false;
    post_receives(x);
    return CC_OK;
}

static bool all_kept(const struct reduce_merge *x)
{
    for (size_t k = x->schedule.reduce_rounds; k < x->schedule.rounds; k++)
        if (!x->round_state[k].taken)
            return false;
    return true;
}

static int reduce_merge_test(void *of, bool *done, struct cc_error *e)
{
    struct reduce_merge *x = of;
    bool moved = !x->over;
    while (moved) {
        moved = false;
        CC_TRY(begin_ready(x, &moved, e));
        CC_TRY(progress(x, &moved, e));
        CC_TRY(add_groups(x, &moved, e));
        CC_TRY(keep_complete(x, &moved, e));
        CC_TRY(begin_ready(x, &moved, e));
        CC_TRY(apply_chunks(x, e));
    }
    if (!x->over)
        x->over = x->begun == x->schedule.rounds && x->added == x->groups && all_kept(x) &&
                  cc_block_stream_idle(&x->out);
    *done = x->over;
    return CC_OK;
}

static void reduce_merge_close(void *of)
{
    struct reduce_merge *x = of;
    cc_block_stream_close(&x->out);
    cc_block_stream_close(&x->in);
    for (size_t k = 0; k < x->schedule.rounds && x->round_state != NULL; k++) {
        free(x->round_state[k].out);
        free(x->round_state[k].in);
    }
    for (size_t i = 0; i < x->schedule.chunks && x->chunk != NULL; i++)
        cc_pack_free(x->chunk[i].decoder);
    cc_pack_free(x->pack);
    cc_pack_free(x->quantizer);
    free(x->payload);
    free(x->own.pair);
    free(x->sum_memory[0]);
    free(x->sum_memory[1]);
    free(x->values);
    free(x->whole);
    free(x->scratch);
    free(x->part);
    free(x->group);
    free(x->chunk);
    free(x->round_state);
    free(x->schedule.round);
    free(x);
}

/* --- opening --- */

static int open_gradient(struct reduce_merge *x, struct cc_error *e)
{
    const struct cc_rank_state *s = x->rank_state;
    const struct cc_pack_config config = {.seed = s->job->seed, .rank = s->rank};
    const size_t n = x->range.to - x->range.from;
    if (!s->job->data)
        return cc_fail(e, "%s adds index-value pairs, which a simulation has only with data",
                       cc_exchange_names[s->job->exchange]);
    if (n >= UINT32_MAX)
        return cc_fail(e,
                       "a message of %zu values: indices of pairs have 32 bits; send the step "
                       "in several messages",
                       n);
    CC_TRY(cc_message_pack_make(s, x->range, x->range.from, config, &x->pack, e));
    x->most = cc_pack_pairs_bound(x->pack);
    x->payload = cc_alloc(cc_pack_bound(x->pack), e);
    x->own.range = (struct cc_stream_range){0, (uint32_t)n};
    x->own.pair = cc_alloc(x->most * sizeof *x->own.pair, e);
    x->scratch = cc_alloc0(cc_stream_scratch(), e);
    x->part = cc_alloc((size_t)s->job->workers * sizeof *x->part, e);
    return x->payload != NULL && x->own.pair != NULL && x->scratch != NULL && x->part != NULL
               ? CC_OK
               : CC_FAIL;
}

/* The largest message of a stream of w workers' values. */
static size_t message_bound(const struct reduce_merge *x, struct cc_stream_range r, int w)
{
    const size_t n = length(r);
    return n == 0
               ? 0
               : CC_SIZE_BYTES + cc_stream_bound(n, (size_t)w * x->most, x->rank_state->job->wire);
}

static int open_reducing_round(struct reduce_merge *x, size_t k, struct cc_error *e)
{
    const struct cc_round *r = &x->schedule.round[k];
    struct round_state *t = &x->round_state[k];
    t->sent = chunk_values(x, r->send_first, r->send_count);
    t->received = chunk_values(x, r->recv_first, r->recv_count);
    t->pairs = (size_t)r->recv_workers * x->most;
    t->out_capacity = message_bound(x, t->sent, r->send_workers);
    t->in_capacity = message_bound(x, t->received, r->recv_workers);
    t->out = cc_alloc(t->out_capacity, e);
    t->in = cc_alloc(t->in_capacity, e);
    return t->out != NULL && t->in != NULL ? CC_OK : CC_FAIL;
}

static size_t chunks_capacity(const struct reduce_merge *x, size_t first, size_t count)
{
    size_t bytes = 0;
    for (size_t i = first; i < first + count; i++)
        bytes += x->chunk[i].bound > 0 ? CC_SIZE_BYTES + x->chunk[i].bound : 0;
    return bytes > 0 && count > 1 ? CC_SIZE_BYTES + bytes : bytes;
}

static int open_passing_round(struct reduce_merge *x, size_t k, struct cc_error *e)
{
    const struct cc_round *r = &x->schedule.round[k];
    struct round_state *t = &x->round_state[k];
    t->out_capacity = chunks_capacity(x, r->send_first, r->send_count);
    t->in_capacity = chunks_capacity(x, r->recv_first, r->recv_count);
    t->out = cc_alloc(r->send_count > 1 ? t->out_capacity : 0, e);
    t->in = cc_alloc(t->in_capacity, e);
    return t->out != NULL && t->in != NULL ? CC_OK : CC_FAIL;
}

/* A pack of chunk i's values by the second scheme: one that encodes, of the owner, or decodes. */
static int open_quantized(const struct reduce_merge *x, size_t i, bool decodes,
                          struct cc_pack **out, struct cc_error *e)
{
    const struct cc_rank_state *s = x->rank_state;
    const struct cc_range r = cc_chunks_range(x->range, x->schedule.chunks, i, 1);
    const struct cc_pack_config config = {
        .seed = s->job->seed + 1, .rank = (int64_t)i, .spec = s->dense, .decodes_only = decodes};
    return cc_message_pack_make(s, r, decodes ? x->range.from : r.from, config, out, e);
}

static int open_chunks(struct reduce_merge *x, struct cc_error *e)
{
    const struct cc_rank_state *s = x->rank_state;
    const bool quantized = sends_dense(x) && s->job->dense_bits < 32;
    for (size_t i = 0; i < x->schedule.chunks; i++) {
        struct chunk *c = &x->chunk[i];
        c->range = chunk_values(x, i, 1);
        if (length(c->range) == 0)
            continue;
        if (quantized) {
            CC_TRY(open_quantized(x, i, true, &c->decoder, e));
            c->bound = CC_STREAM_HEAD + cc_pack_bound(c->decoder);
        } else if (sends_dense(x)) {
            c->bound = CC_STREAM_HEAD + length(c->range) * sizeof(float);
        } else {
            c->bound = message_bound(x, c->range, s->job->workers) - CC_SIZE_BYTES;
        }
    }
    return CC_OK;
}

/* What this rank needs to send the sum that it owns. */
static int open_own(struct reduce_merge *x, struct cc_error *e)
{
    const struct cc_schedule *p = &x->schedule;
    const struct chunk *c = &x->chunk[p->own_chunk];
    bool sends = false;
    for (size_t k = p->reduce_rounds; k < p->rounds; k++)
        sends |= p->round[k].send_first <= p->own_chunk &&
                 p->own_chunk < p->round[k].send_first + p->round[k].send_count;
    x->has_sum = p->owns_chunk || p->reduce_rounds == p->rounds;
    if (!x->has_sum || c->bound == 0 || !(sends || c->decoder != NULL))
        return CC_OK;
    x->whole = cc_alloc(CC_SIZE_BYTES + c->bound, e);
    if (x->whole == NULL || c->decoder == NULL)
        return x->whole != NULL ? CC_OK : CC_FAIL;
    x->values = cc_alloc(length(c->range) * sizeof *x->values, e);
    return x->values != NULL ? open_quantized(x, p->own_chunk, false, &x->quantizer, e) : CC_FAIL;
}

/* Whether round k can be added together with those of the group before it: by chunks, not values,
 * as chunks may be empty. */
static bool joins(const struct reduce_merge *x, const struct group *g, size_t k)
{
    const struct cc_round *r = x->schedule.round, *of = &r[g->first];
    for (size_t j = g->first + 1; j <= k; j++)
        if (r[j].send_first < of->recv_first + of->recv_count &&
            of->recv_first < r[j].send_first + r[j].send_count)
            return false;
    return g->end == k && r[k].recv_first == of->recv_first && r[k].recv_count == of->recv_count;
}

static int open_sums(struct reduce_merge *x, struct cc_error *e)
{
    size_t most = 0;
    for (size_t k = 0; k < x->schedule.reduce_rounds && x->group != NULL; k++) {
        struct group *last = x->groups > 0 ? &x->group[x->groups - 1] : NULL;
        const struct round_state *t = &x->round_state[k];
        const size_t all = (size_t)x->rank_state->job->workers * x->most;
        const size_t bytes = cc_stream_memory(length(t->received), all);
        if (x->schedule.round[k].recv_count == 0)
            continue;
        most = bytes > most ? bytes : most;
        if (last != NULL && joins(x, last, k))
            last->end++;
        else
            x->group[x->groups++] = (struct group){k, k + 1};
    }
    for (int i = 0; i < 2; i++) {
        x->sum_memory[i] = cc_alloc(most, e);
        if (x->sum_memory[i] == NULL)
            return CC_FAIL;
        x->sum[i].pair = x->sum_memory[i];
        x->sum[i].value = x->sum_memory[i];
    }
    return CC_OK;
}

static int open_rounds(struct reduce_merge *x, struct cc_error *e)
{
    x->round_state = cc_alloc0(x->schedule.rounds * sizeof *x->round_state, e);
    x->chunk = cc_alloc0(x->schedule.chunks * sizeof *x->chunk, e);
    x->group = cc_alloc0(x->schedule.rounds * sizeof *x->group, e);
    if (x->round_state == NULL || x->chunk == NULL || x->group == NULL)
        return CC_FAIL;
    CC_TRY(open_chunks(x, e));
    for (size_t k = 0; k < x->schedule.reduce_rounds; k++)
        CC_TRY(open_reducing_round(x, k, e));
    for (size_t k = x->schedule.reduce_rounds; k < x->schedule.rounds; k++)
        CC_TRY(open_passing_round(x, k, e));
    CC_TRY(open_own(x, e));
    return open_sums(x, e);
}

int cc_reduce_merge_open(struct cc_rank_state *s, const struct cc_job_message *m, size_t index,
                         struct cc_schedule *schedule, void **out, struct cc_error *e)
{
    static const struct cc_reduction_ops ops = {reduce_merge_start, reduce_merge_test,
                                                reduce_merge_close};
    int status = CC_OK;
    struct reduce_merge *x = cc_alloc0(sizeof *x, e);
    if (x == NULL) {
        free(schedule->round);
        return CC_FAIL;
    }
    *x = (struct reduce_merge){.ops = &ops,
                               .rank_state = s,
                               .message = m,
                               .schedule = *schedule,
                               .range = cc_message_range(s, m),
                               .tag = make_tag(s),
                               .over = true};
    CC_TRY_OUT(cc_block_stream_open(&x->out, s, index, true, e));
    CC_TRY_OUT(cc_block_stream_open(&x->in, s, index, false, e));
    CC_TRY_OUT(open_gradient(x, e));
    CC_TRY_OUT(open_rounds(x, e));
    *out = x;
out:
    if (status != CC_OK)
        reduce_merge_close(x);
    return status;
}
