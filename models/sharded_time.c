/* The time of a step's plan. One message of each queue is under way, and goes through its parts:
 * work of codecs, transfers in rounds, and work behind these. Parts begin in the order in which
 * they are ready. Work takes its turn on the worker's processor and is not interrupted; a round
 * needs the processor to begin, as a rank forwards what it has received between two calls of a
 * codec, and then no more. So the codecs of one class of messages keep those of the other waiting.
 */
#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "models/sharded.h"

/* The message of a queue that is under way, if any is, and those that wait. */
struct message_queue {
    size_t *item, first, count;
    bool busy;
    size_t message;
    int window;    /* the next one; -1: the work before the first */
    bool sent;     /* the window before it, and the work behind it is next */
    double ready;  /* when that can begin; of an idle queue, when the latest message ended */
    double beside; /* when the latest work beside its transfers ended */
    double adds_s, adds_at; /* such work that is to be done, if any is, and from when on */
};

struct plan_clock {
    const struct cc_collectives *c;
    size_t units;
    const struct cc_message_time *time;
    struct message_queue queue[CC_COLLECTIVE_QUEUES];
    double *asked, *done; /* by message: when the worker asked for it, and when it ended; INFINITY:
                             it has not */
    double from, free_at; /* the processor's latest work */
    double since, worked; /* work that is done after `since` */
};

static int rounds_of(const struct cc_message_time *t)
{
    return t->rounds > 1 ? t->rounds : 1;
}

static int windows_of(const struct cc_message_time *t)
{
    return t->windows > 1 ? (int)ceil(t->windows) : 1;
}

/* Works for so long, and returns the end. */
static double work(struct plan_clock *f, double ready, double seconds)
{
    const double from = fmax(ready, f->free_at);
    if (seconds <= 0)
        return ready;
    f->from = from;
    f->free_at = from + seconds;
    f->worked += fmax(0, f->free_at - fmax(from, f->since));
    return f->free_at;
}

/* When a queue goes on; INFINITY: it does not. */
static double next_at(const struct plan_clock *f, const struct message_queue *q)
{
    if (q->adds_s > 0)
        return q->adds_at;
    if (q->busy)
        return q->ready;
    if (q->count == 0)
        return INFINITY;
    const size_t next = q->item[q->first];
    const bool follows = f->c->item[next / f->units].follows;
    return fmax(fmax(f->asked[next], q->ready), follows ? f->done[next - f->units] : 0);
}

static void begin(struct plan_clock *f, struct message_queue *q)
{
    const double at = next_at(f, q);
    q->message = q->item[q->first++];
    q->count--;
    q->busy = true;
    q->window = -1;
    q->sent = false;
    q->ready = q->beside = at;
}

/* Sends the next window; what is gathered is decoded from its beginning on, and what is added
 * towards its end, when it comes. */
static void send(struct plan_clock *f, struct message_queue *q, const struct cc_message_time *t)
{
    const int rounds = rounds_of(t), windows = windows_of(t), place = q->window % windows;
    const double whole = windows > 1 ? 1 / t->windows : 1;
    const double part = place + 1 < windows ? whole : 1 - (windows - 1) * whole;
    const double beside_s = (!t->gathers ? part : place == 0 ? 1 : 0) * t->beside_s / rounds;
    const double from = fmax(q->ready, f->free_at);
    q->ready = from + part * t->network_s / rounds;
    q->adds_s = beside_s;
    q->adds_at = t->gathers ? from : fmax(from, q->ready - beside_s);
    q->sent = true;
}

/* The work behind a window, which is over. */
static void end_window(struct plan_clock *f, struct message_queue *q,
                       const struct cc_message_time *t)
{
    const int rounds = rounds_of(t), windows = windows_of(t);
    const bool last = q->window + 1 == rounds * windows;
    const bool works = t->gathers ? last : (q->window + 1) % windows == 0;
    q->ready = work(f, q->ready, works ? t->behind_s / (t->gathers ? 1 : rounds) : 0);
    q->window++;
    q->sent = false;
    if (!last)
        return;
    q->busy = false;
    f->done[q->message] = q->ready = fmax(q->ready, q->beside);
}

