/* The rows of `commcomp bench`, and the reading aid under them. */
#include <math.h>
#include <stdio.h>

#include "cmd/codec/bench.h"
#include "core/stats.h"

const struct cc_column cc_bench_columns[] = {
    {"scheme", "scheme", "", NULL, 0, "the scheme with its parameters that are not the default"},
    {"tensor", "tensor", "", NULL, 0, "the tensor's name; only with --per-tensor"},
    {"stream", "stream", "", NULL, 0,
     "whose tensors these are: push and the worker's rank, or pull (the server's model deltas)"},
    {"trace", "trace", "", NULL, 0, "where the values come from"},
    {"values", "values", "", "%.0f", 0, "number of float32 values in a step"},
    {"steps", "steps", "", "%.0f", 0, "steps in a pass"},
    {"passes", "passes", "", "%.0f", 0,
     "passes through the trace with the residuals kept; sizes and errors are those of the last"},
    {"payload_bytes", NULL, "kB", "%.2f", 1e-3,
     "bytes handed to the network per step, scale factors included (mean over whole periods of the "
     "scheme)"},
    {"bits_per_value", "bits/value", "bits", "%.3f", 0, "8 x payload bytes / values"},
    {"ratio", "ratio", "", "%.1f", 0, "32 x all values / (8 x all payload bytes), over all steps"},
    {"encode_gb_per_s", "encode", "GB/s", "%.2f", 0,
     "10^9 bytes of float32 encoded per second, median of the samples"},
    {"encode_sd", "+-", "%", "%.0f", 100, "standard deviation of the encoding time / its mean"},
    {"encode_roofline", "limit", "", "%.2f", 0,
     "achieved / limit: encoding speed over that of the fastest loop which only moves the bytes "
     "that the codec must move, measured in the same run; empty where memory is not the limit, as "
     "for tensors that fit in cache"},
    {"decode_gb_per_s", "decode", "GB/s", "%.2f", 0,
     "10^9 bytes of float32 decoded per second, median of the samples"},
    {"decode_sd", "+-", "%", "%.0f", 100, "standard deviation of the decoding time / its mean"},
    {"decode_roofline", "limit", "", "%.2f", 0, "achieved / limit, for decoding"},
    {"decode_add_gb_per_s", "add", "GB/s", "%.2f", 0,
     "the same for decoding and adding to values that are there, as a server does that sums"},
    {"decode_add_sd", "+-", "%", "%.0f", 100, "standard deviation of its time / the mean"},
    {"decode_add_roofline", "limit", "", "%.2f", 0, "achieved / limit, for decoding and adding"},
    {"nmse", "nmse", "", "%.4g", 0,
     "of decoded y against the raw gradient g: sum ||y-g||^2 / sum ||g||^2, over all steps"},
    {"nmse_cumulative", "cumulative", "", "%.4g", 0,
     "the same of the sums of y and of g over all steps: what error feedback gives back"},
    {"cosine", "cosine", "", "%.4f", 0, "of y and g over all steps: sum y g / (||y|| ||g||)"},
    {"max_abs_error", NULL, "", "%.3g", 0, "largest |y-g| of all steps"},
    {"encode_gb_per_s_min", NULL, "GB/s", "%.2f", 0, "of the slowest sample"},
    {"encode_gb_per_s_max", NULL, "GB/s", "%.2f", 0, "of the fastest sample"},
    {"decode_gb_per_s_min", NULL, "GB/s", "%.2f", 0, "of the slowest sample"},
    {"decode_gb_per_s_max", NULL, "GB/s", "%.2f", 0, "of the fastest sample"},
    {"decode_add_gb_per_s_min", NULL, "GB/s", "%.2f", 0, "of the slowest sample"},
    {"decode_add_gb_per_s_max", NULL, "GB/s", "%.2f", 0, "of the fastest sample"},
    {"encode_limit_gb_per_s", NULL, "GB/s", "%.2f", 0,
     "the limit itself: 10^9 bytes of float32 per second, median of the fastest loop's samples"},
    {"decode_limit_gb_per_s", NULL, "GB/s", "%.2f", 0, "the same for decoding"},
    {"decode_add_limit_gb_per_s", NULL, "GB/s", "%.2f", 0, "the same for decoding and adding"},
    {"samples", "samples", "", "%.0f", 0, "times a step (a whole period of the scheme) was timed"},
    {"outliers", NULL, "", "%.0f", 0, "samples whose modified Z-score is over 14.8"},
    {"threads", "threads", "", "%.0f", 0,
     "threads that share the tensors of a step, and its large tensors"},
    {"min_size", "min size", "", "%.0f", 0,
     "tensors with fewer values travel as fp32, and count as such"},
    {"seed", "seed", "", "%.0f", 0, "of synthetic values and of stochastic schemes"},
    {.key = NULL},
};

/* --- rows --- */

static double number(const struct cc_record *r, size_t row, const char *key)
{
    const struct cc_value *v = cc_record_value(r, row, key);
    return v->kind == CC_NUMBER ? v->number : NAN;
}

