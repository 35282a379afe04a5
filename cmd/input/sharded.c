#include "cmd/input/sharded.h"

#include <string.h>

#include "cmd/input/cluster.h"
#include "core/element.h"
#include "core/nearest.h"

/* clang-format off */
#define MEMBER(m) CC_OPTION_AT(struct cc_sharded_args, m)
const struct cc_option cc_sharded_options[] = {
    {.name = "weight-scheme", MEMBER(weight_text), .value = "SCHEME",
     .otherwise = "as they are; zeropp: int8, sdp4bit: int4", .group = CC_GROUP_SEND,
     .help = "systems with sharded states: the scheme of the parameters that workers gather, or, with "
             "sdp4bit, of their differences to the copy that all have; the name of --dtype sends "
             "them as they are"},
    {.name = "keep-params", MEMBER(keep_params), .group = CC_GROUP_CLUSTER,
     .help = "zero3, fsdp, hsdp, zeropp: gathered parameters are kept until the backward pass, which "
             "need not gather them again (reshard_after_forward=False)"},
    {.name = "no-sync", MEMBER(no_sync), .group = CC_GROUP_CLUSTER,
     .help = "--accumulate with fsdp or hsdp: whole gradients add up, and are reduced in the last "
             "micro-step only"},
    {.name = "accumulate", MEMBER(micro_steps), .kind = CC_TAKES_COUNT, .min = 1, .max = 100000,
     .value = "K", .def = "1", .group = CC_GROUP_STEP,
     .help = "micro-steps of a step, each of --compute, over which gradients add up: ddp, zero1 and "
             "sdp4bit exchange them in the last one, zero2, zero3, fsdp, hsdp and zeropp in each "
             "(docs/sharded.md)"},
    {.name = "tp", MEMBER(tensor_parallel), .kind = CC_TAKES_COUNT, .min = 1, .max = 1024,
     .value = "N", .def = "1", .group = CC_GROUP_CLUSTER,
     .help = "model: tensor-parallel degree: N workers of a host share a copy of the net, so that "
             "each has, and exchanges, 1/N of it with --workers / N others. What they exchange "
             "among themselves is not modelled"},
    {.name = NULL},
};
/* clang-format on */

static int keep_params(struct cc_setting *s, struct cc_error *e)
{
    return cc_collectives_keep(&s->sharded.collectives)
               ? CC_OK
               : cc_usage(e,
                          "--keep-params: --system %s gathers no parameters before the backward "
                          "pass",
                          s->system->name);
}

static int keep_gradients(struct cc_setting *s, struct cc_error *e)
{
    struct cc_collectives *c = &s->sharded.collectives;
    bool changes = false;
    if (!s->system->keeps_gradients)
        return cc_usage(e, "--no-sync: --system %s keeps no whole gradients to add to",
                        s->system->name);
    for (int i = 0; i < c->count; i++) {
        const bool last = c->item[i].last || c->item[i].what == CC_MOVES_GRADIENTS;
        changes |= last != c->item[i].last;
        c->item[i].last = last;
    }
    return changes ? CC_OK
                   : cc_usage(e, "--no-sync: --system %s reduces gradients once a step as it is",
                              s->system->name);
}

static int parse_weights(const struct cc_setting *s, struct cc_sharded_args *out,
                         struct cc_error *e)
{
    const char *text = out->weight_text;
    if (text != NULL && s->sharded.collectives.count == 0)
        return cc_usage(e,
                        "--weight-scheme is of parameters that are gathered, and with --system %s "
                        "every worker has them: give --system fsdp or another with sharded states",
                        s->system->name);
    if (text == NULL)
        text = s->system->weight_scheme;
    if (text == NULL || strcmp(text, cc_element_names[s->dtype]) == 0)
        return CC_OK;
    CC_TRY_IN(cc_spec_list_parse(text, &out->weights, e), e, "--weight-scheme");
    if (out->weights.count != 1)
        return cc_usage(e, "--weight-scheme %s: one scheme", text);
    const struct cc_spec *spec = out->weights.item[0];
    if (cc_period(spec->scheme, spec->params) > 1 ||
        cc_reduction(spec->scheme, spec->params) == CC_REDUCE_SUM)
        return cc_usage(e,
                        "--weight-scheme %s: parameters are gathered part by part in every step, "
                        "which takes a scheme whose payloads can be cut, such as int8",
                        spec->name);
    return CC_OK;
}

