#include "cmd/model/forecast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"
#include "core/units.h"

/* --- opening --- */

/* "system: ddp, ...; but --mode sequential" */
static void set_title(struct cc_args *args, const struct cc_system *system)
{
    static const char *const replacing[] = {"exchange", "mode", "fuse", "servers", "pulls"};
    char but[128] = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof replacing / sizeof replacing[0] && used < sizeof but; i++)
        if (cc_arg(args, replacing[i]) != NULL)
            used += (size_t)snprintf(but + used, sizeof but - used, "%s --%s %s",
                                     used == 0 ? "; but" : "", replacing[i],
                                     cc_arg(args, replacing[i]));
    cc_record_title(&args->record, "system: %s, %s%s", system->name, system->title, but);
}

int cc_forecast_parse(struct cc_args *args, enum cc_system_id usual, struct cc_forecast *out,
                      struct cc_error *e)
{
    *out = (struct cc_forecast){.schemes = &args->schemes};
    CC_TRY(cc_cluster_args_parse(args, usual, &out->cluster, e));
    set_title(args, out->cluster.setting.system);
    if (args->schemes.count == 0)
        CC_TRY(cc_spec_list_parse("all", &args->schemes, e));
    return cc_profile_args_parse(args, &out->profile_args, e);
}

int cc_forecast_load(struct cc_forecast *f, struct cc_error *e)
{
    const struct cc_net *net = f->cluster.net;
    const struct cc_codec_model *raw = &f->codec_models.raw;
    f->profile_args.largest = net->largest;
    CC_TRY(cc_codec_models_open(&f->profile_args, f->schemes, &f->codec_models, e));
    f->payloads = cc_alloc0(f->schemes->count * sizeof *f->payloads, e);
    if (f->payloads == NULL)
        return CC_FAIL;
    CC_TRY(cc_step_payloads_make(net, raw, raw, NULL, &f->raw, e));
    for (size_t i = 0; i < f->schemes->count; i++)
        CC_TRY(cc_step_payloads_make(net, &f->codec_models.codec_model[i], raw, f->cluster.raw,
                                     &f->payloads[i], e));
    return CC_OK;
}

void cc_forecast_free(struct cc_forecast *f)
{
    for (size_t i = 0; f->payloads != NULL && i < f->schemes->count; i++)
        cc_step_payloads_free(&f->payloads[i]);
    free(f->payloads);
    cc_step_payloads_free(&f->raw);
    cc_predictor_free(&f->predictor);
    cc_codec_models_free(&f->codec_models);
    cc_cluster_args_free(&f->cluster);
}

const char *cc_forecast_scheme(const struct cc_forecast *f, size_t scheme)
{
    return f->schemes->item[scheme]->name;
}

/* --- settings --- */

struct each {
    const struct cc_forecast *f;
    int (*call)(void *arg, const struct cc_setting *s, struct cc_error *e);
    void *arg;
};

static int add_reduce_time(void *arg, const struct cc_setting *given, struct cc_error *e)
{
    const struct each *each = arg;
    struct cc_setting s = *given;
    s.cluster.reduce_byte_s =
        s.link.reduce_byte_s > 0
            ? s.link.reduce_byte_s
            : cc_codec_models_reduce_byte_s(&each->f->codec_models, (double)s.net->values);
    return each->call(each->arg, &s, e);
}

int cc_forecast_each(struct cc_forecast *f,
                     int (*call)(void *arg, const struct cc_setting *s, struct cc_error *e),
                     void *arg, struct cc_error *e)
{
    struct each each = {.f = f, .call = call, .arg = arg};
    return cc_cluster_args_each(&f->cluster, add_reduce_time, &each, e);
}

/* --- rows --- */

double cc_forecast_speedup(double fp32_step_s, double step_s)
{
    return fp32_step_s == step_s ? 1 : fp32_step_s / step_s; /* both may be 0 */
}

double cc_forecast_scaling(int workers, double compute_s, double step_s)
{
    return compute_s > 0 ? workers * compute_s / step_s : NAN;
}

static void setting_numbers(struct cc_record *r, size_t row, const struct cc_setting *s)
{
    const struct cc_number_column all[] = {
        {"values", (double)s->net->values},
        {"workers", s->cluster.workers},
        {"servers", cc_exchange_has(s->exchange, CC_X_SERVERS) ? (double)s->cluster.servers : NAN},
        {"bw_bps", s->link.bw_bps},
        {"latency_s", s->link.latency_s}};
    cc_record_numbers(r, row, all, sizeof all / sizeof all[0]);
}

