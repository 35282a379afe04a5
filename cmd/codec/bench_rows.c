/* The rows of `commcomp bench`, and the notes under them that name the best schemes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/limits.h"
#include "cmd/codec/bench.h"
#include "cmd/input/source.h"
#include "core/cache.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/stats.h"
#include "core/trace/trace_dtype.h"
#include "core/units.h"
#include "models/verdict.h"

/* --- rows --- */

/* One row: a scheme over a step, or over one tensor. Numbers are NAN (null in the record) where
 * they are not finite, or were not measured. */
struct row {
    const char *scheme;
    const char *tensor;   /* NULL: the whole step */
    enum cc_element type; /* the gradients' */
    struct cc_settled settled;
    struct cc_quality q;
    double state_bytes, scratch_bytes;
    double bits_per_value, ratio, cosine;
    struct cc_update_error error; /* the whole step's */
    bool by_shape;                /* drawn gradients do not tell its error */
    bool local;                   /* sends in some steps only */
    bool sparse;                  /* decode_add touches only the values that the payload lists */
    double clock;                 /* GHz */
    size_t samples;               /* 0: no speeds */
    size_t outliers;
    struct row_speed {
        double gb_per_s, min, max, low, high; /* median, extremes and quartiles */
        double spread; /* half the distance of the times' quartiles, relative to the median */
        double limit, roofline, l1, l1_share;
        double speedup, moved;
    } call[CC_CALLS];
};

static double finite_or_nan(double v)
{
    return isfinite(v) ? v : (double)NAN;
}

/* A figure that is 0 where it is not known, as NAN there. */
static double positive_or_nan(double v)
{
    return v > 0 ? v : (double)NAN;
}

/* Exact decoding has no error, also of zeros; NAN where the sums overflow. */
static double error_ratio(double error, double of)
{
    return error == 0 ? 0 : isfinite(of) ? error / of : (double)NAN;
}

static void set_quality(struct row *row, const struct cc_quality *q, enum cc_element type)
{
    const double all_values = (double)q->values * (double)q->steps,
                 bytes = (double)q->payload_bytes;
    const double cosine = q->sums.dot / sqrt(q->sums.output_sq) / sqrt(q->sums.raw_sq);
    row->q = *q;
    row->bits_per_value = finite_or_nan(8 * bytes / all_values);
    row->ratio = finite_or_nan((double)cc_element_bytes[type] * all_values / bytes);
    /* Rounding may leave it a last digit over 1. */
    row->cosine = isnan(cosine) ? (double)NAN : fmax(-1, fmin(1, cosine));
}

/* From the seconds of the samples, which are sorted. Limits are of 4 bytes a value: what encoding
 * reads may have 2. */
static void set_speed(struct row *row, enum cc_call call, double *seconds, size_t samples,
                      const struct cc_call_limits *limits)
{
    const struct cc_stats s = cc_stats_of(seconds, samples);
    const double width = call == CC_ENCODE ? (double)cc_element_bytes[row->type] : 4;
    const double values = 1e-9 * (double)row->q.values, bytes = width * values;
    const double gb_per_s = bytes / s.median;
    const double memory = positive_or_nan(limits->memory * width / 4);
    const double l1 = positive_or_nan(limits->l1 * width / 4);
    row->samples = samples;
    row->outliers += s.outliers;
    row->call[call] = (struct row_speed){.gb_per_s = finite_or_nan(gb_per_s),
                                         .min = bytes / s.max,
                                         .max = bytes / s.min,
                                         .low = bytes / s.high,
                                         .high = bytes / s.low,
                                         .spread = cc_stats_spread(&s) / 2,
                                         .limit = memory,
                                         .roofline = gb_per_s / memory,
                                         .l1 = l1,
                                         .l1_share = gb_per_s / l1,
                                         .speedup = (double)NAN,
                                         .moved = limits->moved * values / s.median};
}

static void add_memory(struct row *row, const struct cc_bench_run *b, size_t scheme, size_t tensor)
{
    const struct cc_codec_item item = cc_bench_codec(&b->config, scheme, tensor);
    row->state_bytes += (double)cc_state_bytes(&item.codec);
    row->scratch_bytes = fmax(row->scratch_bytes, (double)cc_scratch_bytes(&item.codec));
}

