/* `commcomp trace info`, `trace synth` and `trace convert`: what is in a trace, and traces as
 * files. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cmd/cli/command.h"
#include "cmd/cli/progress.h"
#include "cmd/codec/compress.h"
#include "cmd/input/source.h"
#include "core/format/contents.h"
#include "core/memory.h"
#include "core/trace/synth.h"
#include "core/trace/trace.h"
#include "core/trace/trace_check.h"
#include "core/trace/trace_dtype.h"
#include "core/trace/trace_write.h"

static const struct cc_column columns[] = {
    CC_COLUMN(trace, CC_SETTING),  CC_COLUMN(files, CC_ANSWER),
    CC_COLUMN(tensors, CC_MAIN),   CC_COLUMN(values, CC_MAIN),
    CC_COLUMN(dtype, CC_SETTING),  CC_COLUMN(output_bytes, CC_ANSWER),
    CC_COLUMN(source, CC_SETTING), {.key = NULL},
};

static int add_row(struct cc_record *r, const struct cc_trace *t, const char *path, uint64_t files,
                   double bytes, struct cc_error *e)
{
    size_t row;
    CC_TRY(cc_record_add(r, &row, e));
    CC_TRY(cc_record_text(r, row, CC_KEY(trace), path, e));
    CC_TRY(cc_record_text(r, row, CC_KEY(source), cc_trace_name(t), e));
    CC_TRY(cc_record_text(r, row, CC_KEY(dtype), cc_element_names[cc_trace_element(t)], e));
    cc_record_number(r, row, CC_KEY(files), (double)files);
    cc_record_number(r, row, CC_KEY(tensors), (double)cc_trace_tensors(t));
    cc_record_number(r, row, CC_KEY(values), (double)cc_trace_values(t));
    cc_record_number(r, row, CC_KEY(output_bytes), bytes);
    return CC_OK;
}

static void show_reading(void *context, double done)
{
    cc_progress_show(context, "reading", done);
}

static void show_writing(void *context, double done)
{
    cc_progress_show(context, "writing", done);
}

static int write_directory(struct cc_args *args, struct cc_trace *t, const char *path,
                           bool compress, struct cc_error *e)
{
    struct cc_progress progress;
    uint64_t files, bytes;
    cc_progress_begin(&progress, args->quiet);
    int status = cc_trace_write(t, path, compress ? cc_compress_step : NULL, ".cc", show_writing,
                                &progress, &files, &bytes, e);
    cc_progress_end(&progress);
    return status == CC_OK ? add_row(&args->record, t, path, files, (double)bytes, e) : status;
}

/* --- synth --- */

struct synth_options {
    struct cc_given given;
    size_t ranks;
    bool pulls;
};

static const struct cc_option synth_options[] = {
    {.name = "ranks",
     CC_OPTION_AT(struct synth_options, ranks),
     .kind = CC_TAKES_COUNT,
     .min = 1,
     .max = 100000,
     .value = "N",
     .def = "1",
     .help = "workers that push"},
    {.name = "pulls", CC_OPTION_AT(struct synth_options, pulls), .help = "also the server's pulls"},
    {.name = NULL},
};

static const struct cc_option_use synth_uses[] = {
    {.rows = cc_source_options, .names = "synthetic net values seed"},
    {.rows = cc_source_options, .names = "steps", .own = {.def = "8", .help = "steps to make"}},
    {.rows = cc_source_options,
     .names = "dtype",
     .own = {.def = "fp32", .help = "type that values are rounded to and written in: {words}"}},
    {.rows = synth_options},
    {.rows = NULL},
};

static int run_synth(struct cc_args *args, struct cc_error *e)
{
    struct cc_source_options source;
    struct synth_options o = {.ranks = 0};
    struct cc_trace *t = NULL;
    CC_TRY(cc_source_read(args, &source, e));
    CC_TRY(cc_options_read(args, synth_options, &o, e));
    const struct cc_synth config = {
        .steps = (size_t)source.steps, .ranks = o.ranks, .pulls = o.pulls};
    CC_TRY(cc_input_synth(&source, &config, &t, e));
    cc_trace_set_element(t, source.dtype);
    int status = write_directory(args, t, args->operand[0], false, e);
    cc_trace_close(t);
    return status;
}

