/* The kinds of plots: which columns they need, their axes, and which kind suits a file. */
#include <math.h>
#include <string.h>

#include "results/plot_impl.h"

const char *const cc_plot_kind_names[] = {
    "speedup",   "step",       "error", "workers",  "roofline", "size",   "accuracy",
    "loss",      "train-loss", "bits",  "validate", "paper",    "papers", "compare",
    "bandwidth", "density",    "link",  "ratio",    "nets",     NULL};
const char *const cc_plot_over_names[] = {"steps", "bytes", "time", NULL};

#define TRAINING_HINT "`commcomp train --seeds 3 -o FILE` makes them"

static const struct cc_kind kinds[CC_PLOT_KINDS] = {
    [CC_PLOT_SPEEDUP] =
        {.shape = CC_LINES,
         .title = "Speedup over 32-bit floats",
         .x = "bw_bps",
         .measure = {"speedup"},
         .x_axis = {.label = "bandwidth", .unit = "bit/s", .log = true, .base = 10},
         .y_axis = {.label = "speedup over fp32", .unit = "", .log = true, .base = 10},
         .reference = 1,
         .hint = "`commcomp model --bw 10mbps,100mbps,1gbps -o FILE` makes them"},
    [CC_PLOT_STEP] = {.shape = CC_STACKED,
                      .title = "Time of a step",
                      .measure = {"compute_s", "codec_s", "comm_s", CC_BUSY_COLUMN},
                      .part = (const char *const[]){"compute", "codec", "communication",
                                                    "hidden communication", NULL},
                      .needed = 3,
                      .also = {"step_s"},
                      .x_axis = {.label = "time of a step", .unit = "s"},
                      .hint = "`commcomp model -o FILE` makes them"},
    [CC_PLOT_ERROR] =
        {.shape = CC_LABELLED,
         .title = "Size against error",
         .x = "error",
         .measure = {"ratio"},
         .x_axis = {.label = "error of the updates (settled)", .unit = "", .log = true, .base = 10},
         .y_axis = {.label = "compression ratio (32 / bits per value)",
                    .unit = "",
                    .log = true,
                    .base = 10},
         .hint = "`commcomp bench -o FILE` makes them"},
    [CC_PLOT_WORKERS] = {.shape = CC_LINES,
                         .title = "Scaling with workers",
                         .x = "workers",
                         .measure = {"step_s"},
                         .also = {"compute_s"},
                         .x_axis = {.label = "workers", .unit = "", .log = true, .base = 2},
                         .y_axis = {.label = "throughput (1: one worker that never communicates)",
                                    .unit = "",
                                    .log = true,
                                    .base = 2},
                         .reference = 1,
                         .hint =
                             "`commcomp model --workers 2,4,8,16 --compute 100ms -o FILE` makes "
                             "them"},
    [CC_PLOT_ROOFLINE] = {.shape = CC_GROUPED,
                          .title = "Codec speed against the memory's limit",
                          .measure = {"encode_roofline", "decode_roofline", "decode_add_roofline"},
                          .part = (const char *const[]){"encode", "decode", "decode and add", NULL},
                          .needed = 2,
                          .x_axis = {.label = "speed / limit of this machine's memory", .unit = ""},
                          .reference = 1,
                          .hint = "bench leaves them empty for tensors that fit in cache: "
                                  "`commcomp bench --values 100M -o FILE`"},
    [CC_PLOT_SIZE] =
        {.shape = CC_LINES,
         .title = "Codec speed against tensor size",
         .x = "values",
         .measure = {"encode_gb_per_s", "decode_gb_per_s", "decode_add_gb_per_s"},
         .low = {"encode_gb_per_s_q25", "decode_gb_per_s_q25", "decode_add_gb_per_s_q25"},
         .high = {"encode_gb_per_s_q75", "decode_gb_per_s_q75", "decode_add_gb_per_s_q75"},
         .part = (const char *const[]){"encode", "decode", "decode and add", NULL},
         .needed = 2,
         .x_axis = {.label = "values in the tensor", .unit = "#", .log = true, .base = 10},
         .y_axis = {.label = "speed (GB/s of float32)", .unit = "", .log = true, .base = 10},
         .hint = "`commcomp bench --values 1K,100K,10M -o FILE` makes them"},
    [CC_PLOT_ACCURACY] = {.shape = CC_LINES,
                          .title = "Accuracy of trainings",
                          .measure = {"accuracy"},
                          .also = {"step"},
                          .y_axis = {.label = "accuracy on the test samples (%)", .unit = ""},
                          .scale = 100,
                          .hint = TRAINING_HINT},
    [CC_PLOT_LOSS] =
        {.shape = CC_LINES,
         .title = "Loss of trainings",
         .measure = {"loss"},
         .also = {"step"},
         .y_axis = {.label = "loss on the test samples", .unit = "", .log = true, .base = 10},
         .hint = TRAINING_HINT},
    [CC_PLOT_TRAIN_LOSS] =
        {.shape = CC_LINES,
         .title = "Training loss",
         .measure = {"train_loss"},
         .also = {"step"},
         .y_axis = {.label = "loss on the training batches", .unit = "", .log = true, .base = 10},
         .hint = TRAINING_HINT},
    [CC_PLOT_BITS] = {.shape = CC_LINES,
                      .title = "Sizes in trainings",
                      .measure = {"bits_push", "bits_pull"},
                      .part = (const char *const[]){"push", "pull", NULL},
                      .needed = 1,
                      .also = {"step"},
                      .y_axis = {.label = "bits per value", .unit = ""},
                      .hint = TRAINING_HINT},
    [CC_PLOT_VALIDATE] = {.shape = CC_MARKS,
                          .title = "Model, simulation and run",
                          .measure = {"step_s_model", "step_s_sim", "step_s"},
                          .part = (const char *const[]){"model", "sim", "run", NULL},
                          .needed = 1,
                          .x_axis = {.label = "time of a step / the run's (without one: the sim's)",
                                     .unit = ""},
                          .hint = "`commcomp validate -o FILE` makes them"},
    [CC_PLOT_PAPER] = {.shape = CC_MARKS,
                       .title = "Published figures and the model's",
                       .series = {"row", NULL},
                       .panel = "column",
                       .own_axes = true,
                       .measure = {"figure_paper", "figure_model", "figure_trained"},
                       .part = (const char *const[]){"published", "model", "trained", NULL},
                       .needed = 2,
                       .x_axis = {.label = "figure, in the table's unit", .unit = ""},
                       .hint = "`commcomp paper TABLE -o FILE` makes them"},
    [CC_PLOT_PAPERS] = {.shape = CC_MARKS,
                        .title = "Errors of published tables",
                        .series = {"table", NULL},
                        .measure = {"rms_error", "worst_error"},
                        .part = (const char *const[]){"root of the mean square", "worst", NULL},
                        .scale = 100,
                        .x_axis = {.label = "the model's figure / the paper's - 1 (%)", .unit = ""},
                        .hint = "`commcomp paper -o FILE` makes them"},
    [CC_PLOT_COMPARE] = {.shape = CC_MARKS,
                         .title = "Ratio of two results",
                         .series = {"scheme", "setting"},
                         .panel = "heading",
                         .own_axes = true,
                         .measure = {"b_over_a"},
                         .part = (const char *const[]){"B / A", NULL},
                         .also = {NULL},
                         .x_axis = {.label = "second result / first result", .unit = ""},
                         .reference = 1,
                         .hint = "`commcomp compare A.json B.json -o FILE` makes them"},
    [CC_PLOT_BANDWIDTH] =
        {.shape = CC_LINES,
         .title = "Bandwidth of an exchange",
         .series = {"exchange", "scheme"},
         .x = "values",
         .x_scale = 4,
         .measure = {"algbw_gb_per_s", "busbw_gb_per_s"},
         .part = (const char *const[]){"algorithmic", "bus", NULL},
         .x_axis =
             {.label = "size of the gradient as float32", .unit = "B", .log = true, .base = 10},
         .y_axis = {.label = "bandwidth (GB/s)", .unit = "", .log = true, .base = 10},
         .hint = "`commcomp run --bw none --values 1K,100K,10M -o FILE` makes them"},
    [CC_PLOT_DENSITY] =
        {.shape = CC_LINES,
         .title = "Time of a reduction against density",
         .series = {"exchange", "scheme"},
         .x = "nonzeros",
         .measure = {"call_s"},
         .low = {"call_s_low"},
         .high = {"call_s_high"},
         .x_axis = {.label = "share of the values that are not zero",
                    .unit = "",
                    .log = true,
                    .base = 10},
         .y_axis = {.label = "time of a call", .unit = "s", .log = true, .base = 10},
         .hint = "`commcomp run --bw none --values 1M --nonzeros 0.1%,1%,10% -o FILE` makes them"},
    [CC_PLOT_LINK] =
        {.shape = CC_LINES,
         .title = "Time of a message",
         .series = {NULL},
         .x = "message_bytes",
         .measure = {"half_trip_s", "half_trip_s_model"},
         .part = (const char *const[]){"measured", "by latency, bandwidth and burst", NULL},
         .lines_of_parts = true,
         .x_axis = {.label = "size of the message", .unit = "B", .log = true, .base = 10},
         .y_axis = {.label = "time of a message", .unit = "s", .log = true, .base = 10},
         .hint = "`commcomp calibrate -o FILE` makes them"},
    [CC_PLOT_RATIO] = {.shape = CC_GROUPED,
                       .title = "Compression ratio",
                       .series = {"scheme", "tensor"},
                       .measure = {"ratio"},
                       .x_axis = {.label = "32 / bits per value", .unit = ""},
                       .hint = "`commcomp bench -o FILE` makes them"},
    [CC_PLOT_NETS] = {.shape = CC_MARKS,
                      .title = "Sizes of nets",
                      .series = {"net", "tensor"},
                      .measure = {"values"},
                      .x_axis = {.label = "float32 values", .unit = "#", .log = true, .base = 10},
                      .hint = "`commcomp nets -o FILE` makes them"},
};

