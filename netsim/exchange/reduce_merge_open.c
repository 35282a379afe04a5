/* Opening and closing a way: buffers for the most that can come, packs, and the groups of rounds
 * that are added at once. */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/exchange/message_pack.h"
#include "netsim/exchange/reduce_merge_impl.h"
#include "netsim/exchange/data.h"
#include "schemes/spec.h"

struct cc_stream_range cc_merge_values(const struct cc_merge *x, size_t first, size_t count)
{
    const struct cc_range r = cc_chunks_range(x->range, x->schedule.chunks, first, count);
    return (struct cc_stream_range){(uint32_t)(r.from - x->range.from),
                                    (uint32_t)(r.to - x->range.from)};
}

/* The exchange in the lowest byte, and a hash of the scheme (FNV-1a). */
static uint32_t make_tag(const struct cc_rank_state *s, enum cc_exchange exchange)
{
    uint32_t hash = 2166136261u;
    for (const char *p = s->spec->name; *p != '\0'; p++)
        hash = (hash ^ (uint8_t)*p) * 16777619u;
    return hash << 8 | (uint32_t)exchange;
}

/* --- rounds and chunks --- */

/* The largest message of a stream of w workers' values. */
static size_t message_bound(const struct cc_merge *x, struct cc_stream_range r, int w)
{
    const size_t n = cc_range_length(r);
    return n == 0 ? 0
                  : CC_SIZE_BYTES +
                        cc_stream_bound(n, (size_t)w * x->gradient->most, x->rank_state->job->wire);
}

static int open_reducing_round(struct cc_merge *x, size_t k, struct cc_error *e)
{
    const struct cc_round *r = &x->schedule.round[k];
    struct cc_merge_round *t = &x->round_state[k];
    t->sent = cc_merge_values(x, r->send_first, r->send_count);
    t->received = cc_merge_values(x, r->recv_first, r->recv_count);
    t->pairs = (size_t)r->recv_workers * x->gradient->most;
    t->out_capacity = message_bound(x, t->sent, r->send_workers);
    t->in_capacity = message_bound(x, t->received, r->recv_workers);
    CC_TRY(cc_data_alloc(x->rank_state->job, t->out_capacity, &t->out, e));
    return cc_inbox_alloc(x->rank_state, t->in_capacity, &t->in, e);
}

static int open_passing_round(struct cc_merge *x, size_t k, struct cc_error *e)
{
    const struct cc_round *r = &x->schedule.round[k];
    struct cc_merge_round *t = &x->round_state[k];
    t->out_capacity = cc_merge_chunks_bytes(x, r->send_first, r->send_count);
    t->in_capacity = cc_merge_chunks_bytes(x, r->recv_first, r->recv_count);
    CC_TRY(cc_data_alloc(x->rank_state->job, r->send_count > 1 ? t->out_capacity : 0, &t->out, e));
    return cc_inbox_alloc(x->rank_state, t->in_capacity, &t->in, e);
}

/* A pack of chunk i's values by the second scheme: one that encodes, of the owner, or decodes. */
static int open_quantized(const struct cc_merge *x, size_t i, bool decodes, struct cc_pack **out,
                          struct cc_error *e)
{
    const struct cc_rank_state *s = x->rank_state;
    const struct cc_range r = cc_chunks_range(x->range, x->schedule.chunks, i, 1);
    const struct cc_pack_config config = {
        .seed = s->job->seed + 1, .rank = (int64_t)i, .spec = s->second, .decodes_only = decodes};
    return cc_message_pack_make(s, r, decodes ? x->range.from : r.from, config, out, e);
}

/* Whether sums can be sent as all values. */
static bool may_be_dense(const struct cc_merge *x)
{
    if (x->choices == NULL)
        return x->exchange == CC_DSAR_SPLIT;
    for (size_t i = 0; i < x->choices->count; i++)
        if (x->choices->item[i].exchange == CC_DSAR_SPLIT)
            return true;
    return false;
}

static int open_chunks(struct cc_merge *x, struct cc_error *e)
{
    const struct cc_rank_state *s = x->rank_state;
    const bool dense = may_be_dense(x);
    for (size_t i = 0; i < x->schedule.chunks; i++) {
        struct cc_merge_chunk *c = &x->chunk[i];
        c->range = cc_merge_values(x, i, 1);
        if (cc_range_length(c->range) == 0)
            continue;
        if (dense && s->second == NULL) {
            c->dense_bytes = CC_STREAM_HEAD + cc_range_length(c->range) * sizeof(float);
        } else if (dense && !s->job->data) {
            CC_TRY(cc_merge_quantized_bytes(x, c->range, &c->dense_bytes, e));
        } else if (dense) {
            CC_TRY(open_quantized(x, i, true, &c->decoder, e));
            c->dense_bytes = CC_STREAM_HEAD + cc_pack_bound(c->decoder);
        }
        if (x->exchange != CC_DSAR_SPLIT)
            c->bound = message_bound(x, c->range, s->job->workers) - CC_SIZE_BYTES;
        c->bound = cc_larger(c->bound, c->dense_bytes);
        c->len = c->bound; /* at most, for the buffers */
    }
    return CC_OK;
}

