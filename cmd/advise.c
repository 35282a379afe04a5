/* commcomp advise: which scheme to use here, and what else would help. */
#include "cmd/advise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/interrupt.h"
#include "core/memory.h"
#include "results/plot.h"

static const struct cc_column columns[] = {
    {"rank", "rank", "", "%.0f", 0, "1 has the shortest step; empty for what is left out"},
    {"scheme", "scheme", "", NULL, 0, "the scheme with its parameters that are not the default"},
    {"net", "net", "", NULL, 0, "the model that is trained"},
    {"values", "values", "", "%.0f", 0, "number of float32 values in a step"},
    {"exchange", "exchange", "", NULL, 0, "how payloads move and are reduced"},
    {"mode", "mode", "", NULL, 0, "how computing and communicating follow one another in a step"},
    {"workers", "workers", "", "%.0f", 0, "hosts that compute gradients"},
    {"servers", "servers", "", "%.0f", 0, "hosts that sum them; empty but for ps"},
    {"bw_bps", "bandwidth", "Mbit/s", "%.6g", 1e-6,
     "line rate of a host's link in each direction, bits per second"},
    {"latency_s", "latency", "us", "%.6g", 1e6, "of a message, whatever its size"},
    {"payload_bytes", NULL, "", "%.0f", 0, "bytes of a worker's push per step"},
    {"bits_per_value", "bits/value", "bits", "%.3f", 0, "8 x payload bytes / values"},
    {"ratio", NULL, "", "%.1f", 0, "32 / bits per value"},
    {"bits_push", NULL, "bits", "%.3f", 0, "bits per value from worker to server"},
    {"bits_pull", NULL, "bits", "%.3f", 0, "bits per value from server to worker"},
    {"compute_s", "compute", "ms", "%.3f", 1e3, "forward and backward pass, and the update"},
    {"codec_s", "codec", "ms", "%.3f", 1e3, "encoding and decoding on the critical path"},
    {"comm_s", "comm", "ms", "%.3f", 1e3, "the network"},
    {"step_s", "step", "ms", "%.3f", 1e3, "a step; less than the sum where they overlap"},
    {"speedup", "speedup", "", "%.2f", 0, "step time of fp32 / step time of the scheme"},
    {"bottleneck", "bottleneck", "", NULL, 0,
     "what takes longest: compute, codec, latency, bandwidth (of a worker's link) or server port"},
    {"pays", "pays", "", NULL, 0,
     "at which bandwidths the step is shorter than that of fp32, all else being equal"},
    {"pays_from_bps", NULL, "", "%.6g", 0, "the lower end of that; empty: from 10 kbit/s on"},
    {"pays_below_bps", NULL, "", "%.6g", 0, "the upper end of that; empty: up to 100 Tbit/s"},
    {"workers_enough", "enough workers", "", "%.0f", 0,
     "twice as many would do less than a quarter more in the same time; empty: no such number up "
     "to 65,536 (256 with stragglers)"},
    {"nmse", NULL, "", "%.4g", 0, "squared error of a step relative to the gradient, as in bench"},
    {"nmse_cumulative", "error", "", "%.3g", 0,
     "the same of the sums over all steps: what error feedback gives back; measured in this run"},
    {"left_out", "left out", "", NULL, 0, "why the scheme is out of the question"},
    {.key = NULL},
};

static const struct cc_option options[] = {
    CC_CLUSTER_OPTIONS,
    {.name = "max-nmse",
     .value = "X",
     .def = "1",
     .help = "leave out schemes whose error over all steps (nmse_cumulative) is larger; 1 is that "
             "of sending nothing"},
    {.name = "lossless", .help = "leave out schemes that change the values"},
    {.name = "trace",
     .value = "PATH",
     .help = "captured gradients to measure the errors on; by default synthetic ones, eight steps "
             "of the net's tensors, or of resnet110's if it has more than 4 million values"},
    {.name = NULL},
};

/* --- candidates --- */

static const struct cc_spec *spec_of(const struct advise *a, size_t scheme)
{
    return a->args->schemes.item[scheme];
}

/* A size from the profile and an error from this run, of two sorts of gradients: where a scheme
 * sends more than three times as much of one as of the other, they do not belong together. */
static bool apart(double bits, double error_bits)
{
    return bits > 3 * error_bits || error_bits > 3 * bits;
}