/* The x axes of trainings. */
static const struct {
    const char *column;
    struct cc_axis axis;
} overs[] = {
    [CC_OVER_STEPS] = {"step", {.label = "steps", .unit = "#"}},
    [CC_OVER_BYTES] = {"bytes",
                       {.label = "payload that a worker has sent and received",
                        .unit = "B",
                        .log = true,
                        .base = 10}},
    [CC_OVER_TIME] = {CC_TIME_COLUMN,
                      {.label = "time of the training", .unit = "s", .log = true, .base = 10}},
};

bool cc_plot_is_training(enum cc_plot_kind kind)
{
    return kind == CC_PLOT_ACCURACY || kind == CC_PLOT_LOSS || kind == CC_PLOT_TRAIN_LOSS ||
           kind == CC_PLOT_BITS;
}

/* The time of trainings, with the clock that measured it where they have only one. */
static const char *time_label(const struct cc_sheet *s)
{
    static const struct {
        const char *clock, *label;
    } known[] = {{"model", "time of the training, by the formulas"},
                 {"process", "time of the process that plays all workers"}};
    const size_t c = cc_sheet_column(s, "clock");
    const char *label = overs[CC_OVER_TIME].axis.label;
    for (size_t k = 0; c != CC_NO_COLUMN && k < sizeof known / sizeof known[0]; k++) {
        size_t same = 0;
        for (size_t i = 0; i < s->rows; i++) {
            const struct cc_value *v = cc_sheet_value(s, i, c);
            same += v->kind == CC_TEXT && strcmp(v->text, known[k].clock) == 0;
        }
        label = same == s->rows ? known[k].label : label;
    }
    return label;
}

