/* tree: two binary trees of half of the values each, in K chunks that follow one another
 * (core/schedule_tree.c has the algorithm, core/exchange_tree.h who is whose parent).
 *
 * One chunk goes up the deeper of the trees and down again: at each node the last child's message
 * takes alpha + c beta, or alpha + 2 c beta where two come together, c being half of a chunk; the
 * node adds what it gets and encodes the sum. Each further chunk takes what the busiest port, or
 * processor, does for it, or the first message of a rank, after which that begins the next chunk.
 * docs/model.md, "Exchanges". */
#include <math.h>

#include "core/exchange_tree.h"
#include "models/exchange_classes.h"

/* The costs of a node's work and messages for one chunk: half of it in each of the trees. */
struct tree {
    const struct cc_exchange_case *k;
    struct cc_link_costs x;
    int which;                      /* of the two */
    double part;                    /* of the message, in each tree */
    double first_s, sum_s, whole_s; /* encoding a gradient, a sum, the whole sum */
    double add_s, decode_s;         /* of half a chunk, as are those */
    double end_s, end_latency_s;    /* when the last rank has the whole sum */
    double wan_s[CC_CLUSTER_WANS];  /* a link between sites, for one chunk */
};

static struct cc_tree_place place_of(const struct tree *t, int rank)
{
    const struct cc_cluster *c = t->k->cluster;
    return cc_tree_place(c->workers, cc_cluster_per_host(c), t->which, rank);
}

/* Bytes on the wire of half a chunk that is the sum of so many workers. */
static double wire_bytes(const struct tree *t, int workers)
{
    const struct cc_payload_cost *m = t->k->message;
    const double all = t->k->reduction == CC_REDUCE_SUM ? m->push_bytes : cc_hop_bytes(m, workers);
    return cc_framed(t->k->link, t->part * all);
}

static const struct cc_class *class_of(const struct tree *t, int from, int to)
{
    const struct cc_cluster *c = t->k->cluster;
    return &t->x.level[cc_level_of(c, from, to)];
}

/* A time, and the part of it that is latency. */
struct moment {
    double at, latency;
};

/* When a rank's sum is encoded, or, of the root, whole and encoded. */
static struct moment sum_up(const struct tree *t, int rank)
{
    const struct cc_tree_place p = place_of(t, rank);
    struct moment last = {0, 0};
    double ports[2] = {0, 0}; /* until when they receive: inside, between */
    for (int i = 0; i < p.children; i++) {
        const struct cc_class *class = class_of(t, p.child[i], rank);
        const double bytes = wire_bytes(t, p.child_workers[i]);
        const struct moment begins = sum_up(t, p.child[i]);
        double *const port = &ports[class != &t->x.level[CC_INSIDE]];
        *port = fmax(*port, begins.at) + cc_class_s(class, bytes, bytes);
        const double there = *port + class->alpha;
        if (there >= last.at)
            last.latency = begins.latency + class->alpha;
        last.at = fmax(last.at, there) + t->add_s;
    }
    last.at += p.parent < 0 ? t->whole_s : p.children > 0 ? t->sum_s : t->first_s;
    return last;
}

/* Passes the whole sum on, which a rank has at a time. */
static void pass_down(struct tree *t, int rank, struct moment has)
{
    const struct cc_tree_place p = place_of(t, rank);
    double ports[2] = {has.at, has.at};
    if (has.at + t->decode_s > t->end_s) {
        t->end_s = has.at + t->decode_s;
        t->end_latency_s = has.latency;
    }
    for (int i = 0; i < p.children; i++) {
        const struct cc_class *class = class_of(t, rank, p.child[i]);
        const double bytes = wire_bytes(t, t->k->cluster->workers);
        double *const port = &ports[class != &t->x.level[CC_INSIDE]];
        *port += cc_class_s(class, bytes, bytes);
        pass_down(t, p.child[i], (struct moment){*port + class->alpha, has.latency + class->alpha});
    }
}

/* The work of ranks and ports for one chunk, in both trees together: the most of any of them. */
struct loads {
    double own_s, shared_s;        /* a worker's own port, each way; a host's, or a WAN link */
    double work_s;                 /* of a processor */
    double first_s, last_s;        /* the parts of it before the first byte, and after the last */
    double wire, inside, messages; /* of the busiest host, without headers */
};

