/* A simulation of its own by events: computed parts, messages that pass the ports of workers and
 * servers, and pulls that the bound holds back. Events come in the order of their times, then of
 * the workers, then in which they were scheduled, so that the order never depends on the machine.
 */
#include "netsim/inprocess/unsynced.h"

#include <math.h>
#include <stdlib.h>

#include "core/interrupt.h"
#include "core/memory.h"
#include "netsim/exchange/pack/clocks.h"

enum kind {
    READY,    /* a part is computed: it leaves */
    ARRIVED,  /* it is at the server */
    TOLD,     /* the server knows that it is withheld */
    RECEIVED, /* the pull is at the worker */
    COMPUTED  /* the whole step is */
};

struct event {
    double time;
    uint64_t order; /* the order of scheduling */
    size_t worker, part;
    enum kind kind;
};

struct worker {
    size_t step;     /* that it makes */
    size_t pending;  /* events before its next one */
    size_t to_apply; /* parts before the step has ended */
    bool sends;      /* some of them */
    double wait_s;   /* this step's */
    double in, out;  /* when its ports are free */
};

struct server {
    double in, out;
};

/* A worker's part. */
struct copy {
    uint64_t clock;   /* the clock of the step that the worker makes: the number of those before it,
                         without silent ones */
    uint64_t slowest; /* the slowest worker's clock when it last pulled */
    bool waits;
    double since; /* it waits */
};

struct cc_unsynced {
    struct cc_unsynced_config config;
    struct worker *worker;
    struct server *server;
    struct cc_clocks *clocks;      /* [parts] */
    struct copy *copy;             /* [parts][workers] */
    struct cc_unsynced_part *part; /* [workers][parts]: of their steps */
    struct event *heap;
    size_t events, capacity;
    uint64_t order;
    bool begun;
    double now;
    uint64_t ended;
    double wait_s;
};

static struct copy *copy_of(const struct cc_unsynced *u, size_t worker, size_t part)
{
    return &u->copy[part * u->config.workers + worker];
}

/* --- events --- */

static bool earlier(const struct event *a, const struct event *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    return a->worker != b->worker ? a->worker < b->worker : a->order < b->order;
}

static int schedule(struct cc_unsynced *u, double time, size_t worker, enum kind kind, size_t part,
                    struct cc_error *e)
{
    const struct event new = {
        .time = time, .order = u->order++, .worker = worker, .part = part, .kind = kind};
    CC_TRY(CC_GROW(u->heap, &u->capacity, u->events + 1, e));
    size_t i = u->events++;
    for (; i > 0 && earlier(&new, &u->heap[(i - 1) / 2]); i = (i - 1) / 2)
        u->heap[i] = u->heap[(i - 1) / 2];
    u->heap[i] = new;
    return CC_OK;
}

static struct event take(struct cc_unsynced *u)
{
    const struct event first = u->heap[0], last = u->heap[--u->events];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child + 1 < u->events && earlier(&u->heap[child + 1], &u->heap[child]))
            child++;
        if (child >= u->events || !earlier(&u->heap[child], &last))
            break;
        u->heap[i] = u->heap[child];
        i = child;
    }
    u->heap[i] = last;
    return first;
}

/* When a message is there that passes two ports, each of which serves in the order of the calls. */
static double transfer(const struct cc_unsynced *u, double *out, double *in, size_t bytes)
{
    const struct cc_unsynced_config *k = &u->config;
    const double takes = ((double)bytes + k->message_bytes) * k->byte_s;
    *out = fmax(*out, u->now) + takes;
    *in = fmax(*in, u->now) + takes;
    return fmax(*out, *in) + k->latency_s;
}

/* --- steps --- */

static bool is_due(const struct cc_unsynced *u, size_t w, size_t part)
{
    const struct cc_unsynced_config *k = &u->config;
    const struct copy *p = copy_of(u, w, part);
    return u->worker[w].step + 1 == k->steps ||
           cc_withheld_at_bound(&k->consistency, p->clock, p->slowest);
}