static void speed_columns(struct cc_record *r, size_t row, const char *what, double *seconds,
                          size_t samples, double values)
{
    char key[64];
    struct cc_stats s = cc_stats_of(seconds, samples);
    double bytes = 4e-9 * values;
    if (samples == 0 || values == 0)
        return;
    (void)snprintf(key, sizeof key, "%s_gb_per_s", what);
    cc_record_number(r, row, key, bytes / s.median);
    (void)snprintf(key, sizeof key, "%s_gb_per_s_min", what);
    cc_record_number(r, row, key, bytes / s.max);
    (void)snprintf(key, sizeof key, "%s_gb_per_s_max", what);
    cc_record_number(r, row, key, bytes / s.min);
    (void)snprintf(key, sizeof key, "%s_sd", what);
    cc_record_number(r, row, key, s.sd / s.mean);
    const struct cc_value *before = cc_record_value(r, row, "outliers");
    double outliers = before->kind == CC_NUMBER ? before->number : 0;
    cc_record_number(r, row, "outliers", outliers + (double)s.outliers);
    cc_record_number(r, row, "samples", (double)samples);
}

/* NaN, and so null, where the sums overflow. */
static double ratio_or_exact(double error, double of)
{
    return error == 0 ? 0 : isfinite(of) ? error / of : NAN;
}

static void quality_columns(struct cc_record *r, size_t row, const struct cc_quality *q)
{
    double all_values = (double)q->values * (double)q->steps, bytes = (double)q->payload_bytes;
    cc_record_number(r, row, "values", (double)q->values);
    cc_record_number(r, row, "steps", (double)q->steps);
    cc_record_number(r, row, "payload_bytes", bytes / (double)q->steps);
    cc_record_number(r, row, "bits_per_value", 8 * bytes / all_values);
    cc_record_number(r, row, "ratio", 4 * all_values / bytes);
    cc_record_number(r, row, "nmse", ratio_or_exact(q->error_sq, q->raw_sq));
    cc_record_number(r, row, "nmse_cumulative",
                     ratio_or_exact(q->cumulative_error_sq, q->cumulative_raw_sq));
    /* Rounding may leave it a last digit over 1. */
    double cosine = q->dot / sqrt(q->output_sq) / sqrt(q->raw_sq);
    cc_record_number(r, row, "cosine", isnan(cosine) ? cosine : fmax(-1, fmin(1, cosine)));
    cc_record_number(r, row, "max_abs_error", q->max_error);
}

/* A row with what all rows of a stream share. */
static int common_columns(const struct bench *b, size_t scheme, size_t passes, size_t *row,
                          struct cc_error *e)
{
    struct cc_record *r = b->record;
    char stream[48];
    cc_bench_stream_name(&b->plan, stream, sizeof stream);
    *row = cc_record_add(r, e);
    if (*row == SIZE_MAX)
        return CC_FAIL;
    cc_record_number(r, *row, "passes", (double)passes);
    cc_record_number(r, *row, "threads", b->plan.threads);
    cc_record_number(r, *row, "min_size", (double)b->plan.min_size);
    cc_record_number(r, *row, "seed", (double)b->plan.seed);
    int status = cc_record_text(r, *row, "scheme", b->plan.schemes->item[scheme]->name, e);
    if (status == CC_OK)
        status = cc_record_text(r, *row, "stream", stream, e);
    return status == CC_OK ? cc_record_text(r, *row, "trace", cc_trace_name(b->plan.trace), e)
                           : status;
}

static int tensor_rows(const struct bench *b, size_t scheme, size_t passes,
                       const struct cc_quality *q, const struct cc_speed *speed, struct cc_error *e)
{
    int status = CC_OK;
    for (size_t t = 0; t < cc_trace_tensors(b->plan.trace) && status == CC_OK; t++) {
        size_t row;
        const struct cc_tensor_info *info = cc_trace_tensor(b->plan.trace, t);
        status = common_columns(b, scheme, passes, &row, e);
        if (status == CC_OK)
            status = cc_record_text(b->record, row, "tensor", info->name, e);
        if (status != CC_OK)
            break;
        quality_columns(b->record, row, &q[t]);
        size_t at = scheme * speed->tensors + t;
        for (int c = 0; c < CC_CALLS && speed->tensor_bytes != NULL; c++)
            speed_columns(b->record, row, cc_call_names[c],
                          &speed->tensor_seconds[c][at * speed->most], speed->samples,
                          (double)info->shape.n);
    }
    return status;
}

/* What memory allows, where it is what limits. */
static void limit_columns(struct cc_record *r, size_t row, const char *what, double limit)
{
    char key[64];
    if (!(limit > 0))
        return;
    (void)snprintf(key, sizeof key, "%s_gb_per_s", what);
    double achieved = number(r, row, key);
    (void)snprintf(key, sizeof key, "%s_roofline", what);
    cc_record_number(r, row, key, achieved / limit);
    (void)snprintf(key, sizeof key, "%s_limit_gb_per_s", what);
    cc_record_number(r, row, key, limit);
}

