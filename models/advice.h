/* Advice derived from predictions: at which bandwidths a scheme pays, and up to how many workers a
 * cluster is worth its hosts. */
#ifndef CC_MODELS_ADVICE_H
#define CC_MODELS_ADVICE_H

#include <stdbool.h>

#include "models/predict.h"

/* Bandwidths are tried between these, bits per second. */
#define CC_ADVICE_LEAST_BPS 1e4
#define CC_ADVICE_MOST_BPS  1e14

/* The bandwidths at which a scheme's step is shorter than that of `raw`: from from_bps up to
 * below_bps, to a millionth. 0 and INFINITY stand for the ends of the range that is tried. */
struct cc_paying {
    bool ever;
    double from_bps, below_bps;
    int ranges; /* usually 1; of several, from_bps is the first's and below_bps the last's */
};

/* Finds these bandwidths; everything but the bandwidth is as in the setting. `raw` is fp32 on the
 * same net. Errors are those of cc_predict. */
int cc_advice_paying(struct cc_predictor *p, const struct cc_setting *s,
                     const struct cc_step_payloads *payloads, const struct cc_step_payloads *raw,
                     struct cc_paying *out, struct cc_error *e);

/* Doubling the workers is worth it if they do at least this many times as much in the same time. */
#define CC_ADVICE_GAIN 1.25

/* Finds the smallest number of workers that is not worth doubling; 0 if there is none up to *most,
 * the largest number tried. Each worker brings its own work (its batch stays the same). Errors are
 * those of cc_predict. */
int cc_advice_workers(struct cc_predictor *p, const struct cc_setting *s,
                      const struct cc_step_payloads *payloads, int *out, int *most,
                      struct cc_error *e);

#endif
