/* Measured rows: the ranks' report, the model's answer to the same question beside it, the record's
 * columns, and the notes on them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/measure/experiment.h"
#include "core/memory.h"
#include "models/sharded.h"
#include "core/stats.h"
#include "netsim/exchange/pack/clocks.h"

/* --- the model's answer --- */

void cc_experiment_use_host(double waking_s, double message_s, struct cc_setting *s)
{
    s->link.latency_s += waking_s;
    if (s->link.message_s == 0)
        s->link.message_s = message_s;
}

int cc_experiment_predict(struct cc_forecast *f, size_t scheme, const struct cc_setting *s,
                          const struct cc_measured *m, struct cc_prediction *out,
                          struct cc_error *e)
{
    struct cc_step_payloads payloads;
    struct cc_measured exchange = *m;
    double *const means[] = {&exchange.push_bytes,      &exchange.pull_bytes,
                             &exchange.push_head_bytes, &exchange.pull_head_bytes,
                             &exchange.codec.encode_s,  &exchange.codec.hop_s,
                             &exchange.codec.server_s,  &exchange.codec.decode_s};
    for (size_t i = 0; i < sizeof means / sizeof *means; i++)
        *means[i] *= (double)cc_experiment_turn(s);
    CC_TRY(cc_step_payloads_measured(s->net, &f->payloads[scheme], f->cluster.raw, &exchange,
                                     &payloads, e));
    const int status = cc_predict(&f->predictor, s, &payloads, out, e);
    cc_step_payloads_free(&payloads);
    return status;
}

struct cc_report_row cc_experiment_per_step(const struct cc_setting *s,
                                            const struct cc_report_row *got)
{
    struct cc_report_row out = *got;
    double *const means[] = {
        &out.compute_s,   &out.update_s,        &out.encode_s,        &out.hop_s,
        &out.server_s,    &out.decode_s,        &out.wait_s,          &out.busy_s,
        &out.messages,    &out.exposed_s,       &out.push_bytes,      &out.push_head_bytes,
        &out.pull_bytes,  &out.given_bytes,     &out.pull_head_bytes, &out.kept_values,
        &out.core_wait_s, &out.core_wait_all_s, &out.intra_bytes};
    for (size_t i = 0; i < sizeof means / sizeof *means; i++)
        *means[i] /= (double)cc_experiment_round(s);
    double *const known[] = {&out.sent_bytes, &out.received_bytes, &out.total_sent_bytes};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        *known[i] /= *known[i] > 0 ? (double)cc_experiment_round(s) : 1;
    return out;
}

/* Predicts a step from what this very row measured: sizes, codec times, the compute time, and what
 * its host needs for a message. */
static int predict(const struct cc_experiment *x, const struct cc_measured_row *to,
                   const struct cc_report_row *got, struct cc_prediction *out, struct cc_error *e)
{
    struct cc_setting setting = to->setting->setting;
    const bool by_tensor = got->tensors == setting.net->count && setting.timing.local.parts <= 1;
    const struct cc_step_payloads *profiled = &x->forecast->payloads[to->row->scheme];
    const int micro_steps = cc_sharded_micro_steps(&setting);
    struct cc_measured m = {
        .push_bytes = got->push_bytes,
        .pull_bytes = got->pull_bytes,
        .encoded_bytes = cc_exchange_encoded_bytes(setting.exchange, &profiled->total,
                                                   profiled->reduction, &setting.cluster),
        .push_head_bytes = got->push_head_bytes,
        .pull_head_bytes = got->pull_head_bytes,
        .tensor_push = by_tensor ? got->tensor_bytes : NULL,
        .tensor_pull = by_tensor && cc_exchange_has(setting.exchange, CC_X_SERVERS)
                           ? got->tensor_pull_bytes
                           : NULL,
        .codec = to->codec};
    /* With stragglers, the measured time is the slowest worker's, and the formula needs the mean; a
     * formula that does not hold knows of no slow hosts. */
    if (setting.timing.straggler == CC_STEADY && to->setting->formula == CC_FORMULA_HOLDS)
        setting.timing.compute_s = got->compute_s / micro_steps;
    if (setting.sharded.collectives.count > 0) {
        m.push_bytes = to->push_bytes;
        m.encoded_bytes = profiled->total.push_bytes;
        m.tensor_push = NULL;
    }
    setting.timing.update_s = got->update_s;
    cc_experiment_use_host(got->waking_s, got->message_s, &setting);
    if (setting.cluster.chunks == CC_CHUNKS_AUTO)
        setting.cluster.chunks = to->row->forecast.chunks;
    return cc_experiment_predict(x->forecast, to->row->scheme, &setting, &m, out, e);
}

