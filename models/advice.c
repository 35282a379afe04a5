/* Advice: searches over predictions. docs/advise.md.
 *
 * Bandwidths at which a scheme pays: its step is compared with the baseline's at six bandwidths a
 * decade, and each change of the answer is bisected to a millionth.
 *
 * Codecs with which it pays: faster ones never make it slower, so one bisection finds the factor.
 *
 * Enough workers: doubling is tried at all powers of two, and the last at which it is worth it is
 * bisected against the next. A first worker has no network in most exchanges, so that the first
 * doubling may be the worst of all. */
#include "models/advice.h"

#include <math.h>

#include "models/system.h"

struct question {
    struct cc_predictor *p;
    struct cc_setting s;
    const struct cc_step_payloads *payloads;
    const struct cc_baseline *baseline;
    bool server_per_worker; /* servers come with workers; */
    int servers; /* otherwise their number, or fewer where they are on the workers' hosts */
    struct cc_error *e;
};

static struct question against(const struct cc_baseline *b, const struct cc_step_payloads *payloads,
                               struct cc_error *e)
{
    return (struct question){
        .p = b->predictor, .s = b->setting, .payloads = payloads, .baseline = b, .e = e};
}

static int pays(struct question *a, bool *out)
{
    struct cc_prediction with;
    double without;
    CC_TRY(cc_predict(a->p, &a->s, a->payloads, &with, a->e));
    CC_TRY(cc_baseline_step(a->baseline, a->s.link.bw_bps, a->s.codec_speed, &without, a->e));
    *out = with.step_s * CC_VERDICT_WORTH < without;
    return CC_OK;
}

static int pays_at(struct question *a, double bps, bool *out)
{
    a->s.link.bw_bps = bps;
    return pays(a, out);
}

static int pays_with(struct question *a, double factor, bool *out)
{
    a->s.codec_speed = a->baseline->setting.codec_speed * factor;
    return pays(a, out);
}

/* Finds the bandwidth or speed between two others at which paying begins or ends, to within a
 * factor. */
static int bisect(struct question *a, int (*ask)(struct question *a, double value, bool *out),
                  double low, double high, bool low_pays, double within, double *out)
{
    while (high / low > within) {
        const double middle = sqrt(low * high);
        bool there = false;
        CC_TRY(ask(a, middle, &there));
        if (there == low_pays)
            low = middle;
        else
            high = middle;
    }
    *out = sqrt(low * high);
    return CC_OK;
}

/* --- bandwidths --- */

int cc_advice_paying(const struct cc_baseline *baseline, const struct cc_step_payloads *payloads,
                     struct cc_paying *out, struct cc_error *e)
{
    enum { PER_DECADE = 6 };
    struct question a = against(baseline, payloads, e);
    struct cc_paying r = {.below_bps = INFINITY};
    const int steps = (int)lround(log10(CC_VERDICT_MOST_BPS / CC_VERDICT_LEAST_BPS)) * PER_DECADE;
    double before = 0, edge = 0;
    bool paid = false;
    for (int i = 0; i <= steps; i++) {
        double bps = CC_VERDICT_LEAST_BPS * pow(10, (double)i / PER_DECADE);
        bool there = false;
        CC_TRY(pays_at(&a, bps, &there));
        if (i > 0 && there != paid)
            CC_TRY(bisect(&a, pays_at, before, bps, paid, 1 + 1e-6, &edge));
        if (there && !paid) {
            r.from_bps = r.ever ? r.from_bps : edge;
            r.below_bps = INFINITY;
            r.ever = true;
            r.ranges++;
        } else if (!there && paid) {
            r.below_bps = edge;
        }
        paid = there;
        before = bps;
    }
    *out = r;
    return CC_OK;
}

/* --- the speed of codecs --- */

int cc_advice_codec_speed(const struct cc_baseline *baseline,
                          const struct cc_step_payloads *payloads, double *out, struct cc_error *e)
{
    struct question a = against(baseline, payloads, e);
    bool fastest = false, slowest = false;
    CC_TRY(pays_with(&a, CC_ADVICE_MOST_SPEED, &fastest));
    if (fastest)
        CC_TRY(pays_with(&a, 1 / CC_ADVICE_MOST_SPEED, &slowest));
    *out = fastest ? 0 : INFINITY;
    return fastest && !slowest ? bisect(&a, pays_with, 1 / CC_ADVICE_MOST_SPEED,
                                        CC_ADVICE_MOST_SPEED, false, 1.001, out)
                               : CC_OK;
}

/* --- workers --- */

/* The workers' steps per second, all together. */
static int throughput(struct question *a, int workers, double *out)
{
    struct cc_prediction r;
    struct cc_cluster *c = &a->s.cluster;
    c->workers = workers;
    c->servers = a->server_per_worker ? workers : a->servers;
    c->servers = c->colocated && c->servers > workers ? workers : c->servers;
    c->servers = c->servers < CC_MOST_SERVERS ? c->servers : CC_MOST_SERVERS;
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
    struct question a = {
        .p = p, .s = *s, .payloads = payloads, .servers = s->cluster.servers, .e = e};
    a.server_per_worker = s->system != NULL && s->system->server_per_worker &&
                          s->cluster.servers == s->cluster.workers;
    /* Where every worker is simulated, large numbers take too long. */
    const bool simulated = s->timing.consistency != CC_BULK || s->timing.straggler != CC_STEADY;
    const int limit = simulated ? 256 : 65536;
    int low = 0; /* doubling is worth it there, and at no larger power of two */
    bool worth = false;
    for (int n = 1; n <= limit; n *= 2) {
        CC_TRY(worth_doubling(&a, n, &worth));
        low = worth ? n : low;
    }
    int high = low > 0 ? 2 * low : 1;
    while (!worth && high - low > 1) {
        const int middle = low + (high - low) / 2;
        bool still = false;
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
