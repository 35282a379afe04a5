/* A forecast: the part of model, advise, run, sim and validate that predicts. Reads the options,
 * opens the codecs' profile with the sizes and errors on the net's own tensors, and adds rows and
 * notes about settings; forecast_verdict.c compares them. */
#include "cmd/model/forecast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/sum_sizes.h"
#include "bench/unions.h"
#include "cmd/input/source.h"
#include "core/memory.h"
#include "core/units.h"

/* --- opening --- */

/* "system: ddp (...), changed by --mode sequential" */
static void set_title(struct cc_args *args, const struct cc_system *system)
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
    {.name = "baseline", MEMBER(baseline), .value = "SCHEME", .def = CC_RAW_SCHEME,
     .group = CC_GROUP_SEND,
     .help = "the scheme that verdicts compare with, each at its best among the exchanges and "
             "step modes: bf16 where that is what you send today"},
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
    struct cc_verdict_options o;
    CC_TRY(cc_options_read(args, cc_verdict_options, &o, e));
    CC_TRY_IN(cc_spec_list_parse(o.baseline, &out->baseline_scheme, e), e, "--baseline");
    if (out->baseline_scheme.count != 1)
        return cc_usage(e, "--baseline %s: one scheme to compare with", o.baseline);
    out->cluster.setting.codec_speed = o.codec_speed;
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

/* Whether any setting merges index-value pairs whose unions are to be measured. */
static bool needs_unions(const struct cc_forecast *f)
{
    const struct cc_cluster_args *c = &f->cluster;
    bool merges = f->other_exchanges, pairs = false;
    for (size_t i = 0; i < c->exchanges; i++)
        merges |= cc_exchange_has(c->exchange[i], CC_X_MERGES);
    for (size_t i = 0; i < f->schemes->count; i++)
        pairs |= f->payloads[i].reduction == CC_REDUCE_PAIRS;
    return merges && pairs && c->setting.cluster.overlap == CC_UNION_MEASURED;
}

/* Whether sums of several workers' gradients are encoded in any setting. */
static bool encodes_sums(const struct cc_cluster_args *c)
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
    *out = (struct cc_forecast){.schemes = &args->schemes,
                                .limits = {.sum_error = CC_VERDICT_MAX_ERROR,
                                           .by = CC_BY_EVIDENCE,
                                           .lost = CC_TRIAL_MAX_LOSS}};
    CC_TRY(cc_cluster_args_parse(args, &out->cluster, e));
    set_title(args, out->cluster.setting.system);
    out->gradients = drawn_gradients(&out->cluster.source);
    if (args->schemes.count == 0)
        CC_TRY(cc_spec_list_parse("all", &args->schemes, e));
    CC_TRY(cc_profile_args_parse(args, &out->profile_args, e));
    return parse_verdict(args, out, e);
}

