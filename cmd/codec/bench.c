/* `commcomp bench`: sizes, errors and speeds of schemes on gradients. */
#include <stdlib.h>
#include <string.h>

#include "cmd/codec/bench.h"
#include "cmd/input/source.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/trace/trace_dtype.h"
#include "core/units.h"
#include "results/machine_info.h"

/* How long sizes may take to settle unless --passes says how far to go. */
#define SETTLE_S    3.0
#define SETTLE_TEXT "3 s"

static const char *const stream_choices[] = {"first", "push", "pull", "all", NULL};

/* "auto" is 0. */
static int parse_passes(const char *text, void *member, struct cc_error *e)
{
    enum { MOST = 1000000 };
    uint64_t passes = 0;
    if (strcmp(text, "auto") != 0) {
        CC_TRY(cc_parse_count(text, &passes, e));
        if (passes < 1 || passes > MOST)
            return cc_usage(e, "%s is not between 1 and %d", text, MOST);
    }
    *(size_t *)member = (size_t)passes;
    return CC_OK;
}

#define MEMBER(m) CC_OPTION_AT(struct cc_bench_options, m)
static const struct cc_option own_options[] = {
    {.name = "stream",
     MEMBER(streams),
     .value = "WHICH",
     .def = "first",
     .choices = stream_choices,
     .help = "which of a trace's streams: first (the pushes of the first worker), push (of all "
             "workers), pull (the server's model deltas) or all; a row each"},
    {.name = "min-size",
     MEMBER(min_size),
     .kind = CC_TAKES_COUNT,
     .max = INT64_MAX,
     .value = "COUNT",
     .def = "0",
     .help = "tensors with fewer values are sent as fp32, as the papers do for small layers"},
    {.name = "passes",
     MEMBER(passes),
     .parse = parse_passes,
     .value = "N|auto",
     .otherwise = "auto, for up to " SETTLE_TEXT " a scheme",
     .help =
         "auto: go through the trace again and again, with the residuals kept, until sizes have "
         "settled (the payload of " CC_SETTLE_STEPS_TEXT " steps or more lies within 1% of that of "
         "as many before), however long that takes; N: N times, and report the last pass: 1 for "
         "the first steps of a training, when residuals are empty"},
    {.name = "per-tensor",
     MEMBER(per_tensor),
     .brief = "a row for each tensor",
     .help = "a row for each tensor instead of one for the whole step"},
    {.name = "threads",
     CC_OPTION_LIST(struct cc_bench_options, threads, thread_counts),
     .kind = CC_TAKES_COUNT,
     .min = 1,
     .max = 1024,
     .value = "N",
     .def = "1",
     .brief = "threads of a codec, as in 2 or 1,2,4",
     .help = "threads: large tensors one after the other with all of them, small ones shared out; "
             "with a list, as in 1,2,4, speeds of each number, and speed-ups over the first"},
    {.name = "samples",
     MEMBER(samples),
     .kind = CC_TAKES_COUNT,
     .min = 1,
     .max = 100000,
     .value = "N",
     .otherwise = "10 or more",
     .help =
         "time each scheme N times; by default at least 10 times (5 with --profile-out, 20 where "
         "memory's limit is measured too), and up to 100 while --time lasts"},
    {.name = "discard",
     MEMBER(discard),
     .kind = CC_TAKES_COUNT,
     .max = 1000,
     .value = "N",
     .otherwise = "1, or 3",
     .help = "rounds to warm up with before samples count: 1, or 3 with --profile-out, so that "
             "residuals are as after some steps"},
    {.name = "time",
     MEMBER(time_s),
     .kind = CC_TAKES_TIME,
     .value = "TIME",
     .def = "5s",
     .brief = "how long speeds are measured",
     .help = "go on sampling for this long, all schemes and all sizes together"},
    {.name = "profile-out",
     MEMBER(profile_out),
     .value = "FILE",
     .file = CC_WRITES_FILE,
     .brief = "write the codecs' profile, for `commcomp model`",
     .help = "write bits and nanoseconds per value of each scheme by the tensor's size, for "
             "`commcomp model`: of the sizes of --values, of the tensors of --trace or --net, else "
             "of " CC_PROFILE_SIZES_TEXT " values"},
    {.name = "no-speed",
     MEMBER(no_speed),
     .brief = "sizes and errors only",
     .help = "sizes and errors only"},
    {.name = NULL},
};

