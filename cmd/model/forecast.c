/* A forecast: the part of model, advise, run, sim and validate that predicts. Reads the options,
 * and opens the codecs' profile with the sizes and errors on the net's own tensors. forecast_rows.c
 * adds rows about settings, forecast_notes.c says where figures come from, and forecast_verdict.c
 * compares steps. */
#include "cmd/model/forecast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/sum_sizes.h"
#include "bench/unions.h"
#include "cmd/input/carries.h"
#include "cmd/input/source.h"
#include "core/memory.h"
#include "core/units.h"

/* --- opening --- */

/* "system: ddp (...), changed by --mode sequential" */
static void set_title(struct cc_args *args, const struct cc_system *system,
                      const char *sequential_for)
{
    const struct {
        const char *option, *own; /* what the system chooses itself; NULL: no word for it */
    } choices[] = {{"exchange", cc_exchange_names[system->exchange]},
                   {"mode", cc_step_names[system->mode]},
                   {"fuse", NULL},
                   {"servers", system->server_per_worker ? NULL : "1"},
                   {"pulls", cc_pull_names[system->pulls]}};
    char changes[128] = "";
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        const char *given = cc_arg(args, choices[i].option);
        if (given != NULL && (choices[i].own == NULL || strcmp(given, choices[i].own) != 0))
            cc_list_add(changes, sizeof changes, ", ", "--%s %s", choices[i].option, given);
    }
    if (sequential_for != NULL)
        cc_list_add(changes, sizeof changes, ", ", "sequential steps for --%s", sequential_for);
    if (changes[0] == '\0')
        cc_record_title(&args->record, "system: %s, %s", system->name, system->title);
    else
        cc_record_title(&args->record, "system: %s (%s), changed by %s", system->name,
                        system->title, changes);
}

static const char *const codec_places[] = {"cpu", "device", NULL};

/* clang-format off */
#define MEMBER(m) CC_OPTION_AT(struct cc_verdict_options, m)
const struct cc_option cc_verdict_options[] = {
    {.name = "baseline", MEMBER(baseline), .value = "SCHEME",
     .otherwise = "gradients as they are (--dtype)", .group = CC_GROUP_SEND,
     .help = "the scheme that verdicts compare with, each at its best among the exchanges and "
             "step modes: what you send today, if that is another"},
    {.name = "codec-on", MEMBER(codec_on), .value = "PLACE", .choices = codec_places,
     .otherwise = "device with --device and without --profile", .group = CC_GROUP_SEND,
     .help = "where codecs run: cpu (as the profile has them) or device, that of --device: a launch "
             "for each pass over its memory, at a share of its bandwidth, both assumed "
             "(docs/model.md)"},
    {.name = "codec-speed", MEMBER(codec_speed), .kind = CC_TAKES_REAL, .value = "X", .def = "1",
     .group = CC_GROUP_SEND,
     .help = "codecs are taken to be X times as fast as in the profile, which is of one core"},
    {.name = NULL},
};
/* clang-format on */

/* Chooses where codecs run; commands without the option have them on the host. */
static int choose_place(const struct cc_args *args, const char *where, struct cc_forecast *out,
                        struct cc_error *e)
{
    static const char option[] = "codec-on";
    const bool device = where != NULL && strcmp(where, codec_places[1]) == 0;
    if (cc_option_find(&args->options, option, strlen(option)) == SIZE_MAX)
        return CC_OK;
    if (device && out->cluster.accelerator == NULL)
        return cc_usage(e, "--codec-on device: give --device");
    if (where != NULL ? device : out->profile_args.path == NULL)
        out->profile_args.device = out->cluster.accelerator;
    return CC_OK;
}

static int parse_verdict(const struct cc_args *args, struct cc_forecast *out, struct cc_error *e)
{
    struct cc_verdict_options o = {.baseline = NULL};
    CC_TRY(cc_options_read(args, cc_verdict_options, &o, e));
    if (o.baseline == NULL)
        o.baseline = cc_element_names[out->cluster.setting.dtype];
    CC_TRY_IN(cc_spec_list_parse(o.baseline, &out->baseline_scheme, e), e, "--baseline");
    if (out->baseline_scheme.count != 1)
        return cc_usage(e, "--baseline %s: one scheme to compare with", o.baseline);
    out->cluster.setting.codec_speed = o.codec_speed;
    out->codec_place_given = o.codec_on != NULL;
    CC_TRY(choose_place(args, o.codec_on, out, e));
    return cc_setting_check(&out->cluster.setting, e);
}

/* --- unions of index sets --- */

/* Values of synthetic gradients if the net has more. The ratio of a union to one set hardly depends
 * on the number of values. */
enum { UNION_VALUES = 1 << 18 };

