/* Rows of validate: the answers of model, sim and run side by side, and the diagnosis of their
 * differences.
 *
 * For the diagnosis, the formulas are asked again under other assumptions: without token buckets,
 * and with the profile's codec times. The differences of these answers tell how much of a
 * disagreement each assumption explains. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/validate/validate.h"
#include "core/memory.h"
#include "results/machine_info.h"

/* The row's answer that sizes and codec times are taken from: the run's, or else the simulation's.
 */
static const struct cc_measured_row *best_of(const struct validated *row)
{
    return row->run != NULL ? row->run : row->sim;
}

/* --- the formulas under other assumptions --- */

/* Only differences between these are used. */
struct variants {
    struct cc_prediction as_is;
    double without_burst_s; /* step without token buckets */
    double profiled_s;      /* step with the profile's codec times */
};

static int predict_variants(struct validate *v, const struct validated *row, struct variants *out,
                            struct cc_error *e)
{
    const struct cc_measured_row *from = best_of(row);
    const struct cc_prediction *forecast = &row->row->forecast;
    struct cc_forecast *f = &v->input.forecast;
    const size_t scheme = row->row->scheme;
    const struct cc_step_payloads *profiled = &f->payloads[scheme];
    struct cc_setting s = row->setting->setting;
    struct cc_prediction other;
    if (!cc_experiment_has_formula(row->setting)) {
        *out = (struct variants){{.latency_s = NAN, .transfer_s = NAN, .rounds = NAN}, NAN, NAN};
        return CC_OK;
    }
    struct cc_measured m = {
        .push_bytes = from->push_bytes,
        .pull_bytes = cc_exchange_has(s.exchange, CC_X_SERVERS) ? from->pull_bytes : 0,
        .encoded_bytes = cc_exchange_encoded_bytes(s.exchange, &profiled->total,
                                                   profiled->reduction, &s.cluster) /
                         cc_exchange_encoded_share(s.exchange, profiled->reduction, &s.cluster),
        .codec = from->codec};
    cc_experiment_use_host(from->waking_s, from->message_s, &s);
    CC_TRY(cc_experiment_predict(f, scheme, &s, &m, &out->as_is, e));
    s.link.burst_bytes = 0;
    CC_TRY(cc_experiment_predict(f, scheme, &s, &m, &other, e));
    out->without_burst_s = other.step_s;
    s.link.burst_bytes = row->setting->setting.link.burst_bytes;
    m.codec =
        (struct cc_codec_times){forecast->encode_s, forecast->hop_codec_s + forecast->reduce_s,
                                forecast->server_codec_s, forecast->decode_s};
    CC_TRY(cc_experiment_predict(f, scheme, &s, &m, &other, e));
    out->profiled_s = other.step_s;
    return CC_OK;
}

/* --- the comparison --- */

/* The time that token buckets save in a step of the run; SimGrid has none. */
static double saved(const struct validated *row, const struct variants *v)
{
    const double burst_s = v->without_burst_s - v->as_is.step_s;
    return row->run != NULL && isfinite(burst_s) ? burst_s : 0;
}

/* An answer, or NaNs if there is none. */
static const struct cc_measured_row *known(const struct cc_measured_row *m)
{
    static const struct cc_measured_row unknown = {.push_bytes = NAN,
                                                   .compute_s = NAN,
                                                   .codec_s = NAN,
                                                   .step_s = NAN,
                                                   .step_s_error = NAN,
                                                   .step_s_q25 = NAN,
                                                   .core_wait_s = NAN,
                                                   .core_wait_all_s = NAN,
                                                   .other_cores = NAN,
                                                   .wire_bytes = NAN,
                                                   .wire_bytes_model = NAN,
                                                   .wire_bytes_all = NAN};
    return m != NULL ? m : &unknown;
}

/* Payload of a step, both ways. */
static double payload(const struct cc_measured_row *m)
{
    return m->push_bytes + (isfinite(m->pull_bytes) ? m->pull_bytes : 0);
}

