/* Workers that are not equally fast: bulk synchronous, stale synchronous (Ho et al. 2013) and
 * asynchronous steps; the thesis, section 2.3.2.
 *
 * Every worker's compute time is multiplied by a random factor of mean 1 in each step (lognormal,
 * gamma or uniform).
 *
 * Bulk synchronous steps are drawn: a period of all workers, of which the slowest decides when the
 * sending step ends. Means and deviations are taken over many periods.
 *
 * Stale and asynchronous steps are simulated event by event (one event a worker): a
 * worker's push passes its own port and the busiest server's, the server adds, the worker may wait
 * until the slowest has caught up, the server encodes and sends, the worker decodes. The messages
 * in a port of the server share it; its codec serves in the order of arrival. The first steps of
 * each worker do not count. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "core/events.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "models/step.h"

enum {
    BULK_STEPS = 1000, /* periods drawn, if that is within the budget */
    BULK_LEAST = 10,
    BULK_BUDGET = 10000000, /* draws of all workers together */
    MOST_TERMS = 64,        /* steps drawn of a period */
    WARM_STEPS = 50,        /* for each worker, not counted */
    MOST_STEPS = 400,
    STEP_BUDGET = 400000 /* for all workers together */
};

static int new_generator(const struct cc_timing *t, gsl_rng **out, struct cc_error *e)
{
    *out = gsl_rng_alloc(gsl_rng_mt19937);
    if (*out == NULL)
        return cc_fail(e, "out of memory");
    gsl_rng_set(*out, (unsigned long)t->seed);
    return CC_OK;
}

double cc_straggler_draw(const struct cc_timing *t, void *generator)
{
    double cv2 = t->spread * t->spread;
    if (t->straggler == CC_STEADY || t->spread == 0)
        return 1;
    switch (t->straggler) {
    case CC_LOGNORMAL:
        return gsl_ran_lognormal(generator, -0.5 * log1p(cv2), sqrt(log1p(cv2)));
    case CC_GAMMA:
        return gsl_ran_gamma(generator, 1 / cv2, cv2);
    default:
        return 1 + sqrt(3) * t->spread * (2 * gsl_rng_uniform(generator) - 1);
    }
}

/* Running mean and deviation (Welford). */
struct running {
    double count, mean, squares;
};

static void add_sample(struct running *r, double x)
{
    double delta = x - r->mean;
    r->count++;
    r->mean += delta / r->count;
    r->squares += delta * (x - r->mean);
}

static struct cc_spread as_spread(const struct running *r)
{
    return (struct cc_spread){.step_s = r->mean,
                              .step_sd = r->count > 1 ? sqrt(r->squares / (r->count - 1)) : 0};
}

struct cc_spread cc_spread_mix(const struct cc_spread *sending, const struct cc_spread *silent,
                               double rest)
{
    double steps = 1 + rest, mean = (sending->step_s + rest * silent->step_s) / steps;
    double from = sending->step_s - mean, other = silent->step_s - mean;
    double squares = sending->step_sd * sending->step_sd + from * from +
                     rest * (silent->step_sd * silent->step_sd + other * other);
    return (struct cc_spread){.step_s = mean,
                              .step_sd = sqrt(squares / steps),
                              .wait_s = (sending->wait_s + rest * silent->wait_s) / steps};
}

/* The spread over periods, whose steps' mean is that of `time`. */
static struct cc_spread spread_of(const struct running *time, const struct running *sending,
                                  const struct running *silent, double rest, double wait_s)
{
    const struct cc_spread sends = as_spread(sending), rests = as_spread(silent);
    struct cc_spread out = cc_spread_mix(&sends, &rests, rest);
    out.step_s = time->mean;
    out.wait_s = wait_s;
    return out;
}

/* A worker's factors in a period: of its first silent step, of all silent steps together, and of
 * the sending step. */
struct period_draw {
    double first, silent, last;
};

static struct period_draw draw_period(const struct cc_timing *t, gsl_rng *g, double period)
{
    struct period_draw x = {0};
    double rest = period - 1;
    int terms = (int)fmin(rest, MOST_TERMS - 1);
    for (int i = 0; i < terms; i++) {
        double factor = cc_straggler_draw(t, g);
        x.first = i == 0 ? factor : x.first;
        x.silent += factor;
    }
    if (terms < rest)
        x.silent = rest + sqrt(rest / terms) * (x.silent - terms);
    x.last = cc_straggler_draw(t, g);
    return x;
}

/* A period of all workers: the factors of the slowest and of worker 0, and the mean sum. */
struct group_draw {
    struct period_draw slowest, own;
    double mean;
};

static struct group_draw draw_group(const struct cc_timing *t, gsl_rng *g, int workers,
                                    double period)
{
    struct group_draw r = {.mean = 0};
    for (int w = 0; w < workers; w++) {
        struct period_draw x = draw_period(t, g, period);
        r.mean += (x.silent + x.last) / workers;
        if (w == 0)
            r.slowest = r.own = x;
        else if (x.silent + x.last > r.slowest.silent + r.slowest.last)
            r.slowest = x;
    }
    return r;
}