/* A baseline other than fp32 has codec models of its own, as it need not be among the schemes. */
static int load_baseline(struct cc_forecast *f, struct cc_error *e)
{
    const struct cc_codec_model *raw = &f->codec_models.raw;
    struct cc_profile_args args = f->profile_args;
    if (cc_spec_is_raw(f->baseline_scheme.item[0]))
        return cc_step_payloads_make(f->cluster.net, raw, raw, NULL, &f->baseline, e);
    args.remeasure = false;
    args.share = 1;
    cc_progress_begin(&f->progress, args.quiet);
    CC_TRY(cc_codec_models_open(&args, &f->baseline_scheme, &f->baseline_model, e));
    return cc_step_payloads_make(f->cluster.net, f->baseline_model.codec_model, raw, f->cluster.raw,
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
    for (size_t i = 0; i < f->schemes->count; i++)
        f->codec_models.codec_model[i].pull = f->gather_model.codec_model[0].push;
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
    if (!f->sizes && !errors)
        return CC_OK;
    CC_TRY(cc_figures_open(&figures, &f->figures, e));
    figures.schemes = &f->cluster.gather;
    figures.remeasure = false;
    if (f->cluster.gather.count > 0)
        CC_TRY(cc_figures_open(&figures, &f->gather_figures, e));
    for (size_t i = 0; i < f->schemes->count; i++)
        take_errors(f, i);
    for (size_t i = 0; i < f->schemes->count && f->sizes; i++) {
        f->codec_models.codec_model[i].tensor_bits = f->figures.of[i].bits;
        f->codec_models.codec_model[i].tensor_sums = f->figures.of[i].sums;
    }
    return CC_OK;
}

int cc_forecast_load(struct cc_forecast *f, bool errors, struct cc_error *e)
{
    const struct cc_net *net = f->cluster.net;
    const struct cc_codec_model *raw = &f->codec_models.raw;
    cc_progress_begin(&f->progress, f->profile_args.quiet);
    CC_TRY(measure(f, errors, e));
    if (errors)
        CC_TRY(cc_evidence_open(net, &f->evidence, e));
    for (size_t i = 0; i < f->cluster.links; i++) {
        double *adding = &f->cluster.link[i].reduce_byte_s;
        if (*adding == 0)
            *adding = cc_codec_models_reduce_byte_s(&f->codec_models, (double)net->values);
    }
    CC_TRY(CC_NEW(f->payloads, f->schemes->count, e));
    CC_TRY(cc_step_payloads_make(net, raw, raw, NULL, &f->raw, e));
    for (size_t i = 0; i < f->schemes->count; i++)
        CC_TRY(cc_step_payloads_make(net, &f->codec_models.codec_model[i], raw, f->cluster.raw,
                                     &f->payloads[i], e));
    if (needs_unions(f))
        CC_TRY(measure_unions(f, e));
    return load_baseline(f, e);
}

void cc_forecast_free(struct cc_forecast *f)
{
    for (size_t i = 0; f->payloads != NULL && i < f->schemes->count; i++)
        cc_step_payloads_free(&f->payloads[i]);
    free(f->payloads);
    cc_step_payloads_free(&f->raw);
    cc_step_payloads_free(&f->baseline);
    free(f->winner);
    cc_predictor_free(&f->predictor);
    cc_codec_models_free(&f->codec_models);
    cc_figures_free(&f->figures);
    cc_evidence_close(&f->evidence);
    cc_codec_models_free(&f->gather_model);
    cc_figures_free(&f->gather_figures);
    cc_codec_models_free(&f->baseline_model);
    cc_spec_list_free(&f->baseline_scheme);
    cc_cluster_args_free(&f->cluster);
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
    const bool several = cc_cluster_per_host(&s->cluster) > 1;
    const bool asymmetric = cc_link_asymmetric(&s->link), sites = s->cluster.sites > 1;
    const struct cc_number_column all[] = {
        {CC_KEY(values), (double)s->net->values},
        {CC_KEY(workers), s->cluster.workers},
        {CC_KEY(per_host), several ? (double)s->cluster.per_host : NAN},
        {CC_KEY(servers),
         cc_exchange_has(s->exchange, CC_X_SERVERS) ? (double)s->cluster.servers : NAN},
        {CC_KEY(keep), s->cluster.keep > 0 ? s->cluster.keep : NAN},
        {CC_KEY(bw_bps), s->link.bw_bps},
        {CC_KEY(bw_up_bps), asymmetric ? cc_link_up_bps(&s->link) : NAN},
        {CC_KEY(bw_down_bps), asymmetric ? cc_link_down_bps(&s->link) : NAN},
        {CC_KEY(latency_s), s->link.latency_s},
        {CC_KEY(intra_bw_bps), several ? s->cluster.intra.bw_bps : NAN},
        {CC_KEY(intra_latency_s), several ? s->cluster.intra.latency_s : NAN},
        {CC_KEY(sites), sites ? (double)s->cluster.sites : NAN},
        {CC_KEY(wan_bw_bps), sites && s->cluster.wan_bps > 0 ? s->cluster.wan_bps : NAN},
        {CC_KEY(wan_latency_s), sites ? s->cluster.wan_latency_s : NAN}};
    cc_record_numbers(r, row, all, sizeof all / sizeof all[0]);
}

/* The network's time that nothing hides, as in run and sim; up to rounding, all of it where nothing
 * overlaps. */
static double comm_s(const struct cc_prediction *p)
{
    const double room = p->step_s - p->compute_s - p->codec_s;
    return p->comm_s <= room + 1e-12 * p->step_s ? p->comm_s : fmax(0, room);
}

static void prediction_numbers(struct cc_record *r, size_t row, const struct cc_setting *s,
                               const struct cc_prediction *p, double fp32_step_s)
{
    const struct cc_number_column all[] = {
        {CC_KEY(payload_bytes), p->payload_bytes},
        {CC_KEY(bits_per_value), p->bits_push},
        {CC_KEY(ratio), 32 / p->bits_push},
        {CC_KEY(bits_push), p->bits_push},
        {CC_KEY(bits_pull), cc_exchange_has(s->exchange, CC_X_SERVERS) ? p->bits_pull : NAN},
        {CC_KEY(compute_s), p->compute_s},
        {CC_KEY(codec_s), p->codec_s},
        {CC_KEY(comm_s), comm_s(p)},
        {CC_KEY(comm_busy_s), p->comm_s},
        {CC_KEY(added_s), p->step_s - p->compute_s},
        {CC_KEY(step_s), p->step_s},
        {CC_KEY(step_s_sd), s->timing.straggler != CC_STEADY ? p->step_sd : NAN},
        {CC_KEY(speedup), cc_forecast_speedup(fp32_step_s, p->step_s)},
        {CC_KEY(scaling), cc_forecast_scaling(s->cluster.workers, p->compute_s, p->step_s)}};
    cc_record_numbers(r, row, all, sizeof all / sizeof all[0]);
}

void cc_forecast_error_columns(const struct cc_forecast *f, struct cc_record *r, size_t row,
                               size_t scheme, const struct cc_setting *s)
{
    const struct cc_accuracy a = cc_forecast_accuracy(f, s, scheme);
    const struct cc_number_column all[] = {{CC_KEY(error), a.error},
                                           {CC_KEY(error_low), a.low},
                                           {CC_KEY(error_high), a.high},
                                           {CC_KEY(encodings), a.encodings},
                                           {CC_KEY(sum_error), cc_accuracy_sum_error(&a)}};
    cc_record_numbers(r, row, all, sizeof all / sizeof all[0]);
}

int cc_forecast_row(const struct cc_forecast *f, struct cc_record *r, size_t scheme,
                    const struct cc_setting *s, const struct cc_prediction *p, double fp32_step_s,
                    size_t *out, struct cc_error *e)
{
    const enum cc_consistency how = s->timing.consistency;
    const struct cc_text_column texts[] = {
        {CC_KEY(scheme), cc_forecast_scheme(f, scheme)},
        {CC_KEY(system), s->system->name},
        {CC_KEY(net), s->net->name},
        {CC_KEY(exchange), cc_exchange_names[s->exchange]},
        {CC_KEY(gather_scheme),
         f->payloads[scheme].reduction == CC_REDUCE_SUM ? NULL : s->cluster.gather},
        {CC_KEY(op), s->cluster.op != CC_ALLREDUCE ? cc_operation_names[s->cluster.op] : NULL},
        {CC_KEY(mode), cc_step_names[s->timing.mode]},
        {CC_KEY(consistency), how == CC_BULK ? NULL : cc_consistency_names[how]},
        {CC_KEY(link), s->link.name},
        {CC_KEY(bottleneck), p != NULL ? cc_bottleneck_names[p->bottleneck] : NULL}};
    CC_TRY(cc_record_add(r, out, e));
    const size_t row = *out;
    setting_numbers(r, row, s);
    if (!cc_scheme_runs(f->schemes->item[scheme]->scheme))
        cc_record_bool(r, row, CC_KEY(profiled), true);
    if (s->cluster.colocated)
        cc_record_bool(r, row, CC_KEY(colocated), true);
    if (cc_consistency_is_bounded(how))
        cc_record_number(r, row, CC_KEY(staleness), s->timing.staleness);
    if (f->cluster.source.skip)
        cc_record_number(r, row, CC_KEY(skipped_steps),
                         (double)cc_trace_skipped(f->cluster.trace, NULL));
    if (p != NULL)
        prediction_numbers(r, row, s, p, fp32_step_s);
    return cc_record_texts(r, row, texts, sizeof texts / sizeof texts[0], e);
}

/* --- notes --- */

/* Writes " (trace, processor, instruction set, time)", with what the profile knows of these and the
 * note does not say already. */
static void origin_text(const struct cc_profile *p, const char *note, char *out, size_t cap)
{
    const char *const known[] = {p->trace, p->cpu, p->isa, p->time};
    char list[480] = "";
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i][0] != '\0' && strstr(note, known[i]) == NULL)
            cc_list_add(list, sizeof list, ", ", "%s", known[i]);
    (void)snprintf(out, cap, list[0] != '\0' ? " (%s)" : "%s", list);
}

