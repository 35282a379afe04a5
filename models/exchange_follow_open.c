/* Messages that are followed: rounds with their ports, bytes and work. */
#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "models/exchange_follow_impl.h"

/* Bytes of chunks that are sums of so many workers, or whole. */
static double bytes_of(const struct cc_follow_state *f, const struct cc_round *r, bool reduces,
                       double part)
{
    const struct cc_payload_cost *m = f->k->message;
    const struct cc_cluster *c = f->k->cluster;
    double all = m->push_bytes;
    if (!f->sums && reduces)
        all = r->inner && (c->intra_scheme != NULL || r->send_workers == 1)
                  ? m->inner_bytes
                  : cc_hop_bytes(m, r->send_workers);
    else if (!f->sums)
        all = c->gather != NULL ? m->pull_bytes
                                : cc_hop_bytes(m, c->op == CC_ALL_GATHER ? 1 : c->workers);
    return cc_framed(f->k->link, part * all);
}

/* The port of a worker, or of its host, before those in. */
static int port_of(const struct cc_follow_state *f, int rank, enum cc_level level)
{
    const bool host = level != CC_INSIDE && cc_cluster_per_host(f->k->cluster) > 1;
    return 2 * (host ? f->ranks + cc_port_of(f->k->cluster, rank) : rank);
}

/* The way of a message by its ports. */
static int set_way(struct cc_follow_state *f, int rank, int to, enum cc_level level,
                   struct cc_follow_hop *h, struct cc_error *e)
{
    const int out = port_of(f, rank, level), in = port_of(f, to, level) + 1;
    size_t *first = &f->port[out].way;
    for (h->way = *first; h->way != CC_FOLLOW_NOBODY; h->way = f->way[h->way].next)
        if (f->way[h->way].port[1] == in)
            return CC_OK;
    CC_TRY(CC_GROW(f->way, &f->way_capacity, f->ways + 1, e));
    struct cc_follow_way *w = &f->way[f->ways];
    *w = (struct cc_follow_way){.port = {out, in},
                                .ports = 2,
                                .next = *first,
                                .flow = {CC_FOLLOW_NOBODY, CC_FOLLOW_NOBODY}};
    if (level == CC_FAR)
        w->port[w->ports++] = f->wans + cc_wan_of(f->k->cluster, rank, to);
    *first = h->way = f->ways++;
    return CC_OK;
}

static void set_work(const struct cc_follow_state *f, const struct cc_follow_rank *r, size_t k,
                     struct cc_follow_hop *h)
{
    const struct cc_payload_cost *m = f->k->message;
    const struct cc_cluster *c = f->k->cluster;
    const struct cc_round *round = &r->schedule.round[k];
    const double all = (double)r->schedule.chunks;
    const double out = (double)round->send_count / all, in = (double)round->recv_count / all;
    const bool reduces = k < r->schedule.reduce_rounds;
    if (f->sums) {
        h->add_s = reduces ? in * m->push_bytes * c->reduce_byte_s : 0;
        return;
    }
    if (reduces) {
        h->encode_s = out * (round->inner ? m->inner_encode_s : m->push_encode_s);
        h->encode_s += round->send_workers > 1 && !(round->inner && c->intra_scheme != NULL)
                           ? out * m->sum_more_s
                           : 0;
        h->add_s = in * (round->inner ? m->inner_add_s : m->push_add_s);
    } else {
        h->decode_s = in * (c->gather != NULL ? m->pull_decode_s : m->push_decode_s);
    }
}

static void set_owner(const struct cc_follow_state *f, struct cc_follow_rank *r)
{
    const struct cc_payload_cost *m = f->k->message;
    const struct cc_cluster *c = f->k->cluster;
    const double part = 1.0 / (double)r->schedule.chunks;
    if (f->sums || !r->schedule.owns_chunk || c->op == CC_REDUCE_SCATTER)
        return;
    r->owner_s = part * (c->gather != NULL        ? m->pull_encode_s
                         : c->op == CC_ALL_GATHER ? m->push_encode_s
                                                  : m->push_encode_s + m->sum_more_s);
    r->own_decode_s = part * (c->gather != NULL ? m->pull_decode_s : m->push_decode_s);
}

