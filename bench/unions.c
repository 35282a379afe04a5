/* Tensor by tensor, so that no more than 16 workers' states of the largest one are in memory. */
#include "bench/unions.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/trace/trace_check.h"
#include "schemes/codec_set.h"

/* The work on one tensor. */
struct counting {
    struct cc_trace *trace;
    size_t tensor, workers, steps;
    struct cc_codec_set set; /* a codec for each worker */
    float *x;
    struct cc_index_value *pair;
    size_t room; /* pairs */
    uint64_t *seen;
};

static void close_counting(struct counting *c)
{
    cc_codec_set_free(&c->set);
    free(c->x);
    free(c->pair);
    free(c->seen);
}

static int open_counting(struct counting *c, const struct cc_spec *spec, struct cc_error *e)
{
    const struct cc_shape *shape = &cc_trace_tensor(c->trace, c->tensor)->shape;
    CC_TRY(cc_codec_set_init(&c->set, c->workers, e));
    for (size_t w = 0; w < c->workers; w++)
        c->set.item[w] = cc_codec_item(spec, shape);
    CC_TRY(cc_codec_set_allocate(&c->set, &cc_memory_in_turn, e));
    c->room = cc_pairs_bound(&c->set.item[0].codec);
    CC_TRY(CC_NEW(c->x, shape->n, e));
    CC_TRY(CC_NEW(c->pair, c->room, e));
    return CC_NEW(c->seen, (shape->n + 63) / 64, e);
}

/* Encodes a worker's gradient; *count: its pairs. */
static int encode(struct counting *c, size_t worker, size_t step, size_t *count, struct cc_error *e)
{
    struct cc_codec_item *item = &c->set.item[worker];
    const struct cc_context ctx = {.rank = (int64_t)worker,
                                   .step = step,
                                   .tensor = c->tensor,
                                   .name = cc_trace_tensor(c->trace, c->tensor)->name};
    size_t len;
    CC_TRY(cc_trace_load_finite(c->trace, worker, step % cc_trace_steps(c->trace, worker),
                                c->tensor, c->x, e));
    CC_TRY(cc_encode(&item->codec, &ctx, c->x, item->payload, item->bound, &len, e));
    return cc_to_pairs(&item->codec, &ctx, item->payload, len, 0, c->pair, c->room, count, e);
}

static int count_step(struct counting *c, size_t step, struct cc_unions *out, struct cc_error *e)
{
    const size_t words = (c->set.item[0].codec.shape.n + 63) / 64;
    const size_t counted = c->steps - c->steps / 2;
    size_t all = 0, count, point = 0;
    memset(c->seen, 0, words * sizeof *c->seen);
    for (size_t w = 0; w < c->workers; w++) {
        CC_TRY(encode(c, w, step, &count, e));
        for (size_t i = 0; i < count; i++)
            all += cc_index_add(c->seen, c->pair[i].index);
        if (w + 1 == (size_t)1 << point && step >= c->steps / 2)
            out->size[point++] += (double)all / (double)counted;
    }
    return CC_OK;
}

static int count_tensor(struct counting *c, const struct cc_spec *spec, struct cc_unions *out,
                        struct cc_error *e)
{
    int status = CC_OK;
    CC_TRY_OUT(open_counting(c, spec, e));
    for (size_t step = 0; step < c->steps; step++)
        CC_TRY_OUT(count_step(c, step, out, e));
out:
    close_counting(c);
    return status;
}

/* Streams of workers' pushes; those of pulls come after them. */
static size_t count_workers(const struct cc_trace *t)
{
    size_t n = 0;
    while (n < cc_trace_streams(t) && n < CC_UNION_WORKERS &&
           cc_trace_stream(t, n).direction == CC_PUSH)
        n++;
    return n;
}

int cc_unions_measure(struct cc_trace *t, const struct cc_spec *spec, size_t steps,
                      struct cc_unions *out, struct cc_error *e)
{
    const size_t workers = count_workers(t);
    *out = (struct cc_unions){.points = 0};
    if (workers < 2 || cc_pair_cost(spec->scheme, spec->params).pair_bits == 0)
        return CC_OK;
    for (size_t i = 0; i < cc_trace_tensors(t); i++) {
        struct counting c = {.trace = t, .tensor = i, .workers = workers, .steps = steps};
        if (cc_trace_tensor(t, i)->shape.n > 0)
            CC_TRY(count_tensor(&c, spec, out, e));
    }
    while (out->points < CC_UNION_POINTS && (size_t)1 << out->points <= workers)
        out->points++;
    return CC_OK;
}
