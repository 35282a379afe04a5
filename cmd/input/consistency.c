/* --consistency, --staleness and --communicate. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/input/cluster.h"
#include "core/exchange.h"
#include "core/nearest.h"

/* "step", "bound" or "norm:X". */
static int parse_communicate(const char *text, void *member, struct cc_error *e)
{
    struct cc_communicating *out = member;
    static const char norm[] = "norm:";
    char *end;
    const int known = cc_word_find(cc_communicate_names, text);
    if (known >= 0 && known < CC_AT_NORM) {
        out->when = (enum cc_communicate)known;
        return CC_OK;
    }
    if (strncmp(text, norm, sizeof norm - 1) != 0)
        return cc_usage(e, "--communicate %s: step, bound, or norm:X as in norm:2", text);
    const char *number = text + sizeof norm - 1;
    out->when = CC_AT_NORM;
    out->growth = strtod(number, &end);
    if (end == number || *end != '\0' || !(out->growth >= 0 && out->growth <= 1e6))
        return cc_usage(e, "--communicate %s: norm:X has a number from 0 to 10^6, as in norm:2",
                        text);
    return CC_OK;
}

/* "bulk,stale" */
static int parse_list(const char *text, void *member, struct cc_error *e)
{
    struct cc_consistencies *out = member;
    out->count = 0;
    for (const char *at = text;; at++) {
        const size_t length = strcspn(at, ",");
        char word[32];
        (void)snprintf(word, sizeof word, "%.*s", (int)length, at);
        const int found = cc_word_find(cc_consistency_names, word);
        if (found < 0) {
            char names[80];
            cc_word_list(cc_consistency_names, names, sizeof names);
            return cc_usage(e, "--consistency %s: %s, or several of them", text, names);
        }
        for (size_t i = 0; i < out->count; i++)
            if ((int)out->item[i] == found)
                return cc_usage(e, "--consistency %s: %s is there twice", text,
                                cc_consistency_names[found]);
        out->item[out->count++] = (enum cc_consistency)found;
        at += length;
        if (*at == '\0')
            return CC_OK;
    }
}

/* clang-format off */
#define MEMBER(m) CC_OPTION_AT(struct cc_consistency_args, m)
const struct cc_option cc_consistency_options[] = {
    {.name = "consistency", MEMBER(how), .parse = parse_list, .value = "HOW", .def = "bulk",
     .choices = cc_consistency_names, .group = CC_GROUP_STEP,
     .help = CC_CONSISTENCY_HELP},
    {.name = "staleness", MEMBER(staleness), .kind = CC_TAKES_COUNT, .max = 1000000,
     .value = "STEPS", .def = "3", .group = CC_GROUP_STEP,
     .help = "steps that the fastest worker may lead (--consistency stale)"},
    {.name = "communicate", MEMBER(communicate), .parse = parse_communicate, .value = "WHEN",
     .def = "step", .group = CC_GROUP_STEP,
     .help = "--consistency stale or async: a worker pushes the sum of its gradients since its "
             "last push, and pulls, after each step; stale: only when its parameters would be too "
             "old for its next step (bound); or when the norm of the sum has grown to X times the "
             "mean norm of the gradients in it, and at the bound (norm:X)"},
    {.name = NULL},
};
/* clang-format on */

int cc_consistency_parse(const struct cc_args *args, bool recipe, struct cc_consistency_args *out,
                         struct cc_error *e)
{
    bool stale = false, async = false;
    CC_TRY(cc_options_read(args, cc_consistency_options, out, e));
    for (size_t i = 0; i < out->how.count; i++) {
        const bool bounded = cc_consistency_is_bounded(out->how.item[i]);
        stale = stale || bounded;
        async = async || (!bounded && out->how.item[i] != CC_BULK);
    }
    /* Recipes set all three, and the command line may then change the consistency alone. */
    if (!recipe && cc_given(out, &out->communicate) != NULL && !stale && !async)
        return cc_usage(e, "--communicate goes with --consistency stale or async");
    if (!recipe && cc_given(out, &out->staleness) != NULL && !stale)
        return cc_usage(e, "--staleness goes with --consistency stale");
    if (!stale && !async)
        out->communicate.when = CC_EVERY_STEP;
    if (out->communicate.when == CC_AT_BOUND && async)
        return cc_usage(e, "--communicate bound: --consistency async has none, only stale has");
    return CC_OK;
}

int cc_consistency_check(const struct cc_consistency_args *c, const struct cc_spec *spec,
                         struct cc_error *e)
{
    return c->communicate.when != CC_EVERY_STEP && cc_period(spec->scheme, spec->params) > 1
               ? cc_usage(e, "--communicate: %s chooses its steps itself", spec->name)
               : CC_OK;
}

int cc_consistency_put_communicate(const struct cc_consistency_args *c, struct cc_record *record,
                                   size_t row, struct cc_error *e)
{
    char text[64];
    if (c->communicate.when == CC_AT_NORM)
        (void)snprintf(text, sizeof text, "norm:%.9g", c->communicate.growth);
    else
        (void)snprintf(text, sizeof text, "%s", cc_communicate_names[c->communicate.when]);
    return cc_record_text(record, row, CC_KEY(communicate), text, e);
}
