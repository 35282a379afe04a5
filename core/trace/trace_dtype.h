/* How the files of a trace store its values. Apart from trace.h, which is installed, as the types
 * are not. */
#ifndef CC_CORE_TRACE_TRACE_DTYPE_H
#define CC_CORE_TRACE_TRACE_DTYPE_H

#include "core/format/contents.h"
#include "core/trace/trace.h"

/* How the first step of the first stream stores the tensor, or the type that was set; CC_F32 if
 * values are drawn. */
enum cc_dtype cc_trace_dtype(const struct cc_trace *t, size_t tensor);

/* The type of the trace's gradients: that of its largest tensor, unless it was set; float32 if they
 * are drawn. Values of a type that was set are rounded to it when they are loaded. */
enum cc_element cc_trace_element(const struct cc_trace *t);
void cc_trace_set_element(struct cc_trace *t, enum cc_element type);

#endif