/* The first row, up to `row`, with the same values in two columns; the second may be none. */
static size_t first_with(const struct cc_sheet *s, size_t row, size_t a, size_t b)
{
    for (size_t i = 0; i < row; i++)
        if (cc_value_same(cc_sheet_value(s, i, a), cc_sheet_value(s, row, a)) &&
            (b == CC_NO_COLUMN ||
             cc_value_same(cc_sheet_value(s, i, b), cc_sheet_value(s, row, b))))
            return i;
    return row;
}

/* Whether most pairs of two columns' values have no row, as in `advise`, where only fp32 has
 * another exchange: a panel for each value of the second would be nearly empty. */
static bool few_have_each(const struct cc_sheet *s, const char *first, const char *second)
{
    enum { MOST_ROWS = 1000 };
    const size_t a = cc_sheet_column(s, first), b = cc_sheet_column(s, second);
    size_t firsts = 0, seconds = 0, pairs = 0;
    if (a == CC_NO_COLUMN || b == CC_NO_COLUMN || s->rows > MOST_ROWS)
        return false;
    for (size_t i = 0; i < s->rows; i++) {
        firsts += first_with(s, i, a, CC_NO_COLUMN) == i;
        seconds += first_with(s, i, b, CC_NO_COLUMN) == i;
        pairs += first_with(s, i, a, b) == i;
    }
    return 4 * pairs < 3 * firsts * seconds;
}

struct cc_kind cc_plot_describe(enum cc_plot_kind kind, enum cc_plot_over over,
                                const struct cc_sheet *s)
{
    struct cc_kind out = kinds[kind];
    if (out.series[0] == NULL && !out.lines_of_parts)
        out.series[0] = "scheme";
    if (kind == CC_PLOT_STEP && few_have_each(s, "scheme", "exchange"))
        out.series[1] = "exchange";
    if (cc_plot_is_training(kind)) {
        out.x = overs[over].column;
        out.x_axis = overs[over].axis;
        if (over == CC_OVER_TIME)
            out.x_axis.label = time_label(s);
    }
    return out;
}

/* --- guessing --- */

bool cc_sheet_has_number(const struct cc_sheet *s, const char *key)
{
    size_t c = cc_sheet_column(s, key);
    for (size_t i = 0; c != CC_NO_COLUMN && i < s->rows; i++)
        if (cc_sheet_value(s, i, c)->kind == CC_NUMBER)
            return true;
    return false;
}

