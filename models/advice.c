/* Advice: searches over predictions.
 *
 * Bandwidths at which a scheme pays: its step is compared with fp32's at six bandwidths a decade
 * from CC_ADVICE_LEAST_BPS to CC_ADVICE_MOST_BPS, and each change of sign is bisected to a
 * millionth.
 *
 * Enough workers: the number is doubled while doubling is worth it, then bisected. docs/advise.md.
 */
#include "models/advice.h"

#include <math.h>

struct question {
    struct cc_predictor *p;
    struct cc_setting s;
    const struct cc_step_payloads *payloads, *raw;
    struct cc_error *e;
};

/* --- bandwidths --- */

/* How much shorter than raw's the step is, relative to raw's; a difference by rounding counts as 0.
 */
static int gain_at(struct question *a, double bps, double *out)
{
    struct cc_prediction with, without;
    a->s.link.bw_bps = bps;
    CC_TRY(cc_predict(a->p, &a->s, a->payloads, &with, a->e));
    CC_TRY(cc_predict(a->p, &a->s, a->raw, &without, a->e));
    double gain = without.step_s > 0 ? 1 - with.step_s / without.step_s : 0;
    *out = fabs(gain) < 1e-9 ? 0 : gain;
    return CC_OK;
}

/* Finds the bandwidth between two others at which paying begins or ends. */
static int bisect(struct question *a, double low, double high, bool low_pays, double *out)
{
    while (high / low > 1 + 1e-6) {
        double middle = sqrt(low * high), gain = 0;
        CC_TRY(gain_at(a, middle, &gain));
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
    struct question a = {.p = p, .s = *s, .payloads = payloads, .raw = raw, .e = e};
    struct cc_paying r = {.below_bps = INFINITY};
    const int steps = (int)lround(log10(CC_ADVICE_MOST_BPS / CC_ADVICE_LEAST_BPS)) * PER_DECADE;
    double before = 0, edge = 0;
    bool paid = false;
    for (int i = 0; i <= steps; i++) {
        double bps = CC_ADVICE_LEAST_BPS * pow(10, (double)i / PER_DECADE), gain = 0;
        CC_TRY(gain_at(&a, bps, &gain));
        bool pays = gain > 0;
        if (i > 0 && pays != paid)
            CC_TRY(bisect(&a, before, bps, paid, &edge));
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

/* The workers' steps per second, all together. */
static int throughput(struct question *a, int workers, double *out)
{
    struct cc_prediction r;
    a->s.cluster.workers = workers;
    CC_TRY(cc_predict(a->p, &a->s, a->payloads, &r, a->e));
    *out = r.step_s > 0 ? workers / r.step_s : INFINITY;
    return CC_OK;
}

static int worth_doubling(struct question *a, int workers, bool *out)
{
    double now = 0, twice = 0;
    CC_TRY(throughput(a, workers, &now));
    CC_TRY(throughput(a, 2 * workers, &twice));
    *out = twice >= CC_ADVICE_GAIN * now;
    return CC_OK;
}

int cc_advice_workers(struct cc_predictor *p, const struct cc_setting *s,
                      const struct cc_step_payloads *payloads, int *out, int *most,
                      struct cc_error *e)
{
    struct question a = {.p = p, .s = *s, .payloads = payloads, .e = e};
    /* Where every worker is simulated, large numbers take too long. */
    bool simulated = s->timing.consistency != CC_BULK || s->timing.straggler != CC_STEADY;
    int limit = simulated ? 256 : 65536, low = 0, high = 1;
    bool worth = true;
    for (;;) {
        CC_TRY(worth_doubling(&a, high, &worth));
        if (!worth || high >= limit)
            break;
        low = high;
        high *= 2;
    }
    while (!worth && high - low > 1) {
        bool still = false;
        int middle = low + (high - low) / 2;
        CC_TRY(worth_doubling(&a, middle, &still));
        if (still)
            low = middle;
        else
            high = middle;
    }
    *out = worth ? 0 : high;
    *most = limit;
    return CC_OK;
}
