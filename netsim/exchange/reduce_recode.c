/* The reduction of payloads that cannot be added as they are: at every hop, a received payload is
 * decoded onto this rank's values, and the sum is encoded again before it is sent on. The whole sum
 * of a chunk is encoded by one rank, its owner; that payload travels to all others as it is, so
 * that all ranks decode the same bytes and models stay equal.
 *
 * Messages. A u64, the number of bytes that follow, and a pack. In the rounds that only pass whole
 * sums on, a message of several chunks is a u64 and then, for each chunk, a u64 and its pack.
 *
 * Rounds. A rank ends one round after the other (`current`), and begins them in groups: of one
 * round each, or of those that do not wait for each other (schedule.at_once).
 *
 * Begin a group: encode the partial sums that its rounds send (if they reduce), or put the payloads
 * of the chunks that are passed on behind each other; send that; post the receives of the next
 * group, so that they are there when an early sender begins.
 *
 * End a round, once its message is there: decode and add it, or note where its payloads are. Begin
 * the next group first, then decode whole sums onto the model while that is under way.
 *
 * Before the first addition nothing is copied: the first encoding reads the gradient itself. Where
 * two ranks exchange the same chunks (recursive doubling), both must end with the same sum: each
 * decodes what it sent, too, and both add the two payloads in the same order.
 *
 * With shards (shards.h) the owner of a chunk first updates its values by the sum's mean, and what
 * it encodes is what all ranks gather.
 *
 * Packs have a state (residuals) of their own for each round. `first` marks the first encoding of
 * values in a step: it is what counts as this rank's payload, and what is encoded in silent steps.
 * Without data, lengths come from the size index. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "netsim/exchange/block_stream.h"
#include "netsim/exchange/chunks.h"
#include "netsim/exchange/exchange_code.h"
#include "netsim/exchange/data.h"
#include "netsim/exchange/shards.h"

/* The whole sum of a chunk in this step. */
struct chunk {
    const uint8_t *at; /* its payload; NULL without data, or while it is not here */
    size_t len;
    bool here, applied;
};

struct round_state {
    struct cc_range sent;    /* values */
    struct cc_pack *encoder; /* for the partial sum that is sent; NULL */
    struct cc_pack *decoder; /* for the partial sum that is received; NULL */
    bool first;              /* no earlier round encodes any of these values */
    uint8_t *out, *in;       /* `in` only in rounds that keep what they receive, or are at once */
    size_t out_capacity, in_capacity;
    struct cc_transfer send, recv;
};

struct reduce_recode {
    struct cc_exchange_head head;
    struct cc_schedule schedule;
    struct cc_chunks *all;
    struct chunk *chunk;
    struct round_state *round_state;
    struct cc_pack *owner;        /* encodes the chunk that this rank owns; NULL */
    bool owner_first;             /* as in a round */
    uint8_t *own;                 /* the message of that chunk */
    uint8_t *partial[2];          /* received partial sums, of even and odd rounds */
    float *sum;                   /* the range's: own values and received ones; NULL without data */
    bool summing;                 /* `sum` has the own values; before, the gradient has them */
    size_t current;               /* round that ends next */
    struct cc_shard_step *shards; /* NULL: none */
    bool updates;                 /* the shards' step is under way: the next group waits for it */
    size_t begun, posted; /* rounds whose send, and whose receive, has been added to a stream */
    struct cc_block_streams streams;
    bool over;
};

/* Whether this rank encodes the whole sum of a chunk. */
static bool encodes_whole(const struct reduce_recode *x)
{
    return x->schedule.owns_chunk && x->head.s->job->op != CC_REDUCE_SCATTER;
}

/* --- encoding, adding, decoding --- */

static void put_size(uint8_t *out, size_t bytes)
{
    if (out != NULL)
        cc_put_u64(out, bytes);
}

