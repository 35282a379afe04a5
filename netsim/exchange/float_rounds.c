/* The rounds of a message, one sum after the other. A payload that is the gradient itself is
 * neither encoded nor decoded: the sum is added to the model as it is. */
#include "netsim/exchange/float_rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "netsim/exchange/data.h"

int cc_float_rounds_open(struct cc_float_rounds *f, struct cc_rank_state *s, struct cc_range range,
                         struct cc_error *e)
{
    const struct cc_pack_config config = {.seed = s->job->seed, .rank = s->rank};
    *f = (struct cc_float_rounds){.rank_state = s, .range = range, .whole = range};
    CC_TRY(cc_message_pack_make(s, range, range.from, config, &f->pack, e));
    if (cc_pack_rounds(f->pack) == 0)
        return cc_fail(e, "%s: its payloads cannot be summed, though the job says so",
                       s->row->scheme);
    CC_TRY(cc_data_alloc(s->job, cc_pack_bound(f->pack), &f->sum, e));
    f->own = f->sum;
    if (s->contributes && !cc_pack_verbatim(f->pack)) {
        const size_t bytes = (range.to - range.from) * sizeof(float);
        CC_TRY(cc_room_alloc(s, SIZE_MAX, 1, bytes, &f->unused, e));
    }
    return CC_OK;
}

/* Begins work on the range: of plain floats, or with a codec, which may take long for few. */
static struct cc_work_timer begin_work(const struct cc_float_rounds *f)
{
    return cc_work_begin_on(f->rank_state->transport,
                            cc_pack_verbatim(f->pack) ? f->range.to - f->range.from : SIZE_MAX);
}

/* Encodes from f->round on, up to a round that has bytes. Rounds without bytes are encoded, too:
 * codecs expect every round. */
static int encode(struct cc_float_rounds *f, double cost_s, struct cc_error *e)
{
    struct cc_rank_state *s = f->rank_state;
    const struct cc_work_timer since = begin_work(f);
    const size_t rounds = cc_pack_rounds(f->pack);
    const float *x = CC_OFFSET_OR_NULL(s->gradient, f->range.from);
    f->bytes = 0;
    for (; f->round < rounds; f->round++) {
        CC_TRY(cc_pack_encode_round(f->pack, s->step, f->round, x, f->sum, &f->bytes, e));
        cc_message_count(s, f->pack, f->bytes, 0);
        if (f->bytes > 0)
            break;
    }
    cc_charge(s, CC_PHASE_ENCODE, since, cost_s);
    return CC_OK;
}

int cc_float_rounds_start(struct cc_float_rounds *f, struct cc_error *e)
{
    struct cc_rank_state *s = f->rank_state;
    f->round = 0;
    if (!cc_pack_verbatim(f->pack))
        return encode(f, cc_pack_cost(f->pack, CC_PACK_ENCODE), e);
    f->own = (const uint8_t *)CC_OFFSET_OR_NULL(s->gradient, f->range.from);
    f->bytes = (f->range.to - f->range.from) * sizeof(float);
    cc_message_count(s, f->pack, f->bytes, 0);
    return CC_OK;
}

/* The cost of rounds after the first to encode, and before the last to decode: the row's cost
 * covers all rounds, so 0, or NAN if the row gives none. */
static double further_cost_s(const struct cc_float_rounds *f)
{
    return 0 * cc_pack_cost(f->pack, CC_PACK_ENCODE);
}

/* Adds the mean of gradients to the model. */
static int add_mean(struct cc_float_rounds *f, const uint8_t *sum, struct cc_error *e)
{
    struct cc_rank_state *s = f->rank_state;
    const struct cc_work_timer since = begin_work(f);
    const bool costs = s->row->cost != NULL;
    const int status =
        sum != NULL && !s->contributes
            ? cc_message_add_sum(s, f->whole,
                                 (const float *)(const void *)sum + (f->whole.from - f->range.from),
                                 e)
            : CC_OK;
    cc_charge_update(s, since, costs ? s->job->apply_byte_s * (double)f->bytes : (double)NAN);
    f->bytes = 0;
    return status;
}

bool cc_float_rounds_last(const struct cc_float_rounds *f)
{
    return cc_pack_verbatim(f->pack) || f->round + 1 == cc_pack_rounds(f->pack);
}

int cc_float_rounds_next(struct cc_float_rounds *f, const uint8_t *sum, struct cc_error *e)
{
    struct cc_rank_state *s = f->rank_state;
    if (cc_pack_verbatim(f->pack))
        return add_mean(f, sum, e);
    const struct cc_work_timer since = begin_work(f);
    const float scale = 1.0f / (float)cc_group_size(s);
    float *y =
        s->contributes ? (float *)(void *)f->unused : CC_OFFSET_OR_NULL(s->model, f->range.from);
    int status = cc_pack_absorb(f->pack, s->step, f->round, sum, f->bytes, scale, y, e);
    const bool last = ++f->round == cc_pack_rounds(f->pack);
    cc_charge(s, CC_PHASE_DECODE, since,
              last ? cc_pack_cost(f->pack, CC_PACK_DECODE) : further_cost_s(f));
    CC_TRY(status);
    return encode(f, further_cost_s(f), e);
}

void cc_float_rounds_close(struct cc_float_rounds *f)
{
    cc_pack_free(f->pack);
    free(f->sum);
    if (f->unused != NULL)
        cc_room_free(f->rank_state, f->unused);
}
