/* A message in parts, pipelined over the stages of its exchange: while the first part is in its
 * second stage, the next one is in its first. Between hosts and inside them, different links then
 * work at the same time, and codecs work while another part is under way. Every part is an exchange
 * of its own, with the reduction and the schedule of the whole. */
#include <stdlib.h>

#include "core/memory.h"
#include "netsim/exchange/exchange_code.h"
#include "netsim/exchange/message_pack.h"
#include "netsim/exchange/pack/pack.h"

struct parts {
    struct cc_exchange_head head;
    struct cc_exchange_head **part; /* those with values */
    size_t count, begun;
};

static int parts_start(void *of, struct cc_error *e)
{
    struct parts *x = of;
    x->begun = x->count > 0;
    return x->count > 0 ? x->part[0]->ops->start(x->part[0], e) : CC_OK;
}

/* Tests those that have begun, and begins the next one when it is time. */
static int parts_test(void *of, bool *done, struct cc_error *e)
{
    struct parts *x = of;
    bool last = true, over = true;
    for (size_t i = 0; i < x->begun; i++) {
        CC_TRY(x->part[i]->ops->test(x->part[i], &last, e));
        over = over && last;
        if (i + 1 < x->begun || i + 1 == x->count || !(last || x->part[i]->passed))
            continue;
        struct cc_exchange_head *next = x->part[x->begun++];
        CC_TRY(next->ops->start(next, e));
        over = false;
    }
    *done = over && x->begun == x->count;
    return CC_OK;
}

static void parts_close(void *of)
{
    struct parts *x = of;
    for (size_t i = 0; i < x->count; i++)
        x->part[i]->ops->close(x->part[i]);
    free(x->part);
    free(x);
}

static const struct cc_exchange_ops ops = {parts_start, parts_test, parts_close};

int cc_exchange_make_parts(const struct cc_exchange_kind *kind, struct cc_rank_state *s,
                           const struct cc_message *m, size_t index, cc_schedule_builder *build,
                           void **out, struct cc_error *e)
{
    const size_t parts = cc_job_parts(s->job, s->row);
    const struct cc_range all = cc_message_range(s, m);
    int status = CC_OK;
    struct parts *x;
    CC_TRY(CC_NEW(x, 1, e));
    x->head = (struct cc_exchange_head){.ops = &ops, .s = s, .message = m, .index = index};
    CC_TRY_OUT(CC_NEW(x->part, parts, e));
    for (size_t i = 0; i < parts; i++) {
        const struct cc_range r = {cc_part_at(all.from, all.to, i, parts),
                                   cc_part_at(all.from, all.to, i + 1, parts)};
        void *part;
        if (r.from == r.to)
            continue;
        CC_TRY_OUT(cc_exchange_make_part(kind, s, m, index, index * parts + i, r, build, &part, e));
        x->part[x->count++] = part;
    }
    *out = x;
out:
    if (status != CC_OK)
        parts_close(x);
    return status;
}
