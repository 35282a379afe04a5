/* Time on a network. Bulk-synchronous steps compute the same whatever the network, so one training
 * gives the time on any: a step's time follows from its payloads' sizes and from codec and compute
 * times by the formulas of `model`. They are linear in the sizes, so means over an interval do. */
#include <math.h>

#include "cmd/train/train.h"
#include "netsim/inprocess/training_job.h"

static struct cc_codec_model codec_model(const struct cc_spec *spec)
{
    struct cc_codec_model m =
        cc_codec_model_given(spec->name, cc_reduction(spec->scheme, spec->params), 32, 0, 0, 0);
    m.period = cc_period(spec->scheme, spec->params);
    m.sum_rounds = cc_sum_rounds(spec->scheme, spec->params);
    m.verbatim = (spec->scheme->flags & CC_VERBATIM) != 0;
    return m;
}

void cc_train_setting(const struct cc_train *t, const struct cc_link *link, struct cc_setting *out)
{
    const struct cc_training_config *c = &t->options.training;
    cc_setting_defaults(t->net, out);
    out->link = *link;
    out->exchange = c->exchange;
    out->cluster.workers = (int)c->task.workers;
    out->cluster.servers = c->servers;
    out->cluster.dense_bits = c->dense_bits;
    out->timing.mode = c->mode;
    if (c->mode == CC_PIPE)
        out->timing.depth = (int)c->depth;
    out->timing.hidden_share = t->options.hidden_share;
    out->cluster.via = c->via;
    out->placement = t->options.placement;
    out->timing.fuse_bytes = t->options.fuse_bytes;
    out->timing.fuse_gradients = t->options.fuse_bytes >= 0;
    out->timing.straggler = t->options.straggler;
    out->timing.spread = t->options.spread;
    out->timing.seed = t->options.seed;
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
    *out = (struct cc_job_row){.choices = 0};
    if (!cc_exchange_has(c->exchange, CC_X_CHOOSES))
        return CC_OK;
    CC_TRY(cc_train_link_of_choices(t, &link, e));
    cc_train_setting(t, &link, &setting);
    int status = cc_training_job(c, t->net->tensors, t->net->count, &job, e);
    if (status == CC_OK)
        status = cc_experiment_job_choices(&setting, NULL, &job, job.row, e);
    if (status == CC_OK) {
        out->choice = job.row->choice;
        out->choices = job.row->choices;
        job.row->choice = NULL;
        job.row->choices = 0;
    }
    cc_job_free(&job);
    return status;
}

/* The step of one interval, from step `from` up to the evaluation v: a mean where some of its steps
 * precede a pipeline. */
static int predict(const struct cc_train *t, const struct cc_step_payloads *sizes,
                   const struct cc_setting *setting, size_t from, const struct cc_evaluation *v,
                   struct cc_predictor *p, struct cc_train_step *out, struct cc_error *e)
{
    struct cc_setting s = *setting;
    struct cc_step_payloads payloads;
    struct cc_prediction step, before;
    const double share = cc_train_sync_share(t, from, v->step);
    const struct cc_measured m = {.push_bytes = v->push_bytes,
                                  .pull_bytes = v->pull_bytes,
                                  .codec = {.encode_s = v->encode_s,
                                            .hop_s = v->hop_s,
                                            .server_s = v->server_s,
                                            .decode_s = v->decode_s}};
    const bool given = !isnan(t->options.compute_s);
    s.timing.compute_s = given ? t->options.compute_s : v->compute_s;
    s.timing.update_s = given ? 0 : v->update_s;
    CC_TRY(cc_step_payloads_measured(t->net, sizes, t->is_raw, &m, &payloads, e));
    int status = cc_predict(p, &s, &payloads, &step, e);
    before = step;
    if (status == CC_OK && share > 0) {
        s.timing.mode = CC_SEQUENTIAL;
        status = cc_predict(p, &s, &payloads, &before, e);
    }
    cc_step_payloads_free(&payloads);
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
    const struct cc_codec_model floats = codec_model(t->raw);
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

/* The steps of ranks, whose time each evaluation has. */
static void measured_steps(const struct cc_training_result *of, struct cc_train_step *out)
{
    for (size_t i = 0; i < of->evals; i++) {
        const struct cc_evaluation *v = &of->eval[i];
        const double steps = (double)(v->step - (i > 0 ? v[-1].step : 0));
        const double step_s = (v->wall_s - (i > 0 ? v[-1].wall_s : 0)) / steps;
        const double compute_s = v->compute_s + v->update_s;
        const double codec_s = v->encode_s + v->hop_s + v->server_s + v->decode_s;
        out[i] = (struct cc_train_step){.compute_s = compute_s,
                                        .codec_s = codec_s,
                                        .comm_s = fmax(0, step_s - compute_s - codec_s),
                                        .step_s = step_s,
                                        .time_s = v->wall_s};
    }
}

int cc_train_steps(const struct cc_train *t, size_t variant, const struct cc_training_result *of,
                   const struct cc_link *link, struct cc_train_step *out, struct cc_error *e)
{
    const struct cc_codec_model model = codec_model(cc_train_spec(t, variant));
    const struct cc_codec_model floats = codec_model(t->raw);
    struct cc_step_payloads sizes = {0};
    struct cc_predictor predictor = {0};
    struct cc_setting setting;
    double time_s = 0;
    size_t step = 0;
    int status = CC_OK;
    if (t->options.on != CC_TRAIN_LOCAL) {
        measured_steps(of, out);
        return CC_OK;
    }
    if (link != NULL) {
        cc_train_setting(t, link, &setting);
        CC_TRY_OUT(cc_step_payloads_make(t->net, &model, &floats, t->is_raw, &sizes, e));
    }
    for (size_t i = 0; i < of->evals; i++) {
        const struct cc_evaluation *v = &of->eval[i];
        if (link == NULL) {
            out[i] = (struct cc_train_step){NAN, NAN, NAN, NAN, v->wall_s};
            continue;
        }
        CC_TRY_OUT(predict(t, &sizes, &setting, step, v, &predictor, &out[i], e));
        time_s += (double)(v->step - step) * out[i].step_s;
        step = v->step;
        out[i].time_s = time_s;
    }
out:
    cc_step_payloads_free(&sizes);
    cc_predictor_free(&predictor);
    return status;
}
