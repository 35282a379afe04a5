/* How the files of a trace store its values. Apart from trace.h, which is installed, as the types
 * are not. */
#ifndef CC_CORE_TRACE_TRACE_DTYPE_H
#define CC_CORE_TRACE_TRACE_DTYPE_H

#include "core/format/contents.h"
#include "core/trace/trace.h"

/* How the first step of the first stream stores the tensor; CC_F32 if values are drawn. */
enum cc_dtype cc_trace_dtype(const struct cc_trace *t, size_t tensor);

#endif
