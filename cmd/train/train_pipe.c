/* --mode pipe: Pipe-SGD's K and its synchronous steps at the beginning. */
#include "cmd/train/train.h"

static int check_length(const struct cc_training_config *c, size_t steps, struct cc_error *e)
{
    if (c->sync_steps > steps)
        return cc_usage(e, "--sync-steps %zu: the training has %zu steps", c->sync_steps, steps);
    if (c->depth > steps)
        return cc_usage(e, "--depth %zu: more steps under way than the %zu of the training",
                        c->depth, steps);
    return CC_OK;
}

int cc_train_parse_pipe(const struct cc_args *args, struct cc_train_options *o, struct cc_error *e)
{
    static const char *const of_pipe[] = {"depth", "sync-steps"};
    struct cc_training_config *c = &o->training;
    uint64_t depth = 2, sync = 0;
    for (size_t i = 0; c->mode != CC_PIPE && i < sizeof of_pipe / sizeof *of_pipe; i++)
        if (cc_arg(args, of_pipe[i]) != NULL)
            return cc_usage(e, "--%s goes with --mode pipe", of_pipe[i]);
    if (c->mode != CC_PIPE)
        return CC_OK;
    if (!cc_train_is_bulk(o))
        return cc_usage(e, "--mode pipe has gradients of one age: --consistency bulk, not %s",
                        cc_arg(args, "consistency"));
    CC_TRY(cc_arg_count(args, "depth", 1, CC_JOB_DEPTH, &depth, e));
    CC_TRY(cc_arg_count(args, "sync-steps", 0, UINT32_MAX, &sync, e));
    c->depth = (size_t)depth;
    c->sync_steps = (size_t)sync;
    if (depth == 1)
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
