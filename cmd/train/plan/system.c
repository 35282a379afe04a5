/* --system: sharded states, and the schemes of their stages. */
#include "cmd/train/plan/plan.h"
#include "core/nearest.h"
#include "models/system.h"

enum { ZERO1, ZERO2, ZERO3, FSDP, HSDP, SDP4BIT }; /* indices in cc_train_systems */

/* Whether parameters are divided, too. */
static bool divides_parameters(const struct cc_train_options *o)
{
    return o->system >= ZERO3 && o->system <= HSDP;
}

const struct cc_system *cc_train_system(const struct cc_train_options *o)
{
    return o->system >= 0 ? &cc_systems[cc_word_find(cc_system_names, cc_train_systems[o->system])]
                          : NULL;
}

int cc_train_gathers(const struct cc_training_config *c)
{
    int gathers = 0;
    for (int i = 0; i < c->collectives.count; i++)
        gathers += c->collectives.item[i].op == CC_ALL_GATHER;
    return gathers > 0 ? gathers : 1;
}

/* The exchanges that make whole sums at owners. */
static int check_exchange(const struct cc_train_options *o, const char *system, struct cc_error *e)
{
    const enum cc_exchange x = o->cluster.exchange[0];
    char with[64];
    cc_exchange_list(CC_X_STAGES, with, sizeof with);
    if (divides_parameters(o) && x != CC_TWOSHOT)
        return cc_usage(e,
                        "--system %s: by twoshot, where the owner of a part reduces and gathers it "
                        "directly, not by --exchange %s",
                        system, cc_exchange_names[x]);
    if (!cc_exchange_has(x, CC_X_STAGES))
        return cc_usage(e, "--system %s: by %s, where each sum has an owner, not by --exchange %s",
                        system, with, cc_exchange_names[x]);
    if (o->cluster.setting.cluster.via == CC_VIA_ALLGATHER)
        return cc_usage(e, "--system %s: by --via allgather, no sum has an owner: leave it out",
                        system);
    if (o->cluster.gather_text != NULL)
        return cc_usage(e,
                        "--gather-scheme: with --system %s no sums are gathered; give "
                        "--weight-scheme",
                        system);
    if (o->cluster.workers[0] < 2)
        return cc_usage(e, "--system %s: one worker has nothing to share out", system);
    if (o->cluster.setting.cluster.chunks > 1)
        return cc_usage(e, "--chunks: with --system %s each owner has one piece: leave it out",
                        system);
    return CC_OK;
}

/* Refuses options that a list of collectives does not go with. */
static int check_divided(const struct cc_train_options *o, const char *system, struct cc_error *e)
{
    const struct cc_setting *s = &o->cluster.setting;
    const int per_host = s->cluster.per_host > 1 ? s->cluster.per_host : 1;
    if (o->system == HSDP && (per_host == 1 || o->cluster.workers[0] <= per_host))
        return cc_usage(
            e, "--system hsdp divides states inside hosts and adds gradients across them: "
               "give --per-host 2 or more, and workers of several hosts, or --system fsdp");
    if (s->timing.fuse_bytes >= 0)
        return cc_usage(e, "--fuse: --system %s gathers a layer at a time: leave it out", system);
    if (s->timing.straggler != CC_STEADY)
        return cc_usage(e, "--stragglers does not go with --system %s: leave out either", system);
    return CC_OK;
}

