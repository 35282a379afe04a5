/* Sharded states in a forecast: the payloads of parameters, and the columns of a step's collectives
 * and of a worker's states. */
#include <math.h>

#include "cmd/model/forecast.h"
#include "models/sharded.h"

int cc_forecast_weights_load(const struct cc_forecast *f, const struct cc_spec_list *spec,
                             struct cc_forecast_weights *out, struct cc_error *e)
{
    struct cc_profile_args args = f->profile_args;
    args.remeasure = false;
    args.pull_path = NULL;
    CC_TRY_IN(cc_codec_models_open(&args, spec, &out->models, e), e, "--weight-scheme");
    return cc_step_payloads_make(f->cluster.net, &out->models.codec_model[0],
                                 &f->codec_models.plain, f->cluster.raw, &out->payloads, e);
}

void cc_forecast_weights_free(struct cc_forecast_weights *w)
{
    cc_step_payloads_free(&w->payloads);
    cc_codec_models_free(&w->models);
    cc_spec_list_free(&w->spec);
}

int cc_forecast_load_weights(struct cc_forecast *f, struct cc_error *e)
{
    const struct cc_spec_list *spec = &f->cluster.sharded.weights;
    if (spec->count == 0)
        return CC_OK;
    CC_TRY(cc_forecast_weights_load(f, spec, &f->weights, e));
    f->cluster.setting.sharded.weights = &f->weights.payloads;
    return CC_OK;
}

/* float32 values of residuals that the scheme's codecs keep for each gradient. */
static double residuals_of(const struct cc_spec *spec, const struct cc_net *net)
{
    const struct cc_codec codec = {
        .scheme = spec->scheme, .params = spec->params, .shape = cc_shape_flat(net->largest)};
    return cc_scheme_runs(spec->scheme)
               ? (double)cc_state_bytes(&codec) / sizeof(float) / (double)net->largest
               : 0;
}

/* Seconds of the collectives of a time and an operation; NaN: there is none. */
static double seconds_of(const struct cc_setting *s, const double *collective_s,
                         enum cc_operation op, enum cc_when when)
{
    const struct cc_collectives *c = &s->sharded.collectives;
    double sum = NAN;
    for (int i = 0; i < c->count; i++)
        if (c->item[i].op == op && c->item[i].when == when)
            sum = (isnan(sum) ? 0 : sum) + collective_s[i];
    return sum;
}

int cc_forecast_sharded_columns(const struct cc_forecast *f, struct cc_record *r, size_t row,
                                size_t scheme, const struct cc_setting *s,
                                const double *collective_s, struct cc_error *e)
{
    const int micro_steps = cc_sharded_micro_steps(s);
    if (micro_steps > 1)
        cc_record_number(r, row, CC_KEY(micro_steps), micro_steps);
    if (f->cluster.sharded.tensor_parallel > 1)
        cc_record_number(r, row, CC_KEY(tp), f->cluster.sharded.tensor_parallel);
    if (s->sharded.collectives.count == 0)
        return CC_OK;
    const double residuals = residuals_of(f->schemes->item[scheme], s->net);
    const struct cc_memory states = cc_sharded_states(s, CC_MOMENTS_ADAM, residuals);
    const struct cc_number_column all[] = {
        {CC_KEY(gather_update_s), seconds_of(s, collective_s, CC_ALL_GATHER, CC_WHEN_UPDATED)},
        {CC_KEY(gather_forward_s), seconds_of(s, collective_s, CC_ALL_GATHER, CC_WHEN_FORWARD)},
        {CC_KEY(gather_backward_s), seconds_of(s, collective_s, CC_ALL_GATHER, CC_WHEN_BACKWARD)},
        {CC_KEY(scatter_s), seconds_of(s, collective_s, CC_REDUCE_SCATTER, CC_WHEN_COMPUTED)},
        {CC_KEY(allreduce_s), seconds_of(s, collective_s, CC_ALLREDUCE, CC_WHEN_COMPUTED)},
        {CC_KEY(states_bytes), round(states.total)},
        {CC_KEY(states_parameters_bytes), round(states.parameters)},
        {CC_KEY(states_gradients_bytes), round(states.gradients)},
        {CC_KEY(states_optimizer_bytes), round(states.optimizer)},
        {CC_KEY(states_residuals_bytes), round(states.residuals)}};
    const char *weights = cc_sharded_weight_name(&f->cluster.sharded);
    cc_record_numbers(r, row, all, sizeof all / sizeof all[0]);
    return cc_record_text(r, row, CC_KEY(weight_scheme),
                          weights != NULL ? weights : cc_element_names[s->dtype], e);
}