static struct cc_synth drawn_gradients(const struct cc_source_options *o)
{
    return (struct cc_synth){.seed = o->seed,
                             .steps = CC_UNION_STEPS,
                             .ranks = CC_UNION_WORKERS,
                             .decay = 0.1,
                             .distribution = o->distribution,
                             .indices = o->indices,
                             .zeros = o->shares > 0 ? 1 - o->nonzeros[0] : 0};
}

bool cc_forecast_measures_unions(const struct cc_forecast *f)
{
    const struct cc_cluster_args *c = &f->cluster;
    bool merges = f->other_exchanges, pairs = false;
    for (size_t i = 0; i < c->exchanges; i++)
        merges |= cc_exchange_has(c->exchange[i], CC_X_MERGES);
    for (size_t i = 0; i < f->schemes->count; i++)
        pairs |= f->payloads[i].reduction == CC_REDUCE_PAIRS;
    return merges && pairs && c->setting.cluster.overlap == CC_UNION_MEASURED;
}

bool cc_forecast_encodes_sums(const struct cc_cluster_args *c)
{
    bool encodes = false;
    for (size_t i = 0; i < c->exchanges; i++)
        encodes |= cc_exchange_has(c->exchange[i], CC_X_SERVERS) ||
                   (cc_exchange_has(c->exchange[i], CC_X_RECODES) &&
                    c->setting.cluster.via == CC_VIA_HOPS);
    return encodes;
}

static int measure_unions(struct cc_forecast *f, struct cc_error *e)
{
    const size_t values = f->cluster.net->values;
    const struct cc_tensor_info flat = {
        "values", cc_shape_flat(values < UNION_VALUES ? values : UNION_VALUES)};
    struct cc_trace *drawn = NULL, *t = f->cluster.trace;
    int status = CC_OK;
    if (t == NULL)
        CC_TRY(cc_trace_synth(&f->gradients, &flat, 1, "unions", &drawn, e));
    for (size_t i = 0; i < f->schemes->count && status == CC_OK; i++)
        status = cc_unions_measure(t != NULL ? t : drawn, f->schemes->item[i], CC_UNION_STEPS,
                                   &f->payloads[i].unions, e);
    if (drawn != NULL)
        cc_trace_close(drawn);
    return status;
}

/* --- all of it --- */

int cc_forecast_parse(struct cc_args *args, struct cc_forecast *out, struct cc_error *e)
{
    *out = (struct cc_forecast){.cluster = {.slots = out->cluster.slots},
                                .schemes = &args->schemes,
                                .limits = {.sum_error = CC_VERDICT_MAX_ERROR,
                                           .by = CC_BY_EVIDENCE,
                                           .lost = CC_TRIAL_MAX_LOSS}};
    CC_TRY(cc_cluster_args_parse(args, &out->cluster, e));
    set_title(args, out->cluster.setting.system, out->cluster.sequential_for);
    out->gradients = drawn_gradients(&out->cluster.source);
    out->catalogue = args->schemes.count == 0;
    if (out->catalogue)
        CC_TRY(cc_spec_list_parse("all", &args->schemes, e));
    CC_TRY(cc_profile_args_parse(args, &out->profile_args, e));
    out->profile_args.dtype = out->cluster.setting.dtype;
    return parse_verdict(args, out, e);
}

/* The values that a scheme leaves raw: fp32 in sums and among pairs, else gradients as they are. */
static const struct cc_codec_model *raw_model(const struct cc_codec_models *c,
                                              enum cc_reduction reduction)
{
    return reduction == CC_REDUCE_DECODED ? &c->plain : &c->raw;
}

/* Another baseline has codec models of its own, as it need not be among the schemes. */
static int load_baseline(struct cc_forecast *f, struct cc_error *e)
{
    const struct cc_codec_model *plain = &f->codec_models.plain, *model;
    struct cc_profile_args args = f->profile_args;
    if (cc_codec_models_plain(args.dtype, f->baseline_scheme.item[0]))
        return cc_step_payloads_make(f->cluster.net, plain, plain, NULL, &f->baseline, e);
    args.remeasure = false;
    args.share = 1;
    cc_progress_begin(&f->progress, args.quiet);
    CC_TRY(cc_codec_models_open(&args, &f->baseline_scheme, &f->baseline_model, e));
    model = f->baseline_model.codec_model;
    return cc_step_payloads_make(f->cluster.net, model,
                                 raw_model(&f->codec_models, model->reduction), f->cluster.raw,
                                 &f->baseline, e);
}

/* Takes the errors of a scheme without code from its profile. */
static void take_errors(struct cc_forecast *f, size_t scheme)
{
    const struct cc_profile_errors *known =
        cc_codec_models_errors(&f->codec_models, f->schemes->item[scheme]);
    struct cc_update_error *error = &f->figures.of[scheme].error;
    if (known == NULL)
        return;
    error->error = known->error;
    error->low = known->error_low;
    error->high = known->error_high;
    error->nmse = known->nmse;
}

