#include "netsim/mpi/exchange/reduction.h"

#include <stdlib.h>

#include "core/memory.h"
#include "netsim/mpi/runtime/data.h"

static const struct cc_reduction_ops *way_of(const void *x)
{
    return *(const struct cc_reduction_ops *const *)x;
}

int cc_reduction_start(void *x, struct cc_error *e)
{
    return way_of(x)->start(x, e);
}

int cc_reduction_test(void *x, bool *done, struct cc_error *e)
{
    return way_of(x)->test(x, done, e);
}

void cc_reduction_close(void *x)
{
    if (x != NULL)
        way_of(x)->close(x);
}

int cc_reduction_open(struct cc_rank_state *s, const struct cc_job_message *m, size_t index,
                      cc_schedule_builder *plan, void **out, struct cc_error *e)
{
    struct cc_schedule p = {0};
    if (!s->row->sums && s->job->via == CC_VIA_ALLGATHER)
        return cc_allgather_bruck_open(s, m, index, out, e);
    int status = plan(s, &p, e);
    if (status != CC_OK) {
        free(p.round);
        return status;
    }
    return s->row->sums ? cc_reduce_sum_open(s, m, index, &p, out, e)
                        : cc_reduce_recode_open(s, m, index, &p, out, e);
}

/* --- plans --- */

struct cc_round *cc_schedule_add(struct cc_schedule *p, struct cc_error *e)
{
    if (cc_grow((void **)&p->round, &p->capacity, p->rounds + 1, sizeof *p->round, e) != CC_OK)
        return NULL;
    struct cc_round *r = &p->round[p->rounds++];
    *r = (struct cc_round){.to = -1, .from = -1};
    return r;
}

struct cc_pow2_group cc_pow2_group_make(int workers, int rank)
{
    struct cc_pow2_group f = {.power = 1};
    while (f.power <= workers / 2)
        f.power *= 2;
    f.rest = workers - f.power;
    if (rank >= 2 * f.rest)
        f.member = rank - f.rest;
    else
        f.member = rank % 2 == 1 ? rank / 2 : -1;
    return f;
}

int cc_pow2_group_rank(const struct cc_pow2_group *f, int member)
{
    return member < f->rest ? 2 * member + 1 : member + f->rest;
}

int cc_pow2_group_lowest(const struct cc_pow2_group *f, int member)
{
    return member < f->rest ? 2 * member : member + f->rest;
}

int cc_pow2_group_workers(const struct cc_pow2_group *f, int member, int stride, int count)
{
    int n = count;
    for (int j = member; j < f->rest && j < member + stride * count; j += stride)
        n++;
    return n;
}

/* A round in which all goes from who steps aside to its partner, or back. */
static int fold(const struct cc_pow2_group *f, const struct cc_rank_state *s, bool back,
                struct cc_schedule *p, struct cc_error *e)
{
    const bool aside = f->member < 0;
    const int partner = aside ? s->rank + 1 : s->rank - 1;
    if (f->rest == 0)
        return CC_OK;
    struct cc_round *r = cc_schedule_add(p, e);
    if (r == NULL)
        return CC_FAIL;
    if (f->member >= f->rest)
        return CC_OK;
    if (aside != back)
        *r = (struct cc_round){
            .to = partner, .from = -1, .sends = p->chunks, .who = back ? 0 : s->rank, .sent_of = 1};
    else
        *r = (struct cc_round){.to = -1, .from = partner, .recvs = p->chunks, .come_of = 1};
    return CC_OK;
}

int cc_pow2_group_fold_in(const struct cc_pow2_group *f, const struct cc_rank_state *s,
                          struct cc_schedule *p, struct cc_error *e)
{
    return fold(f, s, false, p, e);
}

int cc_pow2_group_fold_out(const struct cc_pow2_group *f, const struct cc_rank_state *s,
                           struct cc_schedule *p, struct cc_error *e)
{
    return fold(f, s, true, p, e);
}

/* --- crates --- */

struct cc_range cc_message_range(const struct cc_rank_state *s, const struct cc_job_message *m)
{
    return (struct cc_range){s->job->offset[m->first], s->job->offset[m->last + 1]};
}

int cc_reduction_pack(const struct cc_rank_state *s, struct cc_range part, size_t origin,
                      struct cc_pack_config config, struct cc_pack **out, struct cc_error *e)
{
    struct cc_slice *slice;
    size_t slices;
    config.job = s->job;
    config.row = s->row;
    config.sizes = s->sizes;
    config.spec = s->spec;
    config.raw = s->raw;
    config.direction = CC_PUSH;
    config.origin = origin;
    int status = cc_slices(s->job, part.from, part.to, &slice, &slices, e);
    if (status != CC_OK)
        return status;
    status = cc_pack_make(&config, slice, slices, out, e);
    free(slice);
    return status;
}

