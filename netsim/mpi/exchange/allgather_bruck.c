/* Everyone gets every worker's payload, by Bruck's algorithm, and decodes them all in the order of
 * the ranks. In round k, a rank sends its first 2^k payloads to the rank 2^k before it and gets as
 * many from the one 2^k behind it; those are put after what it has.
 *
 * A payload is kept with two numbers before it: u64 bytes that follow in the message that it began,
 * and u64, its own length. So any beginning of what a rank has is a message, once the first of all
 * these numbers says how much it is. */
#include <stdlib.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "netsim/mpi/runtime/data.h"
#include "netsim/mpi/exchange/block_stream.h"
#include "netsim/mpi/exchange/reduction.h"

enum { RECORD = 2 * CC_SIZE_BYTES };

struct gather {
    const struct cc_reduction_ops *way;
    struct cc_rank_state *rank_state;
    const struct cc_job_message *message;
    struct cc_range range;
    struct cc_pack *pack;
    uint8_t *store; /* NULL without data */
    size_t *begin;  /* of each worker's record in the store, this rank's first; and of the end */
    size_t have;
    size_t sending; /* rounds begun */
    struct cc_transfer *send, *recv;
    struct cc_block_stream out, in;
    bool over;
};

static size_t workers_of(const struct gather *x)
{
    return (size_t)x->rank_state->job->workers;
}

static void put(struct gather *x, size_t at, uint64_t number)
{
    if (x->store != NULL)
        cc_put_u64(x->store + at, number);
}

/* The rank whose payload is number i here. */
static size_t rank_of(const struct gather *x, size_t i)
{
    return ((size_t)x->rank_state->rank + i) % workers_of(x);
}

/* How long payload i is, whose record begins at `at`. */
static uint64_t length_at(const struct gather *x, size_t i, size_t at)
{
    return x->store != NULL ? cc_get_u64(x->store + at + CC_SIZE_BYTES)
                            : cc_pack_size(x->pack, (int64_t)rank_of(x, i), x->rank_state->step);
}

/* The bytes of the next so many payloads, at most; without data, exactly. */
static size_t to_come(const struct gather *x, size_t count)
{
    size_t bytes = 0;
    if (x->store != NULL)
        return count * (RECORD + cc_pack_bound(x->pack));
    for (size_t i = x->have; i < x->have + count; i++)
        bytes += RECORD + length_at(x, i, 0);
    return bytes;
}

/* Sends as much as there is, or as the other still lacks. False: the message before must go first,
 * as the first number of all is its size. */
static bool begin_round(struct gather *x)
{
    const size_t n = workers_of(x), have = x->have, me = (size_t)x->rank_state->rank;
    const size_t count = have < n - have ? have : n - have, k = x->sending;
    if (k > 0 && x->send[k - 1].done < CC_SIZE_BYTES)
        return false;
    put(x, 0, x->begin[count] - CC_SIZE_BYTES);
    x->send[k] = (struct cc_transfer){.peer = (int)((me + n - have) % n),
                                      .at = x->store,
                                      .bytes = x->begin[count],
                                      .ready = x->begin[count],
                                      .sized = true,
                                      .needs_clear = k > 0};
    x->recv[k] = (struct cc_transfer){.peer = (int)((me + have) % n),
                                      .at = CC_OFFSET_OR_NULL(x->store, x->begin[have]),
                                      .bytes = to_come(x, count),
                                      .sized = true,
                                      .needs_clear = k > 0};
    x->recv[k].ready = x->recv[k].bytes;
    cc_block_stream_add(&x->out, &x->send[k]);
    cc_block_stream_add(&x->in, &x->recv[k]);
    x->sending++;
    return true;
}

/* Finds the payloads in what has come. */
static int end_round(struct gather *x, struct cc_error *e)
{
    const struct cc_transfer *t = &x->recv[x->sending - 1];
    const size_t n = workers_of(x), end = x->begin[x->have] + t->bytes;
    const size_t count = x->have < n - x->have ? x->have : n - x->have;
    size_t at = x->begin[x->have];
    for (size_t i = 0; i < count; i++) {
        const size_t left = end - at;
        uint64_t len = left >= RECORD ? length_at(x, x->have + i, at) : 0;
        if (left < RECORD || len > left - RECORD)
            return cc_fail(e, "what rank %d sends ends within payload %zu", t->peer, i);
        at += RECORD + len;
        x->begin[x->have + i + 1] = at;
    }
    x->have += count;
    return at == end ? CC_OK : cc_fail(e, "rank %d sends %zu bytes too many", t->peer, end - at);
}

