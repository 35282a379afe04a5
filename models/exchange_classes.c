/* Rounds on clusters with several classes of links: hosts with several accelerators, and sites.
 *
 * A message of n bytes takes alpha + n beta of its class. Inside a host (or a site) every worker
 * has a port of its own. Between hosts, K messages that leave a host at once share its port, or of
 * several ports that of their senders: alpha + K n beta. Between sites, L messages between the same
 * two sites share their link, and each also takes its host's own port: alpha + max(L beta_wan,
 * K beta) n. A round takes as long as the slowest class.
 *
 * Ranks follow one another host by host and site by site, so that K follows from the distance of
 * partners: 1 in a ring, up to a whole host in a round of recursive doubling. Workers of one host
 * do not wait for those of another but for their partners; where partners of one round are of both
 * classes, the sum over rounds is an upper bound, which is reached if the shared links are always
 * busy. docs/model.md, "Links of two classes". */
#include <math.h>
#include <string.h>

#include "models/exchange_classes.h"

struct cc_link_costs cc_classes_of(const struct cc_exchange_case *k)
{
    const struct cc_cluster *c = k->cluster;
    const struct cc_link *l = k->link;
    const double byte_s = cc_link_byte_s(l);
    struct cc_link_costs x = {.level[CC_BETWEEN] = {l->latency_s, byte_s, 0},
                              .inner_overhead = c->intra.overhead};
    if (cc_cluster_per_host(c) > 1)
        x.level[CC_INSIDE] = (struct cc_class){c->intra.latency_s, cc_link_byte_s(&c->intra), 0};
    if (c->sites > 1)
        x.level[CC_FAR] = (struct cc_class){l->latency_s + c->wan_latency_s, byte_s,
                                            8 * (1 + l->overhead) / c->wan_bps};
    return x;
}

static int sites_of(const struct cc_cluster *c)
{
    return c->sites > 1 ? c->sites : 1;
}

/* The site of one of a row, which sites have in equal blocks. */
static int block_of(int i, int sites, int of)
{
    return (int)((long long)i * sites / of);
}

int cc_site_of(const struct cc_cluster *c, int rank)
{
    return block_of(cc_host_of(c, rank), sites_of(c), cc_cluster_hosts(c));
}

enum cc_level cc_level_of(const struct cc_cluster *c, int from, int to)
{
    if (cc_host_of(c, from) == cc_host_of(c, to))
        return CC_INSIDE;
    return cc_site_of(c, from) == cc_site_of(c, to) ? CC_BETWEEN : CC_FAR;
}

int cc_port_of(const struct cc_cluster *c, int rank)
{
    const int per = cc_cluster_per_host(c);
    return rank / per * cc_cluster_nics(c) + rank % per % cc_cluster_nics(c);
}

int cc_wan_of(const struct cc_cluster *c, int from, int to)
{
    return cc_site_of(c, from) * sites_of(c) + cc_site_of(c, to);
}

