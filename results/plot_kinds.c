/* The kinds of plots: which columns they need, their axes, and which kind suits a file. */
#include <math.h>
#include <string.h>

#include "results/plot_impl.h"

#define NAME(id, name, help) name,
const char *const cc_plot_kind_names[] = {CC_PLOT_KIND_LIST(NAME) NULL};
const char *const cc_plot_over_names[] = {"steps", "bytes", "time", NULL};

#define LINEAR(text, of)                                                                           \
    {                                                                                              \
        .label = text, .unit = of                                                                  \
    }
#define LOG(text, of, of_tics)                                                                     \
    {                                                                                              \
        .label = text, .unit = of, .log = true, .base = of_tics                                    \
    }
#define MAKES(command) "`commcomp " command "` makes them"

static const struct cc_kind kinds[CC_PLOT_KINDS] = {
    [CC_PLOT_SPEEDUP] = {.shape = CC_LINES,
                         .title = "Speedup over plain gradients",
                         .x = "bw_bps",
                         .measure = {"speedup"},
                         .x_axis = LOG("bandwidth", "bit/s", 10),
                         .y_axis = LOG("speedup over plain gradients", "", 10),
                         .reference = 1,
                         .hint = MAKES("model --bw 10mbps,100mbps,1gbps -o FILE")},
    [CC_PLOT_STEP] = {.shape = CC_STACKED,
                      .title = "Time of a step",
                      .measure = {"compute_s", "codec_s", "comm_s", CC_BUSY_COLUMN},
                      .part = {"compute", "codec", "communication", "hidden communication"},
                      .needed = 3,
                      .also = "step_s",
                      .x_axis = LINEAR("time of a step", "s"),
                      .hint = MAKES("model -o FILE")},
    [CC_PLOT_ERROR] = {.shape = CC_LABELLED,
                       .title = "Size against error",
                       .x = "error",
                       .measure = {"ratio"},
                       .x_axis = LOG("error of the updates (settled)", "", 10),
                       .y_axis = LOG("compression ratio", "", 10),
                       .hint = MAKES("bench -o FILE")},
    [CC_PLOT_WORKERS] = {.shape = CC_LINES,
                         .title = "Scaling with workers",
                         .x = "workers",
                         .measure = {"step_s"},
                         .also = "compute_s",
                         .x_axis = LOG("workers", "", 2),
                         .y_axis = LOG("throughput (1: one worker that never communicates)", "", 2),
                         .reference = 1,
                         .hint = MAKES("model --workers 2,4,8,16 --compute 100ms -o FILE")},
    [CC_PLOT_ROOFLINE] = {.shape = CC_GROUPED,
                          .title = "Codec speed against the memory's limit",
                          .measure = {"encode_roofline", "decode_roofline", "decode_add_roofline"},
                          .part = {"encode", "decode", "decode and add"},
                          .needed = 2,
                          .x_axis = LINEAR("speed / limit of this machine's memory", ""),
                          .reference = 1,
                          .hint = "bench leaves them empty for tensors that fit in cache: "
                                  "`commcomp bench --values 100M -o FILE`"},
    [CC_PLOT_SIZE] = {.shape = CC_LINES,
                      .title = "Codec speed against tensor size",
                      .x = "values",
                      .measure = {"encode_gb_per_s", "decode_gb_per_s", "decode_add_gb_per_s"},
                      .low = {"encode_gb_per_s_q25", "decode_gb_per_s_q25",
                              "decode_add_gb_per_s_q25"},
                      .high = {"encode_gb_per_s_q75", "decode_gb_per_s_q75",
                               "decode_add_gb_per_s_q75"},
                      .part = {"encode", "decode", "decode and add"},
                      .needed = 2,
                      .x_axis = LOG("values in the tensor", "#", 10),
                      .y_axis = LOG("speed (GB/s of float32)", "", 10),
                      .hint = MAKES("bench --values 1K,100K,10M -o FILE")},
    [CC_PLOT_ACCURACY] = {.shape = CC_LINES,
                          .title = "Accuracy of trainings",
                          .measure = {"accuracy"},
                          .also = "step",
                          .y_axis = LINEAR("accuracy on the test samples (%)", ""),
                          .scale = 100,
                          .hint = MAKES("train --seeds 3 -o FILE")},
    [CC_PLOT_LOSS] = {.shape = CC_LINES,
                      .title = "Loss of trainings",
                      .measure = {"loss"},
                      .also = "step",
                      .y_axis = LOG("loss on the test samples", "", 10),
                      .hint = MAKES("train --seeds 3 -o FILE")},
    [CC_PLOT_TRAIN_LOSS] = {.shape = CC_LINES,
                            .title = "Training loss",
                            .measure = {"train_loss"},
                            .also = "step",
                            .y_axis = LOG("loss on the training batches", "", 10),
                            .hint = MAKES("train --seeds 3 -o FILE")},
    [CC_PLOT_BITS] = {.shape = CC_LINES,
                      .title = "Sizes in trainings",
                      .measure = {"bits_push", "bits_pull"},
                      .part = {"push", "pull"},
                      .needed = 1,
                      .also = "step",
                      .y_axis = LINEAR("bits per value", ""),
                      .hint = MAKES("train --seeds 3 -o FILE")},
    [CC_PLOT_VALIDATE] = {.shape = CC_MARKS,
                          .title = "Model, simulation and run",
                          .measure = {"step_s_model", "step_s_sim", "step_s"},
                          .part = {"model", "sim", "run"},
                          .needed = 1,
                          .x_axis =
                              LINEAR("time of a step / the run's (without one: the sim's)", ""),
                          .hint = MAKES("validate -o FILE")},
    [CC_PLOT_UTILIZATION] = {.shape = CC_LINES,
                             .title = "Compute utilization with local steps",
                             .series = {"scheme", "local_steps"},
                             .x = "bw_bps",
                             .measure = {"cu_model", "cu_sim", "cu"},
                             .part = {"model", "sim", "run"},
                             .needed = 1,
                             .x_axis = LOG("bandwidth", "bit/s", 10),
                             .y_axis = LINEAR("compute / step (%)", ""),
                             .scale = 100,
                             .hint = MAKES("validate --local-steps 1,8,32 -o FILE")},
    [CC_PLOT_TIMELINE] = {.shape = CC_LINES,
                          .title = "Utilization over time",
                          .x = "at_s",
                          .panel = "process",
                          .measure = {"computing", "link_sent", "link_received"},
                          .part = {"workers compute", "links send", "links receive"},
                          .needed = 1,
                          .lines_of_parts = true,
                          .own_axes = true,
                          .x_axis = LINEAR("time", "s"),
                          .y_axis = LINEAR("share of time, or of a link's bandwidth (%)", ""),
                          .scale = 100,
                          .hint = MAKES("sim --timeline FILE")},
    [CC_PLOT_THROUGHPUT] = {.shape = CC_LINES,
                            .title = "Throughput over time",
                            .x = "at_s",
                            .panel = "process",
                            .measure = {"sent_bps", "received_bps"},
                            .part = {"sent", "received"},
                            .lines_of_parts = true,
                            .own_axes = true,
                            .x_axis = LINEAR("time", "s"),
                            .y_axis = LINEAR("payload on the link of a worker's host", "bit/s"),
                            .hint = MAKES("sim --timeline FILE")},
    [CC_PLOT_PAPER] = {.shape = CC_MARKS,
                       .title = "Published figures and the model's",
                       .series = {"row"},
                       .panel = "column",
                       .own_axes = true,
                       .measure = {"figure_paper", "figure_model", "figure_trained"},
                       .part = {"published", "model", "trained"},
                       .needed = 2,
                       .x_axis = LINEAR("figure, in the table's unit", ""),
                       .hint = MAKES("paper TABLE -o FILE")},
    [CC_PLOT_PAPERS] = {.shape = CC_MARKS,
                        .title = "Errors of published tables",
                        .series = {"table"},
                        .measure = {"rms_error", "worst_error"},
                        .part = {"root of the mean square", "worst"},
                        .scale = 100,
                        .x_axis = LINEAR("the model's figure / the paper's - 1 (%)", ""),
                        .hint = MAKES("paper -o FILE")},
    [CC_PLOT_COMPARE] = {.shape = CC_MARKS,
                         .title = "Ratio of two results",
                         .series = {"scheme", "setting"},
                         .panel = "heading",
                         .own_axes = true,
                         .measure = {"b_over_a"},
                         .part = {"B / A"},
                         .x_axis = LINEAR("second result / first result", ""),
                         .reference = 1,
                         .hint = MAKES("compare A.json B.json -o FILE")},
    [CC_PLOT_BANDWIDTH] = {.shape = CC_LINES,
                           .title = "Bandwidth of an exchange",
                           .series = {"exchange", "scheme"},
                           .x = "values",
                           .x_scale = 4,
                           .measure = {"algbw_gb_per_s", "busbw_gb_per_s"},
                           .part = {"algorithmic", "bus"},
                           .x_axis = LOG("size of the gradient as float32", "B", 10),
                           .y_axis = LOG("bandwidth (GB/s)", "", 10),
                           .hint = MAKES("run --bw none --values 1K,100K,10M -o FILE")},
    [CC_PLOT_DENSITY] = {.shape = CC_LINES,
                         .title = "Time of a reduction against density",
                         .series = {"exchange", "scheme"},
                         .x = "nonzeros",
                         .measure = {"call_s"},
                         .low = {"call_s_low"},
                         .high = {"call_s_high"},
                         .x_axis = LOG("share of the values that are not zero", "", 10),
                         .y_axis = LOG("time of a call", "s", 10),
                         .hint = MAKES("run --bw none --values 1M --nonzeros 0.1%,1%,10% -o FILE")},
    [CC_PLOT_LINK] = {.shape = CC_LINES,
                      .title = "Time of a message",
                      .x = "message_bytes",
                      .measure = {"half_trip_s", "half_trip_s_model"},
                      .part = {"measured", "by latency, bandwidth and burst"},
                      .lines_of_parts = true,
                      .x_axis = LOG("size of the message", "B", 10),
                      .y_axis = LOG("time of a message", "s", 10),
                      .hint = MAKES("calibrate -o FILE")},
    [CC_PLOT_RATIO] = {.shape = CC_GROUPED,
                       .title = "Compression ratio",
                       .series = {"scheme", "tensor"},
                       .measure = {"ratio"},
                       .x_axis = LINEAR("32 / bits per value", ""),
                       .hint = MAKES("bench -o FILE")},
    [CC_PLOT_NETS] = {.shape = CC_MARKS,
                      .title = "Sizes of nets",
                      .series = {"net", "tensor"},
                      .measure = {"values"},
                      .x_axis = LOG("float32 values", "#", 10),
                      .hint = MAKES("nets -o FILE")},
};

