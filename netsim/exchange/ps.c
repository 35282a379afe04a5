/* ps: parameter servers (Li et al., Scaling Distributed Machine Learning with the Parameter Server,
 * OSDI 2014), with shared compression of the pull (Lim et al., 3LC, MLSys 2019, section 3).
 *
 * Each server keeps some tensors, or its part of tensors that are cut over all servers. A worker
 * encodes its part of a message for every server that keeps any of it (the push), and sends it; the
 * server adds the workers' pushes in the order of the ranks, encodes the mean once (the pull), and
 * sends the same bytes to all workers, which decode them onto their models.
 *
 * A worker's lane has packs of its own for push and pull; a server's lanes share one of each, and
 * the encoded pull. The server posts receives for all pushes at once, but adds one per test, so
 * that other messages make progress.
 *
 * Pulls leave when they are ready, or, where the job orders them forward, once all messages of the
 * step are summed: those of the first layers first, as the next forward pass needs them. */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/exchange/ps_lanes.h"

struct ps {
    struct cc_lanes of;

    /* Servers only: */
    float *sum;   /* from value of.origin of the step on; NULL without data */
    size_t added; /* pushes in the sum */
    size_t out_len;
    bool arrived, pulled; /* in this step: all pushes are in the sum; the pull has been sent */
};

/* --- opening --- */

/* Allocates the sum, and a buffer for each worker's push, so that all pushes can be under way.
 * Zeroing them takes their memory now: servers on the same host, and further messages, see what is
 * left. */
static int alloc_server_buffers(struct ps *p, struct cc_error *e)
{
    struct cc_lanes *of = &p->of;
    size_t bytes;
    if (!cc_mul(of->lanes, cc_pack_bound(of->lane[0].decoder), &bytes))
        return cc_fail(e, "buffers for the pushes of %zu workers", of->lanes);
    CC_TRY(cc_lanes_check_memory(of, bytes + of->values * sizeof(float), e));
    if (of->head.s->job->data)
        CC_TRY(CC_NEW(p->sum, of->values, e));
    CC_TRY(cc_lanes_outbox(of, &of->lane[0], e));
    for (size_t k = 0; k < of->lanes; k++)
        CC_TRY(cc_lanes_inbox(of, &of->lane[k], e));
    return CC_OK;
}

static int open_server(struct ps *p, struct cc_error *e)
{
    struct cc_lanes *of = &p->of;
    CC_TRY(cc_lanes_open_server(of, e));
    if (of->lanes == 0)
        return CC_OK;
    struct cc_lane *last = &of->lane[of->lanes - 1]; /* which frees them */
    CC_TRY(cc_lanes_pack(of, CC_PUSH, -1, &last->decoder, e));
    CC_TRY(cc_lanes_pack(of, CC_PULL, -1, &last->encoder, e));
    for (struct cc_lane *l = of->lane; l < last; l++) {
        l->decoder = last->decoder;
        l->encoder = last->encoder;
    }
    return alloc_server_buffers(p, e);
}

static void ps_close(void *x)
{
    struct ps *p = x;
    cc_lanes_close(&p->of);
    free(p->sum);
    free(p);
}

/* --- workers --- */

static int start_worker(struct cc_lanes *p, struct cc_error *e)
{
    for (size_t i = 0; i < p->lanes && !p->silent; i++)
        CC_TRY(cc_lanes_receive(p, i, e));
    for (size_t i = 0; i < p->lanes; i++) {
        struct cc_lane *l = &p->lane[i];
        size_t len;
        CC_TRY(cc_lanes_encode(p, l, p->head.s->gradient, &len, e));
        if (!p->silent)
            CC_TRY(cc_lanes_send(p, i, l->out, len, e));
    }
    return CC_OK;
}

static int test_worker(struct cc_lanes *p, bool *done, struct cc_error *e)
{
    const struct cc_rank_state *s = p->head.s;
    int received;
    CC_TRY(cc_lanes_take(p, &received, e));
    for (int i = 0; i < received && !s->contributes; i++)
        CC_TRY(cc_lanes_decode_add(p, &p->lane[p->finished[i]], 1, s->model, e));
    *done = p->pending == 0;
    return CC_OK;
}

/* --- servers --- */

