/* `commcomp trace info`: the streams, steps and tensors of a trace. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/cli/command.h"
#include "cmd/cli/progress.h"
#include "cmd/input/source.h"
#include "core/memory.h"
#include "core/trace/trace.h"
#include "core/trace/trace_stats.h"

static const struct cc_option options[] = {
    {.name = "per-tensor",
     .help = "a row for each tensor of each stream, with statistics of its values over all steps: "
             "reads them all"},
    {.name = NULL},
};

static const struct cc_column columns[] = {
    {"trace", "trace", "", NULL, 0, "the file or directory", CC_SETTING},
    {"stream", "stream", "", NULL, 0, "who sends: push and the worker's rank, or pull", CC_SETTING},
    {"direction", NULL, "", NULL, 0, "push or pull", CC_SETTING},
    {"worker", NULL, "", "%.0f", 0, "the worker's rank, -1 for the server", CC_SETTING},
    {"steps", "steps", "", "%.0f", 0, "number of steps", CC_ANSWER},
    {"first_step", "first step", "", "%.0f", 0, "the number of the first step", CC_DETAIL},
    {"last_step", "last step", "", "%.0f", 0, "the number of the last step", CC_DETAIL},
    {"tensors", "tensors", "", "%.0f", 0, "tensors in a step", CC_MAIN},
    {"tensor", "tensor", "", NULL, 0, "with --per-tensor: its name", CC_SETTING},
    {"shape", "shape", "", NULL, 0, "with --per-tensor: its dimensions", CC_SETTING},
    {"values", "values", "", "%.0f", 0, "number of float32 values in a step", CC_MAIN},
    {"largest", "largest tensor", "", "%.0f", 0, "values of the largest tensor", CC_DETAIL},
    {"max_abs", "max|x|", "", "%.4g", 0, "the largest magnitude of all steps, of the finite values",
     CC_ANSWER},
    {"rms", "rms", "", "%.4g", 0,
     "square root of the mean square over all steps, of the finite values", CC_MAIN},
    {"max_over_rms", "max/rms", "", "%.4g", 0, "largest magnitude relative to the rms", CC_PART},
    {"zero_fraction", "zeros", "%", "%.2f", 100, "share of values that are zero", CC_MAIN},
    {"nonfinite", "not finite", "", "%.0f", 0,
     "number of values that are NaN or infinite, which no scheme encodes; null if none", CC_ANSWER},
    {.key = NULL},
};

static void set_statistics(struct cc_record *r, size_t row, const struct cc_tensor_stats *s)
{
    cc_record_number(r, row, "max_abs", (double)s->max_abs);
    cc_record_number(r, row, "rms", s->rms);
    cc_record_number(r, row, "max_over_rms", (double)s->max_abs / s->rms);
    cc_record_number(r, row, "zero_fraction", (double)s->zeros / (double)s->values);
    if (s->not_finite > 0)
        cc_record_number(r, row, "nonfinite", (double)s->not_finite);
}

/* Adds a row for a stream, with what is known without reading its values. */
static int add_row(struct cc_record *r, struct cc_trace *t, size_t stream, size_t *row,
                   struct cc_error *e)
{
    struct cc_trace_sender s = cc_trace_stream(t, stream);
    size_t steps = cc_trace_steps(t, stream);
    char name[48] = "pull";
    if (s.direction == CC_PUSH)
        (void)snprintf(name, sizeof name, "push %lld", (long long)s.rank);
    *row = cc_record_add(r, e);
    if (*row == SIZE_MAX)
        return CC_FAIL;
    CC_TRY(cc_record_text(r, *row, "trace", cc_trace_name(t), e));
    CC_TRY(cc_record_text(r, *row, "stream", name, e));
    CC_TRY(cc_record_text(r, *row, "direction", s.direction == CC_PUSH ? "push" : "pull", e));
    cc_record_number(r, *row, "worker", (double)s.rank);
    cc_record_number(r, *row, "steps", (double)steps);
    if (steps > 0) {
        CC_TRY(cc_record_whole(r, *row, "first_step", cc_trace_step_number(t, stream, 0), e));
        CC_TRY(
            cc_record_whole(r, *row, "last_step", cc_trace_step_number(t, stream, steps - 1), e));
    }
    return CC_OK;
}

/* Adds the row of a stream. */
static int add_stream(struct cc_record *r, struct cc_trace *t, size_t stream, struct cc_error *e)
{
    size_t row;
    CC_TRY(add_row(r, t, stream, &row, e));
    cc_record_number(r, row, "tensors", (double)cc_trace_tensors(t));
    cc_record_number(r, row, "values", (double)cc_trace_values(t));
    cc_record_number(r, row, "largest", (double)cc_trace_largest(t));
    return CC_OK;
}

static void show_progress(void *context, double done)
{
    cc_progress_show(context, "reading", done);
}

/* Adds a row with statistics for each tensor of a stream. */
static int add_tensors(struct cc_args *args, struct cc_trace *t, size_t stream, struct cc_error *e)
{
    struct cc_record *r = &args->record;
    struct cc_progress progress;
    size_t tensors = cc_trace_tensors(t), row;
    struct cc_tensor_stats *s = cc_alloc0(tensors * sizeof *s, e);
    if (s == NULL)
        return CC_FAIL;
    cc_progress_begin(&progress, args->quiet);
    int status = cc_trace_stats(t, stream, show_progress, &progress, s, e);
    cc_progress_end(&progress);
    if (status != CC_OK)
        goto out;
    for (size_t k = 0; k < tensors; k++) {
        const struct cc_tensor_info *info = cc_trace_tensor(t, k);
        char shape[192];
        cc_shape_print(&info->shape, shape, sizeof shape);
        CC_TRY_OUT(add_row(r, t, stream, &row, e));
        CC_TRY_OUT(cc_record_text(r, row, "tensor", info->name, e));
        CC_TRY_OUT(cc_record_text(r, row, "shape", shape, e));
        cc_record_number(r, row, "values", (double)info->shape.n);
        set_statistics(r, row, &s[k]);
    }
out:
    free(s);
    return status;
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct cc_trace *t = NULL;
    bool per_tensor = cc_arg(args, "per-tensor") != NULL;
    int status = CC_OK;
    CC_TRY(cc_trace_open(args->operand[0], &t, e));
    for (size_t i = 0; i < cc_trace_streams(t) && status == CC_OK; i++)
        status = per_tensor ? add_tensors(args, t, i, e) : add_stream(&args->record, t, i, e);
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
        "Reads a tensor file (.safetensors, .npy, .npz, .csv) or a directory of them and lists its "
        "streams (one for each sender) with their steps and tensors: a row for each stream. All "
        "headers are checked, values only with --per-tensor.",
    .examples = "  commcomp trace info captured/\n"
                "  commcomp trace info --per-tensor captured/step7.safetensors\n",
    .options = options,
    .columns = columns,
    .run = run,
};
