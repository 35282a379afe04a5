/* ps with workers that need not be in the same step: stale synchronous (Ho et al., More Effective
 * Distributed ML via a Stale Synchronous Parallel Parameter Server, NeurIPS 2013) or asynchronous.
 *
 * A server takes pushes as they arrive. It has a clock for each worker and message
 * (clocks.h), which the worker's pushes advance, and updates its model by each push: the
 * P-th part of the gradient is added, or a training's source applies its optimizer. Then the worker
 * waits until the bound lets it read, and pulls: all that has changed since its last pull, encoded
 * with a residual of its own. So every worker's model is the server's as it was then, but for what
 * its residual holds.
 *
 * A worker that does not push in every step (enum cc_communicate) sums its gradients, and sends a
 * head without a pack meanwhile, which advances its clock, and which nothing answers.
 *
 * Each push begins with its step, each pull with the step that it answers and the slowest worker's
 * clock, by which the worker checks the bound again. A server is started once for all steps up to
 * s->until, since it must take the pushes of any message of any step at any time. It does one piece
 * of work per test: a pull that may leave, or else the push that arrived first. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "core/reduce.h"
#include "netsim/exchange/pack/clocks.h"
#include "netsim/exchange/ps_lanes.h"
#include "netsim/exchange/data.h"

enum { PUSH_HEAD = 8, PULL_HEAD = 16 };

/* A worker, as a server knows it. */
struct reader {
    uint64_t step;     /* its next push's */
    uint64_t answered; /* its latest push's */
    bool held;         /* its pull had to wait for the bound, */
    double since;      /* from when the push was applied */
    struct reader *next;
    float *sent; /* the model when it last pulled, slice by slice; NULL without data */
};

struct ps_stale {
    struct cc_lanes of;

    /* Workers only: */
    struct cc_withheld withheld; /* its sum is NULL where each step pushes */
    uint64_t slowest;            /* the slowest worker's clock at the last pull, of all servers */
    bool pushes;                 /* in this step */

    /* Servers only: */
    struct cc_clocks clocks;
    struct reader *reader;
    struct reader *reading; /* a list of those that wait for their pulls, in order */
    float *own, *model;     /* from value of.origin on; own: NULL where the source has it */
    float *room;            /* for a gradient that the source applies, or what has changed since a
                               worker's last pull */
    size_t kept;            /* values of all slices */
    size_t *arrived;        /* lanes whose push has arrived and is not applied, in that order: */
    size_t first, waiting;  /* a ring, which begins at `first` */
};

static bool in_every_step(const struct ps_stale *p)
{
    return p->of.head.s->job->consistency.communicate == CC_EVERY_STEP;
}

/* --- opening --- */

/* The message's values. */
static size_t values_of(const struct ps_stale *p)
{
    return p->of.head.range.to - p->of.head.range.from;
}

static int open_worker(struct ps_stale *p, struct cc_error *e)
{
    const size_t period = p->of.head.s->row->period;
    p->of.origin = p->of.head.range.from;
    p->of.out_head = PUSH_HEAD;
    p->of.in_head = PULL_HEAD;
    CC_TRY(cc_lanes_open_worker(&p->of, e));
    if (in_every_step(p))
        return CC_OK;
    if (period > 1)
        return cc_fail(e,
                       "a scheme that sends in one step of %zu pushes in each of these: leave "
                       "out --communicate",
                       period);
    return CC_NEW(p->withheld.sum, values_of(p), e);
}

/* The steps of a message that send anything. */
static uint64_t next_sending(const struct cc_lanes *of, uint64_t step)
{
    while (cc_job_row_silent(of->head.s->job, of->head.s->row, of->head.message, step))
        step++;
    return step;
}

static int open_reader(struct ps_stale *p, size_t i, struct cc_error *e)
{
    struct cc_lanes *of = &p->of;
    struct cc_lane *l = &of->lane[i];
    struct reader *r = &p->reader[i];
    r->step = next_sending(of, 0);
    l->decoder = of->lane[0].decoder;
    CC_TRY(cc_lanes_pack(of, CC_PULL, (int64_t)i, &l->encoder, e));
    CC_TRY(cc_lanes_inbox(of, l, e));
    CC_TRY(cc_lanes_outbox(of, l, e));
    return of->head.s->job->data ? CC_NEW(r->sent, p->kept, e) : CC_OK;
}

