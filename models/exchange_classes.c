/* Rounds on clusters with two classes of links: hosts with several accelerators, or several sites.
 *
 * A message of n bytes takes alpha + n beta of its class. Inside a host (or a site) every worker
 * has a port of its own. Between hosts, K messages that leave a host at once share its port, or of
 * several ports that of their senders: alpha + K n beta. Between sites, K messages between the same
 * two sites share their link, and each also takes its host's own port: alpha + max(K beta_wan,
 * beta) n. A round takes as long as the slower class.
 *
 * Ranks follow one another host by host and site by site, so that K follows from the distance of
 * partners: 1 in a ring, up to a whole host in a round of recursive doubling. Workers of one host
 * do not wait for those of another but for their partners; where partners of one round are of both
 * classes, the sum over rounds is an upper bound, which is reached if the shared links are always
 * busy. docs/model.md, "Links of two classes". */
#include <math.h>

#include "models/exchange_classes.h"

struct cc_link_costs cc_classes_of(const struct cc_exchange_case *k)
{
    const struct cc_cluster *c = k->cluster;
    const struct cc_link *l = k->link;
    const double byte_s = cc_link_byte_s(l);
    if (c->sites > 1)
        return (struct cc_link_costs){
            .inner = {l->latency_s, byte_s, byte_s},
            .outer = {l->latency_s + c->wan_latency_s, 8 * (1 + l->overhead) / c->wan_bps, byte_s},
            .inner_overhead = l->overhead};
    return (struct cc_link_costs){
        .inner = {c->intra.latency_s, cc_link_byte_s(&c->intra), cc_link_byte_s(&c->intra)},
        .outer = {l->latency_s, byte_s, 0},
        .inner_overhead = c->intra.overhead};
}

static int site_of(int i, int sites, int of)
{
    return (int)((long long)i * sites / of);
}

int cc_group_of(const struct cc_cluster *c, int rank)
{
    return c->sites > 1 ? site_of(rank, c->sites, c->workers) : rank / cc_cluster_per_host(c);
}

static int nics_of(const struct cc_cluster *c)
{
    return c->nics > 1 ? c->nics : 1;
}

int cc_port_of(const struct cc_cluster *c, int rank)
{
    if (c->sites > 1)
        return cc_group_of(c, rank);
    const int per = cc_cluster_per_host(c);
    return rank / per * nics_of(c) + rank % per % nics_of(c);
}

/* --- pairs --- */

static int member_rank(int member, int extras)
{
    return member < extras ? 2 * member + 1 : member + extras;
}

int cc_partner(const struct cc_cluster *c, enum cc_pairs pairs, int distance, int rank)
{
    const int extras = c->workers - cc_power_below(c->workers);
    const bool paired = rank < 2 * extras, odd = rank % 2 == 1;
    if (pairs == CC_PAIR_BELOW)
        return (rank + c->workers - distance) % c->workers;
    if (pairs == CC_PAIR_EXTRAS)
        return paired && !odd ? rank + 1 : -1;
    if (paired && !odd)
        return -1;
    return member_rank((paired ? rank / 2 : rank - extras) ^ distance, extras);
}

/* Messages of a round, at most: those that share a link between groups, all that leave a group, and
 * those inside one. */
struct crossing {
    int outer, left, inner;
};

/* Counts by the groups that messages leave, and between sites by those that they enter, too. Hosts
 * are alike, and the first ones stand for all. */
static struct crossing crossing_of(const struct cc_cluster *c, enum cc_pairs pairs, int distance)
{
    enum { MOST_LINKS = CC_CLUSTER_NICS, MOST_COUNTED = 8192 };
    const bool sites = c->sites > 1;
    const int ranks = sites || c->workers < MOST_COUNTED ? c->workers : MOST_COUNTED;
    int count[MOST_LINKS] = {0}, inside = 0, left = 0, group = 0;
    struct crossing most = {0, 0, 0};
    for (int i = 0; i < ranks; i++) {
        const int own = cc_group_of(c, i), to = cc_partner(c, pairs, distance, i);
        if (own != group) {
            for (int s = 0; s < MOST_LINKS; s++)
                count[s] = 0;
            inside = left = 0;
            group = own;
        }
        if (to < 0)
            continue;
        const int other = cc_group_of(c, to);
        if (other == own) {
            most.inner = ++inside > most.inner ? inside : most.inner;
            continue;
        }
        const int at = sites ? other % MOST_LINKS : cc_port_of(c, i) % nics_of(c);
        most.outer = ++count[at] > most.outer ? count[at] : most.outer;
        most.left = ++left > most.left ? left : most.left;
    }
    return most;
}