int cc_sharded_args_parse(const struct cc_args *args, struct cc_setting *s,
                          struct cc_sharded_args *out, struct cc_error *e)
{
    CC_TRY(cc_options_read(args, cc_sharded_options, out, e));
    s->sharded.micro_steps = out->micro_steps;
    if (out->keep_params)
        CC_TRY(keep_params(s, e));
    if (out->no_sync && out->micro_steps <= 1)
        return cc_usage(e, "--no-sync is of steps that have micro-steps: give --accumulate");
    if (out->no_sync)
        CC_TRY(keep_gradients(s, e));
    return parse_weights(s, out, e);
}

void cc_sharded_args_free(struct cc_sharded_args *a)
{
    cc_options_free(a);
    cc_spec_list_free(&a->weights);
}

int cc_cluster_check_sharded(const struct cc_cluster_args *c, struct cc_error *e)
{
    const struct cc_setting *s = &c->setting;
    const void *const of_others[] = {&c->servers,
                                     &s->placement,
                                     &s->timing.pulls,
                                     &s->timing.depth,
                                     &s->timing.unlimited,
                                     &s->timing.sync_s,
                                     &c->local_steps,
                                     &c->stream_parts,
                                     &c->stream_delay,
                                     &s->cluster.overlap,
                                     &s->cluster.dense_bits,
                                     &s->cluster.wire,
                                     NULL};
    const char *given = cc_given_of(c, of_others);
    return given == NULL || s->sharded.collectives.count == 0
               ? CC_OK
               : cc_usage(e,
                          "--%s has no effect on the collectives of --system %s: leave out either",
                          given, s->system->name);
}

/* --- systems --- */

int cc_system_choice_parse(const char *text, void *choice, struct cc_error *e)
{
    struct cc_system_choice *c = choice;
    const size_t n = strlen(text);
    const int found = cc_word_find(cc_system_names, text);
    char list[256];
    *c = (struct cc_system_choice){.id = CC_SYSTEM_COUNT, .file = text};
    if (n > 5 && strcmp(text + n - 5, ".json") == 0)
        return CC_OK;
    if (found >= 0) {
        *c = (struct cc_system_choice){.id = (enum cc_system_id)found};
        return CC_OK;
    }
    const char *near = cc_nearest(text, cc_system_names);
    if (near != NULL)
        return cc_usage(e, "--system %s: did you mean '%s'?", text, near);
    cc_word_list(cc_system_names, list, sizeof list);
    return cc_usage(e, "--system %s: it is one of %s, or a .json file", text, list);
}

int cc_cluster_system(struct cc_cluster_args *c, const struct cc_system **out, struct cc_error *e)
{
    *out = &c->own.system;
    if (c->system.file != NULL)
        return cc_system_file_read(c->system.file, &c->own, e);
    *out = &cc_systems[c->system.id];
    return CC_OK;
}

/* --- tensor parallelism --- */

static int check_tp(const struct cc_cluster_args *c, int tp, struct cc_error *e)
{
    const int per_host = c->setting.cluster.per_host;
    bool servers = false;
    for (size_t i = 0; i < c->exchanges; i++)
        servers |= cc_exchange_has(c->exchange[i], CC_X_SERVERS);
    if (c->trace != NULL || c->setting.cluster.sites > 1 || servers)
        return cc_usage(e, "--tp divides a net among workers of a host: %s",
                        c->trace != NULL               ? "leave out --trace"
                        : c->setting.cluster.sites > 1 ? "leave out --sites"
                                                       : "it needs an exchange without servers, "
                                                         "as that of --system ddp");
    if (per_host % tp != 0)
        return cc_usage(e,
                        "--tp %d: the workers that share a copy of the net are in one host, so it "
                        "must divide --per-host, which is %d",
                        tp, per_host);
    for (size_t i = 0; i < c->worker_counts; i++)
        if (c->workers[i] % tp != 0)
            return cc_usage(e, "--tp %d must divide --workers, which is %d", tp, c->workers[i]);
    return CC_OK;
}

int cc_cluster_choose_tp(struct cc_cluster_args *c, struct cc_error *e)
{
    const int tp = c->sharded.tensor_parallel;
    struct cc_cluster *cluster = &c->setting.cluster;
    if (tp <= 1)
        return CC_OK;
    CC_TRY(check_tp(c, tp, e));
    /* One of tp groups that are alike: it has its own interfaces, or its share of a common one. */
    const int nics = cc_cluster_nics(cluster);
    int own = 1;
    for (int n = 2; n <= tp; n++)
        if (tp % n == 0 && nics % n == 0)
            own = n;
    cluster->nics = nics / own;
    for (size_t i = 0; i < c->links; i++)
        c->link[i].achieved =
            (c->link[i].achieved > 0 ? c->link[i].achieved : 1) * own / (double)tp;
    cluster->per_host /= tp;
    for (size_t i = 0; i < c->worker_counts; i++)
        c->workers[i] /= tp;
    return CC_OK;
}
