/* How fast: whole steps encoded, decoded, and decoded and added, schemes in turn, so that a machine
 * that drifts favours none; the limits of its memory between them. Residuals are carried; a sample
 * is one period of the scheme, or many where the step is small (bench/calls.h). */
#ifndef CC_BENCH_SPEED_H
#define CC_BENCH_SPEED_H

#include "bench/calls.h"

struct cc_speed_limits {
    size_t discard;     /* rounds thrown away first */
    size_t least, most; /* samples of each scheme */
    double seconds;     /* no new round after this, once there are `least` */
    bool per_tensor;    /* also keep the times of each tensor */
    bool roofline;      /* also measure what the machine's memory allows */
};

/* Seconds a step, one a sample. Of scheme s: seconds[call][s * most + i]; with per_tensor of its
 * tensor t: tensor_seconds[call][(s * tensors + t) * most + i]. */
struct cc_speed {
    size_t samples, most, tensors;
    double *seconds[CC_CALLS];
    double *tensor_seconds[CC_CALLS]; /* NULL without per_tensor */
    /* Payload bytes a step, the mean of the samples: of scheme s, and of its tensor t. */
    double *bytes, *tensor_bytes;
    /* GB/s of float32 that memory allows scheme s; 0: it is not what limits, or not measured. */
    double *limit[CC_CALLS];
};

/* After an interrupt, *out holds the complete rounds until then. */
int cc_speed_measure(const struct cc_bench_config *p, const struct cc_speed_limits *limits,
                     struct cc_speed *out, struct cc_error *e);
void cc_speed_free(struct cc_speed *s);

#endif
