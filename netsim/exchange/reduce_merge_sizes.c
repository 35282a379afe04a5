/* How long the messages of reduce_merge are; in jobs without data also the streams in them. The
 * number of pairs in a sum is the size index's, which is the same for all ranks, so that the
 * receiver of a stream knows its length as well as the sender does. */
#include <math.h>
#include <stdlib.h>

#include "netsim/exchange/pack/pack.h"
#include "netsim/exchange/pack/size_index.h"
#include "netsim/exchange/reduce_merge_impl.h"
#include "schemes/spec.h"

size_t cc_merge_chunks_bytes(const struct cc_merge *x, size_t first, size_t count)
{
    size_t bytes = 0;
    for (size_t i = first; i < first + count; i++)
        bytes += x->chunk[i].bound > 0 ? CC_SIZE_BYTES + x->chunk[i].len : 0;
    return bytes > 0 && count > 1 ? CC_SIZE_BYTES + bytes : bytes;
}

size_t cc_merge_sum_pairs(const struct cc_merge *x, struct cc_stream_range r, int workers)
{
    const struct cc_rank_state *s = x->rank_state;
    return cc_size_index_pairs(s->sizes, workers, s->step, x->range.from + r.from,
                               x->range.from + r.to);
}

size_t cc_merge_message_bytes(const struct cc_merge *x, struct cc_stream_range r, int workers)
{
    return cc_range_length(r) == 0
               ? 0
               : CC_SIZE_BYTES + cc_stream_bound(cc_range_length(r),
                                                 cc_merge_sum_pairs(x, r, workers),
                                                 x->rank_state->job->wire);
}

uint64_t cc_merge_known_pairs(const struct cc_merge_gradient *g)
{
    const struct cc_rank_state *s = g->rank_state;
    return (uint64_t)s->job->workers *
           cc_size_index_pairs(s->sizes, 1, s->step, g->range.from, g->range.to);
}

/* The pairs of the whole sum before any are left out. */
static size_t sum_pairs(const struct cc_merge *x)
{
    const struct cc_stream_range whole = {0, (uint32_t)(x->range.to - x->range.from)};
    return cc_merge_sum_pairs(x, whole, x->rank_state->job->workers);
}

size_t cc_merge_kept_pairs(const struct cc_merge *x)
{
    const size_t all = sum_pairs(x), wanted = x->gradient->keep.wanted;
    return all < wanted || x->schedule.rounds == 0 ? all : wanted;
}

/* The stream of a part of the whole sum: of the values that are kept, it has as large a share as of
 * the sum's. */
static size_t whole_bytes(const struct cc_merge *x, struct cc_stream_range r)
{
    const struct cc_job *job = x->rank_state->job;
    const size_t pairs = cc_merge_sum_pairs(x, r, job->workers);
    const size_t all = x->gradient->prunes ? sum_pairs(x) : 0;
    const double share = all > 0 ? (double)cc_merge_kept_pairs(x) / (double)all : 1;
    return cc_stream_bound(cc_range_length(r), (size_t)llround(share * (double)pairs), job->wire);
}

bool cc_merge_dense(const struct cc_merge *x, uint64_t pairs)
{
    if (x->choices == NULL)
        return x->exchange == CC_DSAR_SPLIT;
    return cc_job_choose(x->choices, pairs) == CC_DSAR_SPLIT;
}

void cc_merge_set_lengths(struct cc_merge *x)
{
    const bool dense = cc_merge_dense(x, cc_merge_known_pairs(x->gradient));
    for (size_t i = 0; i < x->schedule.chunks; i++) {
        struct cc_merge_chunk *c = &x->chunk[i];
        c->len = c->bound == 0 ? 0 : dense ? c->dense_bytes : whole_bytes(x, c->range);
    }
}

int cc_merge_quantized_bytes(const struct cc_merge *x, struct cc_stream_range r, size_t *out,
                             struct cc_error *e)
{
    const struct cc_rank_state *s = x->rank_state;
    struct cc_slice *slice;
    size_t slices, bytes = CC_STREAM_HEAD + 1; /* a pack's head, where all payloads fill bounds */
    CC_TRY(cc_slices(s->job, x->range.from + r.from, x->range.from + r.to, &slice, &slices, e));
    for (size_t i = 0; i < slices; i++) {
        const struct cc_job_tensor *t = &s->job->tensor[slice[i].tensor];
        const struct cc_spec *spec = t->raw ? s->raw : s->second;
        const struct cc_codec codec = {
            .scheme = spec->scheme,
            .params = spec->params,
            .shape = slice[i].count == t->shape.n ? t->shape : cc_shape_flat(slice[i].count)};
        bytes += cc_bound(&codec);
    }
    free(slice);
    *out = bytes;
    return CC_OK;
}
