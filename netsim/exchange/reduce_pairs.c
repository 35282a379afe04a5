/* Exchanges of index-value pairs: each has a rank's gradient, and one way of sending it, or, as
 * ssar-auto, one of several for each message and step, by the number of pairs that the workers
 * send.
 *
 * For ssar-auto the job says which exchange is fastest up to which number of pairs of all workers
 * (`choices`, made by the model's formulas). All ranks know this number without a message of its
 * own: every stream says how many pairs of whole gradients are in its sum (docs/wire.md), so that
 * after a step the whole sum's streams tell all ranks the same number. It decides the next step;
 * the first one goes by the most pairs that the scheme can send. Within a split, whose first stage
 * tells it for the step itself, it decides whether the sums are sent as ssar-split or dsar-split
 * sends them.
 *
 * Only the exchanges that occur among the choices are opened, each with buffers of its own; they
 * share the gradient and its codecs. Sums of floats are as large in every step: the last choice
 * holds, and is the only one. */
#include <stdlib.h>

#include "core/memory.h"
#include "netsim/exchange/exchange_code.h"
#include "netsim/exchange/data.h"
#include "netsim/exchange/message_pack.h"
#include "netsim/exchange/reduce_merge_impl.h"
#include "schemes/spec.h"

enum { WAYS = 3 };

static const struct way {
    enum cc_exchange exchange;
    cc_schedule_builder *build;
} ways[WAYS] = {{CC_SSAR_RECDOUBLE, cc_schedule_recdouble},
                {CC_SSAR_SPLIT, cc_schedule_split},
                {CC_SSAR_RABENSEIFNER, cc_schedule_rabenseifner}};

struct pairs {
    struct cc_exchange_head head;
    struct cc_merge_gradient gradient;
    struct cc_merge *way[WAYS];    /* NULL: never chosen */
    struct cc_merge *current;      /* NULL: no exchange is under way */
    struct cc_job_choices choices; /* none: way[0] is the only one */
    uint64_t expected;             /* pairs, of all workers */
};

/* Both splits begin in the same way. */
static size_t way_of(enum cc_exchange x)
{
    for (size_t i = 0; i < WAYS; i++)
        if (ways[i].exchange == x)
            return i;
    return way_of(CC_SSAR_SPLIT);
}

/* --- the gradient --- */

/* Values that are left out of sums have to be given back to residuals. */
static int check_residuals(const struct cc_rank_state *s, struct cc_range range, struct cc_error *e)
{
    const struct cc_job *job = s->job;
    for (size_t i = 0; i < job->tensors; i++)
        if (job->tensor[i].raw && job->offset[i] < range.to && job->offset[i + 1] > range.from)
            return cc_fail(e, "\"keep\" is %g, and tensor '%s' is raw: it has no residual",
                           job->keep, job->tensor[i].name);
    return cc_takes_back(s->spec->scheme, s->spec->params)
               ? CC_OK
               : cc_fail(e, "\"keep\" is %g, and %s has no residual that takes values back",
                         job->keep, s->spec->name);
}

static int open_gradient(struct cc_merge_gradient *g, const struct cc_exchange_head *head,
                         struct cc_error *e)
{
    struct cc_rank_state *s = head->s;
    const struct cc_pack_config config = {.seed = s->job->seed, .rank = s->rank};
    const size_t n = head->range.to - head->range.from;
    g->rank_state = s;
    g->range = head->range;
    g->prunes = s->job->keep > 0;
    g->keep.wanted = cc_keep_wanted(s->job->keep, n);
    if (g->prunes)
        CC_TRY(check_residuals(s, g->range, e));
    if (n >= UINT32_MAX)
        return cc_fail(e,
                       "a message of %zu values: indices of pairs have 32 bits; send the step "
                       "in several messages",
                       n);
    CC_TRY(cc_message_pack_make(s, g->range, g->range.from, config, &g->pack, e));
    if (!s->job->data)
        return CC_OK;
    g->most = cc_pack_pairs_bound(g->pack);
    CC_TRY(cc_room_alloc(s, head->index, 0, cc_pack_bound(g->pack), &g->payload, e));
    g->own.range = (struct cc_stream_range){0, (uint32_t)n};
    g->own.pair = cc_alloc((g->most + 1) * sizeof *g->own.pair, e);
    if (g->own.pair == NULL || !g->prunes)
        return g->own.pair != NULL ? CC_OK : CC_FAIL;
    g->keep.value = cc_alloc(n * sizeof *g->keep.value, e);
    g->keep.vain = cc_alloc((g->most + 1) * sizeof *g->keep.vain, e);
    return g->keep.value != NULL && g->keep.vain != NULL ? CC_OK : CC_FAIL;
}

