/* The candidates of advise: a scheme in a setting, its error, and why it may be ruled out. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/input/carries.h"
#include "cmd/model/advise.h"
#include "core/units.h"

const char *cc_advise_time(double seconds, char text[32])
{
    cc_print_si(seconds, "s", text, 32);
    return text;
}

const char *cc_advise_error_text(const struct advise *a, const struct candidate *c, char text[96])
{
    const bool alone = a->forecast.payloads[c->scheme].period > 1;
    char error[16] = "not predicted";
    if (!isnan(c->error))
        (void)snprintf(error, sizeof error, "%.2g", c->error);
    (void)snprintf(text, 96, "sum_error %s%s", error,
                   alone ? " (without the effect of local steps)" : "");
    return text;
}

int cc_advise_candidate(struct advise *a, const struct cc_setting *s, size_t scheme,
                        struct candidate *c, struct cc_error *e)
{
    const struct cc_step_payloads *payloads = &a->forecast.payloads[scheme];
    const struct cc_accuracy accuracy = cc_forecast_accuracy(&a->forecast, s, scheme);
    const struct cc_verdict_limits *limits = &a->forecast.limits;
    *c = (struct candidate){.scheme = scheme,
                            .error = cc_accuracy_sum_error(&accuracy),
                            .lost = isnan(accuracy.lost) ? 0 : accuracy.lost,
                            .compared = payloads->period > 1 ? (double)NAN
                                                             : cc_accuracy_sum_error(&accuracy),
                            .ruling = cc_verdict_rule(limits, &accuracy),
                            .uncertain = cc_verdict_uncertain(limits, &accuracy)};
    cc_input_carries_print(s, a->forecast.schemes->item[scheme], c->refused, sizeof c->refused);
    if (c->refused[0] != '\0')
        return CC_OK;
    CC_TRY(cc_predict(&a->forecast.predictor, s, payloads, &c->p, e));
    cc_ruling_print(c->ruling, limits, &accuracy, c->refused, sizeof c->refused);
    return CC_OK;
}

bool cc_advise_is_baseline(const struct advise *a, const struct candidate *c)
{
    return strcmp(cc_forecast_scheme(&a->forecast, c->scheme),
                  cc_forecast_baseline(&a->forecast)) == 0;
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