/* A rank's part in the loads of its host's ports: [port][way]. */
static void add_rank(struct tree *t, int rank, double (*port_s)[2], struct loads *host,
                     struct loads *most)
{
    const struct cc_cluster *c = t->k->cluster;
    const int nics = cc_cluster_nics(c);
    double own_s[2] = {0, 0}, work_s = 0, first_s = 0;
    for (t->which = 0; t->which < 2; t->which++) {
        const struct cc_tree_place p = place_of(t, rank);
        const double whole = wire_bytes(t, c->workers), up = wire_bytes(t, p.workers);
        work_s += p.children * t->add_s + t->decode_s;
        work_s += p.parent < 0 ? t->whole_s : p.children > 0 ? t->sum_s : t->first_s;
        first_s += p.children > 0 ? 0 : t->first_s;
        for (int i = -1; i < p.children; i++) {
            const int other = i < 0 ? p.parent : p.child[i];
            if (other < 0)
                continue;
            const struct cc_class *class = class_of(t, rank, other);
            const double out = i < 0 ? up : whole;
            const double in = i < 0 ? whole : wire_bytes(t, p.child_workers[i]);
            const bool outer = class != &t->x.level[CC_INSIDE];
            double *const port = outer ? port_s[cc_port_of(c, rank) % nics] : own_s;
            port[0] += out * class->port_byte_s;
            port[1] += in * class->port_byte_s;
            if (class->wan_byte_s > 0)
                t->wan_s[cc_wan_of(c, rank, other)] += out * class->wan_byte_s;
            *(outer ? &host->wire : &host->inside) += out;
            host->messages += outer;
        }
    }
    most->own_s = fmax(most->own_s, fmax(own_s[0], own_s[1]));
    if (work_s > most->work_s) {
        most->work_s = work_s;
        most->first_s = first_s;
    }
}

static struct loads loads_of(struct tree *t)
{
    const struct cc_cluster *c = t->k->cluster;
    struct loads most = {.own_s = 0};
    for (int from = 0, to; from < c->workers; from = to) {
        double port_s[CC_CLUSTER_NICS][2] = {{0}};
        struct loads host = {.own_s = 0};
        for (to = from; to < c->workers && cc_host_of(c, to) == cc_host_of(c, from); to++)
            add_rank(t, to, port_s, &host, &most);
        for (int i = 0; i < CC_CLUSTER_NICS; i++)
            most.shared_s = fmax(most.shared_s, fmax(port_s[i][0], port_s[i][1]));
        most.wire = fmax(most.wire, host.wire);
        most.inside = fmax(most.inside, host.inside);
        most.messages = fmax(most.messages, host.messages);
    }
    for (int i = 0; i < c->sites * c->sites; i++)
        most.shared_s = fmax(most.shared_s, t->wan_s[i]);
    return most;
}

/* The time of one chunk in the slower tree. */
static void follow(struct tree *t)
{
    for (t->which = 0; t->which < 2; t->which++) {
        int root = 0;
        while (place_of(t, root).parent >= 0)
            root++;
        pass_down(t, root, sum_up(t, root));
    }
}

/* The share of the time for which the busiest port of three hosts or more has something to send:
 * chunks on their way up and down share ports as they come, so that some wait for those of others.
 * Simulated, 5 to 16 workers in 8 to 32 chunks: 0.80 to 0.90. */
#define PORT_SHARE 0.85

/* How long a rank's first message takes, before which it does not begin the next chunk: to its
 * neighbour in the host, or of one that is alone there, to another host. */
static double first_message_s(const struct tree *t)
{
    const struct cc_class *class =
        &t->x.level[cc_cluster_per_host(t->k->cluster) > 1 ? CC_INSIDE : CC_BETWEEN];
    const double bytes = wire_bytes(t, 1);
    return t->first_s + class->alpha + cc_class_s(class, bytes, bytes);
}

/* Where ranks are not followed. Simulated (docs/model.md): within 1% in one chunk where messages of
 * a round do not meet on their ports, and between two hosts; elsewhere chunks, and the two trees,
 * wait for each other. */