static int begin_step(struct cc_unsynced *u, size_t w, struct cc_error *e)
{
    const struct cc_unsynced_config *k = &u->config;
    struct worker *me = &u->worker[w];
    struct cc_unsynced_part *part = u->part + w * k->parts;
    const double factor = k->slow != NULL ? k->slow[w * k->steps + me->step] : 1;
    const double takes = k->compute_s * factor;
    for (size_t i = 0; i < k->parts; i++)
        part[i] = (struct cc_unsynced_part){.due = is_due(u, w, i)};
    CC_TRY(k->ops->compute(k->arg, w, me->step, part, e));
    me->wait_s = 0;
    me->pending = 1;
    me->to_apply = 0;
    me->sends = false;
    for (size_t i = 0; i < k->parts; i++) {
        if (part[i].silent)
            continue;
        copy_of(u, w, i)->clock++;
        me->sends = me->sends || part[i].sends;
        me->pending += part[i].sends;
        me->to_apply += part[i].sends;
        CC_TRY(schedule(u, u->now + takes * k->ready[i], w, READY, i, e));
    }
    return schedule(u, u->now + takes, w, COMPUTED, 0, e);
}

/* Goes on if nothing of the step is left to do. */
static int continue_step(struct cc_unsynced *u, size_t w, struct cc_error *e)
{
    struct worker *me = &u->worker[w];
    if (--me->pending > 0)
        return CC_OK;
    u->wait_s += me->wait_s;
    return ++me->step < u->config.steps ? begin_step(u, w, e) : CC_OK;
}

/* --- servers --- */

/* Sends the worker what has changed if it waits for that and the bound allows it. */
static int pull_if_may(struct cc_unsynced *u, size_t w, size_t part, struct cc_error *e)
{
    const struct cc_unsynced_config *k = &u->config;
    struct cc_clocks *clocks = &u->clocks[part];
    struct copy *p = copy_of(u, w, part);
    struct worker *me = &u->worker[w];
    size_t bytes;
    if (!p->waits || !cc_clocks_may_read(clocks, w))
        return CC_OK;
    p->waits = false;
    me->wait_s = fmax(me->wait_s, u->now - p->since);
    CC_TRY(k->ops->pull(k->arg, w, part, &bytes, e));
    cc_clocks_read(clocks, w);
    p->slowest = clocks->slowest;
    struct server *s = &u->server[k->server[part]];
    return schedule(u, transfer(u, &s->out, &me->in, bytes), w, RECEIVED, part, e);
}

/* A worker's clock advances, after which others may have to wait no longer. */
static int advance(struct cc_unsynced *u, size_t w, size_t part, struct cc_error *e)
{
    struct cc_clocks *clocks = &u->clocks[part];
    const uint64_t before = clocks->slowest;
    CC_TRY(cc_clocks_advance(clocks, w, clocks->clock[w], e));
    if (clocks->slowest == before)
        return pull_if_may(u, w, part, e);
    for (size_t i = 0; i < u->config.workers; i++)
        CC_TRY(pull_if_may(u, i, part, e));
    return CC_OK;
}

static int arrive(struct cc_unsynced *u, size_t w, size_t part, struct cc_error *e)
{
    struct copy *p = copy_of(u, w, part);
    struct worker *me = &u->worker[w];
    CC_TRY(u->config.ops->update(u->config.arg, w, part, e));
    cc_clocks_update(&u->clocks[part], w);
    p->waits = true;
    p->since = u->now;
    CC_TRY(advance(u, w, part, e));
    u->ended += --me->to_apply == 0;
    return CC_OK;
}

static int leave(struct cc_unsynced *u, size_t w, size_t part, struct cc_error *e)
{
    const struct cc_unsynced_part *p = &u->part[w * u->config.parts + part];
    struct server *s = &u->server[u->config.server[part]];
    const double there = transfer(u, &u->worker[w].out, &s->in, p->bytes);
    return schedule(u, there, w, p->sends ? ARRIVED : TOLD, part, e);
}

