/* The lengths of trainings: --steps, the evaluations during them, and the rate over their steps. */
#include <stdlib.h>
#include <string.h>

#include "cmd/train/plan/plan.h"
#include "core/memory.h"
#include "core/units.h"

enum { QUARTERS = 4 };

/* Replaces the steps by their quarters. */
static int take_quarters(struct cc_train_step_counts *s, struct cc_error *e)
{
    const size_t all = s->item[0];
    if (s->count > 1)
        return CC_OK;
    if (all < QUARTERS)
        return cc_usage(e, "--steps %zu: --quarters trains with quarters of them; give more", all);
    for (size_t i = 0; i < QUARTERS; i++)
        s->item[i] = all * (i + 1) / QUARTERS;
    s->count = QUARTERS;
    return CC_OK;
}

static int make_length(const struct cc_train_options *o, size_t steps, size_t every,
                       struct cc_train_length *out, struct cc_error *e)
{
    if (o->warmup != UINT64_MAX && o->warmup > steps)
        return cc_usage(e, "--warmup: %llu is not between 0 and %zu", (unsigned long long)o->warmup,
                        steps);
    if (CC_TRAIN_GIVEN(o, last_rate) != NULL && o->schedule != CC_RATE_COSINE)
        return cc_usage(e, "--last-rate is of --schedule cosine");
    out->steps = steps;
    out->eval_every = o->eval_every > 0 ? o->eval_every : every;
    out->schedule =
        (struct cc_rate_schedule){.kind = o->schedule,
                                  .factor = 0.1,
                                  .steps = steps,
                                  .warmup = o->warmup != UINT64_MAX ? o->warmup : steps / 10,
                                  .drops = {steps / 2, steps * 3 / 4},
                                  .drop_count = 2};
    return CC_OK;
}

int cc_train_parse_lengths(struct cc_train_options *o, struct cc_error *e)
{
    const size_t *steps = o->steps.item;
    if (o->quarters)
        CC_TRY(take_quarters(&o->steps, e));
    o->lengths = o->steps.count;
    CC_TRY(CC_NEW(o->length, o->lengths, e));
    if (o->lengths > 1 && CC_TRAIN_GIVEN(o, eval_every) != NULL)
        return cc_usage(e,
                        "--eval-every: trainings of several --steps are evaluated at their ends");
    size_t evaluations = o->lengths > 1 ? 1 : 4;
    if (o->evaluations > 0)
        evaluations = o->evaluations;
    for (size_t i = 0; i < o->lengths; i++)
        CC_TRY(
            make_length(o, steps[i], (steps[i] + evaluations - 1) / evaluations, &o->length[i], e));
    return CC_OK;
}
