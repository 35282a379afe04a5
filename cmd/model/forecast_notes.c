/* The notes of a forecast: where its sizes, times and compute time come from. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/sum_sizes.h"
#include "cmd/input/source.h"
#include "cmd/model/forecast.h"
#include "core/memory.h"
#include "core/units.h"

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
    return cc_record_warn(r, e, "not settled%s: the sizes of %s%s",
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
    return cc_record_warn(
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
    return cc_forecast_encodes_sums(&f->cluster) ? note_unsettled(f, true, r, e) : CC_OK;
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

/* Notes what --tp makes of the setting. */
static int note_tp(const struct cc_forecast *f, struct cc_record *r, struct cc_error *e)
{
    const struct cc_cluster_args *c = &f->cluster;
    const int tp = c->sharded.tensor_parallel;
    if (tp <= 1)
        return CC_OK;
    return cc_record_note(
        r, e,
        "--tp %d: rows are of one of %d groups of workers that have the same part "
        "of the net: 1/%d of each tensor, %d of them in a host, on their share of "
        "its interfaces; bytes of a host are one group's; the exchanges inside the "
        "tensor-parallel %d are not modelled, and the compute time stays",
        tp, tp, tp, c->setting.cluster.per_host, tp);
}

/* Notes that a file's times are of values of another type than the gradients. */
static int note_dtype(const struct cc_forecast *f, struct cc_record *r, struct cc_error *e)
{
    const enum cc_element of = f->codec_models.profile.dtype, is = f->cluster.setting.dtype;
    if (f->profile_args.path == NULL || f->profile_args.device != NULL || of == is)
        return CC_OK;
    return cc_record_warn(r, e,
                          "codec times are of encoding %s, as %s has them, and gradients are %s: "
                          "`commcomp bench --dtype %s --profile-out FILE` measures those",
                          cc_element_names[of], f->profile_args.path, cc_element_names[is],
                          cc_element_names[is]);
}

/* Notes the latency and headers that a class of links brings, where they are not those of TCP. */
static int note_links(const struct cc_forecast *f, struct cc_record *r, struct cc_error *e)
{
    const struct cc_link_options *o = &f->cluster.network;
    const struct cc_link_class *c = NULL;
    char rates[96] = "", with[96] = "";
    for (size_t i = 0; i < f->cluster.links; i++) {
        const struct cc_link *l = &f->cluster.link[i];
        if (l->of_class == NULL || l->of_class == cc_link_classes || l->of_class == c)
            continue;
        c = l->of_class;
        cc_list_add(rates, sizeof rates, ", ", "%s", l->name);
    }
    if (c == NULL)
        return CC_OK;
    if (o->latencies == 0)
        cc_list_add(with, sizeof with, " and ", "%g us (--latency)", 1e6 * c->latency_s);
    if (cc_given(o, &o->overhead) == NULL)
        cc_list_add(with, sizeof with, " and ", "%.1f%% of headers (--overhead)",
                    100 * c->overhead);
    if (with[0] == '\0')
        return CC_OK;
    return cc_record_note(r, e, "link: %s is taken as %s, with %s", rates, c->text, with);
}

int cc_forecast_note_sources(const struct cc_forecast *f, struct cc_record *r, struct cc_error *e)
{
    const struct cc_net *net = f->cluster.net;
    char from[512];
    CC_TRY(note_profiled(f, r, e));
    origin_text(&f->codec_models.profile, f->codec_models.source, from, sizeof from);
    CC_TRY(note_device(f, r, e));
    CC_TRY(note_tp(f, r, e));
    CC_TRY(note_links(f, r, e));
    CC_TRY(cc_record_note(r, e, "codec profile: %s%s", f->codec_models.source, from));
    CC_TRY(note_dtype(f, r, e));
    if (f->figures.trace != NULL)
        CC_TRY(note_figures(f, r, e));
    if (f->codec_models.raw_given)
        CC_TRY(cc_record_note(r, e,
                              "the profile has no fp32: it is taken as 32 bits a value that cost "
                              "no codec time"));
    if (cc_forecast_measures_unions(f))
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
    return cc_record_warn(r, e,
                          "compute time: 0, as %s has no preset; with the compute time of a real "
                          "training, speedups are smaller: give --compute",
                          net->name);
}
