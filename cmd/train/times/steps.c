/* Time on a network. Bulk-synchronous steps compute the same whatever the network, so one training
 * gives the time on any: a step's time follows from its payloads' sizes and from codec and compute
 * times by the formulas of `model`. They are linear in the sizes, so means over an interval do. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/train/plan/plan.h"
#include "cmd/train/times/times.h"
#include "core/memory.h"
#include "models/system.h"
#include "netsim/inprocess/training_job.h"

/* The scheme, which sends once in each of its periods of `every` steps. */
static struct cc_codec_model codec_model(const struct cc_spec *spec, size_t every)
{
    struct cc_codec_model m =
        cc_codec_model_given(spec->name, cc_reduction(spec->scheme, spec->params), 32, 0, 0, 0);
    m.period = every * cc_period(spec->scheme, spec->params);
    m.sum_rounds = cc_sum_rounds(spec->scheme, spec->params);
    m.verbatim = (spec->scheme->flags & CC_VERBATIM) != 0;
    return m;
}

int cc_train_link_of_choices(const struct cc_train *t, struct cc_link *out, struct cc_error *e)
{
    if (t->options.links == 0)
        return cc_link_parse("1gbps", out, e);
    *out = t->options.link[0];
    return CC_OK;
}

int cc_train_choices(const struct cc_train *t, const struct cc_training_config *c,
                     struct cc_job_row *out, struct cc_error *e)
{
    struct cc_setting setting;
    struct cc_link link;
    struct cc_job job = {0};
    int status = CC_OK;
    *out = (struct cc_job_row){.choices = 0};
    if (!cc_exchange_has(c->exchange, CC_X_CHOOSES))
        return CC_OK;
    CC_TRY(cc_train_link_of_choices(t, &link, e));
    cc_train_setting(t, &link, &setting);
    CC_TRY_OUT(cc_training_job(c, t->net->tensors, t->net->count, &job, e));
    CC_TRY_OUT(cc_experiment_job_choices(&setting, NULL, &job, job.row, e));
    out->choice = job.row->choice;
    out->choices = job.row->choices;
    job.row->choice = NULL;
    job.row->choices = 0;
out:
    cc_job_free(&job);
    return status;
}

/* Tensors that are exchanged in the same steps: all of them, or with --stream-parts a part. */
struct part {
    const struct cc_net *net;
    struct cc_net *own; /* the same, to be freed; or NULL */
    const bool *raw;    /* by tensor; NULL: none is sent in other steps */
    double share;       /* the share of a step's bytes in those steps */
    struct cc_pair_cost pair;
    struct cc_step_payloads sizes;
    struct cc_predictor predictor;
};

/* Counts the pairs of payloads of the measured bytes. */
static void count_pairs(const struct part *part, struct cc_step_payloads *p)
{
    for (size_t i = 0; i < p->count && part->pair.pair_bits > 0; i++) {
        struct cc_payload_cost *each = &p->each[i];
        if (part->raw != NULL && part->raw[i])
            continue;
        p->total.pairs -= each->pairs;
        each->pairs = fmax(0, (8 * each->push_bytes - part->pair.value_bits * each->values) /
                                  part->pair.pair_bits);
        p->total.pairs += each->pairs;
    }
}

/* The payloads of parameters that are gathered, of as many bytes as were. */
static int measure_weights(const struct cc_train *t, const struct cc_evaluation *v,
                           struct cc_step_payloads *out, struct cc_error *e)
{
    const struct cc_codec_model model = codec_model(t->options.weights.item[0], 1);
    const struct cc_codec_model floats = codec_model(t->raw, 1);
    const struct cc_measured m = {.push_bytes =
                                      v->pull_bytes / cc_train_gathers(&t->options.training)};
    struct cc_step_payloads sizes;
    CC_TRY(cc_step_payloads_make(t->net, &model, &floats, t->is_raw, &sizes, e));
    const int status = cc_step_payloads_measured(t->net, &sizes, t->is_raw, &m, out, e);
    cc_step_payloads_free(&sizes);
    return status;
}

/* The step of one interval, from step `from` up to the evaluation v: a mean where some of its steps
 * precede a pipeline. */