static const struct cc_option_use options[] = {
    {.rows = cc_plugin_options},
    {.rows = cc_source_options, .names = "trace synthetic net values seed steps skip-nonfinite"},
    {.rows = cc_source_options,
     .names = "dtype",
     .own = {.otherwise = "the trace's; fp32 if values are drawn",
             .help =
                 "type of the gradients: {words}. Values are rounded to it, codecs read it, and "
                 "ratio and encoding speed refer to its bytes"}},
    {.rows = own_options},
    {.rows = NULL},
};

static void show_progress(void *arg, const char *phase, double done)
{
    cc_progress_show(arg, phase, done);
}

/* --- options --- */

/* Starts the most threads that --threads names once. */
static int check_threads(const struct cc_args *args, struct cc_bench_options *o, struct cc_error *e)
{
    for (size_t i = 0; i < o->thread_counts; i++)
        o->most_threads =
            (int)o->threads[i] > o->most_threads ? (int)o->threads[i] : o->most_threads;
    if (o->thread_counts > 1 && (o->no_speed || o->profile_out != NULL))
        return cc_usage(e, "--threads %s and --%s exclude each other", cc_arg(args, "threads"),
                        o->no_speed ? "no-speed" : "profile-out");
    return cc_parallel_check(o->most_threads, e);
}

/* Reads the options; *o is to be freed with cc_options_free, also after a failure. */
static int parse_options(const struct cc_args *args, struct cc_bench_options *o,
                         struct cc_source_options *source, struct cc_error *e)
{
    struct cc_speed_limits usual = {.discard = 1, .least = 10, .most = 100};
    CC_TRY(cc_source_read(args, source, e));
    CC_TRY(cc_options_read(args, own_options, o, e));
    const bool profile = o->profile_out != NULL;
    if (profile)
        usual = cc_profile_limits(o->time_s);
    if (profile && o->no_speed)
        return cc_usage(e, "--profile-out and --no-speed exclude each other");
    if (profile && source->values == NULL && source->trace == NULL && source->net == NULL)
        o->values = CC_PROFILE_SIZES_TEXT;
    else
        o->values = source->values;
    o->plan = (struct cc_quality_plan){
        .passes = o->passes, .settle.seconds = cc_given(o, &o->passes) != NULL ? 0 : SETTLE_S};
    o->limits = (struct cc_speed_limits){
        .discard = cc_given(o, &o->discard) != NULL ? o->discard : usual.discard,
        .least = o->samples > 0 ? o->samples : usual.least,
        .most = o->samples > 0 ? o->samples : usual.most,
        .seconds = o->time_s,
        .per_tensor = o->per_tensor || profile,
        .roofline = !o->per_tensor};
    return check_threads(args, o, e);
}

/* --- measuring --- */

/* Adds sizes and speeds to the profile, whose origin is that of the first ones. */
static int add_to_profile(struct cc_bench_run *b, struct cc_bench_measured *m, struct cc_error *e)
{
    struct cc_profile *p = &b->profile;
    struct cc_speed *speed = &m->speed;
    if (b->options.profile_out == NULL || speed->samples == 0)
        return CC_OK;
    if (p->trace == NULL) {
        struct cc_machine_info machine;
        cc_machine_info_read(&machine);
        p->threads = b->config.threads;
        p->dtype = cc_trace_element(b->config.trace);
        CC_TRY(cc_text(&p->trace, e, "%s", cc_trace_name(b->config.trace)));
        CC_TRY(cc_text(&p->cpu, e, "%s", machine.cpu));
        CC_TRY(cc_text(&p->isa, e, "%s", machine.isa));
        CC_TRY(cc_text(&p->time, e, "%s", machine.time));
    }
    /* Sizes are the settled ones, not those of the steps that were timed. */
    for (size_t i = 0; i < m->done * speed->tensors; i++)
        if (m->q[i].steps > 0)
            speed->tensor_bytes[i] = (double)m->q[i].payload_bytes / (double)m->q[i].steps;
    return cc_profile_add(p, &b->config, speed, false, e);
}

/* Benches one stream of the trace. A scheme that fails leaves the others their rows; then the
 * result is its failure. */