double cc_sheet_number_or_nan(const struct cc_sheet *s, size_t row, const char *key)
{
    const size_t c = cc_sheet_column(s, key);
    const struct cc_value *v = c != CC_NO_COLUMN ? cc_sheet_value(s, row, c) : NULL;
    return v != NULL && v->kind == CC_NUMBER ? v->number : (double)NAN;
}

static bool varies(const struct cc_sheet *s, const char *key)
{
    size_t c = cc_sheet_column(s, key);
    const struct cc_value *first = NULL;
    for (size_t i = 0; c != CC_NO_COLUMN && i < s->rows; i++) {
        const struct cc_value *v = cc_sheet_value(s, i, c);
        if (v->kind != CC_NUMBER)
            continue;
        if (first != NULL && first->number != v->number)
            return true;
        first = v;
    }
    return false;
}

/* Whether all numbers of a column are above zero, as logarithms and throughputs need them. */
static bool is_positive(const struct cc_sheet *s, const char *key)
{
    size_t c = cc_sheet_column(s, key);
    for (size_t i = 0; c != CC_NO_COLUMN && i < s->rows; i++)
        if (cc_sheet_value(s, i, c)->kind == CC_NUMBER && cc_sheet_value(s, i, c)->number <= 0)
            return false;
    return c != CC_NO_COLUMN;
}

/* The error that no kind is possible: its columns are missing, or empty. */
static int fail_without_kind(const struct cc_sheet *s, struct cc_error *e)
{
    static const char *const keys[] = {"accuracy", "speedup", "step_s", "error", "encode_roofline"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (s->rows > 0 && cc_sheet_column(s, keys[i]) != CC_NO_COLUMN &&
            !cc_sheet_has_number(s, keys[i]))
            return cc_fail(e, "%s: nothing to plot: its column '%s' holds no finite number",
                           s->path, keys[i]);
    return cc_fail(e,
                   "%s: nothing to plot: no kind of plot has its columns; `commcomp plot --help` "
                   "lists the kinds",
                   s->path);
}

static bool has(const struct cc_sheet *s, const char *key)
{
    return cc_sheet_column(s, key) != CC_NO_COLUMN;
}

/* The kinds of commands with columns of their own. */
static bool guess_special(const struct cc_sheet *s, enum cc_plot_kind *out)
{
    if (cc_sheet_has_number(s, "accuracy") && cc_sheet_has_number(s, "step"))
        *out = CC_PLOT_ACCURACY;
    else if (cc_sheet_has_number(s, "figure_paper") && has(s, "row") && has(s, "column"))
        *out = CC_PLOT_PAPER;
    else if (cc_sheet_has_number(s, "rms_error") && has(s, "table"))
        *out = CC_PLOT_PAPERS;
    else if (cc_sheet_has_number(s, "step_s_model") && has(s, "step_s_sim") && has(s, "agree"))
        *out = CC_PLOT_VALIDATE;
    else if (has(s, "a_text") && has(s, "b_text") && cc_sheet_has_number(s, "b_over_a"))
        *out = CC_PLOT_COMPARE;
    else if (cc_sheet_has_number(s, "call_s") && varies(s, "nonzeros"))
        *out = CC_PLOT_DENSITY;
    else if (cc_sheet_has_number(s, "algbw_gb_per_s"))
        *out = CC_PLOT_BANDWIDTH;
    else if (cc_sheet_has_number(s, "half_trip_s_model") && cc_sheet_has_number(s, "message_bytes"))
        *out = CC_PLOT_LINK;
    else if (has(s, "net") && has(s, "compute_source") && cc_sheet_has_number(s, "values"))
        *out = CC_PLOT_NETS;
    else
        return false;
    return true;
}

int cc_plot_guess(const struct cc_sheet *s, enum cc_plot_kind *out, struct cc_error *e)
{
    if (guess_special(s, out))
        return CC_OK;
    if (cc_sheet_has_number(s, "speedup") && varies(s, "bw_bps"))
        *out = CC_PLOT_SPEEDUP;
    else if (cc_sheet_has_number(s, "step_s") && varies(s, "workers") &&
             is_positive(s, "compute_s"))
        *out = CC_PLOT_WORKERS;
    else if (cc_sheet_has_number(s, "step_s") && cc_sheet_has_number(s, "comm_s"))
        *out = CC_PLOT_STEP;
    else if (cc_sheet_has_number(s, "encode_gb_per_s") && varies(s, "values"))
        *out = CC_PLOT_SIZE;
    else if (cc_sheet_has_number(s, "error") && cc_sheet_has_number(s, "ratio"))
        *out = CC_PLOT_ERROR;
    else if (cc_sheet_has_number(s, "encode_roofline"))
        *out = CC_PLOT_ROOFLINE;
    else if (cc_sheet_has_number(s, "ratio") && has(s, "scheme"))
        *out = CC_PLOT_RATIO;
    else
        return fail_without_kind(s, e);
    return CC_OK;
}