double cc_class_s(const struct cc_class *class, double shared, double own)
{
    return fmax(shared * class->shared_byte_s, own * class->own_byte_s);
}

/* Adds what the slower of two classes takes. */
static void add_slower(const struct cc_link_costs *x, double inner_s, double outer_s,
                       struct cc_cost *c)
{
    const bool outer =
        outer_s > 0 && (inner_s == 0 || x->outer.alpha + outer_s >= x->inner.alpha + inner_s);
    c->push_latency_s += outer ? x->outer.alpha : x->inner.alpha;
    c->push_transfer_s += outer ? outer_s : inner_s;
}

/* Adds the bytes of messages: `own` of each worker, of which `left` of all in a host leave it. */
static void add_bytes(const struct cc_exchange_case *k, const struct cc_link_costs *x, double own,
                      double left, double inside, struct cc_cost *c)
{
    const bool sites = k->cluster->sites > 1;
    c->wire_bytes += (sites ? own : left) * (1 + k->link->overhead);
    c->intra_bytes += sites ? 0 : inside * (1 + x->inner_overhead);
}

struct cc_partners *cc_round(struct cc_rounds *r, enum cc_pairs pairs, int distance, double bytes,
                             bool sent)
{
    struct cc_partners *p = &r->item[r->count++];
    *p = (struct cc_partners){.pairs = pairs, .distance = distance, .bytes = bytes, .sent = sent};
    return p;
}

/* All workers in step: a round ends for all when it ends for the last. */
static void add_in_step(const struct cc_exchange_case *k, const struct cc_link_costs *x,
                        const struct cc_partners *p, struct cc_cost *c)
{
    const struct crossing n = crossing_of(k->cluster, p->pairs, p->distance);
    const double wire = cc_framed(k->link, p->bytes);
    add_slower(x, n.inner > 0 ? cc_class_s(&x->inner, wire, wire) : 0,
               n.outer > 0 ? cc_class_s(&x->outer, n.outer * wire, wire) : 0, c);
}

/* --- workers that are not in step --- */

/* Where hosts have different partners, each worker goes on when its own partner has: the clock of
 * each, and its part that is latency. */
enum { MOST_CLOCKS = 1024 };
struct clocks {
    double now[MOST_CLOCKS], latency[MOST_CLOCKS];
    int left[MOST_CLOCKS], entered[MOST_CLOCKS]; /* by port: messages of a round */
};

/* Members of a power of two are spread over hosts unevenly if others are among them. */
static bool uneven(const struct cc_cluster *c)
{
    return c->sites <= 1 && c->workers <= MOST_CLOCKS &&
           (cc_power_below(c->workers) < c->workers || cc_power_below(c->per_host) < c->per_host);
}

static void count_crossing(const struct cc_cluster *c, const struct cc_partners *p,
                           struct clocks *t)
{
    for (int i = 0; i < c->workers; i++)
        t->left[i] = t->entered[i] = 0;
    for (int i = 0; i < c->workers; i++) {
        const int to = cc_partner(c, p->pairs, p->distance, i);
        if (to < 0 || cc_group_of(c, to) == cc_group_of(c, i))
            continue;
        t->left[cc_port_of(c, i)]++;
        t->entered[cc_port_of(c, to)]++;
    }
}

/* Partners begin together, and both go on when the slower of their two messages is there. */
static void advance(const struct cc_exchange_case *k, const struct cc_link_costs *x,
                    const struct cc_partners *p, struct clocks *t)
{
    const struct cc_cluster *c = k->cluster;
    const double wire = cc_framed(k->link, p->bytes);
    count_crossing(c, p, t);
    for (int i = 0; i < c->workers; i++) {
        const int to = cc_partner(c, p->pairs, p->distance, i);
        const bool both = p->pairs == CC_PAIR_MEMBERS;
        if (to < 0 || (both && to < i))
            continue;
        const int from = cc_port_of(c, i), at = cc_port_of(c, to);
        const int out = t->left[from] > t->entered[at] ? t->left[from] : t->entered[at];
        const int back = t->left[at] > t->entered[from] ? t->left[at] : t->entered[from];
        const int share = both && back > out ? back : out;
        const bool inner = cc_group_of(c, i) == cc_group_of(c, to);
        const double alpha = inner ? x->inner.alpha : x->outer.alpha;
        const double takes =
            inner ? cc_class_s(&x->inner, wire, wire) : cc_class_s(&x->outer, share * wire, wire);
        const int last = t->now[i] >= t->now[to] ? i : to;
        t->now[i] = t->now[to] = t->now[last] + alpha + takes;
        t->latency[i] = t->latency[to] = t->latency[last] + alpha;
    }
}