int cc_step_bulk(const struct cc_timing *t, int workers, double period,
                 double (*step)(void *arg, bool sends, double compute_s), void *arg,
                 struct cc_spread *out, struct cc_error *e)
{
    struct running time = {0}, sending = {0}, silent = {0}, wait = {0};
    double rest = period - 1, c = t->compute_s;
    double many = BULK_BUDGET / (workers * fmin(period, MOST_TERMS));
    gsl_rng *g;
    CC_TRY(new_generator(t, &g, e));
    for (int i = 0; i < fmax(BULK_LEAST, fmin(BULK_STEPS, many)) && !cc_interrupted(); i++) {
        struct group_draw r = draw_group(t, g, workers, period);
        double end = step(arg, true, r.slowest.last * c), own = 0;
        if (rest > 0) {
            end += rest * step(arg, false, r.slowest.silent / rest * c);
            own = rest * step(arg, false, r.own.silent / rest * c);
            add_sample(&silent, step(arg, false, r.own.first * c));
        }
        add_sample(&time, end / period);
        add_sample(&sending, end - own);
        add_sample(&wait, fmax(0, r.slowest.silent + r.slowest.last - r.mean) * c / period);
    }
    gsl_rng_free(g);
    *out = spread_of(&time, &sending, &silent, rest, wait.mean);
    return CC_OK;
}

/* --- stale and asynchronous: a simulation of every worker --- */

/* The next event of a worker. */
enum phase {
    ENCODED, /* its push begins */
    ARRIVED, /* the push is at the server */
    ADDED,   /* and in the sum: the step is complete */
    PULLED,  /* the server begins to encode for it */
    SENT,    /* and to send */
    DONE     /* decoded and applied: the next step begins */
};

struct worker {
    int steps; /* complete */
    bool waits;
    double began, added;  /* this period; when the wait, if any, began */
    double first, silent; /* times of its silent steps: of the first, and of all */
};

/* A port of the server: the messages in it have equal shares of it, or as much as their workers'
 * own ports let through. They are equally long, and so end in the order in which they have begun.
 */
struct port {
    double worker_s, server_s; /* for a message that is alone at the worker's port; at this one */
    double at, passed; /* until `at`, a message there since the beginning has passed `passed` times
                          its length */
    int first, count;  /* the messages in it: a ring */
    int *worker;       /* [workers] */
    double *end;       /* [workers]: when that many lengths have passed */
};

struct simulation {
    const struct cc_timing *timing;
    const struct cc_cost *cost;
    double period, silent_s;
    gsl_rng *generator;
    int workers, slowest, at_slowest; /* steps of the slowest, and how many are there */
    struct worker *worker;
    struct cc_events events; /* one a worker */
    struct port in, out;     /* the busiest server's */
    double codec;            /* when its codec is free */
    struct running time, sending, silent, wait;
};

/* There is room for one event a worker. */
static void schedule(struct simulation *s, double time, int worker, enum phase phase)
{
    (void)cc_events_add(&s->events,
                        (struct cc_event){.time = time, .who = (size_t)worker, .what = (int)phase},
                        NULL);
}

static void begin_step(struct simulation *s, double now, int w)
{
    struct worker *me = &s->worker[w];
    struct period_draw x = draw_period(s->timing, s->generator, s->period);
    double c = s->timing->compute_s;
    me->began = now;
    me->first = x.first * c + s->silent_s;
    me->silent = x.silent * c + (s->period - 1) * s->silent_s;
    schedule(s, now + me->silent + x.last * c + s->cost->encode_s, w, ENCODED);
}

/* --- ports --- */

static double pass_s(const struct port *p)
{
    return fmax(p->worker_s, p->count * p->server_s);
}

static void advance(struct port *p, double now)
{
    if (p->count > 0 && pass_s(p) > 0)
        p->passed += (now - p->at) / pass_s(p);
    p->at = now;
}

static void enter(struct port *p, double now, int worker, int workers)
{
    advance(p, now);
    const int last = (p->first + p->count++) % workers;
    p->worker[last] = worker;
    p->end[last] = p->passed + 1;
}

/* When the first message has passed; INFINITY if there is none. */
static double next_end(const struct port *p)
{
    return p->count > 0 ? p->at + fmax(0, p->end[p->first] - p->passed) * pass_s(p) : INFINITY;
}

/* Takes the first message out when it has passed. Returns its worker. */
static int leave(struct port *p, double now, int workers)
{
    const int worker = p->worker[p->first];
    advance(p, now);
    p->passed = p->end[p->first];
    p->first = (p->first + 1) % workers;
    p->count--;
    return worker;
}

static int open_port(struct port *p, double worker_s, double server_s, int workers,
                     struct cc_error *e)
{
    *p = (struct port){.worker_s = worker_s, .server_s = server_s / workers};
    CC_TRY(CC_NEW(p->worker, (size_t)workers, e));
    return CC_NEW(p->end, (size_t)workers, e);
}

static void close_port(struct port *p)
{
    free(p->worker);
    free(p->end);
}

/* --- steps --- */