static int bench_stream(struct cc_bench_run *b, struct cc_error *e)
{
    struct cc_bench_config *config = &b->config;
    const size_t tensors = cc_trace_tensors(config->trace), schemes = config->schemes->count;
    struct cc_bench_measured m = {.q = NULL};
    int status = CC_OK;
    config->threads = b->options.most_threads; /* until speeds are measured */
    CC_TRY_OUT(CC_NEW(m.q, schemes * tensors, e));
    CC_TRY_OUT(CC_NEW(m.settled, schemes, e));
    CC_TRY_OUT(CC_NEW(m.error, schemes, e));
    CC_TRY_OUT(CC_NEW(config->failed, schemes, e));
    if (!b->options.no_speed)
        CC_TRY_OUT(cc_calls_check(config, e));
    CC_TRY_OUT(cc_quality_measure(config, &b->options.plan, m.q, m.settled, &m.done, e));
    CC_TRY_OUT(cc_update_errors(config, m.error, e));
    for (size_t i = 0; i < b->options.thread_counts && (i == 0 || !cc_interrupted()); i++) {
        config->threads = (int)b->options.threads[i];
        cc_speed_free(&m.speed);
        if (!b->options.no_speed && !cc_interrupted())
            CC_TRY_OUT(cc_speed_measure(config, &b->options.limits, &m.speed, e));
        CC_TRY_OUT(cc_bench_rows(b, &m, e));
        CC_TRY_OUT(add_to_profile(b, &m, e));
    }
    for (size_t s = 0; s < schemes && status == CC_OK; s++)
        if (cc_bench_failed(config, s))
            status = cc_fail(e, "%s", config->failed[s].text);
out:
    cc_speed_free(&m.speed);
    free(config->failed);
    config->failed = NULL;
    free(m.q);
    free(m.settled);
    free(m.error);
    return status;
}

static bool is_benched(enum cc_bench_streams which, size_t index, struct cc_trace_sender s)
{
    const enum cc_direction direction = which == CC_STREAM_PULL ? CC_PULL : CC_PUSH;
    return which == CC_STREAM_FIRST ? index == 0
                                    : which == CC_STREAM_ALL || s.direction == direction;
}

/* Sets the type of the trace's gradients, and the scheme that sends them as they are. */
static int choose_type(struct cc_bench_run *b, struct cc_error *e)
{
    struct cc_trace *t = b->config.trace;
    const bool given = cc_given(&b->source, &b->source.dtype) != NULL;
    const enum cc_element type = given ? b->source.dtype : cc_trace_element(t);
    bool other = false;
    for (size_t i = 0; !given && type != CC_ELEMENT_FP32 && i < cc_trace_tensors(t); i++)
        other |= cc_dtype_element(cc_trace_dtype(t, i)) != type;
    if (other)
        CC_TRY(cc_record_note(b->record, e,
                              "the gradients' type is that of the largest tensor, %s, to which the "
                              "others are rounded; --dtype chooses another",
                              cc_element_names[type]));
    cc_trace_set_element(t, type);
    cc_spec_free(b->raw);
    b->raw = NULL;
    CC_TRY(cc_spec_parse(cc_element_names[type], &b->raw, e));
    b->config.raw = b->raw;
    return CC_OK;
}

static int bench_trace(struct cc_bench_run *b, struct cc_error *e)
{
    struct cc_trace *trace = b->config.trace;
    const enum cc_bench_streams which = b->options.streams;
    const size_t limit = (size_t)b->source.steps;
    b->streams = 0;
    CC_TRY(choose_type(b, e));
    for (size_t i = 0; i < cc_trace_streams(trace); i++)
        b->streams += is_benched(which, i, cc_trace_stream(trace, i));
    if (b->options.profile_out != NULL && b->streams > 1)
        return cc_usage(e, "--profile-out with --stream %s: a profile is of one stream",
                        stream_choices[which]);
    if (b->streams == 0)
        return cc_fail(e, "%s has no stream '%s'; `commcomp trace info` tells which it has",
                       cc_trace_name(trace), stream_choices[which]);
    for (size_t i = 0; i < cc_trace_streams(trace); i++) {
        if (!is_benched(which, i, cc_trace_stream(trace, i)) || cc_interrupted())
            continue;
        const size_t steps = cc_trace_steps(trace, i);
        b->config.stream = i;
        b->config.steps = limit == 0 || limit > steps ? steps : limit;
        if (limit > steps)
            CC_TRY(cc_record_note(b->record, e, "--steps %zu: the trace has %zu, which are used",
                                  limit, steps));
        CC_TRY(bench_stream(b, e));
    }
    return CC_OK;
}