static int make_comparison(struct validate *v, const struct validated *row, struct cc_comparison *c,
                           struct cc_error *e)
{
    const struct cc_measured_row *from = best_of(row);
    const struct cc_measured_row *run = known(row->run), *sim = known(row->sim);
    const struct cc_setting *s = &row->setting->setting;
    const struct cc_prediction *forecast = &row->row->forecast;
    const bool formula = cc_experiment_has_formula(row->setting);
    const double values = (double)s->net->values;
    struct variants variants = {.profiled_s = 0};
    struct cc_machine_info host;
    cc_machine_info_read(&host);
    CC_TRY(predict_variants(v, row, &variants, e));
    *c = (struct cc_comparison){
        .tolerance = v->options.tolerance,
        .compute_s = from->compute_s,
        .sim_compute_s = sim->compute_s,
        .model_s = from->model.step_s,
        .sim_s = sim->step_s - saved(row, &variants),
        .run_s = run->step_s,
        .error_s = run->step_s_error,
        .run_q25_s = run->step_s_q25,
        .core_wait_s = run->core_wait_s,
        .core_wait_all_s = run->core_wait_all_s,
        .other_cores = run->other_cores,
        .wire_bytes = run->wire_bytes,
        .wire_should = run->wire_bytes_model,
        .all_bytes = run->wire_bytes_all,
        .lab = v->run.options.hosts.lab,
        .cores = host.cores,
        .ranks_per_core = row->setting->ranks_per_core,
        .forecast_s = formula ? forecast->step_s : NAN,
        .exchange = s->exchange,
        .mode = s->timing.mode,
        .stragglers = s->timing.straggler != CC_STEADY,
        .elsewhere = v->sim.experiment.setting[0].formula != CC_FORMULA_HOLDS,
        .tcp = v->sim.options.fidelity == CC_FIDELITY_TCP,
        .latency_s = variants.as_is.latency_s,
        .transfer_s = variants.as_is.transfer_s,
        .rounds = variants.as_is.rounds,
        .burst_s = variants.without_burst_s - variants.as_is.step_s,
        .codec_s = from->codec_s,
        .forecast_codec_s = forecast->codec_s,
        .bytes = payload(from),
        .forecast_bytes = values * (forecast->bits_push + forecast->bits_pull) / 8,
        .sim_bytes = payload(sim)};
    c->resized_s = c->model_s - (variants.as_is.step_s - variants.profiled_s);
    return CC_OK;
}

/* --- columns --- */

static void run_columns(const struct validate *v, size_t at, const struct cc_measured_row *m)
{
    const bool local = m->setting->setting.timing.local.steps > 0;
    const struct cc_number_column all[] = {
        {CC_KEY(step_s), m->step_s},
        {CC_KEY(cu), local ? cc_step_utilization(m->compute_s, m->step_s) : NAN},
        {CC_KEY(step_s_sd), m->step_s_sd},
        {CC_KEY(step_s_q25), m->step_s_q25},
        {CC_KEY(step_s_q75), m->step_s_q75},
        {CC_KEY(speedup), m->speedup},
        {CC_KEY(burst_bytes), m->setting->setting.link.burst_bytes},
        {CC_KEY(wire_bytes), round(m->wire_bytes)},
        {CC_KEY(wire_bytes_model), round(m->wire_bytes_model)},
        {CC_KEY(burst_share), m->burst_share},
        {CC_KEY(core_wait_s), m->core_wait_s},
        {CC_KEY(other_cores), m->other_cores}};
    cc_record_numbers(v->record, at, all, sizeof all / sizeof all[0]);
    cc_run_put_links(&v->run, m->setting, v->record, at);
    if (v->run.options.hosts.lab)
        cc_record_bool(v->record, at, CC_KEY(oversubscribed), m->setting->oversubscribed);
}