/* Encodes the pack's values, as they are by now, into a message. */
static int encode(struct reduce_recode *x, struct cc_pack *c, bool first, uint8_t *out, size_t *len,
                  struct cc_error *e)
{
    struct cc_rank_state *s = x->head.s;
    const enum cc_phase phase = x->summing ? CC_PHASE_HOP : CC_PHASE_ENCODE;
    const float *values = x->summing ? x->sum : CC_OFFSET_OR_NULL(s->gradient, x->head.range.from);
    uint8_t *payload = CC_OFFSET_OR_NULL(out, CC_SIZE_BYTES);
    CC_TRY(cc_message_encode(s, c, values, phase, first, payload, len, e));
    put_size(out, *len);
    return CC_OK;
}

/* Begins `sum` with the own values: of the chunks that round k adds to if no later round sends what
 * it adds to, otherwise of all. */
static void begin_sum(struct reduce_recode *x, size_t k)
{
    const struct cc_round *r = &x->schedule.round[k];
    const struct cc_range all = x->head.range;
    const struct cc_range part =
        cc_chunks_range(all, x->schedule.chunks, r->recv_first, r->recv_count);
    const struct cc_range own = x->schedule.at_once > 0 && !x->schedule.sums_all ? part : all;
    if (!x->summing && x->sum != NULL)
        memcpy(x->sum + (own.from - all.from), x->head.s->gradient + own.from,
               (own.to - own.from) * sizeof *x->sum);
    x->summing = true;
}

/* Adds the partial sum that round k has received. */
static int add_received(struct reduce_recode *x, size_t k, struct cc_error *e)
{
    const struct round_state *t = &x->round_state[k];
    const struct cc_round *r = &x->schedule.round[k];
    const uint64_t step = x->head.s->step;
    const uint8_t *received = CC_OFFSET_OR_NULL(t->recv.at, CC_SIZE_BYTES);
    const size_t n = t->recv.bytes - CC_SIZE_BYTES;
    const struct cc_work_timer since = cc_work_begin(x->head.s->transport);
    double cost_s = cc_pack_cost(t->decoder, CC_PACK_ADD);
    int status = CC_OK;
    if (r->send_count > 0 && r->send_first == r->recv_first) {
        const uint8_t *sent = CC_OFFSET_OR_NULL(t->out, CC_SIZE_BYTES);
        const size_t m = t->send.bytes - CC_SIZE_BYTES;
        const uint8_t *one = r->own_second ? received : sent;
        const uint8_t *two = r->own_second ? sent : received;
        x->summing = true;
        cost_s += cc_pack_cost(t->decoder, CC_PACK_DECODE);
        status = cc_pack_decode(t->decoder, step, one, r->own_second ? n : m, x->sum, e);
        if (status == CC_OK)
            status = cc_pack_decode_add(t->decoder, step, two, r->own_second ? m : n, 1, x->sum, e);
    } else {
        begin_sum(x, k);
        status = cc_pack_decode_add(t->decoder, step, received, n, 1, x->sum, e);
    }
    cc_charge(x->head.s, CC_PHASE_HOP, since, cost_s);
    return status;
}

/* Decodes those of `count` chunks from `first` on that are here onto the model. */
static int apply_chunks(struct reduce_recode *x, size_t first, size_t count, struct cc_error *e)
{
    struct cc_rank_state *s = x->head.s;
    const struct cc_work_timer since = cc_work_begin(s->transport);
    const float scale = x->shards != NULL ? 1 : cc_result_scale(s);
    float *model = CC_OFFSET_OR_NULL(s->model, x->head.range.from);
    double cost_s = 0;
    int status = CC_OK;
    for (size_t i = first; i < first + count && status == CC_OK; i++) {
        struct chunk *c = &x->chunk[i];
        const struct cc_chunk *k = &x->all->chunk[i];
        if (!c->here || c->applied || k->bound == 0 || s->contributes)
            continue;
        c->applied = true;
        cost_s += cc_pack_cost(k->decoder, CC_PACK_DECODE);
        status = cc_pack_decode_add(k->decoder, s->step, c->at, c->len, scale, model, e);
    }
    cc_charge(s, CC_PHASE_DECODE, since, cost_s);
    return status;
}