/* --- measured rows --- */

/* The mean of sorted steps that lie within a quartile distance of the quartiles, and its standard
 * error. It is not outside the quartiles: at most a quarter of the steps is above the upper one, by
 * no more than the distance, and a quarter is below the lower one. */
static void trimmed_mean(const double *each, const struct cc_stats *s, struct cc_measured_row *m)
{
    const double fence = s->high - s->low;
    double sum = 0, squares = 0;
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++)
        if (each[i] >= s->low - fence && each[i] <= s->high + fence) {
            sum += each[i];
            kept++;
        }
    m->step_s = sum / (double)kept;
    for (size_t i = 0; i < s->count; i++)
        if (each[i] >= s->low - fence && each[i] <= s->high + fence)
            squares += pow(each[i] - m->step_s, 2);
    m->step_s_error = sqrt(squares) / (double)kept;
}

/* Mean, quartiles and standard deviation of the step, over whole periods. Other work on a machine
 * makes a few steps much longer, which do not count; a median would leave out as much of what
 * belongs to the scheme, whose payloads differ in size from step to step. All steps count with
 * stragglers, which belong to the setting, and where the clock is simulated. */
static int average_steps(const struct cc_experiment *x, const struct cc_report_row *got,
                         size_t period, struct cc_measured_row *m, struct cc_error *e)
{
    const size_t periods = got->steps / period;
    double *each;
    CC_TRY(CC_NEW(each, periods, e));
    const double steps = (double)(period * cc_experiment_round(&m->setting->setting));
    for (size_t i = 0; i < periods * period; i++)
        each[i / period] += got->step_s[i] / steps;
    const struct cc_stats s = cc_stats_of(each, periods);
    if (x->ops->exact || m->setting->setting.timing.straggler != CC_STEADY) {
        m->step_s = s.mean;
        m->step_s_error = s.sd / sqrt((double)periods);
    } else {
        trimmed_mean(each, &s, m);
    }
    m->step_s_sd = periods > 1 ? s.sd : NAN;
    m->step_s_q25 = periods > 1 ? s.low : NAN;
    m->step_s_q75 = periods > 1 ? s.high : NAN;
    free(each);
    return CC_OK;
}

/* The number of the `ranks` that work at the same time and share a core. */
static double turns(const struct cc_experiment_setting *s, int ranks)
{
    const struct cc_timing *t = &s->setting.timing;
    const bool together = t->mode == CC_SEQUENTIAL && t->consistency == CC_BULK;
    return s->cores > 0 && together ? fmax(1, (double)ranks / s->cores) : 1;
}

/* The codecs' times until all ranks have done their work: those that share a core take turns. For
 * what workers encode before the first byte leaves, the ranks have measured that. */
static struct cc_codec_times codec_times(const struct cc_experiment_setting *s,
                                         const struct cc_report_row *got)
{
    const double workers = turns(s, s->setting.cluster.workers);
    return (struct cc_codec_times){.encode_s = got->encode_s,
                                   .hop_s = workers * got->hop_s,
                                   .server_s = turns(s, s->setting.cluster.servers) * got->server_s,
                                   .decode_s = workers * got->decode_s};
}

/* Whether what is done with payloads on their way is adding floats or merging pairs, which is the
 * network's part of a step: as cc_job_row_adds has it. */
static bool adds(const struct cc_experiment *x, const struct cc_experiment_setting *s,
                 const struct cc_experiment_row *row)
{
    const enum cc_reduction r = x->forecast->payloads[row->scheme].reduction;
    return r == CC_REDUCE_SUM || s->setting.cluster.via != CC_VIA_HOPS ||
           !cc_exchange_has(s->setting.exchange, CC_X_RECODES) ||
           cc_forecast_is_plain(x->forecast, row->scheme);
}

/* The step of uncompressed gradients in the same setting, which is measured first; NaN if it was
 * not. */
static double plain_step_s(const struct cc_experiment *x, const struct cc_measured_row *m)
{
    const struct cc_setting *s = &m->setting->setting;
    if (cc_experiment_is_plain(x, s, m->row->scheme))
        return m->step_s;
    for (size_t i = x->measured_rows; i-- > 0 && x->measured[i].setting == m->setting;)
        if (cc_experiment_is_plain(x, s, x->measured[i].row->scheme))
            return x->measured[i].step_s;
    return NAN;
}