/* Benches the sizes of --values one after the other, so that memory holds only one of them. */
static int bench_sizes(struct cc_bench_run *b, struct cc_error *e)
{
    const char *text = b->options.values;
    struct cc_values sizes = {.item = NULL};
    int status = CC_OK;
    CC_TRY_OUT(cc_input_values(text, &sizes, e));
    b->sizes = sizes.count;
    b->options.limits.seconds /= (double)(b->sizes * b->options.thread_counts);
    const char *label = b->sizes == 1 ? text : "flat"; /* the same in all rows */
    for (size_t i = 0; i < b->sizes && !cc_interrupted(); i++) {
        CC_TRY_OUT(cc_input_flat_trace(&b->source, label, sizes.item[i], &b->config.trace, e));
        status = bench_trace(b, e);
        cc_trace_close(b->config.trace);
        CC_TRY_OUT(status);
    }
out:
    free(sizes.item);
    return status;
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct cc_bench_run b = {.record = &args->record};
    int status = CC_OK;
    CC_TRY_OUT(parse_options(args, &b.options, &b.source, e));
    if (args->schemes.count == 0)
        CC_TRY_OUT(cc_spec_list_parse("paper", &args->schemes, e));
    CC_TRY_OUT(CC_NEW(b.first, args->schemes.count * CC_CALLS, e));
    b.config = (struct cc_bench_config){.schemes = &args->schemes,
                                        .min_size = b.options.min_size,
                                        .seed = b.source.seed,
                                        .progress = show_progress,
                                        .progress_arg = &b.progress};
    cc_progress_begin(&b.progress, args->quiet);
    if (b.options.values != NULL) {
        CC_TRY_OUT(bench_sizes(&b, e));
    } else {
        CC_TRY_OUT(cc_input_trace(&b.source, &b.config.trace, e));
        status = bench_trace(&b, e);
        if (status == CC_OK)
            status = cc_input_note_trace(b.record, b.config.trace, e);
        cc_trace_close(b.config.trace);
        CC_TRY_OUT(status);
    }
    CC_TRY_OUT(cc_bench_note_speeds(&b, e));
    if (b.options.profile_out != NULL && !cc_interrupted())
        CC_TRY_OUT(cc_profile_write(&b.profile, b.options.profile_out, e));
out:
    cc_progress_end(&b.progress);
    args->record.partial = cc_interrupted();
    cc_profile_free(&b.profile);
    cc_options_free(&b.options);
    cc_options_free(&b.source);
    free(b.first);
    cc_spec_free(b.raw);
    return status;
}

const struct cc_command cc_command_bench = {
    .name = "bench",
    .summary = "payload size, speed and error of each scheme on your gradients",
    .operands = "",
    .description =
        "Runs each scheme on every tensor of a trace, step after step with the residuals carried "
        "along, and reports bits per value, ratio, the speed of encoding, decoding, and decoding "
        "and adding, and the error of the decoded gradient. Steps count from 0 for the random "
        "numbers, whatever their number in the trace.\n\nWithout --trace the values are synthetic. "
        "Without --scheme the ten rows of 3LC's Table 1 are run.",
    .examples = "  commcomp bench                                     # the papers' ten schemes\n"
                "  commcomp bench --scheme 3lc --s 1.0/1.5/1.75/1.9   # a sweep\n"
                "  commcomp bench --trace captured/ --scheme all -o all.csv\n"
                "  commcomp bench --trace captured/ --scheme 3lc --passes 1 --no-speed\n"
                "  commcomp bench --net resnet50 --scheme int8,fp16 --threads 2\n"
                "  commcomp bench --values cache    # larger than the cache, with its limits\n"
                "  commcomp bench --scheme 3lc --values 1K,10K,100K,1M,10M -o sizes.csv\n"
                "  commcomp bench --scheme all --profile-out profile.json\n",
    .page = "docs/results.md",
    .options = options,
    .columns = cc_bench_columns,
    .takes_schemes = CC_SCHEMES,
    .run = run,
};