static void judge(const struct advise *a, struct candidate *c)
{
    const struct cc_advise_error *error = &a->error[c->scheme];
    if (a->lossless && (spec_of(a, c->scheme)->scheme->flags & CC_LOSSY) != 0)
        (void)snprintf(c->refused, sizeof c->refused, "lossy");
    else if (isnan(error->cumulative))
        (void)snprintf(c->refused, sizeof c->refused, "its error could not be measured");
    else if (error->cumulative > a->max_nmse)
        (void)snprintf(c->refused, sizeof c->refused, "error above %g", a->max_nmse);
    else if (apart(c->p.bits_push, error->bits_per_value))
        (void)snprintf(c->refused, sizeof c->refused, "that error is of %.3g bits/value",
                       error->bits_per_value);
}

int cc_advise_candidate(struct advise *a, const struct cc_setting *s, size_t scheme,
                        struct candidate *c, struct cc_error *e)
{
    const struct cc_parcels *parcels = &a->parcels[scheme];
    *c = (struct candidate){.scheme = scheme};
    if (cc_exchange_check(s->exchange, parcels->reduction, parcels->scheme, NULL) != CC_OK) {
        (void)snprintf(c->refused, sizeof c->refused, "not for %s", cc_exchange_names[s->exchange]);
        return CC_OK;
    }
    int status = cc_predict(&a->predictor, s, parcels, &c->p, e);
    if (status == CC_OK)
        judge(a, c);
    return status;
}

/* The shortest step first, then those that are left out, in the order of the list. */
static int by_step(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    bool out_a = a->refused[0] != '\0', out_b = b->refused[0] != '\0';
    if (out_a != out_b)
        return out_a - out_b;
    if (!out_a && a->p.step_s != b->p.step_s)
        return a->p.step_s < b->p.step_s ? -1 : 1;
    return (a->scheme > b->scheme) - (a->scheme < b->scheme);
}

static int all_candidates(struct advise *a, const struct cc_setting *s, struct candidate *c,
                          size_t *ranked, struct cc_error *e)
{
    size_t schemes = a->args->schemes.count;
    int status = CC_OK;
    *ranked = 0;
    for (size_t i = 0; i < schemes && status == CC_OK; i++) {
        status = cc_advise_candidate(a, s, i, &c[i], e);
        if (status != CC_OK || c[i].refused[0] != '\0')
            continue;
        ++*ranked;
        status = cc_advice_paying(&a->predictor, s, &a->parcels[i], &a->raw, &c[i].pays, e);
        if (status == CC_OK)
            status = cc_advice_workers(&a->predictor, s, &a->parcels[i], &c[i].saturates,
                                       &c[i].tried, e);
    }
    if (status == CC_OK)
        qsort(c, schemes, sizeof *c, by_step);
    return status;
}

/* --- rows --- */

static void pays_text(const struct cc_paying *p, char *text, size_t cap)
{
    char from[32], below[32];
    cc_axis_number(p->from_bps, "bit/s", from, sizeof from);
    cc_axis_number(p->below_bps, "bit/s", below, sizeof below);
    if (!p->ever)
        (void)snprintf(text, cap, "never");
    else if (p->from_bps == 0 && isinf(p->below_bps))
        (void)snprintf(text, cap, "always");
    else if (p->from_bps == 0)
        (void)snprintf(text, cap, "below %s", below);
    else if (isinf(p->below_bps))
        (void)snprintf(text, cap, "from %s", from);
    else
        (void)snprintf(text, cap, "%s to %s", from, below);
}

static int text_columns(struct advise *a, size_t row, const struct cc_setting *s,
                        const struct candidate *c, struct cc_error *e)
{
    char pays[80];
    pays_text(&c->pays, pays, sizeof pays);
    bool out = c->refused[0] != '\0', raw = strcmp(spec_of(a, c->scheme)->name, "fp32") == 0;
    const struct {
        const char *key, *text;
    } all[] = {{"scheme", spec_of(a, c->scheme)->name},
               {"net", s->net->name},
               {"exchange", cc_exchange_names[s->exchange]},
               {"mode", cc_step_names[s->timing.mode]},
               {"bottleneck", c->p.step_s > 0 ? cc_bottleneck_names[c->p.bottleneck] : NULL},
               {"pays", out || raw ? NULL : pays},
               {"left_out", out ? c->refused : NULL}};
    int status = CC_OK;
    for (size_t i = 0; i < sizeof all / sizeof all[0] && status == CC_OK; i++)
        if (all[i].text != NULL)
            status = cc_record_text(a->record, row, all[i].key, all[i].text, e);
    return status;
}