/* Whether the row's sums do not keep everything. */
static bool prunes(const struct cc_experiment *x, const struct cc_experiment_setting *s,
                   const struct cc_experiment_row *row)
{
    return s->setting.cluster.keep > 0 &&
           x->forecast->payloads[row->scheme].reduction == CC_REDUCE_PAIRS;
}

/* The list "24, 8, 1" of a row's updates by their staleness, and what follows from it. */
static int take_staleness(const struct cc_report_row *got, struct cc_measured_row *m,
                          struct cc_error *e)
{
    enum { DIGITS = 24 };
    uint64_t age[CC_CLOCKS_AGES] = {0};
    const size_t cap = got->ages * DIGITS + 1;
    CC_TRY(CC_NEW(m->staleness_counts, cap, e));
    for (size_t i = 0; i < got->ages && i < CC_CLOCKS_AGES; i++) {
        age[i] = (uint64_t)fmin(got->age[i], 0x1p53);
        cc_list_add(m->staleness_counts, cap, ", ", "%llu", (unsigned long long)age[i]);
    }
    m->staleness = cc_ages_mean(age);
    m->staleness_p95 = cc_ages_quantile(age, 0.95);
    m->updates_per_s = got->updates_per_s;
    if (cc_consistency_is_bounded(m->setting->setting.timing.consistency))
        m->bound_wait_s = got->held_s;
    return CC_OK;
}

/* The bytes that a worker encodes, by its gradients' payload. */
static double encoded_share(const struct cc_experiment *x, const struct cc_experiment_setting *s,
                            const struct cc_experiment_row *row)
{
    const struct cc_step_payloads *p = &x->forecast->payloads[row->scheme];
    return s->setting.sharded.collectives.count > 0
               ? cc_sharded_encoded_share(&s->setting, p)
               : cc_exchange_encoded_share(s->setting.exchange, p->reduction, &s->setting.cluster);
}

int cc_experiment_add_measured(struct cc_experiment *x, const struct cc_experiment_setting *s,
                               const struct cc_report_row *got, struct cc_measured_row **out,
                               struct cc_error *e)
{
    if (got->row >= s->rows)
        return cc_fail(e, "the ranks report row %zu of %zu: is their program of another version?",
                       got->row, s->rows);
    const struct cc_experiment_row *row = &s->row[got->row];
    const struct cc_codec_times codec = codec_times(s, got);
    struct cc_measured_row m = {
        .setting = s,
        .row = row,
        .push_bytes = got->push_bytes / encoded_share(x, s, row),
        .pull_bytes = cc_exchange_has(s->setting.exchange, CC_X_SERVERS) ? got->pull_bytes : NAN,
        .compute_s = got->compute_s + got->update_s,
        .update_s = got->update_s,
        .codec_s =
            codec.encode_s + (adds(x, s, row) ? 0 : codec.hop_s) + codec.server_s + codec.decode_s,
        .reduce_s = adds(x, s, row) ? codec.hop_s : 0,
        .codec = codec,
        .wait_s = got->wait_s,
        .exposed_s = got->exposed_s,
        .messages = got->messages,
        .kept_values = prunes(x, s, row) ? got->kept_values : NAN,
        .applied_error = got->applied_errors > 0 ? got->applied_error[0] : NAN,
        .applied_error_settled = got->applied_errors > 1 ? got->applied_error[1] : NAN,
        .waking_s = got->waking_s,
        .message_s = got->message_s,
        .core_wait_s = got->other_cores >= 0 ? got->core_wait_s : NAN,
        .core_wait_all_s = got->other_cores >= 0 ? got->core_wait_all_s : NAN,
        .other_cores = got->other_cores >= 0 ? got->other_cores : NAN,
        .staleness = NAN,
        .staleness_p95 = NAN,
        .bound_wait_s = NAN,
        .updates_per_s = NAN,
        .model = {.step_s = NAN, .wire_bytes = NAN},
        .peak_bytes = NAN};
    for (size_t i = 0; i < got->collectives && i < CC_MOST_COLLECTIVES; i++)
        m.collective_s[i] = got->collective_s[i];
    (void)snprintf(m.chose, sizeof m.chose, "%s", got->chose != NULL ? got->chose : "");
    if (got->steps < row->period)
        return cc_fail(e, "%s: the ranks report %zu steps instead of %zu",
                       cc_experiment_scheme(x, row), got->steps, row->steps);
    CC_TRY(average_steps(x, got, row->period, &m, e));
    m.comm_s = fmax(0, m.step_s - got->compute_s - got->update_s - m.codec_s);
    m.comm_busy_s = got->busy_s;
    m.speedup = plain_step_s(x, &m) / m.step_s;
    if (cc_experiment_has_formula(s))
        CC_TRY(predict(x, &m, got, &m.model, e));
    m.model_error = (m.step_s - m.model.step_s) / m.step_s;
    CC_TRY(CC_GROW(x->measured, &x->measured_capacity, x->measured_rows + 1, e));
    if (got->ages > 0)
        CC_TRY(take_staleness(got, &m, e));
    *out = &x->measured[x->measured_rows++];
    **out = m;
    return CC_OK;
}

