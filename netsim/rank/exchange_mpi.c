/* mpi: the MPI library's own collectives, for comparison with the exchanges here.
 *
 * Payloads that are floats are summed by MPI_Allreduce, one call for each round of the scheme
 * (float_rounds.h). Others are gathered: MPI_Allgather of the lengths, then MPI_Allgatherv of the
 * payloads, which are decoded onto the model in the order of the ranks.
 *
 * The blocking variants are used where nothing else happens at the same time: sequential steps with
 * a single message. All others use the nonblocking ones. SMPI's are naive (every rank sends to
 * every other one), so simulations always use blocking ones, and refuse the modes that cannot.
 *
 * Ranks must begin the collectives of a communicator in the same order, but messages make progress
 * in different orders on different ranks. So each message has a communicator of its own. */
#include <limits.h>
#include <stdlib.h>

#include "core/memory.h"
#include "netsim/exchange/float_rounds.h"
#include "netsim/rank/loop.h"
#include "netsim/transport/mpi_calls.h"
#include "netsim/transport/runtime.h"

enum stage { IDLE, READY, SUMMING, SUMMED, LENGTHS, PAYLOADS };

struct library {
    struct cc_exchange_head head;
    struct cc_float_rounds floats; /* where payloads are summed */
    /* Where they are gathered: */
    struct cc_pack *pack;
    uint8_t *own, *all;
    size_t len;     /* the length of `own` */
    uint64_t *lens; /* all ranks'; then this one's */
    int *counts, *begin;
    MPI_Comm comm;
    bool has_comm;
    struct cc_requests requests; /* one */
    MPI_Request *request;        /* its request */
    enum stage stage;            /* the collective under way */
    bool blocking;
};

static void count_sent(struct library *x, size_t bytes)
{
    x->head.s->counters.sent_bytes += bytes;
    x->head.s->counters.messages++;
}

/* --- beginning collectives --- */

static int begin_sum(struct library *x, struct cc_error *e)
{
    const size_t n = x->floats.bytes / sizeof(float);
    void *sum = x->floats.sum;
    const void *own = x->floats.own == sum ? MPI_IN_PLACE : x->floats.own;
    if (n > INT_MAX)
        return cc_fail(e,
                       "%zu floats in one message are too many for MPI_Allreduce; exchange in "
                       "smaller messages, or by ring",
                       n);
    count_sent(x, x->floats.bytes);
    x->stage = SUMMING;
    int code = x->blocking
                   ? MPI_Allreduce(own, sum, (int)n, MPI_FLOAT, MPI_SUM, x->comm)
                   : MPI_Iallreduce(own, sum, (int)n, MPI_FLOAT, MPI_SUM, x->comm, x->request);
    return cc_mpi_check(code, "MPI_Allreduce", e);
}

static int begin_lengths(struct library *x, struct cc_error *e)
{
    const uint64_t *len = &x->lens[x->head.s->job->workers];
    count_sent(x, sizeof *len);
    x->stage = LENGTHS;
    int code = x->blocking ? MPI_Allgather(len, 1, MPI_UINT64_T, x->lens, 1, MPI_UINT64_T, x->comm)
                           : MPI_Iallgather(len, 1, MPI_UINT64_T, x->lens, 1, MPI_UINT64_T, x->comm,
                                            x->request);
    return cc_mpi_check(code, "MPI_Allgather", e);
}

static int begin_payloads(struct library *x, struct cc_error *e)
{
    const int n = x->head.s->job->workers;
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
    count_sent(x, x->len);
    x->stage = PAYLOADS;
    int code = x->blocking ? MPI_Allgatherv(x->own, (int)x->len, MPI_BYTE, x->all, x->counts,
                                            x->begin, MPI_BYTE, x->comm)
                           : MPI_Iallgatherv(x->own, (int)x->len, MPI_BYTE, x->all, x->counts,
                                             x->begin, MPI_BYTE, x->comm, x->request);
    return cc_mpi_check(code, "MPI_Allgatherv", e);
}

static int begin_collective(struct library *x, struct cc_error *e)
{
    return x->head.s->row->reduction == CC_REDUCE_SUM ? begin_sum(x, e) : begin_lengths(x, e);
}

/* The payload has been encoded. A blocking collective begins with the next test, not in start. */
static int get_ready(struct library *x, struct cc_error *e)
{
    x->stage = READY;
    return x->blocking ? CC_OK : begin_collective(x, e);
}

/* --- ending collectives --- */

static int apply_payloads(struct library *x, struct cc_error *e)
{
    struct cc_rank_state *s = x->head.s;
    float *model = s->model + x->head.range.from;
    for (int i = 0; i < s->job->workers; i++)
        CC_TRY_IN(cc_message_decode_add(s, x->pack, CC_PACK_ADD, CC_PHASE_DECODE,
                                        x->all + x->begin[i], (size_t)x->counts[i],
                                        1.0f / (float)s->job->workers, model, e),
                  e, "from rank %d", i);
    return CC_OK;
}

/* Charges the library's additions, if the row has costs: every rank adds at least (P - 1)/P of the
 * bytes. */