/* Notes the schemes whose sizes had not settled: of a worker's payload, or of sums. */
static int note_unsettled(const struct cc_forecast *f, bool sums, struct cc_record *r,
                          struct cc_error *e)
{
    char list[256] = "";
    for (size_t i = 0; i < f->figures.count; i++) {
        const struct cc_figure_set *of = &f->figures.of[i];
        if (sums ? of->sums != NULL && !of->sums_settled : of->bits != NULL && !of->settled)
            cc_list_add(list, sizeof list, ", ", "%s", cc_forecast_scheme(f, i));
    }
    if (list[0] == '\0')
        return CC_OK;
    return cc_record_note(r, e, "not settled%s: the sizes of %s%s",
                          sums ? " within " CC_SUM_SIZES_CALM_TEXT : "", list,
                          sums ? " for sums of several workers: pulls and partial sums" : "");
}

/* Warns if the trace is so short that errors may be off by SHORT_FACTOR or more. */
static int note_short(const struct cc_forecast *f, struct cc_record *r, struct cc_error *e)
{
    static const double SHORT_FACTOR = 2;
    double most = 1;
    for (size_t i = 0; i < f->figures.count; i++) {
        const struct cc_update_error *error = &f->figures.of[i].error;
        if (error->low > 0 && isfinite(error->high))
            most = fmax(most, sqrt(error->high / error->low));
    }
    if (most < SHORT_FACTOR)
        return CC_OK;
    return cc_record_note(
        r, e,
        "a short trace: its %zu step%s determine%s errors to a factor of %.1f only, "
        "so that a longer one may change the verdict (docs/errors.md)",
        f->figures.steps, f->figures.steps == 1 ? "" : "s", f->figures.steps == 1 ? "s" : "", most);
}

