/* --local-steps: its options, the parts of the net that are exchanged in turn, and trainings whose
 * steps are as many local steps as are made from one exchange to the next, turned into steps. */
#include <math.h>

#include "cmd/train/plan/plan.h"
#include "core/memory.h"

enum { MEAN, MOMENTUM, NESTEROV, FEEDBACK }; /* cc_train_outers */

const char *cc_train_outer(const struct cc_train_options *o)
{
    const struct cc_local_config *c = &o->training.local;
    return cc_train_outers[o->outer == FEEDBACK       ? FEEDBACK
                           : !(c->outer.momentum > 0) ? MEAN
                           : c->outer.nesterov        ? NESTEROV
                                                      : MOMENTUM];
}

/* --- options --- */

static int refuse_without(const struct cc_train_options *o, struct cc_error *e)
{
    const void *const others[] = {&o->outer,
                                  &o->outer_rate,
                                  &o->outer_momentum,
                                  &o->outer_beta,
                                  &o->training.local.mix,
                                  &o->quorum,
                                  &o->training.local.median,
                                  NULL};
    const void *const of_streams[] = {&o->cluster.stream_parts, &o->cluster.stream_delay, NULL};
    const char *own = cc_given_of(o, others);
    const char *name = own != NULL ? own : cc_given_of(&o->cluster, of_streams);
    return name == NULL ? CC_OK : cc_usage(e, "--%s goes with --local-steps", name);
}

static int choose_outer(const struct cc_train_options *o, struct cc_local_config *c,
                        struct cc_error *e)
{
    const double momentum = o->outer_momentum;
    const bool mean = o->outer == MEAN || o->outer == FEEDBACK;
    c->outer_rate = CC_TRAIN_GIVEN(o, outer_rate) != NULL ? o->outer_rate
                    : mean                                ? 1
                                                          : CC_TRAIN_OUTER_RATE;
    if (!(c->outer_rate > 0 && c->outer_rate <= 1000))
        return cc_usage(e, "--outer-rate: a number above 0, up to 1000");
    if (!(momentum >= 0 && momentum < 1))
        return cc_usage(e, "--outer-momentum: from 0 to less than 1");
    if (mean && CC_TRAIN_GIVEN(o, outer_momentum) != NULL)
        return cc_usage(e, "--outer-momentum is of --outer momentum and nesterov, not of %s",
                        cc_train_outers[o->outer]);
    if (o->outer != FEEDBACK && CC_TRAIN_GIVEN(o, outer_beta) != NULL)
        return cc_usage(e, "--beta goes with --outer ef");
    if (!(o->outer_beta > 0 && o->outer_beta <= 1))
        return cc_usage(e, "--beta: a number above 0, up to 1");
    c->outer = (struct cc_optimizer){
        .kind = CC_SGD, .momentum = mean ? 0 : (float)momentum, .nesterov = o->outer == NESTEROV};
    return CC_OK;
}

/* An exchange beside computing. */
static int choose_delay(const struct cc_train_options *o, struct cc_local_config *c,
                        struct cc_error *e)
{
    const enum cc_step_mode mode = o->cluster.setting.timing.mode;
    const size_t given = o->cluster.stream_delay, delay = given > 0 ? given : c->steps;
    const char *name = given > 0 ? CC_TRAIN_CLUSTER_GIVEN(o, stream_delay) : cc_given(o, &c->mix);
    if (mode == CC_PIPE)
        return cc_usage(e, "--mode pipe: with --local-steps exchanges go on beside the next steps "
                           "with --mode overlap");
    if (delay > c->steps)
        return cc_usage(e, "--stream-delay: %zu is not between 1 and %zu", delay, c->steps);
    if (!(c->mix >= 0 && c->mix < 1))
        return cc_usage(e, "--stream-mix: from 0 to less than 1");
    if (mode != CC_OVERLAP && name != NULL)
        return cc_usage(e, "--%s goes with --mode overlap: otherwise workers wait for results",
                        name);
    c->delay = mode == CC_OVERLAP ? delay : 0;
    if (c->delay == c->steps && c->parts == 1 && !(c->mix > 0))
        return cc_usage(
            e,
            "--stream-mix 0: with --stream-delay %zu workers would drop every step that "
            "they make; keep a share of them, or give a smaller delay",
            c->delay);
    if (c->delay > 0 && CC_TRAIN_CLUSTER_GIVEN(o, setting.timing.straggler) != NULL &&
        o->on == CC_TRAIN_LOCAL)
        return cc_usage(e, "--stragglers: no formula has the time of local steps that overlap with "
                           "exchanges; use --on sim, or --mode sequential");
    return CC_OK;
}