static int predict(const struct cc_train *t, struct part *p, const struct cc_setting *setting,
                   size_t from, const struct cc_evaluation *v, struct cc_train_step *out,
                   struct cc_error *e)
{
    struct cc_setting s = *setting;
    struct cc_step_payloads payloads;
    struct cc_prediction step, before;
    const double share = cc_train_sync_share(t, from, v->step);
    const bool divided = s.sharded.collectives.count > 0;
    struct cc_step_payloads weights = {.count = 0};
    struct cc_measured m = {.push_bytes = p->share * v->push_bytes,
                            .pull_bytes = p->share * v->pull_bytes,
                            .codec = {.encode_s = p->share * v->encode_s,
                                      .hop_s = p->share * v->hop_s,
                                      .server_s = p->share * v->server_s,
                                      .decode_s = p->share * v->decode_s}};
    const struct cc_local_config *local = &t->options.training.local;
    const bool given = !isnan(t->options.compute_s), beside = local->delay > 0;
    const double compute_s = given ? t->options.compute_s : v->compute_s;
    s.net = p->net;
    s.timing.compute_s = beside ? 0 : compute_s;
    s.timing.update_s = given ? 0 : v->update_s;
    if (divided) { /* what a worker owns of its gradients it does not encode */
        const double sharing = s.system->in_host ? s.cluster.per_host : s.cluster.workers;
        m.push_bytes *= sharing / (sharing - 1);
        CC_TRY(measure_weights(t, v, &weights, e));
        s.sharded.weights = &weights;
    }
    CC_TRY(cc_step_payloads_measured(p->net, &p->sizes, p->raw, &m, &payloads, e));
    count_pairs(p, &payloads);
    int status = cc_predict(&p->predictor, &s, &payloads, &step, e);
    before = step;
    if (status == CC_OK && share > 0) {
        s.timing.mode = CC_SEQUENTIAL;
        status = cc_predict(&p->predictor, &s, &payloads, &before, e);
    }
    cc_step_payloads_free(&payloads);
    cc_step_payloads_free(&weights);
    if (beside) {
        /* The exchange of `steps` local steps goes on beside `delay` of them. */
        const double hidden_s = (double)local->delay / (double)local->steps * compute_s;
        step.step_s = compute_s + fmax(0, step.step_s - hidden_s);
        step.compute_s += compute_s;
    }
    if (status == CC_OK)
        *out = (struct cc_train_step){.compute_s = step.compute_s,
                                      .codec_s = step.codec_s,
                                      .comm_s = share * before.comm_s + (1 - share) * step.comm_s,
                                      .step_s = share * before.step_s + (1 - share) * step.step_s};
    return status;
}

int cc_train_raw_comm_s(const struct cc_train *t, const struct cc_link *link, double *out,
                        struct cc_error *e)
{
    const struct cc_codec_model floats = codec_model(t->raw, 1);
    struct cc_step_payloads payloads;
    struct cc_predictor predictor = {0};
    struct cc_setting setting;
    struct cc_prediction step;
    cc_train_setting(t, link, &setting);
    CC_TRY(cc_step_payloads_make(t->net, &floats, &floats, NULL, &payloads, e));
    const int status = cc_predict(&predictor, &setting, &payloads, &step, e);
    *out = status == CC_OK ? step.comm_s : (double)NAN;
    cc_step_payloads_free(&payloads);
    cc_predictor_free(&predictor);
    return status;
}

/* Steps whose times the evaluations have: those of ranks, or by simulated clocks, which codecs take
 * no time of. */
static void timed_steps(const struct cc_train *t, const struct cc_training_result *of,
                        struct cc_train_step *out)
{
    const bool ranks = t->options.on != CC_TRAIN_LOCAL;
    double before_s = 0;
    size_t step = 0;
    for (size_t i = 0; i < of->evals; i++) {
        const struct cc_evaluation *v = &of->eval[i];
        const double compute_s = ranks ? v->compute_s + v->update_s : t->options.compute_s;
        const double codec_s = v->encode_s + v->hop_s + v->server_s + v->decode_s;
        const double time_s = ranks ? v->wall_s : v->clock_s;
        const double step_s = (time_s - before_s) / (double)(v->step - step);
        out[i] =
            (struct cc_train_step){.compute_s = compute_s,
                                   .codec_s = ranks ? codec_s : NAN,
                                   .comm_s = fmax(0, step_s - compute_s - (ranks ? codec_s : 0)),
                                   .step_s = step_s,
                                   .time_s = time_s};
        before_s = time_s;
        step = v->step;
    }
}

