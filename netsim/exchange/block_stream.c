/* A stream posts the blocks of its transfers in order into a ring of requests, and takes them in
 * order as they complete. */
#include "netsim/exchange/block_stream.h"

#include <math.h>
#include <stdlib.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "netsim/exchange/data.h"

/* Blocks so large that each transfer is one: what is lent lies in one piece. */
#define CC_WHOLE_BYTES (SIZE_MAX / 8 & ~(size_t)3)

/* The requests of a stream: those of the blocks, then this one. */
static size_t clear_to_send(const struct cc_block_stream *s)
{
    return s->most;
}

static int open_stream(struct cc_block_stream *s, struct cc_rank_state *rank_state, size_t index,
                       size_t most, bool sends, struct cc_error *e)
{
    const size_t wanted =
        rank_state->job->block_bytes > 0 ? rank_state->job->block_bytes : (size_t)CC_BLOCK_BYTES;
    *s = (struct cc_block_stream){.tag = 2 * (int)index,
                                  .block_bytes =
                                      rank_state->transport->ops->lends ? CC_WHOLE_BYTES : wanted,
                                  .rendezvous = rank_state->job->rendezvous,
                                  .sends = sends,
                                  .rank_state = rank_state,
                                  .index = index,
                                  .most = most};
    CC_TRY(CC_NEW(s->block, most, e));
    return cc_requests_open(rank_state->transport, most + 1, &s->requests, e);
}

void cc_block_stream_add(struct cc_block_stream *s, struct cc_transfer *t)
{
    t->posted = t->done = 0;
    t->cleared = !s->rendezvous || !t->needs_clear;
    t->next = NULL;
    if (s->posting == NULL)
        s->posting = t;
    else
        s->last->next = t;
    s->last = t;
}

bool cc_transfer_complete(const struct cc_transfer *t)
{
    return t->done == t->bytes;
}

bool cc_block_stream_idle(const struct cc_block_stream *s)
{
    return s->blocks == 0 && s->posting == NULL && !s->awaiting_clear;
}

/* Whether the transfer's length will only be known from its first block. */
static bool length_unknown(const struct cc_block_stream *s, const struct cc_transfer *t)
{
    return !s->sends && t->sized && t->done == 0;
}

/* --- clear to send --- */

/* Starts receiving it (sender), or sends it (receiver). */
static int start_clear(struct cc_block_stream *s, const struct cc_transfer *t, struct cc_error *e)
{
    const struct cc_parcel clear = {.peer = t->peer, .tag = s->tag + 1};
    s->awaiting_clear = true;
    return cc_requests_begin(&s->requests, clear_to_send(s), &clear, !s->sends, e);
}

static int test_clear(struct cc_block_stream *s, struct cc_error *e)
{
    bool over = false;
    if (!s->awaiting_clear)
        return CC_OK;
    CC_TRY(cc_requests_test(&s->requests, clear_to_send(s), &over, e));
    s->awaiting_clear = !over;
    return CC_OK;
}

/* The sender: sets t->cleared once the clear to send is there. */
static int await_clear(struct cc_block_stream *s, struct cc_transfer *t, struct cc_error *e)
{
    if (!s->awaiting_clear)
        CC_TRY(start_clear(s, t, e));
    CC_TRY(test_clear(s, e));
    t->cleared = !s->awaiting_clear;
    return CC_OK;
}

/* The receiver: clears the transfer whose block is the next to arrive. Its earlier transfers are
 * complete then. */
static int send_clear(struct cc_block_stream *s, struct cc_error *e)
{
    struct cc_transfer *t = s->blocks > 0 ? s->block[s->first].of : NULL;
    CC_TRY(test_clear(s, e));
    if (t == NULL || t->cleared || s->awaiting_clear)
        return CC_OK;
    t->cleared = true;
    return start_clear(s, t, e);
}

/* --- blocks --- */

/* Handing a block to MPI takes 5 to 40 us; in a call that takes longer, another program has the
 * core for a while, which is not what a message costs. */
#define LONGEST_SEND_S 100e-6

static int post_block(struct cc_block_stream *s, struct cc_transfer *t, size_t n,
                      struct cc_error *e)
{
    const size_t at = (s->first + s->blocks) % s->most;
    const struct cc_parcel parcel = {
        .at = CC_OFFSET_OR_NULL(t->at, t->posted), .bytes = n, .peer = t->peer, .tag = s->tag};
    if (s->sends && t->posted == 0) /* before the call: the peer may have it all before that ends */
        cc_note_transfer(s->rank_state, false, s->index, t->peer, t->bytes);
    const double since = s->sends ? cc_transport_now(s->rank_state->transport) : 0;
    const int status = cc_requests_begin(&s->requests, at, &parcel, s->sends, e);
    if (s->sends)
        s->rank_state->counters.send_s +=
            fmin(LONGEST_SEND_S, cc_transport_now(s->rank_state->transport) - since);
    s->block[at].of = t;
    s->block[at].bytes = n;
    s->blocks++;
    t->posted += n;
    if (s->sends)
        cc_count_sent(s->rank_state, t->peer, n);
    return status;
}

/* Whether as many blocks are under way, of all transfers or of this one, as may be. */
static bool enough_under_way(const struct cc_block_stream *s, const struct cc_transfer *t)
{
    return s->blocks == s->most || t->posted - t->done > (CC_BLOCKS - 1) * s->block_bytes;
}

