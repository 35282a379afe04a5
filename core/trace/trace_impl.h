/* The inside of a trace; for its implementations (trace_files.c, synth.c) only. */
#ifndef CC_CORE_TRACE_TRACE_IMPL_H
#define CC_CORE_TRACE_TRACE_IMPL_H

#include "core/element.h"
#include "core/trace/trace.h"

/* An implementation of traces. Arguments are in range. */
struct cc_trace_ops {
    uint64_t (*step_number)(const struct cc_trace *t, size_t stream, size_t step);
    /* Sets x to the first n values of the tensor. */
    int (*load)(struct cc_trace *t, size_t stream, size_t step, size_t tensor, size_t n, float *x,
                struct cc_error *e);
    void (*close)(struct cc_trace *t); /* frees own */
    /* How the first step stores the tensor; NULL: as float32. */
    enum cc_dtype (*dtype)(const struct cc_trace *t, size_t tensor);
    bool drawn; /* from a distribution */
};

struct cc_trace {
    char *name;
    struct cc_tensor_info *tensors; /* names are owned */
    size_t count, values, largest;
    struct cc_trace_sender *streams;
    size_t *steps; /* [streams] */
    size_t stream_count, stream_capacity, step_capacity;
    size_t **kept;  /* [streams]: which of the stream's first steps are left; NULL: all of them */
    uint64_t *skip; /* numbers of the steps that are left out, increasing */
    size_t skipped;
    enum cc_element element; /* of the values, if it was set */
    bool element_set;
    const struct cc_trace_ops *ops;
    void *own;
};

/* Makes a trace without tensors and streams whose `own` has this size, all zero. */
int cc_trace_new(struct cc_trace **out, const struct cc_trace_ops *ops, size_t own_bytes,
                 struct cc_error *e);
/* Sets name, tensors (copied), count, values and largest. Fails without tensors, and if the number
 * of values overflows; the caller then closes t. */
int cc_trace_set_tensors(struct cc_trace *t, const char *name, const struct cc_tensor_info *tensors,
                         size_t count, struct cc_error *e);
/* Appends a stream; streams are added in their final order. */
int cc_trace_add_stream(struct cc_trace *t, struct cc_trace_sender stream, size_t steps,
                        struct cc_error *e);

#endif
