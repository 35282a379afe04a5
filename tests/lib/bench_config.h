/* Configurations for the tests of bench, on a trace of two tensors and three steps, whose numbers
 * are 10, 20 and 30. */
#ifndef CC_TESTS_LIB_BENCH_CONFIG_H
#define CC_TESTS_LIB_BENCH_CONFIG_H

#include "bench/config.h"

enum { WEIGHTS = 6, BIAS = 3, VALUES = WEIGHTS + BIAS, STEPS = 3 };

/* By step: the weights, then the bias. Both scales of int8 are 1; the errors of the first step are
 * -0.25, 0.5, 0.5 and 0.25, and the other steps have none. */
extern const float gradients[STEPS][VALUES];

/* Writes one step of the trace to a file. */
void write_step(void **state, const char *direction, int rank, int step, const float *x);

/* A configuration and everything that it points to. */
struct fixture {
    struct cc_bench_config config;
    struct cc_spec_list schemes;
    struct cc_spec *raw;
    struct cc_error failed[16];
};

/* close_config also closes the trace. */
void open_config(struct fixture *f, struct cc_trace *trace, const char *schemes);
void close_config(struct fixture *f);

struct cc_trace *open_trace(const char *path);
/* A synthetic trace of flat tensors. */
struct cc_trace *make_trace(const struct cc_tensor_info *tensors, size_t count, size_t steps);

/* Opens a configuration on the trace of `gradients`, pushed by rank 3. */
void open_gradients(struct fixture *f, void **state, const char *schemes);

/* Opens the same on a trace whose first two steps add up to infinity in the bias: only `local`
 * fails. */
void open_huge(struct fixture *f, void **state, const char *schemes);
/* Asserts that this scheme alone failed, with a message that names the place. */
void assert_gave_up(const struct fixture *f, const char *path, size_t scheme);

#endif
