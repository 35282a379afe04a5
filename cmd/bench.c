/* commcomp bench: sizes, errors and speeds of schemes on gradients. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/quality.h"
#include "bench/roofline.h"
#include "bench/speed.h"
#include "cmd/command.h"
#include "cmd/progress.h"
#include "cmd/source.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/stats.h"
#include "core/units.h"

static const struct cc_column columns[] = {
    {"scheme", "scheme", "", NULL, 0, "the scheme with its parameters that are not the default"},
    {"tensor", "tensor", "", NULL, 0, "the tensor's name; only with --per-tensor"},
    {"stream", "stream", "", NULL, 0,
     "whose tensors these are: push and the worker's rank, or pull (the server's model deltas)"},
    {"trace", "trace", "", NULL, 0, "where the values come from"},
    {"values", "values", "", "%.0f", 0, "number of float32 values in a step"},
    {"steps", "steps", "", "%.0f", 0, "steps in a pass"},
    {"passes", "passes", "", "%.0f", 0,
     "passes through the trace with the residuals kept; sizes and errors are those of the last"},
    {"payload_bytes", "payload", "kB", "%.2f", 1e-3,
     "bytes handed to the network per step, scale factors included (mean over whole periods of the "
     "scheme)"},
    {"bits_per_value", "bits/value", "bits", "%.3f", 0, "8 x payload bytes / values"},
    {"ratio", "ratio", "", "%.1f", 0, "32 x all values / (8 x all payload bytes), over all steps"},
    {"encode_gb_per_s", "encode", "GB/s", "%.2f", 0,
     "10^9 bytes of float32 encoded per second, median of the samples"},
    {"encode_sd", "+-", "%", "%.0f", 100, "standard deviation of the encoding time / its mean"},
    {"decode_gb_per_s", "decode", "GB/s", "%.2f", 0,
     "10^9 bytes of float32 decoded per second, median of the samples"},
    {"decode_sd", "+-", "%", "%.0f", 100, "standard deviation of the decoding time / its mean"},
    {"encode_roofline", "enc/limit", "", "%.2f", 0,
     "achieved / limit: encoding speed over that of a loop which only moves the bytes that the "
     "codec must move, measured in the same run; empty for tensors that fit in cache"},
    {"decode_roofline", "dec/limit", "", "%.2f", 0, "the same for decoding"},
    {"nmse", "nmse", "", "%.4g", 0,
     "of decoded y against the raw gradient g: sum ||y-g||^2 / sum ||g||^2, over all steps"},
    {"nmse_cumulative", "cumulative", "", "%.4g", 0,
     "the same of the sums of y and of g over all steps: what error feedback gives back"},
    {"cosine", "cosine", "", "%.4f", 0, "of y and g over all steps: sum y g / (||y|| ||g||)"},
    {"max_abs_error", "max error", "", "%.3g", 0, "largest |y-g| of all steps"},
    {"encode_gb_per_s_min", NULL, "GB/s", "%.2f", 0, "of the slowest sample"},
    {"encode_gb_per_s_max", NULL, "GB/s", "%.2f", 0, "of the fastest sample"},
    {"decode_gb_per_s_min", NULL, "GB/s", "%.2f", 0, "of the slowest sample"},
    {"decode_gb_per_s_max", NULL, "GB/s", "%.2f", 0, "of the fastest sample"},
    {"samples", "samples", "", "%.0f", 0, "times a step (a whole period of the scheme) was timed"},
    {"outliers", NULL, "", "%.0f", 0, "samples whose modified Z-score is over 14.8"},
    {"threads", "threads", "", "%.0f", 0, "threads that share the tensors of a step"},
    {"min_size", "min size", "", "%.0f", 0,
     "tensors with fewer values travel as fp32, and count as such"},
    {"seed", "seed", "", "%.0f", 0, "of synthetic values and of stochastic schemes"},
    {.key = NULL},
};

static const char *const stream_words[] = {"first", "push", "pull", "all", NULL};

static const struct cc_option options[] = {
    CC_SOURCE_OPTIONS,
    {.name = "stream",
     .value = "WHICH",
     .def = "first",
     .choices = stream_words,
     .help = "which of a trace's streams: first (the pushes of the first worker), push (of all "
             "workers), pull (the server's model deltas) or all; a row each"},
    {.name = "min-size",
     .value = "COUNT",
     .def = "0",
     .help = "tensors with fewer values travel as fp32, as the papers do for small layers"},
    {.name = "passes",
     .value = "N|auto",
     .def = "1",
     .help =
         "go through the trace N times with the residuals kept and report the last pass; auto: "
         "until the residuals have settled (over five passes the payload lies within 1%, and the "
         "squared error within 5%, of the five before), at most 200"},
    {.name = "per-tensor", .help = "a row for each tensor instead of one for the whole step"},
    {.name = "threads",
     .value = "N",
     .def = "1",
     .help = "threads that share the tensors of a step"},
    {.name = "samples",
     .value = "N",
     .def = "10 or more",
     .help = "time each scheme N times; by default at least 10 times, and up to 100 while --time "
             "lasts"},
    {.name = "discard",
     .value = "N",
     .def = "1",
     .help = "rounds to warm up with before samples count"},
    {.name = "time",
     .value = "TIME",
     .def = "5s",
     .help = "go on sampling for this long, all schemes together"},
    {.name = "no-speed", .help = "sizes and errors only"},
    {.name = NULL},
};

struct bench {
    struct cc_args *args;
    struct cc_plan plan;
    struct cc_speed_limits limits;
    struct cc_progress progress;
    struct cc_record *record;
    size_t passes;  /* 0: auto */
    size_t streams; /* how many are benched */
    bool per_tensor, speed;
};