/* Adds a sum that nobody has to encode to the model: one that all ranks have alike, or, of a
 * reduce-scatter, that of the own chunk. The rows' costs have nothing for it: no codec works. */
static void apply_sum(struct reduce_recode *x)
{
    const struct cc_range all = x->head.range;
    const struct cc_range own =
        x->schedule.owns_chunk ? cc_chunks_range(all, x->schedule.chunks, x->schedule.own_chunk, 1)
                               : all;
    struct cc_rank_state *s = x->head.s;
    const struct cc_work_timer since = cc_work_begin_on(s->transport, own.to - own.from);
    const float scale = cc_result_scale(s);
    float *y = CC_OFFSET_OR_NULL(s->model, all.from);
    const float *sum = x->summing ? x->sum : CC_OFFSET_OR_NULL(s->gradient, all.from);
    const bool applies = y != NULL && sum != NULL && !s->contributes;
    for (size_t i = own.from - all.from; applies && i < own.to - all.from; i++)
        y[i] = cc_add_scaled(y[i], scale, sum[i]);
    cc_charge(s, CC_PHASE_DECODE, since, cc_row_cost(s, 0));
}

/* --- messages of whole sums --- */

/* Finds the payloads in the message that round k has received. */
static int keep_received(struct reduce_recode *x, size_t k, struct cc_error *e)
{
    const struct round_state *t = &x->round_state[k];
    const struct cc_round *r = &x->schedule.round[k];
    const uint8_t *data = t->recv.at; /* NULL without data: the sizes are then computed */
    const size_t *bytes = data == NULL ? cc_chunks_bytes(x->all, x->head.s->step) : NULL;
    size_t at = r->recv_count == 1 ? 0 : CC_SIZE_BYTES;
    for (size_t i = r->recv_first; i < r->recv_first + r->recv_count; i++) {
        const size_t left = t->recv.bytes - at;
        uint64_t n = 0;
        if (left >= CC_SIZE_BYTES)
            n = data == NULL ? bytes[i] : cc_get_u64(data + at);
        if (left < CC_SIZE_BYTES || n > left - CC_SIZE_BYTES)
            return cc_fail(e, "the message ends within chunk %zu", i);
        at += CC_SIZE_BYTES;
        x->chunk[i].at = CC_OFFSET_OR_NULL(data, at);
        x->chunk[i].len = n;
        x->chunk[i].here = true;
        at += n;
    }
    return CC_OK;
}

/* Makes the message of the chunks that a round passes on. A single payload is sent from
 * where it is, behind its size. */
static void pack_chunks(const struct reduce_recode *x, struct round_state *t,
                        const struct cc_round *r)
{
    size_t at = CC_SIZE_BYTES;
    if (r->send_count == 1) {
        const struct chunk *c = &x->chunk[r->send_first];
        if (c->at != NULL)
            t->send.at = (uint8_t *)(uintptr_t)c->at - CC_SIZE_BYTES; /* it is only read */
        t->send.bytes = CC_SIZE_BYTES + c->len;
        return;
    }
    for (size_t i = r->send_first; i < r->send_first + r->send_count; i++) {
        const struct chunk *c = &x->chunk[i];
        put_size(CC_OFFSET_OR_NULL(t->out, at), c->len);
        if (c->len > 0 && c->at != NULL)
            memcpy(t->out + at + CC_SIZE_BYTES, c->at, c->len);
        at += CC_SIZE_BYTES + c->len;
    }
    put_size(t->out, at - CC_SIZE_BYTES);
    t->send.at = t->out;
    t->send.bytes = at;
}

/* --- rounds --- */