/* --- columns --- */

int cc_experiment_add_row(const struct cc_experiment *x, struct cc_record *r,
                          const struct cc_experiment_setting *s,
                          const struct cc_experiment_row *row, size_t *at, struct cc_error *e)
{
    const struct cc_consistency_args *consistency = &x->forecast->cluster.consistency;
    CC_TRY(cc_forecast_row(x->forecast, r, row->scheme, &s->setting, NULL, 0, at, e));
    const size_t round = cc_experiment_round(&s->setting);
    cc_record_number(r, *at, CC_KEY(warmup), (double)(round * row->warmup));
    cc_record_number(r, *at, CC_KEY(steps), (double)(round * row->steps));
    if (row->forecast.chunks > 1)
        cc_record_number(r, *at, CC_KEY(chunks), row->forecast.chunks);
    if (s->formula == CC_NO_FORMULA) {
        cc_record_number(r, *at, CC_KEY(bw_bps), NAN);
        cc_record_number(r, *at, CC_KEY(latency_s), NAN);
    }
    return consistency->communicate.when == CC_EVERY_STEP
               ? CC_OK
               : cc_consistency_put_communicate(consistency, r, *at, e);
}

/* The formula knows the bottleneck of its own network only. */
static const char *bottleneck(const struct cc_measured_row *m)
{
    return m->setting->formula == CC_FORMULA_HOLDS ? cc_bottleneck_names[m->model.bottleneck]
                                                   : NULL;
}

void cc_experiment_print_parts(struct cc_record *r, size_t at, const struct cc_measured_row *m)
{
    const struct cc_setting *s = &m->setting->setting;
    const double values = (double)s->net->values,
                 type_bits = 8.0 * (double)cc_element_bytes[s->dtype];
    const double bits = 8 * m->push_bytes / values;
    const struct cc_number_column all[] = {{CC_KEY(payload_bytes), m->push_bytes},
                                           {CC_KEY(bits_per_value), bits},
                                           {CC_KEY(ratio), type_bits / bits},
                                           {CC_KEY(bits_push), bits},
                                           {CC_KEY(bits_pull), 8 * m->pull_bytes / values},
                                           {CC_KEY(compute_s), m->compute_s},
                                           {CC_KEY(codec_s), m->codec_s},
                                           {CC_KEY(comm_s), m->comm_s},
                                           {CC_KEY(comm_busy_s), m->comm_busy_s},
                                           {CC_KEY(exposed_s), m->exposed_s},
                                           {CC_KEY(step_s_model), m->model.step_s}};
    cc_record_numbers(r, at, all, sizeof all / sizeof all[0]);
}

