#include "cmd/input/carries.h"

#include <stdio.h>

#include "core/memory.h"
#include "models/system.h"

/* Whether the sums of the setting's exchange carry the payloads, whatever they keep of them. */
static int check_exchange(const struct cc_setting *s, const struct cc_spec *spec,
                          struct cc_error *e)
{
    return cc_exchange_check(s->exchange, cc_reduction(spec->scheme, spec->params), spec->name, e);
}

/* Whether sharded states take the payloads: in each step, and part by part. */
static int check_sharded(const struct cc_setting *s, const struct cc_spec *spec, struct cc_error *e)
{
    const struct cc_scheme *scheme = spec->scheme;
    if (s->sharded.collectives.count == 0)
        return CC_OK;
    if (cc_period(scheme, spec->params) > 1)
        return cc_usage(e, "%s sends in some steps only, and --system %s in every one", spec->name,
                        s->system->name);
    if ((scheme->flags & CC_VERBATIM) == 0 && cc_reduction(scheme, spec->params) == CC_REDUCE_SUM)
        return cc_usage(e,
                        "--system %s cuts the values into parts, and those of %s are not found in "
                        "a part of its payload",
                        s->system->name, spec->name);
    return CC_OK;
}

static int check(const struct cc_setting *s, const struct cc_spec *spec, struct cc_error *e)
{
    const struct cc_scheme *scheme = spec->scheme;
    CC_TRY(check_exchange(s, spec, e));
    CC_TRY(check_sharded(s, spec, e));
    if (s->timing.local.steps > 0 && cc_period(scheme, spec->params) > 1)
        return cc_usage(e,
                        "%s: it sends in one step of several itself; with --local-steps give a "
                        "greater H instead",
                        spec->name);
    if (s->cluster.op != CC_ALLREDUCE && (scheme->flags & CC_VERBATIM) == 0 &&
        cc_reduction(scheme, spec->params) == CC_REDUCE_SUM)
        return cc_usage(
            e,
            "--op %s cuts the values into parts, and those of %s are not found in a part "
            "of its payload",
            cc_operation_names[s->cluster.op], spec->name);
    if (s->cluster.keep > 0 && (scheme->flags & CC_VERBATIM) == 0 &&
        (cc_reduction(scheme, spec->params) != CC_REDUCE_PAIRS ||
         !cc_takes_back(scheme, spec->params)))
        return cc_usage(e,
                        "--keep gives values that were sent in vain back to a residual, and %s "
                        "has none for index-value pairs",
                        spec->name);
    return CC_OK;
}

/* Appends the names of all schemes that the exchange carries with their default parameters. */
static int list_carried(const struct cc_setting *s, char *out, size_t cap, struct cc_error *e)
{
    out[0] = '\0';
    for (size_t i = 0; cc_schemes[i] != NULL; i++) {
        const char *id = cc_schemes[i]->id;
        struct cc_spec *spec;
        CC_TRY(cc_spec_parse(id, &spec, e));
        if (check(s, spec, NULL) == CC_OK)
            cc_list_add(out, cap, ", ", "%s", id);
        cc_spec_free(spec);
    }
    return CC_OK;
}

int cc_input_carries(const struct cc_setting *s, const struct cc_spec *spec, struct cc_error *e)
{
    struct cc_error why;
    char carried[256];
    if (check(s, spec, &why) == CC_OK)
        return CC_OK;
    CC_TRY(list_carried(s, carried, sizeof carried, e));
    return cc_usage(e, "%s; %s%s takes %s", why.text, cc_exchange_names[s->exchange],
                    s->cluster.keep > 0 ? " with --keep" : "", carried);
}

void cc_input_carries_print(const struct cc_setting *s, const struct cc_spec *spec, char *out,
                            size_t cap)
{
    if (check(s, spec, NULL) == CC_OK)
        (void)snprintf(out, cap, "%s", "");
    else if (check_exchange(s, spec, NULL) != CC_OK)
        (void)snprintf(out, cap, "not for %s", cc_exchange_names[s->exchange]);
    else if (s->timing.local.steps > 0 && cc_period(spec->scheme, spec->params) > 1)
        (void)snprintf(out, cap, "%s", "it has local steps of its own");
    else if (check_sharded(s, spec, NULL) != CC_OK)
        (void)snprintf(out, cap, "not for %s", s->system->name);
    else if (s->cluster.op != CC_ALLREDUCE)
        (void)snprintf(out, cap, "not for %s", cc_operation_names[s->cluster.op]);
    else
        (void)snprintf(out, cap, "--keep: it has no residual of pairs");
}