/* Without data: the bytes that round k receives. */
static size_t known_length(const struct reduce_recode *x, size_t k)
{
    const struct cc_round *r = &x->schedule.round[k];
    const uint64_t step = x->head.s->step;
    if (x->round_state[k].decoder != NULL)
        return CC_SIZE_BYTES + cc_pack_size(x->round_state[k].decoder, r->from, step);
    const size_t *bytes = cc_chunks_bytes(x->all, step);
    size_t all = r->recv_count == 1 ? 0 : CC_SIZE_BYTES;
    for (size_t i = r->recv_first; i < r->recv_first + r->recv_count; i++)
        all += CC_SIZE_BYTES + bytes[i];
    return all;
}

static void post_receive(struct reduce_recode *x, size_t k)
{
    struct round_state *t = &x->round_state[k];
    const struct cc_round *r = &x->schedule.round[k];
    const bool known = !x->head.s->job->data && t->in_capacity > 0;
    const size_t bytes = known ? known_length(x, k) : t->in_capacity;
    t->recv = (struct cc_transfer){.peer = r->from,
                                   .at = t->in != NULL ? t->in : x->partial[k % 2],
                                   .bytes = bytes,
                                   .ready = bytes,
                                   .sized = bytes > 0,
                                   .needs_clear = r->needs_clear};
    cc_block_stream_add(&x->streams.in, &t->recv);
}

static void post_receives(struct reduce_recode *x, size_t end)
{
    for (; x->posted < end; x->posted++) {
        if (x->shards != NULL && x->posted == x->schedule.reduce_rounds)
            cc_shards_post(x->shards, &x->streams);
        post_receive(x, x->posted);
    }
}

static int begin_send(struct reduce_recode *x, size_t k, struct cc_error *e)
{
    struct round_state *t = &x->round_state[k];
    const struct cc_round *r = &x->schedule.round[k];
    t->send = (struct cc_transfer){
        .peer = r->to, .at = t->out, .sized = true, .needs_clear = r->needs_clear};
    if (t->encoder != NULL) {
        size_t n;
        CC_TRY(encode(x, t->encoder, t->first, t->out, &n, e));
        t->send.bytes = CC_SIZE_BYTES + n;
    } else if (t->out_capacity > 0) {
        pack_chunks(x, t, r);
    }
    t->send.ready = t->send.bytes;
    cc_block_stream_add(&x->streams.out, &t->send);
    return CC_OK;
}

/* The whole sum of the own chunk, or its place. */
static float *own_sum(struct reduce_recode *x)
{
    const struct cc_range all = x->head.range;
    const size_t n = all.to - all.from;
    if (!x->summing)
        memcpy(x->sum, x->head.s->gradient + all.from, n * sizeof *x->sum);
    x->summing = true;
    return x->sum +
           (cc_chunks_range(all, x->schedule.chunks, x->schedule.own_chunk, 1).from - all.from);
}

/* Encodes the whole sum of the own chunk, or what shards make of it. */
static int encode_owned(struct reduce_recode *x, struct cc_error *e)
{
    struct chunk *c = &x->chunk[x->schedule.own_chunk];
    uint8_t *payload = CC_OFFSET_OR_NULL(x->own, CC_SIZE_BYTES);
    c->at = payload;
    c->here = true;
    if (x->shards == NULL)
        return encode(x, x->owner, x->owner_first, x->own, &c->len, e);
    CC_TRY(cc_shards_update(x->shards, own_sum(x), e));
    CC_TRY(cc_shards_encode(x->shards, x->owner, x->sum, payload, &c->len, e));
    put_size(x->own, c->len);
    return CC_OK;
}

/* Begins the group of the current round, whose receives are posted already; the owner encodes its
 * chunk when the rounds that reduce are over. */
