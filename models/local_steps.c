#include "models/local_steps.h"

#include "models/predict.h"
#include "models/system.h"

size_t cc_local_part(const struct cc_net *net, size_t parts, size_t left)
{
    size_t first = net->count, values = 0;
    for (size_t i = 0; i < parts; i++) {
        const size_t last = first, others = parts - 1 - i;
        do
            values += net->tensors[--first].shape.n;
        while (first > others && (others == 0 || values < net->values * (i + 1) / parts));
        if (last == left)
            break;
    }
    return first;
}

bool cc_local_cuts(const struct cc_setting *s)
{
    const struct cc_local_timing *l = &s->timing.local;
    return l->steps > 0 && (l->parts > 1 || s->timing.mode == CC_OVERLAP);
}

int cc_local_check(const struct cc_setting *s, struct cc_error *e)
{
    const struct cc_timing *t = &s->timing;
    const struct cc_local_timing *l = &t->local;
    if (l->steps == 0)
        return CC_OK;
    if (s->sharded.collectives.count > 0)
        return cc_usage(e, "--local-steps: every worker has all states; not with --system %s",
                        s->system->name);
    if (t->mode == CC_PIPE)
        return cc_usage(e, "--mode pipe: with --local-steps exchanges go on beside the next steps "
                           "with --mode overlap");
    if (t->consistency != CC_BULK)
        return cc_usage(
            e, "--local-steps: all workers exchange together, so not with --consistency %s",
            cc_consistency_names[t->consistency]);
    if (t->hidden_share > 0)
        return cc_usage(e, "--hidden is of one step's exchange; with --local-steps exchanges go on "
                           "beside the next steps with --mode overlap");
    if (l->delay < 1 || l->delay > l->steps)
        return cc_usage(e, "--stream-delay: %zu is not between 1 and %zu", l->delay, l->steps);
    if (l->parts > s->net->count)
        return cc_usage(e, "--stream-parts %zu: %s has %zu tensors, and a part at least one",
                        l->parts, s->net->name, s->net->count);
    if (l->parts > 1 && cc_exchange_has(s->exchange, CC_X_CHOOSES))
        return cc_usage(e, "--stream-parts: not with ssar-auto, which chooses by the step before; "
                           "take the exchange that it chooses");
    return CC_OK;
}

int cc_local_check_formula(const struct cc_setting *s, struct cc_error *e)
{
    const struct cc_timing *t = &s->timing;
    if (t->local.steps > 0 && t->mode == CC_OVERLAP && t->straggler != CC_STEADY)
        return cc_usage(e, "--stragglers: no formula has the time of local steps that overlap with "
                           "exchanges; use --mode sequential");
    return CC_OK;
}