/* The memory and the packs with which this rank sends the sum that it owns. */
static int open_own(struct cc_merge *x, struct cc_error *e)
{
    const struct cc_schedule *p = &x->schedule;
    const struct cc_merge_chunk *c = &x->chunk[p->own_chunk];
    bool sends = false;
    for (size_t k = p->reduce_rounds; k < p->rounds; k++)
        sends |= p->round[k].send_first <= p->own_chunk &&
                 p->own_chunk < p->round[k].send_first + p->round[k].send_count;
    x->has_sum = p->owns_chunk || p->reduce_rounds == p->rounds;
    x->encodes_own = x->has_sum && c->bound > 0 && (sends || c->decoder != NULL);
    if (!x->encodes_own || !x->rank_state->job->data)
        return CC_OK;
    x->whole = cc_alloc(CC_SIZE_BYTES + c->bound, e);
    if (x->whole == NULL || c->decoder == NULL)
        return x->whole != NULL ? CC_OK : CC_FAIL;
    CC_TRY(CC_NEW(x->values, cc_range_length(c->range), e));
    return open_quantized(x, p->own_chunk, false, &x->quantizer, e);
}

/* Whether round k can be added together with those of the group before it: by chunks, not values,
 * as chunks may be empty. */
static bool joins(const struct cc_merge *x, const struct cc_merge_group *g, size_t k)
{
    const struct cc_round *r = x->schedule.round, *of = &r[g->first];
    for (size_t j = g->first + 1; j <= k; j++)
        if (r[j].send_first < of->recv_first + of->recv_count &&
            of->recv_first < r[j].send_first + r[j].send_count)
            return false;
    return g->end == k && r[k].recv_first == of->recv_first && r[k].recv_count == of->recv_count;
}

static int open_sums(struct cc_merge *x, struct cc_error *e)
{
    size_t most = 0;
    for (size_t k = 0; k < x->schedule.reduce_rounds; k++) {
        const struct cc_merge_round *t = &x->round_state[k];
        const size_t all = (size_t)x->rank_state->job->workers * x->gradient->most;
        const size_t bytes = cc_stream_memory(cc_range_length(t->received), all);
        if (x->schedule.round[k].recv_count == 0)
            continue;
        most = bytes > most ? bytes : most;
        if (x->groups > 0 && joins(x, &x->group[x->groups - 1], k))
            x->group[x->groups - 1].end++;
        else
            x->group[x->groups++] = (struct cc_merge_group){k, k + 1};
    }
    for (int i = 0; i < 2 && x->rank_state->job->data; i++) {
        void *memory = cc_alloc(most, e);
        if (memory == NULL)
            return CC_FAIL;
        x->sum[i].pair = memory;
        x->sum[i].value = memory;
    }
    return CC_OK;
}

static int open_rounds(struct cc_merge *x, struct cc_error *e)
{
    CC_TRY(CC_NEW(x->round_state, x->schedule.rounds, e));
    CC_TRY(CC_NEW(x->chunk, x->schedule.chunks, e));
    CC_TRY(CC_NEW(x->group, x->schedule.rounds, e));
    CC_TRY(open_chunks(x, e));
    for (size_t k = 0; k < x->schedule.reduce_rounds; k++)
        CC_TRY(open_reducing_round(x, k, e));
    for (size_t k = x->schedule.reduce_rounds; k < x->schedule.rounds; k++)
        CC_TRY(open_passing_round(x, k, e));
    CC_TRY(open_own(x, e));
    return open_sums(x, e);
}

int cc_merge_open(struct cc_merge_gradient *g, enum cc_exchange exchange,
                  cc_schedule_builder *build, const struct cc_job_choices *choices, size_t index,
                  struct cc_merge **out, struct cc_error *e)
{
    struct cc_rank_state *s = g->rank_state;
    struct cc_merge *x;
    CC_TRY(CC_NEW(x, 1, e));
    *out = x;
    *x = (struct cc_merge){.rank_state = s,
                           .gradient = g,
                           .exchange = exchange,
                           .choices = choices,
                           .range = g->range,
                           .tag = make_tag(s, exchange)};
    /* ssar-auto and pruning need the sums of all ranks. */
    const bool all = choices != NULL || g->prunes || s->job->exchange == CC_SSAR_AUTO;
    CC_TRY(cc_exchange_schedule(s, build, all ? CC_SUMS_FOR_ALL : CC_SUMS_TREE, &x->schedule, e));
    cc_chunks_drop_empty(x->range, &x->schedule);
    CC_TRY(cc_room_alloc(s, SIZE_MAX, 0, cc_stream_scratch(), &x->scratch, e));
    CC_TRY(CC_NEW(x->part, (size_t)s->job->workers, e));
    CC_TRY(cc_block_streams_open(&x->streams, s, index, x->schedule.at_once, e));
    return open_rounds(x, e);
}

void cc_merge_close(struct cc_merge *x)
{
    if (x == NULL)
        return;
    cc_block_streams_close(&x->streams);
    for (size_t k = 0; k < x->schedule.rounds && x->round_state != NULL; k++) {
        free(x->round_state[k].out);
        free(x->round_state[k].in);
    }
    for (size_t i = 0; i < x->schedule.chunks && x->chunk != NULL; i++)
        cc_pack_free(x->chunk[i].decoder);
    cc_pack_free(x->quantizer);
    free(x->sum[0].pair);
    free(x->sum[1].pair);
    free(x->values);
    free(x->whole);
    cc_room_free(x->rank_state, x->scratch);
    free(x->part);
    free(x->group);
    free(x->chunk);
    free(x->round_state);
    free(x->schedule.round);
    free(x);
}