int cc_experiment_print_row(struct cc_experiment *x, const struct cc_measured_row *m, size_t *at,
                            struct cc_error *e)
{
    const struct cc_setting *s = &m->setting->setting;
    const bool formula = cc_experiment_has_formula(m->setting);
    const struct cc_number_column all[] = {
        {CC_KEY(kept_values), m->kept_values},
        {CC_KEY(applied_error), m->applied_error},
        {CC_KEY(applied_error_settled), m->applied_error_settled},
        {CC_KEY(added_s), fmax(0, m->step_s - m->compute_s)},
        {CC_KEY(step_s), m->step_s},
        {CC_KEY(cu), cc_step_utilization(m->compute_s, m->step_s)},
        {CC_KEY(step_s_sd), m->step_s_sd},
        {CC_KEY(step_s_q25), m->step_s_q25},
        {CC_KEY(step_s_q75), m->step_s_q75},
        {CC_KEY(speedup), m->speedup},
        {CC_KEY(scaling), cc_forecast_scaling(s->cluster.workers, m->compute_s, m->step_s)},
        {CC_KEY(model_error), m->model_error},
        {CC_KEY(step_s_forecast), formula ? m->row->forecast.step_s : NAN},
        {CC_KEY(encode_s), m->codec.encode_s},
        {CC_KEY(hop_codec_s), m->codec.hop_s - m->reduce_s},
        {CC_KEY(reduce_s), m->reduce_s},
        {CC_KEY(server_codec_s), m->codec.server_s},
        {CC_KEY(decode_s), m->codec.decode_s},
        {CC_KEY(waking_s), m->waking_s},
        {CC_KEY(message_s), m->message_s},
        {CC_KEY(wait_s), m->wait_s},
        {CC_KEY(messages), m->messages},
        {CC_KEY(staleness_mean), m->staleness},
        {CC_KEY(staleness_p95), m->staleness_p95},
        {CC_KEY(bound_wait_s), m->bound_wait_s},
        {CC_KEY(updates_per_s), m->updates_per_s}};
    const struct cc_text_column texts[] = {{CC_KEY(bottleneck), bottleneck(m)},
                                           {CC_KEY(staleness_counts), m->staleness_counts},
                                           {CC_KEY(chose), m->chose}};
    CC_TRY(cc_experiment_add_row(x, x->record, m->setting, m->row, at, e));
    cc_experiment_print_parts(x->record, *at, m);
    cc_record_numbers(x->record, *at, all, sizeof all / sizeof all[0]);
    CC_TRY(cc_forecast_sharded_columns(x->forecast, x->record, *at, m->row->scheme, s,
                                       m->collective_s, e));
    if (x->forecast->errors) {
        const struct cc_accuracy a = cc_forecast_accuracy(x->forecast, s, m->row->scheme);
        cc_record_number(x->record, *at, CC_KEY(sum_error), cc_accuracy_sum_error(&a));
    }
    return cc_record_texts(x->record, *at, texts, sizeof texts / sizeof texts[0], e);
}

int cc_experiment_print_dry_row(const struct cc_experiment *x, struct cc_record *r,
                                const struct cc_experiment_setting *s,
                                const struct cc_experiment_row *row, size_t *at, struct cc_error *e)
{
    const struct cc_prediction *f = &row->forecast;
    const double model = cc_experiment_has_formula(s) ? f->step_s : NAN;
    const struct cc_number_column all[] = {
        {CC_KEY(payload_bytes), f->payload_bytes},
        {CC_KEY(bits_per_value), f->bits_push},
        {CC_KEY(ratio), 8 * (double)cc_element_bytes[s->setting.dtype] / f->bits_push},
        {CC_KEY(bits_push), f->bits_push},
        {CC_KEY(bits_pull),
         cc_exchange_has(s->setting.exchange, CC_X_SERVERS) ? f->bits_pull : NAN},
        {CC_KEY(step_s_model), model},
        {CC_KEY(step_s_forecast), model}};
    CC_TRY(cc_experiment_add_row(x, r, s, row, at, e));
    cc_record_numbers(r, *at, all, sizeof all / sizeof all[0]);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) /* nothing was measured */
        cc_record_origin(r, *at, all[i].key, CC_ORIGIN_COMPUTED);
    return CC_OK;
}

/* --- notes --- */

/* Notes which measured row from `first` on, all of one setting, is fastest. */
static int note_fastest(const struct cc_experiment *x, size_t first, struct cc_error *e)
{
    const size_t count = x->measured_rows - first;
    struct cc_best best;
    struct cc_forecast_step *step;
    CC_TRY(CC_NEW(step, count, e));
    for (size_t i = 0; i < count; i++) {
        const struct cc_measured_row *m = &x->measured[first + i];
        step[i] = (struct cc_forecast_step){.scheme = m->row->scheme,
                                            .step_s = m->step_s,
                                            .speedup = m->speedup,
                                            .bottleneck = bottleneck(m)};
    }
    const struct cc_experiment_setting *s = x->measured[first].setting;
    struct cc_forecast *f = x->forecast;
    const bool known = s->formula == CC_FORMULA_HOLDS;
    int status = CC_OK;
    if (known)
        CC_TRY_OUT(cc_verdict_best(&f->predictor, &s->setting, &f->baseline, &best, e));
    status =
        cc_forecast_note_fastest(f, x->record, &s->setting, step, count, known ? &best : NULL, e);
    for (size_t i = 0; i < count && known && status == CC_OK; i++)
        status = cc_forecast_consider(f, &s->setting, step[i].scheme, step[i].step_s, &best, e);
out:
    free(step);
    return status;
}

