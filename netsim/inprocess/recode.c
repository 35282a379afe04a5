/* Payloads that are decoded, added to and encoded again at every hop of a schedule, as
 * netsim/exchange/reduce_recode.c does, with the same states: a pack for each round of each
 * rank. The rounds after those that reduce only pass payloads on, so nothing is done in them. */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/memory.h"
#include "netsim/inprocess/reduction.h"
#include "netsim/inprocess/rounds.h"

/* A payload that a rank makes in each step. */
struct encoding {
    struct cc_values values;
    struct cc_pack *pack; /* NULL: no values */
    bool first;           /* the rank encodes these values for the first time in a step */
    uint8_t *out;
    size_t len;
};

/* A round that reduces. */
struct hop {
    struct encoding sent;
    struct cc_pack *decoder; /* of what is received; NULL: no values */
};

struct rank {
    struct hop *hop;     /* of the rounds that reduce */
    struct encoding own; /* of the chunk whose whole sum this rank has */
    float *sum;          /* of the message: own values and received ones */
    bool summing;        /* `sum` has the own values; before, the gradient has them */
};

struct recode {
    const struct cc_inprocess_ops *ops;
    const struct cc_inprocess_message *message;
    struct cc_rounds rounds;
    struct rank *rank;
    struct cc_pack **decoder; /* of each chunk's whole sum; NULL: no values */
    size_t chunks;
    const struct cc_inprocess_call *call; /* while it is under way */
};

static int workers_of(const struct recode *x)
{
    return x->message->config->job->workers;
}

static struct cc_values chunk_values(const struct recode *x, size_t first, size_t count)
{
    const struct cc_values v = x->message->values;
    return (struct cc_values){cc_part_at(v.from, v.to, first, x->chunks),
                              cc_part_at(v.from, v.to, first + count, x->chunks)};
}

/* --- a step --- */

static int encode(struct recode *x, int rank, struct encoding *s, struct cc_error *e)
{
    const struct rank *r = &x->rank[rank];
    const float *values = r->summing ? r->sum : x->call->gradient[rank] + x->message->values.from;
    uint64_t payload;
    if (s->pack == NULL)
        return CC_OK;
    CC_TRY(cc_inprocess_encode(s->pack, x->call, values, s->out, &s->len, &payload, e));
    if (s->first && !x->call->silent)
        x->call->out->push_bytes += payload;
    return CC_OK;
}

static int begin_round(void *arg, int rank, size_t round, struct cc_error *e)
{
    struct recode *x = arg;
    const size_t reduce_rounds = x->rounds.rank[rank].reduce_rounds;
    if (round == reduce_rounds)
        return encode(x, rank, &x->rank[rank].own, e);
    return round < reduce_rounds ? encode(x, rank, &x->rank[rank].hop[round].sent, e) : CC_OK;
}

static int receive_round(void *arg, int rank, size_t round, int from, size_t from_round,
                         struct cc_error *e)
{
    struct recode *x = arg;
    const struct cc_schedule *s = &x->rounds.rank[rank];
    const struct cc_round *r = &s->round[round];
    struct rank *me = &x->rank[rank];
    const uint64_t step = x->call->step;
    if (round >= s->reduce_rounds || me->hop[round].decoder == NULL)
        return CC_OK;
    const struct cc_pack *decoder = me->hop[round].decoder;
    const struct encoding *received = &x->rank[from].hop[from_round].sent;
    if (r->send_count > 0 && r->send_first == r->recv_first) {
        const struct encoding *sent = &me->hop[round].sent;
        const struct encoding *one = r->own_second ? received : sent;
        const struct encoding *two = r->own_second ? sent : received;
        me->summing = true;
        CC_TRY(cc_pack_decode(decoder, step, one->out, one->len, me->sum, e));
        return cc_pack_decode_add(decoder, step, two->out, two->len, 1, me->sum, e);
    }
    const struct cc_values v = x->message->values;
    if (!me->summing)
        memcpy(me->sum, x->call->gradient[rank] + v.from, (v.to - v.from) * sizeof *me->sum);
    me->summing = true;
    return cc_pack_decode_add(decoder, step, received->out, received->len, 1, me->sum, e);
}