static int begin_group(struct reduce_recode *x, struct cc_error *e)
{
    const size_t end = cc_schedule_group_end(&x->schedule, x->current);
    bool moved;
    if (x->owner != NULL && x->current == x->schedule.reduce_rounds)
        CC_TRY(encode_owned(x, e));
    for (; x->begun < end; x->begun++) {
        CC_TRY(begin_send(x, x->begun, e));
        /* A payload is sent while the next one is encoded. */
        if (x->begun + 1 < end && !x->head.s->waits_its_turn)
            CC_TRY(cc_block_streams_progress(&x->streams, &moved, e));
    }
    post_receives(x, cc_schedule_group_end(&x->schedule, end));
    return CC_OK;
}

/* Whole sums are there: encodes the own one, and begins to gather. */
static int begin_gathering(struct reduce_recode *x, struct cc_error *e)
{
    bool moved;
    x->updates = false;
    CC_TRY(begin_group(x, e));
    CC_TRY(cc_block_streams_progress(&x->streams, &moved, e));
    return x->owner != NULL ? apply_chunks(x, x->schedule.own_chunk, 1, e) : CC_OK;
}

static int end_sums(struct reduce_recode *x, struct cc_error *e)
{
    if (x->shards == NULL)
        return begin_gathering(x, e);
    x->updates = true;
    cc_shards_begin(x->shards, own_sum(x), &x->streams);
    return CC_OK;
}

static int end_round(struct reduce_recode *x, struct cc_error *e)
{
    const size_t k = x->current;
    const struct cc_round *r = &x->schedule.round[k];
    const bool reduces = k < x->schedule.reduce_rounds;
    bool moved;
    if (x->round_state[k].in_capacity > 0)
        CC_TRY_IN(reduces ? add_received(x, k, e) : keep_received(x, k, e), e, "from rank %d",
                  r->from);
    x->current++;
    if (x->current == x->schedule.reduce_rounds)
        return end_sums(x, e);
    if (x->current >= x->begun)
        CC_TRY(begin_group(x, e));
    CC_TRY(cc_block_streams_progress(&x->streams, &moved, e));
    return reduces ? CC_OK : apply_chunks(x, r->recv_first, r->recv_count, e);
}

/* --- operations --- */

/* Encodes each of the own values once. */
static int encode_silently(struct reduce_recode *x, struct cc_error *e)
{
    size_t n;
    x->over = true;
    for (size_t k = 0; k < x->schedule.reduce_rounds; k++) {
        struct round_state *t = &x->round_state[k];
        if (t->encoder != NULL && t->first)
            CC_TRY(encode(x, t->encoder, true, t->out, &n, e));
    }
    return x->owner != NULL && x->owner_first ? encode(x, x->owner, true, x->own, &n, e) : CC_OK;
}

static int reduce_recode_start(void *of, struct cc_error *e)
{
    struct reduce_recode *x = of;
    bool moved;
    x->current = x->begun = x->posted = 0;
    x->updates = false;
    x->head.passed = false;
    x->summing = false;
    if (cc_silent(x->head.s, x->head.message))
        return encode_silently(x, e);
    x->over = false;
    memset(x->chunk, 0, x->schedule.chunks * sizeof *x->chunk);
    post_receives(x, cc_schedule_group_end(&x->schedule, 0));
    if (x->schedule.reduce_rounds == 0)
        return end_sums(x, e);
    CC_TRY(begin_group(x, e));
    return x->head.s->waits_its_turn ? CC_OK : cc_block_streams_progress(&x->streams, &moved, e);
}

/* Whether the first group of rounds is over; one that only sends is when that has left. */
static bool passed(const struct reduce_recode *x)
{
    const struct round_state *first = x->round_state;
    return x->current >= cc_schedule_group_end(&x->schedule, 0) &&
           (x->schedule.rounds == 0 || first->in_capacity > 0 ||
            cc_transfer_complete(&first->send));
}