static int step_row(const struct bench *b, size_t scheme, size_t passes, const struct cc_quality *q,
                    const struct cc_speed *speed, struct cc_error *e)
{
    size_t row;
    struct cc_quality all = {0};
    int status = common_columns(b, scheme, passes, &row, e);
    if (status != CC_OK)
        return status;
    for (size_t t = 0; t < cc_trace_tensors(b->plan.trace); t++)
        cc_quality_add(&all, &q[t]);
    quality_columns(b->record, row, &all);
    double values = (double)cc_trace_values(b->plan.trace);
    for (int c = 0; c < CC_CALLS && speed->samples > 0; c++) {
        speed_columns(b->record, row, cc_call_names[c], &speed->seconds[c][scheme * speed->most],
                      speed->samples, values);
        limit_columns(b->record, row, cc_call_names[c], speed->limit[c][scheme]);
    }
    return CC_OK;
}

/* --- the reading aid --- */

/* GB/s of encoding and decoding one after the other. */
static double both_ways(const struct cc_record *r, size_t row)
{
    return 1 / (1 / number(r, row, "encode_gb_per_s") + 1 / number(r, row, "decode_gb_per_s"));
}

static int note_row(struct cc_record *r, const char *what, size_t row, bool several,
                    struct cc_error *e)
{
    char speed[96] = "";
    if (!isnan(number(r, row, "encode_gb_per_s")))
        (void)snprintf(speed, sizeof speed, ", encodes %.2f GB/s, decodes %.2f GB/s",
                       number(r, row, "encode_gb_per_s"), number(r, row, "decode_gb_per_s"));
    return cc_record_note(r, e,
                          "%s%s%-12s %s: %.3f bits a value (%.1fx smaller than fp32), nmse %.3g in "
                          "a step and %.3g over "
                          "all%s",
                          several ? cc_record_value(r, row, "stream")->text : "",
                          several ? ", " : "", what, cc_record_value(r, row, "scheme")->text,
                          number(r, row, "bits_per_value"), number(r, row, "ratio"),
                          number(r, row, "nmse"), number(r, row, "nmse_cumulative"), speed);
}

/* Which scheme that compresses (ratio over 1.05, and something arrives) is smallest, fastest, most
 * exact in rows [first, end), those of one of `several` streams. */
static int reading_aid(struct cc_record *r, size_t first, bool several, struct cc_error *e)
{
    size_t smallest = SIZE_MAX, fastest = SIZE_MAX, exact = SIZE_MAX;
    for (size_t i = first; i < r->row_count; i++) {
        if (!(number(r, i, "ratio") > 1.05) || isnan(number(r, i, "cosine")))
            continue;
        if (smallest == SIZE_MAX || number(r, i, "ratio") > number(r, smallest, "ratio"))
            smallest = i;
        if (!isnan(both_ways(r, i)) &&
            (fastest == SIZE_MAX || both_ways(r, i) > both_ways(r, fastest)))
            fastest = i;
        if (exact == SIZE_MAX ||
            number(r, i, "nmse_cumulative") < number(r, exact, "nmse_cumulative"))
            exact = i;
    }
    int status = CC_OK;
    if (r->row_count - first > 1 && smallest != SIZE_MAX) {
        status = note_row(r, "smallest", smallest, several, e);
        if (status == CC_OK && fastest != SIZE_MAX)
            status = note_row(r, "fastest", fastest, several, e);
        if (status == CC_OK)
            status = note_row(r, "most exact", exact, several, e);
    }
    return status;
}

int cc_bench_rows(struct bench *b, const size_t *passes, const struct cc_quality *q, size_t done,
                  const struct cc_speed *speed, struct cc_error *e)
{
    size_t tensors = cc_trace_tensors(b->plan.trace), first = b->record->row_count;
    int status = CC_OK;
    for (size_t s = 0; s < done && status == CC_OK; s++) {
        if (cc_bench_failed(&b->plan, s))
            status = cc_record_note(b->record, e, "failed: %s", b->plan.failed[s].text);
        else if (b->per_tensor)
            status = tensor_rows(b, s, passes[s], &q[s * tensors], speed, e);
        else
            status = step_row(b, s, passes[s], &q[s * tensors], speed, e);
        if (status == CC_OK && b->passes == 0 && passes[s] == CC_BENCH_MOST_PASSES)
            status = cc_record_note(b->record, e, "%s had not settled after %d passes",
                                    b->plan.schemes->item[s]->name, CC_BENCH_MOST_PASSES);
    }
    if (status == CC_OK && !b->per_tensor && b->sizes <= 1)
        status = reading_aid(b->record, first, b->streams > 1, e);
    return status;
}

int cc_bench_note_outliers(const struct bench *b, struct cc_error *e)
{
    struct cc_record *r = b->record;
    size_t outliers = 0;
    for (size_t i = 0; i < r->row_count; i++) {
        double o = number(r, i, "outliers");
        outliers += isnan(o) ? 0 : (size_t)o;
    }
    if (outliers == 0 || b->per_tensor)
        return CC_OK;
    return cc_record_note(r, e,
                          "%zu of the timings %s: the machine was busy; a quiet machine or "
                          "--discard 3 helps",
                          outliers, outliers == 1 ? "is an outlier" : "are outliers");
}
