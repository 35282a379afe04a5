/* The functions that are the same for all traces; the others call the trace's ops. */
#include "core/trace/trace.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"
#include "core/trace/trace_dtype.h"
#include "core/trace/trace_impl.h"

size_t cc_trace_streams(const struct cc_trace *t)
{
    return t->stream_count;
}

struct cc_trace_sender cc_trace_stream(const struct cc_trace *t, size_t stream)
{
    return t->streams[stream];
}

void cc_trace_stream_name(const struct cc_trace *t, size_t stream, char *out, size_t cap)
{
    const struct cc_trace_sender s = t->streams[stream];
    (void)snprintf(out, cap, s.direction == CC_PUSH ? "push %lld" : "pull", (long long)s.rank);
}

size_t cc_trace_steps(const struct cc_trace *t, size_t stream)
{
    return t->steps[stream];
}

size_t cc_trace_skipped(const struct cc_trace *t, const uint64_t **numbers)
{
    if (numbers != NULL)
        *numbers = t->skip;
    return t->skipped;
}

static size_t step_at(const struct cc_trace *t, size_t stream, size_t step)
{
    return t->kept != NULL ? t->kept[stream][step] : step;
}

uint64_t cc_trace_step_number(const struct cc_trace *t, size_t stream, size_t step)
{
    return t->ops->step_number(t, stream, step_at(t, stream, step));
}

size_t cc_trace_tensors(const struct cc_trace *t)
{
    return t->count;
}

const struct cc_tensor_info *cc_trace_tensor(const struct cc_trace *t, size_t tensor)
{
    return &t->tensors[tensor];
}

size_t cc_trace_values(const struct cc_trace *t)
{
    return t->values;
}

size_t cc_trace_largest(const struct cc_trace *t)
{
    return t->largest;
}

const char *cc_trace_name(const struct cc_trace *t)
{
    return t->name;
}

enum cc_dtype cc_trace_dtype(const struct cc_trace *t, size_t tensor)
{
    if (t->element_set)
        return cc_element_dtype(t->element);
    return t->ops->dtype == NULL ? CC_F32 : t->ops->dtype(t, tensor);
}

enum cc_element cc_trace_element(const struct cc_trace *t)
{
    size_t largest = 0;
    if (t->element_set)
        return t->element;
    for (size_t i = 1; i < t->count; i++)
        if (t->tensors[i].shape.n > t->tensors[largest].shape.n)
            largest = i;
    return cc_dtype_element(cc_trace_dtype(t, largest));
}

void cc_trace_set_element(struct cc_trace *t, enum cc_element type)
{
    t->element = type;
    t->element_set = true;
}

/* Rounds values to the type, some at a time. */
static void round_to(enum cc_element type, float *x, size_t n)
{
    uint16_t half[512];
    for (size_t i = 0, m; i < n; i += m) {
        m = cc_smaller(n - i, sizeof half / sizeof *half);
        cc_narrow(type, x + i, m, half);
        cc_widen((struct cc_elements){half, type}, m, x + i);
    }
}

bool cc_trace_drawn(const struct cc_trace *t)
{
    return t->ops->drawn;
}

int cc_trace_load(struct cc_trace *t, size_t stream, size_t step, size_t tensor, float *x,
                  struct cc_error *e)
{
    return cc_trace_load_first(t, stream, step, tensor, t->tensors[tensor].shape.n, x, e);
}

int cc_trace_load_first(struct cc_trace *t, size_t stream, size_t step, size_t tensor, size_t n,
                        float *x, struct cc_error *e)
{
    CC_TRY(t->ops->load(t, stream, step_at(t, stream, step), tensor, n, x, e));
    if (t->element_set && t->element != CC_ELEMENT_FP32)
        round_to(t->element, x, n);
    return CC_OK;
}

void cc_trace_close(struct cc_trace *t)
{
    if (t == NULL)
        return;
    t->ops->close(t);
    for (size_t i = 0; i < t->count; i++)
        free((char *)(uintptr_t)t->tensors[i].name);
    for (size_t s = 0; t->kept != NULL && s < t->stream_count; s++)
        free(t->kept[s]);
    free(t->kept);
    free(t->skip);
    free(t->tensors);
    free(t->streams);
    free(t->steps);
    free(t->name);
    free(t);
}

int cc_trace_new(struct cc_trace **out, const struct cc_trace_ops *ops, size_t own_bytes,
                 struct cc_error *e)
{
    CC_TRY(CC_NEW(*out, 1, e));
    (*out)->own = cc_alloc0(own_bytes, e);
    if ((*out)->own == NULL) {
        free(*out);
        return CC_FAIL;
    }
    (*out)->ops = ops;
    return CC_OK;
}

int cc_trace_set_tensors(struct cc_trace *t, const char *name, const struct cc_tensor_info *tensors,
                         size_t count, struct cc_error *e)
{
    if (count == 0)
        return cc_fail(e, "%s: no tensors in it", name);
    CC_TRY(cc_text(&t->name, e, "%s", name));
    CC_TRY(CC_NEW(t->tensors, count, e));
    for (; t->count < count; t->count++) {
        const struct cc_tensor_info *from = &tensors[t->count];
        if (__builtin_add_overflow(t->values, from->shape.n, &t->values))
            return cc_fail(e, "%s: the number of values overflows", name);
        char *copy;
        CC_TRY(cc_text(&copy, e, "%s", from->name));
        t->tensors[t->count] = (struct cc_tensor_info){.name = copy, .shape = from->shape};
        t->largest = cc_larger(t->largest, from->shape.n);
    }
    return CC_OK;
}

int cc_trace_add_stream(struct cc_trace *t, struct cc_trace_sender stream, size_t steps,
                        struct cc_error *e)
{
    CC_TRY(CC_GROW(t->streams, &t->stream_capacity, t->stream_count + 1, e));
    CC_TRY(CC_GROW(t->steps, &t->step_capacity, t->stream_count + 1, e));
    t->streams[t->stream_count] = stream;
    t->steps[t->stream_count++] = steps;
    return CC_OK;
}