/* The workers of the largest site. */
static double most_of_site(const struct cc_cluster *c)
{
    return ceil((double)cc_cluster_hosts(c) / sites_of(c)) * cc_cluster_per_host(c);
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

/* Messages of a round, at most: those that leave a host by one port, those that share a link
 * between sites, all that leave a host, and those inside one. */
struct crossing {
    int port, wan, left, inner;
    bool near; /* some of those that leave a host stay in its site */
};

/* Counts by the hosts that messages leave, and between sites by those that they enter, too. Hosts
 * are alike, and without sites the first ones stand for all. */
static struct crossing crossing_of(const struct cc_cluster *c, enum cc_pairs pairs, int distance)
{
    enum { MOST_COUNTED = 8192 };
    const int ranks = c->sites > 1 || c->workers < MOST_COUNTED ? c->workers : MOST_COUNTED;
    int port[CC_CLUSTER_NICS] = {0}, wan[CC_CLUSTER_NICS] = {0}, inside = 0, left = 0;
    struct crossing most = {.port = 0};
    for (int i = 0; i < ranks; i++) {
        const int to = cc_partner(c, pairs, distance, i);
        if (i > 0 && cc_host_of(c, i) != cc_host_of(c, i - 1)) {
            memset(port, 0, sizeof port);
            inside = left = 0;
        }
        if (i > 0 && cc_site_of(c, i) != cc_site_of(c, i - 1))
            memset(wan, 0, sizeof wan);
        if (to < 0)
            continue;
        const enum cc_level level = cc_level_of(c, i, to);
        if (level == CC_INSIDE) {
            most.inner = ++inside > most.inner ? inside : most.inner;
            continue;
        }
        const int shared = ++port[cc_port_of(c, i) % cc_cluster_nics(c)];
        most.port = shared > most.port ? shared : most.port;
        most.left = ++left > most.left ? left : most.left;
        most.near = most.near || level == CC_BETWEEN;
        if (level == CC_FAR && ++wan[cc_site_of(c, to)] > most.wan)
            most.wan = wan[cc_site_of(c, to)];
    }
    return most;
}

double cc_class_s(const struct cc_class *class, double port, double wan)
{
    return fmax(port * class->port_byte_s, wan * class->wan_byte_s);
}

/* Adds what the slowest of the classes takes, of those that take any time. */
static void add_slowest(const struct cc_link_costs *x, const double takes_s[CC_LEVELS],
                        struct cc_cost *c)
{
    int slowest = CC_INSIDE;
    for (int i = CC_BETWEEN; i < CC_LEVELS; i++)
        if (takes_s[i] > 0 &&
            (takes_s[slowest] == 0 ||
             x->level[i].alpha + takes_s[i] >= x->level[slowest].alpha + takes_s[slowest]))
            slowest = i;
    c->push_latency_s += x->level[slowest].alpha;
    c->push_transfer_s += takes_s[slowest];
}

/* Adds the bytes of messages, of which `left` leave a host and `inside` do not. */
static void add_bytes(const struct cc_exchange_case *k, const struct cc_link_costs *x, double left,
                      double inside, struct cc_cost *c)
{
    c->wire_bytes += left * (1 + k->link->overhead);
    c->intra_bytes += inside * (1 + x->inner_overhead);
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
    const double wire = cc_framed(k->link, p->bytes), port = n.port * wire;
    const double takes_s[CC_LEVELS] = {
        [CC_INSIDE] = n.inner > 0 ? cc_class_s(&x->level[CC_INSIDE], wire, 0) : 0,
        [CC_BETWEEN] = n.near ? cc_class_s(&x->level[CC_BETWEEN], port, 0) : 0,
        [CC_FAR] = n.wan > 0 ? cc_class_s(&x->level[CC_FAR], port, n.wan * wire) : 0};
    add_slowest(x, takes_s, c);
}

/* --- workers that are not in step --- */

/* Where hosts have different partners, each worker goes on when its own partner has: the clock of
 * each, and its part that is latency. */
enum { MOST_CLOCKS = 1024 };
struct clocks {
    double now[MOST_CLOCKS], latency[MOST_CLOCKS];
    int left[MOST_CLOCKS], entered[MOST_CLOCKS]; /* by port: messages of a round */
    int wan[CC_CLUSTER_WANS];                    /* by link between sites */
};

/* Members of a power of two are spread over hosts unevenly if others are among them. */
static bool uneven(const struct cc_cluster *c)
{
    const int per_host = cc_cluster_per_host(c);
    return c->workers <= MOST_CLOCKS &&
           (cc_power_below(c->workers) < c->workers || cc_power_below(per_host) < per_host);
}

static void count_crossing(const struct cc_cluster *c, const struct cc_partners *p,
                           struct clocks *t)
{
    for (int i = 0; i < c->workers; i++)
        t->left[i] = t->entered[i] = 0;
    for (int i = 0; i < c->sites * c->sites; i++)
        t->wan[i] = 0;
    for (int i = 0; i < c->workers; i++) {
        const int to = cc_partner(c, p->pairs, p->distance, i);
        if (to < 0 || cc_level_of(c, i, to) == CC_INSIDE)
            continue;
        t->left[cc_port_of(c, i)]++;
        t->entered[cc_port_of(c, to)]++;
        if (c->sites > 1)
            t->wan[cc_wan_of(c, i, to)]++;
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
        const enum cc_level level = cc_level_of(c, i, to);
        const double alpha = x->level[level].alpha;
        const int wan = level == CC_FAR ? t->wan[cc_wan_of(c, i, to)] : 0;
        const double takes =
            cc_class_s(&x->level[level], (level == CC_INSIDE ? 1 : share) * wire, wan * wire);
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
            add_bytes(k, &x, n.left * wire, n.inner * wire, c);
    }
}

/* --- rings --- */

/* A ring over sites, or hosts, that are alike, or over all workers: what each message of its tours,
 * and the work on a chunk in each hop of the first, takes. */
struct ring {
    const struct cc_cluster *c;
    int tours;            /* 1 or 2 */
    double hops;          /* of a tour */
    int group;            /* workers of one, or all */
    double first, second; /* bytes on the wire, in each of the tours */
    double work_s;        /* of all hops together */
};

/* The level of the message of the i-th worker. */
static enum cc_level level_at(const struct ring *r, int i)
{
    return cc_level_of(r->c, i, (i + 1) % r->c->workers);
}

static double hop_s(const struct cc_link_costs *x, enum cc_level level, double bytes)
{
    return cc_class_s(&x->level[level], bytes, bytes);
}

/* A chunk goes on when it is there, worked on, and the link is free of the one before. */
enum { MOST_PLACES = 512, MOST_STEPS = 400000 };
static double ring_s(const struct cc_link_costs *x, const struct ring *r)
{
    double there[MOST_PLACES] = {0}, free_at[MOST_PLACES] = {0}, end = 0;
    const int rounds = r->tours * (int)r->hops;
    for (int k = 0; k < rounds; k++) {
        const double work = k > 0 && k <= r->hops ? r->work_s / r->hops : 0;
        const double wire = k < r->hops ? r->first : r->second;
        const double from_last = there[r->group - 1];
        for (int i = r->group - 1; i >= 0; i--) {
            const enum cc_level level = level_at(r, i);
            const double ready = (i > 0 ? there[i - 1] : from_last) + work;
            free_at[i] = fmax(free_at[i], ready) + hop_s(x, level, wire);
            there[i] = free_at[i] + x->level[level].alpha;
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
    const int per_host = cc_cluster_per_host(r->c), hosts = cc_cluster_hosts(r->c);
    const double far = r->c->sites > 1 ? ceil(all * r->c->sites / r->c->workers) : 0;
    const double between = hosts > 1 ? ceil(all / per_host) - far : 0;
    const double hops[CC_LEVELS] = {all - between - far, between, far};
    double way = r->work_s, queue = 0;
    for (int i = 0; i < CC_LEVELS; i++) {
        const double takes = hop_s(x, (enum cc_level)i, each);
        way += hops[i] * (x->level[i].alpha + takes);
        if (i != CC_INSIDE && hops[i] > 0)
            queue = fmax(queue, x->level[i].alpha + all * takes);
    }
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
    const int per_host = cc_cluster_per_host(cluster), hosts = cc_cluster_hosts(cluster);
    const int groups = cluster->sites > 1 ? cluster->sites : hosts;
    const double second = tours == 1 ? 0 : cc_framed(k->link, second_bytes);
    struct ring r = {.c = cluster,
                     .tours = tours,
                     .hops = hops,
                     .group = hosts % groups == 0 ? cluster->workers / groups : cluster->workers,
                     .first = cc_framed(k->link, first_bytes),
                     .second = second,
                     .work_s = work_s};
    double (*const takes)(const struct cc_link_costs *, const struct ring *) =
        r.group <= MOST_PLACES && tours * hops * r.group <= MOST_STEPS ? ring_s : long_ring_s;
    const double working = takes(&x, &r);
    r.work_s = 0;
    const double plain = takes(&x, &r), wire = hops * (r.first + r.second);
    /* The transfer is what the slowest link is busy for, also where chunks do not wait for it. */
    double busy = 0;
    for (int i = 0; i < r.group; i++)
        busy = fmax(busy, hop_s(&x, level_at(&r, i), wire));
    c->push_transfer_s += busy;
    c->push_latency_s += fmax(0, plain - busy);
    c->rounds += tours * hops;
    c->messages += tours * hops;
    add_bytes(k, &x, hosts > 1 ? wire : 0, (per_host - (hosts > 1)) * wire, c);
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
        const double ranks = cc_cluster_per_host(cluster), others = workers - ranks;
        const double site = most_of_site(cluster), far = workers - site;
        const double port = cc_cluster_per_nic(cluster) * others * wire;
        const enum cc_level level = far > 0 ? CC_FAR : CC_BETWEEN;
        double takes_s[CC_LEVELS] = {[CC_INSIDE] =
                                         cc_class_s(&x.level[CC_INSIDE], (ranks - 1) * wire, 0)};
        takes_s[level] = cc_class_s(&x.level[level], port, site * fmin(site, far) * wire);
        add_slowest(&x, takes_s, c);
        transfer = fmax(takes_s[CC_INSIDE], takes_s[level]);
        add_bytes(k, &x, ranks * others * wire, ranks * (ranks - 1) * wire, c);
    }
    c->push_transfer_s += fmax(0, (count - 1) * k->link->message_s - transfer);
    c->rounds++;
    c->messages += count;
}

/* Messages between the busiest two sites in one direction, from each of their hosts' workers to
 * those of its local number; round a ring, a host's to the next one. */
static double group_stage_far(const struct cc_cluster *c)
{
    const double ranks = cc_cluster_per_host(c), hosts = cc_cluster_hosts(c);
    const double site = most_of_site(c) / ranks, far = hosts - site;
    return far <= 0                     ? 0
           : cc_stage_is_ring(c, false) ? ranks * (hosts - 1)
                                        : ranks * site * fmin(site, far);
}

void cc_add_group_stage(const struct cc_exchange_case *k, bool inner, double bytes,
                        struct cc_cost *c)
{
    const struct cc_link_costs x = cc_classes_of(k);
    const double ranks = cc_cluster_per_host(k->cluster), hosts = cc_cluster_hosts(k->cluster);
    const double count = (inner ? ranks : hosts) - 1, wire = cc_framed(k->link, bytes);
    const double sharing = inner ? 1 : cc_cluster_per_nic(k->cluster);
    const enum cc_level level = inner ? CC_INSIDE : k->cluster->sites > 1 ? CC_FAR : CC_BETWEEN;
    const double transfer =
        cc_class_s(&x.level[level], sharing * count * wire, group_stage_far(k->cluster) * wire);
    if (count == 0)
        return;
    const double rounds = cc_stage_is_ring(k->cluster, inner) ? count : 1;
    c->push_latency_s += rounds * x.level[level].alpha;
    c->push_transfer_s += fmax(transfer, (count - rounds) * k->link->message_s);
    c->push_inner_s += inner ? transfer : 0;
    c->rounds += rounds;
    c->messages += count;
    add_bytes(k, &x, inner ? 0 : ranks * count * wire, inner ? ranks * count * wire : 0, c);
}

/* --- servers --- */

double cc_wan_flows(const struct cc_cluster *c, int servers)
{
    double most = 0;
    for (int a = 0; a < c->sites; a++)
        for (int b = 0; b < c->sites; b++) {
            double workers = 0, there = 0;
            for (int i = 0; i < c->workers && a != b; i++)
                workers += cc_site_of(c, i) == a;
            for (int j = 0; j < servers && a != b; j++)
                there += (c->colocated ? cc_site_of(c, j) : block_of(j, c->sites, c->servers)) == b;
            most = fmax(most, workers * there);
        }
    return most;
}
