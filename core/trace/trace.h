/* Traces: sequences of steps, each the tensors that one worker (or the server) sends at once. From
 * a file, a directory, or drawn from a distribution; one interface. Values are mapped or made when
 * asked for, never all at once, so that a trace may be larger than memory. */
#ifndef CC_CORE_TRACE_TRACE_H
#define CC_CORE_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/tensor.h"

#define CC_TRACE_SCHEMA "commcomp-trace/1" /* the metadata's `schema` */

struct cc_trace;

/* One sender: worker `rank` pushing, or the server (-1) pulling. */
struct cc_trace_sender {
    enum cc_direction direction;
    int64_t rank;
};

/* Opens a file (.safetensors, .npy, .csv) or a directory of them (others in it are passed by).
 * Every file's header is read and checked; the values are not, except that of a CSV file all is
 * read. A directory is grouped into streams by the files' metadata (direction, rank), each ordered
 * by step. What the metadata does not say is taken from names like push-step000012-rank3.npy, else:
 * a push of rank 0, steps in the order of their names. All steps of all streams must have the same
 * tensors. Tensors are in the order of the metadata's `order`, else as their data lie in the file.
 * The caller closes *out, which is set on success only. */
int cc_trace_open(const char *path, struct cc_trace **out, struct cc_error *e);

/* The streams: pushes by rank, then pulls. */
size_t cc_trace_streams(const struct cc_trace *t);
struct cc_trace_sender cc_trace_stream(const struct cc_trace *t, size_t stream);

size_t cc_trace_steps(const struct cc_trace *t, size_t stream);
/* The step's number as the metadata says (else its place in the sequence). */
uint64_t cc_trace_step_number(const struct cc_trace *t, size_t stream, size_t step);

size_t cc_trace_tensors(const struct cc_trace *t);
/* Owned by the trace. */
const struct cc_tensor_info *cc_trace_tensor(const struct cc_trace *t, size_t tensor);
/* Of all tensors, and of the largest one. */
size_t cc_trace_values(const struct cc_trace *t);
size_t cc_trace_largest(const struct cc_trace *t);

/* What to call it: the path, or "synthetic:laplace:resnet110". */
const char *cc_trace_name(const struct cc_trace *t);

/* The values of one tensor at one step. *x points into a mapping, or to `buffer`, which has room
 * for the tensor's values and is aligned to CC_ALIGN; x itself is aligned to 4. It stays valid
 * until the next load into the same buffer, or cc_trace_release. A step's file stays mapped until
 * it is released: release steps that are done with. Values that are not finite are passed as they
 * are. Safe to call from several threads with buffers of their own. */
int cc_trace_load(struct cc_trace *t, size_t stream, size_t step, size_t tensor, float *buffer,
                  const float **x, struct cc_error *e);
/* Drops the mappings of one step (of all steps: SIZE_MAX). */
void cc_trace_release(struct cc_trace *t, size_t stream, size_t step);

void cc_trace_close(struct cc_trace *t);

/* --- synthetic traces --- */

enum cc_distribution { CC_LAPLACE, CC_GAUSSIAN, CC_STUDENT, CC_MIXTURE };

/* Their names, in order, ending with NULL. */
extern const char *const cc_distribution_names[];

struct cc_synth {
    enum cc_distribution distribution;
    uint64_t seed;
    size_t steps;
    size_t ranks; /* pushing workers; each draws its own values around a common part */
    bool pulls;   /* also the server's stream */
    double decay; /* how much a step remembers of the last: correlation between steps, 0 <= decay <
                     1 */
};

/* The tensors (names are copied) with a distribution. Values depend on the seed, stream, step,
 * tensor and index only. `label` names the tensors' origin, e.g. "resnet110" or "25M". */
int cc_trace_synth(const struct cc_synth *config, const struct cc_tensor_info *tensors,
                   size_t count, const char *label, struct cc_trace **out, struct cc_error *e);

#endif
