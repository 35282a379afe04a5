/* The reduction of floats: payloads, or one round of the scheme after the other (float_rounds.h),
 * are added as they are.
 *
 * The schedule's chunks become ranges of bytes. A rank's own floats lie in one buffer, and sums
 * arise in another (`floats`; the two may be one). A round sends a range of the sum or, before
 * anything was added there, of the rank's own floats. A round that reduces receives into a third
 * buffer (`received`) and makes the sum from that; a round that keeps whole sums receives in place.
 * So fp32's gradients are read where they are: nothing is copied to be sent or added.
 *
 * Ranks of one process read each other's floats (`peer`): a round takes its floats where their
 * sender has them, once that one has ended its earlier rounds. A round costs little more than its
 * additions, which matters where chunks are a few values. Where all make one sum, in rounds that
 * add to what they send, they use the streams as others do.
 *
 * Through streams everything moves by blocks, and rounds overlap: as soon as a block has been
 * received it is added, and may be sent in the next round, while the rest of its chunk is still
 * under way. The rounds before it decide what may be done, byte range by byte range:
 *
 *   send               once earlier rounds have added to those bytes, or received them;
 *   add                as send, and once earlier rounds and this one have sent what was there;
 *   receive to add     once earlier rounds have added what they received there; where rounds do not
 *                      wait for each other, each has a place of its own for that, and need not
 * wait; receive in place   as add: the bytes are overwritten.
 *
 * prepared() computes how many bytes at the beginning of a range are that far; look_ahead() applies
 * it to the rounds that are not over. Since blocks of a round directly follow those of the round
 * before, links do not idle between rounds as they would with one message per round. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/exchange/block_stream.h"
#include "netsim/exchange/float_rounds.h"
#include "netsim/exchange/exchange_code.h"
#include "netsim/exchange/data.h"

/* The state of one round of the schedule; ranges are in bytes. */
struct round_state {
    struct cc_range send, recv;
    bool adds;                   /* received floats are added; else they are kept */
    bool sends_sum, adds_to_sum; /* the sum so far; else own floats */
    size_t group;                /* the first of the rounds that do not wait for each other */
    size_t theirs;               /* with `peer`: the sender's round */
    struct cc_transfer out, in;
    size_t added; /* bytes of what was received that are added, or in their place */
};

struct reduce_sum {
    struct cc_exchange_head head;
    struct cc_schedule schedule;
    struct cc_float_rounds floats;
    struct round_state *round_state;
    size_t current;           /* the first round that is not over */
    struct reduce_sum **peer; /* [ranks], all ranks': they read each other's floats; otherwise NULL,
                                 and there are: */
    uint8_t *received;        /* floats to be added; NULL without data */
    size_t apart_bytes;       /* room for those of one of the rounds that are at once */
    struct cc_block_streams streams;
    /* With `peer`: */
    bool matched;        /* round_state[].theirs is known */
    uint64_t begun;      /* sums */
    size_t sends, taken; /* rounds that send, and those of them that have been read */
};

/* The end of the beginning of `want` that does not touch the part of `range` behind its first
 * `done` bytes. */
static size_t untouched_end(struct cc_range want, struct cc_range range, size_t done)
{
    const size_t open = range.from + done;
    const bool apart = open >= range.to || open >= want.to || range.to <= want.from;
    return apart ? want.to : cc_larger(open, want.from);
}

/* The number of bytes of `want`, from its beginning, that are as round k finds them: earlier rounds
 * have added to them. With `sent`, earlier rounds and round k have also sent them where they had
 * to. A round that has received all of `want` had waited for the rounds before it. */
static size_t prepared(const struct reduce_sum *x, size_t k, struct cc_range want, bool sent)
{
    const struct round_state *t = x->round_state;
    size_t end = want.to;
    if (sent)
        end = untouched_end(want, t[k].send, t[k].out.done);
    for (size_t j = k; j > x->current && end > want.from;) {
        const struct round_state *r = &t[--j];
        end = cc_smaller(end, untouched_end(want, r->recv, r->added));
        if (r->recv.from <= want.from && r->recv.to >= want.to)
            break;
        if (sent)
            end = cc_smaller(end, untouched_end(want, r->send, r->out.done));
    }
    return end - want.from;
}

static void add_to(float *restrict sum, const float *restrict v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += v[i];
}

static void add_floats(const float *restrict x, const float *restrict v, float *restrict sum,
                       size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] = x[i] + v[i];
}