/* Where sums have a scheme of their own, its sizes and times take the place of pulls'. */
static int load_gather(struct cc_forecast *f, struct cc_error *e)
{
    struct cc_profile_args args = f->profile_args;
    args.remeasure = false;
    args.pull_path = NULL;
    if (f->cluster.gather.count == 0)
        return CC_OK;
    if (f->profile_args.pull_path != NULL)
        return cc_usage(e,
                        "--pull-profile is of servers, and --gather-scheme of exchanges without");
    CC_TRY_IN(cc_codec_models_open(&args, &f->cluster.gather, &f->gather_model, e), e,
              "--gather-scheme");
    const struct cc_codec_model *gather = &f->gather_model.codec_model[0];
    for (size_t i = 0; i < f->schemes->count; i++)
        if (!f->codec_models.codec_model[i].verbatim)
            f->codec_models.codec_model[i].pull = gather->sum != NULL ? gather->sum : gather->push;
    return CC_OK;
}

/* A scheme inside hosts has sizes and times beside those of pushes. */
static int load_inner(struct cc_forecast *f, struct cc_error *e)
{
    struct cc_profile_args args = f->profile_args;
    args.remeasure = false;
    if (f->cluster.inner.count == 0)
        return CC_OK;
    CC_TRY_IN(cc_codec_models_open(&args, &f->cluster.inner, &f->inner_model, e), e,
              "--intra-scheme");
    for (size_t i = 0; i < f->schemes->count; i++)
        if (!f->codec_models.codec_model[i].verbatim)
            f->codec_models.codec_model[i].inner = f->inner_model.codec_model[0].push;
    return CC_OK;
}

/* The profile, and sizes and errors on the net's own tensors. The sizes replace those of this
 * machine's profile, which are of single tensors; the profile of --profile keeps its own, unless
 * there is a trace. */
static int measure(struct cc_forecast *f, bool errors, struct cc_error *e)
{
    struct cc_profile_args *profile = &f->profile_args;
    f->sizes = profile->path == NULL || f->cluster.trace != NULL;
    f->errors = errors;
    struct cc_figures_config figures = {.net = f->cluster.net,
                                        .trace = f->cluster.trace,
                                        .raw = f->cluster.raw,
                                        .schemes = f->schemes,
                                        .drawn = f->gradients,
                                        .dtype = f->cluster.setting.dtype,
                                        .sums = f->sizes,
                                        .errors = errors,
                                        .remeasure = profile->remeasure,
                                        .quiet = profile->quiet,
                                        .progress = &f->progress};
    profile->largest = f->cluster.net->largest;
    profile->progress = &f->progress;
    profile->share = (f->sizes || errors) && !cc_figures_kept(&figures) ? 0.5 : 1;
    CC_TRY(cc_codec_models_open(profile, f->schemes, &f->codec_models, e));
    CC_TRY(load_gather(f, e));
    CC_TRY(load_inner(f, e));
    if (!f->sizes && !errors)
        return CC_OK;
    CC_TRY(cc_figures_open(&figures, &f->figures, e));
    figures.schemes = &f->cluster.gather;
    figures.remeasure = false;
    if (f->cluster.gather.count > 0)
        CC_TRY(cc_figures_open(&figures, &f->gather_figures, e));
    figures.schemes = &f->cluster.inner;
    if (f->cluster.inner.count > 0)
        CC_TRY(cc_figures_open(&figures, &f->inner_figures, e));
    for (size_t i = 0; i < f->schemes->count; i++)
        take_errors(f, i);
    for (size_t i = 0; i < f->schemes->count && f->sizes; i++) {
        f->codec_models.codec_model[i].tensor_bits = f->figures.of[i].bits;
        f->codec_models.codec_model[i].tensor_sums = f->figures.of[i].sums;
    }
    return CC_OK;
}

/* The payloads of schemes whose codecs stay on the host of an accelerator. */
static int load_host(struct cc_forecast *f, struct cc_error *e)
{
    struct cc_profile_args args = f->profile_args;
    if (!f->deploys || args.device == NULL || f->codec_place_given)
        return CC_OK;
    args.remeasure = false;
    args.over_bus = true;
    CC_TRY(cc_codec_models_open(&args, f->schemes, &f->host_models, e));
    CC_TRY(CC_NEW(f->host_payloads, f->schemes->count, e));
    for (size_t i = 0; i < f->schemes->count; i++) {
        struct cc_codec_model *model = &f->host_models.codec_model[i];
        model->tensor_bits = f->codec_models.codec_model[i].tensor_bits;
        model->tensor_sums = f->codec_models.codec_model[i].tensor_sums;
        CC_TRY(cc_step_payloads_make(f->cluster.net, model,
                                     raw_model(&f->codec_models, model->reduction), f->cluster.raw,
                                     &f->host_payloads[i], e));
    }
    return CC_OK;
}

