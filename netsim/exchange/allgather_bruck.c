/* allgather: every rank gets every worker's payload, and decodes them all (Bruck et al., Efficient
 * Algorithms for All-to-All Communications in Multiport Message-Passing Systems, IEEE TPDS 1997,
 * section 4; MPICH's and UCC's "bruck").
 *
 * Each rank keeps payloads in the order of ranks from itself on: its own, that of rank + 1, and so
 * on around. In round k = 0, 1, ... it sends its first 2^k payloads (or as many as the other still
 * lacks) to the rank 2^k below it, and receives as many from the rank 2^k above it, which continue
 * what it has. After ceil(log2 P) rounds every rank has all P payloads. Payloads are never decoded
 * on their way, so nothing is lost by encoding again; but P - 1 payloads arrive at every rank.
 *
 * Layout. A payload is stored as a record: two u64 and the payload. The second u64 is the payload's
 * length. The first is used only in a record that a message begins with: the bytes that follow, as
 * block streams need it. So the beginning of what a rank has, of any number of records, is a
 * message without copying, once its first u64 is filled in. That u64 is the same place in every
 * round, so a round begins only when the one before has sent it.
 *
 * When all are here, they are decoded onto the model in the order of the ranks, from 0 on: all
 * ranks add in the same order and get the same bits.
 *
 * In trainings with local steps some workers may not send in a step (cc_training_sends): their
 * payload is empty, nothing is encoded, and the mean is over the others. Payloads may also be
 * scaled to their median norm; they are then decoded first, and added when all are here.
 *
 * Where the transport lends what is received, there are no rounds: rank 0, which applies the
 * payloads, is lent all of them. */
#include <math.h>
#include <stdlib.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "core/reduce.h"
#include "netsim/job/training.h"
#include "netsim/exchange/exchange_code.h"
#include "netsim/exchange/block_stream.h"
#include "netsim/exchange/message_pack.h"
#include "netsim/exchange/data.h"

enum { RECORD_HEAD = 2 * CC_SIZE_BYTES, MOST_ROUNDS = 8 * sizeof(int) };

struct allgather {
    struct cc_exchange_head head;
    struct cc_pack *pack;
    uint8_t *records; /* NULL without data */
    size_t *begin;    /* where each record begins, this rank's first; and the end */
    size_t have;      /* records that are here */
    size_t rounds;    /* begun */
    bool receiving;   /* the round begun last is not over */
    struct cc_transfer send[MOST_ROUNDS], recv[MOST_ROUNDS];
    struct cc_block_streams streams;
    /* Without rounds: on rank 0, the requests of all payloads, on others that of their own; and the
     * number of payloads applied. */
    struct cc_requests lent;
    size_t applied;
    bool over;
    float *decoded; /* [workers][values of the message]; NULL: payloads are added as they are */
    double *norm;   /* [workers]: of decoded values; negative: it has not sent */
};

static size_t workers_of(const struct allgather *x)
{
    return (size_t)x->head.s->job->workers;
}

static void put_number(struct allgather *x, size_t at, uint64_t number)
{
    if (x->records != NULL)
        cc_put_u64(x->records + at, number);
}

/* The length of payload i, counted from this rank's, whose record begins at `at`. */
static uint64_t length_at(const struct allgather *x, size_t i, size_t at)
{
    const size_t rank = ((size_t)x->head.s->rank + i) % workers_of(x);
    return x->records != NULL ? cc_get_u64(x->records + at + CC_SIZE_BYTES)
                              : cc_pack_size(x->pack, (int64_t)rank, x->head.s->step);
}

/* The most bytes that the next `count` records have; without data, their length. */
static size_t records_capacity(const struct allgather *x, size_t count)
{
    size_t bytes = 0;
    if (x->records != NULL)
        return count * (RECORD_HEAD + cc_pack_bound(x->pack));
    for (size_t i = x->have; i < x->have + count; i++)
        bytes += RECORD_HEAD + length_at(x, i, 0);
    return bytes;
}

/* The records that a round moves. */
static size_t round_records(const struct allgather *x)
{
    const size_t lacks = workers_of(x) - x->have;
    return x->have < lacks ? x->have : lacks;
}

