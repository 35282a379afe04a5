/* commcomp model: the time of a training step, by formulas. */
#include <math.h>
#include <stdlib.h>

#include "cmd/input/carries.h"
#include "cmd/input/source.h"
#include "cmd/model/forecast.h"
#include "core/interrupt.h"
#include "core/memory.h"

static const struct cc_column columns[] = {
    CC_SETTING_COLUMNS,
    {"overhead", NULL, "", "%.4f", 0, "header bytes on the wire for each byte of payload",
     CC_SETTING},
    {"burst_bytes", NULL, "", "%.0f", 0, "size of the token bucket that shapes the link; 0: none",
     CC_SETTING},
    {"payload_bytes", "payload", "kB", "%.2f", 1e-3,
     "bytes of a worker's push per step, scale factors included (mean over whole periods of the "
     "scheme)",
     CC_DETAIL},
    CC_PREDICTION_COLUMNS,
    CC_ERROR_COLUMNS,
    {"encode_s", NULL, "s", "%.6g", 0, "part of codec_s: the worker encodes", CC_DETAIL},
    {"hop_codec_s", NULL, "s", "%.6g", 0, "part of codec_s: decode, add, encode between hops",
     CC_DETAIL},
    {"server_codec_s", NULL, "s", "%.6g", 0,
     "part of codec_s: the busiest server decodes every push and encodes once", CC_DETAIL},
    {"decode_s", NULL, "s", "%.6g", 0, "part of codec_s: the worker decodes what comes back",
     CC_DETAIL},
    {"alpha_s", NULL, "s", "%.6g", 0, "part of comm_s: latencies", CC_DETAIL},
    {"transfer_s", NULL, "s", "%.6g", 0, "part of comm_s: bytes over bandwidth", CC_DETAIL},
    {"reduce_s", NULL, "s", "%.6g", 0, "part of comm_s: adding floats, merging pairs", CC_DETAIL},
    {"push_s", NULL, "s", "%.6g", 0, "part of comm_s towards the server, or all of it", CC_DETAIL},
    {"pull_s", NULL, "s", "%.6g", 0, "part of comm_s back from the server", CC_DETAIL},
    {"wait_s", NULL, "s", "%.6g", 0, "time that a worker waits for slower ones, with stragglers",
     CC_DETAIL},
    {"messages", NULL, "", "%.6g", 0, "sent per step by the busiest host", CC_DETAIL},
    {"rounds", NULL, "", "%.6g", 0, "messages one after another on the critical path of a step",
     CC_DETAIL},
    {"wire_bytes", NULL, "", "%.0f", 0, "sent per step by the busiest host, headers included",
     CC_DETAIL},
    {"imbalance", "imbalance", "", "%.3f", 0,
     "bytes at the busiest server / mean over the servers; empty with one server", CC_PART},
    {"fill_in", NULL, "", "%.4g", 0,
     "sparse exchanges: index-value pairs of the sum over all workers / those of one worker, by "
     "--union",
     CC_DETAIL},
    {"fill_in_uniform", NULL, "", "%.4g", 0, "the same of uniform indices", CC_DETAIL},
    {"chose", "chose", "", NULL, 0,
     "ssar-auto: for each exchange that it takes, the number of messages of a step", CC_PART},
    {"efficiency", NULL, "", "%.4f", 0, "compute_s / step_s: Pipe-SGD's scaling efficiency",
     CC_DETAIL},
    {"min_size", NULL, "", "%.0f", 0,
     "tensors with fewer values are sent as fp32, and count as such", CC_SETTING},
    {"raw_share", NULL, "", "%.6g", 0,
     "share of the values that travels as fp32, by --min-size and --raw-share", CC_SETTING},
    {"profile", NULL, "", NULL, 0, "where sizes and times of the codecs come from", CC_SETTING},
    {.key = NULL},
};

static const struct cc_option options[] = {
    CC_CLUSTER_OPTIONS, CC_VERDICT_OPTIONS, CC_FIGURES_OPTIONS, CC_SKIP_OPTION, {.name = NULL},
};

