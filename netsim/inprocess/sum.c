/* Floats that are added after a schedule, as netsim/exchange/reduce_sum.c does: payloads that
 * are floats, or the rounds of a scheme that has several sums in a step. The floats of a round are
 * cut into the schedule's chunks; a chunk that a round receives is added to the rank's own, or,
 * after the rounds that reduce, takes its place. */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/memory.h"
#include "core/reduce.h"
#include "netsim/inprocess/reduction.h"
#include "netsim/inprocess/rounds.h"

struct sum {
    const struct cc_inprocess_ops *ops;
    const struct cc_inprocess_message *message;
    struct cc_pack **pack; /* of each worker */
    struct cc_rounds rounds;
    float **floats; /* of each worker: its own, and then the sum */
    float **sent; /* of each worker: its floats as they were when a round sent them, round by round;
                     room for all rounds */
    size_t **sent_at; /* [worker][round]: where a round's floats begin in `sent` */
    float *other;     /* what workers after the first decode, which is what the first one does */
    size_t bound;     /* bytes of a round */
    size_t n;         /* floats of the round that is under way */
};

struct floats {
    size_t from, to;
};

static int workers_of(const struct sum *x)
{
    return x->message->config->job->workers;
}

/* As chunk_bytes in reduce_sum.c. */
static struct floats chunks(const struct sum *x, const struct cc_schedule *s, size_t first,
                            size_t count)
{
    const size_t each = x->n / s->chunks, longer = x->n % s->chunks, end = first + count;
    return (struct floats){each * first + (first < longer ? first : longer),
                           each * end + (end < longer ? end : longer)};
}

static int begin_round(void *arg, int rank, size_t round, struct cc_error *e)
{
    struct sum *x = arg;
    const struct cc_schedule *s = &x->rounds.rank[rank];
    (void)e;
    if (round == s->rounds || s->round[round].to < 0)
        return CC_OK;
    const struct floats f = chunks(x, s, s->round[round].send_first, s->round[round].send_count);
    memcpy(x->sent[rank] + x->sent_at[rank][round], x->floats[rank] + f.from,
           (f.to - f.from) * sizeof(float));
    return CC_OK;
}

static int receive_round(void *arg, int rank, size_t round, int from, size_t from_round,
                         struct cc_error *e)
{
    struct sum *x = arg;
    const struct cc_schedule *s = &x->rounds.rank[rank];
    const struct floats f = chunks(x, s, s->round[round].recv_first, s->round[round].recv_count);
    const float *received = x->sent[from] + x->sent_at[from][from_round];
    float *own = x->floats[rank] + f.from;
    (void)e;
    if (round >= s->reduce_rounds)
        memcpy(own, received, (f.to - f.from) * sizeof *own);
    for (size_t i = 0; i < f.to - f.from && round < s->reduce_rounds; i++)
        own[i] = own[i] + received[i];
    return CC_OK;
}

/* Adds the mean of gradients that were sent as they are. */
static int add_mean(const struct sum *x, float *result, struct cc_error *e)
{
    const struct cc_job *job = x->message->config->job;
    const float scale = 1.0f / (float)job->workers;
    const float *total = x->floats[0];
    if (!cc_finite_bits(cc_absmax(total, NULL, x->n, 1))) {
        const struct cc_context ctx = {.offset = x->message->values.from, .name = "the sum"};
        (void)cc_refuse(&ctx, total, NULL, x->n, e);
        return CC_DIVERGED;
    }
    for (size_t i = 0; i < x->n; i++)
        result[i] = cc_add_scaled(result[i], scale, total[i]);
    return CC_OK;
}

/* Every worker absorbs the sum, since its state depends on it; all decode the same. */
static int absorb(struct sum *x, const struct cc_inprocess_call *c, size_t round, float *result,
                  struct cc_error *e)
{
    const float scale = 1.0f / (float)workers_of(x);
    for (int i = 0; i < workers_of(x); i++)
        CC_TRY(cc_pack_absorb(x->pack[i], c->step, round, (const uint8_t *)x->floats[0],
                              x->n * sizeof(float), scale, i == 0 ? result : x->other, e));
    return CC_OK;
}

