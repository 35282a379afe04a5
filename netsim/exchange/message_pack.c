/* Packs with the rank's accounting: each call times its work and charges it to a phase. */
#include "netsim/exchange/message_pack.h"

#include <stdlib.h>

#include "core/reduce.h"
#include "schemes/kernels/stream.h"

struct cc_range cc_message_range(const struct cc_rank_state *s, const struct cc_message *m)
{
    const size_t from = s->job->offset[m->first], to = s->job->offset[m->last + 1];
    return s->parts > 1 ? (struct cc_range){cc_part_at(from, to, s->part, s->parts),
                                            cc_part_at(from, to, s->part + 1, s->parts)}
                        : (struct cc_range){from, to};
}

int cc_rank_pack_make(const struct cc_rank_state *s, struct cc_pack_config config,
                      const struct cc_slice *slice, size_t slices, struct cc_pack **out,
                      struct cc_error *e)
{
    config.job = s->job;
    config.row = s->row;
    config.sizes = config.sizes != NULL ? config.sizes : s->sizes;
    config.spec = config.spec != NULL ? config.spec : s->spec;
    config.raw = s->raw;
    CC_TRY(cc_pack_make(&config, slice, slices, out, e));
    return config.decodes_only || s->packs == NULL ? CC_OK : cc_pack_list_add(s->packs, *out, e);
}

int cc_message_pack_make(const struct cc_rank_state *s, struct cc_range part, size_t origin,
                         struct cc_pack_config config, struct cc_pack **out, struct cc_error *e)
{
    struct cc_slice *slice;
    size_t slices;
    config.origin = origin;
    CC_TRY(cc_slices(s->job, part.from, part.to, &slice, &slices, e));
    int status = cc_rank_pack_make(s, config, slice, slices, out, e);
    free(slice);
    return status;
}

void cc_message_count(struct cc_rank_state *s, const struct cc_pack *c, size_t payload, size_t head)
{
    s->counters.payload_bytes += payload;
    s->counters.head_bytes += head;
    if (s->counters.tensor_bytes != NULL)
        cc_pack_count(c, s->counters.tensor_bytes);
}

int cc_message_encode(struct cc_rank_state *s, struct cc_pack *c, const float *x,
                      enum cc_phase phase, bool first, uint8_t *out, size_t *len,
                      struct cc_error *e)
{
    const struct cc_work_timer since = cc_work_begin(s->transport);
    size_t head = 0;
    CC_TRY(cc_pack_encode(c, s->step, x, out, len, &head, e));
    if (first)
        cc_message_count(s, c, *len - head, head);
    cc_charge(s, phase, since, cc_pack_cost(c, CC_PACK_ENCODE));
    return CC_OK;
}

int cc_message_decode_add(struct cc_rank_state *s, const struct cc_pack *c, enum cc_pack_op op,
                          enum cc_phase phase, const uint8_t *in, size_t len, float scale, float *y,
                          struct cc_error *e)
{
    const struct cc_work_timer since = cc_work_begin(s->transport);
    const int status = cc_pack_decode_add(c, s->step, in, len, scale, y, e);
    cc_charge(s, phase, since, cc_pack_cost(c, op));
    return status;
}

/* Says which tensor has the value that is not finite. */
static int refuse_sum(const struct cc_rank_state *s, struct cc_range range, const float *sum,
                      struct cc_error *e)
{
    struct cc_slice *slice;
    size_t slices, at = 0;
    int status = CC_OK;
    CC_TRY(cc_slices(s->job, range.from, range.to, &slice, &slices, e));
    for (size_t i = 0; i < slices && status == CC_OK; at += slice[i++].count) {
        const struct cc_context ctx = {.offset = slice[i].begin,
                                       .name = s->job->tensor[slice[i].tensor].name};
        if (!cc_finite_bits(cc_absmax(sum + at, NULL, slice[i].count, 1)))
            status = cc_refuse(&ctx, sum + at, NULL, slice[i].count, e);
    }
    free(slice);
    cc_error_in(e, "the sum over the workers");
    return status == CC_OK ? CC_OK : CC_DIVERGED;
}

int cc_message_add_sum(struct cc_rank_state *s, struct cc_range range, const float *sum,
                       struct cc_error *e)
{
    const float scale = cc_result_scale(s);
    float *y = s->model + range.from;
    /* Block by block, so that each is in the cache when it is added. */
    for (size_t i = 0, n = range.to - range.from, m; i < n; i += m) {
        m = n - i < CC_SUM_BLOCK ? n - i : CC_SUM_BLOCK;
        if (!cc_finite_bits(cc_absmax(sum + i, NULL, m, 1)))
            return refuse_sum(s, range, sum, e);
        k_stream()->add((const uint8_t *)(sum + i), scale, y + i, m);
    }
    return CC_OK;
}