struct model {
    struct cc_forecast forecast;
    struct cc_record *record;
    struct cc_forecast_step *step; /* of the schemes in a setting; room for all of them */
    struct cc_error refused; /* why the first scheme that an exchange cannot carry is left out */
    size_t left_out;
};

/* --- rows --- */

/* How many times as many index-value pairs as one worker sends the sum has; NaN where none are
 * merged. */
static double union_growth(const struct model *m, size_t scheme, const struct cc_setting *s,
                           enum cc_union overlap)
{
    const struct cc_step_payloads *p = &m->forecast.payloads[scheme];
    struct cc_cluster c = s->cluster;
    if (p->reduction != CC_REDUCE_PAIRS || !cc_exchange_has(s->exchange, CC_X_MERGES))
        return NAN;
    c.overlap = overlap;
    c.unions = &p->unions;
    return cc_union_size(&c, p->total.values, p->total.pairs, c.workers) / p->total.pairs;
}

/* The columns that only this command has. */
static int own_columns(struct model *m, size_t row, size_t scheme, const struct cc_setting *s,
                       const struct cc_prediction *p, struct cc_error *e)
{
    char chose[256];
    bool several = cc_exchange_has(s->exchange, CC_X_SERVERS) && s->cluster.servers > 1;
    const struct cc_number_column all[] = {
        {"overhead", s->link.overhead},
        {"burst_bytes", s->link.burst_bytes},
        {"encode_s", p->encode_s},
        {"hop_codec_s", p->hop_codec_s},
        {"server_codec_s", p->server_codec_s},
        {"decode_s", p->decode_s},
        {"alpha_s", p->latency_s},
        {"transfer_s", p->transfer_s},
        {"reduce_s", p->reduce_s},
        {"push_s", p->push_s},
        {"pull_s", p->pull_s},
        {"wait_s", s->timing.straggler != CC_STEADY ? p->wait_s : NAN},
        {"messages", p->messages},
        {"rounds", p->rounds},
        {"wire_bytes", round(p->wire_bytes)},
        {"imbalance", several ? p->imbalance : NAN},
        {"efficiency", p->efficiency},
        {"fill_in", union_growth(m, scheme, s, s->cluster.overlap)},
        {"fill_in_uniform", union_growth(m, scheme, s, CC_UNION_EXPECTED)},
        {"min_size", (double)m->forecast.cluster.min_size},
        {"raw_share", m->forecast.cluster.raw_share}};
    cc_record_numbers(m->record, row, all, sizeof all / sizeof all[0]);
    cc_exchange_counts_print(p->chosen, chose, sizeof chose);
    return chose[0] != '\0' ? cc_record_text(m->record, row, "chose", chose, e) : CC_OK;
}

/* Adds a row, and the step to m->step[*rows]. */
static int add_row(struct model *m, size_t scheme, const struct cc_setting *s, double fp32_step_s,
                   const struct cc_best *best, size_t *rows, struct cc_error *e)
{
    struct cc_forecast *f = &m->forecast;
    struct cc_prediction p;
    CC_TRY(cc_predict(&f->predictor, s, &f->payloads[scheme], &p, e));
    const size_t row = cc_forecast_row(f, m->record, scheme, s, &p, fp32_step_s, e);
    if (row == SIZE_MAX)
        return CC_FAIL;
    CC_TRY(own_columns(m, row, scheme, s, &p, e));
    cc_forecast_error_columns(f, m->record, row, scheme, s);
    cc_record_number(m->record, row, "speedup_best", cc_forecast_speedup(best->p.step_s, p.step_s));
    CC_TRY(cc_record_text(m->record, row, "profile", f->codec_models.source, e));
    m->step[(*rows)++] =
        (struct cc_forecast_step){.scheme = scheme,
                                  .step_s = p.step_s,
                                  .speedup = cc_forecast_speedup(fp32_step_s, p.step_s),
                                  .bottleneck = cc_bottleneck_names[p.bottleneck]};
    return cc_forecast_consider(f, s, scheme, p.step_s, best, e);
}