/* A copy of the model for each worker, and messages each way. */
static int check_memory(const struct ps_stale *p, struct cc_error *e)
{
    const struct cc_lanes *of = &p->of;
    size_t bytes;
    if (!cc_mul(of->lanes, p->kept * sizeof(float) + 2 * cc_pack_bound(of->lane[0].decoder),
                &bytes))
        return cc_fail(e, "copies of the model for %zu workers", of->lanes);
    return cc_lanes_check_memory(of, bytes + 2 * of->values * sizeof(float), e);
}

static int open_server(struct ps_stale *p, struct cc_error *e)
{
    struct cc_lanes *of = &p->of;
    const struct cc_rank_state *s = of->head.s;
    uint8_t *room;
    of->in_head = PUSH_HEAD;
    of->out_head = PULL_HEAD;
    CC_TRY(cc_lanes_open_server(of, e));
    if (of->lanes == 0)
        return CC_OK;
    for (size_t i = 0; i < of->slices; i++)
        p->kept += of->slice[i].count;
    CC_TRY(cc_lanes_pack(of, CC_PUSH, -1, &of->lane[0].decoder, e));
    CC_TRY(check_memory(p, e));
    CC_TRY(cc_clocks_open(&p->clocks, &s->job->consistency, of->lanes, e));
    CC_TRY(CC_NEW(p->reader, of->lanes, e));
    CC_TRY(CC_NEW(p->arrived, of->lanes, e));
    for (size_t i = 0; i < of->lanes; i++)
        CC_TRY(open_reader(p, i, e));
    CC_TRY(cc_room_alloc(s, SIZE_MAX, 2, of->values * sizeof *p->room, &room, e));
    p->room = (float *)(void *)room;
    return s->job->data && s->serve == NULL ? CC_NEW(p->own, of->values, e) : CC_OK;
}

static void stale_close(void *x)
{
    struct ps_stale *p = x;
    for (size_t i = 0; i < p->of.lanes && p->reader != NULL; i++)
        free(p->reader[i].sent);
    cc_lanes_close(&p->of);
    cc_clocks_close(&p->clocks);
    free(p->reader);
    free(p->arrived);
    free(p->own);
    if (p->room != NULL)
        cc_room_free(p->of.head.s, (uint8_t *)p->room);
    free(p->withheld.sum);
    free(p);
}

/* --- workers --- */

/* Whether the worker pushes in this step. */
static bool decide(const struct ps_stale *p)
{
    const struct cc_rank_state *s = p->of.head.s;
    const struct cc_job_consistency *c = &s->job->consistency;
    const bool last = s->step + 1 == s->row->warmup + s->row->steps;
    return in_every_step(p) || last || cc_withheld_at_bound(c, s->step, p->slowest) ||
           cc_withheld_has_grown(&p->withheld, c, values_of(p));
}

static int send_push(struct ps_stale *p, size_t i, const float *x, struct cc_error *e)
{
    struct cc_lanes *of = &p->of;
    struct cc_lane *l = &of->lane[i];
    size_t len = PUSH_HEAD;
    if (l->out != NULL)
        cc_put_u64(l->out, of->head.s->step);
    if (p->pushes) {
        CC_TRY(cc_lanes_encode(of, l, x, &len, e));
        if (!of->silent)
            CC_TRY(cc_lanes_receive(of, i, e));
    }
    return of->silent ? CC_OK : cc_lanes_send(of, i, l->out, len, e);
}

static int start_worker(struct ps_stale *p, struct cc_error *e)
{
    struct cc_lanes *of = &p->of;
    struct cc_rank_state *s = of->head.s;
    const float *x = CC_OFFSET_OR_NULL(s->gradient, of->origin);
    if (p->withheld.sum != NULL) {
        cc_withheld_add(&p->withheld, x, values_of(p));
        x = p->withheld.sum;
    }
    p->pushes = decide(p);
    s->staleness.parts++;
    s->staleness.pushes += p->pushes && !of->silent;
    for (size_t i = 0; i < of->lanes; i++)
        CC_TRY(send_push(p, i, x, e));
    if (p->withheld.sum != NULL && p->pushes) {
        cc_withheld_forget(&p->withheld, values_of(p));
        p->slowest = UINT64_MAX;
    }
    return CC_OK;
}