/* Begins the next round, unless the message before has not sent its first number yet. */
static void begin_round(struct allgather *x, bool *moved)
{
    const size_t n = workers_of(x), me = (size_t)x->head.s->rank;
    const size_t count = round_records(x), k = x->rounds;
    if (k > 0 && x->send[k - 1].done < CC_SIZE_BYTES)
        return;
    put_number(x, 0, x->begin[count] - CC_SIZE_BYTES);
    x->send[k] = (struct cc_transfer){.peer = (int)((me + n - x->have) % n),
                                      .at = x->records,
                                      .bytes = x->begin[count],
                                      .ready = x->begin[count],
                                      .sized = true,
                                      .needs_clear = k > 0};
    x->recv[k] = (struct cc_transfer){.peer = (int)((me + x->have) % n),
                                      .at = CC_OFFSET_OR_NULL(x->records, x->begin[x->have]),
                                      .bytes = records_capacity(x, count),
                                      .sized = true,
                                      .needs_clear = k > 0};
    x->recv[k].ready = x->recv[k].bytes;
    cc_block_stream_add(&x->streams.out, &x->send[k]);
    cc_block_stream_add(&x->streams.in, &x->recv[k]);
    x->rounds++;
    x->receiving = true;
    *moved = true;
}

/* Finds the records in what the round has received. */
static int end_round(struct allgather *x, struct cc_error *e)
{
    const struct cc_transfer *t = &x->recv[x->rounds - 1];
    const size_t count = round_records(x), end = x->begin[x->have] + t->bytes;
    size_t at = x->begin[x->have];
    for (size_t i = 0; i < count; i++) {
        const size_t left = end - at;
        const uint64_t len = left >= RECORD_HEAD ? length_at(x, x->have + i, at) : 0;
        if (left < RECORD_HEAD || len > left - RECORD_HEAD)
            return cc_fail(e, "what rank %d sends ends within payload %zu", t->peer, i);
        at += RECORD_HEAD + len;
        x->begin[x->have + i + 1] = at;
    }
    x->have += count;
    x->receiving = false;
    return at == end ? CC_OK : cc_fail(e, "rank %d sends %zu bytes too many", t->peer, end - at);
}

