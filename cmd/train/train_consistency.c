/* --consistency in `train`: what it goes with. */
#include "cmd/input/cluster.h"
#include "cmd/train/train.h"

int cc_train_parse_consistency(const struct cc_args *args, struct cc_train_options *o,
                               struct cc_error *e)
{
    struct cc_training_config *c = &o->training;
    struct cc_consistency_args given;
    CC_TRY(cc_consistency_parse(args, &given, e));
    c->consistency = given.consistency;
    c->staleness = given.staleness;
    c->communicate = given.communicate;
    c->growth = given.growth;
    if (c->consistency == CC_BULK)
        return CC_OK;
    const char *name = cc_consistency_names[c->consistency];
    if (!cc_exchange_has(c->exchange, CC_X_SERVERS))
        return cc_usage(
            e, "--consistency %s needs a server that answers at any time: --exchange ps, not %s",
            name, cc_exchange_names[c->exchange]);
    if (!c->deltas)
        return cc_usage(e,
                        "--consistency %s goes with --pull delta: there is no mean of a step's "
                        "gradients, since the server updates its parameters by each as it arrives",
                        name);
    if (cc_arg(args, "checkpoint") != NULL || cc_arg(args, "capture") != NULL)
        return cc_usage(e,
                        "--%s is of steps that all workers end together: --consistency bulk, not "
                        "%s",
                        cc_arg(args, "checkpoint") != NULL ? "checkpoint" : "capture", name);
    return cc_usage(e, "--consistency %s is predicted only, by `commcomp model`", name);
}
