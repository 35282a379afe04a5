/* Rounds whose payloads are decoded, added to and encoded on their way, followed from rank to rank.
 *
 * A rank encodes what it sends in a round, and begins to send it when the receiver's last message
 * has come. When a message is there, the rank works on it; if that is needed for its next round,
 * first, otherwise once that has begun. Messages go on while processors work. docs/model.md,
 * "Payloads that cannot be summed". */
#include <math.h>

#include "models/exchange_classes.h"

struct rank_clock {
    double works_until; /* the processor */
    double later_s;     /* work that the next round's beginning goes before */
    double sends_until; /* the last message */
    double beside_s;    /* of the next message, beside that */
    double received_at; /* the last message that has come */
    double ready;       /* in a round: the payload that is sent; */
    double comes;       /* when what is received is there, */
    double delay_s;     /* which is later by this */
    bool receives;
    int sends_to;      /* or -1 */
    int left, entered; /* by port: messages of a round */
};

struct clocks {
    struct rank_clock rank[CC_MOST_FOLLOWED];
    int wan[CC_CLUSTER_WANS]; /* by link between sites: messages of a round */
};

/* Whether all ranks do the same at the same time, so that one stands for them. */
static bool in_step(const struct cc_cluster *c)
{
    return !cc_cluster_two_classes(c) && cc_power_below(c->workers) == c->workers;
}

/* Sender and receiver of rank i's message in a round; false: it has none. */
static bool message_of(const struct cc_cluster *c, const struct cc_partners *p, int ranks, int i,
                       int *from, int *to)
{
    const int other = ranks == 1 ? 0 : cc_partner(c, p->pairs, p->distance, i);
    *from = p->back ? other : i;
    *to = p->back ? i : other;
    return other >= 0;
}

static bool is_member(const struct cc_cluster *c, int i)
{
    return i % 2 == 1 || i >= 2 * (c->workers - cc_power_below(c->workers));
}

static void begin(const struct cc_cluster *c, const struct cc_partners *p, int ranks,
                  struct clocks *t)
{
    for (int i = 0; i < ranks; i++) {
        const bool sends =
            p->pairs == CC_PAIR_EXTRAS ? is_member(c, i) == p->back : ranks == 1 || is_member(c, i);
        t->rank[i].works_until += sends ? p->encode_s : 0;
        t->rank[i].ready = t->rank[i].works_until;
        t->rank[i].works_until += t->rank[i].later_s + (sends ? p->own_s : 0);
        t->rank[i].later_s = 0;
        t->rank[i].left = t->rank[i].entered = 0;
        t->rank[i].receives = false;
        t->rank[i].sends_to = -1;
        t->rank[i].delay_s = 0;
    }
}

static void count(const struct cc_cluster *c, const struct cc_partners *p, int ranks,
                  struct clocks *t)
{
    int from, to;
    for (int i = 0; i < c->sites * c->sites; i++)
        t->wan[i] = 0;
    for (int i = 0; i < ranks; i++) {
        if (!message_of(c, p, ranks, i, &from, &to))
            continue;
        const bool crosses = ranks == 1 || cc_level_of(c, from, to) != CC_INSIDE;
        t->wan[c->sites > 1 ? cc_wan_of(c, from, to) : 0]++;
        t->rank[cc_port_of(c, from)].left += crosses;
        t->rank[cc_port_of(c, to)].entered += crosses;
    }
}

static enum cc_level level_of(const struct cc_cluster *c, int from, int to, bool alone)
{
    return alone ? CC_BETWEEN : cc_level_of(c, from, to);
}

/* The time of a message of a round on the links, but for the latency. */
static double takes(const struct cc_exchange_case *k, const struct cc_link_costs *x,
                    const struct cc_partners *p, int from, int to, bool alone,
                    const struct clocks *t)
{
    const struct cc_cluster *c = k->cluster;
    const enum cc_level level = level_of(c, from, to, alone);
    const int left = t->rank[cc_port_of(c, from)].left,
              entered = t->rank[cc_port_of(c, to)].entered;
    const double wire = cc_framed(k->link, p->bytes);
    const int share = level == CC_INSIDE ? 1 : left > entered ? left : entered;
    const int wan = level == CC_FAR ? t->wan[cc_wan_of(c, from, to)] : 0;
    return cc_class_s(&x->level[level], share * wire, wan * wire);
}

static double latency(const struct cc_exchange_case *k, const struct cc_link_costs *x, int from,
                      int to, bool alone)
{
    return x->level[level_of(k->cluster, from, to, alone)].alpha;
}