/* Checks a pull's head against this step and the bound. */
static int check_pull(struct ps_stale *p, const struct cc_lane *l, struct cc_error *e)
{
    const struct cc_rank_state *s = p->of.head.s;
    const struct cc_job_consistency *c = &s->job->consistency;
    if (l->in_len < PULL_HEAD)
        return cc_fail(e, "rank %d has sent a pull of %zu bytes, which has no whole head", l->peer,
                       l->in_len);
    const uint64_t step = cc_get_u64(l->in), slowest = cc_get_u64(l->in + 8);
    const uint64_t clock = cc_job_row_updates(s->job, s->row, p->of.head.message, s->step) + 1;
    if (step != s->step)
        return cc_fail(e, "rank %d has answered step %llu in step %llu", l->peer,
                       (unsigned long long)step, (unsigned long long)s->step);
    if (clock > slowest && clock - slowest > cc_consistency_lead(c->how, c->staleness))
        return cc_fail(e,
                       "rank %d has answered clock %llu when the slowest was %llu, beyond the "
                       "bound of %d",
                       l->peer, (unsigned long long)clock, (unsigned long long)slowest,
                       c->staleness);
    p->slowest = slowest < p->slowest ? slowest : p->slowest;
    return CC_OK;
}

static int test_worker(struct ps_stale *p, bool *done, struct cc_error *e)
{
    struct cc_lanes *of = &p->of;
    float *model = CC_OFFSET_OR_NULL(of->head.s->model, of->origin);
    int received;
    CC_TRY(cc_lanes_take(of, &received, e));
    for (int i = 0; i < received; i++) {
        const struct cc_lane *l = &of->lane[of->finished[i]];
        if (l->in != NULL)
            CC_TRY(check_pull(p, l, e));
        CC_TRY(cc_lanes_decode_add(of, l, 1, model, e));
    }
    *done = of->pending == 0;
    return CC_OK;
}

/* --- servers --- */

static int receive(struct ps_stale *p, size_t i, struct cc_error *e)
{
    return p->reader[i].step < p->of.head.s->until ? cc_lanes_receive(&p->of, i, e) : CC_OK;
}

/* Finds what has changed since `sent`, which becomes the model. */
static void find_change(struct ps_stale *p, float *sent)
{
    const struct cc_lanes *of = &p->of;
    for (size_t i = 0; i < of->slices && sent != NULL; i++) {
        const size_t from = cc_lanes_value(of, &of->slice[i]) - of->origin;
        const size_t n = of->slice[i].count;
        const float *model = p->model + from;
        float *change = p->room + from;
        for (size_t k = 0; k < n; k++)
            change[k] = model[k] - sent[k];
        memcpy(sent, model, n * sizeof *sent);
        sent += n;
    }
}

static int start_server(struct ps_stale *p, struct cc_error *e)
{
    struct cc_lanes *of = &p->of;
    const bool first = p->model == NULL;
    p->model = p->own != NULL ? p->own : CC_OFFSET_OR_NULL(of->head.s->model, of->origin);
    for (size_t i = 0; i < of->lanes; i++) {
        if (first)
            find_change(p, p->reader[i].sent);
        CC_TRY(receive(p, i, e));
    }
    return CC_OK;
}

/* Updates the model by a push. */
static int apply(struct ps_stale *p, const struct cc_lane *l, struct cc_error *e)
{
    struct cc_lanes *of = &p->of;
    const struct cc_rank_state *s = of->head.s;
    if (s->serve == NULL)
        return cc_lanes_decode_add(of, l, 1.0f / (float)s->job->workers, p->model, e);
    memset(p->room, 0, of->values * sizeof *p->room);
    CC_TRY(cc_lanes_decode_add(of, l, 1, p->room, e));
    return cc_lanes_serve(of, p->clocks.updates, p->room, e);
}

/* The step of the message that has arrived. */
static int check_push(const struct ps_stale *p, size_t i, struct cc_error *e)
{
    const struct cc_lane *l = &p->of.lane[i];
    if (l->in_len < PUSH_HEAD)
        return cc_fail(e, "rank %d has sent a push of %zu bytes, which has no whole head", l->peer,
                       l->in_len);
    const uint64_t step = cc_get_u64(l->in);
    return step == p->reader[i].step
               ? CC_OK
               : cc_fail(e, "rank %d has sent step %llu, and its next one is %llu", l->peer,
                         (unsigned long long)step, (unsigned long long)p->reader[i].step);
}

