#include "schemes/unpack.h"

#include <stdlib.h>

#include "core/format/compressed.h"
#include "core/memory.h"
#include "schemes/spec.h"

struct cc_context cc_unpack_context(const struct cc_container *file, size_t tensor)
{
    return (struct cc_context){.seed = file->head.seed,
                               .rank = file->head.rank,
                               .direction = file->head.direction,
                               .step = file->head.step,
                               .tensor = tensor,
                               .name = file->tensors[tensor].name};
}

int cc_unpack(const struct cc_container *file, size_t tensor, float *x, struct cc_error *e)
{
    const struct cc_container_tensor *t = &file->tensors[tensor];
    const struct cc_context ctx = cc_unpack_context(file, tensor);
    struct cc_spec *spec;
    enum cc_dtype *types = NULL;
    CC_TRY_IN(cc_spec_parse(file->head.scheme, &spec, e) == CC_OK ? CC_OK : CC_FAIL, e,
              "its scheme");
    struct cc_codec c = {.scheme = spec->scheme, .params = spec->params, .shape = t->shape};
    const size_t bytes = cc_scratch_bytes(&c);
    int status = CC_OK;
    if (bytes > 0)
        CC_TRY_OUT((c.scratch = cc_alloc(bytes, e)) == NULL ? CC_FAIL : CC_OK);
    CC_TRY_OUT(cc_status_in(cc_decode(&c, &ctx, t->payload, t->payload_bytes, x, e), e,
                            "tensor \"%.200s\"", t->name));
    CC_TRY_OUT(CC_NEW(types, file->tensor_count, e));
    CC_TRY_OUT(cc_container_types(file, types, e));
    if (spec->scheme->flags & CC_LOSSY)
        cc_number_round(cc_dtype_number(types[tensor]), x, t->shape.n);
out:
    free(types);
    free(c.scratch);
    cc_spec_free(spec);
    return status;
}
