/* The bandwidth that a wanted compute utilization takes: the inverse of a prediction. */
#ifndef CC_MODELS_REQUIRED_H
#define CC_MODELS_REQUIRED_H

#include "models/predict.h"

/* Between these, in bits a second, bandwidths are looked for. */
#define CC_REQUIRED_LEAST_BPS 1e3
#define CC_REQUIRED_MOST_BPS  1e15

/* Finds the least bandwidth of the hosts' links, to 10^-6 of itself, at which compute_s / step_s of
 * a setting is at least `cu`, above 0 and at most 1. The directions of a link keep their ratio, and
 * the link its latency. Sets setting->link to the answer and *out to the prediction there; *found
 * becomes false where even the highest bandwidth is not enough, as latencies or codecs take too
 * long. */
int cc_required_bandwidth(struct cc_predictor *p, struct cc_setting *s,
                          const struct cc_step_payloads *payloads, double cu, bool *found,
                          struct cc_prediction *out, struct cc_error *e);

#endif
