/* Floats that are added as they are: payloads, or one round of the scheme after the other.
 *
 * Everything moves by blocks: as soon as a block has come, it is added and may go on in the next
 * round. Each round says what it sends and receives; which block may go, be received or be added
 * follows from what earlier rounds have done to the same floats. */
#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "netsim/mpi/runtime/data.h"
#include "netsim/mpi/exchange/block_stream.h"
#include "netsim/mpi/exchange/reduction.h"

/* One round of the plan, in bytes of the payload. */
struct round_state {
    struct cc_range send, recv;
    bool adds;
    struct cc_transfer out, in;
    size_t added; /* of what came, and is in its place */
};

struct sums {
    const struct cc_reduction_ops *way;
    struct cc_rank_state *rank_state;
    struct cc_schedule plan;
    struct cc_floats has; /* the own floats, then the sum */
    uint8_t *come;        /* floats that come to be added; NULL without data */
    struct round_state *round_state;
    size_t low; /* the first turn that is not over */
    struct cc_block_stream out, in;
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* How far `want` can be gone through if all but the first `done` bytes of `range` are not settled.
 */
static size_t before(struct cc_range want, struct cc_range range, size_t done)
{
    size_t open = range.from + done;
    bool apart = open >= range.to || open >= want.to || range.to <= want.from;
    return apart ? want.to : larger(open, want.from);
}

/* How many bytes of `want`, from its beginning, are as turn k finds them: earlier turns have added
 * to them. With `sent`, they have also been sent where they had to be. */
static size_t settled(const struct sums *x, size_t k, struct cc_range want, bool sent)
{
    size_t end = want.to;
    for (size_t j = x->low; j < k; j++)
        end = smaller(end, before(want, x->round_state[j].recv, x->round_state[j].added));
    for (size_t j = x->low; j <= k && sent; j++)
        end = smaller(end, before(want, x->round_state[j].send, x->round_state[j].out.done));
    return end - want.from;
}

static void add_floats(float *restrict sum, const float *restrict v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += v[i];
}

/* Of adding. */
static double cost_of(const struct sums *x, size_t bytes)
{
    const struct cc_rank_state *s = x->rank_state;
    return s->row->cost != NULL ? s->job->reduce_byte_s * (double)bytes : (double)NAN;
}

/* Adds what of turn k has come; what is kept came to its place. */
static bool add(struct sums *x, size_t k)
{
    struct round_state *t = &x->round_state[k];
    size_t end = t->in.done;
    if (t->added == end)
        return false;
    if (t->adds)
        end = smaller(end, settled(x, k, t->recv, true));
    if (t->added == end)
        return false;
    if (t->adds) {
        const struct cc_work_timer since = cc_work_begin();
        const size_t at = t->recv.from + t->added;
        if (x->come != NULL)
            add_floats((float *)(void *)(x->has.at + at),
                       (const float *)(const void *)(x->come + at),
                       (end - t->added) / sizeof(float));
        cc_charge(x->rank_state, CC_PHASE_HOP, since, cost_of(x, end - t->added));
    }
    t->added = end;
    return true;
}

static bool turn_over(const struct round_state *t)
{
    return cc_transfer_complete(&t->out) && t->added == t->in.bytes;
}

/* What may be posted, and what can be added; *moved if something was. */
static void look(struct sums *x, bool *moved)
{
    for (size_t k = x->low; k < x->plan.rounds; k++) {
        struct round_state *t = &x->round_state[k];
        t->out.ready = settled(x, k, t->send, false);
        t->in.ready = settled(x, k, t->recv, !t->adds);
        *moved |= add(x, k);
        if (k == x->low && turn_over(t)) {
            x->low++;
            *moved = true;
        }
        /* The turns behind must wait for both streams. */
        if (t->out.posted < t->out.bytes && t->in.posted < t->in.bytes)
            return;
    }
}

/* As far as the sum gets without waiting. */
static int go(struct sums *x, struct cc_error *e)
{
    bool moved = true;
    while (moved) {
        moved = false;
        look(x, &moved);
        int status = cc_block_stream_go(&x->in, &moved, e);
        if (status == CC_OK)
            status = cc_block_stream_go(&x->out, &moved, e);
        if (status != CC_OK)
            return status;
    }
    return CC_OK;
}

/* Chunks of the payload, in bytes. */
static struct cc_range range_of(const struct sums *x, size_t first, size_t count)
{
    const size_t n = x->has.bytes / sizeof(float), chunks = x->plan.chunks;
    size_t begin = n / chunks * first + smaller(first, n % chunks);
    size_t end = n / chunks * (first + count) + smaller(first + count, n % chunks);
    return (struct cc_range){begin * sizeof(float), end * sizeof(float)};
}

/* Blocks of a turn follow those of the turn before at once: to ask between them, as hops do, would
 * keep links idle (Rabenseifner's fp32 at 100 Mbit/s took 23% longer). */
static void begin_turn(struct sums *x, size_t k)
{
    const struct cc_round *r = &x->plan.round[k];
    struct round_state *t = &x->round_state[k];
    *t = (struct round_state){.send = range_of(x, r->send, r->sends),
                              .recv = range_of(x, r->recv, r->recvs),
                              .adds = k < x->plan.reduces};
    uint8_t *to = t->adds ? x->come : x->has.at;
    t->out = (struct cc_transfer){.peer = r->to,
                                  .at = CC_OFFSET_OR_NULL(x->has.at, t->send.from),
                                  .bytes = t->send.to - t->send.from};
    t->in = (struct cc_transfer){.peer = r->from,
                                 .at = CC_OFFSET_OR_NULL(to, t->recv.from),
                                 .bytes = t->recv.to - t->recv.from};
    cc_block_stream_add(&x->out, &t->out);
    cc_block_stream_add(&x->in, &t->in);
}

/* The turns of the next sum, if there is one. */
static void begin_turns(struct sums *x)
{
    x->low = 0;
    for (size_t k = 0; k < x->plan.rounds && x->has.bytes > 0; k++)
        begin_turn(x, k);
}

static int sums_start(void *of, struct cc_error *e)
{
    struct sums *x = of;
    int status = cc_floats_start(&x->has, e);
    if (status == CC_OK)
        begin_turns(x);
    return status;
}

static int sums_test(void *of, bool *done, struct cc_error *e)
{
    struct sums *x = of;
    int status = CC_OK;
    while (x->has.bytes > 0 && status == CC_OK) {
        status = go(x, e);
        if (status != CC_OK || x->low < x->plan.rounds)
            break;
        status = cc_floats_next(&x->has, e);
        if (status == CC_OK)
            begin_turns(x);
    }
    *done = x->has.bytes == 0;
    return status;
}

static void sums_close(void *of)
{
    struct sums *x = of;
    cc_block_stream_close(&x->out);
    cc_block_stream_close(&x->in);
    cc_floats_close(&x->has);
    free(x->plan.round);
    free(x->come);
    free(x->round_state);
    free(x);
}

static const struct cc_reduction_ops sums_way = {sums_start, sums_test, sums_close};

static int make(struct sums *x, const struct cc_job_message *m, struct cc_error *e)
{
    int status = cc_floats_open(&x->has, x->rank_state, m, e);
    if (status != CC_OK)
        return status;
    x->round_state = cc_alloc0(x->plan.rounds * sizeof *x->round_state, e);
    return x->round_state != NULL
               ? cc_data_alloc(x->rank_state->job, cc_pack_bound(x->has.pack), &x->come, e)
               : CC_FAIL;
}

int cc_reduce_sum_open(struct cc_rank_state *s, const struct cc_job_message *m, size_t index,
                       struct cc_schedule *plan, void **out, struct cc_error *e)
{
    struct sums *x = cc_alloc0(sizeof *x, e);
    if (x == NULL) {
        free(plan->round);
        return CC_FAIL;
    }
    *x = (struct sums){.way = &sums_way, .rank_state = s, .plan = *plan};
    int status = cc_block_stream_open(&x->out, s, index, true, e);
    if (status == CC_OK)
        status = cc_block_stream_open(&x->in, s, index, false, e);
    if (status == CC_OK)
        status = make(x, m, e);
    if (status == CC_OK)
        *out = x;
    else
        sums_close(x);
    return status;
}