/* One message, of which a part is sent beside the one before. */
static void move(const struct cc_exchange_case *k, const struct cc_link_costs *x,
                 const struct cc_partners *p, int from, int to, bool alone, struct clocks *t)
{
    const double begins = fmax(t->rank[from].ready, t->rank[to].received_at);
    t->rank[from].sends_until =
        begins + takes(k, x, p, from, to, alone, t) + t->rank[from].beside_s;
    t->rank[from].sends_to = to;
    t->rank[from].beside_s = 0;
    t->rank[to].receives = true;
    t->rank[to].comes = t->rank[from].sends_until + latency(k, x, from, to, alone);
}

/* A rank that is ahead begins its next message while the last one is still being sent: they share
 * its port until the shorter part is over. */
static void share_port(const struct cc_exchange_case *k, const struct cc_link_costs *x,
                       const struct cc_partners *p, const struct cc_partners *next, int from,
                       int to, struct clocks *t)
{
    struct rank_clock *own = &t->rank[from];
    const double ready = fmax(own->works_until, own->comes) + p->add_s + next->encode_s;
    const double left = own->sends_until - fmax(ready, t->rank[to].comes);
    if (!own->receives || own->sends_to < 0 || left <= 0)
        return;
    own->beside_s = fmin(left, takes(k, x, next, from, to, false, t));
    own->sends_until += own->beside_s;
    t->rank[own->sends_to].delay_s = own->beside_s;
}

static void end(const struct cc_partners *p, int to, struct clocks *t)
{
    t->rank[to].comes += t->rank[to].delay_s;
    t->rank[to].received_at = t->rank[to].comes;
    t->rank[to].works_until = fmax(t->rank[to].works_until, t->rank[to].comes) + p->add_s;
    t->rank[to].later_s = p->after_s;
}

static double follow(const struct cc_exchange_case *k, const struct cc_rounds *r)
{
    const struct cc_cluster *c = k->cluster;
    const struct cc_link_costs x = cc_classes_of(k);
    const int ranks = in_step(c) ? 1 : c->workers;
    struct clocks clocks = {.rank = {{.works_until = 0}}}, *t = &clocks;
    double last = 0;
    for (int n = 0; n < r->count; n++) {
        const struct cc_partners *p = &r->item[n];
        int from, to;
        begin(c, p, ranks, t);
        count(c, p, ranks, t);
        for (int i = 0; i < ranks; i++)
            if (message_of(c, p, ranks, i, &from, &to))
                move(k, &x, p, from, to, ranks == 1, t);
        for (int i = 0; i < ranks && ranks > 1 && n + 1 < r->count; i++)
            if (message_of(c, p + 1, ranks, i, &from, &to))
                share_port(k, &x, p, p + 1, from, to, t);
        for (int i = 0; i < ranks; i++)
            if (message_of(c, p, ranks, i, &from, &to))
                end(p, to, t);
    }
    for (int i = 0; i < ranks; i++)
        last =
            fmax(last, fmax(t->rank[i].sends_until, t->rank[i].works_until + t->rank[i].later_s));
    return last;
}

void cc_hide_work(const struct cc_exchange_case *k, const struct cc_rounds *r, struct cc_cost *c)
{
    if (k->cluster->workers > CC_MOST_FOLLOWED && !in_step(k->cluster))
        return;
    const double apart = cc_cost_comm(c) + cc_cost_codec(c), hidden = apart - follow(k, r);
    /* At most half of the values come in one round. */
    c->decode_beside_s = fmin(fmax(0, hidden), c->decode_s / 2);
    c->hop_beside_s = hidden - c->decode_beside_s;
}

/* --- all to all --- */

double cc_stage_sums_s(double count, double encode_s, double latency_s, double transfer_s,
                       double add_s)
{
    enum { MOST = 4096 };
    double now = 0, sent = 0, begun_at[MOST], done = count * encode_s;
    int begun = 0, over = 0;
    const int all = count < MOST ? (int)count : MOST;
    /* `sent` counts the seconds that a message under way since the beginning would have sent. */
    while (over < all) {
        const int shared = begun - over;
        const double next = begun < all ? (begun + 1) * encode_s : (double)INFINITY;
        const double left = shared > 0 ? (begun_at[over] + transfer_s - sent) * shared : INFINITY;
        if (now + left <= next) {
            now += left;
            sent += left / shared;
            done = fmax(done, now + latency_s) + add_s;
            over++;
        } else {
            sent += shared > 0 ? (next - now) / shared : 0;
            now = next;
            begun_at[begun++] = sent;
        }
    }
    return done + (count - all) * (transfer_s + add_s);
}
