/* Opens all that a training needs, by its options. */
#include <stdlib.h>
#include <string.h>

#include "cmd/input/carries.h"
#include "cmd/train/papers/papers.h"
#include "cmd/train/places/places.h"
#include "cmd/train/plan/plan.h"
#include "cmd/train/times/times.h"
#include "core/memory.h"

/* Every pattern of --raw names a tensor. */
static int check_raw_names(const char *names, const struct cc_model_layout *layout,
                           struct cc_error *e)
{
    for (const char *rest = names, *at = names; at != NULL; at = rest) {
        bool found = false;
        for (size_t i = 0; i < layout->count; i++) {
            rest = at;
            found = cc_training_raw_name(&rest, layout->tensors[i].name) || found;
        }
        if (!found)
            return cc_usage(e,
                            "--raw %.*s: no tensor has such a name; the first is %s, the last %s",
                            (int)strcspn(at, ","), at, layout->tensors[0].name,
                            layout->tensors[layout->count - 1].name);
    }
    return CC_OK;
}

/* Opens the net once, which also refuses what no training can be done with. */
static int describe_net(struct cc_train *t, struct cc_error *e)
{
    struct cc_task *task;
    struct cc_task_config config = t->options.training.task;
    int status = CC_OK;
    config.threads = 1;
    CC_TRY(cc_task_open(&config, &task, e));
    const struct cc_model_layout *layout = cc_task_layout(task);
    t->epoch = cc_task_epoch(task);
    CC_TRY_OUT(cc_net_of(config.net, layout->tensors, layout->count, &t->net, e));
    CC_TRY_OUT(CC_NEW(t->is_raw, layout->count, e));
    for (size_t i = 0; i < layout->count; i++)
        t->is_raw[i] = cc_training_is_raw(&t->options.training, &layout->tensors[i]);
    CC_TRY_OUT(check_raw_names(t->options.training.raw_names, layout, e));
out:
    cc_task_close(task);
    return status;
}

/* Refuses schemes that the exchange cannot carry. */
static int check_schemes(const struct cc_train *t, struct cc_error *e)
{
    struct cc_setting setting;
    cc_setting_defaults(t->net, &setting);
    setting.exchange = t->options.training.exchange;
    for (size_t i = 0; i < t->args->schemes.count; i++)
        CC_TRY(cc_input_carries(&setting, t->args->schemes.item[i], e));
    return CC_OK;
}

void cc_train_close(struct cc_train *t)
{
    cc_train_all_free(t);
    cc_train_costs_free(t);
    free(t->message);
    free(t->server);
    free(t->is_raw);
    free(t->optimum.w);
    free(t->options.link);
    cc_options_free(&t->options.cluster.network);
    cc_options_free(&t->options.cluster.source);
    cc_options_free(&t->options.cluster);
    free(t->options.length);
    cc_train_paper_free(t);
    cc_hosts_free(&t->options.hosts);
    cc_net_free(t->net);
    cc_spec_free(t->raw);
    cc_spec_free(t->plain);
    cc_spec_list_free(&t->options.pull);
    cc_spec_list_free(&t->options.weights);
    cc_spec_list_free(&t->options.cluster.gather);
    cc_spec_list_free(&t->options.cluster.inner);
    cc_data_free(t->data);
}

int cc_train_open(struct cc_train *t, struct cc_error *e)
{
    struct cc_train_options *o = &t->options;
    CC_TRY(cc_spec_parse(CC_RAW_SCHEME, &t->raw, e));
    CC_TRY(cc_train_read_options(t->args, o, e));
    CC_TRY(cc_spec_parse(cc_element_names[o->cluster.source.dtype], &t->plain, e));
    cc_train_trial_defaults(o);
    CC_TRY(cc_task_data(o->net, o->data, &t->data, e));
    CC_TRY(cc_train_svrg_defaults(t, e));
    CC_TRY(cc_train_plan(t, e));
    CC_TRY(cc_train_feed_back(t, e));
    CC_TRY(describe_net(t, e));
    CC_TRY(cc_train_trial_schemes(t, e));
    CC_TRY(check_schemes(t, e));
    CC_TRY(cc_train_check_local(t, e));
    CC_TRY(cc_train_check_consistency(t, e));
    CC_TRY(cc_train_find_optimum(t, e));
    CC_TRY(cc_train_messages(t, e));
    CC_TRY(cc_train_costs_open(t, e));
    return cc_train_paper_open(t, e);
}
