#include "models/advice.h"

#include <math.h>

struct asking {
    struct cc_predictor *p;
    struct cc_setting s;
    const struct cc_step_payloads *payloads, *raw;
    struct cc_error *e;
};

/* --- bandwidths --- */

/* By how much a step is shorter than raw's, relative to it; rounding is no difference. */
static int gain_at(struct asking *a, double bps, double *out)
{
    struct cc_prediction with, without;
    a->s.link.bw_bps = bps;
    int status = cc_predict(a->p, &a->s, a->payloads, &with, a->e);
    if (status == CC_OK)
        status = cc_predict(a->p, &a->s, a->raw, &without, a->e);
    if (status != CC_OK)
        return status;
    double gain = without.step_s > 0 ? 1 - with.step_s / without.step_s : 0;
    *out = fabs(gain) < 1e-9 ? 0 : gain;
    return CC_OK;
}

/* Where between two bandwidths paying begins or ends. */
static int bisect(struct asking *a, double low, double high, bool low_pays, double *out)
{
    while (high / low > 1 + 1e-6) {
        double middle = sqrt(low * high), gain = 0;
        int status = gain_at(a, middle, &gain);
        if (status != CC_OK)
            return status;
        if ((gain > 0) == low_pays)
            low = middle;
        else
            high = middle;
    }
    *out = sqrt(low * high);
    return CC_OK;
}

int cc_advice_paying(struct cc_predictor *p, const struct cc_setting *s,
                     const struct cc_step_payloads *payloads, const struct cc_step_payloads *raw,
                     struct cc_paying *out, struct cc_error *e)
{
    enum { PER_DECADE = 6 };
    struct asking a = {.p = p, .s = *s, .payloads = payloads, .raw = raw, .e = e};
    struct cc_paying r = {.below_bps = INFINITY};
    const int steps = (int)lround(log10(CC_ADVICE_MOST_BPS / CC_ADVICE_LEAST_BPS)) * PER_DECADE;
    double before = 0, edge = 0;
    bool paid = false;
    for (int i = 0; i <= steps; i++) {
        double bps = CC_ADVICE_LEAST_BPS * pow(10, (double)i / PER_DECADE), gain = 0;
        int status = gain_at(&a, bps, &gain);
        bool pays = gain > 0;
        if (status == CC_OK && i > 0 && pays != paid)
            status = bisect(&a, before, bps, paid, &edge);
        if (status != CC_OK)
            return status;
        if (pays && !paid) {
            r.from_bps = r.ever ? r.from_bps : edge;
            r.below_bps = INFINITY;
            r.ever = true;
            r.ranges++;
        } else if (!pays && paid) {
            r.below_bps = edge;
        }
        paid = pays;
        before = bps;
    }
    *out = r;
    return CC_OK;
}

/* --- workers --- */

/* What the workers do in a second, in one worker's steps. */
static int throughput(struct asking *a, int workers, double *out)
{
    struct cc_prediction r;
    a->s.cluster.workers = workers;
    int status = cc_predict(a->p, &a->s, a->payloads, &r, a->e);
    if (status == CC_OK)
        *out = r.step_s > 0 ? workers / r.step_s : INFINITY;
    return status;
}

static int worth_doubling(struct asking *a, int workers, bool *out)
{
    double now = 0, twice = 0;
    int status = throughput(a, workers, &now);
    if (status == CC_OK)
        status = throughput(a, 2 * workers, &twice);
    if (status == CC_OK)
        *out = twice >= CC_ADVICE_GAIN * now;
    return status;
}

int cc_advice_workers(struct cc_predictor *p, const struct cc_setting *s,
                      const struct cc_step_payloads *payloads, int *out, int *most,
                      struct cc_error *e)
{
    struct asking a = {.p = p, .s = *s, .payloads = payloads, .e = e};
    /* With stragglers every worker is simulated. */
    bool simulated = s->timing.consistency != CC_BULK || s->timing.straggler != CC_STEADY;
    int limit = simulated ? 256 : 65536, low = 0, high = 1, status = CC_OK;
    bool worth = true;
    while (status == CC_OK) {
        status = worth_doubling(&a, high, &worth);
        if (!worth || high >= limit)
            break;
        low = high;
        high *= 2;
    }
    while (status == CC_OK && !worth && high - low > 1) {
        bool still = false;
        int middle = low + (high - low) / 2;
        status = worth_doubling(&a, middle, &still);
        if (still)
            low = middle;
        else
            high = middle;
    }
    if (status != CC_OK)
        return status;
    *out = worth ? 0 : high;
    *most = limit;
    return CC_OK;
}
