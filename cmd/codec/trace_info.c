/* `commcomp trace info`: the streams, steps and tensors of a trace. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/cli/command.h"
#include "cmd/cli/progress.h"
#include "cmd/input/source.h"
#include "core/memory.h"
#include "core/trace/trace.h"
#include "core/trace/trace_check.h"

struct info_options {
    struct cc_given given;
    bool per_tensor;
};

static const struct cc_option info_options[] = {
    {.name = "per-tensor",
     CC_OPTION_AT(struct info_options, per_tensor),
     .help = "a row for each tensor of each stream, with statistics of its values over all steps: "
             "reads them all"},
    {.name = NULL},
};

static const struct cc_option_use options[] = {{.rows = info_options}, {.rows = NULL}};

static const struct cc_column columns[] = {
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
    CC_TRY(cc_record_text(r, *row, CC_KEY(trace), cc_trace_name(t), e));
    CC_TRY(cc_record_text(r, *row, CC_KEY(stream), name, e));
    CC_TRY(cc_record_text(r, *row, CC_KEY(direction), s.direction == CC_PUSH ? "push" : "pull", e));
    cc_record_number(r, *row, CC_KEY(worker), (double)s.rank);
    cc_record_number(r, *row, CC_KEY(steps), (double)steps);
    if (steps > 0) {
        CC_TRY(cc_record_whole(r, *row, CC_KEY(first_step), cc_trace_step_number(t, stream, 0), e));
        CC_TRY(cc_record_whole(r, *row, CC_KEY(last_step),
                               cc_trace_step_number(t, stream, steps - 1), e));
    }
    return CC_OK;
}

/* Adds the row of a stream. */
static int add_stream(struct cc_record *r, struct cc_trace *t, size_t stream, struct cc_error *e)
{
    size_t row;
    CC_TRY(add_row(r, t, stream, &row, e));
    cc_record_number(r, row, CC_KEY(tensors), (double)cc_trace_tensors(t));
    cc_record_number(r, row, CC_KEY(values), (double)cc_trace_values(t));
    cc_record_number(r, row, CC_KEY(largest), (double)cc_trace_largest(t));
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
    struct cc_tensor_stats *s;
    CC_TRY(CC_NEW(s, tensors, e));
    cc_progress_begin(&progress, args->quiet);
    int status = cc_trace_stats(t, stream, show_progress, &progress, s, e);
    cc_progress_end(&progress);
    CC_TRY_OUT(status);
    for (size_t k = 0; k < tensors; k++) {
        const struct cc_tensor_info *info = cc_trace_tensor(t, k);
        char shape[192];
        cc_shape_print(&info->shape, shape, sizeof shape);
        CC_TRY_OUT(add_row(r, t, stream, &row, e));
        CC_TRY_OUT(cc_record_text(r, row, CC_KEY(tensor), info->name, e));
        CC_TRY_OUT(cc_record_text(r, row, CC_KEY(shape), shape, e));
        cc_record_number(r, row, CC_KEY(values), (double)info->shape.n);
        set_statistics(r, row, &s[k]);
    }
out:
    free(s);
    return status;
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct cc_trace *t = NULL;
    struct info_options o = {.per_tensor = false};
    int status = CC_OK;
    CC_TRY(cc_options_read(args, info_options, &o, e));
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
        "Reads a tensor file (.safetensors, .npy, .npz, .csv) or a directory of them and lists its "
        "streams (one for each sender) with their steps and tensors: a row for each stream. All "
        "headers are checked, values only with --per-tensor.",
    .examples = "  commcomp trace info captured/\n"
                "  commcomp trace info --per-tensor captured/step7.safetensors\n",
    .options = options,
    .columns = columns,
    .run = run,
};