static struct row tensor_row(const struct cc_bench_run *b, size_t scheme, size_t tensor,
                             const struct cc_quality *q, const struct cc_speed *speed)
{
    struct row row = {.tensor = cc_trace_tensor(b->config.trace, tensor)->name,
                      .type = cc_trace_element(b->config.trace),
                      .error = cc_update_error_unknown()};
    static const struct cc_call_limits unknown = {.moved = (double)NAN};
    const size_t at = scheme * speed->tensors + tensor;
    set_quality(&row, q, row.type);
    add_memory(&row, b, scheme, tensor);
    for (int c = 0; c < CC_CALLS && speed->samples > 0 && row.q.values > 0; c++)
        set_speed(&row, (enum cc_call)c, &speed->tensor_seconds[c][at * speed->most],
                  speed->taken[scheme], &unknown);
    return row;
}

static struct row step_row(const struct cc_bench_run *b, size_t scheme, const struct cc_quality *q,
                           const struct cc_update_error *error, const struct cc_speed *speed)
{
    const struct cc_spec *spec = b->config.schemes->item[scheme];
    struct row row = {.type = cc_trace_element(b->config.trace),
                      .error = *error,
                      .local = cc_period(spec->scheme, spec->params) > 1,
                      .by_shape = isnan(error->error) && cc_update_error_by_shape(spec),
                      .sparse = (spec->scheme->flags & CC_SPARSE) != 0};
    struct cc_quality all = {0};
    for (size_t t = 0; t < cc_trace_tensors(b->config.trace); t++) {
        cc_quality_add(&all, &q[t]);
        add_memory(&row, b, scheme, t);
    }
    set_quality(&row, &all, row.type);
    if (speed->samples == 0 || row.q.values == 0)
        return row;
    const struct cc_scheme_limits *limits = &speed->limit[scheme];
    for (int c = 0; c < CC_CALLS; c++)
        set_speed(&row, (enum cc_call)c, &speed->seconds[c][scheme * speed->most],
                  speed->taken[scheme], &limits->call[c]);
    row.clock = positive_or_nan(limits->clock);
    return row;
}

/* Compares with the first number of threads of the list; the list's first rows are what others are
 * compared with. */
static void set_speedup(const struct cc_bench_run *b, size_t scheme, struct row *row)
{
    const bool first = (size_t)b->config.threads == b->options.threads[0];
    for (int c = 0; c < CC_CALLS && row->samples > 0; c++) {
        double *base = &b->first[scheme * CC_CALLS + (size_t)c];
        *base = first ? row->call[c].gb_per_s : *base;
        row->call[c].speedup = row->call[c].gb_per_s / *base;
    }
}

