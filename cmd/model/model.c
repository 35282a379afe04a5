/* commcomp model: the time of a training step, by formulas. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/input/carries.h"
#include "cmd/input/source.h"
#include "cmd/model/forecast.h"
#include "cmd/model/solve.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "models/exchange_nccl.h"
#include "models/plain_share.h"
#include "models/sharded.h"

static const struct cc_column columns[] = {
    CC_SETTING_COLUMNS,
    CC_COLUMN(tp, CC_SETTING),
    CC_COLUMN(overhead, CC_SETTING),
    CC_COLUMN(burst_bytes, CC_SETTING, .hidden = true),
    CC_COLUMN(cu_wanted, CC_SETTING),
    CC_COLUMN(bw_required_bps, CC_ANSWER),
    CC_COLUMN(payload_bytes, CC_DETAIL),
    CC_PREDICTION_COLUMNS,
    CC_ERROR_COLUMNS,
    CC_COLUMN(encode_s, CC_DETAIL),
    CC_COLUMN(hop_codec_s, CC_DETAIL),
    CC_COLUMN(server_codec_s, CC_DETAIL),
    CC_COLUMN(decode_s, CC_DETAIL),
    CC_COLUMN(plain_share, CC_DETAIL),
    CC_COLUMN(mixed_s, CC_DETAIL),
    CC_COLUMN(alpha_s, CC_DETAIL),
    CC_COLUMN(transfer_s, CC_DETAIL),
    CC_COLUMN(reduce_s, CC_DETAIL),
    CC_COLUMN(push_s, CC_DETAIL),
    CC_COLUMN(pull_s, CC_DETAIL),
    CC_COLUMN(straggler_wait_s, CC_DETAIL),
    CC_COLUMN(messages, CC_DETAIL),
    CC_COLUMN(rounds, CC_DETAIL),
    CC_COLUMN(wire_bytes, CC_DETAIL),
    CC_COLUMN(bytes_inter, CC_DETAIL),
    CC_COLUMN(bytes_intra, CC_DETAIL),
    CC_SHARDED_COLUMNS(CC_ORIGIN_COMPUTED, CC_PART),
    CC_COLUMN(imbalance, CC_PART),
    CC_COLUMN(fill_in, CC_DETAIL),
    CC_COLUMN(fill_in_uniform, CC_DETAIL),
    CC_COLUMN(chose, CC_PART, .note = "of a step"),
    CC_COLUMN(nccl_choice, CC_PART, .note = "of a message of mean size"),
    CC_COLUMN(efficiency, CC_DETAIL),
    CC_COLUMN(min_size, CC_SETTING, .hidden = true),
    CC_COLUMN(raw_share, CC_SETTING),
    CC_COLUMN(profile, CC_SETTING),
    {.key = NULL},
};

static const struct cc_option_use options[] = {
    CC_CLUSTER_OPTIONS,
    {.rows = cc_verdict_options},
    {.rows = cc_solve_options},
    CC_FIGURES_OPTIONS,
    {.rows = NULL},
};

struct model {
    struct cc_forecast forecast;
    struct cc_solve_options solve;
    struct cc_record *record;
    struct cc_forecast_step *step; /* the schemes' in a setting; room for all of them */
    struct cc_error refused; /* why the first scheme that an exchange cannot carry is left out */
    size_t left_out;
    double off[CC_EXCHANGE_COUNT]; /* by how much rows of an exchange may be off; 0: as any */
    const char *sharded;           /* the last of --system whose rows may be off, or NULL; */
    double sharded_off;            /* the most of all of them */
};

/* --- rows --- */

/* The sum's index-value pairs relative to those that one worker sends; NaN where none are
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

/* Writes what NCCL takes for a message of so many bytes of payload. */
static const char *nccl_text(const struct cc_setting *s, double bytes, enum cc_reduction how,
                             char *out, size_t cap)
{
    const struct cc_nccl_cluster c = cc_nccl_of_cluster(&s->cluster, &s->link);
    const bool sums = how == CC_REDUCE_SUM;
    out[0] = '\0';
    if (c.ranks < 2)
        return out;
    const struct cc_nccl_choice is =
        cc_nccl_choose(&c, sums ? CC_ALLREDUCE : CC_ALL_GATHER, sums ? bytes : c.ranks * bytes);
    (void)snprintf(out, cap, "%s %s", cc_nccl_algorithm_names[is.algorithm],
                   cc_nccl_protocol_names[is.protocol]);
    return out;
}

