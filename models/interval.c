/* Corners of intervals. Links: at best what the formulas take, all of the rate but headers; at
 * worst the least share that was published of their kind (models/achieved.h).
 *
 * Codecs on an accelerator: launches of 5 to 10 us and 0.6 to 0.8 of the memory's bandwidth
 * (models/device.h), and passes that are not fused: SDP4Bit's Table 4 has 64.6 ms for 45.9. */
#include "models/interval.h"

#include <math.h>

static const struct cc_factors codec_speed[] = {[CC_TIME_EXACT] = {1, 1},
                                                [CC_TIME_MEASURED] = {1.1, 0.8},
                                                [CC_TIME_PUBLISHED] = {1.2, 0.7},
                                                [CC_TIME_ASSUMED] = {1.3, 0.5}};
static const struct cc_factors compute_time[] = {[CC_TIME_EXACT] = {1, 1},
                                                 [CC_TIME_MEASURED] = {0.97, 1.05},
                                                 [CC_TIME_PUBLISHED] = {0.9, 1.2},
                                                 [CC_TIME_ASSUMED] = {0.7, 1.5}};

struct cc_doubt cc_doubt_of(const struct cc_setting *s, enum cc_time_origin codec,
                            enum cc_time_origin compute, bool measured)
{
    struct cc_link line = s->link;
    line.reduce_byte_s = 0; /* of predictions it is the codec profile's, and no calibration's */
    struct cc_doubt d = {.link = {1, 1},
                         .codec = codec_speed[codec],
                         .compute = compute_time[compute],
                         .kind = cc_achieved_of(&line),
                         .measured = measured};
    if (measured)
        d.link = (struct cc_factors){1.05, 0.95};
    else if (d.kind != NULL)
        d.link.worst = fmin(1, d.kind->low * (1 + s->link.overhead));
    return d;
}

static void reach(struct cc_link *l, double share)
{
    l->achieved = (l->achieved > 0 ? l->achieved : 1) * share;
}

static double at(const struct cc_factors *r, bool worst)
{
    return worst ? r->worst : r->best;
}

static void change(const struct cc_setting *s, double link, double codec, double compute,
                   struct cc_setting *out)
{
    *out = *s;
    reach(&out->link, link);
    out->cluster.wan_bps *= link;
    out->codec_speed *= codec;
    out->timing.compute_s *= compute;
}

void cc_doubt_corner(const struct cc_doubt *d, int corner, const struct cc_setting *s,
                     struct cc_setting *out)
{
    change(s, at(&d->link, corner & 1), at(&d->codec, corner & 2), at(&d->compute, corner & 4),
           out);
}

int cc_interval_step(struct cc_predictor *p, const struct cc_doubt *d, const struct cc_setting *s,
                     const struct cc_step_payloads *payloads, struct cc_interval *out,
                     struct cc_error *e)
{
    struct cc_prediction now;
    struct cc_setting there;
    CC_TRY(cc_predict(p, s, payloads, &now, e));
    *out = (struct cc_interval){now.step_s, now.step_s};
    for (int i = 0; i < CC_CORNERS; i++) {
        cc_doubt_corner(d, i, s, &there);
        CC_TRY(cc_predict(p, &there, payloads, &now, e));
        out->low = fmin(out->low, now.step_s);
        out->high = fmax(out->high, now.step_s);
    }
    return CC_OK;
}

/* How many times as fast the one is as the other, with both changed in the same way. */
static int compare(struct cc_predictor *p, const struct cc_step_of *with,
                   const struct cc_step_of *without, double link, double codec, double compute,
                   double *out, struct cc_error *e)
{
    struct cc_setting there;
    struct cc_prediction a, b;
    change(with->s, link, codec, compute, &there);
    CC_TRY(cc_predict(p, &there, with->payloads, &a, e));
    change(without->s, link, codec, compute, &there);
    CC_TRY(cc_predict(p, &there, without->payloads, &b, e));
    *out = b.step_s == a.step_s ? 1 : b.step_s / a.step_s; /* both may be 0 */
    return CC_OK;
}

int cc_interval_gain(struct cc_predictor *p, const struct cc_doubt *d,
                     const struct cc_step_of *with, const struct cc_step_of *without,
                     struct cc_interval *out, struct cc_error *e)
{
    double gain;
    CC_TRY(compare(p, with, without, 1, 1, 1, &gain, e));
    *out = (struct cc_interval){gain, gain};
    for (int i = 0; i < CC_CORNERS; i++) {
        CC_TRY(compare(p, with, without, at(&d->link, i & 1), at(&d->codec, i & 2),
                       at(&d->compute, i & 4), &gain, e));
        out->low = fmin(out->low, gain);
        out->high = fmax(out->high, gain);
    }
    return CC_OK;
}

int cc_interval_turn(struct cc_predictor *p, const struct cc_doubt *d, double worth,
                     const struct cc_step_of *with, const struct cc_step_of *without, double *out,
                     struct cc_error *e)
{
    double high = d->link.best, low = d->link.worst, gain;
    CC_TRY(compare(p, with, without, high, 1, 1, &gain, e));
    const bool pays = gain >= worth;
    CC_TRY(compare(p, with, without, low, 1, 1, &gain, e));
    *out = NAN;
    if ((gain >= worth) == pays)
        return CC_OK;
    while (high / low > 1.001) {
        const double middle = sqrt(low * high);
        CC_TRY(compare(p, with, without, middle, 1, 1, &gain, e));
        *((gain >= worth) == pays ? &high : &low) = middle;
    }
    *out = high;
    return CC_OK;
}
