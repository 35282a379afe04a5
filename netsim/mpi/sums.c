/* Payloads that are floats, added as they are.
 *
 * Everything moves by blocks: as soon as a block has come, it is added and may go on in the next
 * round. Each round says what it sends and receives; which block may go, be received or be added
 * follows from what earlier rounds have done to the same floats. */
#include <stdlib.h>

#include "core/clock.h"
#include "core/memory.h"
#include "netsim/mpi/stream.h"
#include "netsim/mpi/way.h"

/* One round of the plan, in bytes of the payload. */
struct turn {
    struct cc_range send, recv;
    bool adds;
    struct cc_transfer out, in;
    size_t added; /* of what came, and is in its place */
};

struct sums {
    const struct cc_way *way;
    struct cc_station *station;
    const struct cc_job_message *message;
    struct cc_plan plan;
    size_t from; /* the message's first value */
    struct cc_crate *crate;
    uint8_t *sum, *come; /* float32: what it has, and what comes to be added */
    size_t bytes;        /* of the step's payload */
    struct turn *turn;
    size_t low; /* the first turn that is not over */
    struct cc_stream out, in;
    bool over;
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
        end = smaller(end, before(want, x->turn[j].recv, x->turn[j].added));
    for (size_t j = x->low; j <= k && sent; j++)
        end = smaller(end, before(want, x->turn[j].send, x->turn[j].out.done));
    return end - want.from;
}

static void add_floats(float *restrict sum, const float *restrict v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += v[i];
}

/* Adds what of turn k has come; what is kept came to its place. */
static bool add(struct sums *x, size_t k)
{
    struct turn *t = &x->turn[k];
    size_t end = t->in.done;
    if (t->added == end)
        return false;
    if (t->adds)
        end = smaller(end, settled(x, k, t->recv, true));
    if (t->added == end)
        return false;
    if (t->adds) {
        const double since = cc_now();
        const size_t at = t->recv.from + t->added;
        add_floats((float *)(void *)(x->sum + at), (const float *)(const void *)(x->come + at),
                   (end - t->added) / sizeof(float));
        cc_charge(x->station, CC_PHASE_HOP, since);
    }
    t->added = end;
    return true;
}

static bool turn_over(const struct turn *t)
{
    return cc_transfer_complete(&t->out) && t->added == t->in.bytes;
}

/* What may be posted, and what can be added; *moved if something was. */
static void look(struct sums *x, bool *moved)
{
    for (size_t k = x->low; k < x->plan.rounds; k++) {
        struct turn *t = &x->turn[k];
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

static int sums_test(void *of, bool *done, struct cc_error *e)
{
    struct sums *x = of;
    bool moved = !x->over;
    while (moved) {
        moved = false;
        look(x, &moved);
        int status = cc_stream_go(&x->in, &moved, e);
        if (status == CC_OK)
            status = cc_stream_go(&x->out, &moved, e);
        if (status != CC_OK)
            return status;
    }
    if (!x->over && x->low == x->plan.rounds) {
        x->over = true;
        int status =
            cc_way_apply(x->station, x->crate, x->sum, x->bytes, x->station->model + x->from, e);
        if (status != CC_OK)
            return status;
    }
    *done = x->over;
    return CC_OK;
}

/* Chunks of the payload, in bytes. */
static struct cc_range range_of(const struct sums *x, size_t first, size_t count)
{
    const size_t n = x->bytes / sizeof(float), chunks = x->plan.chunks;
    size_t begin = n / chunks * first + smaller(first, n % chunks);
    size_t end = n / chunks * (first + count) + smaller(first + count, n % chunks);
    return (struct cc_range){begin * sizeof(float), end * sizeof(float)};
}

static void begin_turn(struct sums *x, size_t k)
{
    const struct cc_round *r = &x->plan.round[k];
    struct turn *t = &x->turn[k];
    *t = (struct turn){.send = range_of(x, r->send, r->sends),
                       .recv = range_of(x, r->recv, r->recvs),
                       .adds = k < x->plan.reduces};
    uint8_t *to = t->adds ? x->come : x->sum;
    t->out = (struct cc_transfer){
        .peer = r->to, .at = x->sum + t->send.from, .bytes = t->send.to - t->send.from};
    t->in = (struct cc_transfer){
        .peer = r->from, .at = to + t->recv.from, .bytes = t->recv.to - t->recv.from};
    cc_stream_add(&x->out, &t->out);
    cc_stream_add(&x->in, &t->in);
}

static int sums_start(void *of, struct cc_error *e)
{
    struct sums *x = of;
    const bool quiet = cc_quiet(x->station, x->message);
    int status = cc_way_encode(x->station, x->crate, x->station->gradient + x->from,
                               CC_PHASE_ENCODE, true, x->sum, &x->bytes, e);
    if (status != CC_OK)
        return status;
    x->low = 0;
    x->over = quiet;
    for (size_t k = 0; k < x->plan.rounds && !quiet; k++)
        begin_turn(x, k);
    return CC_OK;
}

static void sums_close(void *of)
{
    struct sums *x = of;
    cc_stream_close(&x->out);
    cc_stream_close(&x->in);
    cc_crate_free(x->crate);
    free(x->plan.round);
    free(x->sum);
    free(x->come);
    free(x->turn);
    free(x);
}

static const struct cc_way sums_way = {sums_start, sums_test, sums_close};

static int make(struct sums *x, struct cc_error *e)
{
    struct cc_station *s = x->station;
    const struct cc_range range = cc_message_range(s, x->message);
    const struct cc_crate_how how = {.seed = s->job->seed, .rank = s->rank, .bare = true};
    x->from = range.from;
    int status = cc_way_crate(s, range, range.from, how, &x->crate, e);
    if (status != CC_OK)
        return status;
    x->sum = cc_alloc(cc_crate_bound(x->crate), e);
    x->come = x->sum == NULL ? NULL : cc_alloc(cc_crate_bound(x->crate), e);
    x->turn = x->come == NULL ? NULL : cc_alloc0(x->plan.rounds * sizeof *x->turn, e);
    return x->turn == NULL ? CC_FAIL : CC_OK;
}

int cc_sums_open(struct cc_station *s, const struct cc_job_message *m, size_t index,
                 struct cc_plan *plan, void **out, struct cc_error *e)
{
    struct sums *x = cc_alloc0(sizeof *x, e);
    if (x == NULL) {
        free(plan->round);
        return CC_FAIL;
    }
    *x = (struct sums){.way = &sums_way, .station = s, .message = m, .plan = *plan, .over = true};
    cc_stream_open(&x->out, s, index, true);
    cc_stream_open(&x->in, s, index, false);
    int status = make(x, e);
    if (status == CC_OK)
        *out = x;
    else
        sums_close(x);
    return status;
}