static void add_clocks(const struct cc_exchange_case *k, const struct cc_link_costs *x,
                       const struct cc_rounds *r, struct cc_cost *c)
{
    struct clocks t = {.now = {0}};
    int last = 0;
    for (int i = 0; i < r->count; i++)
        advance(k, x, &r->item[i], &t);
    for (int i = 0; i < k->cluster->workers; i++)
        last = t.now[i] > t.now[last] ? i : last;
    c->push_latency_s += t.latency[last];
    c->push_transfer_s += t.now[last] - t.latency[last];
}

void cc_add_partners(const struct cc_exchange_case *k, const struct cc_rounds *r, struct cc_cost *c)
{
    const struct cc_cluster *cluster = k->cluster;
    if (!cc_cluster_two_classes(cluster)) {
        for (int i = 0; i < r->count; i++)
            cc_add_rounds(k, 1, r->item[i].bytes, r->item[i].sent, c);
        return;
    }
    const struct cc_link_costs x = cc_classes_of(k);
    const bool by_clock = r->item[0].pairs != CC_PAIR_BELOW && uneven(cluster);
    if (by_clock)
        add_clocks(k, &x, r, c);
    for (int i = 0; i < r->count; i++) {
        const struct cc_partners *p = &r->item[i];
        const struct crossing n = crossing_of(cluster, p->pairs, p->distance);
        const double wire = cc_framed(k->link, p->bytes);
        if (!by_clock)
            add_in_step(k, &x, p, c);
        c->rounds++;
        c->messages += p->sent;
        if (p->sent)
            add_bytes(k, &x, wire, n.left * wire, n.inner * wire, c);
    }
}

/* --- rings --- */

/* A ring over groups that are alike: what each message of its tours, and the work on a chunk in
 * each hop of the first, takes. */
struct ring {
    int tours;            /* 1 or 2 */
    double hops;          /* of a tour */
    double group;         /* workers in a row whose messages, but for the last one's, stay inside */
    bool crosses;         /* the last one's goes to the next group */
    double first, second; /* bytes on the wire, in each of the tours */
    double work_s;        /* of all hops together */
};

static double hop_s(const struct cc_link_costs *x, bool outer, double bytes)
{
    return cc_class_s(outer ? &x->outer : &x->inner, bytes, bytes);
}

/* A chunk goes on when it is there, worked on, and the link is free of the one before. */
enum { MOST_PLACES = 512, MOST_STEPS = 400000 };
static double ring_s(const struct cc_link_costs *x, const struct ring *r)
{
    double there[MOST_PLACES] = {0}, free_at[MOST_PLACES] = {0}, end = 0;
    const int group = (int)r->group, rounds = r->tours * (int)r->hops;
    for (int k = 0; k < rounds; k++) {
        const double work = k > 0 && k <= r->hops ? r->work_s / r->hops : 0;
        const double wire = k < r->hops ? r->first : r->second;
        const double from_last = there[group - 1];
        for (int i = group - 1; i >= 0; i--) {
            const bool outer = r->crosses && i == group - 1;
            const double ready = (i > 0 ? there[i - 1] : from_last) + work;
            free_at[i] = fmax(free_at[i], ready) + hop_s(x, outer, wire);
            there[i] = free_at[i] + (outer ? x->outer.alpha : x->inner.alpha);
            end = fmax(end, there[i]);
        }
    }
    return end + (r->tours == 1 ? r->work_s / r->hops : 0);
}

/* The same of long rings, by the longer of two ways: chunks queue at the slowest link, or go round
 * without waiting, from group to group as often as their hops reach. */
static double long_ring_s(const struct cc_link_costs *x, const struct ring *r)
{
    const double all = r->tours * r->hops;
    const double each = r->tours == 1 ? r->first : (r->first + r->second) / 2;
    const double crossings = r->crosses ? ceil(all / r->group) : 0;
    const double inner = hop_s(x, false, each), outer = hop_s(x, true, each);
    const double way = crossings * (x->outer.alpha + outer) +
                       (all - crossings) * (x->inner.alpha + inner) + r->work_s;
    const double queue = r->crosses ? x->outer.alpha + all * outer : 0;
    return fmax(queue, way);
}

