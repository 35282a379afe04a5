/* The table of keys, the words for origins, and names that keys had before. */
#include "results/key.h"

#include <string.h>

const struct cc_result_key cc_result_keys[CC_KEYS] = {
#define KEY(name, origin, head, unit, format, scale, help)                                         \
    {#name, CC_ORIGIN_##origin, head, unit, format, scale, help},
#include "results/keys.def"
#undef KEY
};

static const struct {
    const char *word, *help;
} origins[CC_ORIGINS] = {
    [CC_ORIGIN_UNKNOWN] = {"not known", "the file does not say"},
    [CC_ORIGIN_GIVEN] = {"given", "by options and input"},
    [CC_ORIGIN_MEASURED] = {"measured", "by running the codecs, the exchange or the training"},
    [CC_ORIGIN_COMPUTED] = {"computed", "by formulas, such as a predicted time, a difference or a "
                                        "ratio"},
    [CC_ORIGIN_SIMULATED] = {"simulated", "by a simulated clock, with the code that also runs"},
    [CC_ORIGIN_PUBLISHED] = {"published", "printed in a paper"},
    [CC_ORIGIN_TRAINED] = {"trained", "by training a net"},
};

const char *cc_origin_word(enum cc_origin o)
{
    return origins[o].word;
}

const char *cc_origin_help(enum cc_origin o)
{
    return origins[o].help;
}

enum cc_origin cc_origin_of_word(const char *word)
{
    for (enum cc_origin o = CC_ORIGIN_GIVEN; o < CC_ORIGINS; o++)
        if (strcmp(origins[o].word, word) == 0)
            return o;
    return CC_ORIGIN_UNKNOWN;
}

const char *cc_key_renamed(const char *command, const char *name)
{
    static const struct {
        const char *command, *was, *is;
    } renamed[] = {
        {"paper", "error", "paper_error"},
        {"paper", "place", "printed_in"},
        {"run", "error", "paper_error"},
        {"model", "wait_s", "straggler_wait_s"},
        {"sim", "data", "data_moved"},
        {"nets", "bytes", "float_bytes"},
        {"schemes", "kind", "payload_kind"},
        {"calibrate", "bytes", "message_bytes"},
        {"calibrate", "time_s", "half_trip_s"},
        {"calibrate", "time_s_sd", "half_trip_s_sd"},
        {"calibrate", "time_s_model", "half_trip_s_model"},
        {"compare", "ratio", "b_over_a"},
        {"compare", "title", "heading"},
    };
    for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++)
        if (strcmp(renamed[i].command, command) == 0 && strcmp(renamed[i].was, name) == 0)
            return renamed[i].is;
    return name;
}
