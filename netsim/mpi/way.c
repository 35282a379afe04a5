#include "netsim/mpi/way.h"

#include <stdlib.h>

#include "core/memory.h"

static const struct cc_way *way_of(const void *x)
{
    return *(const struct cc_way *const *)x;
}

int cc_way_start(void *x, struct cc_error *e)
{
    return way_of(x)->start(x, e);
}

int cc_way_test(void *x, bool *done, struct cc_error *e)
{
    return way_of(x)->test(x, done, e);
}

void cc_way_close(void *x)
{
    if (x != NULL)
        way_of(x)->close(x);
}

int cc_way_open(struct cc_station *s, const struct cc_job_message *m, size_t index,
                cc_planner *plan, void **out, struct cc_error *e)
{
    struct cc_plan p = {0};
    if (!s->row->sums && s->job->via == CC_JOB_ALLGATHER)
        return cc_gather_open(s, m, index, out, e);
    int status = plan(s, &p, e);
    if (status != CC_OK) {
        free(p.round);
        return status;
    }
    return s->row->sums ? cc_sums_open(s, m, index, &p, out, e)
                        : cc_hops_open(s, m, index, &p, out, e);
}

/* --- plans --- */

struct cc_round *cc_plan_add(struct cc_plan *p, struct cc_error *e)
{
    if (cc_grow((void **)&p->round, &p->capacity, p->rounds + 1, sizeof *p->round, e) != CC_OK)
        return NULL;
    struct cc_round *r = &p->round[p->rounds++];
    *r = (struct cc_round){.to = -1, .from = -1};
    return r;
}

struct cc_fold cc_fold_of(int workers, int rank)
{
    struct cc_fold f = {.power = 1};
    while (f.power <= workers / 2)
        f.power *= 2;
    f.rest = workers - f.power;
    if (rank >= 2 * f.rest)
        f.member = rank - f.rest;
    else
        f.member = rank % 2 == 1 ? rank / 2 : -1;
    return f;
}

int cc_fold_rank(const struct cc_fold *f, int member)
{
    return member < f->rest ? 2 * member + 1 : member + f->rest;
}

int cc_fold_lowest(const struct cc_fold *f, int member)
{
    return member < f->rest ? 2 * member : member + f->rest;
}

int cc_fold_workers(const struct cc_fold *f, int member, int stride, int count)
{
    int n = count;
    for (int j = member; j < f->rest && j < member + stride * count; j += stride)
        n++;
    return n;
}