const struct cc_command cc_command_trace_synth = {
    .name = "trace synth",
    .summary = "write a synthetic trace",
    .operands = "OUTDIR",
    .min_operands = 1,
    .max_operands = 1,
    .output_operand = 1,
    .description =
        "Writes the tensors that other commands generate when they have no --trace, one "
        ".safetensors file for each step and sender. OUTDIR must not exist or be empty; it "
        "appears when it is complete.",
    .examples = "  commcomp trace synth traces/ --net resnet110 --steps 4 --ranks 2 --pulls\n"
                "  commcomp trace synth traces/ --values 25M --steps 1 --synthetic laplace\n",
    .page = "docs/traces.md",
    .options = synth_uses,
    .columns = columns,
    .run = run_synth,
};

/* --- convert --- */

struct convert_options {
    struct cc_given given;
    bool compress;
};

static const struct cc_option convert_rows[] = {
    {.name = "compress",
     CC_OPTION_AT(struct convert_options, compress),
     .help =
         "write compressed files, .cc, of the scheme " CC_COMPRESS_SCHEME ", which loses nothing; "
         "all commands read them as traces"},
    {.name = NULL},
};

static const struct cc_option_use convert_options[] = {
    {.rows = cc_source_options,
     .names = "dtype",
     .own = {.otherwise = "fp32; with --compress as they are",
             .help = "type that values are rounded to and written in: {words}"}},
    {.rows = convert_rows},
    {.rows = NULL},
};

static int convert_file(struct cc_args *args, struct cc_trace *t, const char *out, bool compress,
                        struct cc_error *e)
{
    enum cc_file_format format;
    struct cc_pair *pairs;
    size_t count;
    struct stat st;
    if (!compress && cc_trace_element(t) == CC_ELEMENT_BF16 &&
        cc_file_format_of(out, &format, NULL) == CC_OK && format == CC_NPY)
        return cc_usage(e, "%s: .npy has no bf16; take --dtype fp16 or fp32, or .safetensors", out);
    if (!compress)
        CC_TRY(cc_tensor_file_check(out, cc_trace_tensors(t), e));
    else if (cc_file_format_of(out, &format, NULL) != CC_OK || format != CC_COMPRESSED)
        return cc_usage(e, "%s: with --compress a file's name ends with .cc", out);
    CC_TRY(cc_tensor_file_metadata(args->operand[0], &pairs, &count, e));
    cc_write_step *const write = compress ? cc_compress_step : cc_trace_write_step;
    const int status = write(t, 0, 0, out, count > 0 ? pairs : NULL, count, e);
    cc_pairs_free(pairs, count);
    CC_TRY(status);
    /* The number of bytes written to a pipe is not known. */
    bool known = stat(out, &st) == 0 && S_ISREG(st.st_mode);
    return add_row(&args->record, t, out, 1, known ? (double)st.st_size : NAN, e);
}

static int run_convert(struct cc_args *args, struct cc_error *e)
{
    const char *in = args->operand[0], *out = args->operand[1];
    struct cc_source_options source;
    struct convert_options o = {.compress = false};
    struct cc_trace *t = NULL;
    struct stat st;
    bool directory = stat(in, &st) == 0 && S_ISDIR(st.st_mode);
    CC_TRY(cc_source_read(args, &source, e));
    CC_TRY(cc_options_read(args, convert_rows, &o, e));
    CC_TRY(cc_trace_open(in, &t, e));
    if (!o.compress || cc_given(&source, &source.dtype) != NULL)
        cc_trace_set_element(t, source.dtype);
    const int status = directory ? write_directory(args, t, out, o.compress, e)
                                 : convert_file(args, t, out, o.compress, e);
    cc_trace_close(t);
    return status;
}

