/* Codec times of a profile on the simulated clock, as `sim` takes them: --codec-time profile. */
#include <math.h>
#include <stdlib.h>

#include "cmd/train/plan/plan.h"
#include "cmd/train/times/times.h"
#include "core/memory.h"

int cc_train_costs_open(struct cc_train *t, struct cc_error *e)
{
    const struct cc_train_options *o = &t->options;
    struct cc_progress progress;
    const struct cc_profile_args profile = {.path = o->profile,
                                            .quiet = t->args->quiet,
                                            .largest = t->net->largest,
                                            .progress = &progress,
                                            .share = 1};
    const struct cc_spec_list *const lists[] = {&t->args->schemes, &o->pull, &o->weights};
    size_t all = 0;
    if (o->on != CC_TRAIN_SIM || o->sim.options.codec_time != CC_CODEC_PROFILE)
        return CC_OK;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        all += lists[i]->count;
    CC_TRY(CC_NEW(t->timed.item, all, e));
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (size_t k = 0; k < lists[i]->count; k++)
            t->timed.item[t->timed.count++] = lists[i]->item[k];
    cc_progress_begin(&progress, t->args->quiet);
    const int status = cc_codec_models_open(&profile, &t->timed, &t->codecs, e);
    cc_progress_end(&progress);
    return status;
}

void cc_train_costs_free(struct cc_train *t)
{
    cc_codec_models_free(&t->codecs);
    free(t->timed.item); /* the schemes are others' */
}

static int make_payloads(const struct cc_train *t, const struct cc_spec *spec,
                         struct cc_step_payloads *out, struct cc_error *e)
{
    const struct cc_codec_model *model = &t->codecs.raw;
    for (size_t i = 0; i < t->timed.count; i++)
        if (t->timed.item[i] == spec)
            model = &t->codecs.codec_model[i];
    return cc_step_payloads_make(t->net, model, &t->codecs.raw, t->is_raw, out, e);
}

int cc_train_costs(const struct cc_train *t, const struct cc_training_config *c,
                   const struct cc_link *link, struct cc_job *job, struct cc_error *e)
{
    struct cc_step_payloads push = {0}, pull = {0};
    struct cc_setting setting;
    int status = CC_OK;
    if (t->timed.count == 0)
        return CC_OK;
    CC_TRY_OUT(make_payloads(t, c->spec, &push, e));
    const bool shards = c->shards != CC_SHARDS_NONE;
    CC_TRY_OUT(make_payloads(t, shards ? t->options.weights.item[0] : c->pull, &pull, e));
    CC_TRY_OUT(CC_NEW(job->row->cost, job->tensors, e));
    for (size_t i = 0; i < job->tensors; i++)
        job->row->cost[i] = (struct cc_job_cost){.encode_s = push.each[i].push_encode_s,
                                                 .decode_s = push.each[i].push_decode_s,
                                                 .add_s = push.each[i].push_add_s,
                                                 .pull_encode_s = pull.each[i].pull_encode_s,
                                                 .pull_decode_s = pull.each[i].pull_decode_s};
    if (c->collectives.count > 0)
        CC_TRY_OUT(cc_experiment_job_weight_costs(&pull, job->row, e));
    cc_train_setting(t, link, &setting);
    job->merge_byte_s = setting.cluster.merge_byte_s;
    job->reduce_byte_s = link->reduce_byte_s > 0
                             ? link->reduce_byte_s
                             : cc_codec_models_reduce_byte_s(&t->codecs, (double)t->net->values);
out:
    cc_step_payloads_free(&push);
    cc_step_payloads_free(&pull);
    return status;
}
