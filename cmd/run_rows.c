/* Rows of run: what was measured, and the model's answer to the same question beside it. */
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/run.h"
#include "core/memory.h"

/* A frame as tc counts it: header, and the payload of a full one. */
#define HEADER  66.0
#define PAYLOAD 1448.0

/* --- the model's answer --- */

/* The formulas, given what this very row measured: sizes, codec times, the compute time. */
static int predict(struct run *r, const struct run_setting *s, const struct run_row *row,
                   const struct cc_report_row *got, struct cc_prediction *out, struct cc_error *e)
{
    struct cc_forecast *f = &r->forecast;
    struct cc_setting setting = s->setting;
    struct cc_parcels parcels;
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
    /* Of stragglers, the slowest's mean is not the mean. */
    if (setting.timing.straggler == CC_STEADY)
        setting.timing.compute_s = got->compute_s;
    setting.timing.update_s = got->update_s;
    int status =
        cc_parcels_measured(setting.net, &f->parcels[row->scheme], f->cluster.raw, &m, &parcels, e);
    if (status != CC_OK)
        return status;
    status = cc_predict(&f->predictor, &setting, &parcels, out, e);
    cc_parcels_free(&parcels);
    return status;
}

/* --- what was measured --- */

struct times {
    double step_s, sd; /* sd: over whole periods; NaN of a single one */
    double codec_s, comm_s;
};

static int times_of(const struct run_row *row, const struct cc_report_row *got, struct times *out,
                    struct cc_error *e)
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

/* Bytes of TCP's acknowledgements for each byte received: one for every other segment, or two for
 * every packet of the kernel where that is less. Such a packet has up to 64 KiB, and on the lab's
 * links no more than the bucket lets pass. */
static double acknowledged(const struct cc_link *link)
{
    double segments = floor(65536 / PAYLOAD);
    if (link->burst_bytes > 0)
        segments = fmin(segments, fmax(1, floor(link->burst_bytes / (HEADER + PAYLOAD))));
    return HEADER / PAYLOAD * fmin(0.5, 2 / segments);
}

/* What the busiest host's link should have carried away from it: what its rank handed to MPI, with
 * headers (the last segment of a message is not full), and the acknowledgements of what it
 * received. What the library's own exchange sends, only the model says.
 */
static double wire_bytes(const struct cc_setting *s, const struct cc_report_row *got,
                         const struct cc_prediction *p)
{
    double given = got->given_bytes, received;
    if (s->exchange == CC_MPI)
        given = p->wire_bytes / (1 + s->link.overhead);
    received = given; /* allreduces are symmetrical */
    if (s->exchange == CC_PS) {
        double push = got->push_bytes + got->push_head_bytes;
        double pull = got->pull_bytes + got->pull_head_bytes;
        bool server = given > 1.01 * push;
        received = server && pull > 0 ? given * push / pull : pull;
    }
    return given * (1 + s->link.overhead) + got->messages * HEADER +
           received * acknowledged(&s->link);
}

static void measured_numbers(struct cc_record *r, size_t at, const struct cc_setting *s,
                             const struct cc_report_row *got, const struct times *t)
{
    double values = (double)s->net->values, bits = 8 * got->push_bytes / values;
    bool ps = s->exchange == CC_PS, counted = got->sent_bytes >= 0;
    const struct cc_number_column all[] = {
        {"payload_bytes", got->push_bytes},
        {"bits_per_value", bits},
        {"ratio", 32 / bits},
        {"bits_push", bits},
        {"bits_pull", ps ? 8 * got->pull_bytes / values : NAN},
        {"compute_s", got->compute_s + got->update_s},
        {"codec_s", t->codec_s},
        {"comm_s", t->comm_s},
        {"step_s", t->step_s},
        {"step_s_sd", t->sd},
        {"encode_s", got->encode_s},
        {"hop_codec_s", got->hop_s},
        {"server_codec_s", got->server_s},
        {"decode_s", got->decode_s},
        {"wait_s", got->wait_s},
        {"messages", got->messages},
        {"wire_bytes", counted ? got->sent_bytes : NAN},
        {"wire_bytes_received", got->received_bytes >= 0 ? got->received_bytes : NAN},
        {"wire_bytes_all", got->total_sent_bytes >= 0 ? got->total_sent_bytes : NAN}};
    cc_forecast_numbers(r, at, all, sizeof all / sizeof all[0]);
}

static int setting_columns(struct run *r, size_t at, const struct run_setting *s,
                           const struct run_row *row, struct cc_error *e)
{
    const struct cc_lab_how *how = &r->shaped;
    const struct cc_number_column all[] = {{"burst_bytes", s->setting.link.burst_bytes},
                                           {"limit_bytes", (double)how->limit_bytes},
                                           {"warmup", (double)row->warmup},
                                           {"steps", (double)row->steps},
                                           {"step_s_forecast", row->forecast.step_s}};
    cc_forecast_numbers(r->record, at, all, sizeof all / sizeof all[0]);
    if (how->limit_bytes == 0)
        cc_record_number(r->record, at, "limit_bytes", NAN);
    if (r->options.hosts.lab)
        cc_record_bool(r->record, at, "oversubscribed", s->oversubscribed);
    if (how->congestion == NULL)
        return CC_OK;
    return cc_record_text(r->record, at, "congestion", how->congestion, e);
}

/* What the busiest link carries at a stretch, one way. */
static double phase_bytes(const struct cc_setting *s, const struct cc_prediction *p)
{
    return p->wire_bytes / (s->exchange == CC_PS ? p->rounds / 2 : p->rounds);
}

static void model_columns(struct run *r, size_t at, const struct cc_setting *s,
                          const struct cc_report_row *got, const struct cc_prediction *p,
                          const struct times *t)
{
    double burst = s->link.burst_bytes;
    const struct cc_number_column all[] = {{"burst_share", burst / phase_bytes(s, p)},
                                           {"wire_bytes_model", wire_bytes(s, got, p)},
                                           {"step_s_model", p->step_s},
                                           {"model_error", (t->step_s - p->step_s) / t->step_s},
                                           {"speedup", r->latest_fp32_s / t->step_s}};
    cc_forecast_numbers(r->record, at, all, sizeof all / sizeof all[0]);
}

int cc_run_add_row(struct run *r, const struct run_setting *s, size_t row,
                   const struct cc_report_row *got, struct cc_error *e)
{
    const struct run_row *planned = &s->row[row];
    const char *scheme = r->args->schemes.item[planned->scheme]->name;
    struct cc_prediction p;
    struct times t;
    if (got->steps < planned->period)
        return cc_fail(e, "%s: the ranks report %zu steps instead of %zu", scheme, got->steps,
                       planned->steps);
    int status = times_of(planned, got, &t, e);
    if (status == CC_OK)
        status = predict(r, s, planned, got, &p, e);
    if (status != CC_OK)
        return status;
    if (strcmp(scheme, "fp32") == 0)
        r->latest_fp32_s = t.step_s;
    size_t at = cc_forecast_row(&r->forecast, planned->scheme, &s->setting, NULL, 0, e);
    if (at == SIZE_MAX)
        return CC_FAIL;
    measured_numbers(r->record, at, &s->setting, got, &t);
    model_columns(r, at, &s->setting, got, &p, &t);
    cc_run_paper_row(r, at, &s->setting, scheme);
    status = setting_columns(r, at, s, planned, e);
    return status == CC_OK
               ? cc_record_text(r->record, at, "bottleneck", cc_bottleneck_names[p.bottleneck], e)
               : status;
}
