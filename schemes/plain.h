/* Members of descriptors that are alike in many schemes: those without parameters, and the memory
 * traffic of those without a residual. Residuals: residual.h. */
#ifndef CC_SCHEMES_PLAIN_H
#define CC_SCHEMES_PLAIN_H

#include "schemes/scheme.h"

#define CC_NO_PARAMS .params = cc_no_params, .params_bytes = 1
extern const struct cc_param cc_no_params[];

/* As `traffic` of struct cc_scheme. */
struct cc_traffic cc_reads_once(const void *params);
struct cc_traffic cc_reads_twice(const void *params);

#endif