static bool may_pull(const struct simulation *s, int w)
{
    return (uint64_t)(s->worker[w].steps - s->slowest) <=
           cc_consistency_lead(s->timing->consistency, s->timing->staleness);
}

static void find_slowest(struct simulation *s)
{
    s->slowest = s->worker[0].steps;
    for (int i = 0; i < s->workers; i++)
        s->slowest = s->worker[i].steps < s->slowest ? s->worker[i].steps : s->slowest;
    s->at_slowest = 0;
    for (int i = 0; i < s->workers; i++)
        s->at_slowest += s->worker[i].steps == s->slowest;
}

static void pull_if_may(struct simulation *s, double now, int w)
{
    if (!s->worker[w].waits || !may_pull(s, w))
        return;
    s->worker[w].waits = false;
    schedule(s, now, w, PULLED);
}

/* Counts a step of w. If it was the last of the slowest workers, the waiting ones may continue. */
static void complete(struct simulation *s, double now, int w)
{
    struct worker *me = &s->worker[w];
    me->waits = true;
    me->added = now;
    if (me->steps++ == s->slowest && --s->at_slowest == 0) {
        find_slowest(s);
        for (int i = 0; i < s->workers; i++)
            pull_if_may(s, now, i);
    } else {
        pull_if_may(s, now, w);
    }
}

/* Handles an event: schedules the worker's next one, or has its message enter a port. */
static void handle(struct simulation *s, const struct cc_event *v)
{
    const struct cc_cost *c = s->cost;
    int w = (int)v->who;
    switch (v->what) {
    case ENCODED:
        enter(&s->in, v->time, w, s->workers);
        break;
    case ARRIVED:
        schedule(
            s, cc_serve(&s->codec, v->time, (c->server_codec_s - c->server_encode_s) / s->workers),
            w, ADDED);
        break;
    case ADDED:
        complete(s, v->time, w);
        break;
    case PULLED:
        if (s->worker[w].steps > WARM_STEPS)
            add_sample(&s->wait, v->time - s->worker[w].added);
        schedule(s, cc_serve(&s->codec, v->time, c->server_encode_s), w, SENT);
        break;
    case SENT:
        enter(&s->out, v->time, w, s->workers);
        break;
    case DONE:
        if (s->worker[w].steps > WARM_STEPS) {
            add_sample(&s->time, (v->time - s->worker[w].began) / s->period);
            add_sample(&s->sending, v->time - s->worker[w].began - s->worker[w].silent);
            add_sample(&s->silent, s->worker[w].first);
        }
        begin_step(s, v->time, w);
        break;
    }
}

/* The port whose next message passes before any event; NULL if none does. */
static struct port *next_port(struct simulation *s)
{
    struct port *p = next_end(&s->in) <= next_end(&s->out) ? &s->in : &s->out;
    return p->count > 0 && (s->events.count == 0 || next_end(p) <= s->events.heap[0].time) ? p
                                                                                           : NULL;
}

/* A message has passed: schedules what follows for its worker. */
static void pass(struct simulation *s, struct port *p)
{
    const struct cc_cost *c = s->cost;
    const double end = next_end(p);
    const int w = leave(p, end, s->workers);
    if (p == &s->in)
        schedule(s, end + c->push_latency_s, w, ARRIVED);
    else
        schedule(s, end + c->pull_latency_s + c->decode_s + s->timing->update_s, w, DONE);
}

/* Simulates until the fastest worker has completed `steps` steps. */
static void simulate(struct simulation *s, int steps)
{
    s->at_slowest = s->workers;
    for (int w = 0; w < s->workers; w++)
        begin_step(s, 0, w);
    for (;;) {
        for (struct port *p = next_port(s); p != NULL; p = next_port(s))
            pass(s, p);
        struct cc_event v = cc_events_take(&s->events);
        if (s->worker[v.who].steps == steps)
            return;
        handle(s, &v);
    }
}

int cc_step_stale(const struct cc_timing *t, const struct cc_cost *sum, int workers, double period,
                  double silent_s, struct cc_spread *out, struct cc_error *e)
{
    struct simulation s = {
        .timing = t, .cost = sum, .workers = workers, .period = period, .silent_s = silent_s};
    int steps = STEP_BUDGET / workers < MOST_STEPS ? STEP_BUDGET / workers : MOST_STEPS;
    int status = CC_OK;
    CC_TRY_OUT(CC_NEW(s.worker, (size_t)workers, e));
    CC_TRY_OUT(cc_events_reserve(&s.events, (size_t)workers, e));
    CC_TRY_OUT(open_port(&s.in, sum->push_worker_s, sum->push_server_s, workers, e));
    CC_TRY_OUT(open_port(&s.out, sum->pull_worker_s, sum->pull_server_s, workers, e));
    CC_TRY_OUT(new_generator(t, &s.generator, e));
    simulate(&s, 2 * WARM_STEPS + steps);
    *out = spread_of(&s.time, &s.sending, &s.silent, period - 1, s.wait.mean / period);
out:
    gsl_rng_free(s.generator);
    close_port(&s.in);
    close_port(&s.out);
    cc_events_free(&s.events);
    free(s.worker);
    return status;
}
