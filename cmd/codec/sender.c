#include "cmd/codec/sender.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/units.h"

static int parse_rank(const char *text, void *member, struct cc_error *e)
{
    int64_t *rank = member;
    uint64_t v = 0;
    if (strcmp(text, "-1") == 0) {
        *rank = -1;
        return CC_OK;
    }
    CC_TRY(cc_parse_count(text, &v, e));
    if (v > INT32_MAX)
        return cc_usage(e, "%s is not between -1 and %d", text, INT32_MAX);
    *rank = (int64_t)v;
    return CC_OK;
}

#define SENDER(m) CC_OPTION_AT(struct cc_sender_options, m)
/* clang-format off */
const struct cc_option cc_sender_rows[] = {
    {.name = "seed", SENDER(seed), .kind = CC_TAKES_COUNT, .max = CC_MAX_SEED, .value = "N",
     .def = "1", .help = "seed of the random numbers"},
    {.name = "step", SENDER(step), .kind = CC_TAKES_COUNT, .max = INT64_MAX, .value = "N",
     .help = "the step, from 0 (default: the tensor file's, else 0)"},
    {.name = "worker", SENDER(worker), .parse = parse_rank, .value = "RANK",
     .brief = "rank of the sender; -1: the server",
     .help = "who sends: the rank of a worker, or -1 for the server (default: the tensor file's, "
             "else 0 for a push and -1 for a pull)"},
    {.name = "direction", SENDER(direction), .value = "DIRECTION", .choices = cc_direction_names,
     .brief = "push (gradients) or pull (model deltas)",
     .help = "push (a worker's gradients) or pull (the server's model deltas) (default: the "
             "tensor file's, else push)"},
    {.name = NULL},
};
/* clang-format on */

void cc_sender_set(const struct cc_sender_options *o, struct cc_context *ctx)
{
    ctx->seed = o->seed;
    if (cc_given(o, &o->step) != NULL)
        ctx->step = o->step;
    if (cc_given(o, &o->direction) != NULL && o->direction != ctx->direction) {
        ctx->rank = o->direction == CC_PULL ? -1 : 0;
        ctx->direction = o->direction;
    }
    if (cc_given(o, &o->worker) != NULL)
        ctx->rank = o->worker;
}

int cc_sender_row(struct cc_record *r, const struct cc_spec *spec, double values,
                  double payload_bytes, const struct cc_context *ctx, size_t *row,
                  struct cc_error *e)
{
    const struct cc_number_column all[] = {{CC_KEY(values), values},
                                           {CC_KEY(payload_bytes), payload_bytes},
                                           {CC_KEY(bits_per_value), 8 * payload_bytes / values},
                                           {CC_KEY(ratio), 4 * values / payload_bytes},
                                           {CC_KEY(seed), (double)ctx->seed},
                                           {CC_KEY(worker), (double)ctx->rank}};
    const struct cc_text_column texts[] = {{CC_KEY(scheme), spec->name},
                                           {CC_KEY(direction), cc_direction_names[ctx->direction]}};
    CC_TRY(cc_record_add(r, row, e));
    cc_record_numbers(r, *row, all, sizeof all / sizeof all[0]);
    CC_TRY(cc_record_whole(r, *row, CC_KEY(step), ctx->step, e));
    return cc_record_texts(r, *row, texts, sizeof texts / sizeof texts[0], e);
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