/* Writes the rows from `first` on whose model_error is larger than `limit`, as "3lc +2.1%, ...",
 * and returns the largest error of them; 0: there are none. */
static double list_off(const struct cc_experiment *x, size_t first, double limit, char *out,
                       size_t cap)
{
    double worst = 0;
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = first; i < x->measured_rows; i++) {
        const double error = x->measured[i].model_error;
        char item[96];
        if (!(fabs(error) > limit))
            continue;
        const int n = snprintf(item, sizeof item, "%s%.60s %+.1f%%", worst != 0 ? ", " : "",
                               cc_experiment_scheme(x, x->measured[i].row), 100 * error);
        worst = fabs(error) > fabs(worst) ? error : worst;
        if (used + (size_t)n + 5 < cap)
            used += (size_t)snprintf(out + used, cap - used, "%s", item);
        else if (strstr(out, " ...") == NULL)
            (void)snprintf(out + used, cap - used, " ...");
    }
    return worst;
}

int cc_experiment_note_setting(const struct cc_experiment *x, const struct cc_experiment_setting *s,
                               size_t first, struct cc_error *e)
{
    enum { MOST_NOTES = 12 }; /* long lists of settings have the rest in their columns */
    const double limit = x->ops->limit(&s->setting);
    char where[160], rows[240];
    if (x->record == NULL || first == x->measured_rows)
        return CC_OK;
    CC_TRY(note_fastest(x, first, e));
    const double worst = list_off(x, first, limit, rows, sizeof rows);
    if (worst == 0 || x->record->note_count >= MOST_NOTES)
        return CC_OK;
    const char *cause = x->ops->cause(x->arg, s, first, worst);
    cc_forecast_place(&s->setting, where, sizeof where);
    if (s->formula == CC_FORMULA_ELSEWHERE)
        return cc_record_warn(x->record, e,
                              "%s: the formula assumes equal hosts on one switch; here %s. The "
                              "difference: %s",
                              where, cause, rows);
    return cc_record_warn(x->record, e,
                          "%s: %s and model differ by more than %.0f%%: %s; suspect: %s", where,
                          x->ops->exact ? "simulation" : "measured", 100 * limit, rows, cause);
}

/* The trace, and which of its steps and streams the rows used. */
static int note_trace(const struct cc_experiment *x, const struct cc_trace *t, struct cc_record *r,
                      struct cc_error *e)
{
    const size_t have = x->input->trace_steps;
    size_t used = 0, workers = 0, streams = 0;
    for (size_t i = 0; i < cc_trace_streams(t); i++)
        streams += cc_trace_stream(t, i).direction == CC_PUSH;
    for (size_t i = 0; i < x->settings; i++) {
        const struct cc_experiment_setting *s = &x->setting[i];
        workers = cc_larger(workers, (size_t)s->setting.cluster.workers);
        for (size_t k = 0; k < s->rows; k++)
            used = cc_larger(used, s->row[k].warmup + s->row[k].steps);
    }
    char part[64] = "";
    if (workers < streams)
        (void)snprintf(part, sizeof part, " of %zu of its %zu workers", workers, streams);
    if (used < have)
        return cc_record_note(r, e, "gradients: %s, the first %zu of its %zu steps%s",
                              cc_trace_name(t), used, have, part);
    return cc_record_note(r, e, "gradients: %s, %zu step%s%s", cc_trace_name(t), have,
                          have == 1 ? "" : "s", part);
}

int cc_experiment_note_gradients(const struct cc_experiment *x, struct cc_record *r,
                                 struct cc_error *e)
{
    const struct cc_experiment_input *in = x->input;
    const struct cc_trace *t = in->forecast.cluster.trace;
    if (t != NULL)
        return note_trace(x, t, r, e);
    const struct cc_source_options *drawn = &in->forecast.cluster.source;
    const double nonzeros = cc_experiment_nonzeros(in);
    if (nonzeros < 1)
        return cc_record_note(r, e, "gradients: synthetic, %s, of which %.6g%% are not zero (%s)",
                              cc_distribution_names[drawn->distribution], 100 * nonzeros,
                              cc_indices_names[drawn->indices]);
    return cc_record_note(r, e, "gradients: synthetic, %s (--trace: your own)",
                          cc_distribution_names[drawn->distribution]);
}
