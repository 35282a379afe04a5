/* Constants of the safetensors format; for its reader and its writer only. */
#ifndef CC_CORE_FORMAT_SAFETENSORS_IMPL_H
#define CC_CORE_FORMAT_SAFETENSORS_IMPL_H

#include "core/format/contents.h"

#define CC_SAFETENSORS_HEADER                                                                      \
    100000000                     /* bytes of the largest, as the format's own reader has it */
#define CC_SAFETENSORS_LENGTH   8 /* bytes of the number before the header */
#define CC_SAFETENSORS_METADATA "__metadata__"

/* The dtypes that are known; ends with a row without a name. */
struct cc_safetensors_dtype {
    const char *name;
    enum cc_dtype dtype;
};
extern const struct cc_safetensors_dtype cc_safetensors_dtypes[];

#endif