static int own_columns(struct model *m, size_t row, size_t scheme, const struct cc_setting *s,
                       const struct cc_prediction *p, struct cc_error *e)
{
    char chose[256];
    const bool hosts = cc_cluster_per_host(&s->cluster) > 1;
    bool several = cc_exchange_has(s->exchange, CC_X_SERVERS) && s->cluster.servers > 1;
    const struct cc_number_column all[] = {
        {CC_KEY(overhead), s->link.overhead},
        {CC_KEY(burst_bytes), s->link.burst_bytes},
        {CC_KEY(encode_s), p->encode_s},
        {CC_KEY(hop_codec_s), p->hop_codec_s},
        {CC_KEY(server_codec_s), p->server_codec_s},
        {CC_KEY(decode_s), p->decode_s},
        {CC_KEY(alpha_s), p->latency_s},
        {CC_KEY(transfer_s), p->transfer_s},
        {CC_KEY(reduce_s), p->reduce_s},
        {CC_KEY(push_s), p->push_s},
        {CC_KEY(pull_s), p->pull_s},
        {CC_KEY(straggler_wait_s), s->timing.straggler != CC_STEADY ? p->wait_s : NAN},
        {CC_KEY(messages), p->messages},
        {CC_KEY(rounds), p->rounds},
        {CC_KEY(wire_bytes), round(p->wire_bytes)},
        {CC_KEY(bytes_inter), hosts ? round(p->wire_bytes) : NAN},
        {CC_KEY(bytes_intra), hosts ? round(p->intra_bytes) : NAN},
        {CC_KEY(imbalance), several ? p->imbalance : NAN},
        {CC_KEY(efficiency), p->efficiency},
        {CC_KEY(fill_in), union_growth(m, scheme, s, s->cluster.overlap)},
        {CC_KEY(fill_in_uniform), union_growth(m, scheme, s, CC_UNION_EXPECTED)},
        {CC_KEY(min_size), (double)m->forecast.cluster.min_size},
        {CC_KEY(raw_share), m->forecast.cluster.raw_share}};
    cc_record_numbers(m->record, row, all, sizeof all / sizeof all[0]);
    if (s->exchange == CC_NCCL && p->messages > 0)
        CC_TRY(
            cc_record_text(m->record, row, CC_KEY(nccl_choice),
                           nccl_text(s, p->payload_bytes / p->messages,
                                     m->forecast.payloads[scheme].reduction, chose, sizeof chose),
                           e));
    cc_exchange_counts_print(p->chosen, chose, sizeof chose);
    return chose[0] != '\0' ? cc_record_text(m->record, row, CC_KEY(chose), chose, e) : CC_OK;
}

/* Fills in the best share of plain chunks, where the codec is what takes longer. */
static void plain_share_columns(struct model *m, size_t row, const struct cc_prediction *p,
                                const struct cc_prediction *raw)
{
    const struct cc_busy plain = {.codec_s = raw->codec_s, .comm_s = raw->comm_s};
    const struct cc_plain_share best =
        cc_plain_share_best((struct cc_busy){.codec_s = p->codec_s, .comm_s = p->comm_s}, plain);
    if (p->codec_s > p->comm_s && p->payload_bytes < raw->payload_bytes) {
        cc_record_number(m->record, row, CC_KEY(plain_share), best.share);
        cc_record_number(m->record, row, CC_KEY(mixed_s), best.time_s);
    }
}

/* Adds a row, and the step to m->step[*rows]. `raw` is the step of the same setting without a
 * codec. */
static int add_row(struct model *m, size_t scheme, const struct cc_setting *s,
                   const struct cc_prediction *raw, const struct cc_best *best, size_t *rows,
                   struct cc_error *e)
{
    struct cc_forecast *f = &m->forecast;
    struct cc_prediction p;
    CC_TRY(cc_predict(&f->predictor, s, &f->payloads[scheme], &p, e));
    size_t row;
    if (p.off > CC_EXCHANGE_OFF)
        m->off[s->exchange] = fmax(m->off[s->exchange], p.off);
    const double codecs = cc_sharded_off(s, p.step_s, p.codec_s);
    if (codecs > 0) {
        m->sharded = s->system->name;
        m->sharded_off = fmax(m->sharded_off, codecs);
    }
    CC_TRY(cc_forecast_row(f, m->record, scheme, s, &p, raw->step_s, &row, e));
    CC_TRY(own_columns(m, row, scheme, s, &p, e));
    plain_share_columns(m, row, &p, raw);
    cc_forecast_error_columns(f, m->record, row, scheme, s);
    cc_record_number(m->record, row, CC_KEY(speedup_best),
                     cc_forecast_speedup(best->p.step_s, p.step_s));
    CC_TRY(cc_record_text(m->record, row, CC_KEY(profile), f->codec_models.source, e));
    m->step[(*rows)++] =
        (struct cc_forecast_step){.scheme = scheme,
                                  .row = row,
                                  .step_s = p.step_s,
                                  .speedup = cc_forecast_speedup(raw->step_s, p.step_s),
                                  .bottleneck = cc_bottleneck_names[p.bottleneck]};
    return cc_forecast_consider(f, s, scheme, p.step_s, best, e);
}

/* --- settings --- */

