#include "cmd/codec/compress.h"

#include <stdio.h>
#include <stdlib.h>

#include "cmd/codec/types.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/trace/trace_step.h"
#include "schemes/codec_set.h"

/* A step that is written. */
struct compressing {
    struct cc_trace *trace;
    size_t stream, step;
    struct cc_spec *spec;
    struct cc_pair *pairs; /* with all texts owned */
    size_t pair_count;
    float *x;
    struct cc_codec_set set; /* one codec, replaced for each tensor */
};

/* Copies the pairs, as more are added to them. */
static int copy_pairs(struct compressing *c, const struct cc_pair *pairs, size_t count,
                      struct cc_error *e)
{
    struct cc_contents copy = {.metadata = NULL};
    int status = CC_OK;
    for (size_t i = 0; i < count && status == CC_OK; i++)
        status = cc_contents_add_meta(&copy, pairs[i].key, pairs[i].value, e);
    c->pairs = copy.metadata;
    c->pair_count = copy.metadata_count;
    return status;
}

/* The pairs of the file: those given, or those of a step of a trace; and the types. */
static int make_pairs(struct compressing *c, const struct cc_pair *pairs, size_t count,
                      struct cc_error *e)
{
    const size_t tensors = cc_trace_tensors(c->trace);
    struct cc_step_pairs own = {.order = NULL};
    struct cc_tensor_info *info = NULL;
    int status = CC_OK;
    CC_TRY_OUT(CC_NEW(info, tensors, e));
    for (size_t i = 0; i < tensors; i++)
        info[i] = *cc_trace_tensor(c->trace, i);
    if (pairs == NULL) {
        CC_TRY_OUT(cc_step_pairs_make(cc_trace_stream(c->trace, c->stream),
                                      cc_trace_step_number(c->trace, c->stream, c->step), info,
                                      tensors, &own, e));
        pairs = own.pair;
        count = sizeof own.pair / sizeof own.pair[0];
    }
    CC_TRY_OUT(copy_pairs(c, pairs, count, e));
    status = cc_types_add(c->trace, &c->pairs, &c->pair_count, e);
out:
    free(info);
    free(own.order);
    return status;
}

static int add_tensors(struct compressing *c, const struct cc_container_head *head,
                       struct cc_container_writer *w, struct cc_error *e)
{
    for (size_t i = 0; i < cc_trace_tensors(c->trace); i++) {
        const struct cc_tensor_info *info = cc_trace_tensor(c->trace, i);
        const struct cc_context ctx = {.seed = head->seed,
                                       .rank = head->rank,
                                       .direction = head->direction,
                                       .step = head->step,
                                       .any = true,
                                       .tensor = i,
                                       .name = info->name};
        size_t bytes;
        if (cc_interrupted())
            return cc_fail(e, "interrupted; nothing was written");
        CC_TRY(cc_codec_set_single(&c->set, c->spec, &info->shape, &cc_memory_in_turn, e));
        const struct cc_codec_item *item = c->set.item;
        CC_TRY(cc_trace_load(c->trace, c->stream, c->step, i, c->x, e));
        CC_TRY(cc_encode(&item->codec, &ctx, c->x, item->payload, item->bound, &bytes, e));
        CC_TRY(cc_container_add(w, info->name, &info->shape, item->payload, bytes, e));
    }
    return CC_OK;
}

int cc_compress_step(struct cc_trace *t, size_t stream, size_t step, const char *path,
                     const struct cc_pair *pairs, size_t count, struct cc_error *e)
{
    struct compressing c = {.trace = t, .stream = stream, .step = step};
    const struct cc_trace_sender sender = cc_trace_stream(t, stream);
    struct cc_container_head head = {.seed = 1,
                                     .rank = sender.rank,
                                     .direction = sender.direction,
                                     .step = cc_trace_step_number(t, stream, step)};
    struct cc_container_writer *w = NULL;
    uint64_t bytes;
    int status = CC_OK;
    CC_TRY_OUT(cc_spec_parse(CC_COMPRESS_SCHEME, &c.spec, e));
    (void)snprintf(head.scheme, sizeof head.scheme, "%s", c.spec->name);
    CC_TRY_OUT(CC_NEW(c.x, cc_trace_largest(t), e));
    CC_TRY_OUT(make_pairs(&c, pairs, count, e));
    head.pairs = c.pairs;
    head.pair_count = c.pair_count;
    CC_TRY_OUT(cc_container_begin(path, &head, cc_trace_tensors(t), &w, e));
    status = add_tensors(&c, &head, w, e);
    if (status == CC_OK)
        status = cc_container_finish(w, &bytes, e);
    else
        cc_container_abandon(w);
out:
    cc_codec_set_free(&c.set);
    cc_pairs_free(c.pairs, c.pair_count);
    cc_spec_free(c.spec);
    free(c.x);
    return status;
}
