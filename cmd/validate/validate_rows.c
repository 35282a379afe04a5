/* Rows of validate: the answers of model, sim and run joined, and judged. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/validate/validate.h"
#include "core/memory.h"
#include "results/machine_info.h"

/* A number of row `at` of what run or sim found; NAN where there is no such row. */
static double found(const struct cc_record *r, size_t at, const char *key)
{
    return at < r->row_count ? cc_experiment_number(r, at, key) : NAN;
}

/* --- what the formulas say beside step_s_model --- */

/* The formula's answer with other assumptions than step_s_model: only differences between those
 * below are used. */
struct asked {
    struct cc_prediction as_is;
    double without_burst_s; /* the step without token buckets, */
    double profiled_s;      /* and with the profile's codec times */
};

static int predict(struct validate *v, const struct validated *row, const struct cc_setting *s,
                   const struct cc_measured *m, struct cc_prediction *out, struct cc_error *e)
{
    struct cc_forecast *f = &v->run.plan.forecast;
    struct cc_step_payloads payloads;
    int status = cc_step_payloads_measured(s->net, &f->payloads[row->row->scheme], f->cluster.raw,
                                           m, &payloads, e);
    if (status != CC_OK)
        return status;
    status = cc_predict(&f->predictor, s, &payloads, out, e);
    cc_step_payloads_free(&payloads);
    return status;
}

/* `from`: who measured sizes and codec times, in its row `at`. */
static int ask(struct validate *v, const struct validated *row, const struct cc_record *from,
               size_t at, struct asked *out, struct cc_error *e)
{
    if (row->setting->formula == CC_NO_FORMULA) {
        *out = (struct asked){{.latency_s = NAN, .transfer_s = NAN, .rounds = NAN}, NAN, NAN};
        return CC_OK;
    }
    struct cc_setting s = row->setting->setting; /* without a run: the simulation's, no buckets */
    const struct cc_prediction *said = &row->row->forecast;
    struct cc_prediction other = {0};
    double values = (double)s.net->values, bits_pull = found(from, at, "bits_pull");
    struct cc_measured m = {.push_bytes = found(from, at, "payload_bytes"),
                            .pull_bytes = s.exchange == CC_PS ? values * bits_pull / 8 : 0,
                            .codec = {.encode_s = found(from, at, "encode_s"),
                                      .hop_s = found(from, at, "hop_codec_s"),
                                      .server_s = found(from, at, "server_codec_s"),
                                      .decode_s = found(from, at, "decode_s")}};
    int status = predict(v, row, &s, &m, &out->as_is, e);
    s.link.burst_bytes = 0;
    if (status == CC_OK)
        status = predict(v, row, &s, &m, &other, e);
    out->without_burst_s = other.step_s;
    s = row->setting->setting;
    m.codec = (struct cc_codec_times){said->encode_s, said->hop_codec_s + said->reduce_s,
                                      said->server_codec_s, said->decode_s};
    if (status == CC_OK)
        status = predict(v, row, &s, &m, &other, e);
    out->profiled_s = other.step_s;
    return status;
}

/* --- a row for the judge --- */

/* Payload both ways, of a step. */
static double payload(const struct cc_record *r, size_t at, double values)
{
    double pull = found(r, at, "bits_pull");
    return found(r, at, "payload_bytes") + (isfinite(pull) ? values * pull / 8 : 0);
}

/* What the run alone knows. */
static void add_run(const struct validate *v, const struct validated *row, size_t at,
                    struct cc_comparison *t)
{
    const struct cc_record *r = &v->measured;
    double periods = found(r, at, "steps") / (double)row->row->period;
    struct cc_machine_info host;
    cc_machine_info_read(&host);
    t->run_s = found(r, at, "step_s");
    t->error_s = found(r, at, "step_s_sd") / sqrt(periods);
    t->wire_bytes = found(r, at, "wire_bytes");
    t->wire_should = found(r, at, "wire_bytes_model");
    t->all_bytes = found(r, at, "wire_bytes_all");
    t->lab = v->run.options.hosts.lab;
    t->cores = host.cores;
    t->ranks_per_core = row->setting->ranks_per_core;
}

static int make_trial(struct validate *v, const struct validated *row, size_t at,
                      struct cc_comparison *t, struct cc_error *e)
{
    const struct cc_record *from = at < v->measured.row_count ? &v->measured : &v->simulated;
    const struct cc_setting *s = &row->setting->setting;
    const struct cc_prediction *said = &row->row->forecast;
    double values = (double)s->net->values;
    struct asked asked = {0};
    int status = ask(v, row, from, at, &asked, e);
    if (status != CC_OK)
        return status;
    *t = (struct cc_comparison){.tolerance = v->tolerance,
                                .model_s = found(from, at, "step_s_model"),
                                .sim_s = found(&v->simulated, at, "step_s"),
                                .forecast_s =
                                    row->setting->formula == CC_NO_FORMULA ? NAN : said->step_s,
                                .exchange = s->exchange,
                                .mode = s->timing.mode,
                                .stragglers = s->timing.straggler != CC_STEADY,
                                .elsewhere = v->sim.plan.setting[0].formula != CC_FORMULA_HOLDS,
                                .tcp = v->sim.options.fidelity == CC_FIDELITY_TCP,
                                .latency_s = asked.as_is.latency_s,
                                .transfer_s = asked.as_is.transfer_s,
                                .rounds = asked.as_is.rounds,
                                .burst_s = asked.without_burst_s - asked.as_is.step_s,
                                .codec_s = found(from, at, "codec_s"),
                                .forecast_codec_s = said->codec_s + said->reduce_s,
                                .bytes = payload(from, at, values),
                                .forecast_bytes = values * (said->bits_push + said->bits_pull) / 8,
                                .sim_bytes = payload(&v->simulated, at, values)};
    t->resized_s = t->model_s - (asked.as_is.step_s - asked.profiled_s);
    add_run(v, row, at, t);
    return CC_OK;
}