/* All payloads onto the model, from rank 0 on. */
static int apply(struct gather *x, struct cc_error *e)
{
    struct cc_rank_state *s = x->rank_state;
    const size_t n = workers_of(x), me = (size_t)s->rank;
    const struct cc_work_timer since = cc_work_begin();
    float *model = CC_OFFSET_OR_NULL(s->model, x->range.from);
    int status = CC_OK;
    for (size_t rank = 0; rank < n && status == CC_OK; rank++) {
        const size_t i = (rank + n - me) % n, at = x->begin[i] + RECORD;
        status = cc_pack_decode_add(x->pack, s->step, CC_OFFSET_OR_NULL(x->store, at),
                                    x->begin[i + 1] - at, 1.0f / (float)n, model, e);
        if (status != CC_OK)
            cc_error_in(e, "from rank %zu", rank);
    }
    cc_charge(s, CC_PHASE_DECODE, since, (double)n * cc_pack_cost(x->pack, CC_PACK_ADD));
    return status;
}

/* *moved: a round has begun or ended. */
static int go_on(struct gather *x, bool *moved, struct cc_error *e)
{
    const bool under_way = x->sending > 0 && x->recv[x->sending - 1].peer >= 0;
    int status = CC_OK;
    if (under_way && cc_transfer_complete(&x->recv[x->sending - 1])) {
        status = end_round(x, e);
        x->recv[x->sending - 1].peer = -1; /* it is over */
        *moved = true;
    } else if (!under_way && x->have < workers_of(x)) {
        *moved |= begin_round(x);
    }
    return status;
}

static int gather_test(void *of, bool *done, struct cc_error *e)
{
    struct gather *x = of;
    bool moved = !x->over;
    while (moved) {
        moved = false;
        int status = go_on(x, &moved, e);
        if (status == CC_OK)
            status = cc_block_stream_go(&x->in, &moved, e);
        if (status == CC_OK)
            status = cc_block_stream_go(&x->out, &moved, e);
        if (status != CC_OK)
            return status;
    }
    *done = x->over;
    if (x->over || x->have < workers_of(x) || !cc_block_stream_idle(&x->out))
        return CC_OK;
    *done = x->over = true;
    return apply(x, e);
}

static int gather_start(void *of, struct cc_error *e)
{
    struct gather *x = of;
    size_t len;
    const bool silent = cc_silent(x->rank_state, x->message) || x->range.from == x->range.to;
    int status = cc_reduction_encode(
        x->rank_state, x->pack, CC_OFFSET_OR_NULL(x->rank_state->gradient, x->range.from),
        CC_PHASE_ENCODE, x->range.from < x->range.to, CC_OFFSET_OR_NULL(x->store, RECORD), &len, e);
    if (status != CC_OK)
        return status;
    put(x, CC_SIZE_BYTES, len);
    x->begin[0] = 0;
    x->begin[1] = RECORD + len;
    x->have = 1;
    x->sending = 0;
    x->over = silent;
    return CC_OK;
}

static void gather_close(void *of)
{
    struct gather *x = of;
    cc_block_stream_close(&x->out);
    cc_block_stream_close(&x->in);
    cc_pack_free(x->pack);
    free(x->store);
    free(x->begin);
    free(x->send);
    free(x->recv);
    free(x);
}

static const struct cc_reduction_ops gather_way = {gather_start, gather_test, gather_close};

static int make(struct gather *x, struct cc_error *e)
{
    enum { MOST_ROUNDS = 8 * sizeof(int) };
    const struct cc_pack_config config = {.seed = x->rank_state->job->seed,
                                          .rank = x->rank_state->rank};
    const size_t n = workers_of(x);
    size_t bytes;
    int status = cc_reduction_pack(x->rank_state, x->range, x->range.from, config, &x->pack, e);
    if (status != CC_OK)
        return status;
    if (!cc_mul(n, RECORD + cc_pack_bound(x->pack), &bytes))
        return cc_fail(e, "the payloads of %zu workers do not fit into memory", n);
    x->begin = cc_alloc((n + 1) * sizeof *x->begin, e);
    x->send = cc_alloc(MOST_ROUNDS * sizeof *x->send, e);
    x->recv = cc_alloc(MOST_ROUNDS * sizeof *x->recv, e);
    bool ok = x->begin != NULL && x->send != NULL && x->recv != NULL;
    return ok ? cc_data_alloc(x->rank_state->job, bytes, &x->store, e) : CC_FAIL;
}

int cc_allgather_bruck_open(struct cc_rank_state *s, const struct cc_job_message *m, size_t index,
                            void **out, struct cc_error *e)
{
    struct gather *x = cc_alloc0(sizeof *x, e);
    if (x == NULL)
        return CC_FAIL;
    *x = (struct gather){.way = &gather_way,
                         .rank_state = s,
                         .message = m,
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
        gather_close(x);
    return status;
}

const struct cc_exchange_ops cc_exchange_ops_allgather = {
    cc_allgather_bruck_open, cc_reduction_start, cc_reduction_test, cc_reduction_close};