/* Adds a scheme's rows, or notes why it has none. */
static int solve_setting(struct model *m, const struct cc_setting *s, struct cc_error *e)
{
    struct cc_forecast *f = &m->forecast;
    for (size_t i = 0; i < f->schemes->count && !cc_interrupted(); i++) {
        struct cc_error why;
        if (cc_input_carries(s, f->schemes->item[i], &why) == CC_OK)
            CC_TRY(cc_solve_rows(f, &m->solve, m->record, i, s, e));
        else if (m->left_out++ == 0)
            m->refused = why;
    }
    return CC_OK;
}

static int one_setting(void *arg, const struct cc_setting *s, struct cc_error *e)
{
    struct model *m = arg;
    struct cc_forecast *f = &m->forecast;
    struct cc_prediction raw;
    struct cc_best best;
    size_t rows = 0;
    if (cc_interrupted())
        return CC_OK;
    if (m->solve.solve == CC_SOLVE_BW)
        return solve_setting(m, s, e);
    CC_TRY(cc_predict(&f->predictor, s, cc_forecast_plain(f, s), &raw, e));
    CC_TRY(cc_forecast_check_baseline(f, s, e));
    CC_TRY(cc_verdict_best(&f->predictor, s, &f->baseline, &best, e));
    for (size_t i = 0; i < f->schemes->count && !cc_interrupted(); i++) {
        struct cc_error why;
        if (cc_input_carries(s, f->schemes->item[i], &why) == CC_OK)
            CC_TRY(add_row(m, i, s, &raw, &best, &rows, e));
        else if (m->left_out++ == 0)
            m->refused = why;
    }
    CC_TRY(cc_forecast_note_fastest(f, m->record, s, m->step, rows, &best, e));
    if (f->catalogue)
        cc_forecast_shorten(f, m->record, s, m->step, rows);
    return CC_OK;
}

/* Notes the exchanges of which rows may be further off than others. */
static int note_off(const struct model *m, struct cc_error *e)
{
    char list[160] = "";
    for (int x = 0; x < CC_EXCHANGE_COUNT; x++)
        if (m->off[x] > 0)
            cc_list_add(list, sizeof list, ", ", "%s (by up to %.0f%%)", cc_exchange_names[x],
                        100 * m->off[x]);
    if (m->sharded != NULL)
        CC_TRY(
            cc_record_warn(m->record, e,
                           "--system %s: steps may take up to %.0f%% longer: workers wait for "
                           "others whose codecs are at work, which formulas leave out; `commcomp "
                           "sim` simulates that (docs/sharded.md)",
                           m->sharded, 100 * m->sharded_off));
    if (list[0] == '\0')
        return CC_OK;
    return cc_record_warn(
        m->record, e,
        "formulas may be off, as messages and chunks wait for each other in an order that they "
        "do not know: %s; `commcomp sim` simulates that (docs/model.md)",
        list);
}

static int add_notes(struct model *m, struct cc_error *e)
{
    if (m->record->row_count == 0 && !cc_interrupted())
        return cc_usage(e, "%s", m->refused.text);
    CC_TRY(cc_solve_note(&m->solve, &m->forecast, m->record, e));
    if (m->left_out > 0)
        CC_TRY(cc_record_note(m->record, e, "%zu row%s left out: %s%s", m->left_out,
                              m->left_out == 1 ? " is" : "s are", m->refused.text,
                              m->left_out > 1 ? "; likewise the others" : ""));
    CC_TRY(cc_forecast_note_winners(&m->forecast, m->record, e));
    CC_TRY(note_off(m, e));
    return cc_forecast_note_sources(&m->forecast, m->record, e);
}

/* --- the command --- */

static int run(struct cc_args *args, struct cc_error *e)
{
    struct model m = {.record = &args->record};
    int status = CC_OK;
    CC_TRY_OUT(cc_forecast_parse(args, &m.forecast, e));
    CC_TRY_OUT(cc_solve_parse(args, &m.forecast, &m.solve, e));
    CC_TRY_OUT(cc_forecast_load(&m.forecast, m.solve.solve == CC_SOLVE_NOTHING, e));
    CC_TRY_OUT(CC_NEW(m.step, args->schemes.count, e));
    CC_TRY_OUT(cc_cluster_args_each(&m.forecast.cluster, one_setting, &m, e));
    status = add_notes(&m, e);
out:
    m.record->partial = cc_interrupted();
    free(m.step);
    cc_options_free(&m.solve);
    cc_forecast_free(&m.forecast);
    return status;
}

const struct cc_command cc_command_model = {
    .name = "model",
    .summary = "the time of a training step on your network, by formulas",
    .operands = "",
    .description =
        "Predicts the step time of each scheme, its parts, and the speedup over uncompressed "
        "gradients, "
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
        "  commcomp model --net llama2-7b --local-steps 1,30,500 --compute 2s --solve bw --cu "
        "80,95\n"
        "  commcomp model --net my.json --compute 80ms --profile mine.json --bw wan\n",
    .page = "docs/model.md",
    .options = options,
    .columns = columns,
    .takes_schemes = CC_SCHEMES,
    .run = run,
};
