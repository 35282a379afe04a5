/* --consistency, --staleness and --communicate. */
#include <math.h>
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

int cc_consistency_parse(const struct cc_args *args, struct cc_consistency_args *out,
                         struct cc_error *e)
{
    const char *communicate =
        cc_arg_known(args, "communicate") ? cc_arg(args, "communicate") : NULL;
    uint64_t staleness = 3;
    int consistency = CC_BULK;
    cc_arg_choice(args, "consistency", &consistency);
    CC_TRY(cc_arg_count(args, "staleness", 0, 1000000, &staleness, e));
    *out = (struct cc_consistency_args){.consistency = (enum cc_consistency)consistency,
                                        .staleness = (int)staleness};
    if (communicate != NULL)
        CC_TRY(parse_communicate(communicate, out, e));
    if (communicate != NULL && consistency == CC_BULK)
        return cc_usage(e, "--communicate goes with --consistency stale or async");
    if (out->communicate == CC_AT_BOUND && consistency != CC_STALE)
        return cc_usage(e, "--communicate bound goes with --consistency stale, which has a bound");
    return CC_OK;
}