/* --- settings --- */

static int one_setting(void *arg, const struct cc_setting *s, struct cc_error *e)
{
    struct model *m = arg;
    struct cc_forecast *f = &m->forecast;
    struct cc_prediction raw;
    struct cc_best best;
    size_t rows = 0;
    if (cc_interrupted())
        return CC_OK;
    CC_TRY(cc_predict(&f->predictor, s, &f->raw, &raw, e));
    CC_TRY(cc_input_carries(s, f->baseline_scheme.item[0], e));
    CC_TRY(cc_verdict_best(&f->predictor, s, &f->baseline, &best, e));
    for (size_t i = 0; i < f->schemes->count && !cc_interrupted(); i++) {
        struct cc_error why;
        if (cc_input_carries(s, f->schemes->item[i], &why) == CC_OK)
            CC_TRY(add_row(m, i, s, raw.step_s, &best, &rows, e));
        else if (m->left_out++ == 0)
            m->refused = why;
    }
    return cc_forecast_note_fastest(f, m->record, s, m->step, rows, &best, e);
}

static int add_notes(struct model *m, struct cc_error *e)
{
    if (m->record->row_count == 0 && !cc_interrupted())
        return cc_usage(e, "%s", m->refused.text);
    if (m->left_out > 0)
        CC_TRY(cc_record_note(m->record, e, "%zu rows are left out: %s%s", m->left_out,
                              m->refused.text, m->left_out > 1 ? "; likewise the others" : ""));
    CC_TRY(cc_forecast_note_winners(&m->forecast, m->record, e));
    return cc_forecast_note_sources(&m->forecast, m->record, e);
}

/* --- the command --- */

static int run(struct cc_args *args, struct cc_error *e)
{
    struct model m = {.record = &args->record};
    int status = CC_OK;
    CC_TRY_OUT(cc_forecast_parse(args, CC_SYSTEM_PS, &m.forecast, e));
    CC_TRY_OUT(cc_forecast_load(&m.forecast, true, e));
    m.step = cc_alloc(args->schemes.count * sizeof *m.step, e);
    if (m.step == NULL) {
        status = CC_FAIL;
        goto out;
    }
    CC_TRY_OUT(cc_forecast_each(&m.forecast, one_setting, &m, e));
    status = add_notes(&m, e);
out:
    m.record->partial = cc_interrupted();
    free(m.step);
    cc_forecast_free(&m.forecast);
    return status;
}

const struct cc_command cc_command_model = {
    .name = "model",
    .summary = "the time of a training step on your network, by formulas",
    .operands = "",
    .description =
        "Predicts the step time of each scheme, its parts, and the speedup over 32-bit floats, "
        "from the net's tensors, the cluster, the exchange's formula and the codecs' profile. "
        "docs/model.md has every formula with its source.\n\n--bw, --latency, --workers, "
        "--servers and --exchange take lists: a row for every combination. Without --scheme, the "
        "whole catalogue.",
    .examples =
        "  commcomp model --bw 10mbps                          # every scheme, ten workers\n"
        "  commcomp model --net resnet50 --bw 1gbps,10gbps,25gbps --workers 4,16,64 "
        "--scheme paper\n"
        "  commcomp model --net bert-base --exchange ring,rabenseifner --bw infiniband\n"
        "  commcomp model --net resnet50 --system ddp --bw 10gbps --device a100 --batch 256\n"
        "  commcomp model --net vgg16 --servers 4 --placement lpt --mode overlap\n"
        "  commcomp model --exchange ssar-split,dsar-split --scheme topk,dgc,fp32\n"
        "  commcomp model --stragglers lognormal --consistency stale --staleness 3\n"
        "  commcomp model --net my.json --compute 80ms --profile mine.json --bw wan\n",
    .options = options,
    .columns = columns,
    .takes_schemes = CC_SCHEMES,
    .run = run,
};
