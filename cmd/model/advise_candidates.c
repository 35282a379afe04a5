/* The candidates of advise: a scheme in a setting, its error, and why it may be ruled out. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/model/advise.h"
#include "core/units.h"

static const struct cc_spec *spec_of(const struct advise *a, size_t scheme)
{
    return a->forecast.schemes->item[scheme];
}

/* Rules the candidate out if the scheme is lossy, its error unknown or too large. */
static void check_error(const struct advise *a, struct candidate *c)
{
    const struct cc_scheme *scheme = spec_of(a, c->scheme)->scheme;
    char *why = c->refused;
    if (a->lossless && (scheme->flags & CC_LOSSY) != 0)
        (void)snprintf(why, sizeof c->refused, "lossy");
    else if (isnan(c->error))
        (void)snprintf(why, sizeof c->refused, "its error could not be measured");
    else if (a->forecast.cluster.trace == NULL && scheme->absolute_param != NULL)
        (void)snprintf(why, sizeof c->refused, "%s depends on the gradients: needs --trace",
                       scheme->absolute_param);
    else if (c->error > a->max_nmse)
        (void)snprintf(why, sizeof c->refused, "error above %g", a->max_nmse);
}

int cc_advise_candidate(struct advise *a, const struct cc_setting *s, size_t scheme,
                        struct candidate *c, struct cc_error *e)
{
    const struct cc_step_payloads *payloads = &a->forecast.payloads[scheme];
    *c = (struct candidate){.scheme = scheme};
    c->encodings =
        cc_exchange_encodings(s->exchange, payloads->reduction, s->cluster.via, s->cluster.workers);
    c->error = cc_forecast_sum_error(&a->forecast, s, scheme);
    if (cc_exchange_check(s->exchange, payloads->reduction, payloads->scheme, NULL) != CC_OK) {
        (void)snprintf(c->refused, sizeof c->refused, "not for %s", cc_exchange_names[s->exchange]);
        return CC_OK;
    }
    CC_TRY(cc_predict(&a->forecast.predictor, s, payloads, &c->p, e));
    check_error(a, c);
    return CC_OK;
}

bool cc_advise_is_baseline(const struct advise *a, const struct candidate *c)
{
    return strcmp(spec_of(a, c->scheme)->name, cc_forecast_baseline(&a->forecast)) == 0;
}

void cc_advise_pays(const struct cc_paying *p, char text[80])
{
    char from[32], below[32];
    cc_print_si(p->from_bps, "bit/s", from, sizeof from);
    cc_print_si(p->below_bps, "bit/s", below, sizeof below);
    if (!p->ever)
        (void)snprintf(text, 80, "never");
    else if (p->from_bps == 0 && isinf(p->below_bps))
        (void)snprintf(text, 80, "always");
    else if (p->from_bps == 0)
        (void)snprintf(text, 80, "below %s", below);
    else if (isinf(p->below_bps))
        (void)snprintf(text, 80, "from %s", from);
    else
        (void)snprintf(text, 80, "%s to %s", from, below);
}
