/* --mode pipe: Pipe-SGD's K and its synchronous steps at the beginning. */
#include "cmd/train/plan/plan.h"

static int check_length(const struct cc_training_config *c, size_t steps, struct cc_error *e)
{
    if (c->sync_steps > steps)
        return cc_usage(e, "--sync-steps %zu: the training has %zu steps", c->sync_steps, steps);
    if (c->depth > steps)
        return cc_usage(e, "--depth %zu: more steps under way than the %zu of the training",
                        c->depth, steps);
    return CC_OK;
}

int cc_train_parse_pipe(struct cc_train_options *o, struct cc_error *e)
{
    struct cc_training_config *c = &o->training;
    const char *depth = CC_TRAIN_CLUSTER_GIVEN(o, setting.timing.depth);
    const char *of_pipe = depth != NULL ? depth : CC_TRAIN_GIVEN(o, training.sync_steps);
    if (c->mode != CC_PIPE)
        return of_pipe == NULL ? CC_OK : cc_usage(e, "--%s goes with --mode pipe", of_pipe);
    if (!cc_train_is_bulk(o))
        return cc_usage(
            e, "--mode pipe has gradients of one age: --consistency bulk, not %s",
            cc_consistency_names[o->consistency.how.item[o->consistency.how.count - 1]]);
    c->depth = (size_t)o->cluster.setting.timing.depth;
    if (c->depth == 1)
        return cc_usage(e, "--depth 1 is synchronous: take --mode sequential");
    for (size_t i = 0; i < o->lengths; i++)
        CC_TRY(check_length(c, o->length[i].steps, e));
    if (o->capture != NULL && o->on != CC_TRAIN_LOCAL && cc_exchange_has(c->exchange, CC_X_SERVERS))
        return cc_usage(e, "--capture: with --mode pipe, servers are under way between the steps; "
                           "take --on local, which sends the same");
    return CC_OK;
}

double cc_train_sync_share(const struct cc_train *t, size_t from, size_t to)
{
    const size_t until = t->options.training.sync_steps;
    if (until <= from)
        return 0;
    return until < to ? (double)(until - from) / (double)(to - from) : 1;
}
