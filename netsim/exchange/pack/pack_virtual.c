/* Virtual packs, of jobs without data: they look up how long payloads are in the row's size index
 * and touch no values. Simulations have millions of them, so that each holds only the ranges of
 * values that its slices cover; adjacent slices are one range. */
#include "core/memory.h"
#include "netsim/exchange/pack/pack_impl.h"
#include "netsim/exchange/pack/size_index.h"

#define NO_ROUND UINT32_MAX

struct virtual_pack {
    struct cc_pack base;
    uint32_t ranges;
    uint32_t round; /* encoded last; NO_ROUND: the whole payload was */
    const struct cc_size_index *sizes;
    const size_t *offset; /* the job's */
    struct cc_payload_id id;
    uint64_t step; /* encoded last */
    struct cc_value_range range[];
};

static struct virtual_pack *virtual_of(const struct cc_pack *p)
{
    return (struct virtual_pack *)p;
}

/* --- sizes --- */

/* id: NULL for the most that they can be. */
static struct cc_payload_size look_up(const struct virtual_pack *p, const struct cc_payload_id *id,
                                      uint64_t step)
{
    struct cc_payload_size sum = {0};
    for (size_t i = 0; i < p->ranges; i++)
        cc_size_index_add(p->sizes, id, step, &p->range[i], &sum);
    return sum;
}

size_t cc_virtual_pack_bound(const struct cc_pack *p)
{
    const struct cc_payload_size most = look_up(virtual_of(p), NULL, 0);
    return most.payload + 1 + most.table;
}

/* There is a table only if some payloads are shorter than their bounds. */
static size_t head_of(const struct cc_payload_size *s)
{
    return s->shorter > 0 ? 1 + s->table : 1;
}

size_t cc_virtual_pack_size(const struct cc_pack *p, int64_t rank, uint64_t step)
{
    const struct virtual_pack *v = virtual_of(p);
    struct cc_payload_id id = v->id;
    id.rank = rank;
    const struct cc_payload_size s = look_up(v, &id, step);
    return head_of(&s) + s.payload;
}

/* --- encoding --- */

void cc_virtual_pack_encode(struct cc_pack *p, uint64_t step, size_t *len, size_t *head)
{
    struct virtual_pack *v = virtual_of(p);
    const struct cc_payload_size s = look_up(v, &v->id, step);
    v->step = step;
    v->round = NO_ROUND;
    *head = head_of(&s);
    *len = *head + s.payload;
}

void cc_virtual_pack_count(const struct cc_pack *p, uint64_t *tensor_bytes)
{
    const struct virtual_pack *v = virtual_of(p);
    for (size_t i = 0; i < v->ranges; i++)
        for (uint32_t t = v->range[i].first; t <= v->range[i].last; t++) {
            const struct cc_value_range part = cc_range_in_tensor(&v->range[i], v->offset, t);
            struct cc_payload_size whole = {0};
            if (part.from == part.to)
                continue;
            if (v->round == NO_ROUND)
                cc_size_index_add(v->sizes, &v->id, v->step, &part, &whole);
            else
                whole.payload = cc_size_index_round_bytes(v->sizes, v->round, v->step, &part);
            tensor_bytes[t] += whole.payload;
        }
}

/* --- rounds --- */

size_t cc_virtual_pack_rounds(const struct cc_pack *p)
{
    const struct virtual_pack *v = virtual_of(p);
    size_t most = 1;
    for (size_t i = 0; i < v->ranges; i++) {
        const size_t n = cc_size_index_rounds(v->sizes, &v->range[i]);
        if (n == 0)
            return 0;
        most = n > most ? n : most;
    }
    return most;
}

void cc_virtual_pack_encode_round(struct cc_pack *p, uint64_t step, size_t round, size_t *len)
{
    struct virtual_pack *v = virtual_of(p);
    v->step = step;
    v->round = (uint32_t)round;
    *len = 0;
    for (size_t i = 0; i < v->ranges; i++)
        *len += cc_size_index_round_bytes(v->sizes, round, step, &v->range[i]);
}

/* --- making --- */

/* Joins adjacent slices and returns how many ranges there are; range: where to, or NULL. */
static size_t join(const struct cc_job *job, const struct cc_slice *slice, size_t slices,
                   struct cc_value_range *range)
{
    size_t ranges = 0, end = SIZE_MAX;
    for (size_t i = 0; i < slices; i++) {
        const struct cc_slice *s = &slice[i];
        const size_t from = job->offset[s->tensor] + s->begin, to = from + s->count;
        if (s->count == 0)
            continue;
        if (from != end)
            ranges++;
        if (range != NULL && from != end)
            range[ranges - 1] = (struct cc_value_range){.from = from, .first = (uint32_t)s->tensor};
        if (range != NULL) {
            range[ranges - 1].to = to;
            range[ranges - 1].last = (uint32_t)s->tensor;
        }
        end = to;
    }
    return ranges;
}

int cc_virtual_pack_make(const struct cc_pack_config *config, const struct cc_slice *slice,
                         size_t slices, struct cc_pack **out, struct cc_error *e)
{
    const size_t ranges = join(config->job, slice, slices, NULL);
    struct virtual_pack *p = cc_alloc(sizeof *p + ranges * sizeof p->range[0], e);
    if (p == NULL)
        return CC_FAIL;
    *p = (struct virtual_pack){
        .base = {.is_virtual = true},
        .ranges = (uint32_t)ranges,
        .round = NO_ROUND,
        .sizes = config->sizes,
        .offset = config->job->offset,
        .id = {.direction = config->direction, .workers = config->workers, .rank = config->rank}};
    (void)join(config->job, slice, slices, p->range);
    *out = &p->base;
    return CC_OK;
}