static void go_on(struct plan_clock *f, struct message_queue *q)
{
    if (!q->busy)
        begin(f, q);
    const struct cc_message_time *t = &f->time[q->message];
    if (q->adds_s > 0) {
        q->beside = work(f, q->adds_at, q->adds_s);
        q->adds_s = 0;
    } else if (q->window < 0) {
        q->ready = work(f, q->ready, t->before_s);
        q->window = 0;
    } else if (!q->sent) {
        send(f, q, t);
    } else {
        end_window(f, q, t);
    }
}

/* Goes on with all that begins before `until`, or until a message has ended. */
static void follow(struct plan_clock *f, double until, const double *ended)
{
    for (;;) {
        struct message_queue *next = &f->queue[0];
        for (int k = 1; k < CC_COLLECTIVE_QUEUES; k++)
            if (next_at(f, &f->queue[k]) < next_at(f, next))
                next = &f->queue[k];
        const double from = fmax(next_at(f, next), f->free_at);
        if (from >= until || isinf(from) || (ended != NULL && !isinf(*ended)))
            return;
        go_on(f, next);
    }
}

static int open_following(struct plan_clock *f, size_t items, struct cc_error *e)
{
    const size_t messages = (size_t)f->c->count * f->units;
    CC_TRY(CC_NEW(f->asked, messages, e));
    CC_TRY(CC_NEW(f->done, messages, e));
    for (int k = 0; k < CC_COLLECTIVE_QUEUES; k++)
        CC_TRY(CC_NEW(f->queue[k].item, items, e));
    return CC_OK;
}

/* When the processor is free for the worker, which has come so far. */
static double free_from(const struct plan_clock *f, double at)
{
    return f->from < at && at < f->free_at ? f->free_at : at;
}

/* Asks for a message, which begins if it can: the worker goes on when it is encoded. */
static double ask(struct plan_clock *f, size_t message, double at)
{
    struct message_queue *q = &f->queue[cc_collective_queue(&f->c->item[message / f->units])];
    follow(f, at, NULL);
    at = free_from(f, at);
    q->item[q->first + q->count++] = message;
    f->asked[message] = at;
    f->done[message] = INFINITY;
    const bool begins = !q->busy && next_at(f, q) <= at;
    if (begins)
        go_on(f, q);
    return begins ? q->ready : at;
}

/* Waits for a message, and returns when the worker goes on. */
static double await(struct plan_clock *f, size_t message, double at, double *exposed_s)
{
    follow(f, at, NULL);
    f->since = at;
    f->worked = fmax(0, f->free_at - at);
    follow(f, INFINITY, &f->done[message]);
    const double end = free_from(f, fmax(at, f->done[message]));
    *exposed_s += fmax(0, end - at - f->worked);
    return end;
}

int cc_sharded_time(const struct cc_collectives *c, const struct cc_step_plan *plan, size_t units,
                    const struct cc_message_time *time, const double *share,
                    const struct cc_timing *t, double *exposed_s, double *out, struct cc_error *e)
{
    struct plan_clock f = {.c = c, .units = units, .time = time};
    const double forward = t->forward_share * t->compute_s, backward = t->compute_s - forward;
    double now = 0, at = 0; /* when it has computed; at: when it has come so far */
    int status = CC_OK;
    CC_TRY_OUT(open_following(&f, plan->count, e));
    *exposed_s = 0;
    for (size_t i = 0; i < plan->count; i++) {
        const size_t k = plan->action[i].item;
        switch (plan->action[i].act) {
        case CC_ACT_FORWARD:
            now += forward * share[k];
            break;
        case CC_ACT_BACKWARD:
            now += backward * share[k];
            break;
        case CC_ACT_START:
            at = ask(&f, k, fmax(at, now));
            break;
        case CC_ACT_WAIT:
            now = at = await(&f, k, fmax(at, now), exposed_s);
            break;
        case CC_ACT_UPDATE:
            now += t->update_s;
            break;
        }
    }
    *out = now;
out:
    free(f.asked);
    free(f.done);
    for (int k = 0; k < CC_COLLECTIVE_QUEUES; k++)
        free(f.queue[k].item);
    return status;
}
