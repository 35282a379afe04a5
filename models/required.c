#include "models/required.h"

#include <math.h>

static int reaches(struct cc_predictor *p, struct cc_setting *s,
                   const struct cc_step_payloads *payloads, double bps, double cu, bool *out,
                   struct cc_prediction *at, struct cc_error *e)
{
    s->link.bw_bps = bps;
    CC_TRY(cc_predict(p, s, payloads, at, e));
    *out = at->compute_s >= cu * at->step_s;
    return CC_OK;
}

int cc_required_bandwidth(struct cc_predictor *p, struct cc_setting *s,
                          const struct cc_step_payloads *payloads, double cu, bool *found,
                          struct cc_prediction *out, struct cc_error *e)
{
    static const double CLOSE = 1e-6;
    double low = CC_REQUIRED_LEAST_BPS, high = CC_REQUIRED_MOST_BPS;
    bool enough;
    CC_TRY(reaches(p, s, payloads, high, cu, found, out, e));
    if (!*found)
        return CC_OK;
    CC_TRY(reaches(p, s, payloads, low, cu, &enough, out, e));
    while (!enough && high > low * (1 + CLOSE)) {
        const double middle = sqrt(low * high);
        bool there;
        CC_TRY(reaches(p, s, payloads, middle, cu, &there, out, e));
        if (there)
            high = middle;
        else
            low = middle;
    }
    return reaches(p, s, payloads, enough ? low : high, cu, found, out, e);
}
