/* Speeds: times whole steps being encoded, decoded, and decoded and added.
 *
 * Schemes take turns, with the limits of the machine's memory between them (bench/limits.h), so
 * that a machine whose speed drifts favours none. Residuals are kept from step to step. A sample is
 * one period of the scheme, or many where the step is small (bench/calls.h). */
#ifndef CC_BENCH_SPEED_H
#define CC_BENCH_SPEED_H

#include "bench/limits.h"

struct cc_speed_limits {
    size_t discard;     /* rounds thrown away first */
    size_t least, most; /* samples of each scheme */
    double seconds;     /* no new round begins after this, once there are `least` samples */
    double precision; /* not 0: a scheme with `least` samples takes part no more once the median of
                         each of its calls has a relative standard error below this */
    bool per_tensor;  /* also keep the times of each tensor */
    bool roofline;    /* also measure what the machine's memory allows */
};

/* Sample i of scheme s: seconds[call][s * most + i], in seconds per step. With per_tensor, sample i
 * of its tensor t: tensor_seconds[call][(s * tensors + t) * most + i]. */
struct cc_speed {
    size_t samples, most, tensors;
    size_t *taken; /* by scheme: its samples; all `samples` unless it was precise before */
    double *seconds[CC_CALLS];
    double *tensor_seconds[CC_CALLS]; /* NULL without per_tensor */
    double *bytes;                    /* by scheme: payload bytes per step, mean of the samples */
    double *tensor_bytes;             /* by scheme and tensor, likewise; NULL without per_tensor */
    struct cc_scheme_limits *limit;   /* by scheme */
};

/* After an interrupt, *out holds the rounds that were complete. On failure *out is empty; else free
 * it with cc_speed_free. */
int cc_speed_measure(const struct cc_bench_config *config, const struct cc_speed_limits *limits,
                     struct cc_speed *out, struct cc_error *e);
void cc_speed_free(struct cc_speed *s);

#endif
