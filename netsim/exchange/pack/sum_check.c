#include "netsim/exchange/pack/sum_check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* Half a unit in the last place, relative, and half of the least number. */
static const struct {
    double relative, least;
} rounding[CC_ELEMENTS] = {[CC_ELEMENT_FP32] = {0, 0}, /* accounted for with the additions */
                           [CC_ELEMENT_BF16] = {0x1p-8, 0x1p-134},
                           [CC_ELEMENT_FP16] = {0x1p-11, 0x1p-25}};

bool cc_sum_check(const struct cc_sum_check *c, const float *mean, char *text, size_t cap)
{
    const double p = c->workers, scale = (double)(float)(1 / p);
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < c->n; i++) {
        const double want = (double)c->sum[i] * scale;
        /* Below the normal numbers, every operation may be off by half of the least number. */
        const double each = 2 * p * 0x1p-24 + (p + 1) * rounding[c->type].relative;
        const double allowed = each * (double)c->magnitude[i] * scale +
                               (p + 1) * ((double)FLT_TRUE_MIN + rounding[c->type].least * scale);
        const double found = fabs((double)mean[i] - want) / allowed;
        const double off = isnan(found) ? HUGE_VAL : found;
        if (off > worst) {
            worst = off;
            at = i;
        }
    }
    if (worst <= 1)
        return true;
    (void)snprintf(text, cap, "value %zu is %.9g instead of %.9g, %.3g times the rounding allowed",
                   at, (double)mean[at], (double)c->sum[at] * scale, worst);
    return false;
}
