/* mpi: the library's own collectives. Floats by MPI_Allreduce; what cannot be summed by
 * MPI_Allgather of the lengths and MPI_Allgatherv. Blocking ones where nothing else goes on at the
 * same time.
 *
 * Collectives of one communicator must begin in the same order everywhere. Messages do not get
 * along in the same order on all ranks, so that each has a communicator of its own. */
#include <limits.h>
#include <stdlib.h>

#include "core/memory.h"
#include "netsim/mpi/runtime/mpi_check.h"
#include "netsim/mpi/exchange/reduction.h"

enum stage { IDLE, READY, SUMMING, LENGTHS, PAYLOADS };

struct library {
    const struct cc_reduction_ops *way;
    struct cc_rank_state *rank_state;
    const struct cc_job_message *message;
    struct cc_range range;
    struct cc_floats floats; /* what is summed; or else: */
    struct cc_pack *pack;
    MPI_Comm comm;
    struct cc_requests requests; /* one */
    enum stage stage;
    bool blocking;
    uint8_t *own, *all;
    size_t len;
    uint64_t *lens;
    int *counts, *begin;
};

static void count(struct library *x, size_t bytes)
{
    x->rank_state->counters.sent_bytes += bytes;
    x->rank_state->counters.messages++;
}

static int begin_sum(struct library *x, struct cc_error *e)
{
    const size_t n = x->floats.bytes / sizeof(float);
    uint8_t *at = x->floats.at;
    if (n > INT_MAX)
        return cc_fail(e,
                       "%zu floats in one message are too many for MPI_Allreduce; exchange in "
                       "smaller messages, or by ring",
                       n);
    count(x, x->floats.bytes);
    x->stage = SUMMING;
    int code = x->blocking ? MPI_Allreduce(MPI_IN_PLACE, at, (int)n, MPI_FLOAT, MPI_SUM, x->comm)
                           : MPI_Iallreduce(MPI_IN_PLACE, at, (int)n, MPI_FLOAT, MPI_SUM, x->comm,
                                            x->requests.request);
    return cc_mpi_check(code, "MPI_Allreduce", e);
}

static int begin_lengths(struct library *x, struct cc_error *e)
{
    const uint64_t *len = &x->lens[x->rank_state->job->workers];
    count(x, sizeof *len);
    x->stage = LENGTHS;
    int code = x->blocking ? MPI_Allgather(len, 1, MPI_UINT64_T, x->lens, 1, MPI_UINT64_T, x->comm)
                           : MPI_Iallgather(len, 1, MPI_UINT64_T, x->lens, 1, MPI_UINT64_T, x->comm,
                                            x->requests.request);
    return cc_mpi_check(code, "MPI_Allgather", e);
}

static int begin_payloads(struct library *x, struct cc_error *e)
{
    const int n = x->rank_state->job->workers;
    uint64_t total = 0;
    for (int i = 0; i < n; i++) {
        if (x->lens[i] > cc_pack_bound(x->pack))
            return cc_fail(e, "rank %d: %llu bytes where %zu are the most", i,
                           (unsigned long long)x->lens[i], cc_pack_bound(x->pack));
        x->begin[i] = (int)total;
        x->counts[i] = (int)x->lens[i];
        total += x->lens[i];
        if (total > INT_MAX)
            return cc_fail(e,
                           "payloads of %llu bytes are too many for MPI_Allgatherv; exchange in "
                           "smaller messages, or by allgather",
                           (unsigned long long)total);
    }
    count(x, x->len);
    x->stage = PAYLOADS;
    int code = x->blocking ? MPI_Allgatherv(x->own, (int)x->len, MPI_BYTE, x->all, x->counts,
                                            x->begin, MPI_BYTE, x->comm)
                           : MPI_Iallgatherv(x->own, (int)x->len, MPI_BYTE, x->all, x->counts,
                                             x->begin, MPI_BYTE, x->comm, x->requests.request);
    return cc_mpi_check(code, "MPI_Allgatherv", e);
}

static int begin(struct library *x, struct cc_error *e)
{
    return x->rank_state->row->sums ? begin_sum(x, e) : begin_lengths(x, e);
}

static int apply(struct library *x, struct cc_error *e)
{
    float *model = x->rank_state->model + x->range.from;
    int status = CC_OK;
    for (int i = 0; i < x->rank_state->job->workers && status == CC_OK; i++) {
        status = cc_reduction_apply(x->rank_state, x->pack, CC_PACK_ADD, x->all + x->begin[i],
                                    (size_t)x->counts[i], model, e);
        if (status != CC_OK)
            cc_error_in(e, "from rank %d", i);
    }
    return status;
}

/* What there is to send is there: a collective that blocks begins with the next test. */
static int get_ready(struct library *x, struct cc_error *e)
{
    x->stage = READY;
    return x->blocking ? CC_OK : begin(x, e);
}

/* The library's own additions: at least so many bytes at every rank. */
static void charge_sum(struct library *x)
{
    struct cc_rank_state *s = x->rank_state;
    const double p = s->job->workers, bytes = (p - 1) / p * (double)x->floats.bytes;
    cc_charge(s, CC_PHASE_HOP, cc_work_begin(),
              s->row->cost != NULL ? s->job->reduce_byte_s * bytes : 0);
}

