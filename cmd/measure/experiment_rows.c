/* Measured rows: what the ranks report, and the model's answer to the same question beside it. */
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/measure/experiment.h"
#include "core/memory.h"

/* --- the model's answer --- */

/* The formulas, given what this very row measured: sizes, codec times, the compute time. */
static int predict(struct cc_experiment *plan, const struct cc_experiment_setting *s,
                   const struct cc_experiment_row *row, const struct cc_report_row *got,
                   struct cc_prediction *out, struct cc_error *e)
{
    struct cc_forecast *f = &plan->forecast;
    struct cc_setting setting = s->setting;
    struct cc_step_payloads payloads;
    const struct cc_measured m = {
        .push_bytes = got->push_bytes,
        .pull_bytes = got->pull_bytes,
        .push_head_bytes = got->push_head_bytes,
        .pull_head_bytes = got->pull_head_bytes,
        .tensor_push = got->tensors == setting.net->count ? got->tensor_bytes : NULL,
        .tensor_pull = got->tensors == setting.net->count && setting.exchange == CC_PS
                           ? got->tensor_pull_bytes
                           : NULL,
        .codec = {.encode_s = got->encode_s,
                  .hop_s = got->hop_s,
                  .server_s = got->server_s,
                  .decode_s = got->decode_s}};
    /* Of stragglers, the slowest's mean is not the mean; and of slow hosts the formula knows
     * nothing. */
    if (setting.timing.straggler == CC_STEADY && s->formula == CC_FORMULA_HOLDS)
        setting.timing.compute_s = got->compute_s;
    setting.timing.update_s = got->update_s;
    int status = cc_step_payloads_measured(setting.net, &f->payloads[row->scheme], f->cluster.raw,
                                           &m, &payloads, e);
    if (status != CC_OK)
        return status;
    status = cc_predict(&f->predictor, &setting, &payloads, out, e);
    cc_step_payloads_free(&payloads);
    return status;
}

/* --- what was measured --- */

struct times {
    double step_s, sd; /* sd: over whole periods; NaN of a single one */
    double codec_s, comm_s;
};

static int times_of(const struct cc_experiment_row *row, const struct cc_report_row *got,
                    struct times *out, struct cc_error *e)
{
    size_t periods = got->steps / row->period;
    double *mean = cc_alloc0((periods + 1) * sizeof *mean, e);
    if (mean == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < periods * row->period; i++)
        mean[i / row->period] += got->step_s[i] / (double)row->period;
    *out = (struct times){.step_s = gsl_stats_mean(mean, 1, periods),
                          .sd = periods > 1 ? gsl_stats_sd(mean, 1, periods) : NAN,
                          .codec_s = got->encode_s + got->hop_s + got->server_s + got->decode_s};
    out->comm_s = fmax(0, out->step_s - got->compute_s - got->update_s - out->codec_s);
    free(mean);
    return CC_OK;
}

/* The columns of the step and its parts. */
static void step_numbers(struct cc_experiment *p, size_t at, const struct cc_setting *s,
                         const struct cc_report_row *got, const struct times *t)
{
    double values = (double)s->net->values, bits = 8 * got->push_bytes / values;
    double computed = got->compute_s + got->update_s;
    const struct cc_number_column all[] = {
        {"payload_bytes", got->push_bytes},
        {"bits_per_value", bits},
        {"ratio", 32 / bits},
        {"bits_push", bits},
        {"bits_pull", s->exchange == CC_PS ? 8 * got->pull_bytes / values : NAN},
        {"compute_s", computed},
        {"codec_s", t->codec_s},
        {"comm_s", t->comm_s},
        {"step_s", t->step_s},
        {"step_s_sd", t->sd},
        {"speedup", p->latest_fp32_s / t->step_s},
        {"scaling", cc_forecast_scaling(s->cluster.workers, computed, t->step_s)},
        {"encode_s", got->encode_s},
        {"hop_codec_s", got->hop_s},
        {"server_codec_s", got->server_s},
        {"decode_s", got->decode_s},
        {"wait_s", got->wait_s},
        {"messages", got->messages}};
    cc_forecast_numbers(p->record, at, all, sizeof all / sizeof all[0]);
}

