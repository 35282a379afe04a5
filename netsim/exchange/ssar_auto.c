/* ssar-auto: for each message and step one of the sparse exchanges, by the number of pairs that the
 * workers send.
 *
 * The job says which exchange is fastest up to which number of pairs of all workers (`choices`,
 * made by the model's formulas). All ranks know this number without a message of its own: every
 * stream says how many pairs of whole gradients are in its sum (docs/wire.md), so that after a step
 * the whole sum's streams tell all ranks the same number. It decides the next step; the first one
 * goes by the most pairs that the scheme can send. Within a split, whose first stage tells it for
 * the step itself, it decides whether the sums are sent as ssar-split or dsar-split sends them.
 *
 * Only the exchanges that occur among the choices are opened, each with buffers of its own; they
 * share the gradient and its codecs. Sums of floats are as large in every step: the last choice
 * holds, and is the only one. */
#include <stdlib.h>

#include "core/memory.h"
#include "netsim/exchange/allreduce.h"
#include "netsim/exchange/reduce_merge_impl.h"

enum { WAYS = 3 };

static const struct way {
    enum cc_exchange exchange;
    cc_schedule_builder *build;
} ways[WAYS] = {{CC_SSAR_RECDOUBLE, cc_schedule_recdouble},
                {CC_SSAR_SPLIT, cc_schedule_split},
                {CC_SSAR_RABENSEIFNER, cc_schedule_rabenseifner}};

struct ssar_auto {
    const struct cc_exchange_ops *ops;
    struct cc_rank_state *rank_state;
    const struct cc_message *message;
    struct cc_job_choices choices;
    struct cc_merge_gradient *gradient;
    struct cc_merge *way[WAYS]; /* NULL: never chosen */
    struct cc_merge *current;   /* NULL: no exchange is under way */
    uint64_t pairs;             /* that are expected of all workers */
};

/* Both splits begin in the same way. */
static size_t way_of(enum cc_exchange x)
{
    for (size_t i = 0; i < WAYS; i++)
        if (ways[i].exchange == x)
            return i;
    return way_of(CC_SSAR_SPLIT);
}

static int auto_start(void *of, struct cc_error *e)
{
    struct ssar_auto *x = of;
    CC_TRY(cc_merge_gradient_encode(x->gradient, e));
    if (cc_silent(x->rank_state, x->message))
        return CC_OK;
    x->current = x->way[way_of(cc_job_choose(&x->choices, x->pairs))];
    cc_merge_start(x->current);
    return CC_OK;
}

/* Keeps what the step has told. */
static void end_step(struct ssar_auto *x)
{
    struct cc_counters *t = &x->rank_state->counters;
    x->pairs = cc_merge_pairs(x->current);
    if (x->current->exchange != CC_SSAR_SPLIT)
        t->chosen[x->current->exchange]++;
    else
        t->chosen[cc_merge_dense(x->current, x->pairs) ? CC_DSAR_SPLIT : CC_SSAR_SPLIT]++;
    x->current = NULL;
}

static int auto_test(void *of, bool *done, struct cc_error *e)
{
    struct ssar_auto *x = of;
    *done = x->current == NULL;
    if (*done)
        return CC_OK;
    CC_TRY(cc_merge_test(x->current, done, e));
    if (*done && !x->rank_state->hold_sums)
        end_step(x);
    return CC_OK;
}

static void auto_close(void *of)
{
    struct ssar_auto *x = of;
    for (size_t i = 0; i < WAYS; i++)
        if (x->way[i] != NULL)
            cc_merge_close(x->way[i]);
    cc_merge_gradient_close(x->gradient);
    free(x);
}

static int make_schedule(const struct cc_rank_state *s, enum cc_exchange x, struct cc_schedule *out,
                         struct cc_error *e)
{
    const int status = ways[way_of(x)].build(s->job->workers, s->rank, out, e);
    if (status != CC_OK)
        free(out->round);
    return status;
}

static int open_way(struct ssar_auto *x, size_t i, size_t index, struct cc_error *e)
{
    const struct cc_merge_config config = {
        .rank_state = x->rank_state,
        .message = x->message,
        .index = index,
        .exchange = ways[i].exchange,
        .choices = ways[i].exchange == CC_SSAR_SPLIT ? &x->choices : NULL,
        .gradient = x->gradient};
    struct cc_schedule schedule = {0};
    CC_TRY(make_schedule(x->rank_state, ways[i].exchange, &schedule, e));
    return cc_merge_open(&config, &schedule, &x->way[i], e);
}

static int open_pairs(struct cc_rank_state *s, const struct cc_message *m, size_t index, void **out,
                      struct cc_error *e)
{
    static const struct cc_exchange_ops ops = {auto_start, auto_test, auto_close};
    struct ssar_auto *x = cc_alloc0(sizeof *x, e);
    int status = CC_OK;
    if (x == NULL)
        return CC_FAIL;
    *x = (struct ssar_auto){
        .ops = &ops, .rank_state = s, .message = m, .choices = cc_job_choices_of(s->row, index)};
    CC_TRY_OUT(cc_merge_gradient_open(s, m, index, &x->gradient, e));
    x->pairs = s->job->data ? (uint64_t)s->job->workers * x->gradient->most
                            : cc_merge_known_pairs(x->gradient);
    for (size_t i = 0; i < x->choices.count; i++) {
        const size_t way = way_of(x->choices.item[i].exchange);
        if (x->way[way] == NULL)
            CC_TRY_OUT(open_way(x, way, index, e));
    }
    *out = x;
out:
    if (status != CC_OK)
        auto_close(x);
    return status;
}

static int open(struct cc_rank_state *s, const struct cc_message *m, size_t index, void **out,
                struct cc_error *e)
{
    const struct cc_job_choices c = cc_job_choices_of(s->row, index);
    struct cc_schedule schedule = {0};
    if (s->row->reduction != CC_REDUCE_SUM)
        return open_pairs(s, m, index, out, e);
    CC_TRY(make_schedule(s, c.item[c.count - 1].exchange, &schedule, e));
    return cc_reduce_sum_open(s, m, index, &schedule, out, e);
}

const struct cc_exchange_code cc_exchange_code_ssar_auto = {.open = open};