/* A collective is over: on to the next, or back to IDLE. */
static int end(struct library *x, struct cc_error *e)
{
    if (x->stage == LENGTHS)
        return begin_payloads(x, e);
    const bool sums = x->stage == SUMMING;
    x->stage = IDLE;
    if (!sums)
        return apply(x, e);
    charge_sum(x);
    int status = cc_floats_next(&x->floats, e);
    return status == CC_OK && x->floats.bytes > 0 ? get_ready(x, e) : status;
}

static int library_test(void *of, bool *done, struct cc_error *e)
{
    struct library *x = of;
    bool over = false;
    int status = CC_OK;
    *done = x->stage == IDLE;
    if (*done)
        return CC_OK;
    if (x->stage == READY)
        status = begin(x, e);
    if (status != CC_OK)
        return status;
    status = cc_requests_test(&x->requests, 0, &over, e);
    if (status != CC_OK || !over)
        return status;
    status = end(x, e);
    x->rank_state->waits.more = true;
    *done = x->stage == IDLE;
    return status;
}

static int library_start(void *of, struct cc_error *e)
{
    struct library *x = of;
    if (x->rank_state->row->sums) {
        int status = cc_floats_start(&x->floats, e);
        return status == CC_OK && x->floats.bytes > 0 ? get_ready(x, e) : status;
    }
    int status =
        cc_reduction_encode(x->rank_state, x->pack, x->rank_state->gradient + x->range.from,
                            CC_PHASE_ENCODE, x->range.from < x->range.to, x->own, &x->len, e);
    if (status != CC_OK || cc_silent(x->rank_state, x->message) || x->range.from == x->range.to)
        return status;
    x->lens[x->rank_state->job->workers] = x->len;
    return get_ready(x, e);
}

static void library_close(void *of)
{
    struct library *x = of;
    if (x->comm != MPI_COMM_NULL)
        MPI_Comm_free(&x->comm);
    cc_requests_close(&x->requests);
    cc_floats_close(&x->floats);
    cc_pack_free(x->pack);
    free(x->own);
    free(x->all);
    free(x->lens);
    free(x->counts);
    free(x->begin);
    free(x);
}

static const struct cc_reduction_ops library_way = {library_start, library_test, library_close};

/* For what cannot be summed. */
static int make_gather(struct library *x, struct cc_error *e)
{
    struct cc_rank_state *s = x->rank_state;
    const size_t n = (size_t)s->job->workers;
    size_t room;
    const struct cc_pack_config config = {.seed = s->job->seed, .rank = s->rank};
    int status = cc_reduction_pack(s, x->range, x->range.from, config, &x->pack, e);
    if (status != CC_OK)
        return status;
    if (!cc_mul(n, cc_pack_bound(x->pack), &room))
        return cc_fail(e, "the payloads of %zu workers do not fit into memory", n);
    x->own = cc_alloc(cc_pack_bound(x->pack), e);
    x->all = cc_alloc(room, e);
    x->lens = cc_alloc((n + 1) * sizeof *x->lens, e);
    x->counts = cc_alloc(n * sizeof *x->counts, e);
    x->begin = cc_alloc(n * sizeof *x->begin, e);
    bool ok = x->own != NULL && x->all != NULL && x->lens != NULL && x->counts != NULL &&
              x->begin != NULL;
    return ok ? CC_OK : CC_FAIL;
}

static int make(struct library *x, struct cc_error *e)
{
    struct cc_rank_state *s = x->rank_state;
    if (!x->blocking && !cc_runtime_collectives())
        return cc_fail(e, "SimGrid's MPI has no allreduce of its own for steps that compute "
                          "meanwhile: simulate them over ring or rabenseifner");
    int status = s->row->sums ? cc_floats_open(&x->floats, s, x->message, e) : make_gather(x, e);
    return status != CC_OK ? status
                           : cc_mpi_check(MPI_Comm_dup(s->comm, &x->comm), "MPI_Comm_dup", e);
}

static int library_open(struct cc_rank_state *s, const struct cc_job_message *m, size_t index,
                        void **out, struct cc_error *e)
{
    (void)index;
    struct library *x = cc_alloc0(sizeof *x, e);
    if (x == NULL)
        return CC_FAIL;
    *x = (struct library){.way = &library_way,
                          .rank_state = s,
                          .message = m,
                          .range = cc_message_range(s, m),
                          .comm = MPI_COMM_NULL,
                          .blocking = s->job->mode == CC_SEQUENTIAL &&
                                      (s->row->messages == 1 || !cc_runtime_collectives())};
    int status = cc_requests_open(&s->waits, 1, &x->requests, e);
    if (status == CC_OK)
        status = make(x, e);
    if (status == CC_OK)
        *out = x;
    else
        library_close(x);
    return status;
}

const struct cc_exchange_ops cc_exchange_ops_mpi = {library_open, cc_reduction_start,
                                                    cc_reduction_test, cc_reduction_close};