static void charge_sum(struct library *x)
{
    struct cc_rank_state *s = x->head.s;
    const double p = s->job->workers, bytes = (p - 1) / p * (double)x->floats.bytes;
    cc_charge(s, CC_PHASE_HOP, cc_work_begin(s->transport),
              s->row->cost != NULL ? s->job->reduce_byte_s * bytes : 0);
}

/* Takes a sum; on to the next one, or to IDLE. */
static int take_sum(struct library *x, struct cc_error *e)
{
    x->stage = IDLE;
    CC_TRY(cc_float_rounds_next(&x->floats, x->floats.sum, e));
    return x->floats.bytes > 0 ? get_ready(x, e) : CC_OK;
}

/* On to the next collective, to SUMMED where the sum is held, or to IDLE. */
static int end_collective(struct library *x, struct cc_error *e)
{
    if (x->stage == LENGTHS)
        return begin_payloads(x, e);
    if (x->stage == SUMMING) {
        charge_sum(x);
        x->stage = SUMMED;
        return x->head.s->hold_sums && cc_float_rounds_last(&x->floats) ? CC_OK : take_sum(x, e);
    }
    x->stage = IDLE;
    return apply_payloads(x, e);
}

/* --- operations --- */

static int library_start(void *of, struct cc_error *e)
{
    struct library *x = of;
    struct cc_rank_state *s = x->head.s;
    const bool is_empty = x->head.range.from == x->head.range.to;
    if (s->row->reduction == CC_REDUCE_SUM) {
        CC_TRY(cc_float_rounds_start(&x->floats, e));
        return x->floats.bytes > 0 ? get_ready(x, e) : CC_OK;
    }
    CC_TRY(cc_message_encode(s, x->pack, s->gradient + x->head.range.from, CC_PHASE_ENCODE,
                             !is_empty, x->own, &x->len, e));
    if (cc_silent(s, x->head.message) || is_empty)
        return CC_OK;
    x->lens[s->job->workers] = x->len;
    return get_ready(x, e);
}

static int library_test(void *of, bool *done, struct cc_error *e)
{
    struct library *x = of;
    bool over = false;
    if (x->stage == SUMMED && !x->head.s->hold_sums)
        CC_TRY(take_sum(x, e));
    *done = x->stage == IDLE || x->stage == SUMMED;
    if (*done)
        return CC_OK;
    if (x->stage == READY)
        CC_TRY(begin_collective(x, e));
    CC_TRY(cc_requests_test(&x->requests, 0, &over, e));
    if (!over)
        return CC_OK;
    x->head.s->transport->more = true;
    CC_TRY(end_collective(x, e));
    *done = x->stage == IDLE || x->stage == SUMMED;
    return CC_OK;
}

static void library_close(void *of)
{
    struct library *x = of;
    if (x->has_comm)
        MPI_Comm_free(&x->comm);
    cc_requests_close(&x->requests);
    cc_float_rounds_close(&x->floats);
    cc_pack_free(x->pack);
    free(x->own);
    free(x->all);
    free(x->lens);
    free(x->counts);
    free(x->begin);
    free(x);
}

static int open_gather(struct library *x, struct cc_error *e)
{
    const struct cc_rank_state *s = x->head.s;
    const struct cc_pack_config config = {.seed = s->job->seed, .rank = s->rank};
    const size_t n = (size_t)s->job->workers;
    size_t bytes;
    CC_TRY(cc_message_pack_make(s, x->head.range, x->head.range.from, config, &x->pack, e));
    if (!cc_mul(n, cc_pack_bound(x->pack), &bytes))
        return cc_fail(e, "the payloads of %zu workers do not fit into memory", n);
    x->own = cc_alloc(cc_pack_bound(x->pack), e);
    x->all = cc_alloc(bytes, e);
    if (x->own == NULL || x->all == NULL)
        return CC_FAIL;
    CC_TRY(CC_NEW(x->lens, n + 1, e));
    CC_TRY(CC_NEW(x->counts, n, e));
    return CC_NEW(x->begin, n, e);
}

static int library_open(void *of, struct cc_error *e)
{
    struct library *x = of;
    struct cc_rank_state *s = x->head.s;
    x->blocking =
        s->job->mode == CC_SEQUENTIAL && (s->row->messages == 1 || cc_runtime_simulates());
    CC_TRY(cc_requests_open(s->transport, 1, &x->requests, e));
    x->request = cc_mpi_requests(&x->requests)->request;
    if (!x->blocking && cc_runtime_simulates())
        return cc_fail(e, "SimGrid's MPI has no allreduce of its own for steps that compute "
                          "meanwhile: simulate them over ring or rabenseifner");
    CC_TRY(s->row->reduction == CC_REDUCE_SUM
               ? cc_float_rounds_open(&x->floats, s, x->head.range, e)
               : open_gather(x, e));
    CC_TRY(cc_mpi_check(MPI_Comm_dup(cc_mpi_of(s->transport)->comm, &x->comm), "MPI_Comm_dup", e));
    x->has_comm = true;
    return CC_OK;
}

const struct cc_exchange_kind cc_exchange_mpi = {
    .ops = {library_start, library_test, library_close},
    .bytes = sizeof(struct library),
    .open = library_open};
