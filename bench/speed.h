/* How fast: whole steps encoded and decoded, schemes in turn, so that a machine that drifts favours
 * none. Residuals are carried; a sample is one period of the scheme. */
#ifndef CC_BENCH_SPEED_H
#define CC_BENCH_SPEED_H

#include "bench/plan.h"

struct cc_speed_limits {
    size_t discard;     /* rounds thrown away first */
    size_t least, most; /* samples of each scheme */
    double seconds;     /* no new round after this, once there are `least` */
    bool per_tensor;    /* also keep the times of each tensor */
};

/* Seconds a step, one a sample. Of scheme s: encode[s * most + i]; with per_tensor of its tensor t:
 * tensor_encode[(s * tensors + t) * most + i]. */
struct cc_speed {
    size_t samples, most, tensors;
    double *encode, *decode;
    double *tensor_encode, *tensor_decode; /* NULL without per_tensor */
};

/* Whether memory suffices: the states of all schemes are alive at once. cc_speed_measure checks it
 * too, but who measures errors before wants to know earlier. */
int cc_speed_check(const struct cc_plan *p, struct cc_error *e);

/* After an interrupt, *out holds the complete rounds until then. */
int cc_speed_measure(const struct cc_plan *p, const struct cc_speed_limits *limits,
                     struct cc_speed *out, struct cc_error *e);
void cc_speed_free(struct cc_speed *s);

#endif
