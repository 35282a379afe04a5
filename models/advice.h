/* Advice derived from predictions: at which bandwidths and with which codecs a scheme pays, and up
 * to how many workers a cluster is worth its hosts. */
#ifndef CC_MODELS_ADVICE_H
#define CC_MODELS_ADVICE_H

#include <stdbool.h>

#include "models/verdict.h"

/* The bandwidths at which a scheme pays, being CC_VERDICT_WORTH times as fast as the baseline: from
 * from_bps up to below_bps, to a millionth. 0 and INFINITY stand for the ends of the range that is
 * tried (CC_VERDICT_LEAST_BPS to CC_VERDICT_MOST_BPS). */
struct cc_paying {
    bool ever;
    double from_bps, below_bps;
    int ranges; /* usually 1; of several, from_bps is the first's and below_bps the last's */
};

/* Finds these bandwidths; everything but the bandwidth is as in the baseline's setting. Errors are
 * those of cc_predict. */
int cc_advice_paying(const struct cc_baseline *baseline, const struct cc_step_payloads *payloads,
                     struct cc_paying *out, struct cc_error *e);

/* Factors on the speed of codecs are tried between 1 / CC_ADVICE_MOST_SPEED and it. */
#define CC_ADVICE_MOST_SPEED 1e4

/* Finds the factor on the speed of codecs above which a scheme pays, to a thousandth. 0 if it does
 * at any speed, INFINITY if at none. Errors are those of cc_predict. */
int cc_advice_codec_speed(const struct cc_baseline *baseline,
                          const struct cc_step_payloads *payloads, double *out, struct cc_error *e);

/* Doubling the workers is worth it if they do at least this many times as much in the same time. */
#define CC_ADVICE_GAIN 1.25

/* Finds the number of workers from which on no doubling is worth it; 0 if doubling is still worth
 * it at *most, the largest number tried. Each worker brings its own work (its batch stays the
 * same). Errors are those of cc_predict. */
int cc_advice_workers(struct cc_predictor *p, const struct cc_setting *s,
                      const struct cc_step_payloads *payloads, int *out, int *most,
                      struct cc_error *e);

#endif