static void prediction_numbers(struct cc_record *r, size_t row, const struct cc_setting *s,
                               const struct cc_prediction *p, double fp32_step_s)
{
    const struct cc_number_column all[] = {
        {"payload_bytes", p->payload_bytes},
        {"bits_per_value", p->bits_push},
        {"ratio", 32 / p->bits_push},
        {"bits_push", p->bits_push},
        {"bits_pull", cc_exchange_has(s->exchange, CC_X_SERVERS) ? p->bits_pull : NAN},
        {"compute_s", p->compute_s},
        {"codec_s", p->codec_s},
        {"comm_s", p->comm_s},
        {"step_s", p->step_s},
        {"step_s_sd", s->timing.straggler != CC_STEADY ? p->step_sd : NAN},
        {"speedup", cc_forecast_speedup(fp32_step_s, p->step_s)},
        {"scaling", cc_forecast_scaling(s->cluster.workers, p->compute_s, p->step_s)}};
    cc_record_numbers(r, row, all, sizeof all / sizeof all[0]);
}

size_t cc_forecast_row(const struct cc_forecast *f, struct cc_record *r, size_t scheme,
                       const struct cc_setting *s, const struct cc_prediction *p,
                       double fp32_step_s, struct cc_error *e)
{
    const struct {
        const char *key, *text;
    } texts[] = {{"scheme", cc_forecast_scheme(f, scheme)},
                 {"system", s->system->name},
                 {"net", s->net->name},
                 {"exchange", cc_exchange_names[s->exchange]},
                 {"mode", cc_step_names[s->timing.mode]},
                 {"link", s->link.name},
                 {"bottleneck", p != NULL ? cc_bottleneck_names[p->bottleneck] : NULL}};
    const size_t row = cc_record_add(r, e);
    if (row == SIZE_MAX)
        return row;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].text != NULL &&
            cc_record_text(r, row, texts[i].key, texts[i].text, e) != CC_OK)
            return SIZE_MAX;
    setting_numbers(r, row, s);
    if (p != NULL)
        prediction_numbers(r, row, s, p, fp32_step_s);
    return row;
}

/* --- notes --- */

enum { MOST_NOTES = 12 };

void cc_forecast_place(const struct cc_setting *s, char *out, size_t cap)
{
    char servers[32] = "";
    if (cc_exchange_has(s->exchange, CC_X_SERVERS) && s->cluster.servers > 1)
        (void)snprintf(servers, sizeof servers, ", %d servers", s->cluster.servers);
    (void)snprintf(out, cap, "%s at %s, %d worker%s%s", cc_exchange_names[s->exchange],
                   s->link.name, s->cluster.workers, s->cluster.workers == 1 ? "" : "s", servers);
}

int cc_forecast_note_fastest(struct cc_record *r, const struct cc_setting *s,
                             const struct cc_forecast_step *step, size_t count, struct cc_error *e)
{
    const struct cc_forecast_step *best = step;
    char where[160], time[32], factor[64] = "", longest[96] = "";
    if (count < 2 || r->note_count >= MOST_NOTES)
        return CC_OK;
    for (size_t i = 1; i < count; i++)
        if (step[i].step_s < best->step_s)
            best = &step[i];
    cc_print_si(best->step_s, "s", time, sizeof time);
    if (isfinite(best->speedup))
        (void)snprintf(factor, sizeof factor, ", %.2f times as fast as fp32", best->speedup);
    if (best->bottleneck != NULL)
        (void)snprintf(longest, sizeof longest, "; bottleneck: %s", best->bottleneck);
    cc_forecast_place(s, where, sizeof where);
    return cc_record_note(r, e, "%s: %s is fastest, %s a step%s%s", where, best->scheme, time,
                          factor, longest);
}

/* Writes " (trace, processor, instruction set, time)", with what the profile knows of these. */
static void origin_text(const struct cc_profile *p, char *out, size_t cap)
{
    const char *const known[] = {p->trace, p->cpu, p->isa, p->time};
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof known / sizeof known[0] && used < cap; i++)
        if (known[i][0] != '\0')
            used +=
                (size_t)snprintf(out + used, cap - used, "%s%s", used == 0 ? " (" : ", ", known[i]);
    if (used > 0 && used < cap)
        (void)snprintf(out + used, cap - used, ")");
}

int cc_forecast_note_sources(const struct cc_forecast *f, struct cc_record *r, struct cc_error *e)
{
    const struct cc_net *net = f->cluster.net;
    char from[512];
    origin_text(&f->codec_models.profile, from, sizeof from);
    CC_TRY(cc_record_note(r, e, "codec profile: %s%s", f->codec_models.source, from));
    if (f->codec_models.raw_given)
        CC_TRY(cc_record_note(r, e,
                              "the profile has no fp32: it is taken as 32 bits a value that cost "
                              "no codec time"));
    if (f->cluster.compute_given)
        return CC_OK;
    if (net->compute_s > 0)
        return cc_record_note(r, e, "compute time: %.4g ms, the preset of %s (%s)",
                              1e3 * net->compute_s, net->name, net->compute_source);
    return cc_record_note(r, e,
                          "compute time: 0, as %s has no preset; with the compute time of a real "
                          "training, speedups are smaller: give --compute",
                          net->name);
}
