#include "core/trace/trace_step.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

int cc_step_pairs_make(struct cc_trace_sender s, uint64_t step,
                       const struct cc_tensor_info *tensors, size_t count,
                       struct cc_step_pairs *out, struct cc_error *e)
{
    size_t bytes = 1;
    for (size_t i = 0; i < count; i++)
        bytes += strlen(tensors[i].name) + 1;
    CC_TRY(CC_NEW(out->order, bytes, e));
    char *at = out->order;
    for (size_t i = 0; i < count; i++)
        at += sprintf(at, i == 0 ? "%s" : "\n%s", tensors[i].name);
    (void)snprintf(out->number, sizeof out->number, "%" PRIu64, step);
    (void)snprintf(out->rank, sizeof out->rank, "%" PRId64, s.rank);
    out->pair[0] = (struct cc_pair){"schema", CC_TRACE_SCHEMA};
    out->pair[1] = (struct cc_pair){"direction", cc_direction_names[s.direction]};
    out->pair[2] = (struct cc_pair){"rank", out->rank};
    out->pair[3] = (struct cc_pair){"step", out->number};
    out->pair[4] = (struct cc_pair){"order", out->order};
    return CC_OK;
}

int cc_step_path(const char *directory, struct cc_trace_sender s, uint64_t step, const char *suffix,
                 char **out, struct cc_error *e)
{
    char rank[32] = "";
    if (s.direction == CC_PUSH)
        (void)snprintf(rank, sizeof rank, "-rank%" PRId64, s.rank);
    return cc_text(out, e, "%s/%s-step%06" PRIu64 "%s%s", directory,
                   cc_direction_names[s.direction], step, rank, suffix);
}

int cc_step_begin(const char *directory, struct cc_trace_sender s, uint64_t step,
                  const struct cc_tensor_info *tensors, const enum cc_dtype *dtypes, size_t count,
                  struct cc_safetensors_writer *w, struct cc_error *e)
{
    struct cc_step_pairs pairs = {.order = NULL};
    char *path = NULL;
    int status = CC_OK;
    CC_TRY_OUT(cc_step_pairs_make(s, step, tensors, count, &pairs, e));
    CC_TRY_OUT(cc_step_path(directory, s, step, CC_STEP_SUFFIX, &path, e));
    CC_TRY_OUT(cc_safetensors_begin(w, path, tensors, dtypes, count, pairs.pair,
                                    sizeof pairs.pair / sizeof pairs.pair[0], e));
out:
    free(pairs.order);
    free(path);
    return status;
}

int cc_trace_write_flat(const char *directory, struct cc_trace_sender s, uint64_t step,
                        const struct cc_tensor_info *tensors, size_t count, const float *x,
                        struct cc_error *e)
{
    struct cc_safetensors_writer w;
    int status = CC_OK;
    CC_TRY(cc_step_begin(directory, s, step, tensors, NULL, count, &w, e));
    for (size_t i = 0; i < count && status == CC_OK; x += tensors[i++].shape.n)
        status = cc_safetensors_bytes(&w, x, tensors[i].shape.n * sizeof *x, e);
    if (status == CC_OK)
        return cc_safetensors_commit(&w, e);
    cc_safetensors_abort(&w);
    return status;
}
