/* Measuring codec profiles (models/profile.h): what a payload has in bits and a call takes in time,
 * by the tensor's size, with residuals as they are after some steps. */
#ifndef CC_BENCH_PROFILE_H
#define CC_BENCH_PROFILE_H

#include "bench/speed.h"
#include "models/profile.h"

/* The sizes that are measured when none are given: small ones too, since nets have many biases. */
#define CC_PROFILE_SIZES 7
extern const size_t cc_profile_sizes[CC_PROFILE_SIZES];
#define CC_PROFILE_SIZES_TEXT "10,100,1K,10K,100K,1M,10M" /* the same */

/* For how long and how often each size is measured. */
struct cc_speed_limits cc_profile_limits(double seconds);

/* Adds what was measured (with per_tensor) to a profile that is zero at first or was made by this:
 * a point for each scheme and size; tensors whose sizes differ by less than a tenth are one size,
 * their mean. A size that is there already is left as it is; schemes that failed are left out. On
 * failure *p is to be freed all the same. */
int cc_profile_add(struct cc_profile *p, const struct cc_bench_config *plan, struct cc_speed *speed,
                   struct cc_error *e);

/* The profile of these schemes at cc_profile_sizes, on synthetic values. */
struct cc_profile_config {
    enum cc_distribution distribution;
    uint64_t seed;
    int threads;      /* inside a tensor */
    double seconds;   /* for all sizes together; at least five samples are taken of each */
    const char *cpu;  /* what the profile is to say */
    const char *time; /* of the machine and the hour */
    void (*progress)(void *arg, const char *phase, double done); /* or NULL */
    void *progress_arg;
};

/* *out is set on success only; free it with cc_profile_free. A scheme that fails, and an interrupt,
 * are failures. */
int cc_profile_measure(const struct cc_spec_list *schemes, const struct cc_profile_config *config,
                       struct cc_profile *out, struct cc_error *e);

#endif
