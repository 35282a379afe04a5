/* How the figures of each command's columns were obtained: the one table that tells. */
#include <fnmatch.h>
#include <string.h>

#include "cmd/results/report_origin.h"

#define SIZES "payload_bytes|bits_per_value|ratio|bits_push|bits_pull"

/* The first line that fits counts. `commands` and `keys` are words separated by |; a key may have a
 * * where any letters stand. NULL fits all. */
static const struct {
    const char *commands, *keys;
    enum cc_origin origin;
} table[] = {
    {NULL, "*_paper|*_paper_s", CC_ORIGIN_PUBLISHED},
    {"paper", "figure_trained|trained_low|trained_high", CC_ORIGIN_MEASURED},
    {"paper|run", "error", CC_ORIGIN_COMPARED},
    {"paper", "rms_error|worst_error", CC_ORIGIN_COMPARED},
    {"paper", "paper|place|caption|reference|unit|quantity|figures|fitted", CC_ORIGIN_GIVEN},
    {NULL, "model_error|sim_error|forecast_error|added_*_error|model_sim|added_model_sim|agree",
     CC_ORIGIN_COMPARED},
    {NULL, "*suspect|*why", CC_ORIGIN_COMPARED},
    {NULL, "*_model|*_forecast", CC_ORIGIN_FORMULA},
    {NULL, "*_sim", CC_ORIGIN_SIMULATED},
    {"calibrate|model|advise", "bw_bps", CC_ORIGIN_MEASURED},
    {NULL, "sum_error|encodings|bottleneck", CC_ORIGIN_FORMULA},
    {"model|advise|sim", SIZES "|error|error_low|error_high|nmse|accuracy|difference*",
     CC_ORIGIN_MEASURED},
    {"model|advise", "compute_s", CC_ORIGIN_GIVEN},
    {"sim", "compute_s|profile", CC_ORIGIN_GIVEN},
    {"sim", "applied_error*|kept_values", CC_ORIGIN_MEASURED},
    {"compare", NULL, CC_ORIGIN_COMPARED},
    {"model|advise|paper", NULL, CC_ORIGIN_FORMULA},
    {"sim", NULL, CC_ORIGIN_SIMULATED},
    {"schemes|nets", NULL, CC_ORIGIN_GIVEN},
};

/* Whether a word of the list fits. */
static bool fits(const char *list, const char *word)
{
    char pattern[64];
    if (list == NULL)
        return true;
    for (const char *at = list; *at != '\0';) {
        const size_t length = strcspn(at, "|");
        (void)snprintf(pattern, sizeof pattern, "%.*s", (int)length, at);
        if (fnmatch(pattern, word, 0) == 0)
            return true;
        at += length + (at[length] == '|');
    }
    return false;
}

/* Times of trainings, and figures that follow from them. */
#define CLOCKED                                                                                    \
    "step_s|comm_s|time_s|pass_s|pass_comm_s|bound_wait_s|updates_per_s|speedup|speedup_ps|"       \
    "speedup_sync|speedup_bulk|target_s*"

/* The column `clock` says whose times they are. */
static enum cc_origin by_clock(const struct cc_sheet *s)
{
    const size_t c = cc_sheet_column(s, "clock");
    enum cc_origin origin = CC_ORIGIN_UNKNOWN;
    for (size_t row = 0; c != CC_NO_COLUMN && row < s->rows; row++) {
        const struct cc_value *v = cc_sheet_value(s, row, c);
        if (v->kind != CC_TEXT)
            continue;
        const bool simulated = strcmp(v->text, "sim") == 0 || strcmp(v->text, "clocks") == 0;
        const enum cc_origin this = strcmp(v->text, "model") == 0 ? CC_ORIGIN_FORMULA
                                    : simulated                   ? CC_ORIGIN_SIMULATED
                                                                  : CC_ORIGIN_MEASURED;
        if (origin != CC_ORIGIN_UNKNOWN && origin != this)
            return CC_ORIGIN_UNKNOWN;
        origin = this;
    }
    return origin;
}

enum cc_origin cc_report_origin(const char *command, const struct cc_sheet *s,
                                const struct cc_column *c)
{
    if (c->role == CC_SETTING)
        return CC_ORIGIN_GIVEN;
    if (strcmp(command, "train") == 0 && fits(CLOCKED, c->key))
        return by_clock(s);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (fits(table[i].commands, command) && fits(table[i].keys, c->key))
            return table[i].origin;
    return CC_ORIGIN_MEASURED;
}