/* Adds the next bytes that round k receives. */
static void add_bytes(struct reduce_sum *x, const struct round_state *t, const uint8_t *in,
                      size_t bytes)
{
    const size_t at = t->recv.from + t->added;
    const float *received = (const float *)(const void *)in;
    const float *own = (const float *)(const void *)(x->floats.own + at);
    float *sum = (float *)(void *)(x->floats.sum + at);
    if (t->adds_to_sum || own == sum)
        add_to(sum, received, bytes / sizeof *sum);
    else
        add_floats(own, received, sum, bytes / sizeof *sum);
}

/* Adds what round k has received and may add; takes note of it where it is kept. False: nothing
 * new. */
static bool add_received(struct reduce_sum *x, size_t k)
{
    struct round_state *t = &x->round_state[k];
    const struct cc_rank_state *s = x->head.s;
    size_t end = t->in.done;
    if (t->added < end && t->adds)
        end = cc_smaller(end, prepared(x, k, t->recv, true));
    if (t->added == end)
        return false;
    if (t->adds) {
        const size_t bytes = end - t->added;
        const struct cc_work_timer since = cc_work_begin_on(s->transport, bytes / sizeof(float));
        if (t->in.at != NULL)
            add_bytes(x, t, t->in.at + t->added, bytes);
        cc_charge(x->head.s, CC_PHASE_HOP, since,
                  cc_row_cost(s, s->job->reduce_byte_s * (double)bytes));
    }
    t->added = end;
    return true;
}

/* Finds for each round what may be posted, and adds what can be added; sets *moved if anything
 * was. */
static void look_ahead(struct reduce_sum *x, bool *moved)
{
    for (size_t k = x->current; k < x->schedule.rounds; k++) {
        struct round_state *t = &x->round_state[k];
        /* A round does not send what others at once with it have added. */
        const size_t before = x->round_state[k].group;
        if (t->out.ready < t->out.bytes)
            t->out.ready = prepared(x, before, t->send, false);
        if (t->in.ready < t->in.bytes)
            t->in.ready = prepared(x, k, t->recv, !t->adds);
        *moved |= add_received(x, k);
        if (k == x->current && cc_transfer_complete(&t->out) && t->added == t->in.bytes) {
            x->current++;
            x->head.passed |= x->current >= cc_schedule_group_end(&x->schedule, 0);
            *moved = true;
        }
        /* Later rounds must wait for both streams. */
        if (t->out.posted < t->out.bytes && t->in.posted < t->in.bytes)
            return;
    }
}

static int progress(struct reduce_sum *x, struct cc_error *e)
{
    bool moved = true;
    while (moved) {
        moved = false;
        look_ahead(x, &moved);
        CC_TRY(cc_block_streams_progress(&x->streams, &moved, e));
    }
    return CC_OK;
}

/* --- ranks of one process --- */

/* Finds the sender's round of each that receives: between two ranks, floats arrive in the order in
 * which they were sent. */
static int match(struct reduce_sum *x, struct cc_error *e)
{
    size_t *next; /* by rank: its round after the latest that was found */
    CC_TRY(CC_NEW(next, (size_t)x->head.s->job->workers, e));
    for (size_t k = 0; k < x->schedule.rounds; k++) {
        const int from = x->schedule.round[k].from;
        if (from < 0)
            continue;
        const struct cc_schedule *theirs = &x->peer[from]->schedule;
        while (next[from] < theirs->rounds && theirs->round[next[from]].to != x->head.s->rank)
            next[from]++;
        x->round_state[k].theirs = next[from]++;
    }
    free(next);
    x->matched = true;
    return CC_OK;
}

/* Whether the current round has nothing to wait for. */
static bool is_there(const struct reduce_sum *x)
{
    if (x->current == x->schedule.rounds)
        return false;
    const int from = x->schedule.round[x->current].from;
    return from < 0 || (x->peer[from]->begun == x->begun &&
                        x->peer[from]->current >= x->round_state[x->current].theirs);
}

/* Takes the current round's floats from their sender. */
static void take(struct reduce_sum *x)
{
    const struct round_state *t = &x->round_state[x->current];
    struct reduce_sum *from = x->peer[x->schedule.round[x->current].from];
    const uint8_t *floats =
        from->round_state[t->theirs].sends_sum ? from->floats.sum : from->floats.own;
    const size_t bytes = t->recv.to - t->recv.from;
    if (t->adds)
        add_bytes(x, t, floats + t->recv.from, bytes);
    else if (bytes > 0)
        memcpy(x->floats.sum + t->recv.from, floats + t->recv.from, bytes);
    from->taken++;
}