double cc_add_ring(const struct cc_exchange_case *k, int tours, double first_bytes,
                   double second_bytes, double work_s, struct cc_cost *c)
{
    const struct cc_cluster *cluster = k->cluster;
    const double hops = cluster->workers - 1;
    if (!cc_cluster_two_classes(cluster)) {
        cc_add_rounds(k, hops, first_bytes, true, c);
        if (tours > 1)
            cc_add_rounds(k, hops, second_bytes, true, c);
        return 1;
    }
    const struct cc_link_costs x = cc_classes_of(k);
    const double group =
        cluster->sites > 1 ? floor((double)cluster->workers / cluster->sites) : cluster->per_host;
    const bool crosses = group < cluster->workers;
    const double second = tours == 1 ? 0 : cc_framed(k->link, second_bytes);
    struct ring r = {.tours = tours,
                     .hops = hops,
                     .group = group,
                     .crosses = crosses,
                     .first = cc_framed(k->link, first_bytes),
                     .second = second,
                     .work_s = work_s};
    double (*const takes)(const struct cc_link_costs *, const struct ring *) =
        group <= MOST_PLACES && tours * hops * group <= MOST_STEPS ? ring_s : long_ring_s;
    const double working = takes(&x, &r);
    r.work_s = 0;
    const double plain = takes(&x, &r), wire = hops * (r.first + r.second);
    /* The transfer is what the slowest link is busy for, also where chunks do not wait for it. */
    const double busy = hops * fmax(hop_s(&x, r.crosses, r.first), hop_s(&x, false, r.first)) +
                        hops * fmax(hop_s(&x, r.crosses, r.second), hop_s(&x, false, r.second));
    c->push_transfer_s += busy;
    c->push_latency_s += fmax(0, plain - busy);
    c->rounds += tours * hops;
    c->messages += tours * hops;
    add_bytes(k, &x, wire, r.crosses ? wire : 0, (group - r.crosses) * wire, c);
    return work_s > 0 ? (working - plain) / work_s : 1;
}

/* --- all to all --- */

void cc_add_stage(const struct cc_exchange_case *k, double bytes, struct cc_cost *c)
{
    const struct cc_cluster *cluster = k->cluster;
    const double workers = cluster->workers, count = workers - 1;
    const double wire = cc_framed(k->link, bytes);
    double transfer;
    if (!cc_cluster_two_classes(cluster)) {
        transfer = count * wire * cc_link_byte_s(k->link);
        c->push_latency_s += k->link->latency_s;
        c->push_transfer_s += transfer;
        c->wire_bytes += count * wire * (1 + k->link->overhead);
    } else {
        const struct cc_link_costs x = cc_classes_of(k);
        const double group =
            cluster->sites > 1 ? ceil(workers / cluster->sites) : cluster->per_host;
        const double others = workers - group;
        const double shared =
            cluster->sites > 1 ? group * fmin(group, others) : cc_cluster_per_nic(cluster) * others;
        const double inner = (group - 1) * wire * x.inner.own_byte_s;
        const double outer = others > 0 ? cc_class_s(&x.outer, shared * wire, count * wire) : 0;
        add_slower(&x, inner, outer, c);
        transfer = fmax(inner, outer);
        add_bytes(k, &x, count * wire, group * others * wire, group * (group - 1) * wire, c);
    }
    c->push_transfer_s += fmax(0, (count - 1) * k->link->message_s - transfer);
    c->rounds++;
    c->messages += count;
}

void cc_add_group_stage(const struct cc_exchange_case *k, bool inner, double bytes,
                        struct cc_cost *c)
{
    const struct cc_link_costs x = cc_classes_of(k);
    const double ranks = cc_cluster_per_host(k->cluster), hosts = cc_cluster_hosts(k->cluster);
    const double count = (inner ? ranks : hosts) - 1, wire = cc_framed(k->link, bytes);
    const double sharing = cc_cluster_per_nic(k->cluster);
    const double transfer = inner ? count * wire * x.inner.own_byte_s
                                  : cc_class_s(&x.outer, sharing * count * wire, count * wire);
    if (count == 0)
        return;
    const double rounds = cc_stage_is_ring(k->cluster, inner) ? count : 1;
    c->push_latency_s += rounds * (inner ? x.inner.alpha : x.outer.alpha);
    c->push_transfer_s += fmax(transfer, (count - rounds) * k->link->message_s);
    c->push_inner_s += inner ? transfer : 0;
    c->rounds += rounds;
    c->messages += count;
    add_bytes(k, &x, count * wire, inner ? 0 : ranks * count * wire,
              inner ? ranks * count * wire : 0, c);
}

/* --- servers --- */

double cc_wan_flows(const struct cc_cluster *c, int servers)
{
    double most = 0;
    for (int a = 0; a < c->sites; a++)
        for (int b = 0; b < c->sites; b++) {
            double workers = 0, there = 0;
            for (int i = 0; i < c->workers && a != b; i++)
                workers += site_of(i, c->sites, c->workers) == a;
            for (int j = 0; j < servers && a != b; j++)
                there += (c->colocated ? site_of(j, c->sites, c->workers)
                                       : site_of(j, c->sites, c->servers)) == b;
            most = fmax(most, workers * there);
        }
    return most;
}
