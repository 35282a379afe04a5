#include "netsim/mpi/stream.h"

#include "core/bytes.h"

/* Among the requests, after those of the blocks. */
enum { WORD = CC_BLOCKS };

int cc_stream_open(struct cc_stream *s, struct cc_station *station, size_t index, bool sends,
                   struct cc_error *e)
{
    const size_t bytes = station->job->block_bytes;
    *s = (struct cc_stream){.comm = station->comm,
                            .tag = 2 * (int)index,
                            .block_bytes = bytes > 0 ? bytes : CC_BLOCK_BYTES,
                            .asks = station->job->asks,
                            .sends = sends,
                            .station = station,
                            .index = index};
    return cc_requests_open(&station->waits, CC_BLOCKS + 1, &s->requests, e);
}

void cc_stream_add(struct cc_stream *s, struct cc_transfer *t)
{
    t->posted = t->done = 0;
    t->agreed = !s->asks || !t->asked;
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

bool cc_stream_idle(const struct cc_stream *s)
{
    return s->blocks == 0 && s->posting == NULL && !s->asking;
}

/* Whether this is a transfer whose length its first block will tell. */
static bool unknown(const struct cc_stream *s, const struct cc_transfer *t)
{
    return !s->sends && t->sized && t->done == 0;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int post_block(struct cc_stream *s, struct cc_transfer *t, size_t n, struct cc_error *e)
{
    size_t at = (s->first + s->blocks) % CC_BLOCKS;
    MPI_Request *request = &s->requests.request[at];
    void *bytes = cc_wire(CC_AT(t->at, t->posted));
    int code = s->sends ? MPI_Isend(bytes, (int)n, MPI_BYTE, t->peer, s->tag, s->comm, request)
                        : MPI_Irecv(bytes, (int)n, MPI_BYTE, t->peer, s->tag, s->comm, request);
    if (s->sends && t->posted == 0)
        cc_note_sent(s->station, s->index, t->peer, t->bytes);
    s->block[at].of = t;
    s->block[at].bytes = n;
    s->blocks++;
    t->posted += n;
    if (s->sends) {
        s->station->tally.sent_bytes += n;
        s->station->tally.messages++;
    }
    return cc_mpi_check(code, s->sends ? "MPI_Isend" : "MPI_Irecv", e);
}

/* The receiver's word that a transfer may leave: no bytes, with a tag of its own. */
static int begin_asking(struct cc_stream *s, const struct cc_transfer *t, struct cc_error *e)
{
    MPI_Request *word = &s->requests.request[WORD];
    int code = s->sends ? MPI_Irecv(NULL, 0, MPI_BYTE, t->peer, s->tag + 1, s->comm, word)
                        : MPI_Isend(NULL, 0, MPI_BYTE, t->peer, s->tag + 1, s->comm, word);
    s->asking = true;
    return cc_mpi_check(code, "asking for a transfer", e);
}

static int end_asking(struct cc_stream *s, struct cc_error *e)
{
    bool over = false;
    if (!s->asking)
        return CC_OK;
    int status = cc_requests_test(&s->requests, WORD, &over, e);
    s->asking = !over;
    return status;
}

/* The sender: hears whether the transfer may leave. */
static int hear(struct cc_stream *s, struct cc_transfer *t, struct cc_error *e)
{
    int status = s->asking ? CC_OK : begin_asking(s, t, e);
    if (status == CC_OK)
        status = end_asking(s, e);
    t->agreed = status == CC_OK && !s->asking;
    return status;
}

/* The receiver: says so of the transfer whose blocks are the next to come. */
static int say(struct cc_stream *s, struct cc_error *e)
{
    struct cc_transfer *t = s->blocks > 0 ? s->block[s->first].of : NULL;
    int status = end_asking(s, e);
    if (status != CC_OK || t == NULL || t->agreed || s->asking)
        return status;
    t->agreed = true;
    return begin_asking(s, t, e);
}

/* Posts what is ready while there is room. */
static int post(struct cc_stream *s, bool *moved, struct cc_error *e)
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
        int status = s->sends && !t->agreed ? hear(s, t, e) : CC_OK;
        if (status != CC_OK || (s->sends && !t->agreed))
            return status;
        status = post_block(s, t, n, e);
        if (status != CC_OK)
            return status;
        *moved = true;
    }
    return CC_OK;
}

/* A block of `n` bytes has come where `posted` were expected at most. */
static int arrived(const struct cc_stream *s, struct cc_transfer *t, size_t n, size_t posted,
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
static int complete(struct cc_stream *s, bool *moved, struct cc_error *e)
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
            cc_note_came(s->station, s->index, t->peer, t->bytes);
        s->first = (s->first + 1) % CC_BLOCKS;
        s->blocks--;
        *moved = true;
    }
    return CC_OK;
}

int cc_stream_go(struct cc_stream *s, bool *moved, struct cc_error *e)
{
    int status = complete(s, moved, e);
    if (status == CC_OK)
        status = post(s, moved, e);
    return status == CC_OK && !s->sends ? say(s, e) : status;
}

void cc_stream_close(struct cc_stream *s)
{
    cc_requests_close(&s->requests);
}
