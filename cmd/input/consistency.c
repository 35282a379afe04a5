/* --consistency, --staleness and --communicate. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/input/cluster.h"
#include "core/exchange.h"

/* "step", "bound" or "norm:X". */
static int parse_communicate(const char *text, struct cc_consistency_args *out, struct cc_error *e)
{
    static const char norm[] = "norm:";
    char *end;
    for (int i = 0; i < CC_AT_NORM; i++)
        if (strcmp(text, cc_communicate_names[i]) == 0) {
            out->communicate = (enum cc_communicate)i;
            return CC_OK;
        }
    if (strncmp(text, norm, sizeof norm - 1) != 0)
        return cc_usage(e, "--communicate %s: step, bound, or norm:X as in norm:2", text);
    const char *number = text + sizeof norm - 1;
    out->communicate = CC_AT_NORM;
    out->growth = strtod(number, &end);
    if (end == number || *end != '\0' || !(out->growth >= 0 && out->growth <= 1e6))
        return cc_usage(e, "--communicate %s: norm:X has a number from 0 to 10^6, as in norm:2",
                        text);
    return CC_OK;
}

/* "bulk,stale" */
static int parse_list(const char *text, struct cc_consistency_args *out, struct cc_error *e)
{
    for (const char *at = text;; at++) {
        const size_t length = strcspn(at, ",");
        int found = CC_BULK;
        while (cc_consistency_names[found] != NULL &&
               (strlen(cc_consistency_names[found]) != length ||
                strncmp(at, cc_consistency_names[found], length) != 0))
            found++;
        if (cc_consistency_names[found] == NULL)
            return cc_usage(e, "--consistency %s: bulk, stale, async, or several of them", text);
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

int cc_consistency_parse(const struct cc_args *args, struct cc_consistency_args *out,
                         struct cc_error *e)
{
    const char *list = cc_arg(args, "consistency");
    const char *communicate = cc_arg_or_null(args, "communicate");
    uint64_t staleness = 3;
    bool stale = false, async = false;
    CC_TRY(cc_arg_count(args, "staleness", 0, 1000000, &staleness, e));
    *out = (struct cc_consistency_args){.staleness = (int)staleness};
    CC_TRY(parse_list(list != NULL ? list : cc_consistency_names[CC_BULK], out, e));
    for (size_t i = 0; i < out->count; i++) {
        stale = stale || out->item[i] == CC_STALE;
        async = async || out->item[i] == CC_ASYNC;
    }
    if (communicate != NULL)
        CC_TRY(parse_communicate(communicate, out, e));
    /* Recipes set all three, and the command line may then change the consistency alone. */
    if (cc_arg_or_null(args, "recipe") == NULL) {
        if (communicate != NULL && !stale && !async)
            return cc_usage(e, "--communicate goes with --consistency stale or async");
        if (cc_arg(args, "staleness") != NULL && !stale)
            return cc_usage(e, "--staleness goes with --consistency stale");
    }
    if (!stale && !async)
        out->communicate = CC_EVERY_STEP;
    if (out->communicate == CC_AT_BOUND && async)
        return cc_usage(e, "--communicate bound: --consistency async has none, only stale has");
    return CC_OK;
}

int cc_consistency_check(const struct cc_consistency_args *c, const struct cc_spec *spec,
                         struct cc_error *e)
{
    return c->communicate != CC_EVERY_STEP && cc_period(spec->scheme, spec->params) > 1
               ? cc_usage(e, "--communicate: %s chooses its steps itself", spec->name)
               : CC_OK;
}

int cc_consistency_put_communicate(const struct cc_consistency_args *c, struct cc_record *record,
                                   size_t row, struct cc_error *e)
{
    char text[64];
    if (c->communicate == CC_AT_NORM)
        (void)snprintf(text, sizeof text, "norm:%.9g", c->growth);
    else
        (void)snprintf(text, sizeof text, "%s", cc_communicate_names[c->communicate]);
    return cc_record_text(record, row, CC_KEY(communicate), text, e);
}