static int start_server(struct ps *p, struct cc_error *e)
{
    struct cc_lanes *of = &p->of;
    p->added = 0;
    p->arrived = p->pulled = false;
    if (of->silent)
        return CC_OK;
    for (size_t i = 0; i < of->slices && p->sum != NULL; i++)
        memset(p->sum + (cc_lanes_value(of, &of->slice[i]) - of->origin), 0,
               of->slice[i].count * sizeof *p->sum);
    for (size_t i = 0; i < of->lanes; i++)
        CC_TRY(cc_lanes_receive(of, i, e));
    return CC_OK;
}

/* Adds the next push in the order of ranks, if it is there. */
static int add_next(struct ps *p, struct cc_error *e)
{
    struct cc_lanes *of = &p->of;
    if (p->added == of->lanes || !of->lane[p->added].here)
        return CC_OK;
    const float scale = (float)(1.0 / of->head.s->job->workers);
    of->head.s->transport->more = true;
    return cc_lanes_decode_add(of, &of->lane[p->added++], scale, p->sum, e);
}

/* All pushes are in the sum: encodes the pull. */
static int end_pushes(struct ps *p, struct cc_error *e)
{
    struct cc_lanes *of = &p->of;
    struct cc_rank_state *s = of->head.s;
    p->arrived = s->transport->more = true;
    s->round_state.arrived++;
    if (of->lanes == 0 || of->silent)
        return CC_OK;
    if (s->serve != NULL)
        CC_TRY(cc_lanes_serve(of, cc_job_row_updates(s->job, s->row, of->head.message, s->step),
                              p->sum, e));
    return cc_lanes_encode(of, &of->lane[0], p->sum, &p->out_len, e);
}

/* Whether the pull may leave: forward pulls wait for all pushes of the step, and for the pulls of
 * the layers before theirs. */
static bool may_pull(const struct ps *p)
{
    const struct cc_rank_state *s = p->of.head.s;
    const size_t messages = s->row->messages;
    return s->job->pulls == CC_PULL_READY ||
           (s->round_state.arrived == messages &&
            s->round_state.pulled == messages - 1 - p->of.head.index);
}

static int send_pull(struct ps *p, struct cc_error *e)
{
    struct cc_lanes *of = &p->of;
    struct cc_rank_state *s = of->head.s;
    p->pulled = s->transport->more = true;
    if (++s->round_state.pulled == s->row->messages)
        s->round_state.arrived = s->round_state.pulled = 0;
    for (size_t i = 0; i < of->lanes && !of->silent; i++)
        CC_TRY(cc_lanes_send(of, i, of->lane[0].out, p->out_len, e));
    return CC_OK;
}

static int test_server(struct ps *p, bool *done, struct cc_error *e)
{
    struct cc_lanes *of = &p->of;
    int received;
    CC_TRY(cc_lanes_take(of, &received, e));
    if (!of->silent)
        CC_TRY(add_next(p, e));
    if (!p->arrived && (of->silent || p->added == of->lanes))
        CC_TRY(end_pushes(p, e));
    if (p->arrived && !p->pulled && may_pull(p))
        CC_TRY(send_pull(p, e));
    *done = p->pulled && of->pending == 0;
    return CC_OK;
}

/* --- operations --- */

static int ps_start(void *x, struct cc_error *e)
{
    struct ps *p = x;
    const struct cc_rank_state *s = p->of.head.s;
    p->of.silent = cc_silent(s, p->of.head.message);
    return s->server ? start_server(p, e) : start_worker(&p->of, e);
}

static int ps_test(void *x, bool *done, struct cc_error *e)
{
    struct ps *p = x;
    return p->of.head.s->server ? test_server(p, done, e) : test_worker(&p->of, done, e);
}

static int ps_open(void *x, struct cc_error *e)
{
    struct ps *p = x;
    return p->of.head.s->server ? open_server(p, e) : cc_lanes_open_worker(&p->of, e);
}

static const struct cc_exchange_kind kind = {
    .ops = {ps_start, ps_test, ps_close}, .bytes = sizeof(struct ps), .open = ps_open};

const struct cc_exchange_code cc_exchange_code_ps = {.kind = &kind, .unsynced = &cc_ps_stale};