/* What was just encoded. */
static void count(struct cc_rank_state *s, const struct cc_pack *c, size_t payload, size_t head)
{
    s->counters.payload_bytes += payload;
    s->counters.head_bytes += head;
    if (s->counters.tensor_bytes != NULL)
        cc_pack_count(c, s->counters.tensor_bytes);
}

int cc_reduction_encode(struct cc_rank_state *s, struct cc_pack *c, const float *x,
                        enum cc_phase phase, bool first, uint8_t *out, size_t *len,
                        struct cc_error *e)
{
    const struct cc_work_timer since = cc_work_begin();
    size_t head = 0;
    int status = cc_pack_encode(c, s->step, x, out, len, &head, e);
    if (status != CC_OK)
        return status;
    if (first)
        count(s, c, *len - head, head);
    cc_charge(s, phase, since, cc_pack_cost(c, CC_PACK_ENCODE));
    return CC_OK;
}

int cc_reduction_apply(struct cc_rank_state *s, const struct cc_pack *c, enum cc_pack_op op,
                       const uint8_t *in, size_t len, float *model, struct cc_error *e)
{
    const struct cc_work_timer since = cc_work_begin();
    int status = cc_pack_decode_add(c, s->step, in, len, 1.0f / (float)s->job->workers, model, e);
    cc_charge(s, CC_PHASE_DECODE, since, cc_pack_cost(c, op));
    return status;
}

/* --- floats --- */

int cc_floats_open(struct cc_floats *f, struct cc_rank_state *s, const struct cc_job_message *m,
                   struct cc_error *e)
{
    const struct cc_range range = cc_message_range(s, m);
    const struct cc_pack_config config = {.seed = s->job->seed, .rank = s->rank};
    *f = (struct cc_floats){.rank_state = s, .from = range.from};
    int status = cc_reduction_pack(s, range, range.from, config, &f->pack, e);
    if (status != CC_OK)
        return status;
    if (cc_pack_rounds(f->pack) == 0)
        return cc_fail(e, "%s: what it sends cannot be summed, though the job says so",
                       s->row->scheme);
    return cc_data_alloc(s->job, cc_pack_bound(f->pack), &f->at, e);
}

/* From f->round on, up to one that has bytes. Rounds without any are encoded all the same: a codec
 * goes through all of them. */
static int encode_floats(struct cc_floats *f, double cost_s, struct cc_error *e)
{
    struct cc_rank_state *s = f->rank_state;
    const struct cc_work_timer since = cc_work_begin();
    const size_t rounds = cc_pack_rounds(f->pack);
    f->bytes = 0;
    for (; f->round < rounds; f->round++) {
        if (cc_pack_encode_round(f->pack, s->step, f->round,
                                 CC_OFFSET_OR_NULL(s->gradient, f->from), f->at, &f->bytes,
                                 e) != CC_OK)
            return CC_FAIL;
        count(s, f->pack, f->bytes, 0);
        if (f->bytes > 0)
            break;
    }
    cc_charge(s, CC_PHASE_ENCODE, since, cost_s);
    return CC_OK;
}

int cc_floats_start(struct cc_floats *f, struct cc_error *e)
{
    f->round = 0;
    return encode_floats(f, cc_pack_cost(f->pack, CC_PACK_ENCODE), e);
}

/* Of further rounds, and of sums that are not the last: what the row says is for all of them. */
static double no_more(const struct cc_floats *f)
{
    return 0 * cc_pack_cost(f->pack, CC_PACK_ENCODE);
}

int cc_floats_next(struct cc_floats *f, struct cc_error *e)
{
    struct cc_rank_state *s = f->rank_state;
    const struct cc_work_timer since = cc_work_begin();
    int status =
        cc_pack_absorb(f->pack, s->step, f->round, f->at, f->bytes, 1.0f / (float)s->job->workers,
                       CC_OFFSET_OR_NULL(s->model, f->from), e);
    const bool last = ++f->round == cc_pack_rounds(f->pack);
    cc_charge(s, CC_PHASE_DECODE, since, last ? cc_pack_cost(f->pack, CC_PACK_DECODE) : no_more(f));
    return status == CC_OK ? encode_floats(f, no_more(f), e) : status;
}

void cc_floats_close(struct cc_floats *f)
{
    cc_pack_free(f->pack);
    free(f->at);
}
