#include "cmd/input/codec_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/memory.h"
#include "core/units.h"

const char *const cc_direction_names[] = {"push", "pull", NULL};

int cc_one_scheme(const struct cc_args *args, const struct cc_spec **out, struct cc_error *e)
{
    if (args->schemes.count == 0)
        return cc_usage(e, "which scheme? for example --scheme 3lc; `commcomp schemes` lists them");
    if (args->schemes.count > 1)
        return cc_usage(e, "one file has one scheme, but --scheme names %zu, %s and %s among them",
                        args->schemes.count, args->schemes.item[0]->name,
                        args->schemes.item[1]->name);
    *out = args->schemes.item[0];
    return CC_OK;
}

static int parse_rank(const char *text, int64_t *rank, struct cc_error *e)
{
    uint64_t v = 0;
    if (strcmp(text, "-1") == 0) {
        *rank = -1;
        return CC_OK;
    }
    int status = cc_parse_count(text, &v, e);
    if (status == CC_OK && v > INT32_MAX)
        status = cc_usage(e, "%s is not between -1 and %d", text, INT32_MAX);
    if (status == CC_OK)
        *rank = (int64_t)v;
    else
        cc_error_in(e, "--worker");
    return status;
}

int cc_sender(const struct cc_args *args, struct cc_context *ctx, struct cc_error *e)
{
    int direction = (int)ctx->direction;
    int status = cc_arg_count(args, "seed", 0, CC_MAX_SEED, &ctx->seed, e);
    if (status == CC_OK)
        status = cc_arg_count(args, "step", 0, INT64_MAX, &ctx->step, e);
    if (status != CC_OK)
        return status;
    cc_arg_choice(args, "direction", &direction);
    if (direction != (int)ctx->direction)
        ctx->rank = direction == CC_PULL ? -1 : 0;
    ctx->direction = (enum cc_direction)direction;
    const char *worker = cc_arg(args, "worker");
    return worker == NULL ? CC_OK : parse_rank(worker, &ctx->rank, e);
}

int cc_refuse_same_file(const char *in, const char *out, struct cc_error *e)
{
    struct stat a, b;
    if (stat(in, &a) == 0 && stat(out, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
        return cc_usage(e, "%s and %s are the same file; give the output another name", in, out);
    return CC_OK;
}

/* Makes *buffer at least `bytes` long; its contents are lost. */
static int reserve(void **buffer, size_t *have, size_t bytes, struct cc_error *e)
{
    if (*buffer != NULL && bytes <= *have)
        return CC_OK;
    free(*buffer);
    *buffer = cc_alloc(bytes, e);
    *have = *buffer == NULL ? 0 : bytes;
    return *buffer == NULL ? CC_FAIL : CC_OK;
}

int cc_workbench_set(struct cc_workbench *w, const struct cc_spec *spec,
                     const struct cc_shape *shape, bool encoding, struct cc_error *e)
{
    struct cc_codec *c = &w->codec;
    c->scheme = spec->scheme;
    c->params = spec->params;
    c->shape = *shape;
    void *values = w->values, *payload = w->payload;
    bool empty = shape->n == 0; /* a scheme's own functions may rely on n >= 1 */
    size_t bound = empty || !encoding ? 0 : cc_bound(c);
    int status = bound == SIZE_MAX ? cc_fail(e, "%s: %zu values are too many", spec->name, shape->n)
                                   : reserve(&values, &w->size[0], shape->n * sizeof(float), e);
    w->values = values;
    if (status == CC_OK && encoding)
        status = reserve(&payload, &w->size[1], bound, e);
    w->payload = payload;
    w->payload_cap = w->size[1];
    if (status == CC_OK && encoding)
        status = reserve(&c->state, &w->size[2], empty ? 0 : cc_state_bytes(c), e);
    if (status == CC_OK)
        status = reserve(&c->scratch, &w->size[3], empty ? 0 : cc_scratch_bytes(c), e);
    if (status == CC_OK && encoding && !empty)
        cc_codec_reset(c);
    return status;
}

void cc_workbench_free(struct cc_workbench *w)
{
    free(w->values);
    free(w->payload);
    free(w->codec.state);
    free(w->codec.scratch);
    *w = (struct cc_workbench){.payload_cap = 0};
}