static void close_parts(struct part *part, size_t parts)
{
    for (size_t i = 0; i < parts && part != NULL; i++) {
        cc_step_payloads_free(&part[i].sizes);
        cc_predictor_free(&part[i].predictor);
        cc_net_free(part[i].own);
    }
    free(part);
}

static int open_part(const struct cc_train *t, const struct cc_message *m, struct part *out,
                     struct cc_error *e)
{
    CC_TRY(
        cc_net_of(t->net->name, t->net->tensors + m->first, m->last + 1 - m->first, &out->own, e));
    out->net = out->own;
    /* The bytes of all parts come to those of all steps. */
    out->share =
        (double)t->options.training.local.parts * (double)out->net->values / (double)t->net->values;
    return CC_OK;
}

/* Close them also after an error. With local steps raw tensors are sent as seldom as the others. */
static int open_parts(const struct cc_train *t, size_t variant, struct part **out, size_t *parts,
                      struct cc_error *e)
{
    const struct cc_training_config *c = &t->options.training;
    const struct cc_spec *spec = cc_train_spec(t, variant);
    const size_t every = cc_train_counted_as_one(&t->options);
    const struct cc_codec_model model = codec_model(spec, every);
    const struct cc_codec_model floats = codec_model(t->raw, every);
    *parts = c->local.parts > 1 ? c->local.parts : 1;
    CC_TRY(CC_NEW(*out, *parts, e));
    for (size_t i = 0; i < *parts; i++) {
        struct part *p = &(*out)[i];
        *p = (struct part){.net = t->net,
                           .raw = c->local.steps > 0 ? NULL : t->is_raw,
                           .share = 1,
                           .pair = cc_pair_cost(spec->scheme, spec->params)};
        if (*parts > 1)
            CC_TRY(open_part(t, &c->message[i], p, e));
        CC_TRY(cc_step_payloads_make(p->net, &model, &floats, p->raw, &p->sizes, e));
    }
    return CC_OK;
}

/* The mean over the parts. */
static int predict_parts(const struct cc_train *t, struct part *part, size_t parts,
                         const struct cc_setting *setting, size_t from,
                         const struct cc_evaluation *v, struct cc_train_step *out,
                         struct cc_error *e)
{
    struct cc_train_step step;
    *out = (struct cc_train_step){.compute_s = 0};
    for (size_t i = 0; i < parts; i++) {
        CC_TRY(predict(t, &part[i], setting, from, v, &step, e));
        out->compute_s += step.compute_s / (double)parts;
        out->codec_s += step.codec_s / (double)parts;
        out->comm_s += step.comm_s / (double)parts;
        out->step_s += step.step_s / (double)parts;
    }
    return CC_OK;
}

int cc_train_steps(const struct cc_train *t, size_t variant, const struct cc_training_result *of,
                   const struct cc_link *link, struct cc_train_step *out, struct cc_error *e)
{
    struct part *part = NULL;
    size_t parts = 0, step = 0;
    struct cc_setting setting;
    double time_s = 0;
    int status = CC_OK;
    if (t->options.on != CC_TRAIN_LOCAL ||
        (cc_train_consistency(t, variant) != CC_BULK && !isnan(t->options.compute_s))) {
        timed_steps(t, of, out);
        return CC_OK;
    }
    if (link != NULL) {
        cc_train_setting(t, link, &setting);
        CC_TRY_OUT(open_parts(t, variant, &part, &parts, e));
        /* The scheme `pairs` sends a gradient's non-zeros as they are. */
        if (of->unions.points > 0 && strcmp(cc_train_spec(t, variant)->name, "pairs") == 0) {
            setting.cluster.overlap = CC_UNION_MEASURED;
            part[0].sizes.unions = of->unions;
        }
    }
    for (size_t i = 0; i < of->evals; i++) {
        const struct cc_evaluation *v = &of->eval[i];
        if (link == NULL) {
            out[i] = (struct cc_train_step){NAN, NAN, NAN, NAN, v->wall_s};
            continue;
        }
        CC_TRY_OUT(predict_parts(t, part, parts, &setting, step, v, &out[i], e));
        time_s += (double)(v->step - step) * out[i].step_s;
        step = v->step;
        out[i].time_s = time_s;
    }
out:
    close_parts(part, parts);
    return status;
}