static int take_push(struct ps_stale *p, size_t i, struct cc_error *e)
{
    struct cc_lanes *of = &p->of;
    struct cc_rank_state *s = of->head.s;
    const struct cc_lane *l = &of->lane[i];
    struct reader *r = &p->reader[i];
    if (l->in != NULL)
        CC_TRY(check_push(p, i, e));
    s->step = r->answered = r->step;
    const uint64_t clock = cc_job_row_updates(s->job, s->row, of->head.message, r->step);
    CC_TRY(cc_clocks_advance(&p->clocks, i, clock, e));
    if (l->in_len > PUSH_HEAD) {
        CC_TRY(apply(p, l, e));
        cc_ages_add(s->staleness.age, cc_clocks_update(&p->clocks, i));
        struct reader **last = &p->reading;
        while (*last != NULL)
            last = &(*last)->next;
        *last = r;
        r->held = !cc_clocks_may_read(&p->clocks, i);
        r->since = cc_transport_now(s->transport);
    }
    r->step = next_sending(of, r->step + 1);
    return receive(p, i, e);
}

/* The place of the worker that has waited longest of those that may read; behind the last: none. */
static struct reader **next_reader(struct ps_stale *p)
{
    struct reader **at = &p->reading;
    while (*at != NULL && (p->of.lane[*at - p->reader].sends ||
                           !cc_clocks_may_read(&p->clocks, (size_t)(*at - p->reader))))
        at = &(*at)->next;
    return at;
}

static int answer(struct ps_stale *p, struct reader **at, struct cc_error *e)
{
    struct cc_lanes *of = &p->of;
    struct cc_rank_state *s = of->head.s;
    struct reader *r = *at;
    const size_t i = (size_t)(r - p->reader);
    struct cc_lane *l = &of->lane[i];
    size_t len;
    *at = r->next;
    r->next = NULL;
    s->step = r->answered;
    if (r->held) {
        const double held_s = cc_transport_now(s->transport) - r->since;
        s->staleness.held_s[of->head.index] += held_s;
        if (s->staleness.longest_s != NULL)
            s->staleness.longest_s[i] = fmax(s->staleness.longest_s[i], held_s);
    }
    cc_clocks_read(&p->clocks, i);
    const struct cc_work_timer since = cc_work_begin(s->transport);
    find_change(p, r->sent);
    cc_charge(s, CC_PHASE_SERVER, since, cc_row_cost(s, 0));
    CC_TRY(cc_lanes_encode(of, l, p->room, &len, e));
    if (l->out != NULL) {
        cc_put_u64(l->out, r->answered);
        cc_put_u64(l->out + 8, p->clocks.slowest);
    }
    return cc_lanes_send(of, i, l->out, len, e);
}

static bool is_over(const struct ps_stale *p)
{
    for (size_t i = 0; i < p->of.lanes; i++)
        if (p->reader[i].step < p->of.head.s->until)
            return false;
    return p->reading == NULL && p->of.pending == 0;
}

static int test_server(struct ps_stale *p, bool *done, struct cc_error *e)
{
    struct cc_lanes *of = &p->of;
    int received;
    CC_TRY(cc_lanes_take(of, &received, e));
    for (int i = 0; i < received; i++)
        p->arrived[(p->first + p->waiting++) % of->lanes] = (size_t)of->finished[i];
    struct reader **reader = next_reader(p);
    of->head.s->transport->more |= *reader != NULL || p->waiting > 0;
    if (*reader != NULL) {
        CC_TRY(answer(p, reader, e));
    } else if (p->waiting > 0) {
        const size_t next = p->arrived[p->first];
        p->first = (p->first + 1) % of->lanes;
        p->waiting--;
        CC_TRY(take_push(p, next, e));
    }
    *done = p->waiting == 0 && is_over(p);
    return CC_OK;
}

/* --- operations --- */

static int stale_start(void *x, struct cc_error *e)
{
    struct ps_stale *p = x;
    const struct cc_rank_state *s = p->of.head.s;
    p->of.silent = !s->server && cc_silent(s, p->of.head.message);
    return s->server ? start_server(p, e) : start_worker(p, e);
}

static int stale_test(void *x, bool *done, struct cc_error *e)
{
    struct ps_stale *p = x;
    return p->of.head.s->server ? test_server(p, done, e) : test_worker(p, done, e);
}

static int stale_open(void *x, struct cc_error *e)
{
    struct ps_stale *p = x;
    return p->of.head.s->server ? open_server(p, e) : open_worker(p, e);
}

const struct cc_exchange_kind cc_ps_stale = {.ops = {stale_start, stale_test, stale_close},
                                             .bytes = sizeof(struct ps_stale),
                                             .open = stale_open};
