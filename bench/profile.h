/* Measures codec profiles (models/profile.h): bits and nanoseconds per value by the tensor's size,
 * with residuals as they are after some steps. */
#ifndef CC_BENCH_PROFILE_H
#define CC_BENCH_PROFILE_H

#include "bench/speed.h"
#include "core/trace/synth.h"
#include "models/profile.h"

/* The sizes that are measured unless others are given. Small ones are among them, as nets have many
 * biases. */
#define CC_PROFILE_SIZES 8
extern const size_t cc_profile_sizes[CC_PROFILE_SIZES];
#define CC_PROFILE_SIZES_TEXT "10,100,1K,10K,100K,1M,3M,10M" /* the same */

/* How each size is sampled when it may take `seconds`. */
struct cc_speed_limits cc_profile_limits(double seconds);

/* Adds speeds that were measured with per_tensor to a profile: one point for each scheme and size.
 * Tensors whose sizes differ by less than a tenth count as one size, their mean; a point that the
 * profile has at that size is replaced; schemes that failed are left out. With `keep_faster`, a
 * point that the profile has at that size stays if its calls took less time. The points get the
 * load of the machine as it is now. *p is zero-initialized or the result of earlier calls, and is
 * to be freed also after a failure. */
int cc_profile_add(struct cc_profile *p, const struct cc_bench_config *config,
                   struct cc_speed *speed, bool keep_faster, struct cc_error *e);

struct cc_profile_config {
    enum cc_distribution distribution; /* the synthetic values' */
    uint64_t seed;
    enum cc_element dtype; /* of the values */
    int threads; /* inside a tensor; one: times are those on the processor, whatever else runs */
    const char *cpu;  /* written to the profile: the machine's name */
    const char *time; /* written to the profile: when it was measured */
    bool keep_faster; /* points that the profile has stay if they are faster: a second measurement,
                         some time after the first, makes up for one that was disturbed */
    void (*progress)(void *arg, const char *phase,
                     double done); /* the share that is done; or NULL */
    void *progress_arg;
};

/* Begins a profile without codecs. *p is to be freed with cc_profile_free, also after a failure. */
int cc_profile_begin(struct cc_profile *p, const struct cc_profile_config *config,
                     struct cc_error *e);

/* Measures the schemes on synthetic values of one size, until the medians of their times are good
 * to 2% or some tenths of a second have passed for each scheme, and sets their points. A scheme
 * that fails, and an interrupt, are failures. */
int cc_profile_measure(struct cc_profile *p, const struct cc_spec_list *schemes, size_t values,
                       const struct cc_profile_config *config, struct cc_error *e);

#endif
