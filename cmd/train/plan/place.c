/* The place of the workers, --on: which options go with it, and its links. */
#include <math.h>

#include "cmd/train/plan/plan.h"

static int refuse(const char *name, const char *why, struct cc_error *e)
{
    return name == NULL ? CC_OK : cc_usage(e, "--%s %s", name, why);
}

/* Refuses options that would change nothing in the place. */
static int refuse_needless(const struct cc_train_options *o, struct cc_error *e)
{
    const struct cc_link_options *l = &o->cluster.network;
    const void *const of_links[] = {&l->latency, &l->overhead, &l->message_s, NULL};
    const void *const of_labs[] = {&o->hosts.limit, &o->hosts.congestion, &o->hosts.lab, NULL};
    const void *const of_formulas[] = {&l->overhead, &l->message_s, NULL};
    if (o->on != CC_TRAIN_RUN)
        CC_TRY(refuse(cc_given_any(&o->hosts), "goes with --on run", e));
    if (o->on != CC_TRAIN_SIM) {
        CC_TRY(refuse(cc_given_any(&o->sim.options), "goes with --on sim", e));
        CC_TRY(refuse(CC_TRAIN_GIVEN(o, profile), "goes with --on sim", e));
    }
    if (o->on != CC_TRAIN_LOCAL)
        CC_TRY(refuse(CC_TRAIN_GIVEN(o, threads), "goes with --on local", e));
    if (o->plain) {
        const char *link = cc_given_of(l, of_links);
        CC_TRY(refuse(link != NULL ? link : cc_given_of(&o->hosts, of_labs),
                      "is of a network's links, which --bw none does without", e));
    }
    /* They are of the link by which ssar-auto chooses. */
    if (o->on == CC_TRAIN_RUN && !cc_exchange_has(o->training.exchange, CC_X_CHOOSES))
        CC_TRY(refuse(cc_given_of(l, of_formulas),
                      "is of formulas and simulations: with --on run, messages take what "
                      "they really take; leave it out, or use --on local or --on sim",
                      e));
    return CC_OK;
}

static int check_sim(const struct cc_train_options *o, struct cc_error *e)
{
    const bool profile = o->sim.options.codec_time == CC_CODEC_PROFILE;
    CC_TRY(cc_sim_check_platform(&o->sim.options, &o->cluster.network, e));
    if (profile && isnan(o->compute_s))
        return cc_usage(e,
                        "--codec-time profile goes with --compute TIME: all times are then given");
    if (!profile && o->profile != NULL)
        return cc_usage(e, "--profile goes with --codec-time profile");
    return CC_OK;
}

int cc_train_parse_place(const struct cc_args *args, struct cc_train_options *o, struct cc_error *e)
{
    const char *where = cc_train_places[o->on];
    CC_TRY(refuse_needless(o, e));
    CC_TRY(cc_cluster_choose_sites(args, &o->cluster, e));
    if (o->cluster.setting.cluster.sites > 1 && o->on != CC_TRAIN_SIM)
        return cc_usage(e, "--sites are simulated: give --on sim as well");
    if (o->on != CC_TRAIN_LOCAL && o->cluster.setting.timing.straggler != CC_STEADY &&
        isnan(o->compute_s))
        return cc_usage(e, "--stragglers with --on %s vary the time of --compute: give it", where);
    cc_hosts_free(&o->hosts);
    if (o->plain)
        CC_TRY(cc_hosts_parse_plain(args, &o->hosts, e));
    else if (o->on == CC_TRAIN_RUN)
        CC_TRY(cc_hosts_parse(args, NULL, NULL, &o->hosts, e));
    if (o->on == CC_TRAIN_SIM)
        CC_TRY(check_sim(o, e));
    if (o->on != CC_TRAIN_LOCAL && !o->plain)
        CC_TRY(cc_train_make_links(o, e));
    const void *const of_one[] = {&o->checkpoint, &o->capture, NULL};
    const char *one = cc_given_of(o, of_one);
    if (o->links > 1 && o->on != CC_TRAIN_LOCAL && one != NULL)
        return cc_usage(e,
                        "--%s with --on %s is of one training, and each link has one: give one "
                        "--bw and one --latency",
                        one, where);
    return CC_OK;
}