static int handle(struct cc_unsynced *u, const struct event *v, struct cc_error *e)
{
    switch (v->kind) {
    case READY:
        return leave(u, v->worker, v->part, e);
    case ARRIVED:
        return arrive(u, v->worker, v->part, e);
    case TOLD:
        return advance(u, v->worker, v->part, e);
    case RECEIVED:
        CC_TRY(u->config.ops->receive(u->config.arg, v->worker, v->part, e));
        return continue_step(u, v->worker, e);
    default:
        u->ended += !u->worker[v->worker].sends;
        return continue_step(u, v->worker, e);
    }
}

int cc_unsynced_run(struct cc_unsynced *u, uint64_t ended, struct cc_error *e)
{
    for (size_t w = 0; !u->begun && w < u->config.workers; w++)
        CC_TRY(begin_step(u, w, e));
    u->begun = true;
    while (u->ended < ended && u->events > 0 && !cc_interrupted()) {
        const struct event v = take(u);
        u->now = v.time;
        CC_TRY(handle(u, &v, e));
    }
    return CC_OK;
}

/* --- figures --- */

void cc_unsynced_ages(const struct cc_unsynced *u, uint64_t *age)
{
    for (size_t i = 0; i < CC_CLOCKS_AGES; i++) {
        age[i] = 0;
        for (size_t part = 0; part < u->config.parts; part++)
            age[i] += u->clocks[part].age[i];
    }
}

void cc_unsynced_figures(const struct cc_unsynced *u, struct cc_unsynced_figures *out)
{
    uint64_t age[CC_CLOCKS_AGES], updates = 0;
    for (size_t part = 0; part < u->config.parts; part++)
        updates += u->clocks[part].updates;
    cc_unsynced_ages(u, age);
    *out = (struct cc_unsynced_figures){.time_s = u->now,
                                        .ended = u->ended,
                                        .updates = (double)updates / (double)u->config.parts,
                                        .staleness = cc_ages_mean(age),
                                        .staleness_p95 = cc_ages_quantile(age, 0.95),
                                        .wait_s = u->wait_s};
}

/* --- opening --- */

int cc_unsynced_open(const struct cc_unsynced_config *config, struct cc_unsynced **out,
                     struct cc_error *e)
{
    const size_t workers = config->workers, parts = config->parts;
    int status = CC_OK;
    struct cc_unsynced *u = cc_alloc0(sizeof *u, e);
    if (u == NULL)
        return CC_FAIL;
    u->config = *config;
    u->worker = cc_alloc0(workers * sizeof *u->worker, e);
    u->server = cc_alloc0(config->servers * sizeof *u->server, e);
    u->copy = cc_alloc0(parts * workers * sizeof *u->copy, e);
    u->part = cc_alloc0(workers * parts * sizeof *u->part, e);
    u->clocks = cc_alloc0(parts * sizeof *u->clocks, e);
    if (u->worker == NULL || u->server == NULL || u->copy == NULL || u->part == NULL ||
        u->clocks == NULL) {
        status = CC_FAIL;
        goto out;
    }
    for (size_t i = 0; i < parts; i++)
        CC_TRY_OUT(cc_clocks_open(&u->clocks[i], &config->consistency, workers, e));
    *out = u;
out:
    if (status != CC_OK)
        cc_unsynced_close(u);
    return status;
}

void cc_unsynced_close(struct cc_unsynced *u)
{
    if (u == NULL)
        return;
    for (size_t i = 0; u->clocks != NULL && i < u->config.parts; i++)
        cc_clocks_close(&u->clocks[i]);
    free(u->clocks);
    free(u->worker);
    free(u->server);
    free(u->copy);
    free(u->part);
    free(u->heap);
    free(u);
}