static int reduce_recode_test(void *of, bool *done, struct cc_error *e)
{
    struct reduce_recode *x = of;
    bool moved = !x->over;
    while (moved) {
        moved = false;
        CC_TRY(cc_block_streams_progress(&x->streams, &moved, e));
        if (x->updates && cc_shards_ready(x->shards)) {
            CC_TRY(begin_gathering(x, e));
            moved = true;
        } else if (!x->updates && x->current < x->schedule.rounds &&
                   cc_transfer_complete(&x->round_state[x->current].recv)) {
            CC_TRY(end_round(x, e));
            moved = true;
        }
    }
    if (!x->over && !x->updates && x->current == x->schedule.rounds &&
        cc_block_stream_idle(&x->streams.out)) {
        x->over = true;
        if (!encodes_whole(x) && x->schedule.reduce_rounds == x->schedule.rounds)
            apply_sum(x);
    }
    x->head.passed = passed(x);
    *done = x->over;
    return CC_OK;
}

static void reduce_recode_close(void *of)
{
    struct reduce_recode *x = of;
    cc_block_streams_close(&x->streams);
    for (size_t k = 0; k < x->schedule.rounds && x->round_state != NULL; k++) {
        cc_pack_free(x->round_state[k].encoder);
        cc_pack_free(x->round_state[k].decoder);
        free(x->round_state[k].out);
        free(x->round_state[k].in);
    }
    cc_shards_close(x->shards);
    cc_chunks_close(x->all);
    cc_pack_free(x->owner);
    free(x->own);
    free(x->partial[0]);
    free(x->partial[1]);
    free(x->sum);
    free(x->chunk);
    free(x->round_state);
    free(x->schedule.round);
    free(x);
}

/* --- opening --- */

static struct cc_range chunk_values(const struct reduce_recode *x, size_t first, size_t count)
{
    return cc_chunks_range(x->head.range, x->schedule.chunks, first, count);
}

static bool is_empty(struct cc_range r)
{
    return r.from == r.to;
}

/* Whether none of the first `rounds` rounds encodes any value of `r`. */
static bool is_first(const struct reduce_recode *x, size_t rounds, struct cc_range r)
{
    for (size_t j = 0; j < rounds; j++)
        if (x->round_state[j].sent.to > r.from && x->round_state[j].sent.from < r.to)
            return false;
    return true;
}

/* A round in which partial sums move; *largest: the most bytes that any round receives. */
static int open_reducing_round(struct reduce_recode *x, size_t k, size_t *largest,
                               struct cc_error *e)
{
    const struct cc_rank_state *s = x->head.s;
    const struct cc_round *r = &x->schedule.round[k];
    const struct cc_range out = chunk_values(x, r->send_first, r->send_count);
    const struct cc_range in = chunk_values(x, r->recv_first, r->recv_count);
    struct round_state *t = &x->round_state[k];
    struct cc_pack_config config = {.seed = s->job->seed + r->salt,
                                    .rank = r->encodes_as,
                                    .inner = r->inner,
                                    .spec = r->inner ? s->inner : NULL,
                                    .sizes = r->inner ? s->inner_sizes : NULL};
    t->first = is_first(x, k, out);
    t->sent = out;
    if (!is_empty(out)) {
        config.workers = r->send_workers;
        CC_TRY(cc_message_pack_make(s, out, x->head.range.from, config, &t->encoder, e));
        t->out_capacity = CC_SIZE_BYTES + cc_pack_bound(t->encoder);
        CC_TRY(cc_data_alloc(s->job, t->out_capacity, &t->out, e));
    }
    if (!is_empty(in)) {
        config.workers = r->recv_workers;
        config.decodes_only = true;
        CC_TRY(cc_message_pack_make(s, in, x->head.range.from, config, &t->decoder, e));
        t->in_capacity = CC_SIZE_BYTES + cc_pack_bound(t->decoder);
        if (x->schedule.at_once > 0) /* all of these are received at a time */
            return cc_inbox_alloc(s, t->in_capacity, &t->in, e);
        *largest = t->in_capacity > *largest ? t->in_capacity : *largest;
    }
    return CC_OK;
}

