#include "netsim/message/pack_virtual.h"

#include "core/memory.h"
#include "netsim/message/size_index.h"

/* Not a round: all of the payload. */
#define WHOLE UINT32_MAX

/* Simulations have millions of them. */
struct sized {
    struct cc_pack base;
    uint32_t stretches, round; /* as encoded last; or WHOLE */
    const struct cc_size_index *size_index;
    const size_t *offset; /* the job's */
    struct cc_payload_id of;
    uint64_t step; /* encoded last */
    struct cc_value_range stretch[];
};

static const struct sized *sized_of(const struct cc_pack *c)
{
    return (const struct sized *)c;
}

/* --- making --- */

/* Joins pieces that follow one another; of the first of them, *s is the stretch. NULL: only counts.
 */
static size_t join(const struct cc_job *job, const struct cc_slice *slice, size_t slices,
                   struct cc_value_range *s)
{
    size_t count = 0, end = SIZE_MAX;
    for (size_t i = 0; i < slices; i++) {
        const struct cc_slice *p = &slice[i];
        const size_t from = job->offset[p->tensor] + p->begin, to = from + p->count;
        if (p->count == 0)
            continue;
        if (from != end)
            count++;
        if (s != NULL && from != end)
            s[count - 1] = (struct cc_value_range){.from = from, .first = (uint32_t)p->tensor};
        if (s != NULL) {
            s[count - 1].to = to;
            s[count - 1].last = (uint32_t)p->tensor;
        }
        end = to;
    }
    return count;
}

int cc_virtual_pack_make(const struct cc_pack_config *config, const struct cc_slice *slice,
                         size_t slices, struct cc_pack **out, struct cc_error *e)
{
    const size_t stretches = join(config->job, slice, slices, NULL);
    struct sized *c = cc_alloc(sizeof *c + stretches * sizeof c->stretch[0], e);
    if (c == NULL)
        return CC_FAIL;
    *c = (struct sized){
        .base = {.sized = true},
        .stretches = (uint32_t)stretches,
        .round = WHOLE,
        .size_index = config->sizes,
        .offset = config->job->offset,
        .of = {.direction = config->direction, .workers = config->workers, .rank = config->rank}};
    (void)join(config->job, slice, slices, c->stretch);
    *out = &c->base;
    return CC_OK;
}

/* --- sizes --- */

static void add(struct cc_payload_size *sum, struct cc_payload_size w)
{
    sum->payload += w.payload;
    sum->table += w.table;
    sum->shorter += w.shorter;
}

size_t cc_virtual_pack_bound(const struct cc_pack *of)
{
    const struct sized *c = sized_of(of);
    struct cc_payload_size sum = {0};
    for (size_t i = 0; i < c->stretches; i++)
        add(&sum, cc_size_index_bound(c->size_index, &c->stretch[i]));
    return sum.payload + 1 + sum.table;
}

static struct cc_payload_size weigh(const struct sized *c, const struct cc_payload_id *of,
                                    uint64_t step)
{
    struct cc_payload_size sum = {0};
    for (size_t i = 0; i < c->stretches; i++)
        add(&sum, cc_size_index_lookup(c->size_index, of, step, &c->stretch[i]));
    return sum;
}

/* A table is there only if some payloads are shorter than their bounds. */
static size_t head_of(const struct cc_payload_size *w)
{
    return w->shorter > 0 ? 1 + w->table : 1;
}

size_t cc_virtual_pack_bytes(const struct cc_pack *of, int64_t rank, uint64_t step)
{
    const struct sized *c = sized_of(of);
    struct cc_payload_id whose = c->of;
    whose.rank = rank;
    const struct cc_payload_size w = weigh(c, &whose, step);
    return head_of(&w) + w.payload;
}

/* --- what encoders do --- */

void cc_virtual_pack_encode(struct cc_pack *of, uint64_t step, size_t *len, size_t *head)
{
    struct sized *c = (struct sized *)of;
    const struct cc_payload_size w = weigh(c, &c->of, step);
    c->step = step;
    c->round = WHOLE;
    *head = head_of(&w);
    *len = *head + w.payload;
}

/* What a part of a stretch came to when it was encoded. */
static size_t encoded(const struct sized *c, const struct cc_value_range *s)
{
    return c->round == WHOLE ? cc_size_index_lookup(c->size_index, &c->of, c->step, s).payload
                             : cc_size_index_round_bytes(c->size_index, c->round, c->step, s);
}

void cc_virtual_pack_count(const struct cc_pack *of, uint64_t *tensor_bytes)
{
    const struct sized *c = sized_of(of);
    for (size_t i = 0; i < c->stretches; i++) {
        const struct cc_value_range *s = &c->stretch[i];
        for (uint32_t t = s->first; t <= s->last; t++) {
            const size_t begin = c->offset[t], end = c->offset[t + 1];
            const struct cc_value_range one = {.from = s->from > begin ? s->from : begin,
                                               .to = s->to < end ? s->to : end,
                                               .first = t,
                                               .last = t};
            if (one.from < one.to)
                tensor_bytes[t] += encoded(c, &one);
        }
    }
}

size_t cc_virtual_pack_rounds(const struct cc_pack *of)
{
    const struct sized *c = sized_of(of);
    size_t most = 1;
    for (size_t i = 0; i < c->stretches; i++) {
        const size_t rounds = cc_size_index_rounds(c->size_index, &c->stretch[i]);
        if (rounds == 0)
            return 0;
        most = rounds > most ? rounds : most;
    }
    return most;
}

void cc_virtual_pack_encode_round(struct cc_pack *of, uint64_t step, size_t round, size_t *len)
{
    struct sized *c = (struct sized *)of;
    c->step = step;
    c->round = (uint32_t)round;
    *len = 0;
    for (size_t i = 0; i < c->stretches; i++)
        *len += cc_size_index_round_bytes(c->size_index, round, step, &c->stretch[i]);
}