/* Notes what sizes and errors were measured on, and which had not settled. */
static int note_figures(const struct cc_forecast *f, struct cc_record *r, struct cc_error *e)
{
    const struct cc_trace *t = f->cluster.trace;
    char stream[48] = "";
    if (t == NULL)
        (void)snprintf(stream, sizeof stream, " (--trace: on your gradients)");
    else if (cc_trace_streams(t) > 1) /* the first is measured */
        (void)snprintf(stream, sizeof stream, ", push %lld", (long long)cc_trace_stream(t, 0).rank);
    CC_TRY(cc_record_note(
        r, e, "%s%s%s: settled, on %zu step%s of %s%s%s", f->sizes ? "sizes" : "",
        f->sizes && f->errors ? " and " : "", f->errors ? "errors" : "", f->figures.steps,
        f->figures.steps == 1 ? "" : "s", f->figures.trace, stream,
        f->errors ? "; how well a net learns with an error, only training shows" : ""));
    if (f->errors)
        CC_TRY(note_short(f, r, e));
    if (!f->sizes)
        return CC_OK;
    if (f->figures.part > 0)
        CC_TRY(cc_record_note(r, e,
                              "sizes are those of at most %zu of %zu values, whole tensors "
                              "or their first rows, of all places of the net",
                              f->figures.part, f->cluster.net->values));
    CC_TRY(note_unsettled(f, false, r, e));
    return encodes_sums(&f->cluster) ? note_unsettled(f, true, r, e) : CC_OK;
}