static void difference_columns(const struct validate *v, size_t at, const struct validated *row,
                               const struct cc_comparison *c)
{
    const struct cc_diagnosis *diagnosis = &row->diagnosis;
    const bool local = row->setting->setting.timing.local.steps > 0;
    const struct cc_number_column all[] = {
        {CC_KEY(cu_model), local ? cc_step_utilization(c->compute_s, c->model_s) : NAN},
        {CC_KEY(cu_sim), local ? cc_step_utilization(c->sim_compute_s, c->sim_s) : NAN},
        {CC_KEY(step_s_forecast), c->forecast_s},
        {CC_KEY(step_s_sim), c->sim_s},
        {CC_KEY(burst_saved_s), row->run != NULL ? c->burst_s : NAN},
        {CC_KEY(model_error), diagnosis->off.model_run},
        {CC_KEY(sim_error), diagnosis->off.sim_run},
        {CC_KEY(model_sim), diagnosis->off.model_sim},
        {CC_KEY(model_error_q25), diagnosis->quartile.model_run},
        {CC_KEY(sim_error_q25), diagnosis->quartile.sim_run},
        {CC_KEY(added_s), fmax(0, (isfinite(c->run_s) ? c->run_s : c->sim_s) - c->compute_s)},
        {CC_KEY(added_model_error), diagnosis->added.model_run},
        {CC_KEY(added_sim_error), diagnosis->added.sim_run},
        {CC_KEY(added_model_sim), diagnosis->added.model_sim},
        {CC_KEY(forecast_error), diagnosis->off.forecast},
        {CC_KEY(codec_s_forecast), c->forecast_codec_s},
        {CC_KEY(codec_s_sim), known(row->sim)->codec_s},
        {CC_KEY(payload_bytes_forecast), row->row->forecast.payload_bytes},
        {CC_KEY(payload_bytes_sim), known(row->sim)->push_bytes}};
    cc_record_numbers(v->record, at, all, sizeof all / sizeof all[0]);
    if (diagnosis->answers > 1)
        cc_record_bool(v->record, at, CC_KEY(agree), diagnosis->agree);
    cc_record_number(v->record, at, CC_KEY(tolerance), v->options.tolerance);
}

static int text_columns(const struct validate *v, size_t at, const struct cc_diagnosis *diagnosis,
                        struct cc_error *e)
{
    const struct cc_cause *first = &diagnosis->cause[0], *second = &diagnosis->cause[1];
    char suspects[80] = "", why[840] = "";
    cc_list_add(suspects, sizeof suspects, ", ", "%s", cc_cause_names[first->kind]);
    cc_list_add(why, sizeof why, "; ", "%s", first->why);
    if (second->kind != CC_CAUSE_NOTHING && second->kind != first->kind)
        cc_list_add(suspects, sizeof suspects, ", ", "%s", cc_cause_names[second->kind]);
    if (second->kind != CC_CAUSE_NOTHING)
        cc_list_add(why, sizeof why, "; ", "%s", second->why);
    const struct cc_text_column all[] = {
        {CC_KEY(fidelity), cc_fidelity_names[v->sim.options.fidelity]},
        {CC_KEY(suspect), suspects},
        {CC_KEY(why), why},
        {CC_KEY(forecast_suspect), cc_cause_names[diagnosis->forecast.kind]},
        {CC_KEY(forecast_why), diagnosis->forecast.why}};
    return cc_record_texts(v->record, at, all, sizeof all / sizeof all[0], e);
}

static int add_row(struct validate *v, struct validated *row, struct cc_error *e)
{
    struct cc_comparison c;
    CC_TRY(make_comparison(v, row, &c, e));
    cc_diagnose(&c, &row->diagnosis);
    size_t at;
    CC_TRY(cc_experiment_add_row(&v->run.experiment, v->record, row->setting, row->row, &at, e));
    cc_experiment_print_parts(v->record, at, best_of(row));
    v->record->rows[at].origin = row->run != NULL ? CC_ORIGIN_MEASURED : CC_ORIGIN_SIMULATED;
    if (row->run != NULL)
        run_columns(v, at, row->run);
    difference_columns(v, at, row, &c);
    return text_columns(v, at, &row->diagnosis, e);
}

int cc_validate_rows(struct validate *v, struct cc_error *e)
{
    const struct cc_experiment *run = &v->run.experiment, *sim = &v->sim.experiment;
    const size_t ran = run->measured_rows, simulated = sim->measured_rows;
    const size_t rows = cc_larger(ran, simulated);
    CC_TRY(CC_NEW(v->row, rows, e));
    while (v->rows < rows) {
        struct validated *row = &v->row[v->rows];
        row->run = v->rows < ran ? &run->measured[v->rows] : NULL;
        row->sim = v->rows < simulated ? &sim->measured[v->rows] : NULL;
        row->setting = best_of(row)->setting;
        row->row = best_of(row)->row;
        CC_TRY(add_row(v, row, e));
        v->rows++;
    }
    return CC_OK;
}