/* --- columns --- */

/* What run measured, or without it sim. */
static void copy_numbers(struct validate *v, size_t at, const struct cc_record *from)
{
    static const char *const keys[] = {"payload_bytes", "bits_per_value", "ratio",   "bits_push",
                                       "bits_pull",     "compute_s",      "codec_s", "comm_s",
                                       "step_s_model",  "warmup",         "steps"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        cc_record_number(v->record, at, keys[i], found(from, at, keys[i]));
}

static void run_columns(struct validate *v, size_t at)
{
    static const char *const keys[] = {"step_s",      "step_s_sd",  "speedup",
                                       "burst_bytes", "wire_bytes", "wire_bytes_model",
                                       "burst_share"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        cc_record_number(v->record, at, keys[i], found(&v->measured, at, keys[i]));
    if (at < v->measured.row_count && v->run.options.hosts.lab)
        cc_record_bool(v->record, at, "oversubscribed", v->row[at].setting->oversubscribed);
}

static void verdict_numbers(struct validate *v, size_t at, const struct cc_comparison *t,
                            const struct cc_diagnosis *diagnosis)
{
    const struct cc_number_column all[] = {
        {"step_s_forecast", t->forecast_s},
        {"step_s_sim", t->sim_s},
        {"model_error", diagnosis->off.model_run},
        {"sim_error", diagnosis->off.sim_run},
        {"model_sim", diagnosis->off.model_sim},
        {"forecast_error", diagnosis->off.forecast},
        {"codec_s_forecast", t->forecast_codec_s},
        {"codec_s_sim", found(&v->simulated, at, "codec_s")},
        {"payload_bytes_forecast", v->row[at].row->forecast.payload_bytes},
        {"payload_bytes_sim", found(&v->simulated, at, "payload_bytes")}};
    cc_forecast_numbers(v->record, at, all, sizeof all / sizeof all[0]);
    if (diagnosis->answers > 1)
        cc_record_bool(v->record, at, "agree", diagnosis->agree);
}

static int texts(struct validate *v, size_t at, const struct cc_diagnosis *diagnosis,
                 struct cc_error *e)
{
    const struct cc_cause *first = &diagnosis->cause[0], *second = &diagnosis->cause[1];
    bool both = second->suspect != CC_CAUSE_NOTHING;
    char suspects[80], why[600];
    (void)snprintf(suspects, sizeof suspects, "%s%s%s", cc_suspect_names[first->suspect],
                   both ? ", " : "", cc_suspect_names[second->suspect]);
    (void)snprintf(why, sizeof why, "%s%s%s", first->why, both ? "; " : "", second->why);
    const struct {
        const char *key, *text;
    } all[] = {{"fidelity", cc_fidelity_names[v->sim.options.fidelity]},
               {"suspect", suspects},
               {"why", why},
               {"forecast_suspect", cc_suspect_names[diagnosis->forecast.suspect]},
               {"forecast_why", diagnosis->forecast.why}};
    int status = CC_OK;
    for (size_t i = 0; i < sizeof all / sizeof all[0] && status == CC_OK; i++)
        if (all[i].text[0] != '\0')
            status = cc_record_text(v->record, at, all[i].key, all[i].text, e);
    return status;
}

static int one_row(struct validate *v, struct validated *row, size_t at, struct cc_error *e)
{
    struct cc_comparison t;
    int status = make_trial(v, row, at, &t, e);
    if (status != CC_OK)
        return status;
    cc_diagnose(&t, &row->diagnosis);
    if (cc_forecast_row(&v->run.plan.forecast, row->row->scheme, &row->setting->setting, NULL, 0,
                        e) != at)
        return CC_FAIL;
    if (row->setting->formula == CC_NO_FORMULA) {
        cc_record_number(v->record, at, "bw_bps", NAN);
        cc_record_number(v->record, at, "latency_s", NAN);
    }
    copy_numbers(v, at, at < v->measured.row_count ? &v->measured : &v->simulated);
    run_columns(v, at);
    verdict_numbers(v, at, &t, &row->diagnosis);
    return texts(v, at, &row->diagnosis, e);
}

int cc_validate_rows(struct validate *v, struct cc_error *e)
{
    size_t ran = v->measured.row_count, simulated = v->simulated.row_count;
    size_t rows = ran > simulated ? ran : simulated;
    int status = CC_OK;
    v->row = cc_alloc0((rows + 1) * sizeof *v->row, e);
    if (v->row == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < v->run.plan.settings && status == CC_OK; i++) {
        for (size_t k = 0; k < v->run.plan.setting[i].rows && v->rows < rows; k++) {
            struct validated *row = &v->row[v->rows];
            row->setting = v->rows < ran ? &v->run.plan.setting[i] : &v->sim.plan.setting[i];
            row->row = &row->setting->row[k];
            status = one_row(v, row, v->rows, e);
            if (status != CC_OK)
                break;
            v->rows++;
        }
    }
    return status;
}