static void number_columns(struct advise *a, size_t row, const struct cc_setting *s,
                           const struct candidate *c, double fp32_step_s)
{
    struct cc_record *r = a->record;
    const struct cc_prediction *p = &c->p;
    bool known = p->step_s > 0, out = c->refused[0] != '\0';
    const struct {
        const char *key;
        double value; /* NaN and infinity: null */
    } all[] = {{"workers", s->cluster.workers},
               {"servers", s->exchange == CC_PS ? (double)s->cluster.servers : NAN},
               {"bw_bps", s->link.bw_bps},
               {"latency_s", s->link.latency_s},
               {"values", (double)s->net->values},
               {"nmse", a->error[c->scheme].nmse},
               {"nmse_cumulative", a->error[c->scheme].cumulative},
               {"payload_bytes", known ? p->payload_bytes : NAN},
               {"bits_per_value", known ? p->bits_push : NAN},
               {"ratio", known ? 32 / p->bits_push : NAN},
               {"bits_push", known ? p->bits_push : NAN},
               {"bits_pull", known ? p->bits_pull : NAN},
               {"compute_s", known ? p->compute_s : NAN},
               {"codec_s", known ? p->codec_s : NAN},
               {"comm_s", known ? p->comm_s : NAN},
               {"step_s", known ? p->step_s : NAN},
               {"speedup", known ? fp32_step_s / p->step_s : NAN},
               {"pays_from_bps", !out && c->pays.from_bps > 0 ? c->pays.from_bps : NAN},
               {"pays_below_bps", !out && c->pays.ever ? c->pays.below_bps : NAN},
               {"workers_enough", !out && c->saturates > 0 ? (double)c->saturates : NAN}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        cc_record_number(r, row, all[i].key, all[i].value);
}

static int add_rows(struct advise *a, const struct cc_setting *s, const struct candidate *c,
                    size_t ranked, struct cc_error *e)
{
    struct cc_prediction raw;
    int status = cc_predict(&a->predictor, s, &a->raw, &raw, e);
    for (size_t i = 0; i < a->args->schemes.count && status == CC_OK; i++) {
        size_t row = cc_record_add(a->record, e);
        if (row == SIZE_MAX)
            return CC_FAIL;
        if (i < ranked)
            cc_record_number(a->record, row, "rank", (double)i + 1);
        number_columns(a, row, s, &c[i], raw.step_s);
        status = text_columns(a, row, s, &c[i], e);
    }
    return status;
}

static int one_setting(void *arg, const struct cc_setting *given, struct cc_error *e)
{
    struct advise *a = arg;
    struct cc_setting s = *given;
    size_t ranked = 0;
    if (cc_interrupted())
        return CC_OK;
    s.cluster.reduce_byte_s = cc_coders_reduce_byte_s(&a->coders, (double)s.net->values);
    struct candidate *c = cc_alloc0(a->args->schemes.count * sizeof *c, e);
    if (c == NULL)
        return CC_FAIL;
    int status = all_candidates(a, &s, c, &ranked, e);
    if (status == CC_OK)
        status = add_rows(a, &s, c, ranked, e);
    if (status == CC_OK)
        status = cc_advise_notes(a, &s, c, ranked, e);
    free(c);
    return status;
}

/* --- the command --- */

static int make_parcels(struct advise *a, struct cc_error *e)
{
    const struct cc_net *net = a->cluster.net;
    const struct cc_coder *raw = &a->coders.raw;
    a->parcels = cc_alloc0(a->args->schemes.count * sizeof *a->parcels, e);
    if (a->parcels == NULL || cc_parcels_make(net, raw, raw, 0, &a->raw, e) != CC_OK)
        return CC_FAIL;
    for (size_t i = 0; i < a->args->schemes.count; i++)
        if (cc_parcels_make(net, &a->coders.coder[i], raw, a->cluster.min_size, &a->parcels[i],
                            e) != CC_OK)
            return CC_FAIL;
    return CC_OK;
}

/* fp32 is always in question. */
static int take_schemes(struct cc_args *args, struct cc_error *e)
{
    struct cc_spec_list *list = &args->schemes;
    if (list->count == 0)
        return cc_spec_list_parse("all", list, e);
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->item[i]->name, "fp32") == 0)
            return CC_OK;
    return cc_spec_list_parse("fp32", list, e);
}

