#include "cmd/input/codec_file.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/units.h"

const char *const cc_direction_names[] = {"push", "pull", NULL};

int cc_sender_row(struct cc_record *r, size_t row, const struct cc_context *ctx, struct cc_error *e)
{
    cc_record_number(r, row, CC_KEY(seed), (double)ctx->seed);
    cc_record_number(r, row, CC_KEY(worker), (double)ctx->rank);
    CC_TRY(cc_record_text(r, row, CC_KEY(direction), cc_direction_names[ctx->direction], e));
    return cc_record_whole(r, row, CC_KEY(step), ctx->step, e);
}

int cc_one_scheme(const struct cc_args *args, const struct cc_spec **out, struct cc_error *e)
{
    if (args->schemes.count == 0)
        return cc_usage(e, "which scheme? for example --scheme 3lc; `commcomp schemes` lists them");
    if (args->schemes.count > 1)
        return cc_usage(e, "give one scheme, not %zu (%s, %s%s)", args->schemes.count,
                        args->schemes.item[0]->name, args->schemes.item[1]->name,
                        args->schemes.count > 2 ? ", ..." : "");
    *out = args->schemes.item[0];
    return CC_OK;
}

static int parse_rank(const char *text, int64_t *rank, struct cc_error *e)
{
    uint64_t v = 0;
    int status = CC_OK;
    if (strcmp(text, "-1") == 0) {
        *rank = -1;
        return CC_OK;
    }
    CC_TRY_OUT(cc_parse_count(text, &v, e));
    if (v > INT32_MAX)
        status = cc_usage(e, "%s is not between -1 and %d", text, INT32_MAX);
    else
        *rank = (int64_t)v;
out:
    if (status != CC_OK)
        cc_error_in(e, "--worker");
    return status;
}

int cc_sender(const struct cc_args *args, struct cc_context *ctx, struct cc_error *e)
{
    int direction = (int)ctx->direction;
    CC_TRY(cc_arg_count(args, "seed", 0, CC_MAX_SEED, &ctx->seed, e));
    CC_TRY(cc_arg_count(args, "step", 0, INT64_MAX, &ctx->step, e));
    cc_arg_choice(args, "direction", &direction);
    if (direction != (int)ctx->direction)
        ctx->rank = direction == CC_PULL ? -1 : 0;
    ctx->direction = (enum cc_direction)direction;
    const char *worker = cc_arg(args, "worker");
    return worker == NULL ? CC_OK : parse_rank(worker, &ctx->rank, e);
}

int cc_tensor_codec_set(struct cc_tensor_codec *c, const struct cc_spec *spec,
                        const struct cc_shape *shape, const struct cc_codec_memory *memory,
                        struct cc_error *e)
{
    const size_t bytes = shape->n * sizeof *c->values;
    CC_TRY(cc_codec_set_single(&c->set, spec, shape, memory, e));
    if (c->values != NULL && bytes <= c->values_bytes)
        return CC_OK;
    free(c->values);
    c->values = cc_alloc(bytes, e);
    c->values_bytes = c->values == NULL ? 0 : bytes;
    return c->values == NULL ? CC_FAIL : CC_OK;
}

void cc_tensor_codec_free(struct cc_tensor_codec *c)
{
    cc_codec_set_free(&c->set);
    free(c->values);
    *c = (struct cc_tensor_codec){.values = NULL};
}