/* The capacity for a message of whole sums; 0 without values. */
static size_t chunks_capacity(const struct reduce_recode *x, size_t first, size_t count)
{
    size_t bytes = count == 1 ? 0 : CC_SIZE_BYTES;
    if (is_empty(chunk_values(x, first, count)))
        return 0;
    for (size_t i = first; i < first + count; i++)
        bytes += CC_SIZE_BYTES + x->all->chunk[i].bound;
    return bytes;
}

/* A round in which whole sums are passed on. */
static int open_passing_round(struct reduce_recode *x, size_t k, struct cc_error *e)
{
    const struct cc_job *job = x->head.s->job;
    const struct cc_round *r = &x->schedule.round[k];
    struct round_state *t = &x->round_state[k];
    t->out_capacity = chunks_capacity(x, r->send_first, r->send_count);
    t->in_capacity = chunks_capacity(x, r->recv_first, r->recv_count);
    if (t->in_capacity > 0)
        CC_TRY(cc_inbox_alloc(x->head.s, t->in_capacity, &t->in, e));
    if (t->out_capacity > 0 && r->send_count > 1)
        CC_TRY(cc_data_alloc(job, t->out_capacity, &t->out, e));
    return CC_OK;
}

static int open_owner(struct reduce_recode *x, struct cc_error *e)
{
    const struct cc_rank_state *s = x->head.s;
    const struct cc_range r = chunk_values(x, x->schedule.own_chunk, 1);
    const struct cc_pack_config config = cc_chunks_config(s, &x->schedule);
    CC_TRY(cc_shards_open(x->head.s, x->head.message, r, &x->shards, e));
    if (!encodes_whole(x) || is_empty(r))
        return CC_OK;
    CC_TRY(cc_message_pack_make(s, r, x->head.range.from, config, &x->owner, e));
    x->owner_first = is_first(x, x->schedule.reduce_rounds, r);
    return cc_data_alloc(s->job, CC_SIZE_BYTES + cc_pack_bound(x->owner), &x->own, e);
}

static int open_rounds(struct reduce_recode *x, struct cc_error *e)
{
    const struct cc_rank_state *s = x->head.s;
    size_t largest = 0;
    CC_TRY(CC_NEW(x->round_state, x->schedule.rounds, e));
    CC_TRY(CC_NEW(x->chunk, x->schedule.chunks, e));
    if (s->job->data)
        CC_TRY(CC_NEW(x->sum, x->head.range.to - x->head.range.from, e));
    CC_TRY(cc_chunks_open(s, x->head.message, x->head.range, &x->schedule, &x->all, e));
    for (size_t k = 0; k < x->schedule.reduce_rounds; k++)
        CC_TRY(open_reducing_round(x, k, &largest, e));
    for (size_t k = x->schedule.reduce_rounds; k < x->schedule.rounds; k++)
        CC_TRY(open_passing_round(x, k, e));
    CC_TRY(open_owner(x, e));
    CC_TRY(cc_inbox_alloc(s, largest, &x->partial[0], e));
    return cc_inbox_alloc(s, largest, &x->partial[1], e);
}

static int reduce_recode_open(void *of, struct cc_error *e)
{
    struct reduce_recode *x = of;
    struct cc_rank_state *s = x->head.s;
    x->over = true;
    CC_TRY(cc_exchange_schedule(s, x->head.build, CC_SUMS_FOR_FIRST, &x->schedule, e));
    if (s->shared != NULL) /* elsewhere receives would be posted sooner than they are needed */
        cc_chunks_drop_empty(x->head.range, &x->schedule);
    CC_TRY(cc_block_streams_open(&x->streams, s, x->head.index,
                                 x->schedule.at_once > 0 ? x->schedule.at_once : 1, e));
    cc_block_streams_tag(&x->streams, x->head.channel);
    return open_rounds(x, e);
}

const struct cc_exchange_kind cc_reduce_recode = {
    .ops = {reduce_recode_start, reduce_recode_test, reduce_recode_close},
    .bytes = sizeof(struct reduce_recode),
    .open = reduce_recode_open};
