/* `commcomp trace synth` and `commcomp trace convert`: write traces to files. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cmd/cli/progress.h"
#include "cmd/input/codec_file.h"
#include "cmd/input/source.h"
#include "core/trace/synth.h"
#include "core/trace/trace_write.h"

static const struct cc_column columns[] = {
    CC_COLUMN(trace, CC_SETTING),
    CC_COLUMN(files, CC_ANSWER),
    CC_COLUMN(tensors, CC_MAIN),
    CC_COLUMN(values, CC_MAIN),
    CC_COLUMN(output_bytes, CC_ANSWER),
    CC_COLUMN(source, CC_SETTING),
    {.key = NULL},
};

static int add_row(struct cc_record *r, const struct cc_trace *t, const char *path, uint64_t files,
                   double bytes, struct cc_error *e)
{
    size_t row = cc_record_add(r, e);
    if (row == SIZE_MAX)
        return CC_FAIL;
    CC_TRY(cc_record_text(r, row, CC_KEY(trace), path, e));
    CC_TRY(cc_record_text(r, row, CC_KEY(source), cc_trace_name(t), e));
    cc_record_number(r, row, CC_KEY(files), (double)files);
    cc_record_number(r, row, CC_KEY(tensors), (double)cc_trace_tensors(t));
    cc_record_number(r, row, CC_KEY(values), (double)cc_trace_values(t));
    cc_record_number(r, row, CC_KEY(output_bytes), bytes);
    return CC_OK;
}

static void show_progress(void *context, double done)
{
    cc_progress_show(context, "writing", done);
}

/* Writes the whole trace to a directory. */
static int write_directory(struct cc_args *args, struct cc_trace *t, const char *path,
                           struct cc_error *e)
{
    struct cc_progress progress;
    uint64_t files, bytes;
    cc_progress_begin(&progress, args->quiet);
    int status = cc_trace_write(t, path, show_progress, &progress, &files, &bytes, e);
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
    int status = write_directory(args, t, args->operand[0], e);
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
    .options = synth_uses,
    .columns = columns,
    .run = run_synth,
};

/* --- convert --- */

static const struct cc_option_use convert_options[] = {{.rows = NULL}};

/* Writes a trace of one step to a file. */
static int convert_file(struct cc_args *args, struct cc_trace *t, const char *out,
                        struct cc_error *e)
{
    struct cc_pair *pairs;
    size_t count;
    struct stat st;
    CC_TRY(cc_tensor_file_check(out, cc_trace_tensors(t), e));
    CC_TRY(cc_tensor_file_metadata(args->operand[0], &pairs, &count, e));
    int status = cc_trace_write_step(t, 0, 0, out, count > 0 ? pairs : NULL, count, e);
    cc_pairs_free(pairs, count);
    CC_TRY(status);
    /* The number of bytes written to a pipe is not known. */
    bool known = stat(out, &st) == 0 && S_ISREG(st.st_mode);
    return add_row(&args->record, t, out, 1, known ? (double)st.st_size : NAN, e);
}

static int run_convert(struct cc_args *args, struct cc_error *e)
{
    const char *in = args->operand[0], *out = args->operand[1];
    struct cc_trace *t = NULL;
    struct stat st;
    bool directory = stat(in, &st) == 0 && S_ISDIR(st.st_mode);
    CC_TRY(cc_trace_open(in, &t, e));
    int status = directory ? write_directory(args, t, out, e) : convert_file(args, t, out, e);
    cc_trace_close(t);
    return status;
}

const struct cc_command cc_command_trace_convert = {
    .name = "trace convert",
    .summary = "rewrite a trace as float32 safetensors, or a file in another format",
    .operands = "IN OUT",
    .min_operands = 2,
    .max_operands = 2,
    .output_operand = 2,
    .description =
        "A directory becomes a directory of .safetensors files, one for each step and sender, "
        "with metadata that tell which; OUT must not exist or be empty. A file becomes a file "
        "in the format of OUT's suffix; .npy and .csv hold one tensor. Values of other "
        "types become float32.",
    .examples = "  commcomp trace convert numpy-files/ trace/\n"
                "  commcomp trace convert x.npy x.safetensors\n",
    .options = convert_options,
    .columns = columns,
    .run = run_convert,
};
