/* Measures how the index sets of different workers' payloads unite. */
#ifndef CC_BENCH_UNIONS_H
#define CC_BENCH_UNIONS_H

#include "core/trace/trace.h"
#include "core/unions.h"
#include "schemes/spec.h"

/* Encodes the gradients of up to 16 workers of a trace for `steps` steps, each with codecs of its
 * own, and counts the indices in the unions of the last half of the steps (rounded up). Steps of a
 * trace that has fewer are used in turn. out->points is 0 for schemes without index-value pairs and
 * for traces of one worker. */
int cc_unions_measure(struct cc_trace *t, const struct cc_spec *spec, size_t steps,
                      struct cc_unions *out, struct cc_error *e);

#endif