static int take_all(struct reduce_sum *x, struct cc_error *e)
{
    struct cc_rank_state *s = x->head.s;
    if (!x->matched)
        CC_TRY(match(x, e));
    if (!is_there(x))
        return CC_OK;
    const struct cc_work_timer since = cc_work_begin(s->transport);
    for (; is_there(x); x->current++)
        if (x->schedule.round[x->current].from >= 0)
            take(x);
    cc_charge(s, CC_PHASE_HOP, since, cc_row_cost(s, 0));
    s->transport->more = true;
    return CC_OK;
}

/* Whether all rounds are over. */
static bool is_summed(const struct reduce_sum *x)
{
    return x->current == x->schedule.rounds && (x->peer == NULL || x->taken == x->sends);
}

/* --- a sum --- */

/* The bytes of `count` chunks from `first` on. */
static struct cc_range chunk_bytes(const struct reduce_sum *x, size_t first, size_t count)
{
    const size_t n = x->floats.bytes / sizeof(float), chunks = x->schedule.chunks;
    const size_t begin = n / chunks * first + cc_smaller(first, n % chunks);
    const size_t end = n / chunks * (first + count) + cc_smaller(first + count, n % chunks);
    return (struct cc_range){begin * sizeof(float), end * sizeof(float)};
}

/* Adds the transfers of all rounds of one sum, if there is another sum. None needs a clear to send:
 * to wait for one between rounds, as reduce_recode does, would keep links idle (Rabenseifner's fp32
 * at 100 Mbit/s took 23% longer). */
static void begin_rounds(struct reduce_sum *x)
{
    x->current = x->taken = 0;
    x->begun++;
    for (size_t k = 0; k < x->schedule.rounds && x->floats.bytes > 0; k++) {
        const struct cc_round *r = &x->schedule.round[k];
        struct round_state *t = &x->round_state[k];
        t->send = chunk_bytes(x, r->send_first, r->send_count);
        t->recv = chunk_bytes(x, r->recv_first, r->recv_count);
        t->adds = k < x->schedule.reduce_rounds;
        t->added = 0;
        if (x->peer != NULL)
            continue;
        const bool apart = t->adds && x->schedule.at_once > 0;
        uint8_t *to = t->adds ? x->received : x->floats.sum;
        /* A transfer that is sent is only read. */
        uint8_t *from = t->sends_sum ? x->floats.sum : (uint8_t *)(uintptr_t)x->floats.own;
        t->out = (struct cc_transfer){.peer = r->to,
                                      .at = CC_OFFSET_OR_NULL(from, t->send.from),
                                      .bytes = t->send.to - t->send.from};
        t->in = (struct cc_transfer){
            .peer = r->from,
            .at = CC_OFFSET_OR_NULL(to, apart ? k * x->apart_bytes : t->recv.from),
            .bytes = t->recv.to - t->recv.from};
        t->in.ready = apart ? t->in.bytes : 0;
        cc_block_stream_add(&x->streams.out, &t->out);
        cc_block_stream_add(&x->streams.in, &t->in);
    }
}

/* A gathering begins with the own chunk as it is. */
static void take_own(struct reduce_sum *x)
{
    const struct cc_range own = chunk_bytes(x, x->schedule.own_chunk, 1);
    if (x->head.s->job->op == CC_ALL_GATHER && x->floats.own != NULL && x->schedule.rounds > 0 &&
        x->floats.sum != x->floats.own)
        memcpy(x->floats.sum + own.from, x->floats.own + own.from, own.to - own.from);
}

/* A reduce-scatter leaves a rank with the sum of its own chunk. */
static void set_whole(struct reduce_sum *x)
{
    const struct cc_range own = chunk_bytes(x, x->schedule.own_chunk, 1), all = x->head.range;
    if (x->head.s->job->op == CC_REDUCE_SCATTER && x->schedule.owns_chunk)
        x->floats.whole = (struct cc_range){all.from + own.from / sizeof(float),
                                            all.from + own.to / sizeof(float)};
}

static int reduce_sum_start(void *of, struct cc_error *e)
{
    struct reduce_sum *x = of;
    x->head.passed = x->peer != NULL;
    CC_TRY(cc_float_rounds_start(&x->floats, e));
    take_own(x);
    set_whole(x);
    begin_rounds(x);
    return CC_OK;
}