/* The columns of the model's answer; what takes longest it knows of its own network only. */
static int model_columns(struct cc_experiment *p, size_t at, const struct cc_experiment_setting *s,
                         const struct cc_experiment_row *row, const struct cc_measured_row *m,
                         struct cc_error *e)
{
    const struct cc_prediction *model = &m->model;
    const struct cc_number_column all[] = {{"step_s_model", model->step_s},
                                           {"model_error", (m->step_s - model->step_s) / m->step_s},
                                           {"step_s_forecast", row->forecast.step_s}};
    if (s->formula == CC_NO_FORMULA)
        return CC_OK;
    cc_forecast_numbers(p->record, at, all, sizeof all / sizeof all[0]);
    if (s->formula != CC_FORMULA_HOLDS)
        return CC_OK;
    return cc_record_text(p->record, at, "bottleneck", cc_bottleneck_names[model->bottleneck], e);
}

/* A new row with the setting's columns. */
static size_t new_row(struct cc_experiment *p, const struct cc_experiment_setting *s,
                      const struct cc_experiment_row *row, struct cc_error *e)
{
    size_t at = cc_forecast_row(&p->forecast, row->scheme, &s->setting, NULL, 0, e);
    if (at == SIZE_MAX)
        return at;
    cc_record_number(p->record, at, "warmup", (double)row->warmup);
    cc_record_number(p->record, at, "steps", (double)row->steps);
    if (s->formula == CC_NO_FORMULA) {
        cc_record_number(p->record, at, "bw_bps", NAN);
        cc_record_number(p->record, at, "latency_s", NAN);
    }
    return at;
}

int cc_experiment_add_row(struct cc_experiment *p, const struct cc_experiment_setting *s,
                          size_t row, const struct cc_report_row *got, struct cc_measured_row *out,
                          struct cc_error *e)
{
    const struct cc_experiment_row *planned = &s->row[row];
    const char *scheme = cc_experiment_scheme(p, planned);
    struct times t;
    *out = (struct cc_measured_row){.model = {.step_s = NAN, .wire_bytes = NAN}};
    if (got->steps < planned->period)
        return cc_fail(e, "%s: the ranks report %zu steps instead of %zu", scheme, got->steps,
                       planned->steps);
    int status = times_of(planned, got, &t, e);
    if (status == CC_OK && s->formula != CC_NO_FORMULA)
        status = predict(p, s, planned, got, &out->model, e);
    if (status != CC_OK)
        return status;
    if (strcmp(scheme, CC_RAW_SCHEME) == 0)
        p->latest_fp32_s = t.step_s;
    out->step_s = t.step_s;
    out->at = new_row(p, s, planned, e);
    if (out->at == SIZE_MAX)
        return CC_FAIL;
    step_numbers(p, out->at, &s->setting, got, &t);
    return model_columns(p, out->at, s, planned, out, e);
}

size_t cc_experiment_dry_row(struct cc_experiment *p, const struct cc_experiment_setting *s,
                             const struct cc_experiment_row *row, struct cc_error *e)
{
    const struct cc_prediction *f = &row->forecast;
    size_t at = new_row(p, s, row, e);
    double model = s->formula != CC_NO_FORMULA ? f->step_s : NAN;
    const struct cc_number_column all[] = {
        {"payload_bytes", f->payload_bytes},
        {"bits_per_value", f->bits_push},
        {"ratio", 32 / f->bits_push},
        {"bits_push", f->bits_push},
        {"bits_pull", s->setting.exchange == CC_PS ? f->bits_pull : NAN},
        {"step_s_model", model},
        {"step_s_forecast", model}};
    if (at != SIZE_MAX)
        cc_forecast_numbers(p->record, at, all, sizeof all / sizeof all[0]);
    return at;
}