/* Every rank encodes each of its own values once. */
static int encode_silently(struct recode *x, struct cc_error *e)
{
    for (int i = 0; i < workers_of(x); i++) {
        struct rank *r = &x->rank[i];
        for (size_t k = 0; k < x->rounds.rank[i].reduce_rounds; k++)
            if (r->hop[k].sent.first)
                CC_TRY(encode(x, i, &r->hop[k].sent, e));
        if (r->own.first)
            CC_TRY(encode(x, i, &r->own, e));
    }
    return CC_OK;
}

/* Decodes the whole sums; where no rank encodes them, all ranks have the same floats. */
static int apply(const struct recode *x, float *result, struct cc_error *e)
{
    const float scale = 1.0f / (float)workers_of(x);
    const struct cc_values v = x->message->values;
    bool owned = false;
    for (size_t i = 0; i < x->chunks; i++) {
        const struct encoding *own = NULL;
        for (int k = 0; k < workers_of(x) && own == NULL; k++)
            if (x->rounds.rank[k].owns_chunk && x->rounds.rank[k].own_chunk == i)
                own = &x->rank[k].own;
        owned = owned || own != NULL;
        if (own != NULL && x->decoder[i] != NULL)
            CC_TRY(cc_pack_decode_add(x->decoder[i], x->call->step, own->out, own->len, scale,
                                      result, e));
    }
    const float *sum = owned || x->rank == NULL ? NULL : x->rank[0].sum;
    for (size_t i = 0; i < v.to - v.from && sum != NULL; i++)
        result[i] = cc_add_scaled(result[i], scale, sum[i]);
    return CC_OK;
}

static int recode_exchange(void *arg, const struct cc_inprocess_call *c, struct cc_error *e)
{
    static const struct cc_rounds_work work = {begin_round, receive_round};
    struct recode *x = arg;
    x->call = c;
    for (int i = 0; i < workers_of(x); i++)
        x->rank[i].summing = false;
    const double since = cc_thread_now(), workers = (double)workers_of(x);
    CC_TRY(c->silent ? encode_silently(x, e) : cc_rounds_play(&x->rounds, &work, x, e));
    const double summed = cc_thread_now();
    *(c->silent ? &c->out->encode_s : &c->out->hop_s) += (summed - since) / workers;
    if (c->silent)
        return CC_OK;
    CC_TRY(apply(x, c->result + x->message->values.from, e));
    c->out->decode_s += cc_thread_now() - summed;
    return CC_OK;
}

/* --- opening --- */

static void free_encoding(struct encoding *s)
{
    cc_pack_free(s->pack);
    free(s->out);
}

static void recode_close(void *arg)
{
    struct recode *x = arg;
    for (int i = 0; i < workers_of(x) && x->rank != NULL; i++) {
        struct rank *r = &x->rank[i];
        for (size_t k = 0; r->hop != NULL && k < x->rounds.rank[i].reduce_rounds; k++) {
            free_encoding(&r->hop[k].sent);
            cc_pack_free(r->hop[k].decoder);
        }
        free_encoding(&r->own);
        free(r->hop);
        free(r->sum);
    }
    for (size_t i = 0; i < x->chunks && x->decoder != NULL; i++)
        cc_pack_free(x->decoder[i]);
    cc_rounds_close(&x->rounds);
    free(x->rank);
    free(x->decoder);
    free(x);
}

/* Whether none of the rank's first `rounds` rounds encodes any of these values. */
static bool is_first(const struct rank *r, size_t rounds, struct cc_values v)
{
    for (size_t k = 0; k < rounds; k++)
        if (r->hop[k].sent.values.to > v.from && r->hop[k].sent.values.from < v.to)
            return false;
    return true;
}

