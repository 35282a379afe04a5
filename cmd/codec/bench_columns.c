/* The columns of `commcomp bench`. */
#include "bench/limits.h"
#include "cmd/codec/bench.h"
#include "cmd/input/source.h"

/* The quartiles and extremes of a call's speed. */
/* clang-format off */
#define SPEEDS(call)                                                                               \
    {call "_gb_per_s_q25", NULL, "GB/s", "%.2f", 0, "three quarters of the samples are faster",    \
     CC_DETAIL},                                                                                   \
    {call "_gb_per_s_q75", NULL, "GB/s", "%.2f", 0, "a quarter of the samples are faster",         \
     CC_DETAIL},                                                                                   \
    {call "_gb_per_s_min", NULL, "GB/s", "%.2f", 0, "speed of the slowest sample", CC_DETAIL},     \
    {call "_gb_per_s_max", NULL, "GB/s", "%.2f", 0, "speed of the fastest sample", CC_DETAIL}
/* clang-format on */

const struct cc_column cc_bench_columns[] = {
    {"scheme", "scheme", "", NULL, 0, "the scheme with its parameters that are not the default",
     CC_SETTING},
    {"tensor", "tensor", "", NULL, 0, "the tensor's name; only with --per-tensor", CC_SETTING},
    {"stream", "stream", "", NULL, 0,
     "whose tensors these are: push and the worker's rank, or pull (the server's model deltas)",
     CC_SETTING},
    {"trace", "trace", "", NULL, 0, "where the values come from", CC_SETTING},
    {"values", "values", "", "%.0f", 0, "number of float32 values in a step", CC_SETTING},
    {"steps", "steps", "", "%.0f", 0, "steps in a pass", CC_SETTING},
    {"passes", "passes", "", "%.0f", 0,
     "passes through the trace with the residuals kept; nmse, cosine and max_abs_error are those "
     "of the last, and without --passes N sizes are means over the last " CC_SETTLE_STEPS_TEXT
     " steps or more",
     CC_DETAIL},
    {"settled", "settled", "", NULL, 0,
     "whether sizes had settled; empty where --passes N does not ask", CC_SETTING},
    {"payload_bytes", NULL, "kB", "%.2f", 1e-3,
     "bytes handed to the network per step, scale factors included (mean over whole periods of the "
     "scheme)",
     CC_DETAIL},
    {"bits_per_value", "bits/value", "bits", "%.3f", 0,
     "8 x payload bytes / values, of the stream: of a worker's pushes alone, if it is one's",
     CC_ANSWER},
    {"ratio", "ratio", "", "%.1f", 0, "32 x all values / (8 x all payload bytes), over all steps",
     CC_MAIN},
    {"state_bytes_per_value", "state", "B/value", "%.2f", 0,
     "memory that a worker keeps from step to step for each value: residuals, momentum", CC_PART},
    {"scratch_bytes_per_value", "scratch", "B/value", "%.3f", 0,
     "memory that the codecs of all tensors share while one works: that of the tensor that needs "
     "most / all values",
     CC_DETAIL},
    {"encode_gb_per_s", "encode", "GB/s", "%.2f", 0,
     "10^9 bytes of float32 encoded per second, median of the samples", CC_ANSWER},
    {"encode_spread", "+-", "%", "%.1f", 100,
     "half the distance of the quartiles of the encoding time / its median", CC_DETAIL},
    {"encode_roofline", "limit", "", "%.2f", 0,
     "achieved / limit: encoding speed over that of the fastest loop which only moves the bytes "
     "that the codec must move, in memory or in the second-level cache (`place`), measured in the "
     "same run; empty in between",
     CC_PART},
    {"encode_l1_share", "core", "", "%.2f", 0,
     "achieved / limit of the codec's own instructions: encoding speed over that of the same codec "
     "where all data stay in the first-level cache and the call itself costs nothing, measured in "
     "the same run; where a limit is, and with one thread",
     CC_PART},
    {"decode_gb_per_s", "decode", "GB/s", "%.2f", 0,
     "10^9 bytes of float32 decoded per second, median of the samples", CC_ANSWER},
    {"decode_spread", "+-", "%", "%.1f", 100,
     "half the distance of the quartiles of the decoding time / its median", CC_DETAIL},
    {"decode_roofline", "limit", "", "%.2f", 0, "achieved / limit, for decoding", CC_PART},
    {"decode_l1_share", "core", "", "%.2f", 0, "the same share for decoding", CC_PART},
    {"decode_add_gb_per_s", "add", "GB/s", "%.2f", 0,
     "decoding and adding to existing values, as a summing server does; of payloads that list what "
     "they keep, as if all values had been added",
     CC_PART},
    {"decode_add_spread", "+-", "%", "%.1f", 100,
     "half the distance of the quartiles of its time / its median", CC_DETAIL},
    {"decode_add_roofline", "limit", "", "%.2f", 0, "achieved / limit, for decoding and adding",
     CC_PART},
    {"decode_add_l1_share", "core", "", "%.2f", 0, "the same share for decoding and adding",
     CC_PART},
    {"nmse", "nmse", "", "%.4g", 0,
     "error of decoded y against the raw gradient g: sum ||y-g||^2 / sum ||g||^2, over all steps",
     CC_PART},
    {"nmse_cumulative", NULL, "", "%.4g", 0,
     "the same of the sums of y and of g over all steps of the pass", CC_DETAIL},
    {"error", "error", "", "%.3g", 0,
     "settled error of the sum of " CC_ERROR_WINDOW_TEXT " consecutive updates, relative to the "
     "gradients' sum: what counts in the long run, with or without error feedback, and independent "
     "of the trace's length (docs/errors.md); sending nothing has 1",
     CC_ANSWER},
    {"error_low", NULL, "", "%.3g", 0, "lower end of its 95% interval; empty with one step",
     CC_DETAIL},
    {"error_high", NULL, "", "%.3g", 0, "upper end", CC_DETAIL},
    {"delay", "delay", "", "%.3g", 0,
     "with error feedback: norm of the settled residual / norm of the gradient", CC_PART},
    {"bias", NULL, "", "%.3g", 0,
     "without a state: the part of a single step's error that does not depend on the random "
     "numbers, squared, relative to the gradient's square",
     CC_DETAIL},
    {"variance", NULL, "", "%.3g", 0, "the part that the random numbers make", CC_DETAIL},
    {"error_settled", NULL, "", NULL, 0,
     "whether the last windows' errors differ by less than 5% from those before", CC_DETAIL},
    {"cosine", "cosine", "", "%.4f", 0, "cosine of y and g over all steps: sum y g / (||y|| ||g||)",
     CC_PART},
    {"max_abs_error", NULL, "", "%.3g", 0, "largest |y-g| of all steps", CC_DETAIL},
    {"encode_speedup", "speed-up", "", "%.2f", 0,
     "encoding speed over that with the first number of --threads", CC_PART},
    {"decode_speedup", "decode", "", "%.2f", 0, "the same for decoding", CC_PART},
    {"decode_add_speedup", "add", "", "%.2f", 0, "the same for decoding and adding", CC_PART},
    SPEEDS("encode"),
    SPEEDS("decode"),
    SPEEDS("decode_add"),
    {"encode_limit_gb_per_s", NULL, "GB/s", "%.2f", 0,
     "the limit itself: 10^9 bytes of float32 per second, median of the fastest loop's samples",
     CC_DETAIL},
    {"decode_limit_gb_per_s", NULL, "GB/s", "%.2f", 0, "the same for decoding", CC_DETAIL},
    {"decode_add_limit_gb_per_s", NULL, "GB/s", "%.2f", 0, "the same for decoding and adding",
     CC_DETAIL},
    {"encode_l1_gb_per_s", NULL, "GB/s", "%.2f", 0,
     "the limit of the codec's own instructions itself, for encoding", CC_DETAIL},
    {"decode_l1_gb_per_s", NULL, "GB/s", "%.2f", 0, "the same for decoding", CC_DETAIL},
    {"decode_add_l1_gb_per_s", NULL, "GB/s", "%.2f", 0, "the same for decoding and adding",
     CC_DETAIL},
    {"clock_ghz", NULL, "GHz", "%.2f", 0,
     "the processor's clock while the codec was timed, from rotations of which each needs the one "
     "before: a value takes 4 x clock_ghz / encode_gb_per_s cycles",
     CC_DETAIL},
    {"encode_moved_gb_per_s", NULL, "GB/s", "%.2f", 0,
     "memory bandwidth: 10^9 bytes that encoding must move at least (read and written, counted "
     "each) per second",
     CC_DETAIL},
    {"decode_moved_gb_per_s", NULL, "GB/s", "%.2f", 0, "the same for decoding", CC_DETAIL},
    {"decode_add_moved_gb_per_s", NULL, "GB/s", "%.2f", 0, "the same for decoding and adding",
     CC_DETAIL},
    {"place", "place", "", NULL, 0,
     "where the values lie when a call begins, whose limit is measured: L2 (the second-level "
     "cache) or memory; cache: in between, without a limit",
     CC_SETTING},
    {"samples", "samples", "", "%.0f", 0, "times a step (a whole period of the scheme) was timed",
     CC_SETTING},
    {"outliers", NULL, "", "%.0f", 0, "samples whose modified Z-score is over 14.8", CC_DETAIL},
    {"threads", "threads", "", "%.0f", 0,
     "threads that share the tensors of a step, and its large tensors", CC_SETTING},
    {"min_size", "min size", "", "%.0f", 0,
     "tensors with fewer values are sent as fp32, and count as such", CC_SETTING},
    {"seed", "seed", "", "%.0f", 0, "seed of synthetic values and of stochastic schemes",
     CC_SETTING},
    CC_SKIP_COLUMN,
    {.key = NULL},
};