static int sum_exchange(void *arg, const struct cc_inprocess_call *c, struct cc_error *e)
{
    static const struct cc_rounds_work work = {begin_round, receive_round};
    struct sum *x = arg;
    const size_t from = x->message->values.from, rounds = cc_pack_rounds(x->pack[0]);
    float *result = c->result + from;
    const double workers = (double)workers_of(x);
    for (size_t round = 0; round < rounds; round++) {
        const double since = cc_thread_now();
        size_t len = 0;
        for (int i = 0; i < workers_of(x); i++) {
            CC_TRY(cc_pack_encode_round(x->pack[i], c->step, round, c->gradient[i] + from,
                                        (uint8_t *)x->floats[i], &len, e));
            c->out->push_bytes += len;
        }
        const double encoded = cc_thread_now();
        const bool verbatim = cc_pack_verbatim(x->pack[0]);
        c->out->encode_s += verbatim ? 0 : (encoded - since) / workers;
        x->n = len / sizeof(float);
        if (len == 0)
            continue;
        CC_TRY(cc_rounds_play(&x->rounds, &work, x, e));
        const double summed = cc_thread_now();
        c->out->hop_s += (summed - encoded) / workers;
        CC_TRY(verbatim ? add_mean(x, result, e) : absorb(x, c, round, result, e));
        c->out->decode_s += verbatim ? 0 : (cc_thread_now() - summed) / workers;
    }
    return CC_OK;
}

static void sum_close(void *arg)
{
    struct sum *x = arg;
    for (int i = 0; i < workers_of(x); i++) {
        if (x->pack != NULL)
            cc_pack_free(x->pack[i]);
        if (x->floats != NULL)
            free(x->floats[i]);
        if (x->sent != NULL)
            free(x->sent[i]);
        if (x->sent_at != NULL)
            free(x->sent_at[i]);
    }
    cc_rounds_close(&x->rounds);
    free(x->pack);
    free(x->floats);
    free(x->sent);
    free(x->sent_at);
    free(x->other);
    free(x);
}

static int open_worker(struct sum *x, int rank, struct cc_error *e)
{
    const struct cc_inprocess_message *m = x->message;
    const struct cc_schedule *s = &x->rounds.rank[rank];
    const struct cc_pack_config config = {.seed = m->config->job->seed, .rank = rank};
    size_t all = 0;
    CC_TRY(cc_inprocess_pack(m, rank, m->values, config, &x->pack[rank], e));
    x->bound = cc_pack_bound(x->pack[rank]);
    x->n = x->bound / sizeof(float);
    x->floats[rank] = cc_alloc(x->bound, e);
    x->sent_at[rank] = cc_alloc(s->rounds * sizeof **x->sent_at, e);
    if (x->floats[rank] == NULL || x->sent_at[rank] == NULL)
        return CC_FAIL;
    for (size_t k = 0; k < s->rounds; k++) {
        const struct floats f = chunks(x, s, s->round[k].send_first, s->round[k].send_count);
        x->sent_at[rank][k] = all;
        all += f.to - f.from;
    }
    x->sent[rank] = cc_alloc(all * sizeof(float), e);
    return x->sent[rank] != NULL ? CC_OK : CC_FAIL;
}

/* Sums are as large in every step: ssar-auto's last choice holds. */
static enum cc_exchange exchange_of(const struct cc_inprocess_message *m)
{
    const struct cc_job_choices c = cc_job_choices_of(m->config->row, m->index);
    return c.count > 0 ? c.item[c.count - 1].exchange : m->config->job->exchange;
}

int cc_inprocess_sum_open(const struct cc_inprocess_message *m, void **out, struct cc_error *e)
{
    static const struct cc_inprocess_ops ops = {sum_exchange, sum_close};
    const size_t n = (size_t)m->config->job->workers;
    int status = CC_OK;
    struct sum *x = cc_alloc0(sizeof *x, e);
    if (x == NULL)
        return CC_FAIL;
    x->ops = &ops;
    x->message = m;
    x->pack = cc_alloc0(n * sizeof(struct cc_pack *), e);
    x->floats = cc_alloc0(n * sizeof(float *), e);
    x->sent = cc_alloc0(n * sizeof(float *), e);
    x->sent_at = cc_alloc0(n * sizeof(size_t *), e);
    x->other = cc_alloc0((m->values.to - m->values.from) * sizeof *x->other, e);
    if (x->pack == NULL || x->floats == NULL || x->sent == NULL || x->sent_at == NULL ||
        x->other == NULL) {
        status = CC_FAIL;
        goto out;
    }
    CC_TRY_OUT(cc_rounds_open(&x->rounds, exchange_of(m), (int)n, e));
    for (size_t i = 0; i < n; i++)
        CC_TRY_OUT(open_worker(x, (int)i, e));
    if (cc_pack_rounds(x->pack[0]) == 0)
        status = cc_fail(e, "%s: its payloads cannot be summed", m->config->spec->name);
    *out = x;
out:
    if (status != CC_OK)
        sum_close(x);
    return status;
}