static int open_encoding(const struct recode *x, int rank, struct cc_values v, int64_t encodes_as,
                         uint64_t salt, struct encoding *out, struct cc_error *e)
{
    const struct cc_pack_config config = {.seed = x->message->config->job->seed + salt,
                                          .rank = encodes_as};
    out->values = v;
    if (v.from == v.to)
        return CC_OK;
    CC_TRY(cc_inprocess_pack(x->message, rank, v, config, &out->pack, e));
    out->out = cc_alloc(cc_pack_bound(out->pack), e);
    return out->out != NULL ? CC_OK : CC_FAIL;
}

static int open_decoder(const struct recode *x, struct cc_values v, int64_t encodes_as,
                        uint64_t salt, struct cc_pack **out, struct cc_error *e)
{
    const struct cc_pack_config config = {
        .seed = x->message->config->job->seed + salt, .rank = encodes_as, .decodes_only = true};
    return v.from < v.to ? cc_inprocess_pack(x->message, 0, v, config, out, e) : CC_OK;
}

static int open_rank(struct recode *x, int rank, struct cc_error *e)
{
    const struct cc_schedule *s = &x->rounds.rank[rank];
    const struct cc_values v = x->message->values;
    struct rank *me = &x->rank[rank];
    me->hop = cc_alloc0(s->reduce_rounds * sizeof *me->hop, e);
    me->sum = cc_alloc((v.to - v.from) * sizeof *me->sum, e);
    if (me->hop == NULL || me->sum == NULL)
        return CC_FAIL;
    for (size_t k = 0; k < s->reduce_rounds; k++) {
        const struct cc_round *r = &s->round[k];
        const struct cc_values out = chunk_values(x, r->send_first, r->send_count);
        const struct cc_values in = chunk_values(x, r->recv_first, r->recv_count);
        struct hop *h = &me->hop[k];
        h->sent.first = is_first(me, k, out);
        CC_TRY(open_encoding(x, rank, out, r->encodes_as, r->salt, &h->sent, e));
        CC_TRY(open_decoder(x, in, r->encodes_as, r->salt, &h->decoder, e));
    }
    if (!s->owns_chunk)
        return CC_OK;
    const struct cc_values own = chunk_values(x, s->own_chunk, 1);
    me->own.first = is_first(me, s->reduce_rounds, own);
    return open_encoding(x, rank, own, s->owner_encodes_as, s->owner_salt, &me->own, e);
}

int cc_inprocess_recode_open(const struct cc_inprocess_message *m, void **out, struct cc_error *e)
{
    static const struct cc_inprocess_ops ops = {recode_exchange, recode_close};
    const int n = m->config->job->workers;
    int status = CC_OK;
    struct recode *x = cc_alloc0(sizeof *x, e);
    if (x == NULL)
        return CC_FAIL;
    x->ops = &ops;
    x->message = m;
    CC_TRY_OUT(cc_rounds_open(&x->rounds, m->config->job->exchange, n, e));
    const struct cc_schedule *s = &x->rounds.rank[0];
    x->chunks = s->chunks;
    x->rank = cc_alloc0((size_t)n * sizeof *x->rank, e);
    x->decoder = cc_alloc0(x->chunks * sizeof(struct cc_pack *), e);
    if (x->rank == NULL || x->decoder == NULL) {
        status = CC_FAIL;
        goto out;
    }
    for (int i = 0; i < n; i++)
        CC_TRY_OUT(open_rank(x, i, e));
    for (size_t i = 0; i < x->chunks; i++)
        CC_TRY_OUT(open_decoder(x, chunk_values(x, i, 1), s->owner_encodes_as, s->owner_salt,
                                &x->decoder[i], e));
    *out = x;
out:
    if (status != CC_OK)
        recode_close(x);
    return status;
}