/* Workers that do not send, and median norms: all payloads must be at hand, each by itself. */
static int choose_quorum(const struct cc_train_options *o, struct cc_local_config *c,
                         struct cc_error *e)
{
    const char *quorum = CC_TRAIN_GIVEN(o, quorum);
    const char *name = quorum != NULL ? quorum : cc_given(o, &c->median);
    const int workers = o->cluster.workers[0];
    const double wanted = ceil(o->quorum * workers - 1e-9);
    if (name == NULL)
        return CC_OK;
    if (o->cluster.exchange[0] != CC_ALLGATHER || c->parts > 1)
        return cc_usage(e,
                        "--%s goes with --exchange allgather, where each worker's payload arrives "
                        "by itself, and without --stream-parts",
                        name);
    if (quorum == NULL)
        return CC_OK;
    if (!(o->quorum > 0 && o->quorum <= 1))
        return cc_usage(e, "--quorum: a share of the workers above 0, up to 100%%, as in 90%%");
    if (o->quorum < 1 && wanted >= workers)
        return cc_usage(e,
                        "--quorum %g%%: of %d workers that is all of them; give at most %.4g%%, or "
                        "more --workers",
                        100 * o->quorum, workers, 100.0 * (workers - 1) / workers);
    c->quorum = o->quorum < 1 ? (size_t)wanted : 0;
    return CC_OK;
}

/* Every length must be whole exchanges; evaluations that are not asked for are made after them. */
static int fit_lengths(struct cc_train_options *o, struct cc_error *e)
{
    const size_t every = o->training.local.steps * o->training.local.parts;
    for (size_t i = 0; i < o->lengths; i++) {
        struct cc_train_length *l = &o->length[i];
        const size_t less = l->steps - l->steps % every;
        if (l->steps % every != 0)
            return cc_usage(e,
                            "--steps %zu: with --local-steps %zu it is a multiple of that, such as "
                            "%zu",
                            l->steps, every, less > 0 ? less : every);
        if (l->eval_every % every == 0)
            continue;
        if (CC_TRAIN_GIVEN(o, eval_every) != NULL)
            return cc_usage(e,
                            "--eval-every %zu: with --local-steps %zu it is a multiple of that, as "
                            "the shared parameters change with exchanges",
                            l->eval_every, every);
        l->eval_every += every - l->eval_every % every;
    }
    return CC_OK;
}

int cc_train_parse_local(struct cc_train_options *o, struct cc_error *e)
{
    struct cc_local_config *c = &o->training.local;
    struct cc_local_timing timing;
    if (o->cluster.local_counts == 0)
        return refuse_without(o, e);
    if (o->cluster.local_counts > 1)
        return cc_usage(e, "--local-steps: one number; another is another training");
    CC_TRY(cc_cluster_local(&o->cluster, o->cluster.local_steps[0], &timing, e));
    c->steps = timing.steps;
    c->parts = timing.parts;
    CC_TRY(choose_outer(o, c, e));
    CC_TRY(choose_delay(o, c, e));
    CC_TRY(choose_quorum(o, c, e));
    const char *fuse = CC_TRAIN_CLUSTER_GIVEN(o, setting.timing.fuse_bytes);
    const char *cuts = fuse != NULL ? fuse : CC_TRAIN_GIVEN(o, capture);
    if (cuts != NULL && (c->parts > 1 || c->delay > 0))
        return cc_usage(e,
                        "--%s: not with --stream-parts or with --mode overlap of local steps, "
                        "where a part of the net is a message",
                        cuts);
    return fit_lengths(o, e);
}

int cc_train_check_local(const struct cc_train *t, struct cc_error *e)
{
    const struct cc_training_config *c = &t->options.training;
    const uint64_t every = c->checkpoint_every;
    if (c->local.steps == 0)
        return CC_OK;
    if (every % (c->local.steps * c->local.parts) != 0)
        return cc_usage(e,
                        "--checkpoint-every %llu: with --local-steps %zu it is a multiple of that",
                        (unsigned long long)every, c->local.steps * c->local.parts);
    if (t->options.scd)
        return cc_usage(e,
                        "--local-steps: coordinate descent has the same parameters on all workers "
                        "in each step; take --optimizer sgd");
    if (!cc_train_is_bulk(&t->options))
        return cc_usage(
            e, "--local-steps: all workers exchange together, so not with --consistency %s",
            cc_arg(t->args, "consistency"));
    if (c->local.parts > t->net->count)
        return cc_usage(e, "--stream-parts %zu: %s has %zu tensors, and a part at least one",
                        c->local.parts, t->net->name, t->net->count);
    if (c->local.parts > 1 && cc_exchange_has(c->exchange, CC_X_CHOOSES))
        return cc_usage(e, "--stream-parts: not with ssar-auto, which chooses by the step before; "
                           "take the exchange that it chooses");
    for (size_t i = 0; i < t->args->schemes.count; i++) {
        const struct cc_spec *s = t->args->schemes.item[i];
        const bool silent = cc_period(s->scheme, s->params) > 1;
        if (silent && (c->local.quorum > 0 || c->local.median))
            return cc_usage(e,
                            "%s: it sends in one step of several: not with --quorum and "
                            "--median-norm",
                            s->name);
        if (silent && c->local.parts > 1)
            return cc_usage(e,
                            "%s: it sends in one step of several, and --stream-parts in all of "
                            "them a part; give a greater --local-steps instead",
                            s->name);
    }
    return CC_OK;
}

