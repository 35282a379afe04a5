/* Rates are max-min fair by filling: the port whose flows get the least is full first, its flows
 * keep that rate, and the others share what is left. Time moves from the end of one flow to the end
 * of the next; a token bucket lets the first bytes of a flow pass at once. */
#include "models/fluid.h"

#include <math.h>
#include <stdlib.h>

#include "core/exchange.h"
#include "core/memory.h"

/* The flows on a path share it evenly: since one began, every other was sent for as long. So a path
 * counts the seconds that it has sent for a flow, and a flow ends at a certain count: flows of a
 * path form a list in the order in which they end. */
struct cc_fluid_flow {
    double length_s;
    double ends; /* at this count of its path */
    size_t next; /* in its path's list of those under way, or of those that wait */
};

struct cc_fluid_state {
    double sent;         /* seconds sent for each flow */
    double rate;         /* seconds sent in a second */
    size_t first, flows; /* under way */
    double lengths;      /* these together */
    size_t waiting, last_waiting;
};

struct cc_fluid_port {
    double holds;       /* content of the token bucket, in seconds */
    double left, wants; /* while rates are assigned: capacity, and flows without a rate */
    double used;        /* in a second */
};

/* Rounding of times and counts. */
#define RELATIVE 1e-12

int cc_fluid_reserve(struct cc_fluid *f, size_t paths, size_t ports, size_t flows,
                     struct cc_error *e)
{
    size_t states = f->path_capacity;
    CC_TRY(CC_GROW(f->path, &f->path_capacity, paths, e));
    CC_TRY(CC_GROW(f->state, &states, paths, e));
    CC_TRY(CC_GROW(f->port, &f->port_capacity, ports, e));
    return CC_GROW(f->flow, &f->flow_capacity, flows, e);
}

void cc_fluid_free(struct cc_fluid *f)
{
    free(f->path);
    free(f->state);
    free(f->port);
    free(f->flow);
    *f = (struct cc_fluid){0};
}

void cc_fluid_begin(struct cc_fluid *f, size_t paths, size_t ports, double burst_s, double window_s)
{
    f->paths = paths;
    f->ports = ports;
    f->now = 0;
    f->burst_s = burst_s;
    f->window_s = window_s;
    f->changed = false;
    for (size_t i = 0; i < paths; i++)
        f->state[i] = (struct cc_fluid_state){.first = CC_NO_FLOW, .waiting = CC_NO_FLOW};
    for (size_t i = 0; i < ports; i++)
        f->port[i] = (struct cc_fluid_port){.holds = burst_s};
}

/* --- rates --- */

/* The flows of path i that cross its end k. */
static double crossing(const struct cc_fluid *f, size_t i, int k)
{
    return (double)f->state[i].flows * f->path[i].crosses[k];
}

/* The port with the least capacity for each flow that has no rate yet; NULL if all have one. */
static struct cc_fluid_port *tightest(const struct cc_fluid *f)
{
    struct cc_fluid_port *least = NULL;
    for (size_t i = 0; i < f->ports; i++) {
        struct cc_fluid_port *p = &f->port[i];
        if (p->wants > 0 && (least == NULL || p->left * least->wants < least->left * p->wants))
            least = p;
    }
    return least;
}

/* Assigns max-min fair rates: the tightest port fixes the rates of the flows that cross it, and so
 * on with what is left of the others. */
static void assign_rates(struct cc_fluid *f)
{
    struct cc_fluid_port *least;
    for (size_t i = 0; i < f->ports; i++)
        f->port[i] = (struct cc_fluid_port){.holds = f->port[i].holds, .left = 1};
    for (size_t i = 0; i < f->paths; i++) {
        f->state[i].rate = -1;
        for (int k = 0; k < 2 && f->state[i].flows > 0; k++)
            f->port[f->path[i].port[k]].wants += crossing(f, i, k);
    }
    while ((least = tightest(f)) != NULL) {
        const double rate = fmax(0, least->left) / least->wants;
        const int at = (int)(least - f->port);
        for (size_t i = 0; i < f->paths; i++) {
            struct cc_fluid_state *s = &f->state[i];
            if (s->flows == 0 || s->rate >= 0 ||
                (f->path[i].port[0] != at && f->path[i].port[1] != at))
                continue;
            s->rate = rate;
            for (int k = 0; k < 2; k++) {
                struct cc_fluid_port *p = &f->port[f->path[i].port[k]];
                p->left -= crossing(f, i, k) * rate;
                p->used += crossing(f, i, k) * rate;
                p->wants -= crossing(f, i, k);
            }
        }
        least->wants = 0;
    }
}

