/* Making an exchange of one message, and its schedule. */
#include "netsim/exchange/exchange_code.h"

#include "core/memory.h"
#include "netsim/exchange/message_pack.h"

int cc_exchange_make(const struct cc_exchange_kind *kind, struct cc_rank_state *s,
                     const struct cc_message *m, size_t index, cc_schedule_builder *build,
                     void **out, struct cc_error *e)
{
    return cc_exchange_make_part(kind, s, m, index, index, cc_message_range(s, m), build, out, e);
}

int cc_exchange_make_part(const struct cc_exchange_kind *kind, struct cc_rank_state *s,
                          const struct cc_message *m, size_t index, size_t channel,
                          struct cc_range range, cc_schedule_builder *build, void **out,
                          struct cc_error *e)
{
    struct cc_exchange_head *x = cc_alloc0(kind->bytes, e);
    if (x == NULL)
        return CC_FAIL;
    *x = (struct cc_exchange_head){.ops = &kind->ops,
                                   .s = s,
                                   .message = m,
                                   .index = index,
                                   .channel = channel,
                                   .range = range,
                                   .build = build};
    const int status = kind->open(x, e);
    if (status == CC_OK)
        *out = x;
    else
        kind->ops.close(x);
    return status;
}

int cc_exchange_schedule(const struct cc_rank_state *s, cc_schedule_builder *build,
                         enum cc_sums sums, struct cc_schedule *out, struct cc_error *e)
{
    const struct cc_schedule_hosts hosts = {.per_host = cc_job_per_host(s->job),
                                            .inner = s->job->inner_exchange,
                                            .outer = s->job->outer_exchange};
    const int workers = cc_group_size(s), place = cc_group_place(s);
    CC_TRY(build(workers, hosts, place, out, e));
    if (out->rounds > 0)
        cc_schedule_keep(out, s->job->op);
    for (size_t k = 0; k < out->rounds; k++) {
        out->round[k].to = cc_group_rank(s, out->round[k].to);
        out->round[k].from = cc_group_rank(s, out->round[k].from);
    }
    return sums == CC_SUMS_FOR_ALL || s->shared == NULL || !s->job->data
               ? CC_OK
               : cc_schedule_to_first(build, workers, hosts, place, sums == CC_SUMS_TREE, out, e);
}
