/* What follows from predictions: at which bandwidths a scheme pays, up to how many workers a
 * cluster is worth its hosts, and what an exchange makes of a codec's error. */
#ifndef CC_MODELS_ADVICE_H
#define CC_MODELS_ADVICE_H

#include <stdbool.h>

#include "models/predict.h"

/* Bandwidths are tried between these, bits per second. */
#define CC_ADVICE_LEAST_BPS 1e4
#define CC_ADVICE_MOST_BPS  1e14

/* Where a scheme's step is shorter than that of `raw`: at bandwidths from from_bps up to below_bps,
 * to a millionth. 0 and INFINITY: down to, up to the end of what is tried. */
struct cc_paying {
    bool ever;
    double from_bps, below_bps;
    int ranges; /* usually 1; of several, from_bps is the first's and below_bps the last's */
};

/* Everything but the bandwidth as in the setting. `raw` is fp32 on the same net. */
int cc_advice_paying(struct cc_predictor *p, const struct cc_setting *s,
                     const struct cc_step_payloads *payloads, const struct cc_step_payloads *raw,
                     struct cc_paying *out, struct cc_error *e);

/* Twice the workers are worth it while they do at least this much more in the same time. */
#define CC_ADVICE_GAIN 1.25

/* The smallest number of workers that is not worth doubling; 0 if there is none up to *most, which
 * is what was tried. Each worker brings its own share of work (its batch stays the same). */
int cc_advice_workers(struct cc_predictor *p, const struct cc_setting *s,
                      const struct cc_step_payloads *payloads, int *out, int *most,
                      struct cc_error *e);

/* By how many encodings the sum that the workers end with is more wrong than one encoding's result,
 * if the squared errors add up as those of independent ones do and gradients of different workers
 * are independent too: 1 where payloads are summed, merged or gathered as they are, 2 with a server
 * that encodes anew, more where every hop does. docs/model.md. */
double cc_advice_encodings(enum cc_exchange x, enum cc_reduction r, enum cc_via via, int workers);

#endif