/* --- flows --- */

/* Seconds of a flow that the buckets of its ports let pass at once. */
static double pass_at_once(struct cc_fluid *f, const struct cc_fluid_path *p, double length_s)
{
    double passes = length_s;
    for (int k = 0; k < 2; k++)
        passes = fmin(passes, f->port[p->port[k]].holds / p->crosses[k]);
    for (int k = 0; k < 2; k++)
        f->port[p->port[k]].holds -= passes * p->crosses[k];
    return passes;
}

static bool may_begin(const struct cc_fluid *f, const struct cc_fluid_state *s, size_t number)
{
    return s->flows < CC_QUEUE_MESSAGES ||
           s->lengths + f->flow[number].length_s <= f->window_s * (1 + RELATIVE);
}

static void begin(struct cc_fluid *f, size_t number, size_t path)
{
    struct cc_fluid_state *s = &f->state[path];
    struct cc_fluid_flow *flow = &f->flow[number];
    size_t *at = &s->first;
    flow->ends = s->sent + flow->length_s - pass_at_once(f, &f->path[path], flow->length_s);
    while (*at != CC_NO_FLOW && f->flow[*at].ends <= flow->ends)
        at = &f->flow[*at].next;
    flow->next = *at;
    *at = number;
    s->flows++;
    s->lengths += flow->length_s;
    f->changed = true;
}

void cc_fluid_add(struct cc_fluid *f, size_t number, size_t path, double length_s)
{
    struct cc_fluid_state *s = &f->state[path];
    f->flow[number] = (struct cc_fluid_flow){.length_s = length_s, .next = CC_NO_FLOW};
    if (s->waiting == CC_NO_FLOW && may_begin(f, s, number)) {
        begin(f, number, path);
        return;
    }
    if (s->waiting == CC_NO_FLOW)
        s->waiting = number;
    else
        f->flow[s->last_waiting].next = number;
    s->last_waiting = number;
}

double cc_fluid_next(struct cc_fluid *f)
{
    double next = (double)INFINITY;
    if (f->changed)
        assign_rates(f);
    f->changed = false;
    for (size_t i = 0; i < f->paths; i++) {
        const struct cc_fluid_state *s = &f->state[i];
        if (s->flows > 0)
            next = fmin(next, f->now + fmax(0, f->flow[s->first].ends - s->sent) / s->rate);
    }
    return next;
}

void cc_fluid_advance(struct cc_fluid *f, double to)
{
    const double seconds = to - f->now;
    for (size_t i = 0; i < f->paths; i++)
        if (f->state[i].flows > 0)
            f->state[i].sent += seconds * f->state[i].rate;
    for (size_t i = 0; i < f->ports; i++) {
        struct cc_fluid_port *p = &f->port[i];
        p->holds = fmin(f->burst_s, p->holds + seconds * fmax(0, 1 - p->used));
    }
    f->now = to;
}

size_t cc_fluid_take(struct cc_fluid *f)
{
    for (size_t i = 0; i < f->paths; i++) {
        struct cc_fluid_state *s = &f->state[i];
        if (s->flows == 0)
            continue;
        const size_t number = s->first;
        const double left = f->flow[number].ends - s->sent;
        if (left > RELATIVE * fmax(f->flow[number].ends, f->now))
            continue;
        s->first = f->flow[number].next;
        s->lengths -= f->flow[number].length_s;
        if (--s->flows == 0)
            s->sent = s->lengths = 0; /* small counts are exact */
        f->changed = true;
        while (s->waiting != CC_NO_FLOW && may_begin(f, s, s->waiting)) {
            const size_t next = s->waiting;
            s->waiting = f->flow[next].next;
            begin(f, next, i);
        }
        return number;
    }
    return CC_NO_FLOW;
}
