/* --trial: short trainings of many schemes, in pairs with fp32. */
#include <string.h>

#include "cmd/input/carries.h"
#include "cmd/train/plan/plan.h"

/* The schemes by default: each way to compress, from the settings that change next to nothing to
 * those that leave out most. The lossless ones change nothing, and threshold's tau depends on the
 * gradients. */
#define EVERY                                                                                      \
    "fp32,fp16,bf16,int8,fp8,int4,mxfp4,fp4,qsgd:bits=8/4/2,natural,ternary,"                      \
    "3lc:s=1/1.5/1.75/1.9,mqe1bit,efsign,signsgd,sparse,topk:k=16/5,chunktopk,demo,"               \
    "randk:density=0.1,dgc:density=0.01/0.001,powersgd:rank=4/2/1,local:every=2/8"

/* Fewer steps have too few blocks in their last third. */
enum { LEAST_STEPS = 60, DEFAULT_STEPS = 200 };

void cc_train_trial_defaults(struct cc_train_options *o)
{
    if (!o->trial)
        return;
    if (CC_TRAIN_GIVEN(o, steps) == NULL)
        o->steps = (struct cc_train_step_counts){.item = {DEFAULT_STEPS}, .count = 1};
    if (CC_TRAIN_GIVEN(o, net) == NULL)
        o->net = CC_TRAIN_TRIAL_NET;
    if (CC_TRAIN_GIVEN(o, eval_every) == NULL && CC_TRAIN_GIVEN(o, evaluations) == NULL)
        o->evaluations = 1;
}

int cc_train_check_trial(const struct cc_train_options *o, struct cc_error *e)
{
    const void *const not_with[] = {&o->checkpoint, &o->training.resume, &o->capture, &o->quarters,
                                    &o->svrg_steps, &o->pull_scheme,     NULL};
    const char *given = cc_given_of(o, not_with);
    const char *name = given != NULL ? given : CC_TRAIN_CLUSTER_GIVEN(o, local_steps);
    if (!o->trial)
        return CC_TRAIN_GIVEN(o, max_loss) == NULL ? CC_OK
                                                   : cc_usage(e, "--max-loss goes with --trial");
    if (name != NULL)
        return cc_usage(e, "--trial: not with --%s", name);
    if (o->on != CC_TRAIN_LOCAL)
        return cc_usage(e, "--trial: in one process: not with --on %s", cc_train_places[o->on]);
    if (!cc_train_is_bulk(o))
        return cc_usage(e, "--trial: its steps are bulk synchronous: not with --consistency");
    if (o->rates.count > 1 || o->steps.count > 1)
        return cc_usage(e, "--trial: one --%s, not %zu; a trial at another is another call",
                        o->rates.count > 1 ? "rate" : "steps",
                        o->rates.count > 1 ? o->rates.count : o->steps.count);
    if (o->steps.item[0] < LEAST_STEPS)
        return cc_usage(e, "--trial: at least %d --steps, not %zu", LEAST_STEPS, o->steps.item[0]);
    return o->max_loss > 0 ? CC_OK : cc_usage(e, "--max-loss: an accuracy above 0, as in 1%%");
}

/* Moves the schemes of `from` that the exchange carries to `to`, which has none of them yet. */
static int move_carried(const struct cc_setting *s, struct cc_spec_list *from,
                        struct cc_spec_list *to, struct cc_error *e)
{
    size_t carried = 0;
    for (size_t i = 0; i < from->count; i++) {
        char why[256];
        cc_input_carries_print(s, from->item[i], why, sizeof why);
        if (why[0] == '\0')
            from->item[carried++] = from->item[i];
        else
            cc_spec_free(from->item[i]);
    }
    from->count = carried;
    return cc_spec_list_move(to, from, e);
}

int cc_train_trial_schemes(struct cc_train *t, struct cc_error *e)
{
    struct cc_spec_list all = {.item = NULL}, given = t->args->schemes;
    struct cc_setting setting;
    int status = CC_OK;
    if (!t->options.trial)
        return CC_OK;
    cc_setting_defaults(t->net, &setting);
    setting.exchange = t->options.training.exchange;
    t->args->schemes = (struct cc_spec_list){.item = NULL};
    const char *const begin = given.count > 0 ? CC_RAW_SCHEME "," CC_TRAIN_NULL_ARM : EVERY;
    CC_TRY_OUT(cc_spec_list_parse(begin, &all, e));
    CC_TRY_OUT(move_carried(&setting, &all, &t->args->schemes, e));
    CC_TRY_OUT(cc_spec_list_move(&t->args->schemes, &given, e));
out:
    cc_spec_list_free(&all);
    cc_spec_list_free(&given);
    return status;
}