static int encode(struct cc_merge_gradient *g, struct cc_error *e)
{
    struct cc_rank_state *s = g->rank_state;
    size_t len;
    CC_TRY(cc_message_encode(s, g->pack, CC_OFFSET_OR_NULL(s->gradient, g->range.from),
                             CC_PHASE_ENCODE, true, g->payload, &len, e));
    if (!s->job->data)
        return CC_OK;
    const struct cc_work_timer since = cc_work_begin(s->transport);
    CC_TRY(cc_pack_to_pairs(g->pack, s->step, g->payload, len, g->own.pair, &g->own.count, e));
    g->own.pair[g->own.count].index = CC_PAIR_END;
    cc_charge(s, CC_PHASE_ENCODE, since, cc_row_cost(s, 0));
    return CC_OK;
}

/* --- operations --- */

static int pairs_start(void *of, struct cc_error *e)
{
    struct pairs *x = of;
    CC_TRY(encode(&x->gradient, e));
    if (cc_silent(x->head.s, x->head.message))
        return CC_OK;
    x->current = x->way[x->choices.count > 0 ? way_of(cc_job_choose(&x->choices, x->expected)) : 0];
    cc_merge_start(x->current);
    return CC_OK;
}

/* Keeps what the step has told. */
static void take_pairs(struct pairs *x)
{
    uint64_t *chosen = x->head.s->counters.chosen;
    x->expected = cc_merge_pairs(x->current);
    if (x->current->exchange != CC_SSAR_SPLIT)
        chosen[x->current->exchange]++;
    else
        chosen[cc_merge_dense(x->current, x->expected) ? CC_DSAR_SPLIT : CC_SSAR_SPLIT]++;
}

static int pairs_test(void *of, bool *done, struct cc_error *e)
{
    struct pairs *x = of;
    *done = x->current == NULL;
    if (*done)
        return CC_OK;
    CC_TRY(cc_merge_test(x->current, done, e));
    if (!*done || x->head.s->hold_sums)
        return CC_OK;
    if (x->choices.count > 0)
        take_pairs(x);
    x->current = NULL;
    return CC_OK;
}

static void pairs_close(void *of)
{
    struct pairs *x = of;
    struct cc_merge_gradient *g = &x->gradient;
    for (size_t i = 0; i < WAYS; i++)
        cc_merge_close(x->way[i]);
    cc_pack_free(g->pack);
    cc_room_free(x->head.s, g->payload);
    free(g->own.pair);
    free(g->keep.value);
    free(g->keep.vain);
    free(x);
}

static int pairs_open(void *of, struct cc_error *e)
{
    struct pairs *x = of;
    const struct cc_rank_state *s = x->head.s;
    const size_t index = x->head.index;
    CC_TRY(open_gradient(&x->gradient, &x->head, e));
    if (x->head.build != NULL)
        return cc_merge_open(&x->gradient, s->job->exchange, x->head.build, NULL, index, &x->way[0],
                             e);
    x->choices = cc_job_choices_of(s->row, index);
    x->expected = s->job->data ? (uint64_t)s->job->workers * x->gradient.most
                               : cc_merge_known_pairs(&x->gradient);
    for (size_t i = 0; i < x->choices.count; i++) {
        const size_t k = way_of(x->choices.item[i].exchange);
        const bool split = ways[k].exchange == CC_SSAR_SPLIT;
        if (x->way[k] == NULL)
            CC_TRY(cc_merge_open(&x->gradient, ways[k].exchange, ways[k].build,
                                 split ? &x->choices : NULL, index, &x->way[k], e));
    }
    return CC_OK;
}

const struct cc_exchange_kind cc_reduce_merge = {.ops = {pairs_start, pairs_test, pairs_close},
                                                 .bytes = sizeof(struct pairs),
                                                 .open = pairs_open};

static int open(struct cc_rank_state *s, const struct cc_message *m, size_t index, void **out,
                struct cc_error *e)
{
    const struct cc_job_choices c = cc_job_choices_of(s->row, index);
    return s->row->reduction == CC_REDUCE_SUM
               ? cc_exchange_make(&cc_reduce_sum, s, m, index,
                                  ways[way_of(c.item[c.count - 1].exchange)].build, out, e)
               : cc_exchange_make(&cc_reduce_merge, s, m, index, NULL, out, e);
}

const struct cc_exchange_code cc_exchange_code_ssar_auto = {.open = open};
