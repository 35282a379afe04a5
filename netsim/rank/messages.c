#include "netsim/rank/messages.h"

#include <math.h>
#include <stdint.h>

#include "netsim/rank/accounting.h"

void cc_messages_take_step(struct cc_rank_loop *l, size_t step)
{
    if (step == l->first)
        cc_count_bytes(l);
    l->s.step = step;
    const struct cc_source_buffers b = cc_source_buffers(l->source, step);
    l->s.gradient = b.gradient;
    l->s.model = b.result;
    if (l->queues != NULL)
        cc_queues_take_step(l->queues, &l->s, &b);
}

/* Whether a message waits for those before it; queues keep an order of their own. */
static bool go_in_turn(const struct cc_rank_loop *l)
{
    return l->s.job->in_turn && l->queues == NULL;
}

int cc_message_start(struct cc_rank_loop *l, size_t i, struct cc_error *e)
{
    l->under_way[i] = true;
    l->s.waits_its_turn = go_in_turn(l) && l->pending > 0;
    CC_TRY(cc_exchange_start(l->message[i], e));
    l->s.waits_its_turn = false;
    if (l->queues != NULL)
        cc_queues_collect(l->queues, i, &l->s.counters);
    if (l->pending++ == 0)
        l->busy_since = cc_runtime_now();
    return CC_OK;
}

/* Begins the messages that were asked for and can begin. They are tested before the rank waits, as
 * those without values are over at once. */
static int begin_asked(struct cc_rank_loop *l, struct cc_error *e)
{
    size_t next;
    while (cc_queues_begin(l->queues, cc_runtime_now(), &next)) {
        CC_TRY(cc_message_start(l, next, e));
        l->s.transport->more = true;
    }
    return CC_OK;
}

int cc_message_ask(struct cc_rank_loop *l, size_t i, struct cc_error *e)
{
    cc_queues_push(l->queues, i);
    return begin_asked(l, e);
}

int cc_messages_start(struct cc_rank_loop *l, size_t step, struct cc_error *e)
{
    for (size_t i = 0; i < l->messages; i++)
        if (!cc_job_row_skips(l->s.job, i, step))
            CC_TRY(cc_message_start(l, i, e));
    return CC_OK;
}

/* Codec work so far; adding floats is a part of the exchange. */
static double codec_s(const struct cc_rank_loop *l)
{
    const bool adds = cc_job_row_adds(l->s.job, l->s.row);
    return cc_exchange_work_s(l) - (adds ? l->s.counters.phase_s[CC_PHASE_HOP] : 0);
}

/* Continues a message. While it is the only one, the time of this rank's codec does not count as
 * the network's. */
static int test(struct cc_rank_loop *l, size_t i, bool *done, struct cc_error *e)
{
    const double worked = codec_s(l);
    CC_TRY(cc_exchange_test(l->message[i], done, e));
    if (l->queues != NULL)
        cc_queues_collect(l->queues, i, &l->s.counters);
    if (l->pending == 1)
        l->busy_since += codec_s(l) - worked;
    if (!*done)
        return CC_OK;
    l->under_way[i] = false;
    if (--l->pending == 0)
        l->busy_s += cc_runtime_now() - l->busy_since;
    if (l->queues == NULL)
        return CC_OK;
    cc_queues_end(l->queues, i, cc_runtime_now());
    return begin_asked(l, e);
}

int cc_messages_start_next(struct cc_rank_loop *l, struct cc_error *e)
{
    if (l->pending > 0 || l->exchanged >= l->computed)
        return CC_OK;
    const size_t step = l->exchanged++;
    cc_messages_take_step(l, step);
    return cc_messages_start(l, step, e);
}

int cc_messages_progress(struct cc_rank_loop *l, struct cc_error *e)
{
    for (size_t i = 0; i < l->messages && l->pending > 0; i++) {
        bool done = true;
        if (l->under_way[i])
            CC_TRY(test(l, i, &done, e));
        if (!done && go_in_turn(l))
            break;
    }
    return cc_messages_start_next(l, e);
}

/* The end of a wait: message i is done, or all of them are (i == l->messages), or the exchanges of
 * `steps` steps have begun. */
struct awaited {
    size_t message, steps;
};

static bool waits_for(const struct cc_rank_loop *l, struct awaited a)
{
    if (l->exchanged < a.steps)
        return true;
    if (l->queues != NULL && a.message < l->messages)
        return l->queues->pending[a.message];
    return a.message < l->messages    ? l->under_way[a.message]
           : a.message == l->messages ? l->pending > 0
                                      : false;
}

/* After each piece of work a new wait begins: a rank sleeps for a part of its wait so far, and if
 * that were counted from the beginning of the exchange, every round would be noticed late by a part
 * of all rounds before it. */
static int wait_for(struct cc_rank_loop *l, struct awaited a, struct cc_error *e)
{
    double since = cc_runtime_now(), worked = cc_exchange_work_s(l);
    while (waits_for(l, a)) {
        const size_t begun = l->exchanged;
        CC_TRY(cc_messages_progress(l, e));
        if (l->exchanged > begun)
            continue;
        if (cc_exchange_work_s(l) != worked) {
            worked = cc_exchange_work_s(l);
            since = cc_runtime_now();
        }
        if (waits_for(l, a))
            CC_TRY(cc_runtime_wait(&l->mpi, l->s.job->yield_when_idle, since, (double)INFINITY, e));
    }
    return CC_OK;
}

int cc_messages_finish(struct cc_rank_loop *l, size_t i, struct cc_error *e)
{
    return wait_for(l, (struct awaited){.message = i}, e);
}

int cc_messages_await(struct cc_rank_loop *l, size_t i, struct cc_error *e)
{
    const struct cc_wait_timer w = cc_wait_begin(l);
    CC_TRY(cc_messages_finish(l, i, e));
    (void)cc_wait_end(l, w);
    return CC_OK;
}

int cc_messages_reach(struct cc_rank_loop *l, size_t steps, struct cc_error *e)
{
    return wait_for(l, (struct awaited){.message = SIZE_MAX, .steps = steps}, e);
}