const struct cc_command cc_command_trace_convert = {
    .name = "trace convert",
    .summary = "rewrite a trace as safetensors of one type, or a file in another format",
    .operands = "IN OUT",
    .min_operands = 2,
    .max_operands = 2,
    .output_operand = 2,
    .description =
        "A directory becomes a directory of .safetensors files, one for each step and sender, "
        "with metadata that tell which; OUT must not exist or be empty. A file becomes a file "
        "in the format of OUT's suffix; .npy and .csv hold one tensor. Values of other "
        "types become float32, or what --dtype says (.npy has no bf16).",
    .examples = "  commcomp trace convert numpy-files/ trace/\n"
                "  commcomp trace convert x.npy x.safetensors\n"
                "  commcomp trace convert --compress captured/ small/\n",
    .page = "docs/traces.md",
    .options = convert_options,
    .columns = columns,
    .run = run_convert,
};

/* --- info --- */

struct info_options {
    struct cc_given given;
    bool per_tensor;
};

static const struct cc_option info_rows[] = {
    {.name = "per-tensor",
     CC_OPTION_AT(struct info_options, per_tensor),
     .help = "a row for each tensor of each stream, with statistics of its values over all steps: "
             "reads them all"},
    {.name = NULL},
};

static const struct cc_option_use info_uses[] = {{.rows = info_rows}, {.rows = NULL}};

static const struct cc_column info_columns[] = {
    CC_COLUMN(trace, CC_SETTING),
    CC_COLUMN(stream, CC_SETTING),
    CC_COLUMN(direction, CC_SETTING, .hidden = true),
    CC_COLUMN(worker, CC_SETTING, .hidden = true),
    CC_COLUMN(steps, CC_ANSWER),
    CC_COLUMN(first_step, CC_DETAIL),
    CC_COLUMN(last_step, CC_DETAIL),
    CC_COLUMN(tensors, CC_MAIN),
    CC_COLUMN(tensor, CC_SETTING),
    CC_COLUMN(shape, CC_SETTING),
    CC_COLUMN(values, CC_MAIN),
    CC_COLUMN(dtype, CC_SETTING),
    CC_COLUMN(largest, CC_DETAIL),
    CC_COLUMN(max_abs, CC_ANSWER),
    CC_COLUMN(rms, CC_MAIN),
    CC_COLUMN(max_over_rms, CC_PART),
    CC_COLUMN(zero_fraction, CC_MAIN),
    CC_COLUMN(nonfinite, CC_ANSWER),
    {.key = NULL},
};

static void set_statistics(struct cc_record *r, size_t row, const struct cc_tensor_stats *s)
{
    cc_record_number(r, row, CC_KEY(max_abs), (double)s->max_abs);
    cc_record_number(r, row, CC_KEY(rms), s->rms);
    cc_record_number(r, row, CC_KEY(max_over_rms), (double)s->max_abs / s->rms);
    cc_record_number(r, row, CC_KEY(zero_fraction), (double)s->zeros / (double)s->values);
    if (s->not_finite > 0)
        cc_record_number(r, row, CC_KEY(nonfinite), (double)s->not_finite);
}

/* Adds a row for a stream, with what is known without reading its values. */
static int add_stream_row(struct cc_record *r, struct cc_trace *t, size_t stream, size_t *row,
                          struct cc_error *e)
{
    struct cc_trace_sender s = cc_trace_stream(t, stream);
    size_t steps = cc_trace_steps(t, stream);
    char name[48];
    cc_trace_stream_name(t, stream, name, sizeof name);
    CC_TRY(cc_record_add(r, row, e));
    CC_TRY(cc_record_text(r, *row, CC_KEY(trace), cc_trace_name(t), e));
    CC_TRY(cc_record_text(r, *row, CC_KEY(stream), name, e));
    CC_TRY(cc_record_text(r, *row, CC_KEY(direction), cc_direction_names[s.direction], e));
    cc_record_number(r, *row, CC_KEY(worker), (double)s.rank);
    cc_record_number(r, *row, CC_KEY(steps), (double)steps);
    if (steps > 0) {
        CC_TRY(cc_record_whole(r, *row, CC_KEY(first_step), cc_trace_step_number(t, stream, 0), e));
        CC_TRY(cc_record_whole(r, *row, CC_KEY(last_step),
                               cc_trace_step_number(t, stream, steps - 1), e));
    }
    return CC_OK;
}

