#include "cmd/input/carries.h"

#include <stdio.h>

#include "models/exchange.h"

/* Appends the names of all schemes that x carries with their default parameters. */
static int list_carried(enum cc_exchange x, char *out, size_t cap, struct cc_error *e)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; cc_schemes[i] != NULL && used < cap; i++) {
        const char *id = cc_schemes[i]->id;
        struct cc_spec *spec;
        CC_TRY(cc_spec_parse(id, &spec, e));
        const enum cc_reduction r = cc_reduction(spec->scheme, spec->params);
        cc_spec_free(spec);
        if (cc_exchange_check(x, r, id, NULL) == CC_OK)
            used += (size_t)snprintf(out + used, cap - used, "%s%s", used > 0 ? ", " : "", id);
    }
    return CC_OK;
}

int cc_input_carries(enum cc_exchange x, const struct cc_spec *spec, struct cc_error *e)
{
    struct cc_error why;
    char carried[256];
    const enum cc_reduction r = cc_reduction(spec->scheme, spec->params);
    if (cc_exchange_check(x, r, spec->name, &why) == CC_OK)
        return CC_OK;
    CC_TRY(list_carried(x, carried, sizeof carried, e));
    return cc_usage(e, "%s; %s takes %s", why.text, cc_exchange_names[x], carried);
}