/* The speeds of a call in its columns. */
/* clang-format off */
#define CALL_COLUMNS(call, s)                                                                      \
    {                                                                                              \
        {CC_KEY(call##_gb_per_s), (s).gb_per_s},                                                   \
        {CC_KEY(call##_gb_per_s_min), (s).min},                                                    \
        {CC_KEY(call##_gb_per_s_max), (s).max},                                                    \
        {CC_KEY(call##_gb_per_s_q25), (s).low},                                                    \
        {CC_KEY(call##_gb_per_s_q75), (s).high},                                                   \
        {CC_KEY(call##_spread), (s).spread},                                                       \
        {CC_KEY(call##_roofline), (s).roofline},                                                   \
        {CC_KEY(call##_limit_gb_per_s), (s).limit},                                                \
        {CC_KEY(call##_l1_share), (s).l1_share},                                                   \
        {CC_KEY(call##_l1_gb_per_s), (s).l1},                                                      \
        {CC_KEY(call##_moved_gb_per_s), (s).moved},                                                \
        {CC_KEY(call##_speedup), (s).speedup}                                                      \
    }
/* clang-format on */

static void print_calls(struct cc_record *r, size_t at, const struct row_speed call[CC_CALLS])
{
    const struct cc_number_column all[CC_CALLS][12] = {
        [CC_ENCODE] = CALL_COLUMNS(encode, call[CC_ENCODE]),
        [CC_DECODE] = CALL_COLUMNS(decode, call[CC_DECODE]),
        [CC_DECODE_ADD] = CALL_COLUMNS(decode_add, call[CC_DECODE_ADD])};
    for (int c = 0; c < CC_CALLS; c++)
        cc_record_numbers(r, at, all[c], sizeof all[c] / sizeof all[c][0]);
}

static void print_error(struct cc_record *r, size_t at, const struct cc_update_error *error)
{
    const struct cc_number_column all[] = {
        {CC_KEY(error), error->error},     {CC_KEY(error_low), error->low},
        {CC_KEY(error_high), error->high}, {CC_KEY(delay), error->delay},
        {CC_KEY(late), error->late},       {CC_KEY(noise), error->noise},
        {CC_KEY(bias), error->bias},       {CC_KEY(variance), error->variance}};
    cc_record_numbers(r, at, all, sizeof all / sizeof all[0]);
    if (!isnan(error->error))
        cc_record_bool(r, at, CC_KEY(error_settled), error->settled);
}

static int print_row(const struct cc_bench_run *b, const struct row *row, struct cc_error *e)
{
    struct cc_record *r = b->record;
    const struct cc_quality *q = &row->q;
    const double values = (double)q->values;
    const double entropy = q->entropy_bits / (values * (double)q->steps);
    char stream[48];
    size_t at;
    CC_TRY(cc_record_add(r, &at, e));
    cc_trace_stream_name(b->config.trace, b->config.stream, stream, sizeof stream);
    const struct cc_text_column texts[] = {{CC_KEY(scheme), row->scheme},
                                           {CC_KEY(tensor), row->tensor},
                                           {CC_KEY(stream), stream},
                                           {CC_KEY(trace), cc_trace_name(b->config.trace)},
                                           {CC_KEY(dtype), cc_element_names[row->type]}};
    const struct cc_number_column all[] = {
        {CC_KEY(values), values},
        {CC_KEY(steps), (double)q->steps},
        {CC_KEY(passes), (double)row->settled.passes},
        {CC_KEY(payload_bytes), (double)q->payload_bytes / (double)q->steps},
        {CC_KEY(bits_per_value), row->bits_per_value},
        {CC_KEY(ratio), row->ratio},
        {CC_KEY(entropy_bits), entropy},
        {CC_KEY(of_limit), entropy / row->bits_per_value},
        {CC_KEY(state_bytes_per_value), row->state_bytes / values},
        {CC_KEY(scratch_bytes_per_value), row->scratch_bytes / values},
        {CC_KEY(nmse), error_ratio(q->sums.error_sq, q->sums.raw_sq)},
        {CC_KEY(nmse_cumulative), error_ratio(q->cumulative_error_sq, q->cumulative_raw_sq)},
        {CC_KEY(cosine), row->cosine},
        {CC_KEY(max_abs_error), q->sums.max_error},
        {CC_KEY(threads), b->config.threads},
        {CC_KEY(min_size), (double)b->config.min_size},
        {CC_KEY(seed), (double)b->config.seed}};
    CC_TRY(cc_record_texts(r, at, texts, sizeof texts / sizeof texts[0], e));
    cc_record_numbers(r, at, all, sizeof all / sizeof all[0]);
    print_error(r, at, &row->error);
    if (b->source.skip)
        cc_record_number(r, at, CC_KEY(skipped_steps),
                         (double)cc_trace_skipped(b->config.trace, NULL));
    if (!row->settled.unknown)
        cc_record_bool(r, at, CC_KEY(settled), row->settled.settled);
    if (row->samples == 0)
        return CC_OK;
    if (row->tensor == NULL)
        CC_TRY(cc_record_text(r, at, CC_KEY(place),
                              cc_limit_place_names[cc_limits_place(b->config.trace)], e));
    cc_record_number(r, at, CC_KEY(samples), (double)row->samples);
    cc_record_number(r, at, CC_KEY(outliers), (double)row->outliers);
    if (row->tensor == NULL)
        cc_record_number(r, at, CC_KEY(clock_ghz), row->clock);
    print_calls(r, at, row->call);
    return CC_OK;
}

/* --- the notes --- */

/* A scheme that saves less does not compress. */
#define LEAST_RATIO 1.05

/* An error that rounds to 1.00, that of sending nothing, or is larger: such a scheme is useless. */
#define USELESS_ERROR (0.995 * CC_VERDICT_MAX_ERROR)

/* "0.556 bits a value pushed (57.6x)" */
static void size_text(const struct row *row, const char *direction, char *out, size_t cap)
{
    char bits[32], ratio[32];
    (void)snprintf(bits, sizeof bits, row->bits_per_value < 1e-3 ? "%.2g" : "%.3f",
                   row->bits_per_value);
    (void)snprintf(ratio, sizeof ratio, row->ratio < 1e4 ? "%.1f" : "%.2g", row->ratio);
    (void)snprintf(out, cap, "%s bits a value %s (%sx)", bits, direction, ratio);
}

/* GB/s of encoding and decoding one after the other; NAN without speeds. */
static double round_trip(const struct row *row)
{
    return row->samples == 0
               ? (double)NAN
               : 1 / (1 / row->call[CC_ENCODE].gb_per_s + 1 / row->call[CC_DECODE].gb_per_s);
}

static int note_row(const struct cc_bench_run *b, const char *title, const struct row *row,
                    const char *remark, struct cc_error *e)
{
    char speed[96] = "", stream[48], error[32] = "", size[96];
    const struct cc_trace_sender of = cc_trace_stream(b->config.trace, b->config.stream);
    cc_trace_stream_name(b->config.trace, b->config.stream, stream, sizeof stream);
    if (!isnan(round_trip(row)))
        (void)snprintf(speed, sizeof speed, ", encodes %.2f GB/s, decodes %.2f GB/s",
                       row->call[CC_ENCODE].gb_per_s, row->call[CC_DECODE].gb_per_s);
    if (!isnan(row->error.error))
        (void)snprintf(error, sizeof error, ", error %.2g", row->error.error);
    else if (row->by_shape)
        (void)snprintf(error, sizeof error, ", error not known");
    size_text(row, of.direction == CC_PULL ? "pulled" : "pushed", size, sizeof size);
    return cc_record_note_at(b->record, CC_NOTE_ANSWER, e, "%s%s%s%s: %s%s%s%s",
                             b->streams > 1 ? stream : "", b->streams > 1 ? ", " : "", title,
                             row->scheme, size, error, speed, remark);
}

/* Local steps change what is computed, which no error of a sum shows: such schemes are not compared
 * by theirs. */
static bool has_error(const struct row *r)
{
    return !r->local && !isnan(r->error.error);
}

static bool is_faster(const struct row *a, const struct row *b)
{
    return !isnan(round_trip(a)) && (b == NULL || round_trip(a) > round_trip(b));
}

/* Lists the other schemes with the error of `least`: "; the same error: zstd, lz4". */
static void same_error_text(const struct row *row, size_t rows, const struct row *least, char *out,
                            size_t cap)
{
    out[0] = '\0';
    for (size_t i = 0; i < rows; i++)
        if (&row[i] != least && row[i].ratio > LEAST_RATIO && has_error(&row[i]) &&
            row[i].error.error == least->error.error)
            cc_list_add(out, cap, ", ", "%s%s", out[0] == '\0' ? "; the same error: " : "",
                        row[i].scheme);
}

/* Names the schemes that are smaller than `smallest`, and as far off as sending nothing. */
static int note_useless(const struct cc_bench_run *b, const struct row *row, size_t rows,
                        const struct row *smallest, struct cc_error *e)
{
    char list[300] = "";
    for (size_t i = 0; i < rows; i++)
        if (row[i].error.error >= USELESS_ERROR && row[i].ratio > smallest->ratio)
            cc_list_add(list, sizeof list, ", ", "%s (%.3g bits, error %.3g)", row[i].scheme,
                        row[i].bits_per_value, row[i].error.error);
    if (list[0] == '\0')
        return CC_OK;
    return cc_record_note(b->record, e,
                          "smaller, but with an error of 1, that of sending nothing, or more: %s",
                          list);
}

/* Notes the smallest, the fastest and the one with the least error of the schemes that compress, do
 * not decode to zeros only, and are less far off than sending nothing. The fastest of several with
 * the least error is named first. After an interrupt, another one might have been. */
static int note_best(const struct cc_bench_run *b, const struct row *row, size_t rows,
                     struct cc_error *e)
{
    const struct row *smallest = NULL, *fastest = NULL, *least = NULL;
    char same[200];
    for (size_t i = 0; i < rows; i++) {
        const struct row *r = &row[i];
        if (!(r->ratio > LEAST_RATIO) || isnan(r->cosine) || r->error.error >= USELESS_ERROR)
            continue;
        if (smallest == NULL || r->ratio > smallest->ratio)
            smallest = r;
        if (is_faster(r, fastest))
            fastest = r;
        if (has_error(r) && (least == NULL || r->error.error < least->error.error ||
                             (r->error.error == least->error.error && is_faster(r, least))))
            least = r;
    }
    if (rows == 1 && !cc_interrupted())
        return note_row(b, "", row, "", e);
    if (rows < 2 || smallest == NULL || cc_interrupted())
        return CC_OK;
    CC_TRY(note_row(b, "smallest     ", smallest, "", e));
    CC_TRY(note_useless(b, row, rows, smallest, e));
    if (fastest != NULL)
        CC_TRY(note_row(b, "fastest      ", fastest, "", e));
    if (least == NULL)
        return CC_OK;
    same_error_text(row, rows, least, same, sizeof same);
    return note_row(b, "least error  ", least, same, e);
}

static int note_unknown(const struct cc_bench_run *b, const struct row *row, size_t rows,
                        struct cc_error *e)
{
    char list[300] = "";
    size_t passes = 0;
    for (size_t i = 0; i < rows; i++) {
        if (!row[i].settled.unknown)
            continue;
        passes = row[i].settled.passes;
        cc_list_add(list, sizeof list, ", ", "%s", row[i].scheme);
    }
    if (passes == 0)
        return CC_OK;
    return cc_record_warn(b->record, e,
                          "not known to be settled: the sizes of %s, of pass %zu by --passes; "
                          "without it, they are the settled ones",
                          list, passes);
}

/* Names the calls that were faster than their limit by more than samples vary: then the loop that
 * should be the limit is not the fastest one. */
static int note_beyond_limit(const struct cc_bench_run *b, const struct row *row, size_t rows,
                             struct cc_error *e)
{
    char list[300] = "";
    for (size_t i = 0; i < rows; i++)
        for (int c = 0; c < CC_CALLS; c++) {
            const struct row_speed *s = &row[i].call[c];
            if (row[i].samples > 0 && s->roofline > 1 + fmax(0.02, s->spread))
                cc_list_add(list, sizeof list, ", ", "%s %s %.2f", row[i].scheme, cc_call_names[c],
                            s->roofline);
        }
    if (list[0] == '\0')
        return CC_OK;
    return cc_record_note(b->record, e,
                          "limit not reached by the loop: faster than it were %s; either it is not "
                          "the best loop for these bytes, or the machine was busy",
                          list);
}

/* Says which figures of adding are of values that are not touched. */
static int note_sparse(const struct cc_bench_run *b, const struct row *row, size_t rows,
                       struct cc_error *e)
{
    char list[200] = "";
    for (size_t i = 0; i < rows; i++)
        if (row[i].sparse && row[i].samples > 0)
            cc_list_add(list, sizeof list, ", ", "%s", row[i].scheme);
    if (list[0] == '\0')
        return CC_OK;
    return cc_record_note_once(
        b->record, e,
        "add of %s: GB/s of the whole tensor, of which only the values that the "
        "payload lists are touched",
        list);
}

/* Names the schemes whose error drawn gradients do not tell. */
static int note_by_shape(const struct cc_bench_run *b, const struct row *row, size_t rows,
                         struct cc_error *e)
{
    char list[300] = "";
    for (size_t i = 0; i < rows; i++)
        if (row[i].by_shape)
            cc_list_add(list, sizeof list, ", ", "%s", row[i].scheme);
    if (list[0] == '\0' || !cc_trace_drawn(b->config.trace))
        return CC_OK;
    return cc_record_note_once(
        b->record, e,
        "%s: no error without --trace, as it depends on singular values, which synthetic "
        "gradients do not imitate; nmse and cosine are those of the synthetic values",
        list);
}

static int note_errors(const struct cc_bench_run *b, const struct row *row, size_t rows,
                       struct cc_error *e)
{
    bool lossy = false, alone = true;
    for (size_t i = 0; i < rows; i++) {
        const struct cc_update_error *error = &row[i].error;
        lossy |= error->error > 0;
        alone &= isnan(error->low) || error->error == 0;
        if (row[i].local)
            CC_TRY(cc_record_note_once(
                b->record, e,
                "%s: the error is that of sending; local steps also change what "
                "is computed, which only training shows",
                row[i].scheme));
        if (!isnan(error->error) && !error->settled)
            CC_TRY(cc_record_warn(b->record, e,
                                  "%s: the error still changed after as many steps as are measured",
                                  row[i].scheme));
    }
    if (lossy && rows > 1)
        CC_TRY(cc_record_note_once(
            b->record, e,
            "late: the share of a gradient that misses its own step; of a trace's figures it tells "
            "best what a training loses, and a training decides (docs/errors.md)"));
    if (lossy && alone)
        return cc_record_note_once(
            b->record, e,
            "errors are of a single step, so nothing is known about how much "
            "they vary: give a trace of two steps or more");
    return CC_OK;
}

int cc_bench_rows(struct cc_bench_run *b, const struct cc_bench_measured *m, struct cc_error *e)
{
    const struct cc_bench_config *config = &b->config;
    const size_t tensors = cc_trace_tensors(config->trace);
    const bool per_tensor = b->options.per_tensor;
    struct row *row; /* the step's, by scheme */
    size_t rows = 0;
    int status = CC_OK;
    CC_TRY(CC_NEW(row, m->done, e));
    for (size_t s = 0; s < m->done; s++) {
        const char *scheme = config->schemes->item[s]->name;
        const struct cc_quality *q = &m->q[s * tensors];
        if (cc_bench_failed(config, s))
            CC_TRY_OUT(cc_record_warn(b->record, e, "failed: %s", config->failed[s].text));
        for (size_t t = 0; !cc_bench_failed(config, s) && t < (per_tensor ? tensors : 1); t++) {
            struct row r = per_tensor ? tensor_row(b, s, t, &q[t], &m->speed)
                                      : step_row(b, s, q, &m->error[s], &m->speed);
            r.scheme = scheme;
            r.settled = m->settled[s];
            if (!per_tensor && b->options.thread_counts > 1)
                set_speedup(b, s, &r);
            CC_TRY_OUT(print_row(b, &r, e));
            b->outliers += r.outliers;
            if (!per_tensor)
                row[rows++] = r;
        }
        if (!cc_bench_failed(config, s) && !m->settled[s].settled && !m->settled[s].unknown)
            CC_TRY_OUT(
                cc_record_warn(b->record, e,
                               "%s: not settled: its payload still changed after %zu passes; "
                               "--passes auto goes on",
                               scheme, m->settled[s].passes));
    }
    if (b->sizes <= 1 && b->options.thread_counts == 1)
        CC_TRY_OUT(note_best(b, row, rows, e));
    CC_TRY_OUT(note_unknown(b, row, rows, e));
    b->timed = b->timed || (m->speed.samples > 0 && !per_tensor);
    b->limited = b->limited || cc_limits_place(config->trace) != CC_IN_CACHE;
    CC_TRY_OUT(note_beyond_limit(b, row, rows, e));
    CC_TRY_OUT(note_sparse(b, row, rows, e));
    CC_TRY_OUT(note_by_shape(b, row, rows, e));
    CC_TRY_OUT(note_errors(b, row, rows, e));
out:
    free(row);
    return status;
}

static int note_no_limits(const struct cc_bench_run *b, struct cc_error *e)
{
    char cache[24];
    if (!b->timed || b->limited)
        return CC_OK;
    cc_print_si((double)cc_cache_bytes(), "B", cache, sizeof cache);
    return cc_record_note(b->record, e,
                          "no limits: memory limits the speed only of tensors of twice the cache "
                          "(%s) and more; `commcomp bench --values l2,cache` (%zu and %zu values) "
                          "shows the limits of the second-level cache and of memory",
                          cache, cc_l2_values(), cc_input_beyond_cache());
}

int cc_bench_note_speeds(const struct cc_bench_run *b, struct cc_error *e)
{
    CC_TRY(note_no_limits(b, e));
    if (b->outliers == 0 || b->options.per_tensor)
        return CC_OK;
    return cc_record_warn(b->record, e,
                          "%zu of the timings %s: the machine was busy; a quiet machine or "
                          "--discard 3 helps",
                          b->outliers, b->outliers == 1 ? "is an outlier" : "are outliers");
}