static int add_stream(struct cc_record *r, struct cc_trace *t, size_t stream, struct cc_error *e)
{
    size_t row;
    CC_TRY(add_stream_row(r, t, stream, &row, e));
    cc_record_number(r, row, CC_KEY(tensors), (double)cc_trace_tensors(t));
    cc_record_number(r, row, CC_KEY(values), (double)cc_trace_values(t));
    cc_record_number(r, row, CC_KEY(largest), (double)cc_trace_largest(t));
    return cc_record_text(r, row, CC_KEY(dtype), cc_element_names[cc_trace_element(t)], e);
}

/* Adds a row with statistics for each tensor of a stream. */
static int add_tensors(struct cc_args *args, struct cc_trace *t, size_t stream, struct cc_error *e)
{
    struct cc_record *r = &args->record;
    struct cc_progress progress;
    size_t tensors = cc_trace_tensors(t), row;
    struct cc_tensor_stats *s;
    CC_TRY(CC_NEW(s, tensors, e));
    cc_progress_begin(&progress, args->quiet);
    int status = cc_trace_stats(t, stream, show_reading, &progress, s, e);
    cc_progress_end(&progress);
    CC_TRY_OUT(status);
    for (size_t k = 0; k < tensors; k++) {
        const struct cc_tensor_info *info = cc_trace_tensor(t, k);
        char shape[192];
        cc_shape_print(&info->shape, shape, sizeof shape);
        CC_TRY_OUT(add_stream_row(r, t, stream, &row, e));
        CC_TRY_OUT(cc_record_text(r, row, CC_KEY(tensor), info->name, e));
        CC_TRY_OUT(cc_record_text(r, row, CC_KEY(shape), shape, e));
        const enum cc_element type = cc_dtype_element(cc_trace_dtype(t, k));
        CC_TRY_OUT(cc_record_text(r, row, CC_KEY(dtype), cc_element_names[type], e));
        cc_record_number(r, row, CC_KEY(values), (double)info->shape.n);
        set_statistics(r, row, &s[k]);
    }
out:
    free(s);
    return status;
}

static int run_info(struct cc_args *args, struct cc_error *e)
{
    struct cc_trace *t = NULL;
    struct info_options o = {.per_tensor = false};
    int status = CC_OK;
    CC_TRY(cc_options_read(args, info_rows, &o, e));
    CC_TRY(cc_trace_open(args->operand[0], &t, e));
    for (size_t i = 0; i < cc_trace_streams(t) && status == CC_OK; i++)
        status = o.per_tensor ? add_tensors(args, t, i, e) : add_stream(&args->record, t, i, e);
    if (status == CC_OK)
        status = cc_input_note_trace(&args->record, t, e);
    cc_trace_close(t);
    return status;
}

const struct cc_command cc_command_trace_info = {
    .name = "trace info",
    .summary = "what is in a trace",
    .operands = "PATH",
    .min_operands = 1,
    .max_operands = 1,
    .description =
        "Reads a tensor file (" CC_TENSOR_FILES ") or a directory of them and lists its "
        "streams (one for each sender) with their steps and tensors: a row for each stream. All "
        "headers are checked, values only with --per-tensor.",
    .examples = "  commcomp trace info captured/\n"
                "  commcomp trace info --per-tensor captured/step7.safetensors\n",
    .page = "docs/traces.md",
    .options = info_uses,
    .columns = info_columns,
    .run = run_info,
};
