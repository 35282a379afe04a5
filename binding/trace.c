/* Reading traces: libcommcomp-traces, since the files' formats need libraries that codecs do
 * without. A handle is a struct cc_trace. */
#include "binding/impl.h"
#include "core/trace/trace.h"
#include "core/trace/trace_decoder.h"
#include "schemes/unpack.h"

static struct cc_trace *inside(struct commcomp_trace *t)
{
    return (struct cc_trace *)(void *)t;
}

static const struct cc_trace *inside_const(const struct commcomp_trace *t)
{
    return (const struct cc_trace *)(const void *)t;
}

int commcomp_trace_open(const char *path, struct commcomp_trace **out, char *error)
{
    struct cc_trace *t;
    cc_trace_decode_by(cc_unpack);
    CC_TRY(cc_trace_open(path, &t, cc_error_of(error)));
    *out = (struct commcomp_trace *)(void *)t;
    return CC_OK;
}

void commcomp_trace_close(struct commcomp_trace *t)
{
    cc_trace_close(inside(t));
}

size_t commcomp_trace_streams(const struct commcomp_trace *t)
{
    return cc_trace_streams(inside_const(t));
}

int commcomp_trace_direction(const struct commcomp_trace *t, size_t stream)
{
    return (int)cc_trace_stream(inside_const(t), stream).direction;
}

int64_t commcomp_trace_rank(const struct commcomp_trace *t, size_t stream)
{
    return cc_trace_stream(inside_const(t), stream).rank;
}

size_t commcomp_trace_steps(const struct commcomp_trace *t, size_t stream)
{
    return cc_trace_steps(inside_const(t), stream);
}

uint64_t commcomp_trace_step_number(const struct commcomp_trace *t, size_t stream, size_t step)
{
    return cc_trace_step_number(inside_const(t), stream, step);
}

size_t commcomp_trace_tensors(const struct commcomp_trace *t)
{
    return cc_trace_tensors(inside_const(t));
}

const char *commcomp_trace_name(const struct commcomp_trace *t, size_t tensor)
{
    return cc_trace_tensor(inside_const(t), tensor)->name;
}

int commcomp_trace_shape(const struct commcomp_trace *t, size_t tensor,
                         size_t dims[COMMCOMP_MAX_DIMS])
{
    const struct cc_shape *shape = &cc_trace_tensor(inside_const(t), tensor)->shape;
    for (int i = 0; i < shape->ndim; i++)
        dims[i] = shape->dim[i];
    return shape->ndim;
}

int commcomp_trace_load(struct commcomp_trace *t, size_t stream, size_t step, size_t tensor,
                        float *x, char *error)
{
    return cc_trace_load(inside(t), stream, step, tensor, x, cc_error_of(error));
}