/* --- error feedback of differences --- */

double cc_train_kept(const struct cc_train *t, const struct cc_spec *spec)
{
    const struct cc_param *decay = cc_param_find(spec->scheme->params, "decay");
    if (t->options.outer != FEEDBACK)
        return 1;
    return decay != NULL && decay->type == CC_REAL
               ? *(const double *)((const char *)spec->params + decay->offset)
               : t->options.outer_beta;
}

/* SparseLoCo (2025): e <- beta e + D; S = Q(e); e <- e - S, and the mean of S is applied. Schemes
 * that send all have no e. */
static int feed_back(struct cc_spec **spec, double beta, bool given, struct cc_error *e)
{
    static const char name[] = "decay";
    const struct cc_scheme *of = (*spec)->scheme;
    const struct cc_codec codec = {
        .scheme = of, .params = (*spec)->params, .shape = cc_shape_flat(4096)};
    struct cc_spec *with;
    char text[sizeof(*spec)->name + 32];
    if ((of->flags & CC_LOSSY) == 0)
        return CC_OK;
    if (cc_state_bytes(&codec) == 0)
        return cc_usage(e, "--outer ef: %s keeps no residual", (*spec)->name);
    if (cc_param_find(of->params, name) == NULL)
        return beta == 1 ? CC_OK
                         : cc_usage(e,
                                    "%s: its residual does not decay; give --beta 1, or a scheme "
                                    "with the parameter %s, such as chunktopk",
                                    (*spec)->name, name);
    if (strstr((*spec)->name, name) != NULL) /* as it was given */
        return !given ? CC_OK
                      : cc_usage(e, "--beta %g: %s has a %s of its own; give one of both", beta,
                                 (*spec)->name, name);
    (void)snprintf(text, sizeof text, "%s%c%s=%.9g", (*spec)->name,
                   strchr((*spec)->name, ':') != NULL ? ',' : ':', name, beta);
    CC_TRY(cc_spec_parse(text, &with, e));
    cc_spec_free(*spec);
    *spec = with;
    return CC_OK;
}

int cc_train_feed_back(struct cc_train *t, struct cc_error *e)
{
    struct cc_spec_list *schemes = &t->args->schemes;
    for (size_t i = 0; i < schemes->count && t->options.outer == FEEDBACK; i++)
        CC_TRY(feed_back(&schemes->item[i], t->options.outer_beta,
                         CC_TRAIN_GIVEN(&t->options, outer_beta) != NULL, e));
    return CC_OK;
}

/* --- parts --- */

int cc_train_local_messages(struct cc_train *t, struct cc_error *e)
{
    const size_t parts = t->options.training.local.parts;
    size_t left = t->net->count;
    CC_TRY(CC_NEW(t->message, parts, e));
    for (size_t i = 0; i < parts; i++) {
        const size_t first = cc_local_part(t->net, parts, left);
        t->message[i] = (struct cc_message){first, left - 1};
        left = first;
    }
    t->options.training.message = t->message;
    t->options.training.messages = parts;
    return CC_OK;
}

/* --- trainings --- */

void cc_train_local_config(struct cc_training_config *c)
{
    const size_t steps = c->local.steps;
    if (steps == 0)
        return;
    c->steps /= steps;
    c->eval_every /= steps;
    c->checkpoint_every /= steps;
}

void cc_train_local_result(const struct cc_training_config *c, struct cc_training_result *of)
{
    const size_t steps = c->local.steps;
    if (steps == 0)
        return;
    for (size_t i = 0; i < of->evals; i++) {
        struct cc_evaluation *v = &of->eval[i];
        double *const mean[] = {&v->push_bytes, &v->pull_bytes, &v->encode_s,  &v->hop_s,
                                &v->server_s,   &v->decode_s,   &v->compute_s, &v->update_s};
        for (size_t k = 0; k < sizeof mean / sizeof *mean; k++)
            *mean[k] /= (double)steps;
        v->step *= steps;
    }
    of->resumed *= steps;
    of->diverged_step *= steps;
}
