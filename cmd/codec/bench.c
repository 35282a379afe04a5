/* commcomp bench: sizes, errors and speeds of schemes on gradients. */
#include <stdlib.h>
#include <string.h>

#include "cmd/codec/bench.h"
#include "cmd/input/source.h"
#include "core/file.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/units.h"
#include "results/machine_info.h"

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
     .help = "threads: large tensors one after the other with all of them, small ones shared out"},
    {.name = "samples",
     .value = "N",
     .def = "10 or more",
     .help =
         "time each scheme N times; by default at least 10 times (5 with --profile-out, 20 where "
         "memory's limit is measured too), and up to 100 while --time lasts"},
    {.name = "discard",
     .value = "N",
     .def = "1, or 3",
     .help = "rounds to warm up with before samples count: 1, or 3 with --profile-out, so that "
             "residuals are as after some steps"},
    {.name = "time",
     .value = "TIME",
     .def = "5s",
     .help = "go on sampling for this long, all schemes and all sizes together"},
    {.name = "profile-out",
     .value = "FILE",
     .file = CC_WRITES_FILE,
     .help = "write bits and nanoseconds per value of each scheme by the tensor's size, for "
             "`commcomp model`: of the sizes of --values, of the tensors of --trace or --net, else "
             "of " CC_PROFILE_SIZES_TEXT " values"},
    {.name = "no-speed", .help = "sizes and errors only"},
    {.name = NULL},
};

static void show_progress(void *arg, const char *phase, double done)
{
    cc_progress_show(arg, phase, done);
}

/* --- measuring --- */

static void settle_all(struct bench *b, size_t *passes)
{
    for (size_t s = 0; s < b->plan.schemes->count; s++) {
        passes[s] = b->passes;
        if (b->passes == 0)
            (void)cc_quality_settle(&b->plan, s, CC_BENCH_MOST_PASSES, &passes[s],
                                    &b->plan.failed[s]);
    }
}

/* Where the profile's numbers come from. */
static int describe_profile(struct bench *b, struct cc_error *e)
{
    struct cc_machine_info host;
    struct cc_profile *p = &b->profile;
    cc_machine_info_read(&host);
    p->threads = b->plan.threads;
    p->trace = cc_strdup(cc_trace_name(b->plan.trace), e);
    p->cpu = cc_strdup(host.cpu, e);
    p->isa = cc_strdup(host.isa, e);
    p->time = cc_strdup(host.time, e);
    return p->trace == NULL || p->cpu == NULL || p->isa == NULL || p->time == NULL ? CC_FAIL
                                                                                   : CC_OK;
}

static int add_to_profile(struct bench *b, struct cc_speed *speed, struct cc_error *e)
{
    if (b->profile_out == NULL || speed->samples == 0)
        return CC_OK;
    int status = b->profile.trace == NULL ? describe_profile(b, e) : CC_OK;
    return status == CC_OK ? cc_profile_add(&b->profile, &b->plan, speed, e) : status;
}

static int measure(struct bench *b, size_t *passes, struct cc_quality *q, struct cc_error *e)
{
    size_t done = 0;
    struct cc_speed speed = {0};
    settle_all(b, passes);
    int status = cc_quality_measure(&b->plan, passes, q, &done, e);
    if (status == CC_OK && b->speed && !cc_interrupted())
        status = cc_speed_measure(&b->plan, &b->limits, &speed, e);
    if (status == CC_OK)
        status = cc_bench_rows(b, passes, q, done, &speed, e);
    if (status == CC_OK)
        status = add_to_profile(b, &speed, e);
    cc_speed_free(&speed);
    return status;
}

static int one_stream(struct bench *b, struct cc_error *e)
{
    size_t tensors = cc_trace_tensors(b->plan.trace), schemes = b->plan.schemes->count;
    struct cc_quality *q = cc_alloc0(schemes * tensors * sizeof *q, e);
    size_t *passes = cc_alloc0(schemes * sizeof *passes, e);
    b->plan.failed = cc_alloc0(schemes * sizeof *b->plan.failed, e);
    int status = q == NULL || passes == NULL || b->plan.failed == NULL ? CC_FAIL : CC_OK;
    if (status == CC_OK && b->speed)
        status = cc_calls_check(&b->plan, e);
    if (status == CC_OK)
        status = measure(b, passes, q, e);
    for (size_t s = 0; s < schemes && status == CC_OK; s++)
        if (cc_bench_failed(&b->plan, s))
            status = cc_fail(e, "%s", b->plan.failed[s].text);
    free(b->plan.failed);
    free(q);
    free(passes);
    return status;
}

static bool stream_wanted(int which, size_t index, struct cc_trace_sender s)
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