static const struct {
    const char *column;
    struct cc_axis axis;
} overs[] = {
    [CC_OVER_STEPS] = {"step", LINEAR("steps", "#")},
    [CC_OVER_BYTES] = {"bytes", LOG("payload that a worker has sent and received", "B", 10)},
    [CC_OVER_TIME] = {CC_TIME_COLUMN, LOG("time of the training", "s", 10)},
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

double cc_sheet_number_or_nan(const struct cc_sheet *s, size_t row, const char *key)
{
    const size_t c = key != NULL ? cc_sheet_column(s, key) : CC_NO_COLUMN;
    const struct cc_value *v = c != CC_NO_COLUMN ? cc_sheet_value(s, row, c) : NULL;
    return v != NULL && v->kind == CC_NUMBER ? v->number : (double)NAN;
}

bool cc_sheet_has_number(const struct cc_sheet *s, const char *key)
{
    return cc_sheet_has(s, cc_sheet_column(s, key), CC_NUMBER);
}

/* The range of a column's numbers; NaN without any. */
static void range_of(const struct cc_sheet *s, const char *key, double *low, double *high)
{
    *low = *high = NAN;
    for (size_t i = 0; i < s->rows; i++) {
        *low = fmin(*low, cc_sheet_number_or_nan(s, i, key));
        *high = fmax(*high, cc_sheet_number_or_nan(s, i, key));
    }
}

static bool varies(const struct cc_sheet *s, const char *key)
{
    double low, high;
    range_of(s, key, &low, &high);
    return low < high;
}

/* Whether all numbers of a column are above zero, as throughputs need them. */
static bool is_positive(const struct cc_sheet *s, const char *key)
{
    double low, high;
    range_of(s, key, &low, &high);
    return cc_sheet_column(s, key) != CC_NO_COLUMN && !(low <= 0);
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

/* The marks of a kind, in this order: columns with numbers, columns that are there, one whose
 * numbers differ, one whose numbers are all above zero. */
static const struct {
    enum cc_plot_kind kind;
    const char *numbers[2], *there[2], *varies, *positive;
} guesses[] = {
    {CC_PLOT_TIMELINE, .numbers = {"computing", "at_s"}},
    {CC_PLOT_ACCURACY, .numbers = {"accuracy", "step"}},
    {CC_PLOT_PAPER, .numbers = {"figure_paper"}, .there = {"row", "column"}},
    {CC_PLOT_PAPERS, .numbers = {"rms_error"}, .there = {"table"}},
    {CC_PLOT_UTILIZATION, .numbers = {"cu_model", "local_steps"}, .varies = "bw_bps"},
    {CC_PLOT_VALIDATE, .numbers = {"step_s_model"}, .there = {"step_s_sim", "agree"}},
    {CC_PLOT_COMPARE, .numbers = {"b_over_a"}, .there = {"a_text", "b_text"}},
    {CC_PLOT_DENSITY, .numbers = {"call_s"}, .varies = "nonzeros"},
    {CC_PLOT_BANDWIDTH, .numbers = {"algbw_gb_per_s"}},
    {CC_PLOT_LINK, .numbers = {"half_trip_s_model", "message_bytes"}},
    {CC_PLOT_NETS, .numbers = {"values"}, .there = {"net", "compute_source"}},
    {CC_PLOT_SPEEDUP, .numbers = {"speedup"}, .varies = "bw_bps"},
    {CC_PLOT_WORKERS, .numbers = {"step_s"}, .varies = "workers", .positive = "compute_s"},
    {CC_PLOT_STEP, .numbers = {"step_s", "comm_s"}},
    {CC_PLOT_SIZE, .numbers = {"encode_gb_per_s"}, .varies = "values"},
    {CC_PLOT_ERROR, .numbers = {"error", "ratio"}},
    {CC_PLOT_ROOFLINE, .numbers = {"encode_roofline"}},
    {CC_PLOT_RATIO, .numbers = {"ratio"}, .there = {"scheme"}},
};

int cc_plot_guess(const struct cc_sheet *s, enum cc_plot_kind *out, struct cc_error *e)
{
    for (size_t i = 0; i < sizeof guesses / sizeof guesses[0]; i++) {
        bool suits = (guesses[i].varies == NULL || varies(s, guesses[i].varies)) &&
                     (guesses[i].positive == NULL || is_positive(s, guesses[i].positive));
        for (size_t k = 0; k < 2 && suits; k++) {
            const char *number = guesses[i].numbers[k], *there = guesses[i].there[k];
            suits = (number == NULL || cc_sheet_has_number(s, number)) &&
                    (there == NULL || cc_sheet_column(s, there) != CC_NO_COLUMN);
        }
        if (suits) {
            *out = guesses[i].kind;
            return CC_OK;
        }
    }
    return fail_without_kind(s, e);
}
