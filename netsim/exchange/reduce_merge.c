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
 * With the job's `keep`, the owner of a sum leaves out what is below the threshold of the step
 * (pair_keep.h) before anyone sees it; ranks that have the same sum leave out the same. Each worker
 * gives back what it has sent in vain to the codecs when it applies a chunk.
 *
 * The result is applied from where it is: a received stream from its buffer, this rank's own sum
 * from memory. dsar-split sends all values of a chunk, as floats or, with dense_bits below 32, as
 * QSGD quantizes them; its owner, too, then applies what the others decode. */
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "netsim/exchange/message_pack.h"
#include "netsim/exchange/reduce_merge_impl.h"
#include "netsim/exchange/data.h"
#include "schemes/spec.h"

static bool has_data(const struct cc_merge *x)
{
    return x->rank_state->job->data;
}

static bool overlap(struct cc_stream_range a, struct cc_stream_range b)
{
    return a.from < b.to && b.from < a.to;
}

/* --- agreement of the ranks --- */

static int check_tag(const struct cc_merge *x, int rank, uint32_t tag, struct cc_error *e)
{
    const struct cc_rank_state *s = x->rank_state;
    const uint32_t exchange = tag & 0xff;
    if (tag == x->tag)
        return CC_OK;
    if (exchange != (x->tag & 0xff))
        return cc_fail(e, "rank %d exchanges by %s, this rank by %s", rank,
                       exchange < CC_EXCHANGE_COUNT ? cc_exchange_names[exchange] : "another way",
                       cc_exchange_names[x->exchange]);
    return cc_fail(e, "rank %d sends another scheme than this rank's, %s", rank, s->spec->name);
}

/* --- adding --- */