static int all_streams(struct bench *b, size_t limit, struct cc_error *e)
{
    int which = 0, status = CC_OK;
    cc_arg_choice(b->args, "stream", &which);
    b->streams = 0;
    for (size_t i = 0; i < cc_trace_streams(b->plan.trace); i++)
        b->streams += stream_wanted(which, i, cc_trace_stream(b->plan.trace, i));
    if (b->profile_out != NULL && b->streams > 1)
        return cc_usage(e, "--profile-out with --stream %s: a profile is of one stream",
                        stream_words[which]);
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

/* The sizes of --values, one after the other, so that memory has to hold one of them. */
static int all_sizes(struct bench *b, const char *text, size_t limit, struct cc_error *e)
{
    size_t *sizes;
    int status = cc_input_sizes(text, &sizes, &b->sizes, e);
    if (status != CC_OK)
        return status;
    b->limits.seconds /= (double)b->sizes;
    const char *label = b->sizes == 1 ? text : "flat"; /* the same in all rows */
    for (size_t i = 0; i < b->sizes && status == CC_OK && !cc_interrupted(); i++) {
        status = cc_input_flat_trace(b->args, label, sizes[i], &b->plan.trace, e);
        if (status != CC_OK)
            break;
        status = all_streams(b, limit, e);
        cc_trace_close(b->plan.trace);
    }
    free(sizes);
    return status;
}

/* What the options say is to be benched. */
static int everything(struct bench *b, struct cc_error *e)
{
    const char *values = cc_arg(b->args, "values");
    size_t limit = b->plan.steps;
    if (b->profile_out != NULL && values == NULL && cc_arg(b->args, "trace") == NULL &&
        cc_arg(b->args, "net") == NULL)
        values = CC_PROFILE_SIZES_TEXT;
    if (values != NULL)
        return all_sizes(b, values, limit, e);
    int status = cc_input_trace(b->args, &b->plan.trace, e);
    if (status != CC_OK)
        return status;
    status = all_streams(b, limit, e);
    cc_trace_close(b->plan.trace);
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
    bool profile = b->profile_out != NULL;
    struct cc_speed_limits usual = {.discard = 1, .least = 10, .most = 100, .seconds = 5};
    if (profile)
        usual = cc_profile_limits(usual.seconds);
    uint64_t samples = 0, discard = usual.discard, threads = 1, min_size = 0, steps = 0, seed = 1;
    double seconds = usual.seconds;
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
                                         .least = samples > 0 ? (size_t)samples : usual.least,
                                         .most = samples > 0 ? (size_t)samples : usual.most,
                                         .seconds = seconds,
                                         .per_tensor = b->per_tensor || profile,
                                         .roofline = !b->per_tensor};
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
                      .profile_out = cc_arg(args, "profile-out"),
                      .plan = {.schemes = &args->schemes, .progress = show_progress}};
    struct cc_spec *raw = NULL;
    b.plan.progress_arg = &b.progress;
    int status = parse_passes(&b, e);
    if (status == CC_OK)
        status = parse_limits(&b, e);
    if (status == CC_OK && b.profile_out != NULL && !b.speed)
        status = cc_usage(e, "--profile-out and --no-speed exclude each other");
    if (status == CC_OK && args->schemes.count == 0)
        status = cc_spec_list_parse("paper", &args->schemes, e);
    if (status == CC_OK)
        status = cc_spec_parse(CC_RAW_SCHEME, &raw, e);
    b.plan.raw = raw;
    if (status == CC_OK) {
        cc_progress_begin(&b.progress, args->quiet);
        status = everything(&b, e);
        if (status == CC_OK)
            status = cc_bench_note_outliers(&b, e);
        cc_progress_end(&b.progress);
    }
    args->record.partial = cc_interrupted();
    if (status == CC_OK && b.profile_out != NULL && !cc_interrupted())
        status = cc_profile_write(&b.profile, b.profile_out, e);
    cc_profile_free(&b.profile);
    cc_spec_free(raw);
    return status;
}

const struct cc_command cc_command_bench = {
    .name = "bench",
    .summary = "how small, how fast and how wrong each scheme is on your gradients",
    .operands = "",
    .description =
        "Runs each scheme on every tensor of a trace, step after step with the residuals carried "
        "along, and tells bits per value, ratio, how fast it encodes, decodes, and decodes and "
        "adds, and how far what is "
        "decoded lies from the gradient. Steps count from 0 for the random numbers, whatever their "
        "number "
        "in the trace.\n\nWithout --trace the values are synthetic. Without "
        "--scheme the ten rows of 3LC's Table 1 are run.",
    .examples = "  commcomp bench                                     # the papers' ten schemes\n"
                "  commcomp bench --scheme 3lc --s 1.0/1.5/1.75/1.9   # a sweep\n"
                "  commcomp bench --trace captured/ --scheme all -o all.csv\n"
                "  commcomp bench --trace captured/ --scheme 3lc --passes auto --no-speed\n"
                "  commcomp bench --net resnet50 --scheme int8,fp16 --threads 2\n"
                "  commcomp bench --values 25M --synthetic laplace    # larger than the cache\n"
                "  commcomp bench --scheme 3lc --values 1K,10K,100K,1M,10M -o sizes.csv\n"
                "  commcomp bench --scheme all --profile-out profile.json\n",
    .options = options,
    .columns = cc_bench_columns,
    .takes_schemes = CC_SCHEMES,
    .run = run,
};
