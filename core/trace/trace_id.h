/* The identity of a trace's file: its direction, rank and step. For trace_files.c only. */
#ifndef CC_CORE_TRACE_TRACE_ID_H
#define CC_CORE_TRACE_TRACE_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/format/contents.h"
#include "core/tensor.h"

struct cc_file_id {
    enum cc_direction direction;
    int64_t rank;
    uint64_t step; /* 0 unless has_step */
    bool has_step;
};

/* Takes the identity from the metadata keys direction, rank and step; for keys that are missing,
 * from a name like push-step000012-rank3 or pull-step000012; else it is a push of rank 0 without a
 * step. */
int cc_file_identify(const char *path, const struct cc_contents *c, struct cc_file_id *out,
                     struct cc_error *e);

/* Orders by direction, rank and step: negative, 0 or positive. */
int cc_file_id_compare(const struct cc_file_id *a, const struct cc_file_id *b);
bool cc_file_id_same_stream(const struct cc_file_id *a, const struct cc_file_id *b);

#endif