/* A round in which all goes from who steps aside to its partner, or back. */
static int fold(const struct cc_fold *f, const struct cc_station *s, bool back, struct cc_plan *p,
                struct cc_error *e)
{
    const bool aside = f->member < 0;
    const int partner = aside ? s->rank + 1 : s->rank - 1;
    if (f->rest == 0)
        return CC_OK;
    struct cc_round *r = cc_plan_add(p, e);
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

int cc_fold_in(const struct cc_fold *f, const struct cc_station *s, struct cc_plan *p,
               struct cc_error *e)
{
    return fold(f, s, false, p, e);
}

int cc_fold_out(const struct cc_fold *f, const struct cc_station *s, struct cc_plan *p,
                struct cc_error *e)
{
    return fold(f, s, true, p, e);
}

/* --- crates --- */

struct cc_range cc_message_range(const struct cc_station *s, const struct cc_job_message *m)
{
    return (struct cc_range){s->job->offset[m->first], s->job->offset[m->last + 1]};
}

int cc_way_crate(const struct cc_station *s, struct cc_range part, size_t origin,
                 struct cc_crate_how how, struct cc_crate **out, struct cc_error *e)
{
    struct cc_piece *piece;
    size_t pieces;
    how.job = s->job;
    how.row = s->row;
    how.spec = s->spec;
    how.raw = s->raw;
    how.direction = CC_PUSH;
    how.origin = origin;
    int status = cc_pieces(s->job, part.from, part.to, &piece, &pieces, e);
    if (status != CC_OK)
        return status;
    status = cc_crate_make(&how, piece, pieces, out, e);
    free(piece);
    return status;
}

/* What was just encoded. */
static void count(struct cc_station *s, const struct cc_crate *c, size_t payload, size_t head)
{
    s->tally.payload_bytes += payload;
    s->tally.head_bytes += head;
    if (s->tally.tensor_bytes != NULL)
        cc_crate_count(c, s->tally.tensor_bytes);
}

int cc_way_encode(struct cc_station *s, struct cc_crate *c, const float *x, enum cc_phase phase,
                  bool first, uint8_t *out, size_t *len, struct cc_error *e)
{
    const struct cc_stint since = cc_world_begin();
    size_t head = 0;
    int status = cc_crate_encode(c, s->step, x, out, len, &head, e);
    if (status != CC_OK)
        return status;
    if (first)
        count(s, c, *len - head, head);
    cc_charge(s, phase, since, cc_crate_cost(c, CC_CRATE_ENCODE));
    return CC_OK;
}

int cc_way_apply(struct cc_station *s, const struct cc_crate *c, enum cc_crate_op op,
                 const uint8_t *in, size_t len, float *model, struct cc_error *e)
{
    const struct cc_stint since = cc_world_begin();
    int status = cc_crate_decode_add(c, s->step, in, len, 1.0f / (float)s->job->workers, model, e);
    cc_charge(s, CC_PHASE_DECODE, since, cc_crate_cost(c, op));
    return status;
}

/* --- floats --- */

int cc_floats_open(struct cc_floats *f, struct cc_station *s, const struct cc_job_message *m,
                   struct cc_error *e)
{
    const struct cc_range range = cc_message_range(s, m);
    const struct cc_crate_how how = {.seed = s->job->seed, .rank = s->rank};
    *f = (struct cc_floats){.station = s, .from = range.from};
    int status = cc_way_crate(s, range, range.from, how, &f->crate, e);
    if (status != CC_OK)
        return status;
    if (cc_crate_rounds(f->crate) == 0)
        return cc_fail(e, "%s: what it sends cannot be summed, though the job says so",
                       s->row->scheme);
    return cc_room(s, cc_crate_bound(f->crate), &f->at, e);
}

/* From f->round on, up to one that has bytes. Rounds without any are encoded all the same: a codec
 * goes through all of them. */
static int encode_floats(struct cc_floats *f, double cost_s, struct cc_error *e)
{
    struct cc_station *s = f->station;
    const struct cc_stint since = cc_world_begin();
    const size_t rounds = cc_crate_rounds(f->crate);
    f->bytes = 0;
    for (; f->round < rounds; f->round++) {
        if (cc_crate_encode_round(f->crate, s->step, f->round, CC_AT(s->gradient, f->from), f->at,
                                  &f->bytes, e) != CC_OK)
            return CC_FAIL;
        count(s, f->crate, f->bytes, 0);
        if (f->bytes > 0)
            break;
    }
    cc_charge(s, CC_PHASE_ENCODE, since, cost_s);
    return CC_OK;
}

int cc_floats_start(struct cc_floats *f, struct cc_error *e)
{
    f->round = 0;
    return encode_floats(f, cc_crate_cost(f->crate, CC_CRATE_ENCODE), e);
}

/* Of further rounds, and of sums that are not the last: what the row says is for all of them. */
static double no_more(const struct cc_floats *f)
{
    return 0 * cc_crate_cost(f->crate, CC_CRATE_ENCODE);
}

int cc_floats_next(struct cc_floats *f, struct cc_error *e)
{
    struct cc_station *s = f->station;
    const struct cc_stint since = cc_world_begin();
    int status = cc_crate_absorb(f->crate, s->step, f->round, f->at, f->bytes,
                                 1.0f / (float)s->job->workers, CC_AT(s->model, f->from), e);
    const bool last = ++f->round == cc_crate_rounds(f->crate);
    cc_charge(s, CC_PHASE_DECODE, since,
              last ? cc_crate_cost(f->crate, CC_CRATE_DECODE) : no_more(f));
    return status == CC_OK ? encode_floats(f, no_more(f), e) : status;
}

void cc_floats_close(struct cc_floats *f)
{
    cc_crate_free(f->crate);
    free(f->at);
}