static int take_limits(struct advise *a, struct cc_error *e)
{
    const char *text = cc_arg(a->args, "max-nmse");
    char *end = NULL;
    a->lossless = cc_arg(a->args, "lossless") != NULL;
    a->max_nmse = 1;
    if (text == NULL)
        return CC_OK;
    a->max_nmse = strtod(text, &end);
    if (end == text || *end != '\0' || !(a->max_nmse >= 0) || isinf(a->max_nmse))
        return cc_usage(e, "--max-nmse: '%s' is not a number from 0 on, as 0.1", text);
    return CC_OK;
}

static void close_advise(struct advise *a)
{
    for (size_t i = 0; a->parcels != NULL && i < a->args->schemes.count; i++)
        cc_parcels_free(&a->parcels[i]);
    free(a->parcels);
    free(a->error);
    free(a->error_source);
    cc_parcels_free(&a->raw);
    cc_predictor_free(&a->predictor);
    cc_coders_free(&a->coders);
    cc_cluster_args_free(&a->cluster);
}

/* Where the figures come from. */
static int note_sources(struct advise *a, struct cc_error *e)
{
    const struct cc_profile *p = &a->coders.profile;
    const struct cc_net *net = a->cluster.net;
    int status = cc_record_note(a->record, e, "codec profile: %s (%s, %s, %s, %s)",
                                a->coders.source, p->trace, p->cpu, p->isa, p->time);
    if (status == CC_OK)
        status = cc_record_note(a->record, e,
                                "errors: of the sums over all steps, measured in this run on %s",
                                a->error_source);
    if (status == CC_OK && cc_arg(a->args, "compute") == NULL)
        status = net->compute_s > 0
                     ? cc_record_note(a->record, e, "compute time: %.4g ms, the preset of %s (%s)",
                                      1e3 * net->compute_s, net->name, net->compute_source)
                     : cc_record_note(a->record, e,
                                      "compute time: 0, as %s has no preset; the advice is better "
                                      "with --compute",
                                      net->name);
    return status;
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct advise a = {.args = args, .record = &args->record};
    int status = take_limits(&a, e);
    if (status == CC_OK)
        status = cc_cluster_args_parse(args, &a.cluster, e);
    if (status == CC_OK)
        status = take_schemes(args, e);
    if (status == CC_OK)
        status = cc_coders_open(args, &args->schemes, &a.coders, e);
    if (status == CC_OK)
        status = make_parcels(&a, e);
    if (status == CC_OK)
        status = cc_advise_measure(&a, e);
    if (status == CC_OK && !cc_interrupted())
        status = cc_cluster_args_each(&a.cluster, one_setting, &a, e);
    if (status == CC_OK && !cc_interrupted())
        status = note_sources(&a, e);
    args->record.partial = cc_interrupted();
    close_advise(&a);
    return status;
}

const struct cc_command cc_command_advise = {
    .name = "advise",
    .summary = "which scheme to use on your network, and what else would help",
    .operands = "",
    .description =
        "Ranks the schemes for a net, a cluster and a network by the predicted time of a step (as "
        "`commcomp model` has it), leaves out those that are too wrong, and says at which "
        "bandwidths each pays, what the bottleneck is, how many workers are enough, and in a "
        "sentence what to do. The errors are measured in the same run.\n\nLists, as in --bw "
        "10mbps,1gbps, give a ranking each.",
    .examples = "  commcomp advise --net resnet50 --bw 10gbps --workers 16\n"
                "  commcomp advise --net resnet50 --bw 100mbps --workers 16 --max-nmse 0.1\n"
                "  commcomp advise --net bert-base --exchange ring --bw 25gbps --lossless\n"
                "  commcomp advise --net my.json --compute 80ms --trace captured --bw wan\n",
    .options = options,
    .columns = columns,
    .takes_schemes = CC_SCHEMES,
    .run = run,
};
