#include "netsim/mpi/exchange/block_stream.h"

#include "core/bytes.h"
#include "netsim/mpi/runtime/data.h"
#include "netsim/mpi/runtime/mpi_check.h"

/* Among the requests, after those of the blocks. */
enum { WORD = CC_BLOCKS };

int cc_block_stream_open(struct cc_block_stream *s, struct cc_rank_state *rank_state, size_t index,
                         bool sends, struct cc_error *e)
{
    const size_t bytes = rank_state->job->block_bytes;
    *s = (struct cc_block_stream){.comm = rank_state->comm,
                                  .tag = 2 * (int)index,
                                  .block_bytes = bytes > 0 ? bytes : CC_BLOCK_BYTES,
                                  .rendezvous = rank_state->job->rendezvous,
                                  .sends = sends,
                                  .rank_state = rank_state,
                                  .index = index};
    return cc_requests_open(&rank_state->waits, CC_BLOCKS + 1, &s->requests, e);
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

/* Whether this is a transfer whose length its first block will tell. */
static bool unknown(const struct cc_block_stream *s, const struct cc_transfer *t)
{
    return !s->sends && t->sized && t->done == 0;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int post_block(struct cc_block_stream *s, struct cc_transfer *t, size_t n,
                      struct cc_error *e)
{
    size_t at = (s->first + s->blocks) % CC_BLOCKS;
    MPI_Request *request = &s->requests.request[at];
    void *bytes = cc_mpi_buffer(CC_OFFSET_OR_NULL(t->at, t->posted));
    int code = s->sends ? MPI_Isend(bytes, (int)n, MPI_BYTE, t->peer, s->tag, s->comm, request)
                        : MPI_Irecv(bytes, (int)n, MPI_BYTE, t->peer, s->tag, s->comm, request);
    if (s->sends && t->posted == 0)
        cc_note_sent(s->rank_state, s->index, t->peer, t->bytes);
    s->block[at].of = t;
    s->block[at].bytes = n;
    s->blocks++;
    t->posted += n;
    if (s->sends) {
        s->rank_state->counters.sent_bytes += n;
        s->rank_state->counters.messages++;
    }
    return cc_mpi_check(code, s->sends ? "MPI_Isend" : "MPI_Irecv", e);
}

/* The receiver's word that a transfer may leave: no bytes, with a tag of its own. */
static int begin_asking(struct cc_block_stream *s, const struct cc_transfer *t, struct cc_error *e)
{
    MPI_Request *word = &s->requests.request[WORD];
    int code = s->sends ? MPI_Irecv(NULL, 0, MPI_BYTE, t->peer, s->tag + 1, s->comm, word)
                        : MPI_Isend(NULL, 0, MPI_BYTE, t->peer, s->tag + 1, s->comm, word);
    s->awaiting_clear = true;
    return cc_mpi_check(code, "asking for a transfer", e);
}

static int end_asking(struct cc_block_stream *s, struct cc_error *e)
{
    bool over = false;
    if (!s->awaiting_clear)
        return CC_OK;
    int status = cc_requests_test(&s->requests, WORD, &over, e);
    s->awaiting_clear = !over;
    return status;
}

/* The sender: hears whether the transfer may leave. */
static int on_report(struct cc_block_stream *s, struct cc_transfer *t, struct cc_error *e)
{
    int status = s->awaiting_clear ? CC_OK : begin_asking(s, t, e);
    if (status == CC_OK)
        status = end_asking(s, e);
    t->cleared = status == CC_OK && !s->awaiting_clear;
    return status;
}

/* The receiver: says so of the transfer whose blocks are the next to come. */
static int say(struct cc_block_stream *s, struct cc_error *e)
{
    struct cc_transfer *t = s->blocks > 0 ? s->block[s->first].of : NULL;
    int status = end_asking(s, e);
    if (status != CC_OK || t == NULL || t->cleared || s->awaiting_clear)
        return status;
    t->cleared = true;
    return begin_asking(s, t, e);
}

/* Posts what is ready while there is room. */
static int post(struct cc_block_stream *s, bool *moved, struct cc_error *e)
{
    while (s->posting != NULL) {
        struct cc_transfer *t = s->posting;
        if (unknown(s, t) && t->posted > 0)
            return CC_OK;
        if (t->posted == t->bytes) {
            s->posting = t->next;
            *moved = true;
            continue;
        }
        size_t n = smaller(t->bytes - t->posted, s->block_bytes);
        if (s->blocks == CC_BLOCKS || t->ready < t->posted + n)
            return CC_OK;
        int status = s->sends && !t->cleared ? on_report(s, t, e) : CC_OK;
        if (status != CC_OK || (s->sends && !t->cleared))
            return status;
        status = post_block(s, t, n, e);
        if (status != CC_OK)
            return status;
        *moved = true;
    }
    return CC_OK;
}

/* A block of `n` bytes has come where `posted` were expected at most. */
static int arrived(const struct cc_block_stream *s, struct cc_transfer *t, size_t n, size_t posted,
                   struct cc_error *e)
{
    if (unknown(s, t) && t->at != NULL) {
        uint64_t size = n >= CC_SIZE_BYTES ? cc_get_u64(t->at) : UINT64_MAX;
        if (size > t->bytes - CC_SIZE_BYTES)
            return cc_fail(e, "rank %d sends %llu bytes where %zu are the most", t->peer,
                           (unsigned long long)size, t->bytes - CC_SIZE_BYTES);
        t->bytes = CC_SIZE_BYTES + size;
        posted = smaller(t->bytes, s->block_bytes);
        t->posted = posted;
    }
    if (n != posted)
        return cc_fail(e, "rank %d sends a block of %zu bytes where %zu were expected", t->peer, n,
                       posted);
    return CC_OK;
}

/* The blocks that have gone or come, in order. */
static int complete(struct cc_block_stream *s, bool *moved, struct cc_error *e)
{
    while (s->blocks > 0) {
        bool over = false;
        int count = 0;
        struct cc_transfer *t = s->block[s->first].of;
        size_t n = s->block[s->first].bytes;
        int status = cc_requests_test(&s->requests, s->first, &over, e);
        if (status != CC_OK || !over)
            return status;
        if (!s->sends) {
            MPI_Get_count(&s->requests.status[s->first], MPI_BYTE, &count);
            status = arrived(s, t, (size_t)count, n, e);
            if (status != CC_OK)
                return status;
            n = (size_t)count;
        }
        t->done += n;
        if (!s->sends && cc_transfer_complete(t))
            cc_note_came(s->rank_state, s->index, t->peer, t->bytes);
        s->first = (s->first + 1) % CC_BLOCKS;
        s->blocks--;
        *moved = true;
    }
    return CC_OK;
}

int cc_block_stream_go(struct cc_block_stream *s, bool *moved, struct cc_error *e)
{
    int status = complete(s, moved, e);
    if (status == CC_OK)
        status = post(s, moved, e);
    return status == CC_OK && !s->sends ? say(s, e) : status;
}

void cc_block_stream_close(struct cc_block_stream *s)
{
    cc_requests_close(&s->requests);
}
