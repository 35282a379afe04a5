/* The columns of `commcomp bench`. */
#include "bench/limits.h"
#include "cmd/codec/bench.h"
#include "cmd/input/source.h"

/* The quartiles and extremes of a call's speed. */
/* clang-format off */
#define SPEEDS(call)                                                                               \
    CC_COLUMN(call##_gb_per_s_q25, CC_DETAIL), CC_COLUMN(call##_gb_per_s_q75, CC_DETAIL),          \
    CC_COLUMN(call##_gb_per_s_min, CC_DETAIL), CC_COLUMN(call##_gb_per_s_max, CC_DETAIL)
/* clang-format on */

const struct cc_column cc_bench_columns[] = {
    CC_COLUMN(scheme, CC_SETTING),
    CC_COLUMN(tensor, CC_SETTING),
    CC_COLUMN(stream, CC_SETTING),
    CC_COLUMN(trace, CC_SETTING),
    CC_COLUMN(values, CC_SETTING),
    CC_COLUMN(steps, CC_SETTING),
    CC_COLUMN(passes, CC_DETAIL,
              .note = "without --passes N sizes are means over the last " CC_SETTLE_STEPS_TEXT
                      " steps or more"),
    CC_COLUMN(settled, CC_SETTING),
    CC_COLUMN(payload_bytes, CC_DETAIL, .hidden = true,
              .note = "handed to the network, of the stream"),
    CC_COLUMN(bits_per_value, CC_ANSWER,
              .note = "of the stream: of a worker's pushes alone, if it is one's"),
    CC_COLUMN(ratio, CC_MAIN),
    CC_COLUMN(state_bytes_per_value, CC_PART),
    CC_COLUMN(scratch_bytes_per_value, CC_DETAIL),
    CC_COLUMN(encode_gb_per_s, CC_ANSWER),
    CC_COLUMN(encode_spread, CC_DETAIL),
    CC_COLUMN(encode_roofline, CC_PART),
    CC_COLUMN(encode_l1_share, CC_PART),
    CC_COLUMN(decode_gb_per_s, CC_ANSWER),
    CC_COLUMN(decode_spread, CC_DETAIL),
    CC_COLUMN(decode_roofline, CC_PART),
    CC_COLUMN(decode_l1_share, CC_PART),
    CC_COLUMN(decode_add_gb_per_s, CC_PART),
    CC_COLUMN(decode_add_spread, CC_DETAIL),
    CC_COLUMN(decode_add_roofline, CC_PART),
    CC_COLUMN(decode_add_l1_share, CC_PART),
    CC_COLUMN(nmse, CC_PART, .note = "over all steps"),
    CC_COLUMN(nmse_cumulative, CC_DETAIL),
    CC_COLUMN(error, CC_ANSWER, .note = "the sum is that of " CC_ERROR_WINDOW_TEXT " updates"),
    CC_COLUMN(error_low, CC_DETAIL),
    CC_COLUMN(error_high, CC_DETAIL),
    CC_COLUMN(delay, CC_PART),
    CC_COLUMN(bias, CC_DETAIL),
    CC_COLUMN(variance, CC_DETAIL),
    CC_COLUMN(error_settled, CC_DETAIL),
    CC_COLUMN(cosine, CC_PART),
    CC_COLUMN(max_abs_error, CC_DETAIL),
    CC_COLUMN(encode_speedup, CC_PART),
    CC_COLUMN(decode_speedup, CC_PART),
    CC_COLUMN(decode_add_speedup, CC_PART),
    SPEEDS(encode),
    SPEEDS(decode),
    SPEEDS(decode_add),
    CC_COLUMN(encode_limit_gb_per_s, CC_DETAIL),
    CC_COLUMN(decode_limit_gb_per_s, CC_DETAIL),
    CC_COLUMN(decode_add_limit_gb_per_s, CC_DETAIL),
    CC_COLUMN(encode_l1_gb_per_s, CC_DETAIL),
    CC_COLUMN(decode_l1_gb_per_s, CC_DETAIL),
    CC_COLUMN(decode_add_l1_gb_per_s, CC_DETAIL),
    CC_COLUMN(clock_ghz, CC_DETAIL),
    CC_COLUMN(encode_moved_gb_per_s, CC_DETAIL),
    CC_COLUMN(decode_moved_gb_per_s, CC_DETAIL),
    CC_COLUMN(decode_add_moved_gb_per_s, CC_DETAIL),
    CC_COLUMN(place, CC_SETTING),
    CC_COLUMN(samples, CC_SETTING, .note = "a step, or a whole period of the scheme"),
    CC_COLUMN(outliers, CC_DETAIL),
    CC_COLUMN(threads, CC_SETTING),
    CC_COLUMN(min_size, CC_SETTING),
    CC_COLUMN(seed, CC_SETTING, .note = "also of synthetic values"),
    CC_SKIP_COLUMN,
    {.key = NULL},
};
