/* Ranks that share memory look for the chunks of their message before they make any. */
#include "netsim/exchange/chunks.h"

#include <stdlib.h>

#include "core/memory.h"

struct cc_range cc_chunks_range(struct cc_range message, size_t chunks, size_t first, size_t count)
{
    const size_t from = message.from, to = message.to;
    return (struct cc_range){cc_part_at(from, to, first, chunks),
                             cc_part_at(from, to, first + count, chunks)};
}

void cc_chunks_drop_empty(struct cc_range message, struct cc_schedule *s)
{
    size_t kept = 0, reduce_rounds = 0;
    bool begins = false;
    for (size_t k = 0; k < s->rounds; k++) {
        struct cc_round r = s->round[k];
        begins |= r.begins;
        const struct cc_range out = cc_chunks_range(message, s->chunks, r.send_first, r.send_count);
        const struct cc_range in = cc_chunks_range(message, s->chunks, r.recv_first, r.recv_count);
        if (out.from == out.to && in.from == in.to)
            continue;
        r.begins = begins;
        begins = false;
        reduce_rounds += k < s->reduce_rounds;
        s->round[kept++] = r;
    }
    s->rounds = kept;
    s->reduce_rounds = reduce_rounds;
}

struct cc_pack_config cc_chunks_config(const struct cc_rank_state *s,
                                       const struct cc_schedule *schedule)
{
    return (struct cc_pack_config){.spec = s->second,
                                   .sizes = s->second_sizes,
                                   .seed = s->job->seed + schedule->owner_salt,
                                   .rank = schedule->owner_encodes_as,
                                   .direction = s->second != NULL ? CC_PULL : CC_PUSH,
                                   .workers = cc_group_size(s)};
}

static int fill(const struct cc_rank_state *s, struct cc_range all,
                const struct cc_schedule *schedule, struct cc_chunks *c, struct cc_error *e)
{
    struct cc_pack_config config = cc_chunks_config(s, schedule);
    config.decodes_only = true;
    *c = (struct cc_chunks){.count = schedule->chunks, .holders = 1};
    CC_TRY(CC_NEW(c->chunk, schedule->chunks, e));
    for (int i = 0; i < 2 && !s->job->data; i++)
        CC_TRY(CC_NEW(c->sent[i].bytes, schedule->chunks, e));
    for (size_t i = 0; i < c->count; i++) {
        const struct cc_range r = cc_chunks_range(all, c->count, i, 1);
        struct cc_chunk *k = &c->chunk[i];
        CC_TRY(cc_message_pack_make(s, r, all.from, config, &k->decoder, e));
        k->bound = r.from < r.to ? cc_pack_bound(k->decoder) : 0;
    }
    return CC_OK;
}

int cc_chunks_open(const struct cc_rank_state *s, const struct cc_message *m, struct cc_range all,
                   const struct cc_schedule *schedule, struct cc_chunks **out, struct cc_error *e)
{
    for (struct cc_chunks *c = s->shared != NULL ? s->shared->chunks : NULL; c != NULL; c = c->next)
        if (c->message == m && c->collective == s->collective && c->of.from == all.from &&
            c->of.to == all.to && c->count == schedule->chunks) {
            c->holders++;
            *out = c;
            return CC_OK;
        }
    CC_TRY(CC_NEW(*out, 1, e));
    CC_TRY(fill(s, all, schedule, *out, e));
    if (s->shared != NULL) {
        (*out)->message = m;
        (*out)->collective = s->collective;
        (*out)->of = all;
        (*out)->list = &s->shared->chunks;
        (*out)->next = s->shared->chunks;
        s->shared->chunks = *out;
    }
    return CC_OK;
}

void cc_chunks_close(struct cc_chunks *c)
{
    if (c == NULL || --c->holders > 0)
        return;
    for (struct cc_chunks **at = c->list; at != NULL && *at != NULL; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            break;
        }
    for (size_t i = 0; i < c->count && c->chunk != NULL; i++)
        cc_pack_free(c->chunk[i].decoder);
    free(c->chunk);
    free(c->sent[0].bytes);
    free(c->sent[1].bytes);
    free(c);
}

const size_t *cc_chunks_bytes(struct cc_chunks *c, uint64_t step)
{
    size_t *bytes = c->sent[step % 2].bytes;
    if (c->sent[step % 2].known && c->sent[step % 2].step == step)
        return bytes;
    c->sent[step % 2].known = true;
    c->sent[step % 2].step = step;
    for (size_t i = 0; i < c->count; i++)
        bytes[i] = c->chunk[i].bound > 0 ? cc_pack_size(c->chunk[i].decoder, 0, step) : 0;
    return bytes;
}