/* Checks what round k has received. */
static int take_received(struct cc_merge *x, size_t k, struct cc_error *e)
{
    struct cc_merge_round *t = &x->round_state[k];
    const int from = x->schedule.round[k].from;
    t->taken = true;
    if (t->in_capacity == 0 || !has_data(x))
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
static void sum_group(struct cc_merge *x, const struct cc_merge_group *g, struct cc_stream *to)
{
    const struct cc_rank_state *s = x->rank_state;
    const struct cc_stream_view own = cc_stream_view_of(x->held);
    size_t parts = 0;
    for (int rank = 0; rank < s->job->workers; rank++) {
        if (rank == s->rank) {
            x->part[parts++] = (struct cc_stream_part){.view = &own};
            continue;
        }
        for (size_t k = g->first; k < g->end; k++)
            if (x->schedule.round[k].from == rank) {
                x->part[parts++] = (struct cc_stream_part){.view = &x->round_state[k].view};
                x->sent += x->round_state[k].view.head.sent;
            }
    }
    cc_stream_sum(x->part, parts, x->round_state[g->first].received, x->scratch, to);
    x->held = to;
}

/* The seconds of adding the group's streams: of all that they have in memory, this rank's own
 * stream among them, which is taken to be as long as the others. */
static double merge_cost_s(const struct cc_merge *x, const struct cc_merge_group *g)
{
    const struct cc_rank_state *s = x->rank_state;
    const double received = (double)(g->end - g->first);
    double bytes = 0;
    for (size_t k = g->first; k < g->end; k++) {
        const struct cc_stream_range r = x->round_state[k].received;
        const size_t pairs = has_data(x)
                                 ? x->round_state[k].view.head.pairs
                                 : cc_merge_sum_pairs(x, r, x->schedule.round[k].recv_workers);
        bytes += (double)cc_stream_memory(cc_range_length(r), pairs);
    }
    return cc_row_cost(s, s->job->merge_byte_s * bytes * (received + 1) / received);
}

/* Adds a group that is there. */
static int add_group(struct cc_merge *x, const struct cc_merge_group *g, struct cc_error *e)
{
    for (size_t k = g->first; k < g->end; k++)
        if (!x->round_state[k].taken)
            CC_TRY(take_received(x, k, e));
    struct cc_stream *to = &x->sum[x->added++ % 2];
    if (cc_range_length(x->round_state[g->first].received) == 0)
        return CC_OK;
    const struct cc_work_timer since = cc_work_begin(x->rank_state->transport);
    if (has_data(x))
        sum_group(x, g, to);
    cc_charge(x->rank_state, CC_PHASE_HOP, since, merge_cost_s(x, g));
    return CC_OK;
}

/* --- whole sums --- */

static int open_chunk(const struct cc_merge *x, struct cc_merge_chunk *c, int from,
                      struct cc_error *e)
{
    if (c->len >= CC_STREAM_HEAD)
        CC_TRY(check_tag(x, from, cc_get_u32(c->at + 4), e));
    int status = cc_stream_open(c->at, c->len, c->range, cc_range_length(c->range), &c->view, e);
    c->quantized = status == CC_OK && c->view.kind == CC_STREAM_PACK;
    const bool expected = c->decoder != NULL && cc_merge_dense(x, c->view.head.sent);
    if (status == CC_OK && c->quantized != expected)
        status = cc_fail(e, "a sum that is %squantized", expected ? "not " : "");
    if (status != CC_OK)
        cc_error_in(e, "from rank %d", from);
    return status;
}

/* Finds the streams in the message that round k has received. */
static int keep_received(struct cc_merge *x, size_t k, struct cc_error *e)
{
    struct cc_merge_round *t = &x->round_state[k];
    const struct cc_round *r = &x->schedule.round[k];
    size_t at = r->recv_count == 1 ? 0 : CC_SIZE_BYTES;
    t->taken = true;
    for (size_t i = r->recv_first; i < r->recv_first + r->recv_count && t->in_capacity > 0; i++) {
        struct cc_merge_chunk *c = &x->chunk[i];
        c->here = x->news = true;
        if (c->bound == 0 || !has_data(x))
            continue;
        const size_t left = t->recv.bytes - at;
        const uint64_t n = left >= CC_SIZE_BYTES ? cc_get_u64(t->recv.at + at) : 0;
        if (left < CC_SIZE_BYTES || n > left - CC_SIZE_BYTES || (n % 4 != 0 && r->recv_count > 1))
            return cc_fail(e, "from rank %d: the message ends within chunk %zu", r->from, i);
        c->at = t->recv.at + at + CC_SIZE_BYTES;
        c->len = n;
        at += CC_SIZE_BYTES + n;
        CC_TRY(open_chunk(x, c, r->from, e));
    }
    return CC_OK;
}

/* Makes the message of the chunks that a round passes on. A single stream is sent from where it
 * is. */
static void pack_chunks(const struct cc_merge *x, struct cc_merge_round *t,
                        const struct cc_round *r)
{
    size_t at = CC_SIZE_BYTES;
    t->send.bytes = cc_merge_chunks_bytes(x, r->send_first, r->send_count);
    if (!has_data(x))
        return;
    if (r->send_count == 1) {
        const struct cc_merge_chunk *c = &x->chunk[r->send_first];
        t->send.at = (uint8_t *)(uintptr_t)c->at - CC_SIZE_BYTES; /* it is only read */
        return;
    }
    for (size_t i = r->send_first; i < r->send_first + r->send_count; i++) {
        const struct cc_merge_chunk *c = &x->chunk[i];
        if (c->bound == 0)
            continue;
        cc_put_u64(t->out + at, c->len);
        memcpy(t->out + at + CC_SIZE_BYTES, c->at, c->len);
        at += CC_SIZE_BYTES + c->len;
    }
    cc_put_u64(t->out, at - CC_SIZE_BYTES);
    t->send.at = t->out;
}

/* Encodes all values of the own chunk by the second scheme. */
static int quantize(struct cc_merge *x, struct cc_merge_chunk *c, uint8_t *out, size_t *len,
                    struct cc_error *e)
{
    const uint32_t n = (uint32_t)cc_range_length(c->range);
    const struct cc_stream_head head = {.values = n, .pairs = n, .tag = x->tag, .sent = x->sent};
    size_t pack_head;
    cc_stream_expand(x->held, c->range, x->values);
    cc_stream_put_head(&head, CC_STREAM_PACK, out);
    CC_TRY(cc_pack_encode(x->quantizer, x->rank_state->step, x->values, out + CC_STREAM_HEAD, len,
                          &pack_head, e));
    *len += CC_STREAM_HEAD;
    return CC_OK;
}

/* Leaves out of this rank's whole sum what the step does not keep. */
static void prune_own(struct cc_merge *x)
{
    struct cc_rank_state *s = x->rank_state;
    struct cc_stream *sum = &x->sum[(x->added + 1) % 2];
    const struct cc_work_timer since = cc_work_begin(s->transport);
    if (has_data(x) && x->held == sum)
        cc_keep_prune(&x->gradient->keep, sum);
    cc_charge(s, CC_PHASE_HOP, since, cc_row_cost(s, 0));
}

/* Encodes this rank's whole sum, for the others. */
static int encode_own(struct cc_merge *x, struct cc_error *e)
{
    struct cc_rank_state *s = x->rank_state;
    struct cc_merge_chunk *c = &x->chunk[x->schedule.own_chunk];
    const struct cc_work_timer since = cc_work_begin(s->transport);
    struct cc_stream_head head = {.tag = x->tag, .sent = x->sent};
    const bool dense = cc_merge_dense(x, x->sent);
    c->quantized = dense && x->quantizer != NULL;
    if (has_data(x)) {
        uint8_t *out = x->whole + CC_SIZE_BYTES;
        c->at = out;
        if (c->quantized)
            CC_TRY(quantize(x, c, out, &c->len, e));
        else
            c->len =
                cc_stream_encode(x->held, c->range, s->job->wire, dense, &head, x->scratch, out);
        cc_put_u64(x->whole, c->len);
    }
    c->here = x->news = true;
    cc_charge(s, CC_PHASE_HOP, since, cc_row_cost(s, 0));
    return c->quantized ? open_chunk(x, c, s->rank, e) : CC_OK;
}

/* --- the mean --- */

/* The seconds of decoding `r`: its part of the message's. */
static double apply_cost_s(const struct cc_merge *x, struct cc_stream_range r)
{
    const size_t n = x->range.to - x->range.from;
    return n > 0 ? cc_pack_cost(x->gradient->pack, CC_PACK_ADD) * (double)cc_range_length(r) /
                       (double)n
                 : 0;
}

/* Gives back to the codecs what this worker has sent in vain among a chunk's values. */
static void give_back(struct cc_merge *x, const struct cc_merge_chunk *c, bool held)
{
    struct cc_merge_gradient *g = x->gradient;
    const struct cc_stream_view own = cc_stream_view_of(x->held);
    struct cc_stream_part part = {.view = held ? &own : &c->view};
    cc_keep_take(&g->keep, &part, c->range, &g->own, x->scratch);
    cc_pack_give_back(g->pack, g->keep.vain, g->keep.vains);
}

/* Adds a chunk's mean to the model. `held`: this rank has it in memory, not as it is sent. */
static int apply(struct cc_merge *x, struct cc_merge_chunk *c, bool held, struct cc_error *e)
{
    struct cc_rank_state *s = x->rank_state;
    const struct cc_work_timer since = cc_work_begin(s->transport);
    const float scale = 1.0f / (float)s->job->workers;
    float *y = CC_OFFSET_OR_NULL(s->model, x->range.from);
    int status = CC_OK;
    c->applied = true;
    if (s->contributes)
        ;
    else if (c->quantized)
        status =
            cc_pack_decode_add(c->decoder, s->step, c->view.pack, c->view.pack_bytes, scale, y, e);
    else if (has_data(x)) {
        const struct cc_stream_view own = cc_stream_view_of(x->held);
        cc_stream_view_apply(held ? &own : &c->view, scale, y);
    }
    if (x->gradient->prunes && has_data(x))
        give_back(x, c, held);
    cc_charge(s, CC_PHASE_DECODE, since, apply_cost_s(x, c->range));
    return status;
}

/* Applies the chunks that are here. */
static int apply_chunks(struct cc_merge *x, struct cc_error *e)
{
    if (!x->news || x->rank_state->hold_sums)
        return CC_OK;
    x->news = false;
    for (size_t i = 0; i < x->schedule.chunks; i++) {
        struct cc_merge_chunk *c = &x->chunk[i];
        if (c->here && !c->applied && c->bound > 0)
            CC_TRY(apply(x, c, x->has_sum && i == x->schedule.own_chunk, e));
    }
    return CC_OK;
}

/* --- rounds --- */

/* Whether what round k sends is there. */
static bool is_ready(const struct cc_merge *x, size_t k)
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

/* Encodes a part of the values that this rank has. */
static void encode_part(struct cc_merge *x, struct cc_merge_round *t, const struct cc_round *r)
{
    struct cc_rank_state *s = x->rank_state;
    const struct cc_work_timer since = cc_work_begin(s->transport);
    struct cc_stream_head head = {.tag = x->tag, .sent = x->sent};
    if (has_data(x)) {
        const size_t n = cc_stream_encode(x->held, t->sent, s->job->wire, false, &head, x->scratch,
                                          t->out + CC_SIZE_BYTES);
        cc_put_u64(t->out, n);
        t->send.bytes = CC_SIZE_BYTES + n;
    } else {
        t->send.bytes = cc_merge_message_bytes(x, t->sent, r->send_workers);
    }
    t->send.at = t->out;
    cc_charge(s, x->added > 0 ? CC_PHASE_HOP : CC_PHASE_ENCODE, since, cc_row_cost(s, 0));
}

/* Ranks that do not agree on exchange, scheme or values do not agree on lengths either, which MPI
 * or the block stream finds first. If the head of the message is there, it tells why. */
static void explain(const struct cc_merge *x, struct cc_error *e)
{
    size_t k = 0;
    while (k < x->schedule.rounds && cc_transfer_complete(&x->round_state[k].recv))
        k++;
    if (!has_data(x) || k == x->schedule.rounds ||
        x->round_state[k].recv.posted < CC_SIZE_BYTES + CC_STREAM_HEAD ||
        x->schedule.round[k].recv_count != 1)
        return;
    if (x->round_state[k].recv.at == NULL)
        return;
    const uint8_t *head = x->round_state[k].recv.at + CC_SIZE_BYTES;
    const int from = x->schedule.round[k].from;
    const size_t n = cc_range_length(cc_merge_values(x, x->schedule.round[k].recv_first, 1));
    const uint32_t values = cc_get_u32(head + 8);
    if (check_tag(x, from, cc_get_u32(head + 4), e) == CC_OK && values != n)
        (void)cc_fail(e, "from rank %d: a stream of %lu values where %zu are expected", from,
                      (unsigned long)values, n);
}

static int progress(struct cc_merge *x, bool *moved, struct cc_error *e)
{
    const int status = cc_block_streams_progress(&x->streams, moved, e);
    if (status != CC_OK)
        explain(x, e);
    return status;
}

/* Begins the rounds whose messages can be made by now. */
static int begin_ready(struct cc_merge *x, bool *moved, struct cc_error *e)
{
    while (x->begun < x->schedule.rounds && is_ready(x, x->begun)) {
        struct cc_merge_round *t = &x->round_state[x->begun];
        const struct cc_round *r = &x->schedule.round[x->begun];
        t->send = (struct cc_transfer){.peer = r->to, .sized = true, .needs_clear = r->needs_clear};
        if (t->out_capacity > 0 && x->begun < x->schedule.reduce_rounds)
            encode_part(x, t, r);
        else if (t->out_capacity > 0)
            pack_chunks(x, t, r);
        t->send.ready = t->send.bytes;
        cc_block_stream_add(&x->streams.out, &t->send);
        x->begun++;
        CC_TRY(progress(x, moved, e));
        *moved = true;
    }
    return CC_OK;
}

/* After the last group: the own chunk is complete. */
static int end_sums(struct cc_merge *x, struct cc_error *e)
{
    struct cc_merge_chunk *c = &x->chunk[x->schedule.own_chunk];
    if (!x->has_sum || c->here || x->added < x->groups)
        return CC_OK;
    if (x->gradient->prunes)
        prune_own(x);
    if (x->encodes_own)
        CC_TRY(encode_own(x, e));
    c->here = x->news = true;
    return CC_OK;
}

/* Adds the groups that are complete. */
static int add_groups(struct cc_merge *x, bool *moved, struct cc_error *e)
{
    while (x->added < x->groups) {
        const struct cc_merge_group *g = &x->group[x->added];
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

static int keep_complete(struct cc_merge *x, bool *moved, struct cc_error *e)
{
    for (size_t k = x->schedule.reduce_rounds; k < x->schedule.rounds; k++) {
        struct cc_merge_round *t = &x->round_state[k];
        if (t->taken || !cc_transfer_complete(&t->recv))
            continue;
        CC_TRY(keep_received(x, k, e));
        *moved = true;
    }
    return CC_OK;
}

/* --- operations --- */

/* The most bytes that round k receives; without data, those that it does receive. */
static size_t receivable(const struct cc_merge *x, size_t k)
{
    const struct cc_merge_round *t = &x->round_state[k];
    const struct cc_round *r = &x->schedule.round[k];
    if (has_data(x))
        return t->in_capacity;
    return k < x->schedule.reduce_rounds ? cc_merge_message_bytes(x, t->received, r->recv_workers)
                                         : cc_merge_chunks_bytes(x, r->recv_first, r->recv_count);
}

static void post_receives(struct cc_merge *x)
{
    for (size_t k = 0; k < x->schedule.rounds; k++) {
        struct cc_merge_round *t = &x->round_state[k];
        const struct cc_round *r = &x->schedule.round[k];
        const size_t bytes = receivable(x, k);
        t->taken = false;
        t->recv = (struct cc_transfer){.peer = r->from,
                                       .at = t->in,
                                       .bytes = bytes,
                                       .ready = bytes,
                                       .sized = t->in_capacity > 0,
                                       .needs_clear = r->needs_clear};
        cc_block_stream_add(&x->streams.in, &t->recv);
    }
}

void cc_merge_start(struct cc_merge *x)
{
    x->held = &x->gradient->own;
    x->sent = x->gradient->own.count;
    x->added = x->begun = 0;
    for (size_t i = 0; i < x->schedule.chunks; i++)
        x->chunk[i].here = x->chunk[i].applied = false;
    if (!has_data(x))
        cc_merge_set_lengths(x);
    post_receives(x);
}

static bool all_kept(const struct cc_merge *x)
{
    for (size_t k = x->schedule.reduce_rounds; k < x->schedule.rounds; k++)
        if (!x->round_state[k].taken)
            return false;
    return true;
}

/* Whether everything has been sent, received and added. */
static bool is_complete(const struct cc_merge *x)
{
    return x->begun == x->schedule.rounds && x->added == x->groups && all_kept(x) &&
           cc_block_stream_idle(&x->streams.out);
}

/* Counts what the step has kept, and sets the threshold of the next one. */
static void end_step(struct cc_merge *x)
{
    struct cc_merge_gradient *g = x->gradient;
    if (!g->prunes)
        return;
    x->rank_state->counters.kept += has_data(x) ? g->keep.kept : cc_merge_kept_pairs(x);
    if (has_data(x))
        cc_keep_end_step(&g->keep);
}

int cc_merge_test(struct cc_merge *x, bool *done, struct cc_error *e)
{
    bool moved = true;
    while (moved) {
        moved = false;
        CC_TRY(begin_ready(x, &moved, e));
        CC_TRY(progress(x, &moved, e));
        CC_TRY(add_groups(x, &moved, e));
        CC_TRY(keep_complete(x, &moved, e));
        CC_TRY(begin_ready(x, &moved, e));
        CC_TRY(apply_chunks(x, e));
    }
    *done = is_complete(x);
    if (!*done || x->rank_state->hold_sums)
        return CC_OK;
    CC_TRY(apply_chunks(x, e)); /* those that were held */
    end_step(x);
    return CC_OK;
}

uint64_t cc_merge_pairs(const struct cc_merge *x)
{
    if (!has_data(x))
        return cc_merge_known_pairs(x->gradient);
    if (x->has_sum && x->chunk[x->schedule.own_chunk].bound > 0)
        return x->sent;
    for (size_t i = 0; i < x->schedule.chunks; i++)
        if (x->chunk[i].bound > 0)
            return x->chunk[i].view.head.sent;
    return 0;
}
