/* Synthetic traces: gradients drawn from a distribution whose parameters are fitted to real ones.
 * docs/traces.md describes the model and the fit. */
#ifndef CC_CORE_TRACE_SYNTH_H
#define CC_CORE_TRACE_SYNTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/tensor.h"
#include "core/trace/trace.h"

/* The distribution of a tensor's values. CC_MIXTURE: normal, with a scale for each row and column.
 */
enum cc_distribution { CC_LAPLACE, CC_GAUSSIAN, CC_STUDENT, CC_MIXTURE };

/* The names of the distributions by value, ending with NULL. */
extern const char *const cc_distribution_names[];

/* Where the values that are not zero lie: each by itself, or in runs of CC_SYNTH_RUN values that
 * begin at multiples of it. Every stream and step has places of its own. */
enum cc_indices { CC_INDICES_UNIFORM, CC_INDICES_CLUSTERED };
enum { CC_SYNTH_RUN = 64 };
extern const char *const cc_indices_names[]; /* ends with NULL */

struct cc_synth {
    enum cc_distribution distribution;
    uint64_t seed;
    size_t steps; /* in every stream, at least 1 */
    size_t ranks; /* workers that push; each draws its own values around a common part */
    bool pulls;   /* also a stream of the server's pulls; without ranks there must be one */
    double decay; /* correlation between successive steps, 0 <= decay < 1 */
    double zeros; /* the probability of a value to be zero, from 0 to 1 */
    enum cc_indices indices; /* the others' */
};

/* Makes a trace of `count` tensors, whose names and shapes are copied. Its name is
 * "synthetic:DISTRIBUTION:LABEL"; `label` says where the tensors come from ("resnet110", "25M").
 * Values depend on seed, stream, step, tensor and index only: not on the number of steps or ranks,
 * the instruction set or threads. Loading needs no more memory than the caller's buffer.
 *
 * Errors: no step, neither ranks nor pulls, no tensors, a decay or a share out of range, no memory.
 * Sets *out on success only; the caller releases it with cc_trace_close. */
int cc_trace_synth(const struct cc_synth *config, const struct cc_tensor_info *tensors,
                   size_t count, const char *label, struct cc_trace **out, struct cc_error *e);

#endif