static int open_rank(struct cc_follow_state *f, struct cc_followed by, int rank, struct cc_error *e)
{
    const struct cc_cluster *c = f->k->cluster;
    const struct cc_schedule_hosts hosts = {
        .per_host = cc_cluster_per_host(c), .inner = c->inner_exchange, .outer = c->outer_exchange};
    const struct cc_link_costs x = cc_classes_of(f->k);
    struct cc_follow_rank *r = &f->rank[rank];
    CC_TRY(by.build(c->workers, hosts, rank, &r->schedule, e));
    if (r->schedule.rounds > 0)
        cc_schedule_keep(&r->schedule, c->op);
    r->first_rounds = cc_schedule_group_end(&r->schedule, 0);
    CC_TRY(CC_NEW(r->hop, r->schedule.rounds, e));
    for (size_t k = 0; k < r->schedule.rounds; k++) {
        const struct cc_round *round = &r->schedule.round[k];
        struct cc_follow_hop *h = &r->hop[k];
        const double part = (double)round->send_count / (double)r->schedule.chunks;
        *h = (struct cc_follow_hop){.to = round->to < 0 ? -1 : round->to % by.alike,
                                    .from = round->from < 0 ? -1 : round->from % by.alike,
                                    .theirs = k,
                                    .theirs_here = k};
        set_work(f, r, k, h);
        if (round->to < 0)
            continue;
        const enum cc_level level = cc_level_of(c, rank, round->to);
        h->alpha = x.level[level].alpha;
        h->bytes = fmax(1e-3, bytes_of(f, round, k < r->schedule.reduce_rounds, part));
        CC_TRY(set_way(f, rank, h->to, level, h, e));
    }
    f->rounds = cc_larger(f->rounds, r->schedule.rounds);
    set_owner(f, r);
    return CC_OK;
}

/* Between two ranks, messages arrive in the order in which they were sent. */
static int match(struct cc_follow_state *f, struct cc_error *e)
{
    for (int i = 0; i < f->ranks; i++)
        for (size_t k = 0; k < f->rank[i].schedule.rounds; k++) {
            const int to = f->rank[i].hop[k].to;
            size_t before = 0, theirs = 0;
            if (to < 0)
                continue;
            for (size_t j = 0; j < k; j++)
                before += f->rank[i].hop[j].to == to;
            while (f->rank[to].hop[theirs].from != i || before-- > 0)
                if (++theirs == f->rank[to].schedule.rounds)
                    return cc_fail(e, "a schedule sends a message that its peer does not expect");
            f->rank[i].hop[k].theirs = theirs;
            f->rank[to].hop[theirs].theirs_here = k;
        }
    return CC_OK;
}

static void set_rates(struct cc_follow_state *f)
{
    const struct cc_cluster *c = f->k->cluster;
    const struct cc_link *l = f->k->link;
    const double slower = 1 / cc_link_byte_s(l);
    const double outer[2] = {slower * cc_link_up_bps(l) / l->bw_bps,
                             slower * cc_link_down_bps(l) / l->bw_bps};
    const bool hosts = cc_cluster_per_host(c) > 1;
    for (int i = 0; i < f->ports; i++) {
        f->port[i].way = CC_FOLLOW_NOBODY;
        f->port[i].bytes_s = i >= f->wans                ? c->wan_bps / 8 / (1 + l->overhead)
                             : hosts && i < 2 * f->ranks ? 1 / cc_link_byte_s(&c->intra)
                                                         : outer[i % 2];
    }
}

int cc_follow_open(struct cc_follow_state *f, struct cc_followed by, struct cc_error *e)
{
    const size_t ranks = (size_t)f->ranks;
    CC_TRY(CC_NEW(f->rank, ranks, e));
    const struct cc_cluster *c = f->k->cluster;
    const bool hosts = cc_cluster_per_host(c) > 1;
    f->wans = 2 * (f->ranks + (hosts ? cc_port_of(c, f->ranks - 1) + CC_CLUSTER_NICS : 0));
    f->ports = f->wans + (c->sites > 1 ? c->sites * c->sites : 0);
    CC_TRY(CC_NEW(f->port, (size_t)f->ports, e));
    set_rates(f);
    for (int i = 0; i < f->ranks; i++)
        CC_TRY(open_rank(f, by, i, e));
    if (f->ranks == f->k->cluster->workers)
        CC_TRY(match(f, e));
    CC_TRY(CC_NEW(f->active, f->ways, e));
    f->unused = f->ended = (struct cc_follow_list){CC_FOLLOW_NOBODY, CC_FOLLOW_NOBODY};
    CC_TRY(CC_NEW(f->side, ranks * f->parts, e));
    CC_TRY(CC_NEW(f->states, ranks * f->parts * 5 * f->rounds, e));
    for (size_t i = 0; i < ranks * f->parts; i++) {
        unsigned char *at = f->states + i * 5 * f->rounds;
        f->side[i].sent = at;
        f->side[i].got = at + f->rounds;
        f->side[i].added = at + 2 * f->rounds;
        f->side[i].unnoticed = at + 3 * f->rounds;
    }
    return CC_OK;
}

void cc_follow_close(struct cc_follow_state *f)
{
    for (int i = 0; f->rank != NULL && i < f->ranks; i++) {
        free(f->rank[i].schedule.round);
        free(f->rank[i].hop);
    }
    free(f->rank);
    free(f->side);
    free(f->states);
    free(f->port);
    free(f->way);
    free(f->active);
    free(f->flow);
    free(f->event);
}