static int reduce_sum_test(void *of, bool *done, struct cc_error *e)
{
    struct reduce_sum *x = of;
    while (x->floats.bytes > 0) {
        CC_TRY(x->peer != NULL ? take_all(x, e) : progress(x, e));
        if (!is_summed(x))
            break;
        if (x->head.s->hold_sums && cc_float_rounds_last(&x->floats)) {
            *done = true;
            return CC_OK;
        }
        CC_TRY(cc_float_rounds_next(&x->floats,
                                    x->schedule.rounds > 0 ? x->floats.sum : x->floats.own, e));
        begin_rounds(x);
    }
    *done = x->floats.bytes == 0;
    return CC_OK;
}

static void reduce_sum_close(void *of)
{
    struct reduce_sum *x = of;
    cc_block_streams_close(&x->streams);
    cc_float_rounds_close(&x->floats);
    free(x->schedule.round);
    free(x->received);
    free(x->round_state);
    free(x);
}

/* Notes for each round whether an earlier one has added to what it sends, or to what it receives:
 * schedules have no round of which only a part has been added to. summed: [chunks], false. */
static void follow_chunks(const struct reduce_sum *x, bool *summed)
{
    for (size_t k = 0, group = 0; k < x->schedule.rounds; k++) {
        const struct cc_round *r = &x->schedule.round[k];
        group = cc_schedule_group_end(&x->schedule, group) <= k ? k : group;
        x->round_state[k].group = group;
        x->round_state[k].sends_sum = r->send_count > 0 && summed[r->send_first];
        x->round_state[k].adds_to_sum = r->recv_count > 0 && summed[r->recv_first];
        for (size_t i = 0; i < r->recv_count; i++)
            summed[r->recv_first + i] = true;
    }
}

static int open_received(struct reduce_sum *x, struct cc_error *e)
{
    const size_t all = cc_pack_bound(x->floats.pack), value = sizeof(float);
    const bool apart = x->schedule.at_once > 0;
    size_t chunks = 1;
    for (size_t k = 0; k < x->schedule.reduce_rounds; k++)
        chunks = cc_larger(chunks, x->schedule.round[k].recv_count);
    x->apart_bytes = (all / value / x->schedule.chunks + 1) * chunks * value;
    return cc_data_alloc(x->head.s->job, apart ? x->schedule.reduce_rounds * x->apart_bytes : all,
                         &x->received, e);
}

static int reduce_sum_open(void *of, struct cc_error *e)
{
    struct reduce_sum *x = of;
    struct cc_rank_state *s = x->head.s;
    uint8_t *peers;
    bool *summed;
    CC_TRY(cc_float_rounds_open(&x->floats, s, x->head.range, e));
    if (s->job->op != CC_ALLREDUCE && !cc_pack_verbatim(x->floats.pack))
        return cc_fail(e, "%s: %s needs payloads of which a part is a part of the values",
                       s->row->scheme, cc_operation_names[s->job->op]);
    const enum cc_sums sums = cc_pack_verbatim(x->floats.pack) ? CC_SUMS_TREE : CC_SUMS_FOR_ALL;
    CC_TRY(cc_exchange_schedule(s, x->head.build, sums, &x->schedule, e));
    CC_TRY(CC_NEW(x->round_state, x->schedule.rounds, e));
    CC_TRY(CC_NEW(summed, x->schedule.chunks, e));
    /* The gathered chunks are where sums would be (take_own). */
    summed[x->schedule.own_chunk] = s->job->op == CC_ALL_GATHER;
    follow_chunks(x, summed);
    free(summed);
    if (s->shared == NULL || !s->job->data || (sums != CC_SUMS_TREE && x->schedule.chunks == 1)) {
        CC_TRY(cc_block_streams_open(&x->streams, s, x->head.index, x->schedule.at_once, e));
        cc_block_streams_tag(&x->streams, x->head.channel);
        return open_received(x, e);
    }
    for (size_t k = 0; k < x->schedule.rounds; k++)
        x->sends += x->schedule.round[k].to >= 0;
    const size_t ranks = (size_t)s->job->workers;
    CC_TRY(cc_room_alloc(s, x->head.channel, 0, ranks * sizeof *x->peer, &peers, e));
    x->peer = (struct reduce_sum **)(void *)peers;
    x->peer[s->rank] = x;
    return CC_OK;
}

const struct cc_exchange_kind cc_reduce_sum = {
    .ops = {reduce_sum_start, reduce_sum_test, reduce_sum_close},
    .bytes = sizeof(struct reduce_sum),
    .open = reduce_sum_open};