/* Whether a transfer to the same rank, which is one block, is under way: the next one would share
 * the link with it instead of following it, so that what a rank that is late has ready would arrive
 * all at once, and the first of it late. Sized transfers follow one another as they are received
 * one by one. */
static bool follows(const struct cc_block_stream *s, const struct cc_transfer *t)
{
    if (!s->sends || s->ahead || t->sized || s->blocks == 0 || t->posted > 0)
        return false;
    const struct cc_transfer *last = s->block[(s->first + s->blocks - 1) % s->most].of;
    return last->peer == t->peer && last->bytes <= s->block_bytes;
}

/* Posts blocks that are ready, in order. */
static int post_ready(struct cc_block_stream *s, bool *moved, struct cc_error *e)
{
    while (s->posting != NULL) {
        struct cc_transfer *t = s->posting;
        if (length_unknown(s, t) && t->posted > 0 && !(s->ahead && t->posted == t->bytes))
            return CC_OK;
        if (t->posted == t->bytes) {
            s->posting = t->next;
            *moved = true;
            continue;
        }
        const size_t n = cc_smaller(t->bytes - t->posted, s->block_bytes);
        if (enough_under_way(s, t) || t->ready < t->posted + n || follows(s, t))
            return CC_OK;
        if (s->sends && !t->cleared) {
            CC_TRY(await_clear(s, t, e));
            if (!t->cleared)
                return CC_OK;
        }
        CC_TRY(post_block(s, t, n, e));
        *moved = true;
    }
    return CC_OK;
}

/* Checks a received block of `n` bytes, for which `posted` bytes were posted. The first one of a
 * sized transfer tells how long the transfer is. */
static int check_received(const struct cc_block_stream *s, struct cc_transfer *t, size_t n,
                          size_t posted, struct cc_error *e)
{
    if (length_unknown(s, t) && t->at != NULL) {
        const uint64_t size = n >= CC_SIZE_BYTES ? cc_get_u64(t->at) : UINT64_MAX;
        if (size > t->bytes - CC_SIZE_BYTES)
            return cc_fail(e, "rank %d sends %llu bytes where %zu are the most", t->peer,
                           (unsigned long long)size, t->bytes - CC_SIZE_BYTES);
        t->bytes = CC_SIZE_BYTES + size;
        posted = cc_smaller(t->bytes, s->block_bytes);
        t->posted = posted;
    }
    if (n != posted)
        return cc_fail(e, "rank %d sends a block of %zu bytes where %zu were expected", t->peer, n,
                       posted);
    return CC_OK;
}

/* Takes the blocks that have been sent or received, in order. */
static int take_complete(struct cc_block_stream *s, bool *moved, struct cc_error *e)
{
    while (s->blocks > 0) {
        bool over = false;
        struct cc_transfer *t = s->block[s->first].of;
        size_t n = s->block[s->first].bytes;
        CC_TRY(cc_requests_test(&s->requests, s->first, &over, e));
        if (!over)
            return CC_OK;
        if (!s->sends) {
            const size_t count = cc_requests_bytes(&s->requests, s->first);
            if (t->at == NULL)
                t->at = cc_requests_lent(&s->requests, s->first);
            CC_TRY(check_received(s, t, count, n, e));
            n = count;
        }
        t->done += n;
        if (!s->sends && cc_transfer_complete(t))
            cc_note_transfer(s->rank_state, true, s->index, t->peer, t->bytes);
        s->first = (s->first + 1) % s->most;
        s->blocks--;
        *moved = true;
    }
    return CC_OK;
}

static int progress(struct cc_block_stream *s, bool *moved, struct cc_error *e)
{
    if (cc_block_stream_idle(s))
        return CC_OK;
    CC_TRY(take_complete(s, moved, e));
    CC_TRY(post_ready(s, moved, e));
    return s->sends ? CC_OK : send_clear(s, e);
}

static void close_stream(struct cc_block_stream *s)
{
    cc_requests_close(&s->requests);
    free(s->block);
    s->block = NULL;
}

int cc_block_streams_open(struct cc_block_streams *s, struct cc_rank_state *rank_state,
                          size_t index, size_t at_once, struct cc_error *e)
{
    /* Messages of the next stage leave while ends of the last one's are not yet noticed. */
    const size_t small = 2 * cc_smaller(at_once, CC_SMALL_AT_ONCE);
    const size_t most = small > CC_BLOCKS ? small : CC_BLOCKS;
    CC_TRY(open_stream(&s->out, rank_state, index, most, true, e));
    CC_TRY(open_stream(&s->in, rank_state, index, most, false, e));
    s->out.ahead = s->in.ahead = at_once > 1 || rank_state->job->sharded.collectives > 0;
    return CC_OK;
}

void cc_block_streams_tag(struct cc_block_streams *s, size_t channel)
{
    s->in.tag = s->out.tag = 2 * (int)channel;
}

int cc_block_streams_progress(struct cc_block_streams *s, bool *moved, struct cc_error *e)
{
    CC_TRY(progress(&s->in, moved, e));
    return progress(&s->out, moved, e);
}

void cc_block_streams_close(struct cc_block_streams *s)
{
    close_stream(&s->out);
    close_stream(&s->in);
}