/* The workers that send in this step. */
static size_t senders_of(const struct allgather *x)
{
    const struct cc_rank_state *s = x->head.s;
    size_t count = 0;
    for (size_t i = 0; i < workers_of(x); i++)
        count += cc_training_sends(s->job, s->step, (int)i);
    return count;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of the norms of those that have sent: of an even number, the mean of the middle two.
 */
static int median_norm(const struct allgather *x, size_t senders, double *out, struct cc_error *e)
{
    double *sorted;
    size_t count = 0;
    CC_TRY(CC_NEW(sorted, workers_of(x), e));
    for (size_t i = 0; i < workers_of(x); i++)
        if (x->norm[i] >= 0)
            sorted[count++] = x->norm[i];
    qsort(sorted, count, sizeof *sorted, by_value);
    *out = count > 0 ? (sorted[(count - 1) / 2] + sorted[count / 2]) / 2 : 0;
    free(sorted);
    return count == senders ? CC_OK : cc_fail(e, "%zu of %zu payloads are here", count, senders);
}

/* Adds the decoded payloads to the model, in the order of the ranks, each scaled to the median. */
static int add_scaled(struct allgather *x, size_t senders, struct cc_error *e)
{
    const struct cc_rank_state *s = x->head.s;
    const size_t values = x->head.range.to - x->head.range.from;
    float *model = CC_OFFSET_OR_NULL(s->model, x->head.range.from);
    double median;
    CC_TRY(median_norm(x, senders, &median, e));
    for (size_t rank = 0; rank < workers_of(x); rank++) {
        const float *y = x->decoded + rank * values;
        const double norm = x->norm[rank];
        const float scale = (float)(median / norm / (double)senders);
        for (size_t i = 0; i < values && norm > 0; i++)
            model[i] += scale * y[i];
    }
    return CC_OK;
}

/* Decodes a rank's payload, to be added when all are here. */
static int hold(struct allgather *x, size_t rank, const uint8_t *payload, size_t len, bool sends,
                struct cc_error *e)
{
    const size_t values = x->head.range.to - x->head.range.from;
    float *y = x->decoded + rank * values;
    x->norm[rank] = -1;
    if (!sends)
        return CC_OK;
    CC_TRY_IN(cc_pack_decode(x->pack, x->head.s->step, payload, len, y, e), e, "from rank %zu",
              rank);
    x->norm[rank] = sqrt(k_reduce()->sum_sq(y, values));
    return CC_OK;
}

/* Decodes a rank's payload onto the model. */
static int apply(struct allgather *x, size_t rank, const uint8_t *payload, size_t len,
                 struct cc_error *e)
{
    const struct cc_rank_state *s = x->head.s;
    float *model = CC_OFFSET_OR_NULL(s->model, x->head.range.from);
    const bool sends = cc_training_sends(s->job, s->step, (int)rank);
    const size_t senders = senders_of(x);
    if (len > 0 && !sends)
        return cc_fail(e, "rank %zu sends in a step in which it does not", rank);
    if (x->decoded != NULL) {
        CC_TRY(hold(x, rank, payload, len, sends, e));
        return rank + 1 == workers_of(x) ? add_scaled(x, senders, e) : CC_OK;
    }
    if (!sends)
        return CC_OK;
    const float scale = 1.0f / (float)senders;
    CC_TRY_IN(cc_pack_decode_add(x->pack, s->step, payload, len, scale, model, e), e,
              "from rank %zu", rank);
    return CC_OK;
}

static int apply_all(struct allgather *x, struct cc_error *e)
{
    struct cc_rank_state *s = x->head.s;
    const size_t n = workers_of(x), me = (size_t)s->rank;
    const struct cc_work_timer since = cc_work_begin(s->transport);
    int status = CC_OK;
    for (size_t rank = 0; rank < n && status == CC_OK; rank++) {
        const size_t i = (rank + n - me) % n, at = x->begin[i] + RECORD_HEAD;
        status = apply(x, rank, CC_OFFSET_OR_NULL(x->records, at), x->begin[i + 1] - at, e);
    }
    cc_charge(s, CC_PHASE_DECODE, since, (double)n * cc_pack_cost(x->pack, CC_PACK_ADD));
    return status;
}

/* --- ranks of one process --- */

/* Lends rank 0 the payload, or has the others lend it theirs. */
static int start_lending(struct allgather *x, size_t len, struct cc_error *e)
{
    const struct cc_rank_state *s = x->head.s;
    struct cc_parcel parcel = {.bytes = cc_pack_bound(x->pack), .tag = x->streams.in.tag};
    x->applied = 0;
    for (size_t i = 1; i < x->lent.count; i++) {
        parcel.peer = (int)i;
        CC_TRY(cc_requests_begin(&x->lent, i, &parcel, false, e));
    }
    if (s->rank == 0)
        return CC_OK;
    parcel =
        (struct cc_parcel){.at = x->records + RECORD_HEAD, .bytes = len, .tag = x->streams.in.tag};
    return cc_requests_begin(&x->lent, 0, &parcel, true, e);
}

/* Applies the payloads that are lent, in the order of the ranks, as they come. */
static int apply_lent(struct allgather *x, struct cc_error *e)
{
    struct cc_rank_state *s = x->head.s;
    for (bool over = true; x->applied < x->lent.count; x->applied++) {
        const size_t rank = x->applied;
        if (rank > 0)
            CC_TRY(cc_requests_test(&x->lent, rank, &over, e));
        if (!over)
            return CC_OK;
        const struct cc_work_timer since = cc_work_begin(s->transport);
        const bool own = rank == 0;
        CC_TRY(apply(x, rank, own ? x->records + RECORD_HEAD : cc_requests_lent(&x->lent, rank),
                     own ? x->begin[1] - RECORD_HEAD : cc_requests_bytes(&x->lent, rank), e));
        cc_charge(s, CC_PHASE_DECODE, since, cc_pack_cost(x->pack, CC_PACK_ADD));
    }
    return CC_OK;
}

static int test_lending(struct allgather *x, bool *done, struct cc_error *e)
{
    *done = x->over;
    if (x->over)
        return CC_OK;
    if (x->head.s->rank > 0)
        return cc_requests_test(&x->lent, 0, done, e);
    CC_TRY(apply_lent(x, e));
    *done = x->applied == x->lent.count;
    return CC_OK;
}

/* --- operations --- */

static int allgather_start(void *of, struct cc_error *e)
{
    struct allgather *x = of;
    struct cc_rank_state *s = x->head.s;
    const bool is_empty = x->head.range.from == x->head.range.to;
    size_t len = 0;
    if (cc_training_sends(s->job, s->step, s->rank))
        CC_TRY(cc_message_encode(s, x->pack, CC_OFFSET_OR_NULL(s->gradient, x->head.range.from),
                                 CC_PHASE_ENCODE, !is_empty,
                                 CC_OFFSET_OR_NULL(x->records, RECORD_HEAD), &len, e));
    put_number(x, CC_SIZE_BYTES, len);
    x->begin[0] = 0;
    x->begin[1] = RECORD_HEAD + len;
    x->have = 1;
    x->rounds = 0;
    x->receiving = false;
    x->over = cc_silent(s, x->head.message) || is_empty;
    return x->lent.count > 0 && !x->over ? start_lending(x, len, e) : CC_OK;
}

static int allgather_test(void *of, bool *done, struct cc_error *e)
{
    struct allgather *x = of;
    bool moved = !x->over;
    if (x->lent.count > 0)
        return test_lending(x, done, e);
    while (moved) {
        moved = false;
        if (x->receiving && cc_transfer_complete(&x->recv[x->rounds - 1])) {
            CC_TRY(end_round(x, e));
            moved = true;
        } else if (!x->receiving && x->have < workers_of(x)) {
            begin_round(x, &moved);
        }
        CC_TRY(cc_block_streams_progress(&x->streams, &moved, e));
    }
    *done = x->over;
    if (x->over || x->have < workers_of(x) || !cc_block_stream_idle(&x->streams.out))
        return CC_OK;
    *done = x->over = true;
    return apply_all(x, e);
}

static void allgather_close(void *of)
{
    struct allgather *x = of;
    cc_block_streams_close(&x->streams);
    cc_requests_close(&x->lent);
    cc_pack_free(x->pack);
    cc_room_free(x->head.s, x->records);
    free(x->begin);
    free(x->decoded);
    free(x->norm);
    free(x);
}

static int allgather_open(void *of, struct cc_error *e)
{
    struct allgather *x = of;
    const struct cc_rank_state *s = x->head.s;
    const struct cc_pack_config config = {.seed = s->job->seed, .rank = s->rank};
    const bool lends = s->transport->ops->lends;
    const size_t n = lends ? 1 : workers_of(x);
    size_t bytes;
    x->over = true;
    CC_TRY(cc_block_streams_open(&x->streams, x->head.s, x->head.index, 1, e));
    if (lends)
        CC_TRY(cc_requests_open(s->transport, s->rank > 0 ? 1 : workers_of(x), &x->lent, e));
    CC_TRY(cc_message_pack_make(s, x->head.range, x->head.range.from, config, &x->pack, e));
    if (!cc_mul(n, RECORD_HEAD + cc_pack_bound(x->pack), &bytes))
        return cc_fail(e, "the payloads of %zu workers do not fit into memory", n);
    CC_TRY(CC_NEW(x->begin, n + 1, e));
    if (s->job->training.local.median && s->job->data) {
        CC_TRY(cc_alloc_floats(workers_of(x) * (x->head.range.to - x->head.range.from), &x->decoded,
                               e));
        CC_TRY(CC_NEW(x->norm, workers_of(x), e));
    }
    return lends ? cc_room_alloc(s, x->head.index, 0, bytes, &x->records, e)
                 : cc_data_alloc(s->job, bytes, &x->records, e);
}

const struct cc_exchange_kind cc_allgather_bruck = {
    .ops = {allgather_start, allgather_test, allgather_close},
    .bytes = sizeof(struct allgather),
    .open = allgather_open};

const struct cc_exchange_code cc_exchange_code_allgather = {.kind = &cc_allgather_bruck};
