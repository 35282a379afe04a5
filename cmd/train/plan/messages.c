/* --fuse, --placement and --stragglers: how a step is cut into messages, where tensors lie on
 * servers, and how computing varies. As in `run`, but for messages, which are cut by the gradients'
 * bytes, so that they, and with them the weights, do not depend on a profile. */
#include <stdlib.h>

#include "cmd/train/plan/plan.h"
#include "core/memory.h"
#include "models/sharded.h"

int cc_train_check_messages(const struct cc_train_options *o, struct cc_error *e)
{
    const struct cc_setting *s = &o->cluster.setting;
    if (s->placement != CC_SPLIT && o->training.servers < 2)
        return cc_usage(e, "--placement goes with --servers 2 or more");
    if (CC_TRAIN_CLUSTER_GIVEN(o, setting.timing.spread) != NULL &&
        s->timing.straggler == CC_STEADY)
        return cc_usage(e, "--spread goes with --stragglers");
    return CC_OK;
}

void cc_train_setting(const struct cc_train *t, const struct cc_link *link, struct cc_setting *out)
{
    const struct cc_training_config *c = &t->options.training;
    const struct cc_setting *given = &t->options.cluster.setting;
    cc_setting_defaults(t->net, out);
    out->link = *link;
    out->exchange = c->exchange;
    out->cluster.workers = (int)c->task.workers;
    out->cluster.servers = c->servers;
    out->cluster.dense_bits = c->dense_bits;
    out->cluster.gather = c->collectives.count == 0 ? c->gather : NULL;
    out->cluster.intra_scheme = c->intra_scheme;
    out->cluster.per_host = c->per_host;
    out->cluster.inner_exchange = c->inner_exchange;
    out->cluster.outer_exchange = c->outer_exchange;
    out->cluster.chunks = c->parts;
    out->cluster.intra = given->cluster.intra;
    out->cluster.sites = given->cluster.sites;
    out->cluster.wan_bps = given->cluster.wan_bps;
    out->cluster.wan_latency_s = given->cluster.wan_latency_s;
    out->timing.mode = c->local.steps > 0 ? CC_SEQUENTIAL : c->mode;
    if (c->mode == CC_PIPE)
        out->timing.depth = (int)c->depth;
    out->timing.hidden_share = t->options.hidden_share;
    out->cluster.via = c->via;
    out->placement = given->placement;
    out->timing.fuse_bytes = given->timing.fuse_bytes;
    out->timing.fuse_gradients = given->timing.fuse_bytes >= 0;
    out->timing.straggler = given->timing.straggler;
    out->timing.spread = given->timing.spread;
    out->timing.seed = t->options.seed;
    out->sharded.collectives = c->collectives;
    if (c->collectives.count > 0)
        out->system = cc_train_system(&t->options);
}

static int cut(struct cc_train *t, const struct cc_setting *s, struct cc_error *e)
{
    const struct cc_step_payloads tensors = {.count = t->net->count};
    CC_TRY(CC_NEW(t->message, t->net->count, e));
    t->options.training.message = t->message;
    t->options.training.messages = cc_predict_messages(s, &tensors, t->message);
    return CC_OK;
}

/* The units that a list of collectives is of. */
static int cut_units(struct cc_train *t, const struct cc_setting *s, struct cc_error *e)
{
    CC_TRY(CC_NEW(t->message, t->net->count, e));
    t->options.training.message = t->message;
    t->options.training.messages = cc_sharded_messages(s, t->message);
    return CC_OK;
}

static int place(struct cc_train *t, const struct cc_setting *s, struct cc_error *e)
{
    struct cc_predictor p = {0};
    CC_TRY(CC_NEW(t->server, t->net->count, e));
    const int status = cc_predict_servers(&p, s, t->server, e);
    cc_predictor_free(&p);
    t->options.training.server = t->server;
    t->options.training.tensors = t->net->count;
    return status;
}

int cc_train_messages(struct cc_train *t, struct cc_error *e)
{
    const struct cc_link none = {.bw_bps = 1};
    struct cc_setting s;
    cc_train_setting(t, &none, &s);
    CC_TRY(cc_setting_check(&s, e));
    const struct cc_local_config *local = &t->options.training.local;
    if (local->parts > 1 || local->delay > 0)
        CC_TRY(cc_train_local_messages(t, e));
    else if (s.sharded.collectives.count > 0)
        CC_TRY(cut_units(t, &s, e));
    else if (s.timing.fuse_gradients)
        CC_TRY(cut(t, &s, e));
    return s.placement != CC_SPLIT ? place(t, &s, e) : CC_OK;
}