/* Notes which schemes have no code, and where their figures come from. */
static int note_profiled(const struct cc_forecast *f, struct cc_record *r, struct cc_error *e)
{
    const bool added = f->codec_models.added.codecs > 0;
    const struct cc_profile *p = added ? &f->codec_models.added : &f->codec_models.profile;
    const char *path = added ? f->profile_args.added : f->profile_args.path;
    char list[256] = "", from[512];
    for (size_t i = 0; i < f->schemes->count; i++)
        if (!cc_scheme_runs(f->schemes->item[i]->scheme))
            cc_forecast_add_item(list, sizeof list, cc_forecast_scheme(f, i), "");
    if (list[0] == '\0')
        return CC_OK;
    origin_text(p, path, from, sizeof from);
    return cc_record_note(r, e,
                          "profiled: sizes, times and errors of %s were measured elsewhere and are "
                          "those of %s%s; sums of several workers are taken to be as large as what "
                          "one sends",
                          list, path, from);
}

/* Notes where codecs are assumed to run, and which of them do not. */
static int note_device(const struct cc_forecast *f, struct cc_record *r, struct cc_error *e)
{
    const struct cc_device *d = f->profile_args.device;
    char list[256] = "", host[320] = "";
    if (d == NULL)
        return CC_OK;
    for (size_t i = 0; i < f->schemes->count; i++)
        if (cc_scheme_runs(f->schemes->item[i]->scheme) &&
            !cc_codec_models_passes(f->schemes->item[i]))
            cc_forecast_add_item(list, sizeof list, cc_forecast_scheme(f, i), "");
    if (list[0] != '\0')
        (void)snprintf(host, sizeof host, "; on the host, over PCIe at %g GB/s: %s",
                       d->pcie_gb_per_s, list);
    return cc_record_note(
        r, e,
        "codecs: assumed to run on %s, %g us for each pass and %g of its memory's "
        "%g GB/s (%s)%s; --profile with measured times, or --codec-on cpu, "
        "replaces this",
        d->text, 1e6 * CC_DEVICE_LAUNCH_S, CC_DEVICE_MEMORY_SHARE, d->memory_gb_per_s,
        d->memory_source, host);
}

int cc_forecast_note_sources(const struct cc_forecast *f, struct cc_record *r, struct cc_error *e)
{
    const struct cc_net *net = f->cluster.net;
    char from[512];
    CC_TRY(note_profiled(f, r, e));
    origin_text(&f->codec_models.profile, f->codec_models.source, from, sizeof from);
    CC_TRY(note_device(f, r, e));
    CC_TRY(cc_record_note(r, e, "codec profile: %s%s", f->codec_models.source, from));
    if (f->figures.trace != NULL)
        CC_TRY(note_figures(f, r, e));
    if (f->codec_models.raw_given)
        CC_TRY(cc_record_note(r, e,
                              "the profile has no fp32: it is taken as 32 bits a value that cost "
                              "no codec time"));
    if (needs_unions(f))
        CC_TRY(
            cc_record_note(r, e,
                           "sums of index-value pairs: how many indices workers have in common is "
                           "measured on %s (--union)",
                           f->cluster.trace != NULL ? cc_trace_name(f->cluster.trace)
                                                    : "the synthetic gradients of 16 workers"));
    if (f->cluster.trace != NULL)
        CC_TRY(cc_input_note_trace(r, f->cluster.trace, e));
    if (f->cluster.device[0] != '\0')
        return cc_record_note(r, e, "compute time: %s", f->cluster.device);
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