static int parse_weights(struct cc_train_options *o, struct cc_error *e)
{
    const char *text = o->weight_scheme;
    if (text == NULL)
        text = o->system == SDP4BIT ? CC_TRAIN_SDP4BIT_WEIGHTS : "fp32";
    CC_TRY_IN(cc_spec_list_parse(text, &o->weights, e), e, "--weight-scheme");
    if (o->weights.count != 1)
        return cc_usage(e, "--weight-scheme %s: one scheme", text);
    const struct cc_spec *spec = o->weights.item[0];
    if (cc_period(spec->scheme, spec->params) > 1)
        return cc_usage(e,
                        "--weight-scheme %s: it sends in some steps only, and workers compute "
                        "with what they gather in every step",
                        spec->name);
    if (cc_spec_has_feedback(spec))
        return cc_usage(e,
                        "--weight-scheme %s: its residual has no use here; with "
                        "--weight-differences what it withholds is in the next difference",
                        spec->name);
    const struct cc_codec codec = {.scheme = spec->scheme,
                                   .params = spec->params,
                                   .shape = {.ndim = 2, .dim = {64, 64}, .n = 64 * 64}};
    if (divides_parameters(o) && cc_state_bytes(&codec) > 0)
        return cc_usage(e,
                        "--weight-scheme %s: it keeps a state, and with --system %s the same "
                        "parameters are gathered several times",
                        spec->name, cc_train_systems[o->system]);
    return CC_OK;
}

void cc_train_choose_system(struct cc_train_options *o)
{
    struct cc_cluster_args *c = &o->cluster;
    if (o->system < 0)
        return;
    if (CC_TRAIN_CLUSTER_GIVEN(o, exchange) == NULL)
        c->exchange[0] = c->setting.cluster.per_host > 1 && !divides_parameters(o) ? CC_HIERARCHICAL
                                                                                   : CC_TWOSHOT;
    if (o->system == SDP4BIT && c->inner_text == NULL && c->setting.cluster.per_host > 1 &&
        cc_exchange_has(c->exchange[0], CC_X_INSIDE))
        c->inner_text = CC_TRAIN_SDP4BIT_INTRA;
}

int cc_train_parse_system(struct cc_train_options *o, struct cc_error *e)
{
    struct cc_training_config *c = &o->training;
    const void *const of_systems[] = {&o->weight_scheme, &o->weight_differences, &o->keep_params,
                                      NULL};
    const char *name = cc_given_of(o, of_systems);
    if (o->system < 0)
        return name == NULL ? CC_OK
                            : cc_usage(e, "--%s goes with %s", name,
                                       name == cc_given(o, &o->keep_params)
                                           ? "--system zero3, fsdp or hsdp"
                                           : "--system fsdp, or another with sharded states");
    const char *system = cc_train_systems[o->system];
    CC_TRY(check_exchange(o, system, e));
    if (!cc_train_is_bulk(o) || c->mode == CC_PIPE || c->local.steps > 0 || o->scd ||
        c->svrg_steps > 0)
        return cc_usage(e, "--system %s: not with --%s, whose updates are of all values at once",
                        system,
                        c->local.steps > 0     ? "local-steps"
                        : c->mode == CC_PIPE   ? "mode pipe"
                        : !cc_train_is_bulk(o) ? "consistency"
                                               : "optimizer scd or svrg");
    CC_TRY(parse_weights(o, e));
    c->shards =
        o->weight_differences || o->system == SDP4BIT ? CC_SHARDS_DIFFERENCES : CC_SHARDS_WEIGHTS;
    c->gather = o->weights.item[0]->name;
    if (!divides_parameters(o))
        return o->keep_params
                   ? cc_usage(e,
                              "--keep-params goes with --system zero3, fsdp or hsdp: with "
                              "%s parameters are gathered once",
                              system)
                   : CC_OK;
    CC_TRY(check_divided(o, system, e));
    c->collectives = cc_train_system(o)->collectives;
    if (o->keep_params || o->weight_differences)
        (void)cc_collectives_keep(&c->collectives);
    return CC_OK;
}

int cc_train_check_system(const struct cc_train *t, struct cc_error *e)
{
    const struct cc_train_options *o = &t->options;
    for (size_t i = 0; i < t->args->schemes.count && o->system >= 0; i++) {
        const struct cc_spec *spec = t->args->schemes.item[i];
        if (cc_own_momentum(spec->scheme, spec->params) > 0 ||
            cc_period(spec->scheme, spec->params) > 1)
            return cc_usage(e,
                            "%s: not with --system %s, which takes a gradient in every step: give "
                            "--scheme without it",
                            spec->name, cc_train_systems[o->system]);
    }
    return CC_OK;
}