static void show_progress(void *arg, const char *phase, double done)
{
    cc_progress_show(arg, phase, done);
}

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
    cc_plan_stream_name(&b->plan, stream, sizeof stream);
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
        if (speed->tensor_encode != NULL) {
            size_t at = (scheme * speed->tensors + t) * speed->most;
            speed_columns(b->record, row, "encode", &speed->tensor_encode[at], speed->samples,
                          (double)info->shape.n);
            speed_columns(b->record, row, "decode", &speed->tensor_decode[at], speed->samples,
                          (double)info->shape.n);
        }
    }
    return status;
}

/* The limits of the machine's memory for the row's bytes, in the same run. */
static int roofline_columns(const struct bench *b, size_t scheme, size_t row, struct cc_error *e)
{
    struct cc_record *r = b->record;
    struct cc_limits limit;
    size_t values = cc_trace_values(b->plan.trace), largest = cc_trace_largest(b->plan.trace);
    /* Tensors that fit in cache are not bound by memory, nor is a step that consists of them. */
    if ((double)largest < 0.9 * (double)values)
        return CC_OK;
    int status = cc_roofline_measure(b->plan.schemes->item[scheme], values,
                                     number(r, row, "payload_bytes"), &limit, e);
    if (status == CC_OK && limit.encode > 0) {
        cc_record_number(r, row, "encode_roofline",
                         number(r, row, "encode_gb_per_s") / limit.encode);
        cc_record_number(r, row, "decode_roofline",
                         number(r, row, "decode_gb_per_s") / limit.decode);
    }
    return status;
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
    if (speed->encode == NULL || speed->samples == 0)
        return CC_OK;
    double values = (double)cc_trace_values(b->plan.trace);
    speed_columns(b->record, row, "encode", &speed->encode[scheme * speed->most], speed->samples,
                  values);
    speed_columns(b->record, row, "decode", &speed->decode[scheme * speed->most], speed->samples,
                  values);
    return cc_interrupted() ? CC_OK : roofline_columns(b, scheme, row, e);
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
    size_t outliers = 0;
    for (size_t i = first; i < r->row_count; i++) {
        double o = number(r, i, "outliers");
        outliers += isnan(o) ? 0 : (size_t)o;
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
    if (status == CC_OK && outliers > 0)
        status = cc_record_note(r, e,
                                "%zu of the timings are outliers: the machine was busy; a quiet "
                                "machine or --discard 3 helps",
                                outliers);
    return status;
}

/* --- measuring --- */

enum { MOST_PASSES = 200 }; /* of --passes auto */

static void settle_all(struct bench *b, size_t *passes)
{
    for (size_t s = 0; s < b->plan.schemes->count; s++) {
        passes[s] = b->passes;
        if (b->passes == 0)
            (void)cc_quality_settle(&b->plan, s, MOST_PASSES, &passes[s], &b->plan.failed[s]);
    }
}

/* Rows of the first `done` schemes, but for those that failed. */
static int rows(struct bench *b, const size_t *passes, const struct cc_quality *q, size_t done,
                const struct cc_speed *speed, struct cc_error *e)
{
    size_t tensors = cc_trace_tensors(b->plan.trace);
    int status = CC_OK;
    for (size_t s = 0; s < done && status == CC_OK; s++) {
        if (cc_plan_failed(&b->plan, s))
            status = cc_record_note(b->record, e, "failed: %s", b->plan.failed[s].text);
        else if (b->per_tensor)
            status = tensor_rows(b, s, passes[s], &q[s * tensors], speed, e);
        else
            status = step_row(b, s, passes[s], &q[s * tensors], speed, e);
        if (status == CC_OK && b->passes == 0 && passes[s] == MOST_PASSES)
            status = cc_record_note(b->record, e, "%s had not settled after %d passes",
                                    b->plan.schemes->item[s]->name, MOST_PASSES);
    }
    return status;
}

static int one_stream(struct bench *b, struct cc_error *e)
{
    size_t tensors = cc_trace_tensors(b->plan.trace), schemes = b->plan.schemes->count, done = 0;
    size_t first = b->record->row_count;
    struct cc_speed speed = {0};
    struct cc_quality *q = cc_alloc0(schemes * tensors * sizeof *q, e);
    size_t *passes = cc_alloc0(schemes * sizeof *passes, e);
    b->plan.failed = cc_alloc0(schemes * sizeof *b->plan.failed, e);
    int status = q == NULL || passes == NULL || b->plan.failed == NULL ? CC_FAIL : CC_OK;
    if (status == CC_OK && b->speed)
        status = cc_speed_check(&b->plan, e);
    if (status == CC_OK) {
        settle_all(b, passes);
        status = cc_quality_measure(&b->plan, passes, q, &done, e);
    }
    if (status == CC_OK && b->speed && !cc_interrupted())
        status = cc_speed_measure(&b->plan, &b->limits, &speed, e);
    if (status == CC_OK)
        status = rows(b, passes, q, done, &speed, e);
    if (status == CC_OK && !b->per_tensor)
        status = reading_aid(b->record, first, b->streams > 1, e);
    for (size_t s = 0; s < schemes && status == CC_OK; s++)
        if (cc_plan_failed(&b->plan, s))
            status = cc_fail(e, "%s", b->plan.failed[s].text);
    cc_speed_free(&speed);
    free(b->plan.failed);
    free(q);
    free(passes);
    return status;
}

static bool stream_wanted(int which, size_t index, struct cc_stream s)
{
    switch (which) {
    case 0:
        return index == 0;
    case 1:
        return s.direction == CC_PUSH;
    case 2:
        return s.direction == CC_PULL;
    default:
        return true;
    }
}

static int all_streams(struct bench *b, struct cc_error *e)
{
    int which = 0, status = CC_OK;
    size_t limit = b->plan.steps;
    cc_arg_choice(b->args, "stream", &which);
    for (size_t i = 0; i < cc_trace_streams(b->plan.trace); i++)
        b->streams += stream_wanted(which, i, cc_trace_stream(b->plan.trace, i));
    for (size_t i = 0; i < cc_trace_streams(b->plan.trace) && status == CC_OK; i++) {
        if (!stream_wanted(which, i, cc_trace_stream(b->plan.trace, i)) || cc_interrupted())
            continue;
        size_t steps = cc_trace_steps(b->plan.trace, i);
        b->plan.stream = i;
        b->plan.steps = limit == 0 || limit > steps ? steps : limit;
        status = one_stream(b, e);
    }
    if (b->streams == 0)
        return cc_fail(e, "%s has no stream '%s'; `commcomp trace info` tells which it has",
                       cc_trace_name(b->plan.trace), stream_words[which]);
    return status;
}

/* --- options --- */

static int parse_passes(struct bench *b, struct cc_error *e)
{
    const char *text = cc_arg(b->args, "passes");
    uint64_t passes = 1;
    if (text != NULL && strcmp(text, "auto") == 0) {
        b->passes = 0;
        return CC_OK;
    }
    int status = cc_arg_count(b->args, "passes", 1, 1000000, &passes, e);
    b->passes = (size_t)passes;
    return status;
}

static int parse_limits(struct bench *b, struct cc_error *e)
{
    uint64_t samples = 0, discard = 1, threads = 1, min_size = 0, steps = 0, seed = 1;
    double seconds = 5;
    const struct cc_args *a = b->args;
    int status = cc_arg_count(a, "samples", 1, 100000, &samples, e);
    if (status == CC_OK)
        status = cc_arg_count(a, "discard", 0, 1000, &discard, e);
    if (status == CC_OK)
        status = cc_arg_count(a, "threads", 1, 1024, &threads, e);
    if (status == CC_OK)
        status = cc_arg_count(a, "min-size", 0, INT64_MAX, &min_size, e);
    if (status == CC_OK)
        status = cc_arg_count(a, "steps", 1, INT64_MAX, &steps, e);
    if (status == CC_OK)
        status = cc_arg_count(a, "seed", 0, CC_MAX_SEED, &seed, e);
    if (status == CC_OK && cc_arg(a, "time") != NULL) {
        status = cc_parse_time(cc_arg(a, "time"), &seconds, e);
        if (status != CC_OK)
            cc_error_in(e, "--time");
    }
    b->limits = (struct cc_speed_limits){.discard = (size_t)discard,
                                         .least = samples > 0 ? (size_t)samples : 10,
                                         .most = samples > 0 ? (size_t)samples : 100,
                                         .seconds = seconds,
                                         .per_tensor = b->per_tensor};
    if (status == CC_OK && threads > 1 && b->per_tensor)
        status =
            cc_usage(e, "--threads with --per-tensor: threads share the tensors of a step, and "
                        "one tensor at a time leaves them nothing to share");
    b->plan.threads = (int)threads;
    b->plan.min_size = (size_t)min_size;
    b->plan.steps = (size_t)steps;
    b->plan.seed = seed;
    return status;
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct bench b = {.args = args,
                      .record = &args->record,
                      .per_tensor = cc_arg(args, "per-tensor") != NULL,
                      .speed = cc_arg(args, "no-speed") == NULL,
                      .plan = {.schemes = &args->schemes, .progress = show_progress}};
    struct cc_spec *raw = NULL;
    b.plan.progress_arg = &b.progress;
    int status = parse_passes(&b, e);
    if (status == CC_OK)
        status = parse_limits(&b, e);
    if (status == CC_OK && args->schemes.count == 0)
        status = cc_spec_list_parse("paper", &args->schemes, e);
    if (status == CC_OK)
        status = cc_spec_parse("fp32", &raw, e);
    b.plan.raw = raw;
    if (status == CC_OK)
        status = cc_source_open(args, &b.plan.trace, e);
    if (status == CC_OK && b.plan.threads > 1 && cc_trace_tensors(b.plan.trace) == 1)
        status = cc_usage(e,
                          "--threads: %s has a single tensor, and threads share the tensors of a "
                          "step",
                          cc_trace_name(b.plan.trace));
    if (status == CC_OK) {
        cc_progress_begin(&b.progress, args->quiet);
        status = all_streams(&b, e);
        cc_progress_end(&b.progress);
    }
    args->record.partial = cc_interrupted();
    cc_trace_close(b.plan.trace);
    cc_spec_free(raw);
    return status;
}

const struct cc_command cc_command_bench = {
    .name = "bench",
    .summary = "how small, how fast and how wrong each scheme is on your gradients",
    .operands = "",
    .description =
        "Runs each scheme on every tensor of a trace, step after step with the residuals carried "
        "along, and tells bits per value, ratio, encoding and decoding speed, and how far what is "
        "decoded lies from the gradient. Steps count from 0 for the random numbers, whatever their "
        "number "
        "in the trace.\n\nWithout --trace the values are synthetic. Without "
        "--scheme the ten rows of 3LC's Table 1 are run.",
    .examples = "  commcomp bench                                     # the papers' ten schemes\n"
                "  commcomp bench --scheme 3lc --s 1.0/1.5/1.75/1.9   # a sweep\n"
                "  commcomp bench --trace captured/ --scheme all -o all.csv\n"
                "  commcomp bench --trace captured/ --scheme 3lc --passes auto --no-speed\n"
                "  commcomp bench --net resnet50 --scheme int8,fp16 --threads 2\n"
                "  commcomp bench --values 25M --synthetic laplace    # larger than the cache\n",
    .options = options,
    .columns = columns,
    .takes_schemes = CC_SCHEMES,
    .run = run,
};