static double off(const struct cc_cluster *c)
{
    const int hosts = cc_cluster_hosts(c);
    const bool meets = hosts > 2 && (c->per_host > 1 || cc_power_below(hosts) < hosts);
    if (c->chunks <= 1 && !meets && c->sites <= 1)
        return CC_EXCHANGE_OFF;
    return cc_power_below(hosts) < hosts ? 0.55 : c->nics > 1 || c->sites > 1 ? 0.4 : 0.25;
}

static void tree(const struct cc_exchange_case *k, struct cc_cost *c)
{
    const struct cc_payload_cost *m = k->message;
    const struct cc_cluster *cluster = k->cluster;
    const double chunks = cluster->chunks > 1 ? cluster->chunks : 1, part = 0.5 / chunks;
    const bool sums = k->reduction == CC_REDUCE_SUM;
    struct tree t = {.k = k, .x = cc_classes_of(k), .part = part};
    t.add_s = part * (sums ? m->push_bytes * cluster->reduce_byte_s : m->push_add_s);
    t.first_s = sums ? 0 : part * m->push_encode_s;
    t.sum_s = t.whole_s = sums ? 0 : part * (m->push_encode_s + m->sum_more_s);
    t.decode_s = sums ? 0 : part * m->push_decode_s;
    follow(&t);
    const struct loads one = loads_of(&t);
    const double port_s = fmax(one.own_s, one.shared_s);
    const double share = cc_cluster_hosts(cluster) > 2 ? PORT_SHARE : 1;
    const double behind = fmax(fmax(port_s / share, one.work_s), first_message_s(&t));
    const double takes = t.end_s + (chunks - 1) * behind; /* unless it is followed */
    c->push_latency_s = t.end_latency_s;
    c->push_transfer_s = chunks * port_s;
    c->push_inner_s = one.own_s > one.shared_s ? c->push_transfer_s : 0;
    c->rounds = 2 * ceil(log2(cluster->workers));
    c->messages = chunks * one.messages;
    c->wire_bytes = chunks * one.wire * (1 + k->link->overhead);
    c->intra_bytes =
        cc_cluster_per_host(cluster) > 1 ? chunks * one.inside * (1 + t.x.inner_overhead) : 0;
    if (cluster->sites > 1 && cc_cluster_per_host(cluster) == 1) /* a worker's own */
        c->wire_bytes = 2 * m->push_bytes * (1 + k->link->overhead);
    if (sums) {
        cc_encode_once(k, c);
        c->reduce_s = chunks * one.work_s;
    } else {
        c->encode_s = chunks * one.first_s;
        c->decode_s = m->push_decode_s;
        c->hop_codec_s = chunks * one.work_s - c->encode_s - c->decode_s;
    }
    /* Encoding before and decoding after are not part of a sum of floats. */
    const double all = cc_cost_comm(c) + (sums ? 0 : cc_cost_codec(c));
    c->chunks_beside_s = fmax(0, all - takes);
    c->push_latency_s += fmax(0, takes - all);
}

/* Adds up what is encoded of the two halves: each sum that goes up, and the whole one. */
static double encoded(const struct cc_cluster *c, const struct cc_payload_cost *m)
{
    double sum = 0;
    for (int which = 0; which < 2; which++)
        for (int rank = 0; rank < c->workers; rank++) {
            const struct cc_tree_place p =
                cc_tree_place(c->workers, cc_cluster_per_host(c), which, rank);
            sum += 0.5 * (m != NULL ? cc_hop_bytes(m, p.workers) : p.workers);
        }
    return sum / c->workers;
}

static double encoded_bytes(const struct cc_payload_cost *m, const struct cc_cluster *c)
{
    return encoded(c, m);
}

/* Encoding a sum of m gradients adds m parts of P to the squared error. */
static double encodings(const struct cc_cluster *c)
{
    return encoded(c, NULL);
}

const struct cc_exchange_model cc_exchange_model_tree = {.cost = tree,
                                                         .schedule = cc_schedule_tree,
                                                         .followed_off = 0.17,
                                                         .all_differ = true,
                                                         .own_chunks = true,
                                                         .off = off,
                                                         .encoded_bytes = encoded_bytes,
                                                         .encodings = encodings};
