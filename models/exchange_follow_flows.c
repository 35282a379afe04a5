/* Flows: what is under way of messages that are followed.
 *
 * Flows over the same two ports always have the same rate, and make a way: it counts the bytes that
 * each of them has had, so that time passes for a way, whatever the number of its flows. A flow
 * ends when its way has counted the bytes up to which it goes. */
#include <math.h>

#include "core/memory.h"
#include "models/exchange_follow_impl.h"

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

/* --- lists of flows --- */

/* Behind another one, or before all. */
static void insert(struct cc_follow_state *f, struct cc_follow_list *l, size_t before, size_t i)
{
    const size_t after = before != CC_FOLLOW_NOBODY ? f->flow[before].after : l->first;
    f->flow[i].before = before;
    f->flow[i].after = after;
    *(before != CC_FOLLOW_NOBODY ? &f->flow[before].after : &l->first) = i;
    *(after != CC_FOLLOW_NOBODY ? &f->flow[after].before : &l->last) = i;
}

static size_t take_first(struct cc_follow_state *f, struct cc_follow_list *l)
{
    const size_t i = l->first, after = f->flow[i].after;
    l->first = after;
    *(after != CC_FOLLOW_NOBODY ? &f->flow[after].before : &l->last) = CC_FOLLOW_NOBODY;
    return i;
}

/* --- rates --- */

static struct cc_follow_way *active(struct cc_follow_state *f, size_t i)
{
    return &f->way[f->active[i]];
}

/* Sets the rate that each port of the first ways, which get more, has for each of their flows. */
static void divide(struct cc_follow_state *f, size_t open)
{
    for (size_t i = 0; i < open; i++)
        for (int j = 0; j < active(f, i)->ports; j++)
            f->port[active(f, i)->port[j]].open = 0;
    for (size_t i = 0; i < open; i++)
        for (int j = 0; j < active(f, i)->ports; j++)
            f->port[active(f, i)->port[j]].open += active(f, i)->flows;
    for (size_t i = 0; i < open; i++)
        for (int j = 0; j < active(f, i)->ports; j++) {
            struct cc_follow_port *p = &f->port[active(f, i)->port[j]];
            p->each = p->left / (double)p->open;
        }
}

/* Whether a port of a way is full. */
static bool is_full(const struct cc_follow_state *f, const struct cc_follow_way *w)
{
    bool full = false;
    for (int j = 0; j < w->ports; j++)
        full = full || f->port[w->port[j]].left <= 1e-9 * f->port[w->port[j]].bytes_s;
    return full;
}

/* Every flow gets what its fullest port has for each, and what is left is shared anew, until each
 * has a full port: SimGrid's "fairbottleneck". */
static void share(struct cc_follow_state *f)
{
    size_t open = f->actives;
    for (size_t i = 0; i < open; i++) {
        struct cc_follow_way *w = active(f, i);
        w->rate = 0;
        w->shared = w->flows;
        for (int j = 0; j < w->ports; j++)
            f->port[w->port[j]].left = f->port[w->port[j]].bytes_s;
    }
    while (open > 0) {
        divide(f, open);
        for (size_t i = 0; i < open; i++) {
            struct cc_follow_way *w = active(f, i);
            double more = lesser(f->port[w->port[0]].each, f->port[w->port[1]].each);
            if (w->ports > 2)
                more = lesser(more, f->port[w->port[2]].each);
            w->rate += more;
            for (int j = 0; j < w->ports; j++)
                f->port[w->port[j]].left -= more * (double)w->flows;
        }
        for (size_t i = 0; i < open;) {
            const size_t this = f->active[i];
            if (!is_full(f, &f->way[this])) {
                i++;
                continue;
            }
            f->active[i] = f->active[--open];
            f->active[open] = this;
        }
    }
}

/* Lets flows go on until now. */
static void advance(struct cc_follow_state *f)
{
    const double s = f->now - f->since;
    for (size_t i = 0; s > 0 && i < f->actives; i++)
        active(f, i)->served += s * active(f, i)->rate;
    f->since = f->now;
}

/* --- beginnings and ends --- */

int cc_follow_begin(struct cc_follow_state *f, int rank, size_t part, size_t round,
                    struct cc_error *e)
{
    const struct cc_follow_hop *h = &f->rank[rank].hop[round];
    struct cc_follow_way *w = &f->way[h->way];
    size_t i = f->flows;
    if (f->unused.first != CC_FOLLOW_NOBODY)
        i = take_first(f, &f->unused);
    else
        CC_TRY(CC_GROW(f->flow, &f->flow_capacity, ++f->flows, e));
    advance(f);
    if (w->flows++ == 0) {
        w->served = 0;
        w->shared = 0;
        f->active[f->actives++] = h->way;
    }
    f->flow[i] = (struct cc_follow_flow){.rank = rank,
                                         .part = part,
                                         .round = round,
                                         .number = f->begun++,
                                         .until = w->served + h->bytes};
    size_t before = w->flow.last;
    while (before != CC_FOLLOW_NOBODY && f->flow[before].until > f->flow[i].until)
        before = f->flow[before].before;
    insert(f, &w->flow, before, i);
    f->changed = true;
    return CC_OK;
}

void cc_follow_share(struct cc_follow_state *f)
{
    bool same = !f->emptied;
    for (size_t i = 0; same && i < f->actives; i++)
        same = active(f, i)->shared == active(f, i)->flows;
    if (!same)
        share(f);
    f->ends = (double)INFINITY;
    for (size_t i = 0; i < f->actives; i++) {
        const struct cc_follow_way *w = active(f, i);
        const double left = f->flow[w->flow.first].until - w->served;
        f->ends = lesser(f->ends, f->now + left / w->rate);
    }
    f->changed = f->emptied = false;
}

/* Whether nothing is left of a way's first flow, or less than passes while the time, a double,
 * advances. */
static bool is_over(const struct cc_follow_state *f, const struct cc_follow_way *w)
{
    const struct cc_follow_flow *first = &f->flow[w->flow.first];
    const double bytes = f->rank[first->rank].hop[first->round].bytes;
    return first->until - w->served <= fmax(1e-9 * bytes, 1e-12 * f->now * w->rate);
}

static void end(struct cc_follow_state *f, struct cc_follow_way *w)
{
    const size_t i = take_first(f, &w->flow);
    size_t before = f->ended.last;
    while (before != CC_FOLLOW_NOBODY && f->flow[before].number > f->flow[i].number)
        before = f->flow[before].before;
    insert(f, &f->ended, before, i);
    w->flows--;
}

void cc_follow_end(struct cc_follow_state *f)
{
    size_t kept = 0;
    advance(f);
    for (size_t i = 0; i < f->actives; i++) {
        struct cc_follow_way *w = active(f, i);
        while (w->flows > 0 && is_over(f, w))
            end(f, w);
        if (w->flows > 0)
            f->active[kept++] = f->active[i];
    }
    f->emptied = f->emptied || kept < f->actives;
    f->actives = kept;
    f->changed = true;
}

bool cc_follow_next_ended(struct cc_follow_state *f, struct cc_follow_flow *out)
{
    if (f->ended.first == CC_FOLLOW_NOBODY)
        return false;
    const size_t i = take_first(f, &f->ended);
    *out = f->flow[i];
    insert(f, &f->unused, CC_FOLLOW_NOBODY, i);
    return true;
}
