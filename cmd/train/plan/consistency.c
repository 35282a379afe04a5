/* --consistency in `train`: what it goes with, and the simulated clocks of a training in one
 * process. Their times are --compute and what a link takes for the payloads; codecs take none,
 * since the order of updates would then be this machine's. Without --compute, computing takes 1. */
#include <math.h>

#include "cmd/train/plan/plan.h"

int cc_train_parse_consistency(const struct cc_args *args, struct cc_train_options *o,
                               struct cc_error *e)
{
    const struct cc_training_config *c = &o->training;
    CC_TRY(cc_consistency_parse(args, args->recipe != NULL, &o->consistency, e));
    if (cc_train_is_bulk(o))
        return CC_OK;
    const enum cc_consistency *item = o->consistency.how.item;
    const char *name = cc_consistency_names[item[item[0] == CC_BULK]];
    if (!cc_exchange_has(c->exchange, CC_X_SERVERS))
        return cc_usage(
            e, "--consistency %s needs a server that answers at any time: --exchange ps, not %s",
            name, cc_exchange_names[c->exchange]);
    if (!c->deltas)
        return cc_usage(e,
                        "--consistency %s goes with --pull delta: there is no mean of a step's "
                        "gradients, since the server updates its parameters by each as it arrives",
                        name);
    if (o->checkpoint != NULL || o->capture != NULL)
        return cc_usage(e,
                        "--%s is of steps that all workers end together: --consistency bulk, not "
                        "%s",
                        o->checkpoint != NULL ? "checkpoint" : "capture", name);
    if (o->on != CC_TRAIN_LOCAL)
        return CC_OK;
    if (cc_given(&o->cluster.network, &o->cluster.network.bw) != NULL && isnan(o->compute_s))
        return cc_usage(e,
                        "--consistency %s with --bw needs --compute: the order of updates follows "
                        "from the times of computing and of messages",
                        name);
    if (o->compute_s == 0)
        return cc_usage(e, "--consistency %s: computing takes more than 0 s, as --compute 1ms",
                        name);
    return CC_OK;
}

int cc_train_check_consistency(const struct cc_train *t, struct cc_error *e)
{
    for (size_t i = 0; i < t->args->schemes.count; i++)
        CC_TRY(cc_consistency_check(&t->options.consistency, t->args->schemes.item[i], e));
    return CC_OK;
}

int cc_train_clocks(const struct cc_train *t, const struct cc_link *link,
                    struct cc_training_config *c, struct cc_job *drawn, struct cc_error *e)
{
    const struct cc_link none = {.bw_bps = INFINITY};
    const bool given = !isnan(t->options.compute_s);
    struct cc_job_row row = {.steps = c->steps};
    struct cc_setting s;
    *drawn = (struct cc_job){.row = &row, .rows = 1};
    if (c->consistency == CC_BULK)
        return CC_OK;
    link = link != NULL ? link : &none;
    cc_train_setting(t, link, &s);
    s.timing.seed = c->task.seed;
    CC_TRY(cc_experiment_job_stragglers(&s, drawn, e));
    c->clocks = (struct cc_training_clocks){.compute_s = given ? t->options.compute_s : 1,
                                            .forward_share = s.timing.forward_share,
                                            .share = t->net->share,
                                            .slow = drawn->slow,
                                            .links = {.byte_s = cc_link_byte_s(link),
                                                      .message_bytes = link->message_bytes,
                                                      .latency_s = link->latency_s}};
    return CC_OK;
}

/* --- rows --- */

int cc_train_put_consistency(const struct cc_train *t, size_t row, enum cc_consistency how,
                             struct cc_error *e)
{
    CC_TRY(cc_record_text(t->record, row, CC_KEY(consistency), cc_consistency_names[how], e));
    if (how == CC_BULK)
        return CC_OK;
    return cc_consistency_put_communicate(&t->options.consistency, t->record, row, e);
}