const struct cc_step_payloads *cc_forecast_payloads(const struct cc_forecast *f, size_t scheme,
                                                    bool on_host)
{
    return on_host && f->host_payloads != NULL ? &f->host_payloads[scheme] : &f->payloads[scheme];
}

int cc_forecast_load(struct cc_forecast *f, bool errors, struct cc_error *e)
{
    const struct cc_net *net = f->cluster.net;
    const struct cc_codec_model *raw = &f->codec_models.raw, *plain = &f->codec_models.plain;
    cc_progress_begin(&f->progress, f->profile_args.quiet);
    CC_TRY(measure(f, errors, e));
    if (errors && f->evidence.row == NULL)
        CC_TRY(cc_evidence_open(net, &f->evidence, e));
    for (size_t i = 0; i < f->cluster.links; i++) {
        double *adding = &f->cluster.link[i].reduce_byte_s;
        if (*adding == 0)
            *adding = cc_codec_models_reduce_byte_s(&f->codec_models, (double)net->values);
    }
    CC_TRY(CC_NEW(f->payloads, f->schemes->count, e));
    CC_TRY(cc_step_payloads_make(net, raw, raw, NULL, &f->raw, e));
    CC_TRY(cc_step_payloads_make(net, plain, plain, NULL, &f->plain, e));
    for (size_t i = 0; i < f->schemes->count; i++) {
        const struct cc_codec_model *model = &f->codec_models.codec_model[i];
        CC_TRY(cc_step_payloads_make(net, model, raw_model(&f->codec_models, model->reduction),
                                     f->cluster.raw, &f->payloads[i], e));
    }
    if (cc_forecast_measures_unions(f))
        CC_TRY(measure_unions(f, e));
    CC_TRY(load_host(f, e));
    CC_TRY(cc_forecast_load_weights(f, e));
    return load_baseline(f, e);
}

void cc_forecast_free(struct cc_forecast *f)
{
    for (size_t i = 0; f->payloads != NULL && i < f->schemes->count; i++)
        cc_step_payloads_free(&f->payloads[i]);
    for (size_t i = 0; f->host_payloads != NULL && i < f->schemes->count; i++)
        cc_step_payloads_free(&f->host_payloads[i]);
    free(f->payloads);
    free(f->host_payloads);
    cc_step_payloads_free(&f->raw);
    cc_step_payloads_free(&f->plain);
    cc_step_payloads_free(&f->baseline);
    free(f->winner);
    cc_predictor_free(&f->predictor);
    cc_codec_models_free(&f->codec_models);
    cc_codec_models_free(&f->host_models);
    cc_figures_free(&f->figures);
    cc_evidence_close(&f->evidence);
    cc_codec_models_free(&f->gather_model);
    cc_forecast_weights_free(&f->weights);
    cc_figures_free(&f->gather_figures);
    cc_codec_models_free(&f->inner_model);
    cc_figures_free(&f->inner_figures);
    cc_codec_models_free(&f->baseline_model);
    cc_spec_list_free(&f->baseline_scheme);
    cc_cluster_args_free(&f->cluster);
}

const struct cc_step_payloads *cc_forecast_plain(const struct cc_forecast *f,
                                                 const struct cc_setting *s)
{
    return cc_exchange_plain(s->exchange, s->dtype) == s->dtype ? &f->plain : &f->raw;
}

int cc_forecast_check_baseline(const struct cc_forecast *f, const struct cc_setting *s,
                               struct cc_error *e)
{
    const struct cc_spec *baseline = f->baseline_scheme.item[0];
    return cc_codec_models_plain(s->dtype, baseline) ? CC_OK : cc_input_carries(s, baseline, e);
}

const char *cc_forecast_scheme(const struct cc_forecast *f, size_t scheme)
{
    return f->schemes->item[scheme]->name;
}

void cc_forecast_add_item(char *list, size_t cap, const char *name, const char *why)
{
    const size_t used = strlen(list);
    char item[224];
    const int n = snprintf(item, sizeof item, "%s%.60s%s%.128s%s", used > 0 ? ", " : "", name,
                           why[0] != '\0' ? " (" : "", why, why[0] != '\0' ? ")" : "");
    if (strstr(list, ", ...") != NULL)
        return;
    if (used + (size_t)n + sizeof ", ..." <= cap)
        memcpy(list + used, item, (size_t)n + 1);
    else
        memcpy(list + used, ", ...", sizeof ", ...");
}
